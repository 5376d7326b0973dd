/* onnx_layers.c - ONNX nodes with weights: convolutions, matrix products, recurrent layers, norms; and pools. */
#include "model/onnx_load.h"
#include "onnx.pb-c.h"

#include <string.h>

/* ⌈in / stride⌉ positions: the padding that makes it so. */
static void same_padding(struct op_window *window, const struct shape *x, bool upper)
{
	for (size_t i = 0; i < window->spatial && 2 + i < x->rank; i++) {
		int64_t stride = window->stride[i] > 0 ? window->stride[i] : 1, in = x->dims[2 + i];
		int64_t out = in / stride + (in % stride != 0), span, need;
		if (__builtin_mul_overflow(window->kernel[i] - 1, window->dilation[i], &span) ||
		    __builtin_mul_overflow(out - 1, stride, &need) ||
		    __builtin_add_overflow(need, span + 1 - in, &need))
			continue; /* infer_op refuses such a window */
		need = need > 0 ? need : 0;
		window->pad_begin[i] = upper ? need / 2 : need - need / 2;
		window->pad_end[i] = need - window->pad_begin[i];
	}
}

/* kernel_shape, strides, dilations, pads, auto_pad, group. */
static int read_window(const struct onnx_site *site, const struct shape *x, const struct shape *weight,
		       struct op_window *window)
{
	int64_t pads[2 * OP_MAX_SPATIAL] = {0};
	char mode[32];
	*window = (struct op_window){.spatial = x->rank >= 3 ? x->rank - 2 : 0, .groups = onnx_int(site, "group", 1)};
	if (window->spatial < 1 || window->spatial > OP_MAX_SPATIAL)
		return onnx_bad(site, "needs three to five dimensions, but has %zu", x->rank);
	for (size_t i = 0; i < OP_MAX_SPATIAL; i++) {
		window->stride[i] = window->dilation[i] = 1;
		window->kernel[i] = weight && 2 + i < weight->rank ? weight->dims[2 + i] : 1;
	}
	if (!weight && onnx_ints(site, "kernel_shape", window->kernel, OP_MAX_SPATIAL) != window->spatial)
		return onnx_bad(site, "its kernel has not as many dimensions as its input");
	if (onnx_ints(site, "strides", window->stride, OP_MAX_SPATIAL) > window->spatial ||
	    onnx_ints(site, "dilations", window->dilation, OP_MAX_SPATIAL) > window->spatial ||
	    onnx_ints(site, "output_padding", window->output_pad, OP_MAX_SPATIAL) > window->spatial)
		return onnx_bad(site, "strides, dilations or padding have more dimensions than its input");
	size_t given = onnx_ints(site, "pads", pads, 2 * OP_MAX_SPATIAL);
	if (given && given != 2 * window->spatial)
		return onnx_bad(site, "has %zu numbers of padding, expected %zu", given, 2 * window->spatial);
	for (size_t i = 0; i < window->spatial; i++) {
		window->pad_begin[i] = pads[i];
		window->pad_end[i] = pads[window->spatial + i];
	}
	onnx_text(site, "auto_pad", mode, sizeof(mode));
	if (strncmp(mode, "SAME", 4) == 0)
		same_padding(window, x, strcmp(mode, "SAME_LOWER") != 0);
	return 0;
}

static int missing_shape(const struct onnx_site *site)
{
	return onnx_emit_unknown(site, "the shape of its input is not known");
}

static int convert_conv(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0), *weight = onnx_shape(site, 1);
	struct onnx_op op = {.kind = OP_CONV, .inputs = 3};
	if (!x || !weight)
		return missing_shape(site);
	onnx_is_weight(site, 1, TENSOR_WEIGHT);
	onnx_is_weight(site, 2, TENSOR_WEIGHT);
	int code = read_window(site, x, weight, &op.attributes.window);
	return code ? code : onnx_emit(site, &op);
}

static int convert_conv_transpose(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0), *weight = onnx_shape(site, 1);
	struct onnx_op op = {.kind = OP_CONV_TRANSPOSE, .inputs = 3};
	if (!x || !weight)
		return missing_shape(site);
	if (onnx_attribute(site, "output_shape"))
		return onnx_emit_unknown(site, "pitot does not know transposed convolutions with an output_shape");
	onnx_is_weight(site, 1, TENSOR_WEIGHT);
	onnx_is_weight(site, 2, TENSOR_WEIGHT);
	int code = read_window(site, x, weight, &op.attributes.window);
	return code ? code : onnx_emit(site, &op);
}

