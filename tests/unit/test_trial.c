/* test_trial.c - the trial runner: what it measures, what it survives, what it leaves behind. */
#include "run/trial.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

extern char **environ;

static const char *const scripts[] = {
	"exit 0",
	"exit 7",
	"kill -9 $$",
	"(sleep 0.2; echo late >&2) & exit 3", /* goes on after its main process */
	"cat",
	"echo words >&2; exit 1",
	"sleep 60",
	"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
	"exec grep -E '^Sig(Ign|Blk)' /proc/self/status >&2",
};
enum { OK, SEVEN, KILLED, LINGERS, READS, COMPLAINS, SLEEPS, BURNS, SIGNALS, SCRIPTS };

struct bench {
	struct trial_runner *runner;
	struct trial_program programs[SCRIPTS + 1];
	char *argvs[SCRIPTS + 1][4];
	int null, tail, input;
	struct trial_result results[TRIAL_BATCH];
	size_t count;
};

static int set_up(void **state)
{
	static struct bench bench;
	struct err err;
	char path[] = "/tmp/pitot-trial-XXXXXX";
	bench.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bench.tail = memfd_create("tail", MFD_CLOEXEC);
	fcntl(bench.tail, F_SETFL, O_APPEND);
	bench.input = mkostemp(path, O_CLOEXEC);
	unlink(path);
	assert_int_equal(write(bench.input, "four", 4), 4);
	for (int i = 0; i < SCRIPTS; i++) {
		bench.argvs[i][0] = "sh";
		bench.argvs[i][1] = "-c";
		bench.argvs[i][2] = (char *)scripts[i];
		bench.programs[i] = (struct trial_program){
			.argv = bench.argvs[i], .env = environ, .in = bench.null, .out = bench.null, .err = bench.tail};
	}
	bench.programs[READS].in = bench.input;
	bench.programs[READS].out = bench.tail;
	bench.programs[COMPLAINS].must_succeed = true;
	bench.argvs[SCRIPTS][0] = "no-such-program-here";
	bench.programs[SCRIPTS] = bench.programs[0];
	bench.programs[SCRIPTS].argv = bench.argvs[SCRIPTS];
	assert_int_equal(trial_runner_start(bench.programs, SCRIPTS + 1, bench.tail, 0, &bench.runner, &err), 0);
	*state = &bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;
	trial_runner_stop(bench->runner);
	close(bench->null);
	close(bench->tail);
	close(bench->input);
	return 0;
}

static const struct trial_result *run(struct bench *bench, uint32_t program)
{
	struct err err;
	assert_int_equal(trial_runner_ask(bench->runner, &program, 1, false, &err), 0);
	assert_int_equal(trial_runner_take(bench->runner, bench->results, &bench->count, &err), 0);
	assert_int_equal(bench->count, 1);
	return &bench->results[0];
}

static void tail_is(const struct bench *bench, const char *wanted)
{
	char text[64] = "";
	ssize_t got = pread(bench->tail, text, sizeof(text) - 1, 0);
	assert_int_equal(got, strlen(wanted));
	assert_string_equal(text, wanted);
}

static void the_status_is_that_of_the_main_process(void **state)
{
	const struct trial_result *result = run(*state, OK);
	assert_int_equal(result->status, 0);
	assert_true(result->wall_ns > 0 && result->rss_peak_kib > 0);
	result = run(*state, SEVEN);
	assert_true(WIFEXITED(result->status) && WEXITSTATUS(result->status) == 7);
	result = run(*state, KILLED);
	assert_true(WIFSIGNALED(result->status) && WTERMSIG(result->status) == SIGKILL);
}

static void a_run_lasts_until_its_last_descendant_has_ended(void **state)
{
	const struct trial_result *result = run(*state, LINGERS);
	assert_true(WIFEXITED(result->status) && WEXITSTATUS(result->status) == 3);
	assert_true(result->processes >= 2);
	assert_true(result->wall_ns >= 200000000);
	assert_true(result->main_ns < result->wall_ns);
	tail_is(*state, "late\n");
}

/* What the runner does about signals is not handed on. One that pitot itself was started to ignore, and of which the
 * runner knows nothing, stays ignored. */
