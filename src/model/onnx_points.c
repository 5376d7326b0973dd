/* onnx_points.c - ONNX nodes that compute element by element or fold a dimension. */
#include "model/onnx_load.h"
#include "model/values.h"
#include "onnx.pb-c.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	enum unary_fn fn;
	double alpha, beta; /* defaults of the attributes */
} unaries[] = {
	{"Relu", UNARY_RELU, 0, 0},
	{"LeakyRelu", UNARY_LEAKY_RELU, 0.01, 0},
	{"Sigmoid", UNARY_SIGMOID, 0, 0},
	{"HardSigmoid", UNARY_HARD_SIGMOID, 0.2, 0.5},
	{"Tanh", UNARY_TANH, 0, 0},
	{"HardSwish", UNARY_HARD_SWISH, 0, 0},
	{"Elu", UNARY_ELU, 1, 0},
	{"Softplus", UNARY_SOFTPLUS, 0, 0},
	{"Erf", UNARY_ERF, 0, 0},
	{"Exp", UNARY_EXP, 0, 0},
	{"Log", UNARY_LOG, 0, 0},
	{"Sqrt", UNARY_SQRT, 0, 0},
	{"Reciprocal", UNARY_RECIPROCAL, 0, 0},
	{"Neg", UNARY_NEG, 0, 0},
	{"Abs", UNARY_ABS, 0, 0},
	{"Floor", UNARY_FLOOR, 0, 0},
	{"Ceil", UNARY_CEIL, 0, 0},
	{"Round", UNARY_ROUND, 0, 0},
	{"Sign", UNARY_SIGN, 0, 0},
	{"Sin", UNARY_SIN, 0, 0},
	{"Cos", UNARY_COS, 0, 0},
	{"Not", UNARY_NOT, 0, 0},
};

static int convert_unary(const struct onnx_site *site)
{
	struct onnx_op op = {.kind = OP_UNARY, .inputs = 1};
	for (size_t i = 0; i < sizeof(unaries) / sizeof(unaries[0]); i++)
		if (strcmp(unaries[i].name, site->node->op_type) == 0) {
			op.attributes.unary.fn = unaries[i].fn;
			op.attributes.unary.alpha = onnx_float(site, "alpha", unaries[i].alpha);
			op.attributes.unary.beta = onnx_float(site, "beta", unaries[i].beta);
		}
	return onnx_emit(site, &op);
}

static int convert_gelu(const struct onnx_site *site)
{
	struct onnx_op op = {.kind = OP_UNARY, .inputs = 1};
	char mode[32];
	bool tanh_form = strcmp(onnx_text(site, "approximate", mode, sizeof(mode)), "tanh") == 0;
	op.attributes.unary.fn = tanh_form ? UNARY_GELU_TANH : UNARY_GELU;
	return onnx_emit(site, &op);
}

/* A bound that is an input of one element. */
static double bound(const struct onnx_site *site, size_t index, const char *attribute, double otherwise, bool *known)
{
	size_t tensor = onnx_in(site, index);
	if (tensor == GRAPH_NONE)
		return onnx_float(site, attribute, otherwise);
	const struct graph_tensor *found = &site->load->graph->tensors.items[tensor];
	*known = *known && onnx_is_constant(found) && shape_elements(&found->shape) == 1;
	return *known ? values_element(found, 0) : otherwise;
}

static int convert_clip(const struct onnx_site *site)
{
	struct onnx_op op = {.kind = OP_CLIP, .inputs = 1};
	bool known = true;
	op.attributes.clip.low = bound(site, 1, "min", -INFINITY, &known);
	op.attributes.clip.high = bound(site, 2, "max", INFINITY, &known);
	return known ? onnx_emit(site, &op) : onnx_emit_unknown(site, "its bounds are computed");
}

static const struct {
	const char *name;
	enum binary_fn fn;
	bool truth; /* its result is bool */
} binaries[] = {
	{"Add", BINARY_ADD, false},        {"Sub", BINARY_SUB, false},
	{"Mul", BINARY_MUL, false},        {"Div", BINARY_DIV, false},
	{"Pow", BINARY_POW, false},        {"Mod", BINARY_MOD, false},
	{"Min", BINARY_MIN, false},        {"Max", BINARY_MAX, false},
	{"Sum", BINARY_ADD, false},        {"Equal", BINARY_EQUAL, true},
	{"Less", BINARY_LESS, true},       {"LessOrEqual", BINARY_LESS_EQUAL, true},
	{"Greater", BINARY_GREATER, true}, {"GreaterOrEqual", BINARY_GREATER_EQUAL, true},
	{"And", BINARY_AND, true},         {"Or", BINARY_OR, true},
	{"Xor", BINARY_XOR, true},
};

/* A bias that is added or a scale, as layers have them; a single number is part of a formula. */
static void mark_weight(const struct onnx_site *site, size_t index)
{
	const struct shape *shape = onnx_shape(site, index);
	if (shape && shape_elements(shape) > 1)
		onnx_is_weight(site, index, TENSOR_WEIGHT);
}

static int convert_binary(const struct onnx_site *site)
{
	static const enum element truth = ELEMENT_BOOL;
	struct onnx_op op = {.kind = OP_BINARY, .inputs = 2};
	if (site->node->n_input != 2)
		return onnx_emit_unknown(site, "pitot counts it with two inputs only");
	for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
		if (strcmp(binaries[i].name, site->node->op_type) == 0) {
			op.attributes.binary.fn = binaries[i].fn;
			op.element = binaries[i].truth ? &truth : NULL;
		}
	mark_weight(site, 0);
	mark_weight(site, 1);
	return onnx_emit(site, &op);
}