static int convert_pool(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	bool most = strcmp(site->node->op_type, "MaxPool") == 0;
	struct onnx_op op = {.kind = most ? OP_MAX_POOL : OP_AVG_POOL, .inputs = 1};
	if (!x)
		return missing_shape(site);
	int code = read_window(site, x, NULL, &op.attributes.window);
	op.attributes.window.ceil_mode = onnx_int(site, "ceil_mode", 0) != 0;
	op.attributes.window.count_pad = onnx_int(site, "count_include_pad", 0) != 0;
	return code ? code : onnx_emit(site, &op);
}

static int convert_global_pool(const struct onnx_site *site)
{
	bool most = strcmp(site->node->op_type, "GlobalMaxPool") == 0;
	struct onnx_op op = {.kind = most ? OP_GLOBAL_MAX_POOL : OP_ADAPTIVE_AVG_POOL, .inputs = 1};
	for (size_t i = 0; i < OP_MAX_SPATIAL && !most; i++)
		op.attributes.adaptive.size[i] = 1;
	return onnx_emit(site, &op);
}

static bool is_weight_matrix(const struct onnx_site *site, size_t index)
{
	size_t tensor = onnx_in(site, index);
	if (tensor == GRAPH_NONE)
		return false;
	const struct graph_tensor *found = &site->load->graph->tensors.items[tensor];
	return found->shaped && found->shape.rank == 2 && element_is_float(found->element) &&
	       found->role != TENSOR_ACTIVATION && found->role != TENSOR_INPUT;
}

static int convert_gemm(const struct onnx_site *site)
{
	const struct shape *b = onnx_shape(site, 1), *c = onnx_shape(site, 2);
	bool turn_a = onnx_int(site, "transA", 0) != 0, turn_b = onnx_int(site, "transB", 0) != 0;
	double alpha = onnx_float(site, "alpha", 1), beta = onnx_float(site, "beta", 1);
	struct onnx_op op = {.kind = OP_GEMM, .inputs = 3};
	bool weight = is_weight_matrix(site, 1);
	bool bias = onnx_in(site, 2) == GRAPH_NONE ||
		    (c && c->rank == 1 && b && b->rank == 2 && c->dims[0] == b->dims[turn_b ? 0 : 1]);
	onnx_is_weight(site, 1, TENSOR_WEIGHT);
	onnx_is_weight(site, 2, TENSOR_WEIGHT);
	if (weight && bias && !turn_a && alpha == 1 && beta == 1) {
		op.kind = OP_LINEAR;
		op.attributes.linear.in_major = !turn_b;
		return onnx_emit(site, &op);
	}
	op.attributes.gemm.alpha = alpha;
	op.attributes.gemm.beta = beta;
	op.attributes.gemm.transpose_a = turn_a;
	op.attributes.gemm.transpose_b = turn_b;
	return onnx_emit(site, &op);
}

static int convert_matmul(const struct onnx_site *site)
{
	struct onnx_op op = {.kind = OP_MATMUL, .inputs = 2};
	const struct shape *a = onnx_shape(site, 0);
	if (is_weight_matrix(site, 1) && a && a->rank >= 2) {
		op.kind = OP_LINEAR;
		op.attributes.linear.in_major = true;
	}
	onnx_is_weight(site, 0, TENSOR_WEIGHT);
	onnx_is_weight(site, 1, TENSOR_WEIGHT);
	return onnx_emit(site, &op);
}

