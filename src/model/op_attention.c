/*
 * op_attention.c - softmax(q·kᵀ·scale + mask)·v, head by head, some query rows at a time.
 *
 * Scores exist only for BLOCK_ROWS queries of one head at a time, in a thread's scratch: they stay in the cache, and memory grows
 * with the sequence, not with its square. The backward pass makes them again (extra_flops). Causal attention computes no
 * score that the last query of a block does not see. Several query heads may share one head of keys and values.
 */
#include "model/matmul.h"
#include "model/op_kernel.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 64 };

static const struct unary_call no_call = {.fn = KERNEL_NONE};

/* One of q, k, v, and of their gradients: row `s` of batch `n`, head `h` is at[(n·rows + s)·stride + h·d]. */
struct side {
	const float *at;
	float *grad;
	size_t stride;
};

struct attention {
	const struct compute *compute;
	const struct op_node *node;
	size_t batch, heads, kv_heads, d, queries, keys, blocks;
	struct side q, k, v;
	const struct op_value *mask;
	size_t mask_strides[SHAPE_MAX_RANK];
	bool causal;
	float scale;
};

static struct side side_of(const struct op_value *value, size_t offset)
{
	return (struct side){value->at ? value->at + offset : NULL, value->grad ? value->grad + offset : NULL,
			     op_dim(value, 2)};
}

static struct attention attention_of(const struct compute *compute, const struct op_node *node)
{
	const struct op_attention *how = &node->op->attributes.attention;
	const struct op_value *q = &node->in[0];
	size_t heads = (size_t)how->heads, kv_heads = (size_t)how->kv_heads;
	bool together = !op_in(node, 1);
	struct attention a = {.compute = compute,
			      .node = node,
			      .batch = op_dim(q, 0),
			      .heads = heads,
			      .kv_heads = kv_heads,
			      .d = op_dim(q, 2) / (together ? heads + 2 * kv_heads : heads),
			      .queries = op_dim(q, 1),
			      .keys = together ? op_dim(q, 1) : op_dim(&node->in[1], 1),
			      .mask = together ? NULL : op_in(node, 3),
			      .causal = how->causal};
	a.q = side_of(q, 0);
	a.k = together ? side_of(q, heads * a.d) : side_of(&node->in[1], 0);
	a.v = together ? side_of(q, (heads + kv_heads) * a.d) : side_of(&node->in[2], 0);
	a.scale = (float)(how->scale ? how->scale : 1 / sqrt((double)a.d));
	a.blocks = (a.queries + BLOCK_ROWS - 1) / BLOCK_ROWS;
	if (a.mask) {
		struct shape all = SHAPE((int64_t)a.batch, (int64_t)heads, (int64_t)a.queries, (int64_t)a.keys);
		op_strides(&all, &a.mask->shape, a.mask_strides);
	}
	return a;
}

/* Some queries of one head of one batch. */
struct block {
	size_t n, head, kv, row, rows;
	size_t seen; /* keys that any of them sees */
};

static size_t keys_seen(const struct attention *a, size_t query)
{
	if (!a->causal)
		return a->keys;
	int64_t seen = (int64_t)query + (int64_t)a->keys - (int64_t)a->queries + 1;
	return seen <= 0 ? 0 : (size_t)seen < a->keys ? (size_t)seen : a->keys;
}

static struct block block_at(const struct attention *a, size_t n, size_t head, size_t index)
{
	struct block block = {.n = n, .head = head, .kv = head / (a->heads / a->kv_heads), .row = index * BLOCK_ROWS};
	block.rows = a->queries - block.row < BLOCK_ROWS ? a->queries - block.row : BLOCK_ROWS;
	block.seen = keys_seen(a, block.row + block.rows - 1);
	return block;
}

static size_t query_at(const struct attention *a, const struct block *block)
{
	return (block->n * a->queries + block->row) * a->q.stride + block->head * a->d;
}

static size_t key_at(const struct attention *a, const struct side *side, const struct block *block)
{
	return block->n * a->keys * side->stride + block->kv * a->d;
}

static size_t out_at(const struct attention *a, const struct block *block)
{
	return ((block->n * a->queries + block->row) * a->heads + block->head) * a->d;
}

/* softmax of the scores, rows × seen, `seen` apart. */
static void weigh(const struct attention *a, const struct block *block, float *scores, float *scratch)
{
	const struct kernel_set *set = a->compute->set;
	matmul_alone(set, scratch,
		     &(struct matmul){.m = block->rows,
				      .n = block->seen,
				      .k = a->d,
				      .a = a->q.at + query_at(a, block),
				      .a_row = a->q.stride,
				      .a_depth = 1,
				      .b = a->k.at + key_at(a, &a->k, block),
				      .b_depth = 1,
				      .b_column = a->k.stride,
				      .c = scores,
				      .c_row = block->seen,
				      .finish = {.call = no_call}});
	for (size_t i = 0; i < block->rows; i++) {
		float *row = scores + i * block->seen, factor = a->scale;
		size_t seen = keys_seen(a, block->row + i);
		if (a->mask) {
			const float *mask = a->mask->at + block->n * a->mask_strides[0] +
					    block->head * a->mask_strides[1] + (block->row + i) * a->mask_strides[2];
			for (size_t j = 0; j < seen; j++)
				row[j] = factor * row[j] + mask[j * a->mask_strides[3]];
			factor = 1;
		}
		set->softmax(row, row, factor, seen);
		memset(row + seen, 0, (block->seen - seen) * sizeof(*row));
	}
}

