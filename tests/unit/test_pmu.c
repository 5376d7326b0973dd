/*
 * test_pmu.c - hardware counters: the arithmetic and the words everywhere, the system call with software events, which
 * every machine has.
 */
#include "probe/perf_event.h"
#include "probe/pmu.h"
#include "probe/pmu_events.h"
#include "tree.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The task clock in nanoseconds and the page faults, under the names of two metrics. */
static const struct pmu_event software[] = {
	{METRIC_CYCLES, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{METRIC_PAGE_FAULTS_MINOR, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

static void full_coverage_is_exact_and_not_scaled(void **state)
{
	(void)state;
	struct metric_value value;
	pmu_value_set(&value, &(struct pmu_count){.count = 1234, .enabled_ns = 500, .running_ns = 500}, false);
	assert_int_equal(value.state, METRIC_KNOWN);
	assert_int_equal(value.method, METHOD_EXACT);
	assert_float_equal(value.value, 1234, 0);
	assert_float_equal(value.coverage, 1, 0);
	assert_string_equal(value.source, "perf");
}

static void a_shared_counter_is_scaled_and_says_its_coverage(void **state)
{
	(void)state;
	struct metric_value value;
	pmu_value_set(&value, &(struct pmu_count){.count = 630, .enabled_ns = 1000, .running_ns = 630}, true);
	assert_int_equal(value.method, METHOD_ESTIMATED);
	assert_float_equal(value.value, 1000, 1e-9);
	assert_float_equal(value.coverage, 0.63, 1e-12);
	assert_string_equal(value.source, "perf, user mode only, multiplexed, 63 % of the time counted");
}

static void a_counter_that_never_ran_is_absent_with_the_reason(void **state)
{
	(void)state;
	struct metric_value value;
	pmu_value_set(&value, &(struct pmu_count){.enabled_ns = 1000}, false);
	assert_int_equal(value.state, METRIC_ABSENT);
	assert_non_null(strstr(value.reason, "taken by others"));
	pmu_value_set(&value, &(struct pmu_count){0}, false);
	assert_int_equal(value.state, METRIC_ABSENT);
	assert_non_null(strstr(value.reason, "did not start"));
}

static void more_running_than_enabled_is_full_coverage(void **state)
{
	(void)state;
	assert_float_equal(pmu_coverage(&(struct pmu_count){.enabled_ns = 10, .running_ns = 11}), 1, 0);
}

static void failures_are_put_in_words_with_the_fix_where_there_is_one(void **state)
{
	(void)state;
	char words[200];
	perf_event_words(ENOENT, 2, words, sizeof(words));
	assert_string_equal(words, "this machine or virtual machine has no hardware counters");
	perf_event_words(EOPNOTSUPP, 2, words, sizeof(words));
	assert_string_equal(words, "this machine or virtual machine has no hardware counters");
	assert_null(perf_event_fix(ENOENT));
	perf_event_words(EACCES, 3, words, sizeof(words));
	assert_non_null(strstr(words, "kernel.perf_event_paranoid is 3"));
	assert_string_equal(perf_event_fix(EACCES), "sudo sysctl kernel.perf_event_paranoid=1");
	perf_event_words(EACCES, PERF_PARANOID_UNKNOWN, words, sizeof(words));
	assert_null(strstr(words, "-100"));
	perf_event_words(EPERM, 2, words, sizeof(words));
	assert_non_null(strstr(words, "seccomp"));
	assert_non_null(perf_event_fix(EPERM));
	perf_event_words(EMFILE, 2, words, sizeof(words));
	assert_non_null(strstr(words, strerror(EMFILE)));
}

static void paranoid_level_is_read_from_the_tree_or_unknown(void **state)
{
	(void)state;
	struct tree proc;
	tree_init(&proc);
	setenv("PITOT_PROCFS", proc.root, 1);
	assert_int_equal(perf_event_paranoid(), PERF_PARANOID_UNKNOWN);
	tree_write(&proc, "sys/kernel/perf_event_paranoid", "-1\n");
	assert_int_equal(perf_event_paranoid(), -1);
	unsetenv("PITOT_PROCFS");
	tree_fini(&proc);
}

/* A child that waits for a byte and then becomes the command; the other end of its pipe comes back in *go. */
static pid_t start_waiting(const char *command, int *go)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(1);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

static double cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static void counts_cover_the_whole_process_tree_after_the_exec(void **state)
{
	(void)state;
	int go, status;
	struct rusage usage;
	struct metric_value values[METRIC_COUNT] = {0};
	struct pmu *pmu = NULL;
	struct err err = {0};
	/* The work is in a grandchild and in a child of that: the shell itself only starts them. */
	pid_t pid =
		start_waiting("export burn='i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; "
			      "sh -c 'eval \"$burn\"; true'; sh -c 'sh -c \"eval \\\"\\$burn\\\"; true\"; true'; true",
			      &go);
	if (pmu_open_events(pid, software, 2, &pmu, &err))
		fail_msg("%s", err.text);
	assert_int_equal(write(go, "x", 1), 1);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
	pmu_read(pmu, values);
	pmu_close(pmu);
	close(go);
	double counted = values[METRIC_CYCLES].value / 1e9, truth = cpu_seconds(&usage);
	assert_int_equal(values[METRIC_CYCLES].state, METRIC_KNOWN);
	assert_true(truth > 0.02);
	/* From the exec on, so never more than the whole; the fork before it is small. */
	assert_true(counted > 0.8 * truth && counted < 1.1 * truth);
	assert_true(values[METRIC_PAGE_FAULTS_MINOR].value > 0.5 * (double)usage.ru_minflt);
}

static void a_process_that_never_execs_counts_nothing_and_says_so(void **state)
{
	(void)state;
	int go;
	struct metric_value values[METRIC_COUNT] = {0};
	struct pmu *pmu = NULL;
	struct err err = {0};
	pid_t pid = start_waiting("true", &go);
	if (pmu_open_events(pid, software, 2, &pmu, &err))
		fail_msg("%s", err.text);
	close(go);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	pmu_read(pmu, values);
	assert_int_equal(values[METRIC_CYCLES].state, METRIC_ABSENT);
	assert_non_null(strstr(values[METRIC_CYCLES].reason, "did not start"));
	pmu_close(pmu);
}

static void an_event_that_the_machine_lacks_is_absent_beside_those_it_has(void **state)
{
	(void)state;
	static const struct pmu_event mixed[] = {
		{METRIC_CYCLES, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
		{METRIC_INSTRUCTIONS, PERF_TYPE_SOFTWARE, 0xffff},
	};
	struct metric_value values[METRIC_COUNT] = {0};
	struct pmu *pmu = NULL;
	struct err err = {0};
	assert_int_equal(pmu_open_events(0, mixed, 2, &pmu, &err), 0);
	pmu_read(pmu, values);
	assert_int_equal(values[METRIC_INSTRUCTIONS].state, METRIC_ABSENT);
	assert_true(values[METRIC_INSTRUCTIONS].reason[0] != '\0');
	pmu_close(pmu);
}

static void no_event_at_all_is_unavailable_with_words(void **state)
{
	(void)state;
	static const struct pmu_event nothing[] = {{METRIC_CYCLES, PERF_TYPE_SOFTWARE, 0xffff}};
	struct pmu *pmu = NULL;
	struct err err = {0};
	assert_int_equal(pmu_open_events(0, nothing, 1, &pmu, &err), ERR_UNAVAILABLE);
	assert_null(pmu);
	assert_true(err.text[0] != '\0');
}

static void the_check_agrees_with_opening(void **state)
{
	(void)state;
	struct err err = {0};
	struct pmu *pmu = NULL;
	int check = pmu_check(&err), opened = pmu_open(0, &pmu, NULL);
	assert_int_equal(check, opened);
	assert_true(check == 0 || check == ERR_UNAVAILABLE);
	assert_true(check == 0 || err.text[0] != '\0');
	assert_int_equal(pmu_errno() == 0, check == 0);
	pmu_close(pmu);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(full_coverage_is_exact_and_not_scaled),
	cmocka_unit_test(a_shared_counter_is_scaled_and_says_its_coverage),
	cmocka_unit_test(a_counter_that_never_ran_is_absent_with_the_reason),
	cmocka_unit_test(more_running_than_enabled_is_full_coverage),
	cmocka_unit_test(failures_are_put_in_words_with_the_fix_where_there_is_one),
	cmocka_unit_test(paranoid_level_is_read_from_the_tree_or_unknown),
	cmocka_unit_test(counts_cover_the_whole_process_tree_after_the_exec),
	cmocka_unit_test(a_process_that_never_execs_counts_nothing_and_says_so),
	cmocka_unit_test(an_event_that_the_machine_lacks_is_absent_beside_those_it_has),
	cmocka_unit_test(no_event_at_all_is_unavailable_with_words),
	cmocka_unit_test(the_check_agrees_with_opening),
};

UNIT_MAIN(tests)