static void a_command_begins_with_the_runners_signals_in_their_default(void **state)
{
	const struct bench *bench = *state;
	static const int caught[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
				     SIGTTOU, SIGTTIN, SIGTSTP, SIGXFSZ, SIGCHLD};
	char text[64] = "";
	unsigned long long blocked = 1, ignored = 0;
	run(*state, SIGNALS);
	assert_true(pread(bench->tail, text, sizeof(text) - 1, 0) > 0);
	assert_int_equal(sscanf(text, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
	assert_true(blocked == 0);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		assert_false(ignored >> (caught[i] - 1) & 1);
}

static int set_up_with_ignored_signals(void **state)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	int status = set_up(state);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	return status;
}

static void every_run_reads_its_input_from_the_beginning(void **state)
{
	run(*state, READS);
	tail_is(*state, "four");
	run(*state, READS);
	tail_is(*state, "four");
}

static void the_tail_is_that_of_the_last_run(void **state)
{
	run(*state, COMPLAINS);
	tail_is(*state, "words\n");
	run(*state, OK);
	tail_is(*state, "");
}

static void a_program_that_is_not_there_is_told_with_its_reason(void **state)
{
	const struct trial_result *result = run(*state, SCRIPTS);
	assert_int_equal(result->start_error, ENOENT);
}

static void a_batch_stops_at_the_first_failure_where_asked(void **state)
{
	struct bench *bench = *state;
	const uint32_t programs[] = {OK, SEVEN, OK};
	struct err err;
	assert_int_equal(trial_runner_ask(bench->runner, programs, 3, true, &err), 0);
	assert_int_equal(trial_runner_take(bench->runner, bench->results, &bench->count, &err), 0);
	assert_int_equal(bench->count, 2);
	assert_int_equal(trial_runner_ask(bench->runner, programs, 3, false, &err), 0);
	assert_int_equal(trial_runner_take(bench->runner, bench->results, &bench->count, &err), 0);
	assert_int_equal(bench->count, 3);
	assert_true(bench->results[2].start_ns >= bench->results[1].start_ns + bench->results[1].wall_ns);
}

static void nothing_runs_after_a_program_that_must_succeed_and_did_not(void **state)
{
	struct bench *bench = *state;
	const uint32_t programs[] = {SEVEN, COMPLAINS, OK};
	struct err err;
	assert_int_equal(trial_runner_ask(bench->runner, programs, 3, false, &err), 0);
	assert_int_equal(trial_runner_take(bench->runner, bench->results, &bench->count, &err), 0);
	assert_int_equal(bench->count, 2);
	tail_is(bench, "words\n");
}

static void cpu_time_and_memory_are_each_runs_own(void **state)
{
	uint64_t burnt = run(*state, BURNS)->user_us;
	const struct trial_result *idle = run(*state, OK);
	/* RUSAGE_CHILDREN would have kept both. */
	assert_true(burnt > idle->user_us + idle->system_us);
	assert_true(idle->rss_peak_kib < 8 * 1024);
}

static void what_runs_can_be_ended(void **state)
{
	struct bench *bench = *state;
	const uint32_t programs[] = {SLEEPS, OK};
	struct err err;
	assert_int_equal(trial_runner_ask(bench->runner, programs, 2, false, &err), 0);
	trial_runner_end(bench->runner, SIGTERM);
	assert_int_equal(trial_runner_take(bench->runner, bench->results, &bench->count, &err), 0);
	assert_int_equal(bench->count, 1);
	assert_true(bench->results[0].ended_by_us);
	assert_true(WIFSIGNALED(bench->results[0].status));
	assert_int_equal(run(bench, OK)->status, 0); /* and the runner goes on */
}

static void a_killed_runner_is_an_error_and_leaves_no_process(void **state)
{
	struct bench *bench = *state;
	const uint32_t program = SLEEPS;
	struct err err;
	assert_int_equal(trial_runner_ask(bench->runner, &program, 1, false, &err), 0);
	kill(trial_runner_pid(bench->runner), SIGKILL);
	assert_int_equal(trial_runner_take(bench->runner, bench->results, &bench->count, &err), ERR_INTERNAL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void requests_that_make_no_sense_are_refused(void **state)
{
	struct bench *bench = *state;
	const uint32_t none = SCRIPTS + 1;
	struct err err;
	assert_int_equal(trial_runner_ask(bench->runner, &none, 1, false, &err), ERR_INTERNAL);
	assert_int_equal(trial_runner_ask(bench->runner, &none, 0, false, &err), ERR_INTERNAL);
}

#define WITH_RUNNER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
static const struct CMUnitTest tests[] = {
	WITH_RUNNER(the_status_is_that_of_the_main_process),
	WITH_RUNNER(a_run_lasts_until_its_last_descendant_has_ended),
	cmocka_unit_test_setup_teardown(a_command_begins_with_the_runners_signals_in_their_default,
					set_up_with_ignored_signals, tear_down),
	WITH_RUNNER(every_run_reads_its_input_from_the_beginning),
	WITH_RUNNER(the_tail_is_that_of_the_last_run),
	WITH_RUNNER(a_program_that_is_not_there_is_told_with_its_reason),
	WITH_RUNNER(a_batch_stops_at_the_first_failure_where_asked),
	WITH_RUNNER(nothing_runs_after_a_program_that_must_succeed_and_did_not),
	WITH_RUNNER(cpu_time_and_memory_are_each_runs_own),
	WITH_RUNNER(what_runs_can_be_ended),
	WITH_RUNNER(a_killed_runner_is_an_error_and_leaves_no_process),
	WITH_RUNNER(requests_that_make_no_sense_are_refused),
};
UNIT_MAIN(tests)
