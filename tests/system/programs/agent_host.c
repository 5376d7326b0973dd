/*
 * agent_host.c - a program of many faces to put the agent into: agent_host FACE [NUMBER] [NUMBER].
 *
 * Prints its own CPU time in ns as the kernel has it (getrusage) last, where a test compares that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static double thread_cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* That much CPU time of the calling thread, nearly all of it in user mode. */
__attribute__((noinline)) static void burn_ms(double wanted)
{
	double end = thread_cpu_ms() + wanted;
	volatile uint64_t state = 1;
	while (thread_cpu_ms() < end)
		for (int i = 0; i < 20000; i++)
			state = state * 5 + 1;
}

static void print_cpu(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%lld\n", (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
				 (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL);
	fflush(stdout);
}

static double each_ms;

static void *burn_thread(void *context)
{
	burn_ms(each_ms);
	return context;
}

static void threads(int count, int ms)
{
	pthread_t *all = calloc((size_t)count, sizeof(*all));
	each_ms = ms;
	for (int i = 0; i < count; i++)
		if (pthread_create(&all[i], NULL, burn_thread, NULL) != 0)
			_exit(9);
	for (int i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	free(all);
}

/* One after the other, none of which does anything. */
static void brief(int count, int unused)
{
	(void)unused;
	pthread_t thread;
	each_ms = 0;
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, burn_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
			_exit(9);
}

static int burn_c11(void *context)
{
	prctl(PR_SET_NAME, "eleven");
	burn_ms(20);
	return *(int *)context;
}

static void c11(int result, int unused)
{
	(void)unused;
	thrd_t thread;
	int got = 0;
	if (thrd_create(&thread, burn_c11, &result) != thrd_success || thrd_join(thread, &got) != thrd_success ||
	    got != result)
		_exit(9);
}

static void *by_pthread_exit(void *context)
{
	burn_ms(10);
	pthread_exit(context);
}

static void *by_cancel(void *context)
{
	burn_ms(10);
	for (;;)
		pause();
	return context;
}

/* Threads that end in all ways, and one that does not. */
static void ends(int unused, int unused2)
{
	(void)unused, (void)unused2;
	pthread_t thread;
	void *result;
	if (pthread_create(&thread, NULL, by_pthread_exit, NULL) != 0 || pthread_join(thread, NULL) != 0)
		_exit(9);
	if (pthread_create(&thread, NULL, by_cancel, NULL) != 0 || pthread_cancel(thread) != 0)
		_exit(9);
	if (pthread_join(thread, &result) != 0 || result != PTHREAD_CANCELED)
		_exit(9);
	if (pthread_create(&thread, NULL, by_cancel, NULL) != 0)
		_exit(9);
	clockid_t clock;
	struct timespec used = {0};
	if (pthread_getcpuclockid(thread, &clock) != 0)
		_exit(9);
	while (used.tv_nsec < 10000000 && used.tv_sec == 0)
		clock_gettime(clock, &used);
}

static void wait_all(void)
{
	while (wait(NULL) > 0)
		;
}

static void *fork_here(void *context)
{
	if (fork() == 0) {
		burn_ms(50);
		_exit(0);
	}
	return context;
}

static void forks(int ms, int unused)
{
	(void)unused;
	pthread_t thread;
	burn_ms(ms);
	if (pthread_create(&thread, NULL, fork_here, NULL) != 0 || pthread_join(thread, NULL) != 0)
		_exit(9);
	if (_Fork() == 0) {
		burn_ms(ms);
		_exit(0);
	}
	wait_all();
	burn_ms(ms);
}

/* The kernel's own, of which no library hears. */
static void raw_fork(int ms, int unused)
{
	(void)unused;
	burn_ms(ms);
	if (syscall(SYS_fork) == 0) {
		threads(2, ms);
		_exit(0);
	}
	wait_all();
	burn_ms(ms);
}

static void daemonise(int ms, int unused)
{
	(void)unused;
	if (daemon(1, 1) != 0)
		_exit(9);
	burn_ms(ms);
}

/* Replaces itself by itself, one less each time. */
static void chain(int count, int ms)
{
	char less[16], same[16];
	burn_ms(ms);
	if (count == 0)
		return;
	snprintf(less, sizeof(less), "%d", count - 1);
	snprintf(same, sizeof(same), "%d", ms);
	char *nothing[] = {NULL}, *argv[] = {"agent_host", "chain", less, same, NULL};
	char *none_such = "LD_PRELOAD=";
	char *emptied[] = {none_such, "A=b", NULL};
	execl("/no/such/program", "x", (char *)NULL);
	switch (count % 5) {
	case 0:
		execve("/proc/self/exe", argv, nothing);
		break;
	case 1:
		execle("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], (char *)NULL, emptied);
		break;
	case 2:
		execv("/proc/self/exe", argv);
		break;
	case 3:
		execvpe("/proc/self/exe", argv, NULL);
		break;
	default:
		fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), argv, nothing);
	}
	_exit(9);
}

