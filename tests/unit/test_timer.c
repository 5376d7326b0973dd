/*
 * test_timer.c - the public timer: that it runs what it warms up with, when it stops, and what it says about runs whose truth is
 * known. Times themselves are never asserted, only what must hold between them.
 */
#include "base/mem.h"
#include "lib/timing.h"
#include "pitot.h"
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <time.h>

static const struct timing_how plain = {.level = 0.95, .draws = 2000, .modes = true};

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%.17g, not %.17g", got, wanted);
}

static void count_call(void *context)
{
	++*(unsigned long *)context;
}

static void burn(uint64_t ns)
{
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((uint64_t)(now.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec - (uint64_t)start.tv_nsec <
	       ns);
}

static void burn_some(void *context)
{
	burn(*(uint64_t *)context);
}

static void every_run_of_the_warm_up_runs_the_work(void **state)
{
	(void)state;
	unsigned long calls = 0;
	struct pitot_timing timing;
	struct pitot_timer_options options = {.budget_s = 0.01, .warmup_s = 1e-9, .warmup_runs = 17, .most_runs = 40};
	assert_int_equal(pitot_timer_run(count_call, &calls, &options, &timing), 0);
	assert_int_equal(timing.warmup_runs, 17);
	assert_int_equal(calls, timing.warmup_runs + timing.runs);
}

static void the_warm_up_lasts_as_long_as_asked(void **state)
{
	(void)state;
	uint64_t ns = 100000;
	struct pitot_timing timing;
	struct pitot_timer_options options = {.budget_s = 0.001, .warmup_s = 0.005, .least_runs = 2, .most_runs = 2};
	assert_int_equal(pitot_timer_run(burn_some, &ns, &options, &timing), 0);
	/* 5 ms of runs that take at least 0.1 ms: at most 50; a busy machine makes fewer, never less than asked. */
	assert_in_range(timing.warmup_runs, 3, 51);
	assert_int_equal(timing.runs, 2);
}

static void it_stops_at_the_most_runs_and_not_before_the_least(void **state)
{
	(void)state;
	unsigned long calls = 0;
	struct pitot_timing timing;
	struct pitot_timer_options options = {.budget_s = 1e-9, .warmup_s = 1e-9, .least_runs = 25, .most_runs = 1000};
	assert_int_equal(pitot_timer_run(count_call, &calls, &options, &timing), 0);
	assert_int_equal(timing.runs, 25);
	uint64_t ns = 1000;
	options = (struct pitot_timer_options){.budget_s = 100, .warmup_s = 1e-9, .most_runs = 30, .precision = 1e-12};
	assert_int_equal(pitot_timer_run(burn_some, &ns, &options, &timing), 0);
	assert_int_equal(timing.runs, 30);
	assert_true(timing.warnings & PITOT_TIMING_IMPRECISE);
}

static void a_wide_tolerance_stops_long_before_the_budget(void **state)
{
	(void)state;
	uint64_t ns = 200000;
	struct pitot_timing timing;
	struct pitot_timer_options options = {.budget_s = 60, .warmup_s = 1e-9, .least_runs = 5, .precision = 5};
	assert_int_equal(pitot_timer_run(burn_some, &ns, &options, &timing), 0);
	assert_true(timing.runs < 200);
	assert_true(timing.mean_ns >= 199000);
	assert_true(timing.min_ns <= timing.median_ns && timing.median_ns <= timing.max_ns);
}

static void the_mean_has_students_interval(void **state)
{
	(void)state;
	const double runs[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	struct pitot_timing timing;
	timing_summarize(runs, 10, &plain, &timing);
	assert_near(timing.mean_ns, 5.5, 1e-12);
	assert_near(timing.sd_ns, 3.0276503540974917, 1e-12);
	/* 2.2621571628 is t at 0.975 with 9 degrees of freedom. */
	assert_near(timing.mean_high_ns - timing.mean_ns, 2.2621571628 * 3.0276503540974917 / sqrt(10), 1e-9);
	assert_near(timing.median_ns, 5.5, 1e-12);
	assert_true(timing.median_low_ns < 5.5 && timing.median_high_ns > 5.5);
	assert_string_equal(timing.median_method, "BCa bootstrap");
}

static void percentiles_wait_for_enough_runs(void **state)
{
	(void)state;
	enum { MOST = 700 };
	double runs[MOST];
	const struct timing_how quick = {.level = 0.95, .draws = 100};
	for (size_t i = 0; i < MOST; i++)
		runs[i] = (double)((i * 7919) % MOST);
	struct {
		size_t runs;
		bool p90, p95, p99;
	} cases[] = {{63, 0, 0, 0}, {64, 1, 0, 0}, {129, 1, 0, 0}, {130, 1, 1, 0}, {661, 1, 1, 0}, {662, 1, 1, 1}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pitot_timing timing;
		timing_summarize(runs, cases[i].runs, &quick, &timing);
		assert_int_equal(!isnan(timing.p90_ns), cases[i].p90);
		assert_int_equal(!isnan(timing.p95_ns), cases[i].p95);
		assert_int_equal(!isnan(timing.p99_ns), cases[i].p99);
	}
	struct pitot_timing timing;
	timing_summarize(runs, MOST, &quick, &timing);
	assert_near(timing.p90_ns, 0.90 * (MOST - 1), 1e-9);
	assert_near(timing.p99_ns, 0.99 * (MOST - 1), 1e-9);
}

/* Deterministic noise of mean 0 and about a hundredth. */
static double noise(size_t i)
{
	return 1 + 0.01 * sin((double)(i * i % 1009));
}

static void drift_is_warned_of_and_steadiness_is_not(void **state)
{
	(void)state;
	double steady[100], rising[100];
	for (size_t i = 0; i < 100; i++) {
		steady[i] = 1000 * noise(i);
		rising[i] = (1000 + 2 * (double)i) * noise(i);
	}
	struct pitot_timing timing;
	timing_summarize(steady, 100, &plain, &timing);
	assert_int_equal(timing.warnings, 0);
	timing_summarize(rising, 100, &plain, &timing);
	assert_true(timing.warnings & PITOT_TIMING_DRIFT);
	assert_true(timing.drift_tau > 0.5);
}

static void two_speeds_are_seen_as_two(void **state)
{
	(void)state;
	double runs[120];
	for (size_t i = 0; i < 120; i++)
		runs[i] = (i * 7 % 3 ? 1000 : 1400) * noise(i);
	struct pitot_timing timing;
	timing_summarize(runs, 120, &plain, &timing);
	assert_true(timing.warnings & PITOT_TIMING_TWO_MODES);
	assert_near(timing.mode_low_ns, 1000, 0.02);
	assert_near(timing.mode_high_ns, 1400, 0.02);
	assert_near(timing.mode_share_high, 1.0 / 3, 0.02);
}

static void a_cold_first_run_is_seen(void **state)
{
	(void)state;
	double runs[50];
	for (size_t i = 0; i < 50; i++)
		runs[i] = (i ? 1000 : 5000) * noise(i);
	struct pitot_timing timing;
	timing_summarize(runs, 50, &plain, &timing);
	assert_true(timing.warnings & PITOT_TIMING_SLOW_START);
}

static void the_clock_has_a_cost_and_empty_work_is_too_short(void **state)
{
	(void)state;
	unsigned long calls = 0;
	struct pitot_timing timing;
	struct pitot_timer_options options = {.budget_s = 0.01, .warmup_s = 0.001, .most_runs = 500};
	assert_int_equal(pitot_timer_run(count_call, &calls, &options, &timing), 0);
	assert_true(timing.overhead_ns > 0 && timing.overhead_ns < 1e6);
	assert_true(timing.warnings & PITOT_TIMING_TOO_SHORT);
	assert_true(timing.min_ns >= 0);
}

static void very_many_runs_are_summarised_in_time(void **state)
{
	(void)state;
	enum { MANY = 50000 };
	double *runs = mem_alloc(MANY * sizeof(*runs));
	for (size_t i = 0; i < MANY; i++)
		runs[i] = 1000 * noise(i);
	struct pitot_timing timing;
	timing_summarize(runs, MANY, &plain, &timing);
	assert_string_equal(timing.median_method, "order statistics");
	assert_true(timing.median_low_ns <= timing.median_ns && timing.median_ns <= timing.median_high_ns);
	free(runs);
}

static void the_host_sees_no_errno_and_no_crash_without_a_timer(void **state)
{
	(void)state;
	struct pitot_timing timing;
	errno = E2BIG;
	struct pitot_timer *timer = pitot_timer_new(NULL);
	assert_int_equal(pitot_timer_result(timer, &timing), -1);
	assert_int_equal(pitot_timer_next(timer), 1);
	assert_int_equal(errno, E2BIG);
	pitot_timer_free(timer);
	assert_int_equal(pitot_timer_next(NULL), 0);
	assert_int_equal(pitot_timer_result(NULL, &timing), -1);
	pitot_timer_free(NULL);
}

/* So that an allocation that fails does so under AddressSanitizer too, instead of ending the test. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void ask_for_too_much(void *context)
{
	volatile size_t most = SIZE_MAX / 4;
	*(void **)context = mem_alloc(most);
}

static void try_within(void *context)
{
	void *block;
	assert_false(mem_try(ask_for_too_much, &block));
	ask_for_too_much(context);
}

static void memory_that_runs_out_within_a_try_ends_the_try_only(void **state)
{
	(void)state;
	void *block = NULL;
	assert_false(mem_try(ask_for_too_much, &block));
	assert_false(mem_try(try_within, &block));
	assert_null(block);
	unsigned long calls = 0;
	assert_true(mem_try(count_call, &calls));
	assert_int_equal(calls, 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_run_of_the_warm_up_runs_the_work),
	cmocka_unit_test(the_warm_up_lasts_as_long_as_asked),
	cmocka_unit_test(it_stops_at_the_most_runs_and_not_before_the_least),
	cmocka_unit_test(a_wide_tolerance_stops_long_before_the_budget),
	cmocka_unit_test(the_mean_has_students_interval),
	cmocka_unit_test(percentiles_wait_for_enough_runs),
	cmocka_unit_test(drift_is_warned_of_and_steadiness_is_not),
	cmocka_unit_test(two_speeds_are_seen_as_two),
	cmocka_unit_test(a_cold_first_run_is_seen),
	cmocka_unit_test(the_clock_has_a_cost_and_empty_work_is_too_short),
	cmocka_unit_test(very_many_runs_are_summarised_in_time),
	cmocka_unit_test(the_host_sees_no_errno_and_no_crash_without_a_timer),
	cmocka_unit_test(memory_that_runs_out_within_a_try_ends_the_try_only),
};
UNIT_MAIN(tests)
