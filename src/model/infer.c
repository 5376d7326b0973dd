/* infer.c - the table of shape rules, and the rules of operators that keep or broadcast a shape: see infer.h. */
#include "model/infer_site.h"

#include <stdarg.h>
#include <stdio.h>

const struct shape *infer_in(const struct infer_site *site, size_t index)
{
	const struct graph_tensor *tensor = graph_input(site->graph, site->op, index);
	return tensor ? &tensor->shape : NULL;
}

int infer_bad(const struct infer_site *site, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return err_set(site->err, ERR_INPUT, "operator '%s' (%s): %s", site->op->name, site->op->type, text);
}

int infer_range(const struct infer_site *site, const char *what, int64_t value, int64_t low)
{
	if (value >= low && value <= INFER_MAX_DIM)
		return 0;
	return infer_bad(site, "%s is %lld, expected %lld to 2^40", what, (long long)value, (long long)low);
}

int infer_set(const struct infer_site *site, size_t index, const struct shape *shape)
{
	char text[SHAPE_TEXT_SIZE];
	int64_t bytes;
	if (index >= site->op->outputs.len || site->op->outputs.items[index] == GRAPH_NONE)
		return 0;
	for (size_t i = 0; i < shape->rank; i++)
		if (shape->dims[i] < 0 || shape->dims[i] > INFER_MAX_DIM)
			return infer_bad(site, "its output would be %s", shape_text(shape, text));
	struct graph_tensor *tensor = &site->graph->tensors.items[site->op->outputs.items[index]];
	if (!count_multiply(shape_elements(shape), (int64_t)element_bytes(tensor->element), &bytes))
		return infer_bad(site, "its output would be %s, more than any memory", shape_text(shape, text));
	tensor->shape = *shape;
	tensor->shaped = true;
	return 0;
}

static int infer_same(const struct infer_site *site)
{
	return infer_set(site, 0, infer_in(site, 0));
}

static int infer_broadcast(const struct infer_site *site)
{
	char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
	struct shape shape = *infer_in(site, 0);
	for (size_t i = 1; i < site->op->inputs.len; i++) {
		const struct shape *next = infer_in(site, i);
		struct shape wider;
		if (!next)
			continue;
		if (!shape_broadcast(&shape, next, &wider))
			return infer_bad(site, "%s and %s cannot be broadcast together", shape_text(&shape, a),
					 shape_text(next, b));
		shape = wider;
	}
	return infer_set(site, 0, &shape);
}

static int infer_axis(const struct infer_site *site)
{
	if (site->op->attributes.axis >= infer_in(site, 0)->rank)
		return infer_bad(site, "it has no axis %zu", site->op->attributes.axis);
	return infer_same(site);
}

/* Scale, bias and the like of a norm along the channels. */
static int infer_channel_norm(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0);
	if (x->rank < 2)
		return infer_bad(site, "needs at least two dimensions");
	for (size_t i = 1; i < site->op->inputs.len; i++) {
		const struct shape *part = infer_in(site, i);
		if (part && (part->rank != 1 || part->dims[0] != x->dims[1]))
			return infer_bad(site, "input %zu does not have one value for each of %lld channels", i,
					 (long long)x->dims[1]);
	}
	int64_t groups = site->op->attributes.norm.groups;
	if (site->op->kind == OP_GROUP_NORM && (groups < 1 || x->dims[1] % groups))
		return infer_bad(site, "%lld channels cannot be divided into %lld groups", (long long)x->dims[1],
				 (long long)groups);
	return infer_same(site);
}

static int infer_layer_norm(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0);
	size_t axis = site->op->attributes.norm.axis;
	int64_t inner;
	if (axis >= x->rank || !shape_product(x, axis, x->rank, &inner))
		return infer_bad(site, "it has no axis %zu", axis);
	for (size_t i = 1; i < site->op->inputs.len; i++) {
		const struct shape *part = infer_in(site, i);
		if (part && shape_elements(part) != inner)
			return infer_bad(site, "input %zu does not have one value for each of %lld elements", i,
					 (long long)inner);
	}
	return infer_same(site);
}

static int infer_adaptive(const struct infer_site *site)
{
	struct shape shape = *infer_in(site, 0);
	if (shape.rank < 3 || shape.rank > 2 + OP_MAX_SPATIAL)
		return infer_bad(site, "needs a batch of images");
	for (size_t i = 2; i < shape.rank; i++) {
		int64_t size = site->op->kind == OP_GLOBAL_MAX_POOL ? 1 : site->op->attributes.adaptive.size[i - 2];
		if (size < 1 || shape.dims[i] < 1)
			return infer_bad(site, "output and input sizes must be at least 1");
		shape.dims[i] = size;
	}
	return infer_set(site, 0, &shape);
}

