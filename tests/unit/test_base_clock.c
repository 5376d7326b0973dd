/* test_base_clock.c - the clocks. */
#include "base/clock.h"
#include "unit.h"

#include <time.h>

static void the_monotonic_clock_never_goes_back(void **state)
{
	(void)state;
	uint64_t before = clock_mono_ns();
	for (int i = 0; i < 100000; i++) {
		uint64_t now = clock_mono_ns();
		assert_true(now >= before);
		before = now;
	}
}

static void utc_agrees_with_the_system(void **state)
{
	(void)state;
	uint64_t before = (uint64_t)time(NULL) * NS_PER_S;
	uint64_t now = clock_utc_ns();
	/* time() may lag behind the precise clock by a tick. */
	assert_true(now >= before - NS_PER_S && now < before + 60 * NS_PER_S);
}

static void a_busy_thread_uses_cpu_time_but_no_more_than_elapsed(void **state)
{
	(void)state;
	uint64_t wall = clock_mono_ns(), cpu = clock_thread_cpu_ns();
	while (clock_thread_cpu_ns() - cpu < 20000000)
		;
	uint64_t used = clock_thread_cpu_ns() - cpu;
	assert_true(clock_mono_ns() - wall + 1000000 >= used);
}

static void moments_are_written_as_utc(void **state)
{
	(void)state;
	char text[21];
	setenv("TZ", "Asia/Tokyo", 1);
	tzset();
	clock_format_utc(0, text, sizeof(text));
	assert_string_equal(text, "1970-01-01T00:00:00Z");
	clock_format_utc(1769862896ull * NS_PER_S + 999999999, text, sizeof(text));
	assert_string_equal(text, "2026-01-31T12:34:56Z");
}

static void too_little_room_gives_an_empty_text(void **state)
{
	(void)state;
	char text[8] = "old";
	clock_format_utc(0, text, sizeof(text));
	assert_string_equal(text, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_monotonic_clock_never_goes_back),
	cmocka_unit_test(utc_agrees_with_the_system),
	cmocka_unit_test(a_busy_thread_uses_cpu_time_but_no_more_than_elapsed),
	cmocka_unit_test(moments_are_written_as_utc),
	cmocka_unit_test(too_little_room_gives_an_empty_text),
};

UNIT_MAIN(tests)
