/*
 * sandboxed WAY - a program that forbids itself system calls: with an error for those that a profiler uses, or with
 * death for all that it does not need itself, and then goes on to do what profilers put their hooks into.
 *
 * Nothing after the filter may use a clock of CPU time: that is a system call too.
 */
#include "unbroken.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ANSWER(number, answer)                                                                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##answer)
#define ALLOW(number)  ANSWER(number, ALLOW)
#define REFUSE(number) ANSWER(number, ERRNO | EPERM)
#define KILL(number)   ANSWER(number, KILL_PROCESS)
#define NUMBER         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ELSE(answer)   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##answer)

static struct sock_filter refusing[] = {
	NUMBER, REFUSE(SYS_perf_event_open), REFUSE(SYS_process_vm_readv), REFUSE(SYS_timer_create), ELSE(ALLOW),
};

/* Only what is left for it to do: to write and to end. */
static struct sock_filter killing[] = {
	NUMBER, ALLOW(SYS_write), ALLOW(SYS_newfstatat), ALLOW(SYS_exit_group), ELSE(KILL_PROCESS),
};

/* What libc needs to make, join and end threads and processes. */
static struct sock_filter sparing[] = {
	NUMBER,
	ALLOW(SYS_write),
	ALLOW(SYS_newfstatat),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_exit),
	ALLOW(SYS_mmap),
	ALLOW(SYS_mprotect),
	ALLOW(SYS_munmap),
	ALLOW(SYS_brk),
	ALLOW(SYS_getrandom),
	ALLOW(SYS_clone),
	ALLOW(SYS_clone3),
	ALLOW(SYS_rseq),
	ALLOW(SYS_set_robust_list),
	ALLOW(SYS_rt_sigprocmask),
	ALLOW(SYS_rt_sigaction),
	ALLOW(SYS_futex),
	ALLOW(SYS_wait4),
	/* A thread's end gives the pages of its stack back. */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 0, 1),
	ELSE(ALLOW),
	ELSE(KILL_PROCESS),
};

/* Whole programs can still be started, but none that profiles itself. */
static struct sock_filter starting[] = {
	NUMBER,
	KILL(SYS_perf_event_open),
	KILL(SYS_process_vm_readv),
	KILL(SYS_timer_create),
	KILL(SYS_clock_gettime),
	KILL(SYS_ftruncate),
	KILL(SYS_pwritev),
	KILL(SYS_prctl),
	ELSE(ALLOW),
};

#define RESTRICT(filter) restrict_to(filter, sizeof(filter) / sizeof((filter)[0]))

static void restrict_to(struct sock_filter *filter, size_t length)
{
	struct sock_fprog program = {(unsigned short)length, filter};
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	errno = 77;
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 && errno == 77);
}

/* All threads, and by the other call. */
static void restrict_all(struct sock_filter *filter, size_t length)
{
	struct sock_fprog program = {(unsigned short)length, filter};
	CHECK(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	errno = 77;
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 && errno == 77);
}

__attribute__((noinline)) static void count_to(uint64_t most)
{
	for (volatile uint64_t i = 0; i < most; i++)
		continue;
}

static void say(const char *text)
{
	CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

static void *work(void *context)
{
	work_ms(60);
	return context;
}

static void *count(void *context)
{
	count_to(2000000);
	return context;
}

static void make_threads(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t threads[3];
		for (int k = 0; k < 3; k++)
			CHECK(pthread_create(&threads[k], NULL, count, NULL) == 0);
		for (int k = 0; k < 3; k++)
			CHECK(pthread_join(threads[k], NULL) == 0);
	}
}

static void refuse(void)
{
	pthread_t thread;
	RESTRICT(refusing);
	CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void die_of_calls(void)
{
	RESTRICT(killing);
	count_to(200000000);
}

static void be_strict(void)
{
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	count_to(200000000);
	(void)!write(1, "survived\n", 9);
	syscall(SYS_exit, 0);
}

static void have_threads(void)
{
	RESTRICT(sparing);
	make_threads();
}

static void at_end(void)
{
	say("at the end\n");
}

/* Children end by exit and by _exit, their own by returning from main. */
static void have_children(void)
{
	CHECK(atexit(at_end) == 0);
	RESTRICT(sparing);
	for (int i = 0; i < 6; i++) {
		int status;
		pid_t child = i % 3 == 2 ? _Fork() : fork();
		if (child == 0) {
			make_threads();
			if (i % 2)
				_exit(i);
			exit(i);
		}
		CHECK(child > 0 && wait4(child, &status, 0, NULL) == child && status == i << 8);
	}
}

static volatile int over;

static void *busy(void *context)
{
	while (!over)
		count_to(1000);
	return context;
}

static void *create(void *context)
{
	pthread_t thread;
	while (!over)
		CHECK(pthread_create(&thread, NULL, count, NULL) == 0 && pthread_join(thread, NULL) == 0);
	return context;
}

static void restrict_threads(void)
{
	pthread_t threads[4];
	for (int k = 0; k < 4; k++)
		CHECK(pthread_create(&threads[k], NULL, k < 2 ? busy : create, NULL) == 0);
	work_ms(5);
	restrict_all(sparing, sizeof(sparing) / sizeof(sparing[0]));
	count_to(10000000);
	over = 1;
	for (int k = 0; k < 4; k++)
		CHECK(pthread_join(threads[k], NULL) == 0);
	_exit(0);
}

/* The filter comes over threads that are sampled, and over some that are just being made. */
static void restrict_all_threads(void)
{
	for (int i = 0; i < 25; i++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			restrict_threads();
		CHECK(child > 0 && wait4(child, &status, 0, NULL) == child && status == 0);
	}
	RESTRICT(killing);
}

static void run(const char *path, char **envp)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		if (envp)
			execle(path, path, "started", NULL, envp);
		else
			execl(path, path, "started", NULL);
		_exit(98);
	}
	CHECK(child > 0 && wait4(child, &status, 0, NULL) == child && status == 0);
}

