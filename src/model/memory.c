/* memory.c - lifetimes of activations and the peaks that follow from them: see memory.h. */
#include "model/memory.h"

/* A piece of memory: the tensors that share it live in it one after another or at once. */
struct storage {
	int64_t bytes;
	size_t from, to; /* steps, both included; forward operator i is step i, its backward pass 2n − 1 − i */
	bool used;
};

struct lives {
	const struct graph *graph;
	size_t *root;            /* per tensor: the tensor whose memory it shows */
	struct storage *forward; /* per tensor; used for roots */
	struct storage *gradient;
};

const char *optimizer_name(enum optimizer optimizer)
{
	static const char *const names[] = {"sgd", "momentum", "adam"};
	return names[optimizer];
}

int64_t memory_optimizer_bytes(const struct memory *memory, enum optimizer optimizer)
{
	return (int64_t)optimizer * memory->gradient_bytes;
}

int64_t memory_training_total(const struct memory *memory, enum optimizer optimizer)
{
	return memory->weight_bytes + memory->gradient_bytes + memory_optimizer_bytes(memory, optimizer) +
	       memory->training_bytes;
}

static bool is_live_kind(const struct graph_tensor *tensor)
{
	return tensor->shaped && (tensor->role == TENSOR_ACTIVATION || tensor->role == TENSOR_INPUT);
}

static void live_until(struct lives *lives, size_t tensor, size_t step)
{
	struct storage *storage = &lives->forward[lives->root[tensor]];
	if (storage->used && storage->to < step)
		storage->to = step;
}

/* What the backward pass of an operator reads again. */
enum { SAVES_NONE = 0, SAVES_INPUTS = 1, SAVES_OUTPUT = 2, SAVES_SECOND = 4 };

static int saves_unary(enum unary_fn fn)
{
	switch (fn) {
	case UNARY_RELU:
	case UNARY_LEAKY_RELU:
	case UNARY_SIGMOID:
	case UNARY_TANH:
	case UNARY_ELU:
	case UNARY_EXP:
	case UNARY_SQRT:
	case UNARY_RECIPROCAL:
		return SAVES_OUTPUT;
	case UNARY_NEG:
	case UNARY_FLOOR:
	case UNARY_CEIL:
	case UNARY_ROUND:
	case UNARY_SIGN:
	case UNARY_NOT:
		return SAVES_NONE;
	default:
		return SAVES_INPUTS;
	}
}

static int saves(const struct graph_op *op)
{
	switch (op->kind) {
	case OP_ATTENTION:
	case OP_LSTM:
	case OP_GRU:
	case OP_RNN:
		return SAVES_INPUTS | SAVES_OUTPUT;
	case OP_SOFTMAX:
	case OP_LOG_SOFTMAX:
		return SAVES_OUTPUT;
	case OP_UNARY:
		return saves_unary(op->attributes.unary.fn);
	case OP_BINARY:
		return op->attributes.binary.fn == BINARY_ADD || op->attributes.binary.fn == BINARY_SUB ? SAVES_NONE
													: SAVES_INPUTS;
	case OP_REDUCE:
		return op->attributes.reduce.fn == REDUCE_SUM || op->attributes.reduce.fn == REDUCE_MEAN ? SAVES_NONE
													 : SAVES_INPUTS;
	case OP_EMBEDDING:
	case OP_GATHER:
		return SAVES_SECOND;
	case OP_AVG_POOL:
	case OP_ADAPTIVE_AVG_POOL:
	case OP_RESIZE:
		return SAVES_NONE;
	default:
		break;
	}
	enum op_class class = op_kind_class(op->kind);
	return class == OP_CLASS_PRODUCT || class == OP_CLASS_POINT ? SAVES_INPUTS : SAVES_NONE;
}

/* Attention keeps its probabilities, recurrent layers the values of their gates. */
static int64_t saved_inside(const struct graph *graph, const struct graph_op *op)
{
	const struct graph_tensor *x = graph_input(graph, op, 0), *y = graph_output(graph, op, 0);
	int64_t bytes = 0, elements;
	if (op->unknown || !x || !y || !x->shaped || !y->shaped)
		return 0;
	if (op->kind == OP_ATTENTION) {
		const struct graph_tensor *k = graph_input(graph, op, 1);
		int64_t keys = k && k->shaped ? k->shape.dims[1] : x->shape.dims[1];
		if (!count_multiply(x->shape.dims[0] * op->attributes.attention.heads, x->shape.dims[1], &elements) ||
		    !count_multiply(elements, keys, &elements))
			return -1;
		return count_multiply(elements, (int64_t)element_bytes(x->element), &bytes) ? bytes : -1;
	}
	int64_t gates = op->kind == OP_LSTM ? 5 : op->kind == OP_GRU ? 4 : 0; /* of an LSTM the cell's state too */
	return count_multiply(tensor_bytes(y), gates, &bytes) ? bytes : -1;
}

