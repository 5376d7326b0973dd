/*
 * op_point.c - elementwise operators, with operands stretched as NumPy does, and reductions over any axes.
 *
 * A stretched operand costs no copy: the last dimensions in which every operand either runs along or stands still are one row for
 * the kernels, and the rest is counted by strides.
 */
#include "model/op_kernel.h"

#include <math.h>
#include <string.h>

void op_strides(const struct shape *shape, const struct shape *operand, size_t strides[SHAPE_MAX_RANK])
{
	size_t step = 1;
	memset(strides, 0, SHAPE_MAX_RANK * sizeof(*strides));
	for (size_t i = 0; i < operand->rank; i++) {
		size_t from_end = operand->rank - 1 - i;
		strides[shape->rank - 1 - i] = operand->dims[from_end] == 1 ? 0 : step;
		step *= (size_t)operand->dims[from_end];
	}
}

size_t op_offset(const struct shape *shape, const size_t strides[SHAPE_MAX_RANK], size_t index)
{
	size_t offset = 0;
	for (size_t i = shape->rank; i-- > 0;) {
		offset += index % (size_t)shape->dims[i] * strides[i];
		index /= (size_t)shape->dims[i];
	}
	return offset;
}

struct point_work {
	const struct compute *compute;
	const struct op_node *node;
	const float *x, *dy;
	float *y, *dx;
	size_t count;
	struct unary_call call;
};

static void unary_piece(void *opaque, size_t piece, size_t member)
{
	const struct point_work *work = opaque;
	size_t at = piece * COMPUTE_PIECE;
	(void)member;
	work->compute->set->unary(&work->call, work->x + at, work->y + at, compute_piece_size(work->count, piece));
}

static void unary_back_piece(void *opaque, size_t piece, size_t member)
{
	const struct point_work *work = opaque;
	float made[512];
	size_t begin = piece * COMPUTE_PIECE, end = begin + compute_piece_size(work->count, piece);
	(void)member;
	for (size_t at = begin; at < end; at += 512) {
		size_t some = end - at < 512 ? end - at : 512;
		work->compute->set->unary_back(&work->call, work->x + at, work->dy + at, made, some);
		work->compute->set->add_scaled(work->dx + at, made, 1, some);
	}
}

struct unary_call op_unary_call(const struct graph_op *op)
{
	if (op->kind == OP_CLIP)
		return (struct unary_call){KERNEL_CLIP, (float)op->attributes.clip.low,
					   (float)op->attributes.clip.high};
	return (struct unary_call){(int)op->attributes.unary.fn, (float)op->attributes.unary.alpha,
				   (float)op->attributes.unary.beta};
}

static void unary_forward(const struct compute *compute, const struct op_node *node)
{
	struct point_work work = {.compute = compute,
				  .x = node->in[0].at,
				  .y = node->out[0].at,
				  .count = op_count(&node->out[0]),
				  .call = op_unary_call(node->op)};
	crew_each(compute->crew, compute_pieces(work.count), unary_piece, &work);
}

static void unary_backward(const struct compute *compute, const struct op_node *node)
{
	struct point_work work = {.compute = compute,
				  .x = node->in[0].at,
				  .dy = node->out[0].grad,
				  .dx = node->in[0].grad,
				  .count = op_count(&node->out[0]),
				  .call = op_unary_call(node->op)};
	if (work.dx)
		crew_each(compute->crew, compute_pieces(work.count), unary_back_piece, &work);
}

const struct op_kernel op_unary = {.words = "by elements",
				   .forward = unary_forward,
				   .backward = unary_backward,
				   .back_reads_in = true,
				   .in_place = true};
const struct op_kernel op_clip = {.words = "by elements",
				  .forward = unary_forward,
				  .backward = unary_backward,
				  .back_reads_in = true,
				  .in_place = true};

static void add_piece(void *opaque, size_t piece, size_t member)
{
	const struct point_work *work = opaque;
	size_t at = piece * COMPUTE_PIECE;
	(void)member;
	work->compute->set->add_scaled(work->y + at, work->x + at, 1, compute_piece_size(work->count, piece));
}