static int convert_where(const struct onnx_site *site)
{
	size_t value = onnx_in(site, 1);
	enum element element = value == GRAPH_NONE ? ELEMENT_F32 : site->load->graph->tensors.items[value].element;
	return onnx_emit(site, &(struct onnx_op){.kind = OP_WHERE, .inputs = 3, .element = &element});
}

static int convert_softmax(const struct onnx_site *site)
{
	bool logarithm = strcmp(site->node->op_type, "LogSoftmax") == 0;
	struct onnx_op op = {.kind = logarithm ? OP_LOG_SOFTMAX : OP_SOFTMAX, .inputs = 1};
	const struct shape *x = onnx_shape(site, 0);
	size_t axis;
	if (!x)
		return onnx_emit_unknown(site, "the shape of its input is not known");
	if (!shape_axis(x, onnx_int(site, "axis", site->load->opset < 13 ? 1 : -1), &axis))
		return onnx_bad(site, "it has no such axis");
	/* Before opset 13 it ran over all dimensions from the axis on; models had the last one. */
	if (site->load->opset < 13 && axis + 1 != x->rank)
		return onnx_emit_unknown(site, "softmax over several dimensions, of an opset before 13");
	op.attributes.axis = axis;
	return onnx_emit(site, &op);
}

static const struct {
	const char *name;
	enum reduce_fn fn;
} reductions[] = {{"ReduceSum", REDUCE_SUM}, {"ReduceMean", REDUCE_MEAN}, {"ReduceMax", REDUCE_MAX},
		  {"ReduceMin", REDUCE_MIN}, {"ReduceProd", REDUCE_PROD}, {"ReduceL2", REDUCE_L2}};

static int convert_reduce(const struct onnx_site *site)
{
	struct onnx_op op = {.kind = OP_REDUCE, .inputs = 1};
	const struct shape *x = onnx_shape(site, 0);
	int64_t axes[SHAPE_MAX_RANK], count;
	size_t axis;
	if (!x)
		return onnx_emit_unknown(site, "the shape of its input is not known");
	count = onnx_list(site, "axes", 1, axes, SHAPE_MAX_RANK);
	if (count < 0)
		return onnx_emit_unknown(site, "its axes are computed");
	for (size_t i = 0; i < sizeof(reductions) / sizeof(reductions[0]); i++)
		if (strcmp(reductions[i].name, site->node->op_type) == 0)
			op.attributes.reduce.fn = reductions[i].fn;
	bool nothing = count == 0 && onnx_int(site, "noop_with_empty_axes", 0) != 0;
	for (size_t i = 0; i < SHAPE_MAX_RANK; i++)
		op.attributes.reduce.axes[i] = count == 0 && !nothing && i < x->rank;
	for (int64_t i = 0; i < count; i++) {
		if (!shape_axis(x, axes[i], &axis))
			return onnx_bad(site, "it has no axis %lld", (long long)axes[i]);
		op.attributes.reduce.axes[axis] = true;
	}
	op.attributes.reduce.keep = onnx_int(site, "keepdims", 1) != 0;
	return onnx_emit(site, &op);
}

const struct onnx_type onnx_point_types[] = {{"Relu", convert_unary},
					     {"LeakyRelu", convert_unary},
					     {"Sigmoid", convert_unary},
					     {"HardSigmoid", convert_unary},
					     {"Tanh", convert_unary},
					     {"HardSwish", convert_unary},
					     {"Elu", convert_unary},
					     {"Softplus", convert_unary},
					     {"Erf", convert_unary},
					     {"Exp", convert_unary},
					     {"Log", convert_unary},
					     {"Sqrt", convert_unary},
					     {"Reciprocal", convert_unary},
					     {"Neg", convert_unary},
					     {"Abs", convert_unary},
					     {"Floor", convert_unary},
					     {"Ceil", convert_unary},
					     {"Round", convert_unary},
					     {"Sign", convert_unary},
					     {"Sin", convert_unary},
					     {"Cos", convert_unary},
					     {"Not", convert_unary},
					     {"Gelu", convert_gelu},
					     {"Clip", convert_clip},
					     {"Add", convert_binary},
					     {"Sub", convert_binary},
					     {"Mul", convert_binary},
					     {"Div", convert_binary},
					     {"Pow", convert_binary},
					     {"Mod", convert_binary},
					     {"Min", convert_binary},
					     {"Max", convert_binary},
					     {"Sum", convert_binary},
					     {"Equal", convert_binary},
					     {"Less", convert_binary},
					     {"LessOrEqual", convert_binary},
					     {"Greater", convert_binary},
					     {"GreaterOrEqual", convert_binary},
					     {"And", convert_binary},
					     {"Or", convert_binary},
					     {"Xor", convert_binary},
					     {"Where", convert_where},
					     {"Softmax", convert_softmax},
					     {"LogSoftmax", convert_softmax},
					     {"ReduceSum", convert_reduce},
					     {"ReduceMean", convert_reduce},
					     {"ReduceMax", convert_reduce},
					     {"ReduceMin", convert_reduce},
					     {"ReduceProd", convert_reduce},
					     {"ReduceL2", convert_reduce},
					     {0}};
