/* op_product.c - LINEAR, MATMUL and GEMM: each is a matrix product or a batch of them; see op.h for the layouts. */
#include "model/matmul.h"
#include "model/op_kernel.h"

static const struct unary_call no_call = {.fn = KERNEL_NONE};

/* One product of strided matrices: a (m × k), b (k × n), c (m × n, row by row). */
struct product {
	size_t m, n, k;
	size_t a_row, a_depth, b_depth, b_column;
};

static struct product linear_product(const struct op_node *node)
{
	size_t in = op_dim(&node->in[0], node->in[0].shape.rank - 1), rows = in ? op_count(&node->in[0]) / in : 0;
	bool in_major = node->op->attributes.linear.in_major;
	size_t out = op_dim(&node->in[1], in_major ? 1 : 0);
	return (struct product){.m = rows,
				.n = out,
				.k = in,
				.a_row = in,
				.a_depth = 1,
				.b_depth = in_major ? out : 1,
				.b_column = in_major ? 1 : in};
}

static struct product gemm_shape(const struct op_node *node)
{
	bool turn_a = node->op->attributes.gemm.transpose_a, turn_b = node->op->attributes.gemm.transpose_b;
	size_t a_width = op_dim(&node->in[0], 1), b_width = op_dim(&node->in[1], 1);
	return (struct product){.m = op_dim(&node->in[0], turn_a ? 1 : 0),
				.n = op_dim(&node->in[1], turn_b ? 0 : 1),
				.k = op_dim(&node->in[0], turn_a ? 0 : 1),
				.a_row = turn_a ? 1 : a_width,
				.a_depth = turn_a ? a_width : 1,
				.b_depth = turn_b ? 1 : b_width,
				.b_column = turn_b ? b_width : 1};
}

static struct matmul job_of(const struct product *p, const float *a, const float *b, float *c)
{
	return (struct matmul){.m = p->m,
			       .n = p->n,
			       .k = p->k,
			       .a = a,
			       .a_row = p->a_row,
			       .a_depth = p->a_depth,
			       .b = b,
			       .b_depth = p->b_depth,
			       .b_column = p->b_column,
			       .c = c,
			       .c_row = p->n,
			       .finish = {.call = no_call}};
}

/* da += dc·bᵀ and db += aᵀ·dc. A gradient has the layout of its matrix; where the product would come out turned, the turned
 * product is made instead. */
static void product_back(const struct compute *compute, const struct product *p, const float *a, const float *b,
			 const float *dc, float *da, float *db)
{
	if (da && p->a_depth == 1)
		matmul_run(compute, &(struct matmul){.m = p->m,
						     .n = p->k,
						     .k = p->n,
						     .a = dc,
						     .a_row = p->n,
						     .a_depth = 1,
						     .b = b,
						     .b_depth = p->b_column,
						     .b_column = p->b_depth,
						     .c = da,
						     .c_row = p->a_row,
						     .add = true,
						     .finish = {.call = no_call}});
	else if (da)
		matmul_run(compute, &(struct matmul){.m = p->k,
						     .n = p->m,
						     .k = p->n,
						     .a = b,
						     .a_row = p->b_depth,
						     .a_depth = p->b_column,
						     .b = dc,
						     .b_depth = 1,
						     .b_column = p->n,
						     .c = da,
						     .c_row = p->a_depth,
						     .add = true,
						     .finish = {.call = no_call}});
	if (db && p->b_column == 1)
		matmul_run(compute, &(struct matmul){.m = p->k,
						     .n = p->n,
						     .k = p->m,
						     .a = a,
						     .a_row = p->a_depth,
						     .a_depth = p->a_row,
						     .b = dc,
						     .b_depth = p->n,
						     .b_column = 1,
						     .c = db,
						     .c_row = p->b_depth,
						     .add = true,
						     .finish = {.call = no_call}});
	else if (db)
		matmul_run(compute, &(struct matmul){.m = p->n,
						     .n = p->k,
						     .k = p->m,
						     .a = dc,
						     .a_row = 1,
						     .a_depth = p->n,
						     .b = a,
						     .b_depth = p->a_row,
						     .b_column = p->a_depth,
						     .c = db,
						     .c_row = p->b_column,
						     .add = true,
						     .finish = {.call = no_call}});
}

static void linear_forward(const struct compute *compute, const struct op_node *node)
{
	struct product p = linear_product(node);
	struct matmul job = job_of(&p, node->in[0].at, node->in[1].at, node->out[0].at);
	job.b_packed = node->packed;
	job.finish = (struct matmul_finish){.column_bias = node->bias, .call = node->call};
	matmul_run(compute, &job);
}

