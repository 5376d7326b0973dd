/*
 * compare_trial.c - one request to the trial runner, from `pitot compare`'s side: waiting, signals, failures, values.
 *
 * While a command runs, pitot is asleep but for a look at the clock twice a second, where there is a live view.
 */
#include "base/clock.h"
#include "base/json.h"
#include "cmd/compare.h"
#include "run/trial_deep.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 500 };

char *compare_argv_json(const struct compare_args *args)
{
	struct str text = {0};
	struct json json = {.out = &text};
	json_array_begin(&json, NULL);
	json_put_string(&json, NULL, "pitot");
	json_put_string(&json, NULL, "compare");
	for (int i = 0; i < args->argc; i++)
		json_put_string(&json, NULL, args->argv[i]);
	json_array_end(&json);
	return str_take(&text);
}

double compare_elapsed_s(const struct compare_bench *bench)
{
	return (double)(clock_mono_ns() - bench->start_ns) / 1e9;
}

void compare_hear_signal(struct compare_bench *bench)
{
	struct signalfd_siginfo info;
	while (read(bench->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (bench->runner && !bench->cleaning)
			trial_runner_end(bench->runner, bench->caught ? SIGKILL : SIGTERM);
		bench->caught = (int)info.ssi_signo;
	}
}

static bool failed(const struct trial_result *result)
{
	return result->start_error != 0 || result->status != 0;
}

/* One by one, each with a control group or counters of its own. */
static int run_deep(struct compare_bench *bench, const uint32_t *programs, size_t count, bool stop_on_failure,
		    struct trial_result *results, size_t *done)
{
	struct err err;
	while (*done < count && !bench->caught) {
		struct trial_result *result = &results[*done];
		const struct trial_program *program = &bench->plan->programs.items[programs[*done]];
		if (trial_deep_run(bench->deep, program, bench->plan->tail, bench->signals, result,
				   bench->deep_values[*done], &err) != 0)
			return cmd_fail(&cmd_compare, &err);
		compare_hear_signal(bench);
		bench->own_s += (double)(result->user_us + result->system_us) / 1e6;
		++*done;
		if (result->start_error || ((stop_on_failure || program->must_succeed) && failed(result)))
			break;
	}
	return 0;
}

int compare_run_batch(struct compare_bench *bench, const uint32_t *programs, size_t count, bool stop_on_failure,
		      struct trial_result *results, size_t *done)
{
	struct err err;
	*done = 0;
	if (bench->deep)
		return run_deep(bench, programs, count, stop_on_failure, results, done);
	if (trial_runner_ask(bench->runner, programs, count, stop_on_failure, &err) != 0)
		return cmd_fail(&cmd_compare, &err);
	for (;;) {
		struct pollfd fds[] = {{.fd = trial_runner_fd(bench->runner), .events = POLLIN},
				       {.fd = bench->signals, .events = POLLIN}};
		int ready = poll(fds, 2, TICK_MS);
		if (ready < 0 && errno != EINTR)
			return err_exit_status(ERR_INTERNAL);
		if (ready == 0)
			comparison_view_draw(bench->view, NULL, 0, NULL, NULL, compare_elapsed_s(bench), true);
		if (ready > 0 && fds[1].revents)
			compare_hear_signal(bench);
		if (ready > 0 && fds[0].revents)
			break;
	}
	if (trial_runner_take(bench->runner, results, done, &err) != 0)
		return cmd_fail(&cmd_compare, &err);
	for (size_t i = 0; i < *done; i++)
		bench->own_s += (double)(results[i].user_us + results[i].system_us) / 1e6;
	return 0;
}

/* The last lines that the command wrote to stderr. */
static void show_tail(const struct compare_bench *bench)
{
	enum { SHOWN_BYTES = 4000, SHOWN_LINES = 20 };
	char text[SHOWN_BYTES + 1];
	off_t size = lseek(bench->plan->tail, 0, SEEK_END);
	off_t from = size > SHOWN_BYTES ? size - SHOWN_BYTES : 0;
	ssize_t got = pread(bench->plan->tail, text, SHOWN_BYTES, from);
	if (got <= 0)
		return;
	text[got] = '\0';
	comparison_view_log(bench->view, text, SHOWN_LINES);
}

static void failure_words(const struct trial_result *result, struct str *out)
{
	if (result->start_error)
		str_appendf(out, "could not be started: %s", strerror(result->start_error));
	else if (WIFSIGNALED(result->status))
		str_appendf(out, "was killed by signal %d (%s)", WTERMSIG(result->status),
			    strsignal(WTERMSIG(result->status)));
	else
		str_appendf(out, "failed with exit status %d", WEXITSTATUS(result->status));
}

/* 1, the status of a run that did not go well; the message is out. */
int compare_tell_failure(struct compare_bench *bench, size_t program, const struct trial_result *result,
			 const char *when)
{
	struct str text = {0};
	if (bench->caught)
		return 1; /* ended by us */
	bool aside = bench->plan->programs.items[program].out == bench->plan->tail;
	const char *title = bench->plan->titles.items[program];
	failure_words(result, &text);
	show_tail(bench);
	fprintf(stderr, aside ? "pitot compare: %s %s%s\n" : "pitot compare: '%s' %s%s\n", title, str_text(&text),
		when);
	if (!result->start_error && !aside)
		fprintf(stderr, "(--ignore-failure goes on all the same%s)\n",
			bench->args->show_output ? "" : "; --show-output shows what it prints");
	str_fini(&text);
	return 1;
}

int compare_run_aside(struct compare_bench *bench, int program)
{
	struct trial_result result[TRIAL_BATCH];
	uint32_t number = (uint32_t)program;
	size_t done;
	int status = compare_run_batch(bench, &number, 1, true, result, &done);
	if (status)
		return status;
	return failed(&result[0]) ? compare_tell_failure(bench, number, &result[0], "") : 0;
}

/* ---- what a run says ---- */

static double value_of(int metric, const struct trial_result *result, const double *deep)
{
	switch (metric) {
	case METRIC_WALL:
		return (double)result->wall_ns / 1e9;
	case METRIC_CPU_TIME:
		return (double)(result->user_us + result->system_us) / 1e6;
	case METRIC_CPU_USER:
		return (double)result->user_us / 1e6;
	case METRIC_CPU_SYSTEM:
		return (double)result->system_us / 1e6;
	case METRIC_RSS_PROCESS_PEAK:
		return (double)result->rss_peak_kib * 1024;
	case METRIC_PAGE_FAULTS_MINOR:
		return (double)result->faults_minor;
	case METRIC_PAGE_FAULTS_MAJOR:
		return (double)result->faults_major;
	case METRIC_CONTEXT_SWITCHES_VOLUNTARY:
		return (double)result->switches_voluntary;
	case METRIC_CONTEXT_SWITCHES_FORCED:
		return (double)result->switches_forced;
	default:
		return deep ? deep[metric] : NAN;
	}
}

void compare_keep(struct compare_bench *bench, size_t subject, const struct trial_result *result, size_t at)
{
	struct comparison *comparison = bench->comparison;
	struct comparison_subject *of = &comparison->subjects.items[subject];
	double values[METRIC_COUNT];
	struct comparison_run run = {.start_ns = result->start_ns - bench->start_ns,
				     .exit_code = WIFEXITED(result->status) ? WEXITSTATUS(result->status) : -1,
				     .term_signal = WIFSIGNALED(result->status) ? WTERMSIG(result->status) : 0};
	for (size_t i = 0; i < comparison->metrics.len; i++)
		values[i] = value_of(comparison->metrics.items[i], result, bench->deep ? bench->deep_values[at] : NULL);
	of->failures += result->status != 0;
	of->lingering += result->main_ns < result->wall_ns;
	comparison_add_run(comparison, subject, &run, values);
}