/* Every descriptor there is, behind libc's back. */
static void close_all(int ms, int unused)
{
	(void)unused;
	burn_ms(ms);
	int out = dup(1);
	syscall(SYS_close_range, 3, out - 1, 0);
	syscall(SYS_close_range, out + 1, ~0U, 0);
	burn_ms(ms);
	dup2(out, 1);
}

static void block_all(int ms, int raw)
{
	sigset_t all, seen;
	sigfillset(&all);
	if (raw)
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	else
		sigprocmask(SIG_SETMASK, &all, NULL);
	sigprocmask(SIG_SETMASK, NULL, &seen);
	if (sigismember(&seen, SIGURG) != 1)
		_exit(9);
	burn_ms(ms);
}

enum { BULK = 8 << 20 };

static int ends_of[2];

static void *drain(void *context)
{
	static char bytes[65536];
	ssize_t got;
	size_t all = 0;
	while ((got = read(ends_of[0], bytes, sizeof(bytes))) > 0)
		all += (size_t)got;
	*(size_t *)context = all;
	return NULL;
}

/* One call that is to move everything, through a pipe or a pair of sockets that another thread empties. */
static void move(int is_socket, ssize_t (*call)(int fd, char *bytes))
{
	static char bytes[BULK];
	pthread_t thread;
	size_t arrived = 0;
	if ((is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends_of) : pipe(ends_of)) != 0 ||
	    pthread_create(&thread, NULL, drain, &arrived) != 0)
		_exit(9);
	if (call(ends_of[1], bytes) != BULK)
		_exit(8);
	close(ends_of[1]);
	pthread_join(thread, NULL);
	close(ends_of[0]);
	if (arrived != BULK)
		_exit(7);
}

static ssize_t by_write(int fd, char *bytes)
{
	return write(fd, bytes, BULK);
}

static ssize_t by_writev(int fd, char *bytes)
{
	struct iovec pieces[3] = {{bytes, 1000}, {bytes + 1000, BULK / 2}, {bytes + 1000 + BULK / 2, BULK / 2 - 1000}};
	return writev(fd, pieces, 3);
}

static ssize_t by_send(int fd, char *bytes)
{
	return send(fd, bytes, BULK, MSG_NOSIGNAL);
}

static ssize_t by_sendmsg(int fd, char *bytes)
{
	struct iovec pieces[2] = {{bytes, BULK / 2}, {bytes + BULK / 2, BULK / 2}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
	return sendmsg(fd, &message, 0);
}

static void transfers(int rounds, int unused)
{
	(void)unused;
	static char random[BULK];
	for (int i = 0; i < rounds; i++) {
		move(0, by_write);
		move(0, by_writev);
		move(1, by_send);
		move(1, by_sendmsg);
		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			_exit(6);
	}
}

/* Asks whether there are sandboxes, which the kernel answers with an error; then enters one and replaces itself. */
static void sandbox(int ms, int enter)
{
	static struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, allow};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1 || errno != EFAULT)
		_exit(9);
	burn_ms(ms);
	if (!enter)
		return;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		_exit(9);
	burn_ms(ms);
	execl("/proc/self/exe", "agent_host", "burn", "20", (char *)NULL);
	_exit(9);
}

static void by_quick_exit(int ms, int unused)
{
	(void)unused;
	burn_ms(ms);
	quick_exit(0);
}

static void by_exit_(int ms, int unused)
{
	(void)unused;
	burn_ms(ms);
	_exit(0);
}

static void killed(int ms, int unused)
{
	(void)unused;
	burn_ms(ms);
	print_cpu();
	raise(SIGKILL);
}

static void *burn_long(void *context)
{
	prctl(PR_SET_NAME, "long");
	burn_ms(1e6);
	return context;
}

/* exit while another thread is busy. */
static void exits_amid(int ms, int unused)
{
	(void)unused;
	pthread_t thread;
	if (pthread_create(&thread, NULL, burn_long, NULL) != 0)
		_exit(9);
	burn_ms(ms);
}

static void burn(int ms, int unused)
{
	(void)unused;
	burn_ms(ms);
}

static const struct face {
	const char *name;
	void (*show)(int, int);
} faces[] = {
	{"transfers", transfers},
	{"sandbox", sandbox},
	{"burn", burn},
	{"threads", threads},
	{"brief", brief},
	{"c11", c11},
	{"ends", ends},
	{"forks", forks},
	{"raw_fork", raw_fork},
	{"daemonise", daemonise},
	{"chain", chain},
	{"close_all", close_all},
	{"block_all", block_all},
	{"quick_exit", by_quick_exit},
	{"_exit", by_exit_},
	{"killed", killed},
	{"exits_amid", exits_amid},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(faces) / sizeof(faces[0]); i++)
		if (argc > 1 && strcmp(argv[1], faces[i].name) == 0) {
			faces[i].show(argc > 2 ? atoi(argv[2]) : 0, argc > 3 ? atoi(argv[3]) : 0);
			print_cpu();
			return 0;
		}
	return 64;
}
