/*
 * exec.c - see exec.h. The plan (exec_plan.h) says what happens when and where; here memory is taken, filled and gone through.
 */
#include "model/exec.h"
#include "base/clock.h"
#include "model/exec_fuse.h"
#include "model/exec_state.h"
#include "model/values.h"

#include <math.h>
#include <string.h>

/* All sizes are known before the first is asked for. */
static int check_memory(struct exec *exec, struct err *err)
{
	const struct plan *plan = &exec->plan;
	size_t threads = (size_t)plan->options.threads;
	double floats = (double)plan->weights + (double)plan->packed + (double)plan->state + (double)plan->inputs +
			(double)plan->arena + (double)plan->gradients * (1 + (double)plan->options.optimizer) +
			(double)plan->columns + (double)plan->load + (double)plan->scratch * (double)threads;
	double bytes = floats * sizeof(float);
	if (bytes <= (double)exec->account.most)
		return 0;
	return err_set(
		err, ERR_UNAVAILABLE,
		"the model needs %.1f MiB to run (weights %.1f, activations %.1f, gradients and optimizer %.1f), "
		"and %.1f MiB are available; a smaller batch needs less",
		bytes / (1 << 20), (double)(plan->weights + plan->packed) * 4 / (1 << 20),
		(double)plan->arena * 4 / (1 << 20),
		(double)plan->gradients * (1 + (double)plan->options.optimizer) * 4 / (1 << 20),
		(double)exec->account.most / (1 << 20));
}

static int take_blocks(struct exec *exec, struct err *err)
{
	const struct plan *plan = &exec->plan;
	const size_t floats[EXEC_BLOCKS] = {
		[EXEC_WEIGHTS] = plan->weights,
		[EXEC_PACKED] = plan->packed,
		[EXEC_STATE] = plan->state,
		[EXEC_INPUTS] = plan->inputs,
		[EXEC_ARENA] = plan->arena,
		[EXEC_GRADIENTS] = plan->gradients,
		[EXEC_OPTIMIZER] = plan->gradients * (size_t)plan->options.optimizer,
		[EXEC_SCRATCH] = plan->scratch * (size_t)plan->options.threads,
		[EXEC_COLUMNS] = plan->columns,
		[EXEC_LOAD] = plan->load,
	};
	for (size_t i = 0; i < EXEC_BLOCKS; i++) {
		int code = account_take(&exec->account, floats[i], &exec->blocks[i], err);
		if (code)
			return code;
		exec->block_floats[i] = floats[i];
	}
	return 0;
}

static void give_block(struct exec *exec, enum exec_block block)
{
	account_give(&exec->account, exec->blocks[block], exec->block_floats[block]);
	exec->blocks[block] = NULL;
	exec->block_floats[block] = 0;
}

/* Every tensor with memory of its own gets it; views and what works in place follow their roots. */
static void place_tensors(struct exec *exec)
{
	const struct plan *plan = &exec->plan;
	size_t weights = 0, inputs = 0, gradients = 0, count = plan->graph->tensors.len;
	exec->values = mem_alloc(count * sizeof(*exec->values));
	exec->gradients = mem_alloc(count * sizeof(*exec->gradients));
	for (size_t i = 0; i < count; i++) {
		const struct plan_tensor *tensor = &plan->tensors[i];
		size_t size = compute_rounded(tensor->floats);
		if (tensor->root != i)
			continue;
		if (tensor->fixed && tensor->only_packed) {
			exec->values[i] = exec->blocks[EXEC_LOAD];
		} else if (tensor->fixed) {
			exec->values[i] = exec->blocks[EXEC_WEIGHTS] + weights;
			weights += size;
		} else if (tensor->input) {
			exec->values[i] = exec->blocks[EXEC_INPUTS] + inputs;
			inputs += size;
		} else if (tensor->value.first != PLAN_NEVER) {
			exec->values[i] = exec->blocks[EXEC_ARENA] + tensor->value.place;
		}
		if (tensor->fixed && tensor->wants_gradient) {
			exec->gradients[i] = exec->blocks[EXEC_GRADIENTS] + gradients;
			gradients += size;
		} else if (!tensor->fixed && tensor->gradient.first != PLAN_NEVER) {
			exec->gradients[i] = exec->blocks[EXEC_ARENA] + tensor->gradient.place;
		}
	}
	for (size_t i = 0; i < count; i++) {
		exec->values[i] = exec->values[exec_plan_root(&exec->plan, i)];
		exec->gradients[i] = exec->gradients[exec_plan_root(&exec->plan, i)];
	}
}