static void linear_backward(const struct compute *compute, const struct op_node *node)
{
	struct product p = linear_product(node);
	product_back(compute, &p, node->in[0].at, node->in[1].at, node->out[0].grad, node->in[0].grad,
		     node->in[1].grad);
	if (op_in(node, 2) && node->in[2].grad)
		op_add_rows(compute, node->out[0].grad, p.m, p.n, node->in[2].grad);
}

static bool packs(const struct op_node *node)
{
	return node->in[1].fixed && !node->training && !node->blas;
}

static size_t linear_packed(const struct kernel_set *set, const struct op_node *node)
{
	struct product p = linear_product(node);
	return packs(node) ? matmul_packed_b(set, p.n, p.k) : 0;
}

static void linear_pack(const struct compute *compute, const struct op_node *node)
{
	struct product p = linear_product(node);
	matmul_pack_b(compute->set, node->packed, node->in[1].at, p.b_depth, p.b_column, p.n, p.k);
}

const struct op_kernel op_linear = {.words = "packed product",
				    .packed = linear_packed,
				    .pack = linear_pack,
				    .forward = linear_forward,
				    .backward = linear_backward,
				    .back_reads_in = true};

/* A third matrix that is one row goes out with the product; any other shape is added afterwards. */
static bool gemm_has_row_bias(const struct op_node *node)
{
	const struct op_value *c = op_in(node, 2);
	size_t n = op_dim(&node->out[0], 1);
	return c && node->op->attributes.gemm.beta == 1 && node->op->attributes.gemm.alpha == 1 && op_count(c) == n &&
	       (size_t)c->shape.dims[c->shape.rank - 1] == n;
}

static void gemm_forward(const struct compute *compute, const struct op_node *node)
{
	struct product p = gemm_shape(node);
	float alpha = (float)node->op->attributes.gemm.alpha, beta = (float)node->op->attributes.gemm.beta;
	const struct op_value *c = op_in(node, 2);
	struct matmul job = job_of(&p, node->in[0].at, node->in[1].at, node->out[0].at);
	job.b_packed = node->packed;
	if (gemm_has_row_bias(node) || (!c && alpha == 1)) {
		job.finish = (struct matmul_finish){.column_bias = c ? c->at : NULL, .call = node->call};
		matmul_run(compute, &job);
		return;
	}
	matmul_run(compute, &job);
	size_t strides[SHAPE_MAX_RANK];
	if (c)
		op_strides(&node->out[0].shape, &c->shape, strides);
	for (size_t i = 0; i < p.m; i++) {
		float *row = node->out[0].at + i * p.n;
		compute->set->scale(row, alpha, 0, p.n);
		for (size_t j = 0; c && j < p.n; j++)
			row[j] += beta * c->at[i * strides[0] + j * strides[1]];
		if (node->call.fn != KERNEL_NONE)
			compute->set->unary(&node->call, row, row, p.n);
	}
}

static void gemm_backward(const struct compute *compute, const struct op_node *node)
{
	struct product p = gemm_shape(node);
	float alpha = (float)node->op->attributes.gemm.alpha, beta = (float)node->op->attributes.gemm.beta;
	const struct op_value *c = op_in(node, 2);
	float *dy = node->out[0].grad;
	size_t strides[SHAPE_MAX_RANK];
	if (c && c->grad) {
		op_strides(&node->out[0].shape, &c->shape, strides);
		for (size_t i = 0; i < p.m; i++)
			for (size_t j = 0; j < p.n; j++)
				c->grad[i * strides[0] + j * strides[1]] += beta * dy[i * p.n + j];
	}
	/* Nobody reads this gradient any more. */
	if (alpha != 1)
		compute->set->scale(dy, alpha, 0, p.m * p.n);
	product_back(compute, &p, node->in[0].at, node->in[1].at, dy, node->in[0].grad, node->in[1].grad);
}

static size_t gemm_packed(const struct kernel_set *set, const struct op_node *node)
{
	struct product p = gemm_shape(node);
	return packs(node) ? matmul_packed_b(set, p.n, p.k) : 0;
}

static void gemm_pack(const struct compute *compute, const struct op_node *node)
{
	struct product p = gemm_shape(node);
	matmul_pack_b(compute->set, node->packed, node->in[1].at, p.b_depth, p.b_column, p.n, p.k);
}

const struct op_kernel op_gemm = {.words = "packed product",
				  .packed = gemm_packed,
				  .pack = gemm_pack,
				  .forward = gemm_forward,
				  .backward = gemm_backward,
				  .back_reads_in = true};

