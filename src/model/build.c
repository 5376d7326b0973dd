/* build.c - the frame of a build and its simple operators: see build.h. */
#include "model/build.h"
#include "model/build_step.h"
#include "model/infer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void build_fini(struct build *build)
{
	str_fini(&build->scope);
}

size_t build_enter(struct build *build, const char *format, ...)
{
	size_t mark = build->scope.len;
	char name[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	str_appendf(&build->scope, "%s%s", mark ? "." : "", name);
	return mark;
}

void build_leave(struct build *build, size_t mark)
{
	build->scope.len = mark;
	if (build->scope.text)
		build->scope.text[mark] = '\0';
}

int build_fail(struct build *build, const char *format, ...)
{
	char text[512];
	va_list arguments;
	if (build->code)
		return build->code;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return build->code = err_set(build->err, ERR_INPUT, "%s", text);
}

char *build_path(const struct build *build, const char *leaf)
{
	return build->scope.len ? mem_printf("%s.%s", build->scope.text, leaf) : mem_strdup(leaf);
}

const struct shape *build_shape(const struct build *build, size_t tensor)
{
	static const struct shape none;
	return tensor == GRAPH_NONE ? &none : &build->graph->tensors.items[tensor].shape;
}

struct build_step build_step(struct build *build, enum op_kind kind, const char *leaf)
{
	struct build_step step = {.build = build, .op = GRAPH_NONE};
	if (build->code)
		return step;
	char *path = build_path(build, leaf);
	step.op = graph_add_op(build->graph, kind, path, graph_layer(build->graph, str_text(&build->scope)));
	free(path);
	step.attributes = &build->graph->ops.items[step.op].attributes;
	return step;
}

void build_reads(const struct build_step *step, size_t tensor)
{
	if (step->op == GRAPH_NONE || step->build->code)
		return;
	if (tensor == GRAPH_NONE)
		build_fail(step->build, "operator '%s' has no input", step->build->graph->ops.items[step->op].name);
	else
		graph_op_reads(step->build->graph, step->op, tensor);
}

size_t build_done(const struct build_step *step, const struct shape *given)
{
	struct build *build = step->build;
	if (build->code)
		return GRAPH_NONE;
	struct graph_op *op = &build->graph->ops.items[step->op];
	const struct graph_tensor *x = op->inputs.len ? graph_input(build->graph, op, 0) : NULL;
	size_t y = graph_op_writes(build->graph, step->op, op->name, x ? x->element : ELEMENT_F32);
	if (given) {
		build->graph->tensors.items[y].shape = *given;
		build->graph->tensors.items[y].shaped = true;
	}
	build->code = infer_op(build->graph, step->op, build->err);
	return build->code ? GRAPH_NONE : y;
}

size_t build_input(struct build *build, const char *name, const struct shape *shape, int64_t below)
{
	if (build->code)
		return GRAPH_NONE;
	size_t x = graph_add_tensor(build->graph, name, TENSOR_INPUT, below ? ELEMENT_I64 : ELEMENT_F32, shape);
	struct graph_tensor *tensor = &build->graph->tensors.items[x];
	tensor->source = below ? TENSOR_IDS : TENSOR_NORMAL;
	tensor->fill = below ? (double)below : 1;
	for (size_t i = 0; i < shape->rank; i++)
		if (shape->dims[i] < 1 || shape->dims[i] > INFER_MAX_DIM)
			build_fail(build, "input '%s' has a dimension of %lld", name, (long long)shape->dims[i]);
	return build->code ? GRAPH_NONE : x;
}

static size_t add_tensor(struct build *build, const char *leaf, enum tensor_role role, const struct shape *shape,
			 enum tensor_source source, double fill)
{
	if (build->code)
		return GRAPH_NONE;
	for (size_t i = 0; i < shape->rank; i++)
		if (shape->dims[i] < 1 || shape->dims[i] > INFER_MAX_DIM) {
			build_fail(build, "weight '%s' would have a dimension of %lld", leaf,
				   (long long)shape->dims[i]);
			return GRAPH_NONE;
		}
	char *path = build_path(build, leaf);
	size_t added = graph_add_tensor(build->graph, path, role, ELEMENT_F32, shape);
	build->graph->tensors.items[added].source = source;
	build->graph->tensors.items[added].fill = fill;
	free(path);
	return added;
}

size_t build_weight(struct build *build, const char *leaf, const struct shape *shape, double deviation)
{
	return add_tensor(build, leaf, TENSOR_WEIGHT, shape, TENSOR_NORMAL, deviation);
}

size_t build_filled(struct build *build, const char *leaf, enum tensor_role role, const struct shape *shape,
		    double value)
{
	return add_tensor(build, leaf, role, shape, TENSOR_FILLED, value);
}

size_t build_unary(struct build *build, const char *leaf, size_t x, enum unary_fn fn)
{
	struct build_step step = build_step(build, OP_UNARY, leaf);
	build_reads(&step, x);
	if (step.attributes) {
		step.attributes->unary.fn = fn;
		step.attributes->unary.alpha = fn == UNARY_LEAKY_RELU ? 0.01 : fn == UNARY_HARD_SIGMOID ? 1.0 / 6 : 1;
		step.attributes->unary.beta = 0.5;
	}
	return build_done(&step, NULL);
}

size_t build_clip(struct build *build, const char *leaf, size_t x, double low, double high)
{
	struct build_step step = build_step(build, OP_CLIP, leaf);
	build_reads(&step, x);
	if (step.attributes) {
		step.attributes->clip.low = low;
		step.attributes->clip.high = high;
	}
	return build_done(&step, NULL);
}

size_t build_binary(struct build *build, const char *leaf, enum binary_fn fn, size_t a, size_t b)
{
	struct build_step step = build_step(build, OP_BINARY, leaf);
	build_reads(&step, a);
	build_reads(&step, b);
	if (step.attributes)
		step.attributes->binary.fn = fn;
	return build_done(&step, NULL);
}

/* Sets *out and returns true where `x` has such an axis. */
static bool find_axis(struct build *build, size_t x, int64_t axis, size_t *out)
{
	if (build->code)
		return false;
	if (shape_axis(build_shape(build, x), axis, out))
		return true;
	build_fail(build, "there is no axis %lld", (long long)axis);
	return false;
}

size_t build_axis(struct build *build, const char *leaf, enum op_kind kind, size_t x, int64_t axis)
{
	size_t found;
	if (!find_axis(build, x, axis, &found))
		return GRAPH_NONE;
	struct build_step step = build_step(build, kind, leaf);
	build_reads(&step, x);
	if (step.attributes)
		step.attributes->axis = found;
	return build_done(&step, NULL);
}

size_t build_concat(struct build *build, const char *leaf, size_t a, size_t b, int64_t axis)
{
	size_t found;
	if (!find_axis(build, a, axis, &found))
		return GRAPH_NONE;
	struct build_step step = build_step(build, OP_CONCAT, leaf);
	build_reads(&step, a);
	build_reads(&step, b);
	if (step.attributes)
		step.attributes->axis = found;
	return build_done(&step, NULL);
}

size_t build_mean(struct build *build, const char *leaf, size_t x, int64_t axis)
{
	size_t found;
	if (!find_axis(build, x, axis, &found))
		return GRAPH_NONE;
	struct build_step step = build_step(build, OP_REDUCE, leaf);
	build_reads(&step, x);
	if (step.attributes) {
		step.attributes->reduce.fn = REDUCE_MEAN;
		step.attributes->reduce.axes[found] = true;
	}
	return build_done(&step, NULL);
}

size_t build_slice(struct build *build, const char *leaf, size_t x, int64_t axis, int64_t first, int64_t count)
{
	size_t found;
	if (!find_axis(build, x, axis, &found))
		return GRAPH_NONE;
	struct shape shape = *build_shape(build, x);
	struct build_step step = build_step(build, OP_SLICE, leaf);
	build_reads(&step, x);
	for (size_t i = 0; i < shape.rank && step.attributes; i++)
		step.attributes->slice.step[i] = 1;
	if (step.attributes)
		step.attributes->slice.start[found] = first;
	shape.dims[found] = count;
	return build_done(&step, &shape);
}

static size_t plain(struct build *build, const char *leaf, enum op_kind kind, size_t x, const struct shape *shape)
{
	struct build_step step = build_step(build, kind, leaf);
	build_reads(&step, x);
	return build_done(&step, shape);
}

size_t build_reshape(struct build *build, const char *leaf, size_t x, const struct shape *shape)
{
	return plain(build, leaf, OP_RESHAPE, x, shape);
}

size_t build_expand(struct build *build, const char *leaf, size_t x, const struct shape *shape)
{
	return plain(build, leaf, OP_EXPAND, x, shape);
}

size_t build_identity(struct build *build, const char *leaf, size_t x)
{
	return plain(build, leaf, OP_IDENTITY, x, NULL);
}

size_t build_flatten(struct build *build, const char *leaf, size_t x, size_t from)
{
	struct shape shape = *build_shape(build, x);
	int64_t rest;
	if (build->code || from > shape.rank || !shape_product(&shape, from, shape.rank, &rest)) {
		build_fail(build, "'%s' cannot be flattened from dimension %zu on", leaf, from);
		return GRAPH_NONE;
	}
	shape.rank = from + 1;
	shape.dims[from] = rest;
	return build_reshape(build, leaf, x, &shape);
}

size_t build_transpose(struct build *build, const char *leaf, size_t x, size_t a, size_t b)
{
	size_t rank = build_shape(build, x)->rank;
	if (!build->code && (a >= rank || b >= rank))
		build_fail(build, "'%s' has only %zu dimensions", leaf, rank);
	struct build_step step = build_step(build, OP_TRANSPOSE, leaf);
	build_reads(&step, x);
	for (size_t i = 0; i < rank && step.attributes; i++)
		step.attributes->perm[i] = i == a ? b : i == b ? a : i;
	return build_done(&step, NULL);
}

int build_finish(struct build *build, size_t result)
{
	if (!build->code && result != GRAPH_NONE)
		build->graph->tensors.items[result].output = true;
	if (!build->code)
		build->code = graph_finish(build->graph, build->err);
	return build->code;
}
