/*
 * exec_measure.c - passes under the public timer, every step timed within the same passes.
 *
 * A step's time is what lies between two readings of the clock, less what a reading costs. The timer decides which passes count; those
 * are the last ones, because a warm-up comes first.
 */
#include "base/clock.h"
#include "lib/timing.h"
#include "model/exec_state.h"

#include <stdlib.h>

enum { STEP_DRAWS = 2000 };

/* Step times of all passes, pass by pass. */
struct passes {
	VEC(double) ns;
	size_t steps;
};

static void summarize_column(const struct passes *passes, size_t first, size_t count, size_t step,
			     const struct timing_how *how, double *runs, struct pitot_timing *out)
{
	for (size_t i = 0; i < count; i++) {
		double ns = passes->ns.items[(first + i) * passes->steps + step] - how->overhead_ns;
		runs[i] = ns > 0 ? ns : 0;
	}
	timing_summarize(runs, count, how, out);
}

/* What a pass took beside its steps. */
static void summarize_rest(const struct passes *passes, size_t first, size_t count, const struct timing_how *how,
			   const double *totals, double *runs, struct pitot_timing *out)
{
	for (size_t i = 0; i < count; i++) {
		double rest = totals[first + i];
		for (size_t s = 0; s < passes->steps; s++)
			rest -= passes->ns.items[(first + i) * passes->steps + s] - how->overhead_ns;
		runs[i] = rest > 0 ? rest : 0;
	}
	timing_summarize(runs, count, how, out);
}

int exec_measure(struct exec *exec, const struct pitot_timer_options *options, struct exec_measured *out,
		 struct err *err)
{
	struct pitot_timer_options full = timing_defaults(options);
	struct passes passes = {.steps = exec_steps(exec)};
	VEC(double) totals = {0};
	struct pitot_timer *timer = pitot_timer_new(&full);
	*out = (struct exec_measured){0};
	while (pitot_timer_next(timer)) {
		vec_reserve(&passes.ns, passes.ns.len + passes.steps);
		uint64_t before = clock_mono_ns();
		exec_run(exec, passes.ns.items + passes.ns.len);
		vec_push(&totals, (double)(clock_mono_ns() - before));
		passes.ns.len += passes.steps;
	}
	int code = pitot_timer_result(timer, &out->total) == 0
			   ? 0
			   : err_set(err, ERR_UNAVAILABLE, "the passes could not be timed: out of memory");
	pitot_timer_free(timer);
	if (!code) {
		struct timing_how how = {.level = full.level,
					 .seed = full.seed,
					 .overhead_ns = out->total.overhead_ns,
					 .draws = STEP_DRAWS};
		size_t count = out->total.runs, first = totals.len - count;
		double *runs = mem_alloc(count * sizeof(*runs));
		out->steps = mem_alloc(passes.steps * sizeof(*out->steps));
		for (size_t s = 0; s < passes.steps; s++)
			summarize_column(&passes, first, count, s, &how, runs, &out->steps[s]);
		summarize_rest(&passes, first, count, &how, totals.items, runs, &out->outside);
		free(runs);
	}
	vec_fini(&passes.ns);
	vec_fini(&totals);
	return code;
}

void exec_measured_fini(struct exec_measured *measured)
{
	free(measured->steps);
	measured->steps = NULL;
}
