/*
 * timer.c - the timer of pitot.h: when to read the clock, and when to stop.
 *
 * The clock is read first thing when a run ends and last thing before the next begins, so nothing that happens here is inside a
 * run but one reading's cost, which is measured and taken off. Whether the interval is narrow enough is asked at run numbers that
 * grow by a tenth: asking after each run would stop at the first lucky streak, and costs.
 */
#include "base/mem.h"
#include "lib/timing.h"
#include "stats/dist.h"
#include "stats/interval.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum phase { FRESH, WARMING, COUNTING, OVER };

struct pitot_timer {
	struct pitot_timer_options options;
	enum phase phase;
	uint64_t run_start_ns, phase_start_ns;
	unsigned long warmup_runs;
	double *runs_ns;
	size_t runs, room, next_look;
	double mean, squares; /* Welford's running mean and sum of squared deviations */
	double overhead_ns;
};

static uint64_t clock_ns(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct pitot_timer *pitot_timer_new(const struct pitot_timer_options *options)
{
	int saved = errno;
	struct pitot_timer *timer = calloc(1, sizeof(*timer));
	if (timer) {
		timer->options = timing_defaults(options);
		timer->overhead_ns = timing_overhead_ns();
		timer->next_look = timer->options.least_runs;
	}
	errno = saved;
	return timer;
}

void pitot_timer_free(struct pitot_timer *timer)
{
	if (!timer)
		return;
	free(timer->runs_ns);
	free(timer);
}

/* False where there is no more memory: what was timed so far is then the result. */
static bool keep(struct pitot_timer *timer, double run_ns)
{
	if (timer->runs == timer->room) {
		size_t room = timer->room ? 2 * timer->room : 64;
		double *more = realloc(timer->runs_ns, room * sizeof(*more));
		if (!more)
			return false;
		timer->runs_ns = more;
		timer->room = room;
	}
	run_ns = run_ns > timer->overhead_ns ? run_ns - timer->overhead_ns : 0;
	timer->runs_ns[timer->runs++] = run_ns;
	double step = run_ns - timer->mean;
	timer->mean += step / (double)timer->runs;
	timer->squares += step * (run_ns - timer->mean);
	return true;
}

static bool is_precise(struct pitot_timer *timer)
{
	/* Runs that all took nothing beside the clock agree with each other and say nothing. */
	if (timer->runs < 2 || timer->runs < timer->next_look || timer->mean <= 0)
		return false;
	double n = (double)timer->runs;
	timer->next_look = timer->runs + timer->runs / 10 + 1;
	double t = dist_t_quantile((1 + timer->options.level) / 2, n - 1);
	return t * sqrt(timer->squares / (n - 1) / n) <= timer->options.precision * timer->mean;
}

static bool is_enough(struct pitot_timer *timer, uint64_t now_ns)
{
	if (timer->runs >= timer->options.most_runs)
		return true;
	if (timer->runs < timer->options.least_runs)
		return false;
	return (double)(now_ns - timer->phase_start_ns) >= timer->options.budget_s * 1e9 || is_precise(timer);
}

/* What has ended at `now_ns`; false where there is to be no further run. */
static bool end_run(struct pitot_timer *timer, uint64_t now_ns)
{
	if (timer->phase == FRESH) {
		timer->phase = WARMING;
		timer->phase_start_ns = now_ns;
		return true;
	}
	if (timer->phase == WARMING) {
		timer->warmup_runs++;
		if (timer->warmup_runs >= timer->options.warmup_runs &&
		    (double)(now_ns - timer->phase_start_ns) >= timer->options.warmup_s * 1e9) {
			timer->phase = COUNTING;
			timer->phase_start_ns = now_ns;
		}
		return true;
	}
	return timer->phase == COUNTING && keep(timer, (double)(now_ns - timer->run_start_ns)) &&
	       !is_enough(timer, now_ns);
}

int pitot_timer_next(struct pitot_timer *timer)
{
	uint64_t now_ns = clock_ns();
	if (!timer)
		return 0;
	int saved = errno;
	bool more = end_run(timer, now_ns);
	if (!more)
		timer->phase = OVER;
	errno = saved;
	timer->run_start_ns = clock_ns();
	return more;
}

struct request {
	const struct pitot_timer *timer;
	struct pitot_timing result;
};

static void summarize(void *opaque)
{
	struct request *request = opaque;
	const struct pitot_timer *timer = request->timer;
	struct timing_how how = {.level = timer->options.level,
				 .precision = timer->options.precision,
				 .seed = timer->options.seed,
				 .overhead_ns = timer->overhead_ns,
				 .draws = BOOTSTRAP_DRAWS,
				 .modes = true};
	timing_summarize(timer->runs_ns, timer->runs, &how, &request->result);
	request->result.warmup_runs = timer->warmup_runs;
}

int pitot_timer_result(struct pitot_timer *timer, struct pitot_timing *out)
{
	struct request request = {.timer = timer};
	int saved = errno;
	bool done = timer && timer->runs && mem_try(summarize, &request);
	errno = saved;
	if (done)
		*out = request.result;
	return done ? 0 : -1;
}

int pitot_timer_run(void (*work)(void *context), void *context, const struct pitot_timer_options *options,
		    struct pitot_timing *out)
{
	struct pitot_timer *timer = pitot_timer_new(options);
	while (pitot_timer_next(timer))
		work(context);
	int code = pitot_timer_result(timer, out);
	pitot_timer_free(timer);
	return code;
}
