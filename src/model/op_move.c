/*
 * op_move.c - operators that only move numbers: transpose, concatenate, split, slice, stretch, pad; and look up, cast, resize.
 *
 * The first six copy boxes: `dims` numbers in up to eight dimensions from one set of strides to another. Backward is the same
 * box the other way round, added.
 */
#include "model/op_kernel.h"

#include <math.h>
#include <string.h>

struct box {
	size_t rank, dims[SHAPE_MAX_RANK];
	ptrdiff_t to[SHAPE_MAX_RANK], from[SHAPE_MAX_RANK]; /* strides */
};

static void plain_strides(const struct shape *shape, ptrdiff_t strides[SHAPE_MAX_RANK])
{
	ptrdiff_t step = 1;
	for (size_t i = shape->rank; i-- > 0;) {
		strides[i] = step;
		step *= (ptrdiff_t)shape->dims[i];
	}
}

static void move_row(const struct box *box, float *to, const float *from, bool add)
{
	size_t last = box->rank - 1, count = box->dims[last];
	ptrdiff_t to_step = box->to[last], from_step = box->from[last];
	if (!add && to_step == 1 && from_step == 1) {
		memcpy(to, from, count * sizeof(*to));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		float *at = to + (ptrdiff_t)i * to_step, value = from[(ptrdiff_t)i * from_step];
		*at = add ? *at + value : value;
	}
}

static void move_from(const struct box *box, size_t axis, float *to, const float *from, bool add)
{
	if (axis + 1 == box->rank) {
		move_row(box, to, from, add);
		return;
	}
	for (size_t i = 0; i < box->dims[axis]; i++)
		move_from(box, axis + 1, to + (ptrdiff_t)i * box->to[axis], from + (ptrdiff_t)i * box->from[axis], add);
}

struct move_work {
	const struct box *box;
	float *to;
	const float *from;
};

static void move_piece(void *opaque, size_t i, size_t member)
{
	const struct move_work *work = opaque;
	(void)member;
	move_from(work->box, 1, work->to + (ptrdiff_t)i * work->box->to[0],
		  work->from + (ptrdiff_t)i * work->box->from[0], false);
}

static bool is_empty(const struct box *box)
{
	for (size_t i = 0; i < box->rank; i++)
		if (box->dims[i] == 0)
			return true;
	return false;
}

static void move_box(const struct compute *compute, const struct box *box, float *to, const float *from, bool add)
{
	struct move_work work = {box, to, from};
	if (is_empty(box))
		return;
	if (box->rank == 0)
		*to = add ? *to + *from : *from;
	else if (add || box->rank == 1)
		move_from(box, 0, to, from, add); /* what is added may meet in one place */
	else
		crew_each(compute->crew, box->dims[0], move_piece, &work);
}

/* `grad` of the input gets what went to the output. */
static void move_back(const struct compute *compute, const struct box *box, float *grad, const float *from)
{
	struct box turned = *box;
	memcpy(turned.to, box->from, sizeof(turned.to));
	memcpy(turned.from, box->to, sizeof(turned.from));
	if (grad)
		move_box(compute, &turned, grad, from, true);
}

static struct box box_of(const struct shape *shape)
{
	struct box box = {.rank = shape->rank};
	for (size_t i = 0; i < shape->rank; i++)
		box.dims[i] = (size_t)shape->dims[i];
	return box;
}

static struct box transpose_box(const struct op_node *node)
{
	struct box box = box_of(&node->out[0].shape);
	ptrdiff_t strides[SHAPE_MAX_RANK];
	plain_strides(&node->out[0].shape, box.to);
	plain_strides(&node->in[0].shape, strides);
	for (size_t i = 0; i < box.rank; i++)
		box.from[i] = strides[node->op->attributes.perm[i]];
	return box;
}

static void transpose_forward(const struct compute *compute, const struct op_node *node)
{
	struct box box = transpose_box(node);
	move_box(compute, &box, node->out[0].at, node->in[0].at, false);
}

static void transpose_backward(const struct compute *compute, const struct op_node *node)
{
	struct box box = transpose_box(node);
	move_back(compute, &box, node->in[0].grad, node->out[0].grad);
}

const struct op_kernel op_transpose = {
	.words = "copy by strides", .forward = transpose_forward, .backward = transpose_backward};