/* Roots: a view shows its input's memory. */
static void find_roots(struct lives *lives)
{
	const struct graph *graph = lives->graph;
	for (size_t i = 0; i < graph->tensors.len; i++)
		lives->root[i] = i;
	for (size_t i = 0; i < graph->ops.len; i++) {
		const struct graph_op *op = &graph->ops.items[i];
		if (op_kind_class(op->kind) == OP_CLASS_VIEW && !op->unknown && graph_input(graph, op, 0) &&
		    graph_output(graph, op, 0) && graph_input(graph, op, 0)->shaped)
			lives->root[op->outputs.items[0]] = lives->root[op->inputs.items[0]];
	}
}

static void find_lives(struct lives *lives, size_t last)
{
	const struct graph *graph = lives->graph;
	for (size_t i = 0; i < graph->tensors.len; i++) {
		const struct graph_tensor *tensor = &graph->tensors.items[i];
		size_t born = tensor->producer == GRAPH_NONE ? 0 : tensor->producer;
		if (is_live_kind(tensor) && lives->root[i] == i)
			lives->forward[i] = (struct storage){tensor_bytes(tensor), born, born, true};
	}
	for (size_t i = 0; i < graph->ops.len; i++) {
		const struct graph_op *op = &graph->ops.items[i];
		for (size_t k = 0; k < op->inputs.len; k++)
			if (op->inputs.items[k] != GRAPH_NONE)
				live_until(lives, op->inputs.items[k], i);
	}
	for (size_t i = 0; i < graph->tensors.len; i++)
		if (graph->tensors.items[i].output)
			live_until(lives, i, last);
}

/* The gradient of a value has the value's memory once more, from its last reader's backward pass to its producer's. */
static void find_gradients(struct lives *lives)
{
	const struct graph *graph = lives->graph;
	size_t end = 2 * graph->ops.len - 1;
	for (size_t i = 0; i < graph->tensors.len; i++) {
		const struct graph_tensor *tensor = &graph->tensors.items[i];
		struct storage *forward = &lives->forward[lives->root[i]], *gradient = &lives->gradient[lives->root[i]];
		if (!forward->used || tensor->role != TENSOR_ACTIVATION || !element_is_float(tensor->element))
			continue;
		if (lives->root[i] == i)
			*gradient = (struct storage){forward->bytes, 0, end - tensor->producer, true};
	}
	for (size_t i = 0; i < graph->tensors.len; i++)
		if (lives->gradient[i].used)
			lives->gradient[i].from = end - (lives->forward[i].to < graph->ops.len ? lives->forward[i].to
											       : graph->ops.len - 1);
}

static void keep_for_backward(struct lives *lives)
{
	const struct graph *graph = lives->graph;
	size_t end = 2 * graph->ops.len - 1;
	for (size_t i = 0; i < graph->ops.len; i++) {
		const struct graph_op *op = &graph->ops.items[i];
		int what = op->unknown ? SAVES_NONE : saves(op);
		for (size_t k = 0; k < op->inputs.len; k++)
			if (op->inputs.items[k] != GRAPH_NONE &&
			    (what & SAVES_INPUTS || (k == 1 && what & SAVES_SECOND)))
				live_until(lives, op->inputs.items[k], end - i);
		if (what & SAVES_OUTPUT && op->outputs.len && op->outputs.items[0] != GRAPH_NONE)
			live_until(lives, op->outputs.items[0], end - i);
	}
}

/* Adds what lives in each step: +bytes where it begins, −bytes after it ends, summed up from left to right. */
static bool add_lives(int64_t *change, const struct storage *storage, size_t count)
{
	int64_t total = 0;
	for (size_t i = 0; i < count; i++) {
		if (!storage[i].used)
			continue;
		if (!count_add_product(&total, storage[i].bytes, 1) || total > INT64_MAX / 4)
			return false;
		change[storage[i].from] += storage[i].bytes;
		change[storage[i].to + 1] -= storage[i].bytes;
	}
	return true;
}

