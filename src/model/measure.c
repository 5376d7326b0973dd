/*
 * measure.c - see measure.h: how a rate comes out of repetitions.
 *
 * Passes are doubled until one repetition takes long enough for the clock; then so many repetitions, the first of which does
 * not count: it pays for page faults, cold caches and a core that wakes up.
 */
#include "model/measure.h"
#include "base/clock.h"
#include "stats/describe.h"
#include "stats/interval.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CALIBRATIONS = 12, REPEATS_MOST = 64 };

static const double LEVEL = 0.95;

const char *measure_threads(unsigned threads, char *out, size_t size)
{
	snprintf(out, size, threads == 1 ? "one thread" : "%u threads", threads);
	return out;
}

void measure_tell(const struct measure *measure, const char *format, ...)
{
	char text[128];
	va_list args;
	if (!measure->request->progress)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	double passed = (double)(clock_mono_ns() - measure->start_ns) / 1e9;
	measure->request->progress(measure->request->context, text, fmin(passed / measure->plan->budget_s, 1));
}

/* So many passes that a repetition takes long enough. */
static int calibrate(const struct measure *measure, const struct measure_load *load, uint64_t *passes, struct err *err)
{
	struct team_order order = {.members = load->members};
	order.cpus = load->loose ? NULL : measure->team.items.items;
	order.repeats = order.repeats_least = 1;
	*passes = 1;
	for (int i = 0; i < CALIBRATIONS && load->repeat_s > 0; i++) {
		double seconds;
		size_t done;
		order.passes = *passes;
		int code = team_run(&load->work, &order, &seconds, &done, err);
		if (code)
			return code;
		if (seconds >= load->repeat_s / 2) {
			double scaled = (double)*passes * load->repeat_s / seconds;
			*passes = scaled > 1 ? (uint64_t)ceil(scaled) : 1;
			return 0;
		}
		double factor = fmin(fmax(load->repeat_s / fmax(seconds, 1e-9), 2), 64);
		*passes = (uint64_t)ceil((double)*passes * factor);
	}
	return 0;
}

static void describe_rate(const double *values, size_t count, struct machine_rate *rate)
{
	struct description description;
	struct interval interval;
	describe(values, count, &description);
	interval_median(values, count, LEVEL, &interval);
	rate->known = true;
	rate->runs = count;
	rate->best = description.max;
	rate->median = description.median;
	rate->worst = description.min;
	rate->low = interval.low;
	rate->high = interval.high;
	rate->level = interval.level;
}

int measure_values(struct measure *measure, const struct measure_load *load, struct machine_rate *rate, struct err *err)
{
	double seconds[REPEATS_MOST], rates[REPEATS_MOST];
	size_t done = 0;
	uint64_t passes, now = clock_mono_ns();
	int code = calibrate(measure, load, &passes, err);
	if (code)
		return code;
	struct team_order order = {.members = load->members, .passes = passes};
	order.cpus = load->loose ? NULL : measure->team.items.items;
	order.repeats = load->repeats + 1 < REPEATS_MOST ? load->repeats + 1 : REPEATS_MOST;
	order.repeats_least = MEASURE_LEAST + 1;
	/* A machine with others on it may take its time, but not for ever. */
	uint64_t slice = (uint64_t)(4e9 * (double)order.repeats * fmax(load->repeat_s, 0.02));
	order.deadline_ns = now + slice < measure->deadline_ns ? now + slice : measure->deadline_ns;
	code = team_run(&load->work, &order, seconds, &done, err);
	if (code)
		return code;
	for (size_t i = 1; i < done; i++)
		rates[i - 1] = load->amount * (double)passes * load->members / fmax(seconds[i], 1e-9);
	describe_rate(rates, done - 1, rate);
	return 0;
}

void measure_absent(struct measure *measure, struct machine_rate *rate, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(rate->reason, sizeof(rate->reason), format, args);
	va_end(args);
	rate->known = false;
	rate->best = rate->median = rate->worst = rate->low = rate->high = NAN;
	vec_push(&measure->machine->rates, *rate);
}

void measure_rate(struct measure *measure, const struct measure_load *load, struct machine_rate *rate)
{
	struct err err;
	if (measure_values(measure, load, rate, &err) != 0)
		measure_absent(measure, rate, "%.*s", MACHINE_TEXT_SIZE - 1, err.text);
	else
		vec_push(&measure->machine->rates, *rate);
}
