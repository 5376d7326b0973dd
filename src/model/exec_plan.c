/*
 * exec_plan.c - see exec_plan.h.
 *
 *	plan_tensors    sizes, readers, views
 *	plan_forward    one step per operator; what can be done on the way out of a product joins its step
 *	plan_backward   the same operators from the end, where the loss depends on a weight through them
 *	plan_lives      from when to when every value and gradient is needed; work in place
 *	plan_sizes      places in the arena, and what the kernels ask for
 */
#include "model/exec_plan.h"
#include "model/exec_fuse.h"
#include "model/matmul.h"

#include <string.h>

#define FLOATS_MOST ((int64_t)1 << 36)

static int plan_tensors(struct plan *plan, struct err *err)
{
	const struct graph *graph = plan->graph;
	plan->tensors = mem_alloc(graph->tensors.len * sizeof(*plan->tensors));
	for (size_t i = 0; i < graph->tensors.len; i++) {
		const struct graph_tensor *tensor = &graph->tensors.items[i];
		int64_t floats = tensor->shaped ? shape_elements(&tensor->shape) : -1;
		if (tensor->shaped && (floats < 0 || floats > FLOATS_MOST))
			return err_set(err, ERR_UNAVAILABLE, "tensor '%s' is too large to run", tensor->name);
		plan->tensors[i] = (struct plan_tensor){
			.floats = floats > 0 ? (size_t)floats : 0,
			.root = i,
			.writer = PLAN_NEVER,
			.fixed = tensor->role != TENSOR_INPUT && tensor->role != TENSOR_ACTIVATION,
			.input = tensor->role == TENSOR_INPUT,
			.value = {PLAN_NEVER, PLAN_NEVER, 0},
			.gradient = {PLAN_NEVER, PLAN_NEVER, 0},
		};
	}
	for (size_t i = 0; i < graph->ops.len; i++) {
		const struct graph_op *op = &graph->ops.items[i];
		for (size_t j = 0; j < op->inputs.len; j++)
			if (op->inputs.items[j] != GRAPH_NONE)
				plan->tensors[op->inputs.items[j]].readers++;
	}
	return 0;
}

static bool is_view(const struct graph_op *op)
{
	return op_kind_class(op->kind) == OP_CLASS_VIEW;
}

/* The output is the input's own memory. */
static void plan_view(struct plan *plan, const struct graph_op *op)
{
	struct plan_tensor *from = &plan->tensors[op->inputs.items[0]], *to = &plan->tensors[op->outputs.items[0]];
	to->root = from->root;
	to->fixed = from->fixed;
	to->input = from->input;
	to->writer = from->writer;
}

static void node_values(const struct plan *plan, const size_t *tensors, size_t count, struct op_value **out)
{
	*out = mem_alloc(count * sizeof(**out));
	for (size_t i = 0; i < count; i++)
		if (tensors[i] != GRAPH_NONE)
			(*out)[i] = (struct op_value){.present = true,
						      .fixed = plan->tensors[tensors[i]].fixed,
						      .shape = plan->graph->tensors.items[tensors[i]].shape};
}

static int check_op(const struct plan *plan, const struct graph_op *op, struct err *err)
{
	if (op->unknown)
		return err_set(err, ERR_UNAVAILABLE, "operator '%s' (%s) cannot be run: %s", op->name,
			       op->type ? op->type : op_kind_name(op->kind), op->unknown);
	for (size_t i = 0; i < op->inputs.len + op->outputs.len; i++) {
		size_t tensor = i < op->inputs.len ? op->inputs.items[i] : op->outputs.items[i - op->inputs.len];
		if (tensor != GRAPH_NONE && !plan->graph->tensors.items[tensor].shaped)
			return err_set(err, ERR_INPUT, "operator '%s' cannot be run: the shape of '%s' is not known",
				       op->name, plan->graph->tensors.items[tensor].name);
	}
	if (!is_view(op) && !op_kernel_of(op->kind))
		return err_set(err, ERR_UNAVAILABLE, "operator '%s' (%s) cannot be run: there is no kernel for it",
			       op->name, op->type ? op->type : op_kind_name(op->kind));
	return 0;
}

