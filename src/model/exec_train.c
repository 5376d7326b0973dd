/*
 * exec_train.c - the two ends of a training step: the loss with its gradient, and the optimizer.
 *
 * Loss: mean cross entropy over the last dimension. SGD: w -= rate·g. Momentum 0.9 as in PyTorch: m = 0.9·m + g, w -= rate·m.
 * Adam: 0.9, 0.999, 1e-8, with bias correction. Running statistics of batch norms are not updated: a step is measured, not a
 * training run.
 */
#include "model/exec_state.h"
#include "stats/rng.h"

#include <math.h>
#include <string.h>

static const float MOMENTUM = 0.9f, ADAM_FIRST = 0.9f, ADAM_SECOND = 0.999f, ADAM_EPSILON = 1e-8f;

void exec_train_start(struct exec *exec)
{
	const struct plan *plan = &exec->plan;
	if (plan->loss_tensor == GRAPH_NONE)
		return;
	const struct shape *shape = &plan->graph->tensors.items[plan->loss_tensor].shape;
	size_t classes = (size_t)shape->dims[shape->rank - 1];
	struct rng rng;
	rng_init(&rng, plan->options.seed);
	exec->label_count = classes ? plan->tensors[plan->loss_tensor].floats / classes : 0;
	exec->labels = mem_alloc(exec->label_count * sizeof(*exec->labels));
	for (size_t i = 0; i < exec->label_count; i++)
		exec->labels[i] = (int64_t)rng_below(&rng, classes);
}

void exec_set_labels(struct exec *exec, const int64_t *labels, size_t count)
{
	memcpy(exec->labels, labels, (count < exec->label_count ? count : exec->label_count) * sizeof(*labels));
}

void exec_train_loss(struct exec *exec)
{
	const struct plan *plan = &exec->plan;
	const struct kernel_set *set = exec->compute.set;
	size_t classes = plan->tensors[plan->loss_tensor].floats / (exec->label_count ? exec->label_count : 1);
	const float *logits = exec->values[plan->loss_tensor];
	float *grad = exec->gradients[plan->loss_tensor], share = 1 / (float)exec->label_count;
	double total = 0;
	if (exec->blocks[EXEC_GRADIENTS])
		memset(exec->blocks[EXEC_GRADIENTS], 0, exec->block_floats[EXEC_GRADIENTS] * sizeof(float));
	for (size_t i = 0; i < exec->label_count; i++, logits += classes, grad += classes) {
		size_t label = (size_t)exec->labels[i] < classes ? (size_t)exec->labels[i] : 0;
		total += (double)set->log_sum_exp(logits, classes) - (double)logits[label];
		set->softmax(logits, grad, 1, classes);
		grad[label] -= 1;
		set->scale(grad, share, 0, classes);
	}
	exec->loss = total / (double)exec->label_count;
}

struct update {
	struct exec *exec;
	float *weights, *first, *second;
	const float *gradient;
	size_t count;
	float correct[2];
};

static void update_piece(void *opaque, size_t piece, size_t member)
{
	const struct update *update = opaque;
	const struct kernel_set *set = update->exec->compute.set;
	const struct exec_options *options = &update->exec->plan.options;
	size_t at = piece * COMPUTE_PIECE, count = compute_piece_size(update->count, piece);
	float *w = update->weights + at, rate = (float)options->rate;
	const float *g = update->gradient + at;
	(void)member;
	if (options->optimizer == EXEC_SGD) {
		set->add_scaled(w, g, -rate, count);
	} else if (options->optimizer == EXEC_MOMENTUM) {
		set->scale(update->first + at, MOMENTUM, 0, count);
		set->add_scaled(update->first + at, g, 1, count);
		set->add_scaled(w, update->first + at, -rate, count);
	} else {
		set->adam(w, g, update->first + at, update->second + at, rate, ADAM_FIRST, ADAM_SECOND, ADAM_EPSILON,
			  update->correct, count);
	}
}

void exec_train_update(struct exec *exec)
{
	const struct plan *plan = &exec->plan;
	float *moments = exec->blocks[EXEC_OPTIMIZER];
	double turns = (double)++exec->updates;
	for (size_t i = 0; i < plan->graph->tensors.len; i++) {
		const struct plan_tensor *tensor = &plan->tensors[i];
		if (tensor->root != i || !tensor->fixed || !exec->gradients[i])
			continue;
		size_t offset = (size_t)(exec->gradients[i] - exec->blocks[EXEC_GRADIENTS]);
		struct update update = {
			.exec = exec,
			.weights = exec->values[i],
			.gradient = exec->gradients[i],
			.first = moments ? moments + offset : NULL,
			.second = moments ? moments + plan->gradients + offset : NULL,
			.count = tensor->floats,
			.correct = {(float)(1 / (1 - pow(ADAM_FIRST, turns))),
				    (float)(1 / (1 - pow(ADAM_SECOND, turns)))},
		};
		crew_each(exec->compute.crew, compute_pieces(update.count), update_piece, &update);
	}
}
