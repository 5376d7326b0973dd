/* trial.c - pitot's side of the trial runner; see trial.h. */
#include "run/trial.h"
#include "base/mem.h"
#include "run/descend.h"
#include "run/trial_loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct trial_runner {
	pid_t pid, sibling;
	int socket;
	size_t programs;
	uint64_t floor_kib;
	struct trial_answer *answer;
};

/* An answer has to fit into the socket whole. */
static void make_room(int socket)
{
	int bytes = (int)sizeof(struct trial_answer) * 2;
	setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

int trial_runner_start(const struct trial_program *programs, size_t count, int tail, pid_t sibling,
		       struct trial_runner **out, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_set_errno(err, ERR_IO, "cannot make a socket pair");
	make_room(pair[1]);
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		trial_loop(programs, count, tail, pair[1]);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_set_errno(err, ERR_IO, "cannot start a process");
	}
	/* Should the runner be killed, what it looked after comes to us. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct trial_runner *runner = mem_alloc(sizeof(*runner));
	*runner = (struct trial_runner){.pid = pid,
					.sibling = sibling,
					.socket = pair[0],
					.programs = count,
					.answer = mem_alloc(sizeof(*runner->answer))};
	*out = runner;
	return 0;
}

void trial_runner_stop(struct trial_runner *runner)
{
	if (!runner)
		return;
	close(runner->socket);
	while (waitpid(runner->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	free(runner->answer);
	free(runner);
}

pid_t trial_runner_pid(const struct trial_runner *runner)
{
	return runner->pid;
}

int trial_runner_fd(const struct trial_runner *runner)
{
	return runner->socket;
}

uint64_t trial_runner_floor_kib(const struct trial_runner *runner)
{
	return runner->floor_kib;
}

static int send_request(struct trial_runner *runner, const struct trial_request *request)
{
	ssize_t sent;
	do
		sent = send(runner->socket, request, sizeof(*request), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

int trial_runner_ask(struct trial_runner *runner, const uint32_t *programs, size_t count, bool stop_on_failure,
		     struct err *err)
{
	struct trial_request request = {
		.kind = TRIAL_RUN, .stop_on_failure = stop_on_failure, .count = (uint32_t)count};
	if (count == 0 || count > TRIAL_BATCH)
		return err_set(err, ERR_INTERNAL, "%zu runs in one request", count);
	for (size_t i = 0; i < count; i++) {
		if (programs[i] >= runner->programs)
			return err_set(err, ERR_INTERNAL, "there is no program %u", (unsigned)programs[i]);
		request.programs[i] = programs[i];
	}
	if (send_request(runner, &request) != 0)
		return err_set_errno(err, ERR_INTERNAL, "the process that runs the commands is gone");
	return 0;
}

void trial_runner_end(struct trial_runner *runner, int signal_number)
{
	struct trial_request request = {.kind = TRIAL_END, .signal = signal_number};
	/* A runner that is gone has nothing left to end. */
	(void)send_request(runner, &request);
}

/* The runner was killed: its command has come to us, the nearest living subreaper. */
static void end_orphans(pid_t spared)
{
	while (descend_kill(getpid(), spared, SIGKILL) > 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		usleep(1000);
	}
}

int trial_runner_take(struct trial_runner *runner, struct trial_result *results, size_t *count, struct err *err)
{
	struct trial_answer *answer = runner->answer;
	ssize_t got;
	do
		got = recv(runner->socket, answer, sizeof(*answer), 0);
	while (got < 0 && errno == EINTR);
	if (got < (ssize_t)offsetof(struct trial_answer, results)) {
		end_orphans(runner->sibling);
		return err_set(err, ERR_INTERNAL, "the process that runs the commands was killed");
	}
	runner->floor_kib = answer->floor_kib;
	memcpy(results, answer->results, answer->count * sizeof(*results));
	*count = answer->count;
	return 0;
}