static int plan_step(struct plan *plan, size_t index, bool *joined, struct err *err)
{
	const struct graph_op *op = &plan->graph->ops.items[index];
	struct plan_step *step = vec_add(&plan->steps);
	*step = (struct plan_step){
		.kernel = op_kernel_of(op->kind), .fused_norm = GRAPH_NONE, .fused_bias = GRAPH_NONE};
	vec_push(&step->ops, index);
	step->shown = (struct exec_step){.phase = EXEC_FORWARD, .kernel = step->kernel->words};
	step->node = (struct op_node){.op = op,
				      .in_count = op->inputs.len,
				      .training = plan->options.training,
				      .blas = plan->options.blas,
				      .call = {.fn = KERNEL_NONE}};
	if (plan->options.blas && (op->kind == OP_LINEAR || op->kind == OP_GEMM || op->kind == OP_MATMUL))
		step->shown.kernel = "OpenBLAS";
	node_values(plan, op->inputs.items, op->inputs.len, &step->node.in);
	if (!plan->options.unfused && !plan->options.training && !plan->options.keep)
		fuse_step(plan, step, joined);
	const struct graph_op *last = &plan->graph->ops.items[*vec_last(&step->ops)];
	const struct vec_outputs {
		size_t *items;
		size_t len;
	} outputs = {last->outputs.items, last->outputs.len};
	step->node.out_count = outputs.len;
	node_values(plan, outputs.items, outputs.len, &step->node.out);
	for (size_t i = 0; i < outputs.len; i++)
		if (outputs.items[i] != GRAPH_NONE)
			plan->tensors[outputs.items[i]].writer = plan->steps.len - 1;
	if (outputs.items[0] != GRAPH_NONE) {
		enum element element = plan->graph->tensors.items[outputs.items[0]].element;
		step->node.whole = !element_is_float(element);
		step->node.truth = element == ELEMENT_BOOL;
	}
	const char *why = step->kernel->refuse ? step->kernel->refuse(&step->node) : NULL;
	return why ? err_set(err, ERR_UNAVAILABLE, "operator '%s' (%s) cannot be run: %s", op->name,
			     op->type ? op->type : op_kind_name(op->kind), why)
		   : 0;
}

static int plan_forward(struct plan *plan, struct err *err)
{
	bool *joined = mem_alloc(plan->graph->ops.len);
	int code = 0;
	for (size_t i = 0; i < plan->graph->ops.len && !code; i++) {
		const struct graph_op *op = &plan->graph->ops.items[i];
		code = check_op(plan, op, err);
		if (code || joined[i])
			continue;
		if (is_view(op))
			plan_view(plan, op);
		else
			code = plan_step(plan, i, joined, err);
	}
	free(joined);
	plan->forward_steps = plan->steps.len;
	return code;
}

/* The tensors that a step's operators read and write. */
static size_t step_input(const struct plan_step *step, size_t index)
{
	return index < step->node.op->inputs.len ? step->node.op->inputs.items[index] : GRAPH_NONE;
}

static size_t step_output(const struct plan *plan, const struct plan_step *step, size_t index)
{
	return plan->graph->ops.items[*vec_last(&step->ops)].outputs.items[index];
}

/* A weight does; what is computed from one does where a gradient can pass. Afterwards only where the loss depends on it. */
static void plan_wants(struct plan *plan)
{
	for (size_t i = 0; i < plan->graph->tensors.len; i++)
		plan->tensors[i].wants_gradient = plan->graph->tensors.items[i].role == TENSOR_WEIGHT;
	for (size_t s = 0; s < plan->forward_steps; s++) {
		const struct plan_step *step = &plan->steps.items[s];
		bool wants = false;
		for (size_t i = 0; i < step->node.in_count && step->kernel->backward; i++)
			wants = wants || (step->node.in[i].present &&
					  plan->tensors[exec_plan_root(plan, step_input(step, i))].wants_gradient);
		for (size_t i = 0; i < step->node.out_count; i++)
			if (step->node.out[i].present)
				plan->tensors[exec_plan_root(plan, step_output(plan, step, i))].wants_gradient = wants;
	}
	bool *reached = mem_alloc(plan->graph->tensors.len);
	reached[exec_plan_root(plan, plan->loss_tensor)] = true;
	for (size_t s = plan->forward_steps; s-- > 0;) {
		const struct plan_step *step = &plan->steps.items[s];
		bool active = false;
		for (size_t i = 0; i < step->node.out_count; i++)
			active = active || (step->node.out[i].present &&
					    reached[exec_plan_root(plan, step_output(plan, step, i))]);
		for (size_t i = 0; active && step->kernel->backward && i < step->node.in_count; i++)
			if (step->node.in[i].present)
				reached[exec_plan_root(plan, step_input(step, i))] = true;
	}
	for (size_t i = 0; i < plan->graph->tensors.len; i++)
		plan->tensors[i].wants_gradient = plan->tensors[i].wants_gradient && reached[i];
	free(reached);
}

static bool wants(const struct plan *plan, size_t tensor)
{
	return tensor != GRAPH_NONE && plan->tensors[exec_plan_root(plan, tensor)].wants_gradient;
}