void op_add(const struct compute *compute, float *to, const float *x, size_t count)
{
	struct point_work work = {.compute = compute, .x = x, .y = to, .count = count};
	crew_each(compute->crew, compute_pieces(count), add_piece, &work);
}

void op_add_rows(const struct compute *compute, const float *x, size_t rows, size_t columns, float *to)
{
	for (size_t i = 0; i < rows; i++)
		compute->set->add_scaled(to, x + i * columns, 1, columns);
}

/* The rows of an elementwise operation: how many numbers one has, and how each operand walks through the rows. */
struct rows {
	struct shape outer;
	size_t count, length;
	size_t steps[3];                   /* within a row: 1, or 0 where it stands still */
	size_t strides[3][SHAPE_MAX_RANK]; /* from row to row */
};

static bool walks_on(const struct shape *shape, const size_t strides[SHAPE_MAX_RANK], size_t axis, size_t step,
		     size_t length)
{
	return shape->dims[axis] == 1 || strides[axis] == step * length;
}

static struct rows rows_of(const struct shape *shape, const struct op_value *const *operands, size_t operand_count)
{
	struct rows rows = {.outer = *shape, .length = 1};
	for (size_t i = 0; i < operand_count; i++)
		op_strides(shape, &operands[i]->shape, rows.strides[i]);
	size_t axis = shape->rank;
	for (bool first = true; axis > 0; first = false, axis--) {
		size_t dim = (size_t)shape->dims[axis - 1];
		bool fits = true;
		for (size_t i = 0; i < operand_count && !first; i++)
			fits = fits && walks_on(shape, rows.strides[i], axis - 1, rows.steps[i], rows.length);
		if (!fits)
			break;
		for (size_t i = 0; i < operand_count && rows.length == 1; i++)
			rows.steps[i] = rows.strides[i][axis - 1] ? 1 : 0;
		rows.length *= dim;
	}
	rows.outer.rank = axis;
	rows.count = (size_t)shape_elements(&rows.outer);
	return rows;
}

struct binary_work {
	const struct compute *compute;
	const struct op_node *node;
	struct rows rows;
};

/* Rows are cut or bundled into pieces of about COMPUTE_PIECE numbers. */
static size_t rows_per_piece(const struct rows *rows)
{
	return rows->length >= COMPUTE_PIECE ? 1 : COMPUTE_PIECE / (rows->length ? rows->length : 1);
}

static void binary_rows(void *opaque, size_t piece, size_t member)
{
	const struct binary_work *work = opaque;
	const struct rows *rows = &work->rows;
	const struct op_node *node = work->node;
	size_t begin = piece * rows_per_piece(rows), end = begin + rows_per_piece(rows);
	(void)member;
	for (size_t row = begin; row < end && row < rows->count; row++)
		work->compute->set->binary(
			node->op->attributes.binary.fn, node->in[0].at + op_offset(&rows->outer, rows->strides[0], row),
			rows->steps[0], node->in[1].at + op_offset(&rows->outer, rows->strides[1], row), rows->steps[1],
			node->out[0].at + row * rows->length, rows->length);
	float *made = node->out[0].at + begin * rows->length;
	size_t last = end < rows->count ? end : rows->count;
	if (node->call.fn != KERNEL_NONE && last > begin)
		work->compute->set->unary(&node->call, made, made, (last - begin) * rows->length);
}

static void binary_whole(void *opaque, size_t piece, size_t member)
{
	const struct binary_work *work = opaque;
	const struct rows *rows = &work->rows;
	const struct op_node *node = work->node;
	size_t at = piece * COMPUTE_PIECE, count = compute_piece_size(rows->length, piece);
	(void)member;
	work->compute->set->binary(node->op->attributes.binary.fn, node->in[0].at + at * rows->steps[0], rows->steps[0],
				   node->in[1].at + at * rows->steps[1], rows->steps[1], node->out[0].at + at, count);
	if (node->call.fn != KERNEL_NONE)
		work->compute->set->unary(&node->call, node->out[0].at + at, node->out[0].at + at, count);
}

