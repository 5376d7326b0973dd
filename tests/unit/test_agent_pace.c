/* Sampling periods: the rate at any length of a run, what programs that repeat themselves look like, and how often they change. */
#include "agent/pace.h"
#include "unit.h"

#include <math.h>

enum { SAMPLES = 5000, SEEDS = 400 };

static const uint64_t asked_ns[] = {1000000000 / 97, 1000000000 / 999, 1000000000 / 4999};

static uint64_t draw(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15u;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

/* The times of a run's samples; how many stretches they took. */
static unsigned take(uint64_t asked, uint64_t seed, uint64_t times[SAMPLES])
{
	struct pace pace;
	unsigned stretches = 0, left = 1;
	uint64_t state = seed, now_ns = 0;
	pace_begin(&pace, draw(&state) % asked);
	for (unsigned i = 0; i < SAMPLES; i++) {
		now_ns += pace.period_ns;
		times[i] = now_ns;
		if (--left)
			continue;
		pace_next(&pace, asked, draw(&state));
		left = pace.length;
		stretches++;
	}
	return stretches;
}

static void the_rate_is_right_at_any_length_of_a_run(void **state)
{
	(void)state;
	static uint64_t times[SAMPLES];
	for (unsigned rate = 0; rate < 3; rate++)
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			take(asked_ns[rate], seed, times);
			for (unsigned i = 1; i < SAMPLES; i++) {
				double due = (double)(times[i] - times[0]) / (double)asked_ns[rate];
				assert_true(fabs(due - i) <= fmax(2, (i + 1) / 64.0) + 1e-3);
			}
		}
}

/* Of a program that repeats itself every `round_ns`: the share of samples in the first three tenths of its round, less 30 %. */
static double points_off(const uint64_t times[SAMPLES], unsigned samples, double round_ns, double phase)
{
	unsigned inside = 0;
	for (unsigned i = 0; i < samples; i++) {
		double at = (double)times[i] / round_ns + phase;
		inside += at - floor(at) < 0.3;
	}
	return 100.0 * inside / samples - 30;
}

/* Root mean square over many runs, against what as many samples at random moments would be off by. */
static double error_over_random(uint64_t asked, unsigned samples, double round)
{
	static uint64_t times[SAMPLES];
	double squares = 0, random = 100 * sqrt(0.3 * 0.7 / samples);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		take(asked, seed, times);
		double off = points_off(times, samples, round * (double)asked, (double)seed / SEEDS);
		squares += off * off;
	}
	return sqrt(squares / SEEDS) / random;
}

static const unsigned lengths[] = {250, 1000, SAMPLES};

static void programs_in_step_with_the_rate_are_seen_as_well_as_at_random(void **state)
{
	(void)state;
	static const double rounds[] = {1, 1 / 2.0, 1 / 3.0, 2 / 3.0, 3 / 2.0, 2, 1 / 4.0, 1 / 5.0, 1.001, 0.999, 1.01};
	for (unsigned rate = 0; rate < 3; rate++)
		for (unsigned length = 0; length < 3; length++)
			for (unsigned i = 0; i < sizeof(rounds) / sizeof(*rounds); i++)
				assert_true(error_over_random(asked_ns[rate], lengths[length], rounds[i]) < 1.1);
}

/* A stretch whose period is the program's sees one place of it: that a program is in step with some is not to be had
 * otherwise, so there have to be few of them. In step with all it would be off by 30 or 70 points, 70 times as much. */
static void programs_in_step_with_a_stretch_are_seen_half_as_well(void **state)
{
	(void)state;
	for (unsigned rate = 0; rate < 3; rate++)
		for (unsigned length = 0; length < 3; length++)
			for (double round = 0.7; round < 1.3; round += 0.05)
				assert_true(error_over_random(asked_ns[rate], lengths[length], round) < 2.6);
}

static void another_period_is_rare(void **state)
{
	(void)state;
	static uint64_t times[SAMPLES];
	for (unsigned rate = 0; rate < 3; rate++)
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			unsigned stretches = take(asked_ns[rate], seed, times);
			assert_true(stretches <= 20 + (double)times[SAMPLES - 1] / 512e6);
		}
}

static void a_stretch_that_could_not_be_ended_is_made_up_for(void **state)
{
	(void)state;
	uint64_t random = 1, asked = asked_ns[1];
	struct pace pace;
	pace_begin(&pace, asked / 2);
	for (unsigned i = 0; i < 40; i++)
		pace_next(&pace, asked, draw(&random));
	uint64_t kept_ns = pace.period_ns;
	for (unsigned i = 0; i < 10; i++) {
		pace_next(&pace, asked, draw(&random));
		pace.period_ns = kept_ns; /* no descriptor was to be had for another event */
	}
	for (unsigned i = 0; i < 20; i++) {
		pace_next(&pace, asked, draw(&random));
		assert_in_range(pace.period_ns, asked - asked / 3, asked + asked / 3);
	}
	/* What a stretch may be off by at its end. */
	assert_true(llabs(pace.drift_ns) <= (int64_t)(asked * pace.length / 8));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_rate_is_right_at_any_length_of_a_run),
	cmocka_unit_test(programs_in_step_with_the_rate_are_seen_as_well_as_at_random),
	cmocka_unit_test(programs_in_step_with_a_stretch_are_seen_half_as_well),
	cmocka_unit_test(another_period_is_rare),
	cmocka_unit_test(a_stretch_that_could_not_be_ended_is_made_up_for),
};
UNIT_MAIN(tests)