static struct box expand_box(const struct op_node *node)
{
	struct box box = box_of(&node->out[0].shape);
	size_t strides[SHAPE_MAX_RANK];
	plain_strides(&node->out[0].shape, box.to);
	op_strides(&node->out[0].shape, &node->in[0].shape, strides);
	for (size_t i = 0; i < box.rank; i++)
		box.from[i] = (ptrdiff_t)strides[i];
	return box;
}

static void expand_forward(const struct compute *compute, const struct op_node *node)
{
	struct box box = expand_box(node);
	move_box(compute, &box, node->out[0].at, node->in[0].at, false);
}

static void expand_backward(const struct compute *compute, const struct op_node *node)
{
	struct box box = expand_box(node);
	move_back(compute, &box, node->in[0].grad, node->out[0].grad);
}

const struct op_kernel op_expand = {.words = "copy by strides", .forward = expand_forward, .backward = expand_backward};

/* Where the box begins in the input is `offset`. */
static struct box slice_box(const struct op_node *node, ptrdiff_t *offset)
{
	struct box box = box_of(&node->out[0].shape);
	ptrdiff_t strides[SHAPE_MAX_RANK];
	plain_strides(&node->out[0].shape, box.to);
	plain_strides(&node->in[0].shape, strides);
	*offset = 0;
	for (size_t i = 0; i < box.rank; i++) {
		box.from[i] = strides[i] * (ptrdiff_t)node->op->attributes.slice.step[i];
		*offset += strides[i] * (ptrdiff_t)node->op->attributes.slice.start[i];
	}
	return box;
}

static void slice_forward(const struct compute *compute, const struct op_node *node)
{
	ptrdiff_t offset;
	struct box box = slice_box(node, &offset);
	move_box(compute, &box, node->out[0].at, node->in[0].at + offset, false);
}

static void slice_backward(const struct compute *compute, const struct op_node *node)
{
	ptrdiff_t offset;
	struct box box = slice_box(node, &offset);
	move_back(compute, &box, node->in[0].grad ? node->in[0].grad + offset : NULL, node->out[0].grad);
}

const struct op_kernel op_slice = {.words = "copy by strides", .forward = slice_forward, .backward = slice_backward};

/* The part of the input that is seen in the output: padding below 0 cuts. */
static struct box pad_box(const struct op_node *node, ptrdiff_t *to, ptrdiff_t *from)
{
	const int64_t *begin = node->op->attributes.pad.begin, *end = node->op->attributes.pad.end;
	struct box box = box_of(&node->in[0].shape);
	plain_strides(&node->out[0].shape, box.to);
	plain_strides(&node->in[0].shape, box.from);
	*to = *from = 0;
	for (size_t i = 0; i < box.rank; i++) {
		int64_t cut_begin = begin[i] < 0 ? -begin[i] : 0, cut_end = end[i] < 0 ? -end[i] : 0;
		int64_t left = (int64_t)box.dims[i] - cut_begin - cut_end;
		box.dims[i] = left > 0 ? (size_t)left : 0;
		*to += box.to[i] * (ptrdiff_t)(begin[i] > 0 ? begin[i] : 0);
		*from += box.from[i] * (ptrdiff_t)cut_begin;
	}
	return box;
}

static void pad_forward(const struct compute *compute, const struct op_node *node)
{
	ptrdiff_t to, from;
	struct box box = pad_box(node, &to, &from);
	float value = (float)node->op->attributes.pad.value;
	for (size_t i = 0, count = op_count(&node->out[0]); i < count; i++)
		node->out[0].at[i] = value;
	move_box(compute, &box, node->out[0].at + to, node->in[0].at + from, false);
}

static void pad_backward(const struct compute *compute, const struct op_node *node)
{
	ptrdiff_t to, from;
	struct box box = pad_box(node, &to, &from);
	move_back(compute, &box, node->in[0].grad ? node->in[0].grad + from : NULL, node->out[0].grad + to);
}

const struct op_kernel op_pad = {.words = "copy by strides", .forward = pad_forward, .backward = pad_backward};

