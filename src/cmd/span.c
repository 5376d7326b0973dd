/*
 * span.c - pitot span: a command as an operator of the stage that it runs in.
 *
 * The command's end is this program's end: its exit status, or the same signal. Signals that a terminal sends reach the command
 * by themselves; those that are sent to this process alone are handed on. Without a pitot around, the command takes this
 * process's place.
 */
#include "cmd/cmd.h"
#include "run/span_write.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

static const struct opt span_options[] = {{0}};

extern const struct cmd cmd_span;

static volatile sig_atomic_t child_pid;

static void hand_on(int signal)
{
	if (child_pid > 0)
		kill((pid_t)child_pid, signal);
}

static int exec_command(char **argv)
{
	/* pitot itself ignores them. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);
	int status = errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	struct err err;
	err_set_errno(&err, ERR_INPUT, "cannot run '%s'", argv[0]);
	cmd_fail(&cmd_span, &err);
	return status;
}

static const int handed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
static const int left_alone[] = {SIGINT, SIGQUIT};
enum { HANDED_ON = sizeof(handed_on) / sizeof(handed_on[0]), LEFT_ALONE = sizeof(left_alone) / sizeof(left_alone[0]) };

/* A signal that was ignored stays so, for the command too. */
static void watch_signals(struct sigaction *before)
{
	for (int i = 0; i < HANDED_ON + LEFT_ALONE; i++) {
		struct sigaction action = {.sa_handler = i < HANDED_ON ? hand_on : SIG_IGN, .sa_flags = SA_RESTART};
		int signal = i < HANDED_ON ? handed_on[i] : left_alone[i - HANDED_ON];
		sigaction(signal, NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signal, &action, NULL);
	}
}

static void restore_signals(const struct sigaction *before)
{
	for (int i = 0; i < HANDED_ON + LEFT_ALONE; i++)
		sigaction(i < HANDED_ON ? handed_on[i] : left_alone[i - HANDED_ON], &before[i], NULL);
}

/* Ends as the command did; a core dump would be of the wrong program. */
static int end_like(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run_recorded(struct span_write *span, char **argv)
{
	struct sigaction before[HANDED_ON + LEFT_ALONE];
	sigset_t all, mask;
	int status = 0;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	watch_signals(before);
	pid_t pid = fork();
	if (pid == 0) {
		restore_signals(before);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		_exit(exec_command(argv));
	}
	child_pid = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (pid < 0) {
		span_write_end(span);
		return exec_command(argv);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	child_pid = 0;
	span_write_end(span);
	restore_signals(before);
	return end_like(status);
}

static int run_span(int argc, char **argv)
{
	struct opt_texts rest = {0};
	struct {
		char nothing;
	} args = {0};
	int status = 0;
	if (!cmd_parse(&cmd_span, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len < 2 || !rest.items[0][0]) {
		status = cmd_usage_error(&cmd_span, "expected a name and a command: pitot span NAME -- CMD …");
		goto out;
	}
	char **command = mem_alloc(rest.len * sizeof(*command));
	for (size_t i = 1; i < rest.len; i++)
		command[i - 1] = (char *)rest.items[i];
	struct span_write *span = span_write_begin(rest.items[0]);
	status = span ? run_recorded(span, command) : exec_command(command);
	free(command);
out:
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_span = {.name = "span",
			     .summary = "run a command as an operator of the stage that it runs in",
			     .arguments = "NAME -- PROGRAM [ARGUMENT ...]",
			     .options = span_options,
			     .run = run_span};