static void start(char *path)
{
	extern char **environ;
	char *copy[1024], command[4096], *arguments[] = {path, "started", NULL};
	size_t count_of = 0;
	int status;
	pid_t child;
	for (; environ[count_of] && count_of < 1023; count_of++)
		copy[count_of] = strdup(environ[count_of]);
	copy[count_of] = NULL;
	RESTRICT(starting);
	run(path, NULL);
	run(path, copy);
	CHECK(posix_spawn(&child, path, NULL, NULL, arguments, copy) == 0);
	CHECK(wait4(child, &status, 0, NULL) == child && status == 0);
	snprintf(command, sizeof(command), "'%s' started", path);
	CHECK(system(command) == 0);
	CHECK(execve("/none", arguments, copy) == -1 && errno == ENOENT);
	execve(path, arguments, copy);
	CHECK(0);
}

/* Only a child has the filter, and it lives in our memory until it has another program. */
static void start_by_vfork(char *path)
{
	extern char **environ;
	char *arguments[] = {path, "started", NULL};
	struct sock_fprog program = {sizeof(starting) / sizeof(starting[0]), starting};
	int status;
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	pid_t child = vfork();
	if (child == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
			execve(path, arguments, environ);
		_exit(97);
	}
	CHECK(child > 0 && wait4(child, &status, 0, NULL) == child && status == 0);
	/* A copy of our memory, past fork's handlers. */
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		RESTRICT(starting);
		make_threads();
		execve(path, arguments, environ);
		_exit(96);
	}
	CHECK(child > 0 && wait4(child, &status, 0, NULL) == child && status == 0);
	make_threads();
	work_ms(200);
}

static volatile sig_atomic_t urgent;

static void on_urgent(int number)
{
	urgent += number == SIGURG;
}

/* The signal that the sampler uses is the program's own all the time. */
static void keep_signals(void)
{
	struct sigaction action = {.sa_handler = on_urgent, .sa_flags = SA_RESTART}, before;
	sigset_t set, blocked, pending;
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	CHECK(sigaction(SIGURG, &action, NULL) == 0 && raise(SIGURG) == 0 && urgent == 1);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	work_ms(20);
	RESTRICT(starting);
	count_to(20000000);
	CHECK(urgent == 1 && sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGURG) == 1);
	CHECK(raise(SIGURG) == 0 && urgent == 1);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGURG) == 1);
	CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0 && urgent == 2);
	CHECK(kill(getpid(), SIGURG) == 0 && urgent == 3);
	CHECK(sigaction(SIGURG, NULL, &before) == 0 && before.sa_handler == on_urgent && before.sa_flags & SA_RESTART);
	CHECK(signal(SIGURG, SIG_DFL) == on_urgent && raise(SIGURG) == 0 && urgent == 3);
}

/* Questions that change nothing, and a filter that the kernel does not take. */
static void ask(void)
{
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && errno == EFAULT);
	CHECK(prctl(PR_GET_SECCOMP) == 0);
	work_ms(200);
}

static void be_refused(void)
{
	struct sock_filter one = ELSE(ALLOW);
	struct sock_fprog program = {0, &one};
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1 && errno == EINVAL);
	make_threads();
	work_ms(20);
}

/* Up to seven arguments, and no change to errno, the stack and what is not asked for. */
static void pass_arguments(void)
{
	char name[16] = "", old[16] = "";
	int file = memfd_create("pages", 0);
	CHECK(file >= 0 && ftruncate(file, 8192) == 0 && pwrite(file, "second", 6, 4096) == 6);
	errno = 77;
	char *page = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, file, 4096L);
	CHECK(page != MAP_FAILED && memcmp(page, "second", 6) == 0 && errno == 77);
	CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
	CHECK(syscall(-1) == -1 && errno == ENOSYS);
	CHECK(prctl(PR_GET_NAME, old) == 0 && prctl(PR_SET_NAME, "argued") == 0);
	CHECK(syscall(SYS_prctl, PR_GET_NAME, name) == 0 && strcmp(name, "argued") == 0);
	CHECK(syscall(SYS_prctl, PR_SET_NAME, old) == 0);
	CHECK(prctl(12345, 0, 0, 0, 0) == -1 && errno == EINVAL);
	work_ms(100);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*go)(void);
	} ways[] = {
		{"errno", refuse},           {"kill", die_of_calls},
		{"strict", be_strict},       {"threads", have_threads},
		{"children", have_children}, {"all", restrict_all_threads},
		{"signals", keep_signals},   {"asked", ask},
		{"refused", be_refused},     {"arguments", pass_arguments},
	};
	setvbuf(stdout, NULL, _IONBF, 0);
	CHECK(argc == 2);
	if (strcmp(argv[1], "started") == 0) {
		count_to(50000000);
		say("started\n");
		return 0;
	}
	work_ms(60);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].go();
	if (strcmp(argv[1], "exec") == 0)
		start(argv[0]);
	if (strcmp(argv[1], "vfork") == 0)
		start_by_vfork(argv[0]);
	say("survived\n");
	return 0;
}
