/*
 * onnx_fold.c - arithmetic on shapes, done while reading.
 *
 * Exporters write `x.view(x.size(0), -1)` as Shape, Gather, Unsqueeze, Concat, Reshape. Where all that such a node reads is known,
 * it becomes a constant and no operator. Values are doubles: sizes are far below 2^53, and "to the end" (2^63 − 1) is cut to a
 * dimension anyway. Only small things are computed: weights are never touched.
 */
#include "model/onnx_load.h"
#include "model/values.h"
#include "onnx.pb-c.h"

#include <math.h>
#include <string.h>

/* Floats beyond a few are weights, not sizes. */
enum { FOLD_FLOATS = 16, FOLD_INPUTS = 64 };

struct fold_value {
	enum element element;
	struct shape shape;
	int64_t count;
	double *items; /* owned */
};

struct fold {
	const struct onnx_site *site;
	struct fold_value *in;
	size_t count;
	struct fold_value out;
};

static void value_alloc(struct fold_value *value, enum element element, const struct shape *shape)
{
	value->element = element;
	value->shape = *shape;
	value->count = shape_elements(shape);
	value->items = mem_alloc((size_t)(value->count > 0 ? value->count : 1) * sizeof(*value->items));
}

/* False where it is not known, or too much. */
static bool value_read(const struct graph_tensor *tensor, struct fold_value *out)
{
	if (tensor->role != TENSOR_CONSTANT || !onnx_is_constant(tensor))
		return false;
	int64_t count = shape_elements(&tensor->shape);
	if (count < 0 || count > (element_is_float(tensor->element) ? FOLD_FLOATS : ONNX_FOLD_MOST))
		return false;
	value_alloc(out, tensor->element, &tensor->shape);
	for (int64_t i = 0; i < count; i++)
		out->items[i] = values_element(tensor, i);
	return true;
}

int onnx_add_constant(struct onnx_load *load, const char *name, enum element element, const struct shape *shape,
		      const double *values)
{
	bool real = element_is_float(element);
	size_t count = (size_t)shape_elements(shape);
	int code = onnx_spend(load, count * 8 + 64);
	if (code)
		return code;
	if (names_get(&load->values, name) != NAMES_NONE)
		return err_set(load->err, ERR_INPUT, "a value is written twice");
	void *blob = mem_alloc((count + 1) * 8);
	for (size_t i = 0; i < count; i++) {
		double value = values[i];
		if (real)
			((float *)blob)[i] = (float)value;
		else
			((int64_t *)blob)[i] = !(value > -9.2e18) ? INT64_MIN
					       : value < 9.2e18   ? (int64_t)value
								  : INT64_MAX;
	}
	vec_push(&load->graph->blobs, blob);
	char *clean = onnx_clean_name(name), *key = mem_strdup(name);
	size_t tensor = graph_add_tensor(load->graph, clean, TENSOR_CONSTANT, real ? ELEMENT_F32 : ELEMENT_I64, shape);
	load->graph->tensors.items[tensor].source = TENSOR_BYTES;
	load->graph->tensors.items[tensor].bytes = blob;
	vec_push(&load->texts, key);
	names_put(&load->values, key, tensor);
	free(clean);
	return 0;
}

static bool fold_copy(struct fold *fold)
{
	value_alloc(&fold->out, fold->in[0].element, &fold->in[0].shape);
	memcpy(fold->out.items, fold->in[0].items, (size_t)fold->in[0].count * sizeof(double));
	return true;
}

static bool fold_cast(struct fold *fold)
{
	enum element element;
	if (!onnx_element(onnx_int(fold->site, "to", 0), &element))
		return false;
	fold_copy(fold);
	for (int64_t i = 0; i < fold->out.count && !element_is_float(element); i++)
		fold->out.items[i] = trunc(fold->out.items[i]);
	fold->out.element = element;
	return true;
}

static bool fold_floor(struct fold *fold)
{
	bool up = strcmp(fold->site->node->op_type, "Ceil") == 0;
	fold_copy(fold);
	for (int64_t i = 0; i < fold->out.count; i++)
		fold->out.items[i] = up ? ceil(fold->out.items[i]) : floor(fold->out.items[i]);
	return true;
}

/* As one dimension; squeezing and unsqueezing of lists and single numbers. */
static bool fold_flat(struct fold *fold)
{
	bool squeeze = strcmp(fold->site->node->op_type, "Squeeze") == 0;
	struct shape list = {.rank = 1, .dims = {fold->in[0].count}}, single = {0};
	if (fold->in[0].shape.rank != (squeeze ? 1U : 0U) || fold->in[0].count != 1)
		return false;
	fold_copy(fold);
	fold->out.shape = squeeze ? single : list;
	return true;
}