static int convert_recurrent(const struct onnx_site *site)
{
	const char *type = site->node->op_type;
	enum op_kind kind = strcmp(type, "LSTM") == 0 ? OP_LSTM : strcmp(type, "GRU") == 0 ? OP_GRU : OP_RNN;
	struct onnx_op op = {.kind = kind, .inputs = kind == OP_LSTM ? 6 : 5, .outputs = kind == OP_LSTM ? 3 : 2};
	char direction[32];
	onnx_text(site, "direction", direction, sizeof(direction));
	if (onnx_int(site, "layout", 0) != 0 || onnx_in(site, 7) != GRAPH_NONE)
		return onnx_emit_unknown(site, "pitot does not know recurrent layers with layout 1 or peepholes");
	for (size_t i = 1; i <= 3; i++)
		onnx_is_weight(site, i, TENSOR_WEIGHT);
	op.attributes.recurrent =
		(struct op_recurrent){.hidden = onnx_int(site, "hidden_size", 0),
				      .directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1,
				      .reverse = strcmp(direction, "reverse") == 0,
				      .linear_before_reset = onnx_int(site, "linear_before_reset", 0) != 0};
	/* Input 4 is the length of each sequence: the longest counts. The operator has the states in its place. */
	Onnx__Node node = *site->node;
	char *inputs[6] = {0};
	size_t count = 0;
	for (size_t i = 0; i < node.n_input && i < 7; i++)
		if (i != 4)
			inputs[count++] = node.input[i];
	node.input = inputs;
	node.n_input = count;
	return onnx_emit(&(struct onnx_site){site->load, &node}, &op);
}

static int convert_batch_norm(const struct onnx_site *site)
{
	struct onnx_op op = {.kind = OP_BATCH_NORM, .inputs = 5};
	onnx_is_weight(site, 1, TENSOR_WEIGHT);
	onnx_is_weight(site, 2, TENSOR_WEIGHT);
	onnx_is_weight(site, 3, TENSOR_BUFFER);
	onnx_is_weight(site, 4, TENSOR_BUFFER);
	op.attributes.norm.epsilon = onnx_float(site, "epsilon", 1e-5);
	return onnx_emit(site, &op);
}

static int convert_layer_norm(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_LAYER_NORM, .inputs = 3};
	size_t axis;
	if (!x)
		return missing_shape(site);
	if (!shape_axis(x, onnx_int(site, "axis", -1), &axis))
		return onnx_bad(site, "it has no such axis");
	onnx_is_weight(site, 1, TENSOR_WEIGHT);
	onnx_is_weight(site, 2, TENSOR_WEIGHT);
	op.attributes.norm.axis = axis;
	op.attributes.norm.epsilon = onnx_float(site, "epsilon", 1e-5);
	return onnx_emit(site, &op);
}

static int convert_group_norm(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	bool instance = strcmp(site->node->op_type, "InstanceNormalization") == 0;
	struct onnx_op op = {.kind = OP_GROUP_NORM, .inputs = 3};
	if (!x || x->rank < 2)
		return missing_shape(site);
	onnx_is_weight(site, 1, TENSOR_WEIGHT);
	onnx_is_weight(site, 2, TENSOR_WEIGHT);
	op.attributes.norm.epsilon = onnx_float(site, "epsilon", 1e-5);
	op.attributes.norm.groups = instance ? x->dims[1] : onnx_int(site, "num_groups", 1);
	return onnx_emit(site, &op);
}

static int convert_lrn(const struct onnx_site *site)
{
	struct onnx_op op = {.kind = OP_LRN, .inputs = 1};
	op.attributes.lrn.size = onnx_int(site, "size", 1);
	op.attributes.lrn.alpha = onnx_float(site, "alpha", 1e-4);
	op.attributes.lrn.beta = onnx_float(site, "beta", 0.75);
	op.attributes.lrn.bias = onnx_float(site, "bias", 1);
	return onnx_emit(site, &op);
}

const struct onnx_type onnx_layer_types[] = {{"Conv", convert_conv},
					     {"ConvTranspose", convert_conv_transpose},
					     {"MaxPool", convert_pool},
					     {"AveragePool", convert_pool},
					     {"GlobalAveragePool", convert_global_pool},
					     {"GlobalMaxPool", convert_global_pool},
					     {"Gemm", convert_gemm},
					     {"MatMul", convert_matmul},
					     {"LSTM", convert_recurrent},
					     {"GRU", convert_recurrent},
					     {"RNN", convert_recurrent},
					     {"BatchNormalization", convert_batch_norm},
					     {"LayerNormalization", convert_layer_norm},
					     {"GroupNormalization", convert_group_norm},
					     {"InstanceNormalization", convert_group_norm},
					     {"LRN", convert_lrn},
					     {0}};