static void forward_block(void *opaque, size_t piece, size_t member)
{
	const struct attention *a = opaque;
	struct block block = block_at(a, piece / a->blocks / a->heads, piece / a->blocks % a->heads, piece % a->blocks);
	float *scratch = compute_scratch(a->compute, member);
	float *scores = scratch + matmul_scratch(a->compute->set);
	weigh(a, &block, scores, scratch);
	matmul_alone(a->compute->set, scratch,
		     &(struct matmul){.m = block.rows,
				      .n = a->d,
				      .k = block.seen,
				      .a = scores,
				      .a_row = block.seen,
				      .a_depth = 1,
				      .b = a->v.at + key_at(a, &a->v, &block),
				      .b_depth = a->v.stride,
				      .b_column = 1,
				      .c = a->node->out[0].at + out_at(a, &block),
				      .c_row = a->heads * a->d,
				      .finish = {.call = no_call}});
}

static void attention_forward(const struct compute *compute, const struct op_node *node)
{
	struct attention a = attention_of(compute, node);
	crew_each(compute->crew, a.batch * a.heads * a.blocks, forward_block, &a);
}

/* c += a·b of one block, where somebody wants c. */
static void add_product(const struct attention *a, float *scratch, struct matmul job)
{
	job.add = true;
	job.finish.call = no_call;
	if (job.c)
		matmul_alone(a->compute->set, scratch, &job);
}

static void backward_block(const struct attention *a, const struct block *block, float *scratch)
{
	const struct kernel_set *set = a->compute->set;
	float *p = scratch + matmul_scratch(set), *dp = p + BLOCK_ROWS * a->keys;
	const float *dy = a->node->out[0].grad + out_at(a, block);
	size_t dy_row = a->heads * a->d, k = key_at(a, &a->k, block), v = key_at(a, &a->v, block);
	weigh(a, block, p, scratch);
	matmul_alone(set, scratch,
		     &(struct matmul){.m = block->rows,
				      .n = block->seen,
				      .k = a->d,
				      .a = dy,
				      .a_row = dy_row,
				      .a_depth = 1,
				      .b = a->v.at + v,
				      .b_depth = 1,
				      .b_column = a->v.stride,
				      .c = dp,
				      .c_row = block->seen,
				      .finish = {.call = no_call}});
	add_product(a, scratch,
		    (struct matmul){.m = block->seen,
				    .n = a->d,
				    .k = block->rows,
				    .a = p,
				    .a_row = 1,
				    .a_depth = block->seen,
				    .b = dy,
				    .b_depth = dy_row,
				    .b_column = 1,
				    .c = a->v.grad ? a->v.grad + v : NULL,
				    .c_row = a->v.stride});
	for (size_t i = 0; i < block->rows; i++)
		set->softmax_back(p + i * block->seen, dp + i * block->seen, dp + i * block->seen, a->scale,
				  block->seen);
	add_product(a, scratch,
		    (struct matmul){.m = block->rows,
				    .n = a->d,
				    .k = block->seen,
				    .a = dp,
				    .a_row = block->seen,
				    .a_depth = 1,
				    .b = a->k.at + k,
				    .b_depth = a->k.stride,
				    .b_column = 1,
				    .c = a->q.grad ? a->q.grad + query_at(a, block) : NULL,
				    .c_row = a->q.stride});
	add_product(a, scratch,
		    (struct matmul){.m = block->seen,
				    .n = a->d,
				    .k = block->rows,
				    .a = dp,
				    .a_row = 1,
				    .a_depth = block->seen,
				    .b = a->q.at + query_at(a, block),
				    .b_depth = a->q.stride,
				    .b_column = 1,
				    .c = a->k.grad ? a->k.grad + k : NULL,
				    .c_row = a->k.stride});
}

/* All queries that share a head of keys: their gradients meet there, so they are one thread's. */
static void backward_head(void *opaque, size_t piece, size_t member)
{
	const struct attention *a = opaque;
	size_t n = piece / a->kv_heads, kv = piece % a->kv_heads, shared = a->heads / a->kv_heads;
	for (size_t head = kv * shared; head < (kv + 1) * shared; head++)
		for (size_t i = 0; i < a->blocks; i++) {
			struct block block = block_at(a, n, head, i);
			if (block.seen)
				backward_block(a, &block, compute_scratch(a->compute, member));
		}
}

static void attention_backward(const struct compute *compute, const struct op_node *node)
{
	struct attention a = attention_of(compute, node);
	crew_each(compute->crew, a.batch * a.kv_heads, backward_head, &a);
}

static size_t attention_scratch(const struct kernel_set *set, const struct op_node *node)
{
	struct attention a = attention_of(NULL, node);
	return matmul_scratch(set) + (node->training ? 2 : 1) * BLOCK_ROWS * a.keys;
}

static double attention_extra(const struct op_node *node)
{
	struct attention a = attention_of(NULL, node);
	double pairs = 0;
	for (size_t i = 0; i < a.queries; i++)
		pairs += (double)keys_seen(&a, i);
	return 2 * (double)a.batch * (double)a.heads * (double)a.d * pairs;
}

static const char *attention_refuse(const struct op_node *node)
{
	const struct op_attention *how = &node->op->attributes.attention;
	if (node->in[0].shape.rank != 3)
		return "attention is run on N×S×D tensors only";
	return how->kv_heads < 1 || how->heads % how->kv_heads ? "its heads cannot be shared evenly" : NULL;
}

const struct op_kernel op_attention = {.words = "blocked by heads and queries",
				       .refuse = attention_refuse,
				       .scratch = attention_scratch,
				       .forward = attention_forward,
				       .backward = attention_backward,
				       .back_reads_in = true,
				       .extra_flops = attention_extra};