static bool fold_gather(struct fold *fold)
{
	const struct fold_value *from = &fold->in[0], *ids = &fold->in[1];
	if (from->shape.rank != 1 || ids->shape.rank > 1)
		return false;
	for (int64_t i = 0; i < ids->count; i++)
		if (ids->items[i] < (double)-from->count || ids->items[i] >= (double)from->count)
			return false;
	value_alloc(&fold->out, from->element, &ids->shape);
	for (int64_t i = 0; i < ids->count; i++) {
		double id = ids->items[i] < 0 ? ids->items[i] + (double)from->count : ids->items[i];
		fold->out.items[i] = from->items[(int64_t)id];
	}
	return true;
}

static bool fold_concat(struct fold *fold)
{
	int64_t total = 0, at = 0;
	for (size_t i = 0; i < fold->count; i++) {
		if (fold->in[i].shape.rank != 1)
			return false;
		total += fold->in[i].count;
	}
	if (total > ONNX_FOLD_MOST)
		return false;
	value_alloc(&fold->out, fold->in[0].element, &SHAPE(total));
	for (size_t i = 0; i < fold->count; i++)
		for (int64_t k = 0; k < fold->in[i].count; k++)
			fold->out.items[at++] = fold->in[i].items[k];
	return true;
}

/* Lists, with a step of 1. */
static bool fold_slice(struct fold *fold)
{
	const struct fold_value *from = &fold->in[0];
	if (fold->count < 3 || from->shape.rank != 1 || fold->in[1].count != 1 || fold->in[2].count != 1 ||
	    (fold->count > 4 && fold->in[4].count == 1 && fold->in[4].items[0] != 1))
		return false;
	double start = fold->in[1].items[0], end = fold->in[2].items[0], size = (double)from->count;
	start = fmin(fmax(start < 0 ? start + size : start, 0), size);
	end = fmin(fmax(end < 0 ? end + size : end, start), size);
	value_alloc(&fold->out, from->element, &SHAPE((int64_t)(end - start)));
	for (int64_t i = 0; i < fold->out.count; i++)
		fold->out.items[i] = from->items[(int64_t)start + i];
	return true;
}

static double apply(const char *type, double a, double b, bool whole)
{
	if (strcmp(type, "Add") == 0)
		return a + b;
	if (strcmp(type, "Sub") == 0)
		return a - b;
	if (strcmp(type, "Mul") == 0)
		return a * b;
	if (strcmp(type, "Equal") == 0)
		return a == b;
	if (strcmp(type, "Min") == 0)
		return fmin(a, b);
	if (strcmp(type, "Max") == 0)
		return fmax(a, b);
	return b == 0 ? NAN : whole ? trunc(a / b) : a / b; /* Div */
}

/* Where an element of the wide shape lies in a narrower one. */
static int64_t source_index(const struct shape *narrow, const struct shape *wide, int64_t index)
{
	int64_t at = 0, stride = 1;
	for (size_t back = 1; back <= wide->rank; back++) {
		int64_t size = wide->dims[wide->rank - back], here = size ? index % size : 0;
		index = size ? index / size : 0;
		if (back <= narrow->rank) {
			int64_t own = narrow->dims[narrow->rank - back];
			at += own == 1 ? 0 : here * stride;
			stride *= own;
		}
	}
	return at;
}

static bool fold_binary(struct fold *fold)
{
	const struct fold_value *a = &fold->in[0], *b = &fold->in[1];
	struct shape shape;
	if (fold->count != 2 || !shape_broadcast(&a->shape, &b->shape, &shape) ||
	    shape_elements(&shape) > ONNX_FOLD_MOST)
		return false;
	bool equal = strcmp(fold->site->node->op_type, "Equal") == 0;
	value_alloc(&fold->out, equal ? ELEMENT_BOOL : a->element, &shape);
	for (int64_t i = 0; i < fold->out.count; i++)
		fold->out.items[i] = apply(fold->site->node->op_type, a->items[source_index(&a->shape, &shape, i)],
					   b->items[source_index(&b->shape, &shape, i)], !element_is_float(a->element));
	return true;
}

static bool fold_where(struct fold *fold)
{
	struct shape shape;
	if (fold->count != 3 || !shape_broadcast(&fold->in[0].shape, &fold->in[1].shape, &shape) ||
	    !shape_broadcast(&shape, &fold->in[2].shape, &shape) || shape_elements(&shape) > ONNX_FOLD_MOST)
		return false;
	value_alloc(&fold->out, fold->in[1].element, &shape);
	for (int64_t i = 0; i < fold->out.count; i++) {
		size_t which = fold->in[0].items[source_index(&fold->in[0].shape, &shape, i)] != 0 ? 1 : 2;
		fold->out.items[i] = fold->in[which].items[source_index(&fold->in[which].shape, &shape, i)];
	}
	return true;
}