static void binary_forward(const struct compute *compute, const struct op_node *node)
{
	const struct op_value *operands[] = {&node->in[0], &node->in[1]};
	struct binary_work work = {compute, node, rows_of(&node->out[0].shape, operands, 2)};
	if (work.rows.count == 1)
		crew_each(compute->crew, compute_pieces(work.rows.length), binary_whole, &work);
	else
		crew_each(compute->crew,
			  (work.rows.count + rows_per_piece(&work.rows) - 1) / rows_per_piece(&work.rows), binary_rows,
			  &work);
}

/* The slopes of f(a, b) along a and b. */
static void slopes(enum binary_fn fn, float a, float b, float out[2])
{
	out[0] = out[1] = 0;
	switch (fn) {
	case BINARY_ADD:
		out[0] = out[1] = 1;
		break;
	case BINARY_SUB:
		out[0] = 1, out[1] = -1;
		break;
	case BINARY_MUL:
		out[0] = b, out[1] = a;
		break;
	case BINARY_DIV:
		out[0] = 1 / b, out[1] = -a / (b * b);
		break;
	case BINARY_POW:
		out[0] = b * powf(a, b - 1), out[1] = a > 0 ? logf(a) * powf(a, b) : 0;
		break;
	case BINARY_MIN:
		out[a <= b ? 0 : 1] = 1;
		break;
	case BINARY_MAX:
		out[a >= b ? 0 : 1] = 1;
		break;
	default:
		break;
	}
}

static void binary_backward(const struct compute *compute, const struct op_node *node)
{
	const struct shape *shape = &node->out[0].shape;
	enum binary_fn fn = node->op->attributes.binary.fn;
	const struct op_value *a = &node->in[0], *b = &node->in[1];
	size_t count = op_count(&node->out[0]), a_strides[SHAPE_MAX_RANK], b_strides[SHAPE_MAX_RANK];
	/* Sums of equal shapes, which residual networks are made of. */
	if (fn == BINARY_ADD && op_count(a) == count && op_count(b) == count) {
		if (a->grad)
			op_add(compute, a->grad, node->out[0].grad, count);
		if (b->grad)
			op_add(compute, b->grad, node->out[0].grad, count);
		return;
	}
	op_strides(shape, &a->shape, a_strides);
	op_strides(shape, &b->shape, b_strides);
	for (size_t i = 0; i < count; i++) {
		size_t at_a = op_offset(shape, a_strides, i), at_b = op_offset(shape, b_strides, i);
		float slope[2];
		slopes(fn, a->at[at_a], b->at[at_b], slope);
		if (a->grad)
			a->grad[at_a] += node->out[0].grad[i] * slope[0];
		if (b->grad)
			b->grad[at_b] += node->out[0].grad[i] * slope[1];
	}
}

const struct op_kernel op_binary = {.words = "by elements",
				    .forward = binary_forward,
				    .backward = binary_backward,
				    .back_reads_in = true,
				    .in_place = true};

static void where_forward(const struct compute *compute, const struct op_node *node)
{
	const struct shape *shape = &node->out[0].shape;
	size_t strides[3][SHAPE_MAX_RANK], count = op_count(&node->out[0]);
	(void)compute;
	for (size_t i = 0; i < 3; i++)
		op_strides(shape, &node->in[i].shape, strides[i]);
	for (size_t i = 0; i < count; i++) {
		size_t from = node->in[0].at[op_offset(shape, strides[0], i)] != 0 ? 1 : 2;
		node->out[0].at[i] = node->in[from].at[op_offset(shape, strides[from], i)];
	}
}

static void where_backward(const struct compute *compute, const struct op_node *node)
{
	const struct shape *shape = &node->out[0].shape;
	size_t strides[3][SHAPE_MAX_RANK], count = op_count(&node->out[0]);
	(void)compute;
	for (size_t i = 0; i < 3; i++)
		op_strides(shape, &node->in[i].shape, strides[i]);
	for (size_t i = 0; i < count; i++) {
		size_t from = node->in[0].at[op_offset(shape, strides[0], i)] != 0 ? 1 : 2;
		if (node->in[from].grad)
			node->in[from].grad[op_offset(shape, strides[from], i)] += node->out[0].grad[i];
	}
}

const struct op_kernel op_where = {
	.words = "by elements", .forward = where_forward, .backward = where_backward, .back_reads_in = true};
