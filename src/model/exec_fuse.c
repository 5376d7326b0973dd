/* exec_fuse.c - see exec_fuse.h. */
#include "model/exec_fuse.h"

#include <math.h>

/* The only reader of what the step writes, and later than it; GRAPH_NONE where there is none such. */
static size_t only_reader(const struct plan *plan, const struct plan_step *step)
{
	const struct graph *graph = plan->graph;
	size_t op = step->ops.items[step->ops.len - 1], made = graph->ops.items[op].outputs.items[0];
	if (graph->ops.items[op].outputs.len != 1 || graph->tensors.items[made].output ||
	    plan->tensors[made].readers != 1)
		return GRAPH_NONE;
	for (size_t i = op + 1; i < graph->ops.len; i++)
		for (size_t j = 0; j < graph->ops.items[i].inputs.len; j++)
			if (graph->ops.items[i].inputs.items[j] == made)
				return graph->ops.items[i].unknown ? GRAPH_NONE : i;
	return GRAPH_NONE;
}

static size_t made_by(const struct plan *plan, const struct plan_step *step)
{
	return plan->graph->ops.items[*vec_last(&step->ops)].outputs.items[0];
}

static bool is_fixed(const struct plan *plan, size_t tensor)
{
	return tensor != GRAPH_NONE && plan->tensors[tensor].fixed && plan->tensors[tensor].root == tensor;
}

/* A batch norm whose numbers are all known, after a convolution whose weights nobody else reads. */
static bool is_foldable_norm(const struct plan *plan, const struct plan_step *step, const struct graph_op *op)
{
	if (step->node.op->kind != OP_CONV || op->kind != OP_BATCH_NORM || op->inputs.len < 5 ||
	    op->inputs.items[0] != made_by(plan, step))
		return false;
	size_t weight = step->node.op->inputs.items[1];
	for (size_t i = 1; i < 5; i++)
		if (!is_fixed(plan, op->inputs.items[i]))
			return false;
	bool has_bias = step->node.in_count > 2 && step->node.in[2].present;
	return is_fixed(plan, weight) && plan->tensors[weight].readers == 1 &&
	       (!has_bias || is_fixed(plan, step->node.op->inputs.items[2]));
}

/* The other operand of an addition that is one fixed row as wide as the product. */
static bool is_row_bias(const struct plan *plan, const struct plan_step *step, const struct graph_op *op)
{
	if (step->node.op->kind != OP_MATMUL || op->kind != OP_BINARY || op->attributes.binary.fn != BINARY_ADD ||
	    step->node.in[1].shape.rank < 2)
		return false;
	size_t made = made_by(plan, step), other = op->inputs.items[op->inputs.items[0] == made ? 1 : 0];
	const struct shape *out = &plan->graph->tensors.items[made].shape;
	const struct shape *row = &plan->graph->tensors.items[other].shape;
	return other != made && is_fixed(plan, other) && row->rank >= 1 && out->rank >= row->rank &&
	       shape_elements(row) == out->dims[out->rank - 1] && row->dims[row->rank - 1] == shape_elements(row);
}

static void join(struct plan_step *step, size_t op, bool *joined)
{
	vec_push(&step->ops, op);
	joined[op] = true;
}

void fuse_step(struct plan *plan, struct plan_step *step, bool *joined)
{
	if (!op_kernel_fuses(step->node.op->kind))
		return;
	size_t next = only_reader(plan, step);
	if (next != GRAPH_NONE && is_foldable_norm(plan, step, &plan->graph->ops.items[next])) {
		step->fused_norm = next;
		join(step, next, joined);
		next = only_reader(plan, step);
	} else if (next != GRAPH_NONE && is_row_bias(plan, step, &plan->graph->ops.items[next])) {
		step->fused_bias = next;
		join(step, next, joined);
		next = only_reader(plan, step);
	}
	if (next == GRAPH_NONE)
		return;
	const struct graph_op *op = &plan->graph->ops.items[next];
	if (op->kind == OP_UNARY || op->kind == OP_CLIP) {
		step->node.call = op_unary_call(op);
		join(step, next, joined);
	}
}

/* y = (x - mean)·gamma/√(variance + ε) + beta, as a factor and a shift per channel. */
static void fill_norm(const struct plan *plan, struct plan_step *step,
		      const float *(*read)(void *context, size_t tensor), void *context)
{
	const struct graph_op *norm = &plan->graph->ops.items[step->fused_norm], *op = step->node.op;
	size_t channels = plan->tensors[norm->inputs.items[1]].floats;
	bool has_bias = step->node.in_count > 2 && step->node.in[2].present;
	step->scale = mem_alloc(channels * sizeof(float));
	step->bias = mem_alloc(channels * sizeof(float));
	const float *gamma = read(context, norm->inputs.items[1]), *beta = read(context, norm->inputs.items[2]);
	const float *mean = read(context, norm->inputs.items[3]), *variance = read(context, norm->inputs.items[4]);
	const float *bias = has_bias ? read(context, op->inputs.items[2]) : NULL;
	for (size_t c = 0; c < channels; c++) {
		step->scale[c] = gamma[c] / sqrtf(variance[c] + (float)norm->attributes.norm.epsilon);
		step->bias[c] = ((bias ? bias[c] : 0) - mean[c]) * step->scale[c] + beta[c];
	}
}

static bool has_bias_input(enum op_kind kind)
{
	return kind == OP_CONV || kind == OP_CONV_TRANSPOSE || kind == OP_LINEAR;
}

void fuse_fill(const struct plan *plan, struct plan_step *step, const float *(*read)(void *context, size_t tensor),
	       void *context)
{
	if (step->fused_norm != GRAPH_NONE) {
		fill_norm(plan, step, read, context);
		step->node.scale = step->scale;
		step->node.bias = step->bias;
	} else if (step->fused_bias != GRAPH_NONE) {
		const struct graph_op *op = &plan->graph->ops.items[step->fused_bias];
		size_t row = op->inputs.items[is_fixed(plan, op->inputs.items[0]) ? 0 : 1];
		step->node.bias = read(context, row);
	} else if (step->node.in_count > 2 && step->node.in[2].present && has_bias_input(step->node.op->kind)) {
		step->node.bias = read(context, step->node.op->inputs.items[2]);
	}
}