static bool fold_range(struct fold *fold)
{
	if (fold->count != 3 || fold->in[0].count != 1 || fold->in[1].count != 1 || fold->in[2].count != 1)
		return false;
	double start = fold->in[0].items[0], step = fold->in[2].items[0];
	double count = ceil((fold->in[1].items[0] - start) / step);
	if (!(count >= 0 && count <= ONNX_FOLD_MOST))
		return false;
	value_alloc(&fold->out, fold->in[0].element, &SHAPE((int64_t)count));
	for (int64_t i = 0; i < fold->out.count; i++)
		fold->out.items[i] = start + step * (double)i;
	return true;
}

static bool fold_product(struct fold *fold)
{
	double product = 1;
	if (fold->in[0].shape.rank != 1 || onnx_int(fold->site, "keepdims", 1))
		return false;
	for (int64_t i = 0; i < fold->in[0].count; i++)
		product *= fold->in[0].items[i];
	value_alloc(&fold->out, fold->in[0].element, &(struct shape){0});
	fold->out.items[0] = product;
	return true;
}

static const struct {
	const char *name;
	size_t least;
	bool (*fold)(struct fold *fold);
} folds[] = {{"Cast", 1, fold_cast},     {"Floor", 1, fold_floor},    {"Ceil", 1, fold_floor},
	     {"Squeeze", 1, fold_flat},  {"Unsqueeze", 1, fold_flat}, {"Gather", 2, fold_gather},
	     {"Concat", 1, fold_concat}, {"Slice", 3, fold_slice},    {"Add", 2, fold_binary},
	     {"Sub", 2, fold_binary},    {"Mul", 2, fold_binary},     {"Div", 2, fold_binary},
	     {"Equal", 2, fold_binary},  {"Min", 2, fold_binary},     {"Max", 2, fold_binary},
	     {"Where", 3, fold_where},   {"Range", 3, fold_range},    {"ReduceProd", 1, fold_product}};

/* The dimensions of a tensor, or how many elements it has. */
static int fold_shape(const struct onnx_site *site, bool *done)
{
	const struct shape *shape = onnx_shape(site, 0);
	double dims[SHAPE_MAX_RANK];
	if (!shape)
		return 0;
	int64_t rank = (int64_t)shape->rank, from = onnx_int(site, "start", 0), to = onnx_int(site, "end", rank);
	from = from < 0 ? from + rank : from;
	to = to < 0 ? to + rank : to;
	from = from < 0 ? 0 : from > rank ? rank : from;
	to = to < from ? from : to > rank ? rank : to;
	for (int64_t i = from; i < to; i++)
		dims[i - from] = (double)shape->dims[i];
	*done = true;
	if (strcmp(site->node->op_type, "Size") == 0) {
		dims[0] = (double)shape_elements(shape);
		return onnx_add_constant(site->load, site->node->output[0], ELEMENT_I64, &(struct shape){0}, dims);
	}
	return onnx_add_constant(site->load, site->node->output[0], ELEMENT_I64, &SHAPE(to - from), dims);
}

/* The tensor in an attribute becomes the value. */
static int fold_tensor(const struct onnx_site *site, const ProtobufCBinaryData *bytes)
{
	struct onnx_load *load = site->load;
	size_t tensor;
	if (names_get(&load->values, site->node->output[0]) != NAMES_NONE)
		return onnx_bad(site, "it writes what is there already");
	int code = onnx_tensor(load, bytes->data, bytes->len, site->node->output[0], true, TENSOR_CONSTANT, &tensor);
	if (code)
		return code;
	char *key = mem_strdup(site->node->output[0]);
	vec_push(&load->texts, key);
	names_put(&load->values, key, tensor);
	return 0;
}

static int fold_constant(const struct onnx_site *site, bool *done)
{
	const Onnx__Attribute *value = onnx_attribute(site, "value"), *list = onnx_attribute(site, "value_ints");
	const Onnx__Attribute *floats = onnx_attribute(site, "value_floats");
	double one = onnx_int(site, "value_int", 0) ? (double)onnx_int(site, "value_int", 0)
						    : onnx_float(site, "value_float", 0);
	enum element element = onnx_attribute(site, "value_float") || floats ? ELEMENT_F32 : ELEMENT_I64;
	*done = true;
	if (value && value->has_t)
		return fold_tensor(site, &value->t);
	if (list || floats) {
		size_t count = list ? list->n_ints : floats->n_floats;
		double *items = mem_alloc((count + 1) * sizeof(*items));
		for (size_t i = 0; i < count; i++)
			items[i] = list ? (double)list->ints[i] : (double)floats->floats[i];
		int code = onnx_add_constant(site->load, site->node->output[0], element, &SHAPE((int64_t)count), items);
		free(items);
		return code;
	}
	*done = onnx_attribute(site, "value_int") || onnx_attribute(site, "value_float");
	return *done ? onnx_add_constant(site->load, site->node->output[0], element, &(struct shape){0}, &one) : 0;
}