static void place_values(struct exec *exec, struct op_value *values, const size_t *tensors, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i].present) {
			values[i].at = exec->values[tensors[i]];
			values[i].grad = exec->gradients[tensors[i]];
		}
}

static void place_nodes(struct exec *exec)
{
	struct plan *plan = &exec->plan;
	size_t packed = 0, state = 0;
	for (size_t s = 0; s < plan->forward_steps; s++) {
		struct plan_step *step = &plan->steps.items[s];
		struct op_node *node = &step->node;
		const struct graph_op *last = &plan->graph->ops.items[*vec_last(&step->ops)];
		place_values(exec, node->in, node->op->inputs.items, node->in_count);
		place_values(exec, node->out, last->outputs.items, node->out_count);
		node->shared = exec->blocks[EXEC_COLUMNS];
		size_t floats = step->kernel->packed ? step->kernel->packed(plan->set, node) : 0;
		node->packed = floats ? exec->blocks[EXEC_PACKED] + packed : NULL;
		packed += compute_rounded(floats);
		floats = step->kernel->state ? step->kernel->state(node) : 0;
		node->state = floats ? exec->blocks[EXEC_STATE] + state : NULL;
		state += compute_rounded(floats);
	}
}

static const float *read_tensor(void *context, size_t tensor)
{
	const struct exec *exec = context;
	return exec->values[tensor];
}

/* Weights that are only ever packed pass through one buffer, one after the other. */
static void load_values(struct exec *exec)
{
	struct plan *plan = &exec->plan;
	const struct graph *graph = plan->graph;
	for (size_t i = 0; i < graph->tensors.len; i++) {
		const struct plan_tensor *tensor = &plan->tensors[i];
		if (tensor->root == i && (tensor->fixed || tensor->input) && !tensor->only_packed && tensor->floats)
			values_read_float(&graph->tensors.items[i], plan->options.seed, exec->values[i]);
	}
	for (size_t s = 0; s < plan->forward_steps; s++) {
		struct plan_step *step = &plan->steps.items[s];
		fuse_fill(plan, step, read_tensor, exec);
		if (!step->node.packed || plan->options.training)
			continue;
		size_t weight = step->node.op->inputs.items[1];
		if (plan->tensors[weight].only_packed)
			values_read_float(&graph->tensors.items[weight], plan->options.seed, step->node.in[1].at);
		step->kernel->pack(&exec->compute, &step->node);
	}
	give_block(exec, EXEC_LOAD);
	for (size_t i = 0; i < graph->tensors.len; i++)
		if (plan->tensors[i].only_packed)
			exec->values[i] = NULL;
}

static int start(struct exec *exec, const struct graph *graph, const struct exec_options *options, struct err *err)
{
	struct exec_options full = *options;
	full.threads = full.threads > 0 ? full.threads : 1;
	full.rate = full.rate > 0 ? full.rate : full.optimizer == EXEC_ADAM ? 0.001 : 0.01;
	exec->compute.set = kernel_choose(full.isa);
	if (!exec->compute.set)
		return err_set(err, ERR_UNAVAILABLE, "this CPU has no instruction set '%s'", full.isa);
	exec->account.most = full.most_bytes ? full.most_bytes : account_available();
	exec->resident_before = account_resident();
	int code = exec_plan_init(&exec->plan, graph, &full, exec->compute.set, err);
	if (!code)
		code = check_memory(exec, err);
	if (!code && full.blas)
		code = gemm_open(&exec->compute.blas, err);
	if (!code)
		code = crew_new((size_t)full.threads, &exec->compute.crew, err);
	if (!code)
		code = take_blocks(exec, err);
	if (code)
		return code;
	if (exec->compute.blas)
		gemm_set_threads(exec->compute.blas, full.threads);
	exec->compute.scratch = exec->blocks[EXEC_SCRATCH];
	exec->compute.scratch_floats = exec->plan.scratch;
	place_tensors(exec);
	place_nodes(exec);
	load_values(exec);
	exec_train_start(exec);
	return 0;
}

int exec_new(const struct graph *graph, const struct exec_options *options, struct exec **out, struct err *err)
{
	struct exec *exec = mem_alloc(sizeof(*exec));
	exec->loss = NAN;
	int code = start(exec, graph, options, err);
	if (code) {
		exec_free(exec);
		return code;
	}
	*out = exec;
	return 0;
}

