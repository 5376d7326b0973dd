/*
 * warden.c - the nursery and the wardens; see warden.h.
 *
 * A request travels as a memfd (arguments and environment can be megabytes, more than a socket message takes) together
 * with the stage's descriptors and the warden's end of its control socket.
 *
 *	struct request_head | argv strings, each ended by NUL | env strings | cwd
 */
#include "run/warden.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "run/descend.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FD_REQUEST, FD_CONTROL, FD_IN, FD_OUT, FD_ERR, FD_CGROUP, FD_MAX };

struct request_head {
	uint32_t argc, envc;
	pid_t group;
	bool has_cgroup;
};

struct nursery {
	pid_t pid;
	int socket;
	char *scratch; /* or NULL */
};

/* ---- the pitot side ---- */

static int send_with_fds(int socket, const int *fds, int count)
{
	char byte = 0;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FD_MAX)];
	} control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
	memcpy(CMSG_DATA(head), fds, sizeof(int) * (size_t)count);
	ssize_t sent;
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static uint32_t append_strings(struct str *out, const char *const *texts)
{
	uint32_t count = 0;
	for (; texts[count]; count++)
		str_append_bytes(out, texts[count], strlen(texts[count]) + 1);
	return count;
}

static int request_memfd(const struct spawn_request *request)
{
	struct request_head head = {.group = request->group, .has_cgroup = request->cgroup >= 0};
	struct str body = {0};
	head.argc = append_strings(&body, request->argv);
	head.envc = append_strings(&body, request->env);
	str_append_bytes(&body, request->cwd, strlen(request->cwd) + 1);
	int fd = memfd_create("pitot-request", MFD_CLOEXEC);
	if (fd >= 0) {
		bool ok = pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
			  pwrite(fd, body.text, body.len, sizeof(head)) == (ssize_t)body.len;
		if (!ok) {
			close(fd);
			fd = -1;
		}
	}
	str_fini(&body);
	return fd;
}

int nursery_spawn(struct nursery *nursery, const struct spawn_request *request, int *control, struct err *err)
{
	int pair[2], code = 0;
	int memory = request_memfd(request);
	if (memory < 0)
		return err_set_errno(err, ERR_IO, "cannot hand over the command to be started");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		close(memory);
		return err_set_errno(err, ERR_IO, "cannot make a control socket");
	}
	int fds[FD_MAX] = {memory, pair[1], request->in, request->out, request->err, request->cgroup};
	int failed = send_with_fds(nursery->socket, fds, request->cgroup >= 0 ? FD_MAX : FD_CGROUP);
	close(memory);
	close(pair[1]);
	if (failed) {
		close(pair[0]);
		errno = -failed;
		code = err_set_errno(err, ERR_INTERNAL, "pitot's process starter is gone");
	} else {
		*control = pair[0];
	}
	return code;
}

int warden_receive(int control, struct warden_message *out)
{
	ssize_t got;
	do
		got = recv(control, out, sizeof(*out), MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof(*out))
		return 1;
	return got < 0 && errno == EAGAIN ? 0 : -1;
}

void warden_send(int control, enum warden_command_kind kind, int signal_number)
{
	struct warden_command command = {.kind = kind, .signal = signal_number};
	/* A warden that is gone has nothing left to obey. */
	(void)send(control, &command, sizeof(command), MSG_NOSIGNAL);
}

/* ---- the warden side: single-threaded, leaves through _exit only ---- */

struct job {
	struct request_head head;
	char **argv;
	char **env;
	const char *cwd;
	int fds[FD_MAX];
	int gate[2]; /* socket pair: one message lets the stage exec, the answer is errno where exec failed */
	struct warden_io io_start;
};

static void tell(const struct job *job, const struct warden_message *message)
{
	while (send(job->fds[FD_CONTROL], message, sizeof(*message), MSG_NOSIGNAL) < 0 && errno == EINTR)
		continue;
}

static void tell_failure(const struct job *job, int error)
{
	struct warden_message message = {.kind = WARDEN_FAILED, .error = error};
	tell(job, &message);
}

static char **split_strings(char **at, uint32_t count)
{
	char **texts = calloc(count + 1, sizeof(*texts));
	for (uint32_t i = 0; texts && i < count; i++) {
		texts[i] = *at;
		*at += strlen(*at) + 1;
	}
	return texts;
}

static bool job_unpack(struct job *job)
{
	struct stat status;
	if (fstat(job->fds[FD_REQUEST], &status) != 0)
		return false;
	char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, job->fds[FD_REQUEST], 0);
	if (bytes == MAP_FAILED)
		return false;
	memcpy(&job->head, bytes, sizeof(job->head));
	char *at = bytes + sizeof(job->head);
	job->argv = split_strings(&at, job->head.argc);
	job->env = split_strings(&at, job->head.envc);
	job->cwd = at;
	return job->argv && job->env;
}