static int64_t find_peak(const int64_t *change, size_t steps, size_t *at)
{
	int64_t now = 0, peak = 0;
	*at = GRAPH_NONE;
	for (size_t i = 0; i < steps; i++) {
		now += change[i];
		if (now > peak) {
			peak = now;
			*at = i;
		}
	}
	return peak;
}

static bool measure_inference(struct lives *lives, struct memory *out)
{
	size_t steps = lives->graph->ops.len;
	int64_t *change = mem_alloc((steps + 2) * sizeof(*change));
	find_lives(lives, steps ? steps - 1 : 0);
	bool fits = add_lives(change, lives->forward, lives->graph->tensors.len);
	out->inference_bytes = find_peak(change, steps, &out->inference_op);
	free(change);
	return fits;
}

static bool add_inside(struct lives *lives, int64_t *change)
{
	size_t n = lives->graph->ops.len;
	int64_t total = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t bytes = saved_inside(lives->graph, &lives->graph->ops.items[i]);
		if (bytes < 0 || !count_add_product(&total, bytes, 1) || total > INT64_MAX / 4)
			return false;
		change[i] += bytes;
		change[2 * n - i] -= bytes;
	}
	return true;
}

static bool measure_training(struct lives *lives, struct memory *out)
{
	size_t n = lives->graph->ops.len, at;
	int64_t *change = mem_alloc((2 * n + 2) * sizeof(*change));
	int64_t now = 0;
	find_gradients(lives);
	keep_for_backward(lives);
	bool fits = add_lives(change, lives->forward, lives->graph->tensors.len) &&
		    add_lives(change, lives->gradient, lives->graph->tensors.len) && add_inside(lives, change);
	out->training_bytes = find_peak(change, 2 * n, &at);
	out->training_in_backward = at != GRAPH_NONE && at >= n;
	out->training_op = out->training_in_backward ? 2 * n - 1 - at : at;
	/* What lives on the border between the passes. */
	for (size_t i = 0; i < n; i++)
		now += change[i];
	out->saved_bytes = now;
	free(change);
	return fits;
}

static bool add_tensor(const struct graph_tensor *tensor, struct memory *out)
{
	if (!tensor->shaped) {
		out->unshaped += tensor->role == TENSOR_ACTIVATION;
		return true;
	}
	int64_t bytes = tensor_bytes(tensor);
	bool weight = tensor->role == TENSOR_WEIGHT;
	if (weight && !count_add_product(&out->gradient_bytes, bytes, 1))
		return false;
	if (weight || tensor->role == TENSOR_BUFFER)
		return count_add_product(&out->weight_bytes, bytes, 1) && out->weight_bytes <= INT64_MAX / 8;
	if (tensor->role == TENSOR_INPUT)
		return count_add_product(&out->input_bytes, bytes, 1);
	return true;
}

int memory_graph(const struct graph *graph, struct memory *out, struct err *err)
{
	size_t tensors = graph->tensors.len + 1;
	struct lives lives = {.graph = graph,
			      .root = mem_alloc(tensors * sizeof(size_t)),
			      .forward = mem_alloc(tensors * sizeof(struct storage)),
			      .gradient = mem_alloc(tensors * sizeof(struct storage))};
	struct memory memory = {.inference_op = GRAPH_NONE, .training_op = GRAPH_NONE};
	bool fits = true;
	for (size_t i = 0; fits && i < graph->tensors.len; i++)
		fits = add_tensor(&graph->tensors.items[i], &memory);
	find_roots(&lives);
	for (size_t i = 0; fits && i < graph->tensors.len; i++)
		if (graph->tensors.items[i].role == TENSOR_ACTIVATION && graph->tensors.items[i].shaped &&
		    lives.root[i] == i)
			fits = count_add_product(&memory.all_activation_bytes, tensor_bytes(&graph->tensors.items[i]),
						 1);
	fits = fits && measure_inference(&lives, &memory) && measure_training(&lives, &memory);
	free(lives.root);
	free(lives.forward);
	free(lives.gradient);
	if (!fits)
		return err_set(err, ERR_INPUT, "the memory of this model does not fit into a number");
	*out = memory;
	return 0;
}