static void add_step(struct plan *plan, enum exec_phase phase, const char *words)
{
	struct plan_step *step = vec_add(&plan->steps);
	*step = (struct plan_step){.shown = {.phase = phase, .kernel = words},
				   .forward = PLAN_NEVER,
				   .fused_norm = GRAPH_NONE,
				   .fused_bias = GRAPH_NONE};
}

static int plan_backward(struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->graph->tensors.len && plan->loss_tensor == GRAPH_NONE; i++)
		if (plan->graph->tensors.items[i].output && plan->tensors[exec_plan_root(plan, i)].writer != PLAN_NEVER)
			plan->loss_tensor = i;
	if (plan->loss_tensor == GRAPH_NONE || plan->graph->tensors.items[plan->loss_tensor].shape.rank == 0)
		return err_set(err, ERR_INPUT, "the model has no output that a loss could be taken of");
	plan_wants(plan);
	if (!wants(plan, plan->loss_tensor))
		return err_set(err, ERR_INPUT, "no weight of the model can learn: its first output depends on none");
	add_step(plan, EXEC_LOSS, "cross entropy");
	for (size_t s = plan->forward_steps; s-- > 0;) {
		bool active = false;
		for (size_t i = 0; i < plan->steps.items[s].node.out_count; i++)
			active = active || wants(plan, step_output(plan, &plan->steps.items[s], i));
		if (!active || !plan->steps.items[s].kernel->backward)
			continue;
		struct plan_step *back = vec_add(&plan->steps), *step = &plan->steps.items[s];
		*back = (struct plan_step){.kernel = step->kernel,
					   .forward = s,
					   .fused_norm = GRAPH_NONE,
					   .fused_bias = GRAPH_NONE,
					   .shown = {.phase = EXEC_BACKWARD, .kernel = step->kernel->words}};
		vec_push(&back->ops, step->ops.items[0]);
		if (step->kernel->extra_flops)
			back->shown.extra_flops = step->kernel->extra_flops(&step->node);
	}
	add_step(plan, EXEC_UPDATE, (const char *[]){"SGD", "momentum", "Adam"}[plan->options.optimizer]);
	return 0;
}

static void live(struct plan_span *span, size_t step)
{
	span->first = span->first == PLAN_NEVER || step < span->first ? step : span->first;
	span->last = span->last == PLAN_NEVER || step > span->last ? step : span->last;
}

/* Forward: written and read. Backward: read again by those that say so; gradients from the first that adds to the writer. */
static void plan_spans(struct plan *plan)
{
	for (size_t s = 0; s < plan->steps.len; s++) {
		bool back = plan->steps.items[s].shown.phase == EXEC_BACKWARD;
		const struct plan_step *step = &plan->steps.items[back ? plan->steps.items[s].forward : s];
		if (!step->kernel)
			continue;
		for (size_t i = 0; i < step->node.in_count; i++) {
			if (!step->node.in[i].present)
				continue;
			struct plan_tensor *tensor = &plan->tensors[exec_plan_root(plan, step_input(step, i))];
			if (!back || step->kernel->back_reads_in)
				live(&tensor->value, s);
			if (back && tensor->wants_gradient)
				live(&tensor->gradient, s);
		}
		for (size_t i = 0; i < step->node.out_count; i++) {
			if (!step->node.out[i].present)
				continue;
			struct plan_tensor *tensor = &plan->tensors[exec_plan_root(plan, step_output(plan, step, i))];
			if (!back || step->kernel->back_reads_out)
				live(&tensor->value, s);
			if (back && tensor->wants_gradient)
				live(&tensor->gradient, s);
		}
	}
	if (plan->loss_tensor != GRAPH_NONE) {
		live(&plan->tensors[exec_plan_root(plan, plan->loss_tensor)].value, plan->forward_steps);
		live(&plan->tensors[exec_plan_root(plan, plan->loss_tensor)].gradient, plan->forward_steps);
	}
	for (size_t i = 0; i < plan->graph->tensors.len; i++) {
		struct plan_tensor *tensor = &plan->tensors[exec_plan_root(plan, i)];
		bool stays = plan->graph->tensors.items[i].output || plan->options.keep;
		if (stays && tensor->value.first != PLAN_NEVER)
			tensor->value.last = plan->steps.len;
		if (plan->options.keep && tensor->gradient.first != PLAN_NEVER)
			tensor->gradient.last = plan->steps.len;
	}
}

