/* run_model.c - see run_model.h. */
#include "model/run_model.h"
#include "base/str.h"
#include "model/exec.h"

#include <math.h>
#include <string.h>

enum { NOTES_MOST = 3 };

static void take_timing(const struct pitot_timing *timing, struct model_time *out)
{
	struct str warning = {0};
	out->runs = (int64_t)timing->runs;
	out->mean_s = timing->mean_ns / 1e9;
	out->sd_s = timing->sd_ns / 1e9;
	out->median_s = timing->median_ns / 1e9;
	out->low_s = timing->median_low_ns / 1e9;
	out->high_s = timing->median_high_ns / 1e9;
	out->p90_s = timing->p90_ns / 1e9;
	out->p95_s = timing->p95_ns / 1e9;
	out->p99_s = timing->p99_ns / 1e9;
	if (timing->warnings & PITOT_TIMING_DRIFT)
		str_append(&warning, "later runs are slower or faster than earlier ones");
	if (timing->warnings & PITOT_TIMING_TWO_MODES)
		str_appendf(&warning, "%sthe runs fall into two groups", warning.len ? "; " : "");
	if (timing->warnings & PITOT_TIMING_IMPRECISE)
		str_appendf(&warning, "%sthe interval is wider than wanted", warning.len ? "; " : "");
	out->warning = warning.len ? str_take(&warning) : NULL;
	out->flops = out->bytes = out->attainable_flops = out->efficiency = NAN;
}

/* Where it lies under the roof; a count of 0 is none. What moves more bytes than memory gives had them in a cache, so that the
 * caches' bandwidth is its roof. */
static void place(const struct roof *roof, int64_t flops, int64_t bytes, struct model_time *time)
{
	struct roof_place at;
	bool cached = false;
	if (!(time->median_s > 0) || (flops <= 0 && bytes <= 0))
		return;
	roof_place(roof, (double)flops, bytes > 0 ? (double)bytes : NAN, time->median_s, &at);
	if (at.doubt == ROOF_ABOVE_MEMORY && roof->fastest_bytes > 0) {
		struct roof inside = {roof->peak_flops, roof->fastest_bytes, roof->fastest_bytes};
		cached = true;
		roof_place(&inside, (double)flops, (double)bytes, time->median_s, &at);
	}
	time->flops = flops > 0 ? at.flops : NAN;
	time->bytes = at.bytes;
	time->attainable_flops = at.attainable_flops;
	time->efficiency = at.efficiency;
	if (at.bound != ROOF_BOUND_UNKNOWN)
		time->bound = mem_strdup(cached && at.bound == ROOF_BOUND_MEMORY ? "cache-bound"
										 : roof_bound_words(at.bound));
	time->doubt = roof_is_impossible(at.doubt) ? mem_strdup(roof_doubt_words(at.doubt)) : NULL;
}

/* The work of a step: what lies between two of its operators never leaves the cache. */
static void step_work(const struct model_row *row, const struct exec_step *step, bool backward, int64_t *flops,
		      int64_t *bytes)
{
	*flops = *bytes = 0;
	for (size_t i = 0; i < step->op_count; i++) {
		const struct work *work = &row->ops.items[step->ops[i]].work;
		*flops += backward ? work_backward_flops(work) : work_flops(work);
		*bytes += work_bytes(work);
		if (i + 1 < step->op_count)
			*bytes -= 2 * work->written_bytes;
	}
	/* Gradients of results in, of operands and weights out, and the operands again. */
	if (backward)
		*bytes *= 2;
}

static void take_steps(const struct exec *exec, const struct exec_measured *measured, const struct roof *roof,
		       enum exec_phase wanted, struct model_row *row)
{
	enum model_phase phase = wanted == EXEC_BACKWARD ? MODEL_BACKWARD : MODEL_FORWARD;
	for (size_t i = 0; i < exec_steps(exec); i++) {
		const struct exec_step *step = exec_step_at(exec, i);
		int64_t flops, bytes;
		if (step->phase != wanted || !step->op_count)
			continue;
		struct model_time *time = &row->ops.items[step->ops[0]].time[phase];
		if (time->runs)
			continue;
		take_timing(&measured->steps[i], time);
		step_work(row, step, phase == MODEL_BACKWARD, &flops, &bytes);
		place(roof, flops, bytes, time);
		for (size_t k = 1; k < step->op_count && phase == MODEL_FORWARD; k++)
			if (step->ops[k] > step->ops[0])
				row->ops.items[step->ops[k]].fused_into = (int64_t)step->ops[0];
	}
}