void exec_free(struct exec *exec)
{
	if (!exec)
		return;
	exec_plan_fini(&exec->plan);
	crew_free(exec->compute.crew);
	gemm_close(exec->compute.blas);
	for (size_t i = 0; i < EXEC_BLOCKS; i++)
		give_block(exec, i);
	free(exec->values);
	free(exec->gradients);
	free(exec->labels);
	free(exec->copied);
	free(exec);
}

size_t exec_steps(const struct exec *exec)
{
	return exec->plan.steps.len;
}

const struct exec_step *exec_step_at(const struct exec *exec, size_t index)
{
	return &exec->plan.steps.items[index].shown;
}

const char *exec_phase_name(enum exec_phase phase)
{
	return (const char *[]){"forward", "loss", "backward", "update"}[phase];
}

const char *exec_isa(const struct exec *exec)
{
	return exec->compute.set->isa;
}

void exec_memory(const struct exec *exec, struct exec_memory *out)
{
	uint64_t resident = account_resident();
	*out = (struct exec_memory){
		.weight_bytes = (exec->block_floats[EXEC_WEIGHTS] + exec->block_floats[EXEC_PACKED]) * sizeof(float),
		.activation_bytes = (exec->block_floats[EXEC_ARENA] + exec->plan.state) * sizeof(float),
		.apart_bytes = (exec->plan.apart + exec->plan.state) * sizeof(float),
		.gradient_bytes = exec->block_floats[EXEC_GRADIENTS] * sizeof(float),
		.optimizer_bytes = exec->block_floats[EXEC_OPTIMIZER] * sizeof(float),
		.scratch_bytes = (exec->block_floats[EXEC_SCRATCH] + exec->block_floats[EXEC_COLUMNS]) * sizeof(float),
		.input_bytes = exec->block_floats[EXEC_INPUTS] * sizeof(float),
		.peak_bytes = exec->account.peak,
		.kernel_bytes = resident > exec->resident_before ? resident - exec->resident_before : 0,
	};
}

float *exec_tensor(struct exec *exec, size_t tensor)
{
	const struct plan *plan = &exec->plan;
	size_t root = exec_plan_root(&exec->plan, tensor);
	const struct plan_tensor *own = &plan->tensors[root];
	if (own->only_packed) {
		exec->copied = mem_resize(exec->copied, own->floats * sizeof(float));
		values_read_float(&plan->graph->tensors.items[root], plan->options.seed, exec->copied);
		return exec->copied;
	}
	if (own->fixed || own->input || plan->graph->tensors.items[tensor].output || plan->options.keep)
		return exec->values[tensor];
	return NULL;
}

const float *exec_gradient(struct exec *exec, size_t tensor)
{
	const struct plan_tensor *own = &exec->plan.tensors[exec_plan_root(&exec->plan, tensor)];
	return own->fixed || exec->plan.options.keep ? exec->gradients[tensor] : NULL;
}

double exec_loss(const struct exec *exec)
{
	return exec->loss;
}

/* What a gradient is added to begins at zero, in the step that adds first. */
static void clear_gradients(struct exec *exec, size_t step)
{
	const struct plan *plan = &exec->plan;
	for (size_t i = 0; i < plan->graph->tensors.len; i++) {
		const struct plan_tensor *tensor = &plan->tensors[i];
		if (tensor->root == i && !tensor->fixed && tensor->gradient.first == step &&
		    step != plan->forward_steps)
			memset(exec->gradients[i], 0, tensor->floats * sizeof(float));
	}
}

static void run_step(struct exec *exec, size_t index)
{
	struct plan_step *step = &exec->plan.steps.items[index];
	switch (step->shown.phase) {
	case EXEC_FORWARD:
		step->kernel->forward(&exec->compute, &step->node);
		break;
	case EXEC_LOSS:
		exec_train_loss(exec);
		break;
	case EXEC_BACKWARD:
		clear_gradients(exec, index);
		step->kernel->backward(&exec->compute, &exec->plan.steps.items[step->forward].node);
		break;
	case EXEC_UPDATE:
		exec_train_update(exec);
		break;
	}
}

void exec_run(struct exec *exec, double *step_ns)
{
	uint64_t before = step_ns ? clock_mono_ns() : 0;
	for (size_t s = 0; s < exec->plan.steps.len; s++) {
		run_step(exec, s);
		if (step_ns) {
			uint64_t now = clock_mono_ns();
			step_ns[s] = (double)(now - before);
			before = now;
		}
	}
}