/* An output takes the place of an input that nobody needs afterwards. */
static void plan_in_place(struct plan *plan)
{
	for (size_t s = 0; s < plan->forward_steps && !plan->options.training && !plan->options.keep; s++) {
		const struct plan_step *step = &plan->steps.items[s];
		if (!step->kernel->in_place || !step->node.in[0].present)
			continue;
		size_t from = exec_plan_root(plan, step_input(step, 0)),
		       to = exec_plan_root(plan, step_output(plan, step, 0));
		const struct plan_tensor *in = &plan->tensors[from];
		if (in->fixed || in->input || in->value.last != s || in->floats != plan->tensors[to].floats ||
		    from == to)
			continue;
		plan->tensors[from].value.last = plan->tensors[to].value.last;
		plan->tensors[to].value = (struct plan_span){PLAN_NEVER, PLAN_NEVER, 0};
		plan->tensors[to].root = from;
	}
}

/* A weight that every reader packs is not kept as it was. */
static void plan_packed(struct plan *plan)
{
	size_t *packers = mem_alloc(plan->graph->tensors.len * sizeof(*packers));
	for (size_t s = 0; s < plan->forward_steps; s++) {
		struct plan_step *step = &plan->steps.items[s];
		size_t packed = step->kernel->packed ? step->kernel->packed(plan->set, &step->node) : 0;
		plan->packed += compute_rounded(packed);
		if (packed && !plan->options.training && step_input(step, 1) != GRAPH_NONE)
			packers[step_input(step, 1)]++;
	}
	for (size_t i = 0; i < plan->graph->tensors.len; i++) {
		struct plan_tensor *tensor = &plan->tensors[i];
		tensor->only_packed = packers[i] && packers[i] == tensor->readers && tensor->root == i &&
				      !plan->options.keep && !plan->graph->tensors.items[i].output;
		if (tensor->only_packed && tensor->floats > plan->load)
			plan->load = tensor->floats;
	}
	free(packers);
}

static void plan_sizes(struct plan *plan)
{
	size_t count = plan->graph->tensors.len, used = 0;
	struct plan_span **spans = mem_alloc(2 * count * sizeof(*spans));
	size_t *floats = mem_alloc(2 * count * sizeof(*floats));
	for (size_t i = 0; i < count; i++) {
		struct plan_tensor *tensor = &plan->tensors[i];
		size_t size = compute_rounded(tensor->floats);
		if (tensor->root != i)
			continue;
		if (tensor->fixed && !tensor->only_packed)
			plan->weights += size;
		else if (tensor->input)
			plan->inputs += size;
		if (tensor->fixed && tensor->wants_gradient)
			plan->gradients += size;
		if (!tensor->fixed && !tensor->input && tensor->value.first != PLAN_NEVER)
			spans[used] = &tensor->value, floats[used++] = size;
		if (!tensor->fixed && tensor->gradient.first != PLAN_NEVER)
			spans[used] = &tensor->gradient, floats[used++] = size;
	}
	for (size_t i = 0; i < used; i++)
		plan->apart += floats[i];
	plan->arena = exec_plan_place(spans, floats, used);
	free(spans);
	free(floats);
	plan->scratch = matmul_scratch(plan->set);
	for (size_t s = 0; s < plan->forward_steps; s++) {
		const struct plan_step *step = &plan->steps.items[s];
		size_t scratch = step->kernel->scratch ? step->kernel->scratch(plan->set, &step->node) : 0;
		size_t columns = step->kernel->columns ? step->kernel->columns(&step->node) : 0;
		plan->state += step->kernel->state ? compute_rounded(step->kernel->state(&step->node)) : 0;
		plan->scratch = scratch > plan->scratch ? scratch : plan->scratch;
		plan->columns = columns > plan->columns ? columns : plan->columns;
	}
	plan->scratch = compute_rounded(plan->scratch) + 4 * COMPUTE_ALIGN_FLOATS;
}

int exec_plan_init(struct plan *plan, const struct graph *graph, const struct exec_options *options,
		   const struct kernel_set *set, struct err *err)
{
	*plan = (struct plan){.graph = graph, .options = *options, .set = set, .loss_tensor = GRAPH_NONE};
	int code = plan_tensors(plan, err);
	if (!code)
		code = plan_forward(plan, err);
	if (!code && options->training)
		code = plan_backward(plan, err);
	if (code)
		return code;
	plan_spans(plan);
	plan_in_place(plan);
	plan_packed(plan);
	plan_sizes(plan);
	for (size_t s = 0; s < plan->steps.len; s++) {
		struct plan_step *step = &plan->steps.items[s];
		step->shown.ops = step->ops.items;
		step->shown.op_count = step->ops.len;
	}
	return 0;
}

void exec_plan_fini(struct plan *plan)
{
	for (size_t s = 0; s < plan->steps.len; s++) {
		struct plan_step *step = &plan->steps.items[s];
		vec_fini(&step->ops);
		free(step->node.in);
		free(step->node.out);
		free(step->bias);
		free(step->scale);
	}
	vec_fini(&plan->steps);
	free(plan->tensors);
}