/* The backward pass is not timed by itself, but as the sum of its steps in the same passes. */
static void sum_backward(const struct exec *exec, const struct exec_measured *measured, const struct roof *roof,
			 struct model_row *row)
{
	struct model_time *time = &row->time[MODEL_BACKWARD];
	*time = (struct model_time){.sd_s = NAN, .p90_s = NAN, .p95_s = NAN, .p99_s = NAN};
	for (size_t i = 0; i < exec_steps(exec); i++) {
		if (exec_step_at(exec, i)->phase != EXEC_BACKWARD)
			continue;
		time->runs = (int64_t)measured->steps[i].runs;
		time->mean_s += measured->steps[i].mean_ns / 1e9;
		time->median_s += measured->steps[i].median_ns / 1e9;
		time->low_s += measured->steps[i].median_low_ns / 1e9;
		time->high_s += measured->steps[i].median_high_ns / 1e9;
	}
	time->flops = time->bytes = time->attainable_flops = time->efficiency = NAN;
	place(roof, work_backward_flops(&row->work), 0, time);
}

/* Real examples in the place of the synthetic input. */
static int fill_input(const struct graph *graph, const struct run_request *request, struct exec *exec, struct err *err)
{
	for (size_t i = 0; request->data && i < graph->tensors.len; i++) {
		const struct graph_tensor *tensor = &graph->tensors.items[i];
		if (tensor->role == TENSOR_INPUT)
			return dataset_fill(request->data, tensor, exec_tensor(exec, i), err);
	}
	return 0;
}

static int measure(const struct graph *graph, const struct run_request *request, bool training, const struct roof *roof,
		   struct model_row *row, struct err *err)
{
	struct exec_options options = {.threads = request->threads, .seed = request->seed, .training = training};
	struct pitot_timer_options timer = {.budget_s = request->budget_s, .seed = request->seed};
	struct exec_measured measured;
	struct exec_memory memory;
	struct exec *exec = NULL;
	int code = exec_new(graph, &options, &exec, err);
	if (code)
		return code;
	code = fill_input(graph, request, exec, err);
	if (!code)
		code = exec_measure(exec, &timer, &measured, err);
	if (code) {
		exec_free(exec);
		return code;
	}
	exec_memory(exec, &memory);
	if (training) {
		take_steps(exec, &measured, roof, EXEC_BACKWARD, row);
		sum_backward(exec, &measured, roof, row);
		row->measured_training_bytes = (int64_t)memory.kernel_bytes;
	} else {
		take_timing(&measured.total, &row->time[MODEL_FORWARD]);
		/* The whole pass against the peak: its traffic depends on what stays in the caches between operators. */
		place(roof, work_flops(&row->work), 0, &row->time[MODEL_FORWARD]);
		take_steps(exec, &measured, roof, EXEC_FORWARD, row);
		row->measured_inference_bytes = (int64_t)memory.kernel_bytes;
	}
	exec_measured_fini(&measured);
	exec_free(exec);
	return 0;
}

int run_model(const struct graph *graph, const struct run_request *request, struct model_row *row, struct err *err)
{
	struct roof roof = {NAN, NAN, NAN};
	struct err training;
	if (request->machine)
		machine_roof(request->machine, "fp32", (unsigned)request->threads, &roof);
	row->roof_flops = roof.peak_flops > 0 ? roof.peak_flops : NAN;
	row->roof_memory_bytes = roof.memory_bytes > 0 ? roof.memory_bytes : NAN;
	row->roof_cache_bytes = roof.fastest_bytes > 0 ? roof.fastest_bytes : NAN;
	int code = measure(graph, request, false, &roof, row, err);
	if (code)
		return code;
	row->threads = request->threads;
	free(row->input);
	row->input = request->data ? mem_strdup(request->data->words)
				   : mem_printf("synthetic input, seed %llu", (unsigned long long)request->seed);
	if (request->backward && measure(graph, request, true, &roof, row, &training) != 0)
		vec_push(&row->notes, mem_printf("the backward pass was not timed: %s", training.text));
	for (size_t i = 0; request->machine && i < request->machine->notes.len && i < NOTES_MOST; i++)
		vec_push(&row->notes, mem_printf("about the roof: %s", request->machine->notes.items[i]));
	profile_sum_layers(row);
	return 0;
}