/* One part of a concatenation or a split: its own box within the whole, which has `offset` of the axis before it. */
static struct box part_box(const struct op_value *part, const struct op_value *whole, size_t axis, size_t before,
			   bool to_whole, ptrdiff_t *offset)
{
	struct box box = box_of(&part->shape);
	plain_strides(&part->shape, to_whole ? box.from : box.to);
	plain_strides(&whole->shape, to_whole ? box.to : box.from);
	*offset = (ptrdiff_t)before * (to_whole ? box.to[axis] : box.from[axis]);
	return box;
}

static void concat_forward(const struct compute *compute, const struct op_node *node)
{
	size_t axis = node->op->attributes.axis, before = 0;
	for (size_t i = 0; i < node->in_count; i++) {
		ptrdiff_t offset;
		struct box box = part_box(&node->in[i], &node->out[0], axis, before, true, &offset);
		move_box(compute, &box, node->out[0].at + offset, node->in[i].at, false);
		before += op_dim(&node->in[i], axis);
	}
}

static void concat_backward(const struct compute *compute, const struct op_node *node)
{
	size_t axis = node->op->attributes.axis, before = 0;
	for (size_t i = 0; i < node->in_count; i++) {
		ptrdiff_t offset;
		struct box box = part_box(&node->in[i], &node->out[0], axis, before, true, &offset);
		move_back(compute, &box, node->in[i].grad, node->out[0].grad + offset);
		before += op_dim(&node->in[i], axis);
	}
}

const struct op_kernel op_concat = {.words = "copy by strides", .forward = concat_forward, .backward = concat_backward};

static void split_forward(const struct compute *compute, const struct op_node *node)
{
	size_t axis = node->op->attributes.axis, before = 0;
	for (size_t i = 0; i < node->out_count; i++) {
		ptrdiff_t offset;
		struct box box = part_box(&node->out[i], &node->in[0], axis, before, false, &offset);
		if (node->out[i].present)
			move_box(compute, &box, node->out[i].at, node->in[0].at + offset, false);
		before += op_dim(&node->out[i], axis);
	}
}

static void split_backward(const struct compute *compute, const struct op_node *node)
{
	size_t axis = node->op->attributes.axis, before = 0;
	for (size_t i = 0; i < node->out_count && node->in[0].grad; i++) {
		ptrdiff_t offset;
		struct box box = part_box(&node->out[i], &node->in[0], axis, before, false, &offset);
		if (node->out[i].grad)
			move_back(compute, &box, node->in[0].grad + offset, node->out[i].grad);
		before += op_dim(&node->out[i], axis);
	}
}

const struct op_kernel op_split = {.words = "copy by strides", .forward = split_forward, .backward = split_backward};

/* The row that an id names: counted from the end below 0, none where there is no such row. */
static const float *look_up(const float *table, float id, size_t rows, size_t width)
{
	float row = id < 0 ? id + (float)rows : id;
	return row >= 0 && row < (float)rows ? table + (size_t)row * width : NULL;
}

struct lookup {
	const struct op_value *table, *ids;
	size_t outer, rows, width, count; /* of the table: outer × rows × width; ids: count */
};

static struct lookup lookup_of(const struct op_node *node)
{
	const struct op_value *table = &node->in[0];
	size_t axis = node->op->kind == OP_EMBEDDING ? 0 : node->op->attributes.axis;
	return (struct lookup){.table = table,
			       .ids = &node->in[1],
			       .outer = op_span(table, 0, axis),
			       .rows = op_dim(table, axis),
			       .width = op_span(table, axis + 1, table->shape.rank),
			       .count = op_count(&node->in[1])};
}

static void lookup_forward(const struct compute *compute, const struct op_node *node)
{
	struct lookup l = lookup_of(node);
	float *to = node->out[0].at;
	(void)compute;
	for (size_t o = 0; o < l.outer; o++)
		for (size_t i = 0; i < l.count; i++, to += l.width) {
			const float *row = look_up(l.table->at + o * l.rows * l.width, l.ids->at[i], l.rows, l.width);
			if (row)
				memcpy(to, row, l.width * sizeof(*to));
			else
				memset(to, 0, l.width * sizeof(*to));
		}
}

static void lookup_backward(const struct compute *compute, const struct op_node *node)
{
	struct lookup l = lookup_of(node);
	const float *from = node->out[0].grad;
	for (size_t o = 0; l.table->grad && o < l.outer; o++)
		for (size_t i = 0; i < l.count; i++, from += l.width) {
			float *grad = l.table->grad + o * l.rows * l.width;
			const float *row = look_up(grad, l.ids->at[i], l.rows, l.width);
			if (row)
				compute->set->add_scaled(grad + (row - grad), from, 1, l.width);
		}
}

