/*
 * trial_loop.c - the small process that runs commands one after the other and measures them; see trial.h.
 *
 * Single-threaded, leaves through _exit only, allocates nothing: its size is the floor of every ru_maxrss that it
 * reports. Between the two clock readings of a run lie vfork, exec, the command itself, SIGCHLD and wait4, and nothing
 * else of ours.
 */
#include "run/trial_loop.h"
#include "base/clock.h"
#include "run/descend.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TAIL_BYTES = 16 << 20, /* what a command may print before the beginning is dropped */
	LOOK_NS = 200000000,   /* how often a long run's tail is looked at */
	PATIENCE_LOOKS = 15,   /* between asking a command to end and ending it */
};

extern char **environ;

/* That are nothing to the runner. They are caught, not ignored: exec puts a caught signal back to its default, so that
 * the command need not do it, nine calls in each run's time. */
static const int unheeded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTTOU, SIGTTIN, SIGTSTP, SIGXFSZ};
enum { UNHEEDED = sizeof(unheeded) / sizeof(unheeded[0]) };

struct trial_state {
	const struct trial_program *programs;
	int tail, socket;
	int ending; /* looks since the command was asked to end; 0: it was not */
	bool orphaned;
	struct trial_answer answer;
};

static int move_fd(int fd, int target)
{
	return dup2(fd, target) < 0 ? -1 : 0;
}

/* In the child, which borrows our memory until it execs: nothing may be changed but what is local to it. */
static void become(const struct trial_program *program, volatile int *error)
{
	sigset_t none;
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if ((!program->cwd || chdir(program->cwd) == 0) && move_fd(program->in, STDIN_FILENO) == 0 &&
	    move_fd(program->out, STDOUT_FILENO) == 0 && move_fd(program->err, STDERR_FILENO) == 0)
		execvpe(program->argv[0], program->argv, program->env);
	*error = errno;
	_exit(127);
}

void trial_add_usage(struct trial_result *result, const struct rusage *usage)
{
	uint64_t peak = (uint64_t)usage->ru_maxrss;
	result->user_us += (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec;
	result->system_us += (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec;
	result->rss_peak_kib = peak > result->rss_peak_kib ? peak : result->rss_peak_kib;
	result->faults_minor += (uint64_t)usage->ru_minflt;
	result->faults_major += (uint64_t)usage->ru_majflt;
	result->switches_voluntary += (uint64_t)usage->ru_nvcsw;
	result->switches_forced += (uint64_t)usage->ru_nivcsw;
	result->processes++;
}

/* Reaps what there is. True while any child is left. */
static bool reap(struct trial_result *result, pid_t main_pid)
{
	for (;;) {
		struct rusage usage;
		int status;
		pid_t pid = wait4(-1, &status, WNOHANG, &usage);
		if (pid <= 0)
			return pid == 0 || errno != ECHILD;
		uint64_t now = clock_mono_ns();
		trial_add_usage(result, &usage);
		result->wall_ns = now - result->start_ns;
		if (pid == main_pid) {
			result->main_ns = result->wall_ns;
			result->status = status;
		}
	}
}

static void hear(struct trial_state *state)
{
	struct trial_request request;
	ssize_t got = recv(state->socket, &request, sizeof(request), MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != (ssize_t)sizeof(request)) {
		/* pitot is gone: nothing of the command may go on. */
		state->orphaned = true;
		descend_kill(getpid(), 0, SIGKILL);
	} else if (request.kind == TRIAL_END) {
		descend_kill(getpid(), 0, request.signal);
	}
	state->ending = 1;
}

/* A long run: bound what it has printed, and press on where it was asked to end and does not. */
static void look(struct trial_state *state)
{
	struct stat status;
	if (state->tail >= 0 && fstat(state->tail, &status) == 0 && status.st_size > TAIL_BYTES)
		(void)!ftruncate(state->tail, 0);
	if (state->ending && ++state->ending > (state->orphaned ? 1 : PATIENCE_LOOKS))
		descend_kill(getpid(), 0, SIGKILL);
}

static void wait_for_end(struct trial_state *state, struct trial_result *result, pid_t main_pid)
{
	struct timespec between_looks = {.tv_nsec = LOOK_NS};
	sigset_t during_poll;
	sigemptyset(&during_poll);
	do {
		struct pollfd control = {.fd = state->orphaned ? -1 : state->socket, .events = POLLIN};
		int ready = ppoll(&control, 1, &between_looks, &during_poll);
		if (ready == 0)
			look(state);
		else if (ready > 0)
			hear(state);
	} while (reap(result, main_pid));
}

static void run_one(struct trial_state *state, const struct trial_program *program, struct trial_result *result)
{
	volatile int error = 0;
	*result = (struct trial_result){0};
	(void)lseek(program->in, 0, SEEK_SET); /* what cannot be put back was refused or is /dev/null */
	if (state->tail >= 0)
		(void)!ftruncate(state->tail, 0);
	result->start_ns = clock_mono_ns();
	pid_t pid = vfork();
	if (pid == 0)
		become(program, &error);
	if (pid < 0) {
		result->start_error = errno;
		return;
	}
	wait_for_end(state, result, pid);
	result->start_error = error;
	result->ended_by_us = state->ending != 0;
}

static void serve(struct trial_state *state, const struct trial_request *request)
{
	struct trial_answer *answer = &state->answer;
	struct rusage own;
	answer->count = 0;
	state->ending = 0;
	for (uint32_t i = 0; i < request->count && !state->ending; i++) {
		struct trial_result *result = &answer->results[answer->count++];
		const struct trial_program *program = &state->programs[request->programs[i]];
		run_one(state, program, result);
		bool matters = request->stop_on_failure || program->must_succeed;
		if (result->start_error || (matters && result->status != 0))
			break;
	}
	getrusage(RUSAGE_SELF, &own);
	answer->floor_kib = (uint64_t)own.ru_maxrss;
	size_t size = offsetof(struct trial_answer, results) + answer->count * sizeof(answer->results[0]);
	while (send(state->socket, answer, size, MSG_NOSIGNAL) < 0 && errno == EINTR)
		continue;
}

static void take_no_notice(int number)
{
	(void)number; /* SIGCHLD has ended ppoll, which is all that it is for */
}

static void settle_in(void)
{
	struct sigaction on_exit_of_child = {.sa_handler = take_no_notice};
	struct sigaction on_others = {.sa_handler = take_no_notice, .sa_flags = SA_RESTART};
	sigset_t child;
	prctl(PR_SET_NAME, "pitot-trials");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setpgid(0, 0);
	for (size_t i = 0; i < UNHEEDED; i++)
		sigaction(unheeded[i], &on_others, NULL);
	sigaction(SIGCHLD, &on_exit_of_child, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
}

void trial_loop(const struct trial_program *programs, size_t count, int tail, int socket)
{
	static struct trial_state state; /* too large for comfort on the stack; this process has one */
	struct trial_request request;
	(void)count;
	state.programs = programs;
	state.tail = tail;
	state.socket = socket;
	settle_in();
	for (;;) {
		ssize_t got = recv(socket, &request, sizeof(request), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)sizeof(request))
			_exit(0);
		if (request.kind == TRIAL_RUN)
			serve(&state, &request);
		if (state.orphaned)
			_exit(0);
	}
}