/* A tensor of one value, however large: it takes no memory. */
static int fold_filled(const struct onnx_site *site, bool *done)
{
	struct onnx_load *load = site->load;
	const Onnx__Attribute *value = onnx_attribute(site, "value");
	int64_t dims[SHAPE_MAX_RANK], count = onnx_constant(site, 0, dims, SHAPE_MAX_RANK);
	size_t tensor, one = GRAPH_NONE;
	int code = 0;
	if (count < 0)
		return 0;
	for (int64_t i = 0; i < count; i++)
		if (dims[i] < 0 || dims[i] > (int64_t)1 << 40)
			return onnx_bad(site, "it asks for a dimension of %lld", (long long)dims[i]);
	struct shape shape = shape_of((size_t)count, dims);
	if (shape_elements(&shape) < 0)
		return onnx_bad(site, "it asks for more elements than a number holds");
	if (value && value->has_t)
		code = onnx_tensor(load, value->t.data, value->t.len, site->node->output[0], true, TENSOR_CONSTANT,
				   &one);
	if (code || names_get(&load->values, site->node->output[0]) != NAMES_NONE)
		return code ? code : onnx_bad(site, "it writes what is there already");
	const struct graph_tensor *fill = one == GRAPH_NONE ? NULL : &load->graph->tensors.items[one];
	bool known = fill && onnx_is_constant(fill) && shape_elements(&fill->shape) >= 1;
	double number = known ? values_element(fill, 0) : 0;
	char *key = mem_strdup(site->node->output[0]), *clean = onnx_clean_name(key);
	tensor = graph_add_tensor(load->graph, clean, TENSOR_CONSTANT, known ? fill->element : ELEMENT_F32, &shape);
	load->graph->tensors.items[tensor].source = TENSOR_FILLED;
	load->graph->tensors.items[tensor].fill = number;
	vec_push(&load->texts, key);
	names_put(&load->values, key, tensor);
	free(clean);
	*done = true;
	return 0;
}

/* The same values once more: exporters store equal weights of different layers once, and copy them by name. */
static int fold_identity(const struct onnx_site *site, bool *done)
{
	struct onnx_load *load = site->load;
	size_t from = onnx_in(site, 0);
	if (from == GRAPH_NONE || !onnx_is_constant(&load->graph->tensors.items[from]))
		return 0;
	if (names_get(&load->values, site->node->output[0]) != NAMES_NONE)
		return onnx_bad(site, "it writes what is there already");
	struct graph_tensor copy = load->graph->tensors.items[from];
	char *key = mem_strdup(site->node->output[0]);
	copy.name = onnx_clean_name(key);
	copy.role = TENSOR_CONSTANT;
	copy.output = false;
	vec_push(&load->graph->tensors, copy);
	vec_push(&load->texts, key);
	names_put(&load->values, key, load->graph->tensors.len - 1);
	*done = true;
	return 0;
}

static int fold_node(const struct onnx_site *site, bool (*rule)(struct fold *fold), bool *done)
{
	struct fold_value inputs[FOLD_INPUTS] = {0};
	struct fold fold = {.site = site, .in = inputs, .count = site->node->n_input};
	bool known = site->node->n_input <= FOLD_INPUTS;
	int code = 0;
	for (size_t i = 0; known && i < fold.count; i++) {
		size_t tensor = onnx_in(site, i);
		known = tensor != GRAPH_NONE && value_read(&site->load->graph->tensors.items[tensor], &inputs[i]);
	}
	if (known && rule(&fold)) {
		*done = true;
		code = onnx_add_constant(site->load, site->node->output[0], fold.out.element, &fold.out.shape,
					 fold.out.items);
	}
	for (size_t i = 0; i < FOLD_INPUTS; i++)
		free(inputs[i].items);
	free(fold.out.items);
	return code;
}

int onnx_fold(const struct onnx_site *site, bool *done)
{
	const char *type = site->node->op_type ? site->node->op_type : "";
	if (site->node->n_output != 1 || !*site->node->output[0])
		return 0;
	if (strcmp(type, "Constant") == 0)
		return fold_constant(site, done);
	if (strcmp(type, "ConstantOfShape") == 0)
		return fold_filled(site, done);
	if (strcmp(type, "Identity") == 0)
		return fold_identity(site, done);
	if (strcmp(type, "Shape") == 0 || strcmp(type, "Size") == 0)
		return fold_shape(site, done);
	for (size_t i = 0; i < sizeof(folds) / sizeof(folds[0]); i++)
		if (strcmp(type, folds[i].name) == 0 && site->node->n_input >= folds[i].least)
			return fold_node(site, folds[i].fold, done);
	return 0;
}
