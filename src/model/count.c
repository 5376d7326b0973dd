/* count.c - work of operators, added up to layers and the model: see count.h. */
#include "model/count.h"
#include "model/count_kind.h"

/* Weights and buffers belong to the first operator that reads them; `seen` has a flag per tensor. */
static bool count_weights(const struct graph *graph, const struct graph_op *op, bool *seen, struct work *work)
{
	for (size_t i = 0; i < op->inputs.len; i++) {
		const struct graph_tensor *tensor = graph_input(graph, op, i);
		if (!tensor || !tensor->shaped || seen[op->inputs.items[i]])
			continue;
		if (tensor->role != TENSOR_WEIGHT && tensor->role != TENSOR_BUFFER)
			continue;
		seen[op->inputs.items[i]] = true;
		int64_t *to = tensor->role == TENSOR_WEIGHT ? &work->parameters : &work->buffers;
		if (!count_add_product(to, shape_elements(&tensor->shape), 1))
			return false;
	}
	return true;
}

/* Tables are read by the row, as often as it is asked for. */
static bool is_lookup(const struct graph_op *op)
{
	return op->kind == OP_EMBEDDING || op->kind == OP_GATHER;
}

static bool count_bytes(const struct graph *graph, const struct graph_op *op, struct work *work)
{
	if (op_kind_class(op->kind) == OP_CLASS_VIEW)
		return true;
	for (size_t i = 0; i < op->outputs.len; i++) {
		const struct graph_tensor *tensor = graph_output(graph, op, i);
		if (tensor && !count_add_product(&work->written_bytes, tensor_bytes(tensor), 1))
			return false;
	}
	for (size_t i = 0; i < op->inputs.len; i++) {
		const struct graph_tensor *tensor = graph_input(graph, op, i);
		if (!tensor)
			continue;
		bool weight = tensor->role == TENSOR_WEIGHT || tensor->role == TENSOR_BUFFER;
		/* A slice, too, reads no more than it writes. */
		bool part = i == 0 && (is_lookup(op) || op->kind == OP_SLICE);
		if (!count_add_product(weight ? &work->weight_bytes : &work->read_bytes,
				       part ? work->written_bytes : tensor_bytes(tensor), 1))
			return false;
	}
	return true;
}

/* `needs` has a flag per tensor: it depends on a weight, so that training needs its gradient. */
static void count_backward(const struct graph_op *op, const bool *needs, struct work *work)
{
	size_t operands = op->kind == OP_ATTENTION ? 1 : 2, needed = 0;
	for (size_t i = 0; i < operands && i < op->inputs.len; i++)
		needed += op->inputs.items[i] != GRAPH_NONE && needs[op->inputs.items[i]];
	work->backward_macs = 2 * work->macs;
	work->needed_backward_macs =
		op->kind == OP_ATTENTION ? (needed ? 2 : 0) * work->causal_macs : (int64_t)needed * work->causal_macs;
}

static void spread_needs(const struct graph *graph, const struct graph_op *op, bool *needs)
{
	bool any = false;
	for (size_t i = 0; i < op->inputs.len; i++) {
		const struct graph_tensor *tensor = graph_input(graph, op, i);
		if (tensor && tensor->role == TENSOR_WEIGHT)
			needs[op->inputs.items[i]] = true;
		any = any || (tensor && needs[op->inputs.items[i]]);
	}
	for (size_t i = 0; i < op->outputs.len; i++)
		if (op->outputs.items[i] != GRAPH_NONE)
			needs[op->outputs.items[i]] = any;
}

static bool has_all_shapes(const struct graph *graph, const struct graph_op *op)
{
	for (size_t i = 0; i < op->inputs.len; i++)
		if (graph_input(graph, op, i) && !graph_input(graph, op, i)->shaped)
			return false;
	for (size_t i = 0; i < op->outputs.len; i++)
		if (graph_output(graph, op, i) && !graph_output(graph, op, i)->shaped)
			return false;
	return true;
}

static int count_op(struct graph *graph, size_t index, bool *seen, bool *needs, struct work *work, struct err *err)
{
	struct graph_op *op = &graph->ops.items[index];
	struct count_site site = {.graph = graph, .op = op, .work = work};
	spread_needs(graph, op, needs);
	bool fits = count_weights(graph, op, seen, work);
	if (!op->unknown && !has_all_shapes(graph, op))
		op->unknown = mem_strdup("a shape is not known");
	if (op->unknown)
		work->uncounted = 1;
	else if (fits)
		fits = count_op_kind(&site) && count_bytes(graph, op, work);
	if (!fits)
		return err_set(err, ERR_INPUT, "operator '%s' (%s): its counts are larger than 2^60", op->name,
			       op->type);
	if (op_kind_class(op->kind) == OP_CLASS_PRODUCT)
		count_backward(op, needs, work);
	return 0;
}

static int add_up(const struct graph *graph, struct count *count, struct err *err)
{
	for (size_t i = 0; i < graph->ops.len; i++) {
		bool fits = work_add(&count->total, &count->ops.items[i]);
		for (size_t layer = graph->ops.items[i].layer; fits && layer != GRAPH_NONE;
		     layer = graph->layers.items[layer].parent)
			fits = work_add(&count->layers.items[layer], &count->ops.items[i]);
		if (!fits)
			return err_set(err, ERR_INPUT, "the counts of this model are larger than 2^60");
	}
	return 0;
}

int count_graph(struct graph *graph, struct count *out, struct err *err)
{
	struct count count = {0};
	bool *seen = mem_alloc(graph->tensors.len + 1), *needs = mem_alloc(graph->tensors.len + 1);
	int code = 0;
	for (size_t i = 0; i < graph->layers.len; i++)
		vec_add(&count.layers);
	for (size_t i = 0; !code && i < graph->ops.len; i++)
		code = count_op(graph, i, seen, needs, vec_add(&count.ops), err);
	if (!code)
		code = add_up(graph, &count, err);
	free(seen);
	free(needs);
	if (code)
		count_fini(&count);
	else
		*out = count;
	return code;
}

void count_fini(struct count *count)
{
	vec_fini(&count->ops);
	vec_fini(&count->layers);
}
