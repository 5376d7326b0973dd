/*
 * test_pmu_thread.c - counters of one thread between borders: the arithmetic with made-up counts, the reading with the events
 * of the kernel that PITOT_PMU=software puts in the place of the hardware's.
 */
#include "probe/pmu.h"
#include "probe/pmu_thread.h"
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 200 };

static struct pmu_thread *open_software(void)
{
	struct pmu_thread *pmu = NULL;
	struct err err = {0};
	setenv("PITOT_PMU", "software", 1);
	if (pmu_thread_open(&pmu, &err))
		fail_msg("%s", err.text);
	unsetenv("PITOT_PMU");
	return pmu;
}

static void touch_pages(void)
{
	char *memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE), 0);
	for (int i = 0; i < PAGES; i++)
		((volatile char *)memory)[(size_t)i * PAGE] = 1;
	assert_int_equal(munmap(memory, (size_t)PAGES * PAGE), 0);
}

static uint64_t thread_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void burn(uint64_t ns)
{
	for (uint64_t end = thread_ns() + ns; thread_ns() < end;) {
	}
}

static void a_lap_has_what_happened_since_the_last(void **state)
{
	(void)state;
	struct pmu_thread *pmu = open_software();
	struct pmu_tally burned = {0}, touched = {0};
	pmu_thread_lap(pmu, NULL);
	burn(20000000);
	pmu_thread_lap(pmu, &burned);
	touch_pages();
	pmu_thread_lap(pmu, &touched);
	touch_pages();
	pmu_thread_lap(pmu, NULL); /* a border: these pages are nobody's */
	double cpu_ns = pmu_tally_value(&burned, PMU_THREAD_CYCLES);
	assert_true(cpu_ns >= 0.99 * 20e6 && cpu_ns < 2 * 20e6);
	assert_true(pmu_tally_value(&burned, PMU_THREAD_INSTRUCTIONS) < PAGES / 2);
	double faults = pmu_tally_value(&touched, PMU_THREAD_INSTRUCTIONS);
	assert_true(faults >= PAGES && faults < PAGES + PAGES / 2);
	assert_float_equal(pmu_tally_coverage(&touched), 1, 1e-9);
	assert_non_null(strstr(pmu_thread_source(pmu), "software events"));
	assert_int_equal(pmu_thread_events(pmu), PMU_THREAD_ALL);
	pmu_thread_close(pmu);
}

static void *touch_in_a_thread(void *context)
{
	(void)context;
	touch_pages();
	return NULL;
}

static void another_thread_is_not_counted(void **state)
{
	(void)state;
	struct pmu_thread *pmu = open_software();
	struct pmu_tally tally = {0};
	pthread_t thread;
	pmu_thread_lap(pmu, NULL);
	assert_int_equal(pthread_create(&thread, NULL, touch_in_a_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pmu_thread_lap(pmu, &tally);
	assert_true(pmu_tally_value(&tally, PMU_THREAD_INSTRUCTIONS) < PAGES / 2);
	pmu_thread_close(pmu);
}

static void shared_counters_are_scaled_over_all_that_was_added(void **state)
{
	(void)state;
	struct pmu_tally sum = {.count = {300, 600, 3}, .enabled_ns = 1000, .running_ns = 1000};
	pmu_tally_add(&sum, &(struct pmu_tally){.count = {100, 200, 1}, .enabled_ns = 1000, .running_ns = 0});
	assert_float_equal(pmu_tally_coverage(&sum), 0.5, 1e-12);
	assert_float_equal(pmu_tally_value(&sum, PMU_THREAD_INSTRUCTIONS), 800, 1e-9);
	assert_float_equal(pmu_tally_value(&sum, PMU_THREAD_CACHE_MISSES), 8, 1e-9);
}

static void a_part_that_was_not_counted_leaves_no_value(void **state)
{
	(void)state;
	struct pmu_tally sum = {.count = {300, 600, 3}, .enabled_ns = 1000, .running_ns = 1000}, nothing = {0};
	pmu_tally_add(&sum, &(struct pmu_tally){.uncounted = 1U << PMU_THREAD_CACHE_MISSES});
	assert_float_equal(pmu_tally_value(&sum, PMU_THREAD_CYCLES), 600, 1e-9);
	assert_true(isnan(pmu_tally_value(&sum, PMU_THREAD_CACHE_MISSES)));
	pmu_thread_lap(NULL, &sum);
	assert_true(isnan(pmu_tally_value(&sum, PMU_THREAD_CYCLES)));
	assert_true(isnan(pmu_tally_coverage(&sum)));
	assert_true(isnan(pmu_tally_value(&nothing, PMU_THREAD_CYCLES)));
	nothing.enabled_ns = 1000; /* the hardware was taken by others the whole time */
	assert_true(isnan(pmu_tally_value(&nothing, PMU_THREAD_CYCLES)));
	assert_float_equal(pmu_tally_coverage(&nothing), 0, 0);
}

static void without_hardware_counters_there_is_a_reason(void **state)
{
	(void)state;
	struct pmu_thread *pmu = NULL;
	struct err err = {0};
	int code = pmu_thread_open(&pmu, &err);
	assert_int_equal(code == 0, pmu_check(NULL) == 0);
	assert_true(code == 0 || (code == ERR_UNAVAILABLE && err.text[0] != '\0' && !pmu));
	pmu_thread_close(pmu);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_lap_has_what_happened_since_the_last),
	cmocka_unit_test(another_thread_is_not_counted),
	cmocka_unit_test(shared_counters_are_scaled_over_all_that_was_added),
	cmocka_unit_test(a_part_that_was_not_counted_leaves_no_value),
	cmocka_unit_test(without_hardware_counters_there_is_a_reason),
};

UNIT_MAIN(tests)
