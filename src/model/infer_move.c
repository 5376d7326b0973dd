/* infer_move.c - shapes of operators that move, pick or fold elements: see infer.h. */
#include "model/infer_site.h"

/* The shape that the reader gave the output; NULL and a complaint where it did not. */
static const struct shape *given(const struct infer_site *site, size_t index)
{
	const struct graph_tensor *tensor = graph_output(site->graph, site->op, index);
	return tensor && tensor->shaped ? &tensor->shape : NULL;
}

static int infer_ungiven(const struct infer_site *site)
{
	if (!site->op->unknown)
		site->op->unknown = mem_strdup("the shape of its output depends on values that are computed");
	return 0;
}

int infer_reshape(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0), *y = given(site, 0);
	char from[SHAPE_TEXT_SIZE], to[SHAPE_TEXT_SIZE];
	if (!y)
		return infer_ungiven(site);
	if (shape_elements(x) != shape_elements(y))
		return infer_bad(site, "%s has not as many elements as %s", shape_text(x, from), shape_text(y, to));
	return infer_set(site, 0, y);
}

int infer_cast(const struct infer_site *site)
{
	return infer_set(site, 0, infer_in(site, 0));
}

int infer_expand(const struct infer_site *site)
{
	const struct shape *y = given(site, 0);
	struct shape wide;
	if (!y)
		return infer_ungiven(site);
	if (!shape_broadcast(infer_in(site, 0), y, &wide) || !shape_equal(&wide, y))
		return infer_bad(site, "its input cannot be broadcast to its output");
	return infer_set(site, 0, y);
}

int infer_transpose(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0);
	struct shape shape = {.rank = x->rank};
	bool seen[SHAPE_MAX_RANK] = {false};
	for (size_t i = 0; i < x->rank; i++) {
		size_t from = site->op->attributes.perm[i];
		if (from >= x->rank || seen[from])
			return infer_bad(site, "its order of dimensions is no permutation of %zu", x->rank);
		seen[from] = true;
		shape.dims[i] = x->dims[from];
	}
	return infer_set(site, 0, &shape);
}

int infer_concat(const struct infer_site *site)
{
	struct shape shape = *infer_in(site, 0);
	size_t axis = site->op->attributes.axis;
	char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
	if (axis >= shape.rank)
		return infer_bad(site, "it has no axis %zu", axis);
	for (size_t i = 1; i < site->op->inputs.len; i++) {
		const struct shape *next = infer_in(site, i);
		if (!next)
			return infer_bad(site, "input %zu is missing", i);
		struct shape same = *next;
		if (axis < same.rank)
			same.dims[axis] = shape.dims[axis];
		if (!shape_equal(&same, &shape))
			return infer_bad(site, "%s and %s cannot be joined along axis %zu", shape_text(&shape, a),
					 shape_text(next, b), axis);
		shape.dims[axis] += next->dims[axis];
		if (infer_range(site, "its output", shape.dims[axis], 0) != 0)
			return ERR_INPUT;
	}
	return infer_set(site, 0, &shape);
}

int infer_split(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0);
	size_t axis = site->op->attributes.axis;
	int64_t total = 0;
	int code = 0;
	if (axis >= x->rank)
		return infer_bad(site, "it has no axis %zu", axis);
	for (size_t i = 0; !code && i < site->op->outputs.len; i++) {
		const struct shape *part = given(site, i);
		if (!part)
			return infer_ungiven(site);
		struct shape same = *part;
		if (axis < same.rank)
			same.dims[axis] = x->dims[axis];
		if (!shape_equal(&same, x) || part->dims[axis] < 0 || part->dims[axis] > INFER_MAX_DIM)
			return infer_bad(site, "output %zu is no part of its input", i);
		total += part->dims[axis];
		code = infer_set(site, i, part);
	}
	if (!code && total != x->dims[axis])
		return infer_bad(site, "its parts add up to %lld of %lld", (long long)total, (long long)x->dims[axis]);
	return code;
}

int infer_slice(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0), *y = given(site, 0);
	if (!y)
		return infer_ungiven(site);
	if (y->rank != x->rank)
		return infer_bad(site, "a slice keeps the number of dimensions");
	for (size_t i = 0; i < x->rank; i++) {
		int64_t start = site->op->attributes.slice.start[i], step = site->op->attributes.slice.step[i], way;
		if (y->dims[i] == 0)
			continue;
		if (y->dims[i] < 0 || start < 0 || start >= x->dims[i] || step == 0 ||
		    __builtin_mul_overflow(y->dims[i] - 1, step, &way) || __builtin_add_overflow(start, way, &way) ||
		    way < 0 || way >= x->dims[i])
			return infer_bad(site, "it leaves its input in dimension %zu", i);
	}
	return infer_set(site, 0, y);
}

int infer_pad(const struct infer_site *site)
{
	struct shape shape = *infer_in(site, 0);
	for (size_t i = 0; i < shape.rank; i++) {
		int64_t begin = site->op->attributes.pad.begin[i], end = site->op->attributes.pad.end[i];
		if (begin < -INFER_MAX_DIM || begin > INFER_MAX_DIM || end < -INFER_MAX_DIM || end > INFER_MAX_DIM)
			return infer_bad(site, "its padding is too large");
		shape.dims[i] += begin + end;
		if (shape.dims[i] < 0)
			return infer_bad(site, "its padding leaves less than nothing");
	}
	return infer_set(site, 0, &shape);
}

int infer_resize(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0), *y = given(site, 0);
	if (!y)
		return infer_ungiven(site);
	if (y->rank != x->rank)
		return infer_bad(site, "resizing keeps the number of dimensions");
	return infer_set(site, 0, y);
}

int infer_embedding(const struct infer_site *site)
{
	const struct shape *table = infer_in(site, 0);
	struct shape shape = *infer_in(site, 1);
	if (table->rank != 2 || shape.rank >= SHAPE_MAX_RANK)
		return infer_bad(site, "needs a table with two dimensions");
	shape.dims[shape.rank++] = table->dims[1];
	return infer_set(site, 0, &shape);
}

int infer_gather(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0), *ids = infer_in(site, 1);
	size_t axis = site->op->attributes.axis;
	struct shape shape = {0};
	if (axis >= x->rank)
		return infer_bad(site, "it has no axis %zu", axis);
	if (x->rank + ids->rank - 1 > SHAPE_MAX_RANK)
		return infer_bad(site, "its output has more than %d dimensions", SHAPE_MAX_RANK);
	for (size_t i = 0; i < x->rank; i++) {
		if (i != axis)
			shape.dims[shape.rank++] = x->dims[i];
		for (size_t k = 0; i == axis && k < ids->rank; k++)
			shape.dims[shape.rank++] = ids->dims[k];
	}
	return infer_set(site, 0, &shape);
}

int infer_reduce(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0);
	struct shape shape = {0};
	for (size_t i = 0; i < x->rank; i++) {
		bool goes = site->op->attributes.reduce.axes[i];
		if (!goes || site->op->attributes.reduce.keep)
			shape.dims[shape.rank++] = goes ? 1 : x->dims[i];
	}
	return infer_set(site, 0, &shape);
}