static void become_default(void)
{
	for (int number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			signal(number, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int move_fd(int fd, int target)
{
	if (fd == target)
		return fcntl(fd, F_SETFD, 0);
	return dup2(fd, target) < 0 ? -1 : 0;
}

/* The stage's first process: waits at the gate, then execs. Never returns. */
static void stage_main(struct job *job)
{
	char word;
	setpgid(0, job->head.group);
	if (recv(job->gate[1], &word, 1, 0) != 1)
		_exit(127);
	become_default();
	/* Descriptors 0 to 2 could be among those received, so they are moved out of the way first. */
	int in = fcntl(job->fds[FD_IN], F_DUPFD_CLOEXEC, 10), out = fcntl(job->fds[FD_OUT], F_DUPFD_CLOEXEC, 10);
	int error = fcntl(job->fds[FD_ERR], F_DUPFD_CLOEXEC, 10);
	if (chdir(job->cwd) == 0 && move_fd(in, 0) == 0 && move_fd(out, 1) == 0 && move_fd(error, 2) == 0) {
		environ = job->env; /* execvp looks argv[0] up in this PATH, not in pitot's */
		execvp(job->argv[0], job->argv);
	}
	int reason = errno;
	(void)send(job->gate[1], &reason, sizeof(reason), MSG_NOSIGNAL);
	_exit(127);
}

/* fork, into the cgroup where one is given: entering at birth costs nothing, migrating later takes milliseconds. */
static pid_t fork_into(const struct job *job)
{
	if (!job->head.has_cgroup)
		return fork();
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)job->fds[FD_CGROUP]};
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* *length is how many bytes the reading itself took. */
static struct warden_io read_own_io(size_t *length)
{
	struct warden_io io = {0};
	char text[512];
	*length = 0;
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return io;
	text[got] = '\0';
	*length = (size_t)got;
	unsigned long long v[6];
	io.known = sscanf(text, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu read_bytes: %llu write_bytes: %llu",
			  &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) == 6;
	if (io.known)
		io = (struct warden_io){true, v[0], v[1], v[2], v[3], v[4], v[5]};
	return io;
}

/* A starting point from which the reading that made it is left out. The kernel counts a read after it has written the
 * text: the next reading would contain this one. */
static struct warden_io io_start(void)
{
	size_t length;
	struct warden_io io = read_own_io(&length);
	io.read_chars += length;
	io.read_calls++;
	return io;
}

static struct warden_io io_since(const struct warden_io *start)
{
	size_t length;
	struct warden_io now = read_own_io(&length);
	if (!now.known || !start->known)
		return (struct warden_io){0};
	struct warden_io delta = {.known = true,
				  .read_chars = now.read_chars - start->read_chars,
				  .write_chars = now.write_chars - start->write_chars,
				  .read_calls = now.read_calls - start->read_calls,
				  .write_calls = now.write_calls - start->write_calls,
				  .read_bytes = now.read_bytes - start->read_bytes,
				  .write_bytes = now.write_bytes - start->write_bytes};
	return delta;
}

/* Looking for processes reads /proc a lot, which is not the stage's doing: the starting point moves along. Nothing is
 * reaped meanwhile, so all that is counted between the two readings is the warden's own. */
static void signal_stage(struct job *job, int signal_number)
{
	size_t length;
	struct warden_io before = read_own_io(&length);
	descend_kill(getpid(), 0, signal_number);
	/* A stopped process could not obey. */
	if (signal_number != SIGKILL)
		descend_kill(getpid(), 0, SIGCONT);
	struct warden_io after = io_start();
	if (!before.known || !after.known)
		return;
	job->io_start.read_chars += after.read_chars - before.read_chars;
	job->io_start.read_calls += after.read_calls - before.read_calls;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec cpu;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
}

/* Reaps what there is. True while any child is left. */
static bool reap(const struct job *job)
{
	for (;;) {
		struct warden_message message = {.kind = WARDEN_EXITED};
		message.pid = wait4(-1, &message.status, WNOHANG, &message.usage);
		if (message.pid < 0)
			return errno != ECHILD;
		if (message.pid == 0)
			return true;
		message.at_ns = clock_mono_ns();
		tell(job, &message);
	}
}

/* pitot is gone: nothing of the stage may go on. Each pass may find children born since the last one. */
static void end_everything(const struct job *job)
{
	while (reap(job)) {
		descend_kill(getpid(), 0, SIGKILL);
		struct timespec pause = {.tv_nsec = 1000000};
		nanosleep(&pause, NULL);
	}
}

enum obey { OBEY_ON, OBEY_LEAVE, OBEY_ORPHANED };

static enum obey obey_commands(struct job *job)
{
	struct warden_command command;
	for (;;) {
		ssize_t got = recv(job->fds[FD_CONTROL], &command, sizeof(command), MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return OBEY_ON;
		if (got != (ssize_t)sizeof(command))
			return OBEY_ORPHANED;
		if (command.kind == WARDEN_GO) {
			struct warden_message started = {.kind = WARDEN_STARTED, .at_ns = clock_mono_ns()};
			char word = 1;
			(void)send(job->gate[0], &word, 1, MSG_NOSIGNAL);
			tell(job, &started);
		} else if (command.kind == WARDEN_KILL) {
			signal_stage(job, command.signal);
		} else {
			return OBEY_LEAVE;
		}
	}
}

/* The gate closes at exec; before that it may bring the reason why exec failed. */
static void watch_gate(struct job *job)
{
	int reason;
	ssize_t got = recv(job->gate[0], &reason, sizeof(reason), MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == (ssize_t)sizeof(reason)) {
		struct warden_message message = {.kind = WARDEN_EXEC_FAILED, .error = reason};
		tell(job, &message);
	}
	close(job->gate[0]);
	job->gate[0] = -1;
}

static void on_child(int number)
{
	(void)number; /* only there to end ppoll */
}

static void supervise(struct job *job)
{
	sigset_t during_poll;
	sigemptyset(&during_poll);
	while (reap(job)) {
		struct pollfd fds[2] = {{.fd = job->fds[FD_CONTROL], .events = POLLIN},
					{.fd = job->gate[0], .events = POLLIN}};
		ppoll(fds, 2, NULL, &during_poll);
		if (job->gate[0] >= 0)
			watch_gate(job);
		enum obey obey = obey_commands(job);
		if (obey == OBEY_ORPHANED)
			end_everything(job);
		if (obey == OBEY_LEAVE)
			break;
	}
	if (job->gate[0] >= 0)
		watch_gate(job); /* an exec that failed at once has ended before it was heard */
	struct warden_message done = {.kind = WARDEN_DONE, .at_ns = clock_mono_ns(), .io = io_since(&job->io_start)};
	done.self_cpu_ns = own_cpu_ns();
	tell(job, &done);
}

/* Never returns. */
static void warden_main(struct job *job)
{
	prctl(PR_SET_NAME, "pitot-warden");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct sigaction on_exit_of_child = {.sa_handler = on_child};
	sigaction(SIGCHLD, &on_exit_of_child, NULL);
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	if (!job_unpack(job) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, job->gate) != 0) {
		tell_failure(job, errno);
		_exit(1);
	}
	job->io_start = io_start();
	struct warden_message born = {.kind = WARDEN_BORN, .warden = getpid()};
	born.pid = fork_into(job);
	if (born.pid == 0)
		stage_main(job);
	if (born.pid < 0) {
		tell_failure(job, errno);
		_exit(1);
	}
	close(job->gate[1]);
	for (int i = FD_IN; i <= FD_ERR; i++)
		close(job->fds[i]); /* or the stage's output pipe would never end */
	tell(job, &born);
	supervise(job);
	_exit(0);
}

/* ---- the nursery side ---- */

static int receive_job(int socket, struct job *job)
{
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FD_MAX)];
	} control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	if (got < 0 && errno == EINTR)
		return 0;
	if (got <= 0)
		return -1;
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return 0;
	size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (int i = 0; i < FD_MAX; i++)
		job->fds[i] = -1;
	memcpy(job->fds, CMSG_DATA(head), count * sizeof(int));
	return 1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void remove_scratch(const char *scratch)
{
	if (scratch)
		nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Never returns. */
static void nursery_main(int socket, const char *scratch)
{
	prctl(PR_SET_NAME, "pitot-nursery");
	setpgid(0, 0);
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTTOU, SIGTTIN, SIGTSTP};
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	for (;;) {
		struct job job = {0};
		int got = receive_job(socket, &job);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (got < 0)
			break;
		if (got == 0)
			continue;
		pid_t pid = fork();
		if (pid == 0) {
			close(socket);
			warden_main(&job);
		}
		if (pid < 0)
			tell_failure(&job, errno);
		for (int i = 0; i < FD_MAX; i++)
			if (job.fds[i] >= 0)
				close(job.fds[i]);
	}
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		continue;
	remove_scratch(scratch);
	_exit(0);
}

int nursery_start(const char *scratch, struct nursery **out, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_set_errno(err, ERR_IO, "cannot make a socket pair");
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		nursery_main(pair[1], scratch);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_set_errno(err, ERR_IO, "cannot start a process");
	}
	/* Should nursery or wardens be killed, what they looked after comes to us. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct nursery *nursery = mem_alloc(sizeof(*nursery));
	*nursery = (struct nursery){.pid = pid, .socket = pair[0], .scratch = mem_strdup(scratch)};
	*out = nursery;
	return 0;
}

pid_t nursery_pid(const struct nursery *nursery)
{
	return nursery->pid;
}

void nursery_stop(struct nursery *nursery)
{
	if (!nursery)
		return;
	int status = 0;
	pid_t ended;
	close(nursery->socket);
	do
		ended = waitpid(nursery->pid, &status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended < 0 || !WIFEXITED(status))
		remove_scratch(nursery->scratch); /* it was killed before it could */
	free(nursery->scratch);
	free(nursery);
}