/* Vectors are matrices of one row (left) or one column (right), as in NumPy; the batches of both are broadcast. */
struct batches {
	struct product p;
	struct shape batch;
	size_t a_strides[SHAPE_MAX_RANK], b_strides[SHAPE_MAX_RANK], count;
};

static struct shape batch_of(const struct shape *shape)
{
	return shape->rank > 2 ? shape_of(shape->rank - 2, shape->dims) : (struct shape){0};
}

static struct batches matmul_batches(const struct op_node *node)
{
	const struct op_value *a = &node->in[0], *b = &node->in[1];
	struct batches all = {0};
	all.p.k = op_dim(a, a->shape.rank - 1);
	all.p.n = b->shape.rank > 1 ? op_dim(b, b->shape.rank - 1) : 1;
	all.p.m = a->shape.rank > 1 ? op_dim(a, a->shape.rank - 2) : 1;
	all.p.a_row = all.p.k;
	all.p.a_depth = 1;
	all.p.b_depth = all.p.n;
	all.p.b_column = 1;
	if (b->shape.rank <= 2) {
		/* One matrix for all: their rows are rows of one product. */
		all.p.m = all.p.k ? op_count(a) / all.p.k : 0;
		all.count = 1;
		return all;
	}
	struct shape a_batch = batch_of(&a->shape), b_batch = batch_of(&b->shape);
	shape_broadcast(&a_batch, &b_batch, &all.batch);
	op_strides(&all.batch, &a_batch, all.a_strides);
	op_strides(&all.batch, &b_batch, all.b_strides);
	all.count = (size_t)shape_elements(&all.batch);
	return all;
}

struct batch_work {
	const struct compute *compute;
	const struct op_node *node;
	struct batches all;
};

static struct matmul batch_job(const struct op_node *node, const struct batches *all, size_t index)
{
	const struct product *p = &all->p;
	size_t a = all->count > 1 ? op_offset(&all->batch, all->a_strides, index) * p->m * p->k : 0;
	size_t b = all->count > 1 ? op_offset(&all->batch, all->b_strides, index) * p->k * p->n : 0;
	struct matmul job = job_of(p, node->in[0].at + a, node->in[1].at + b, node->out[0].at + index * p->m * p->n);
	job.finish = (struct matmul_finish){.column_bias = node->bias, .call = node->call};
	return job;
}

static void one_batch(void *opaque, size_t piece, size_t member)
{
	const struct batch_work *work = opaque;
	struct matmul job = batch_job(work->node, &work->all, piece);
	matmul_alone(work->compute->set, compute_scratch(work->compute, member), &job);
}

static void matmul_forward(const struct compute *compute, const struct op_node *node)
{
	struct batch_work work = {compute, node, matmul_batches(node)};
	if (work.all.count >= 2 * crew_members(compute->crew) && !compute->blas) {
		crew_each(compute->crew, work.all.count, one_batch, &work);
		return;
	}
	for (size_t i = 0; i < work.all.count; i++) {
		struct matmul job = batch_job(node, &work.all, i);
		job.b_packed = node->packed;
		matmul_run(compute, &job);
	}
}

static void matmul_backward(const struct compute *compute, const struct op_node *node)
{
	struct batches all = matmul_batches(node);
	const struct op_value *a = &node->in[0], *b = &node->in[1];
	for (size_t i = 0; i < all.count; i++) {
		size_t at_a = all.count > 1 ? op_offset(&all.batch, all.a_strides, i) * all.p.m * all.p.k : 0;
		size_t at_b = all.count > 1 ? op_offset(&all.batch, all.b_strides, i) * all.p.k * all.p.n : 0;
		product_back(compute, &all.p, a->at + at_a, b->at + at_b, node->out[0].grad + i * all.p.m * all.p.n,
			     a->grad ? a->grad + at_a : NULL, b->grad ? b->grad + at_b : NULL);
	}
}

static size_t matmul_node_packed(const struct kernel_set *set, const struct op_node *node)
{
	struct batches all = matmul_batches(node);
	return packs(node) && node->in[1].shape.rank == 2 ? matmul_packed_b(set, all.p.n, all.p.k) : 0;
}

static void matmul_node_pack(const struct compute *compute, const struct op_node *node)
{
	struct batches all = matmul_batches(node);
	matmul_pack_b(compute->set, node->packed, node->in[1].at, all.p.b_depth, all.p.b_column, all.p.n, all.p.k);
}

const struct op_kernel op_matmul = {.words = "packed product",
				    .packed = matmul_node_packed,
				    .pack = matmul_node_pack,
				    .forward = matmul_forward,
				    .backward = matmul_backward,
				    .back_reads_in = true};