const struct op_kernel op_embedding = {
	.words = "rows copied", .forward = lookup_forward, .backward = lookup_backward, .back_reads_in = true};
const struct op_kernel op_gather = {
	.words = "rows copied", .forward = lookup_forward, .backward = lookup_backward, .back_reads_in = true};

static void cast_forward(const struct compute *compute, const struct op_node *node)
{
	size_t count = op_count(&node->out[0]);
	const float *x = node->in[0].at;
	(void)compute;
	for (size_t i = 0; i < count; i++)
		node->out[0].at[i] = node->whole ? (node->truth ? (float)(x[i] != 0) : truncf(x[i])) : x[i];
}

static void cast_backward(const struct compute *compute, const struct op_node *node)
{
	if (node->in[0].grad && !node->whole)
		op_add(compute, node->in[0].grad, node->out[0].grad, op_count(&node->out[0]));
}

const struct op_kernel op_cast = {
	.words = "by elements", .forward = cast_forward, .backward = cast_backward, .in_place = true};

/* One axis of a resized image: the two neighbours of output i and the weight of the second. */
struct neighbours {
	size_t first, second;
	float weight;
};

static struct neighbours neighbours_of(size_t i, size_t in, size_t out, bool linear)
{
	struct neighbours near = {.first = i * in / out};
	near.second = near.first;
	if (!linear)
		return near;
	/* Centres of pixels lie at halves. */
	double at = ((double)i + 0.5) * (double)in / (double)out - 0.5;
	at = at < 0 ? 0 : at > (double)(in - 1) ? (double)(in - 1) : at;
	near.first = (size_t)at;
	near.second = near.first + 1 < in ? near.first + 1 : near.first;
	near.weight = (float)(at - (double)near.first);
	return near;
}

/* Forward where there is no `dx`: the output from the input; else the gradient of the output spread to that of the input. */
static void resize_planes(const struct op_node *node, float *dx)
{
	const struct op_value *in = &node->in[0], *out = &node->out[0];
	size_t rank = in->shape.rank, planes = op_span(in, 0, 2), width = op_dim(in, rank - 1);
	size_t in_h = rank == 4 ? op_dim(in, 2) : 1, out_h = rank == 4 ? op_dim(out, 2) : 1;
	size_t out_w = op_dim(out, rank - 1);
	bool linear = node->op->attributes.resize.linear;
	for (size_t i = 0; i < planes * out_h * out_w; i++) {
		size_t plane = i / (out_h * out_w) * in_h * width;
		struct neighbours down = neighbours_of(i / out_w % out_h, in_h, out_h, linear);
		struct neighbours right = neighbours_of(i % out_w, width, out_w, linear);
		const size_t at[4] = {down.first * width + right.first, down.first * width + right.second,
				      down.second * width + right.first, down.second * width + right.second};
		const float w[4] = {(1 - down.weight) * (1 - right.weight), (1 - down.weight) * right.weight,
				    down.weight * (1 - right.weight), down.weight * right.weight};
		float value = 0;
		for (size_t j = 0; j < 4; j++) {
			value += w[j] * in->at[plane + at[j]];
			if (dx)
				dx[plane + at[j]] += w[j] * out->grad[i];
		}
		if (!dx)
			out->at[i] = value;
	}
}

static void resize_forward(const struct compute *compute, const struct op_node *node)
{
	(void)compute;
	resize_planes(node, NULL);
}

static void resize_backward(const struct compute *compute, const struct op_node *node)
{
	(void)compute;
	if (node->in[0].grad)
		resize_planes(node, node->in[0].grad);
}

static const char *resize_refuse(const struct op_node *node)
{
	size_t rank = node->in[0].shape.rank;
	if (rank < 3 || rank > 4)
		return "only images of one and two dimensions are resized";
	for (size_t i = 0; i < 2; i++)
		if (node->in[0].shape.dims[i] != node->out[0].shape.dims[i])
			return "batch and channels are not resized";
	return NULL;
}

const struct op_kernel op_resize = {.words = "direct",
				    .refuse = resize_refuse,
				    .forward = resize_forward,
				    .backward = resize_backward,
				    .back_reads_in = true};