static const struct {
	size_t least, most; /* inputs that must be and that may be there */
	int (*infer)(const struct infer_site *site);
} rules[] = {
	[OP_CONV] = {2, 3, infer_conv},
	[OP_CONV_TRANSPOSE] = {2, 3, infer_conv_transpose},
	[OP_LINEAR] = {2, 3, infer_linear},
	[OP_MATMUL] = {2, 2, infer_matmul},
	[OP_GEMM] = {2, 3, infer_gemm},
	[OP_ATTENTION] = {1, 4, infer_attention},
	[OP_LSTM] = {3, 6, infer_recurrent},
	[OP_GRU] = {3, 5, infer_recurrent},
	[OP_RNN] = {3, 5, infer_recurrent},
	[OP_MAX_POOL] = {1, 1, infer_pool},
	[OP_AVG_POOL] = {1, 1, infer_pool},
	[OP_ADAPTIVE_AVG_POOL] = {1, 1, infer_adaptive},
	[OP_GLOBAL_MAX_POOL] = {1, 1, infer_adaptive},
	[OP_BATCH_NORM] = {5, 5, infer_channel_norm},
	[OP_LAYER_NORM] = {2, 3, infer_layer_norm},
	[OP_RMS_NORM] = {2, 2, infer_layer_norm},
	[OP_GROUP_NORM] = {3, 3, infer_channel_norm},
	[OP_LRN] = {1, 1, infer_channel_norm},
	[OP_SOFTMAX] = {1, 1, infer_axis},
	[OP_LOG_SOFTMAX] = {1, 1, infer_axis},
	[OP_UNARY] = {1, 1, infer_same},
	[OP_CLIP] = {1, 1, infer_same},
	[OP_BINARY] = {2, 2, infer_broadcast},
	[OP_WHERE] = {3, 3, infer_broadcast},
	[OP_REDUCE] = {1, 1, infer_reduce},
	[OP_EMBEDDING] = {2, 2, infer_embedding},
	[OP_GATHER] = {2, 2, infer_gather},
	[OP_IDENTITY] = {1, 1, infer_same},
	[OP_RESHAPE] = {1, 1, infer_reshape},
	[OP_TRANSPOSE] = {1, 1, infer_transpose},
	[OP_CONCAT] = {1, SIZE_MAX, infer_concat},
	[OP_SPLIT] = {1, 1, infer_split},
	[OP_SLICE] = {1, 1, infer_slice},
	[OP_EXPAND] = {1, 1, infer_expand},
	[OP_PAD] = {1, 1, infer_pad},
	[OP_CAST] = {1, 1, infer_cast},
	[OP_RESIZE] = {1, 1, infer_resize},
	[OP_OTHER] = {0, SIZE_MAX, NULL},
};

/* Whether all inputs have shapes; *missing is one that does not. */
static bool all_shaped(const struct infer_site *site, const struct graph_tensor **missing)
{
	for (size_t i = 0; i < site->op->inputs.len; i++) {
		*missing = graph_input(site->graph, site->op, i);
		if (*missing && !(*missing)->shaped)
			return false;
	}
	return true;
}

int infer_op(struct graph *graph, size_t op, struct err *err)
{
	struct infer_site site = {.graph = graph, .op = &graph->ops.items[op], .err = err};
	const struct graph_tensor *missing;
	if (site.op->unknown || !rules[site.op->kind].infer) {
		if (!site.op->unknown)
			site.op->unknown = mem_printf("pitot does not know %s", site.op->type);
		return 0;
	}
	if (site.op->inputs.len > rules[site.op->kind].most)
		return infer_bad(&site, "has %zu inputs, expected at most %zu", site.op->inputs.len,
				 rules[site.op->kind].most);
	for (size_t i = 0; i < rules[site.op->kind].least; i++)
		if (!graph_input(graph, site.op, i))
			return infer_bad(&site, "input %zu is missing", i);
	if (site.op->outputs.len < 1 || !graph_output(graph, site.op, 0))
		return infer_bad(&site, "it has no output");
	if (!all_shaped(&site, &missing)) {
		site.op->unknown = mem_printf("the shape of '%s' is not known", missing->name);
		return 0;
	}
	return rules[site.op->kind].infer(&site);
}
