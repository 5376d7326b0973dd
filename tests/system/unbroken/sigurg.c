/*
 * sigurg - a program that uses SIGURG itself, in every way: each one that it sends comes exactly once, none comes
 * that it did not send, and what it asks about handlers and masks is what it set.
 */
#include "unbroken.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile sig_atomic_t came, value, others;

static void plain(int number)
{
	came += number == SIGURG;
}

static void informed(int number, siginfo_t *info, void *context)
{
	if (number != SIGURG || context == NULL || info->si_pid != getpid() || info->si_code != SI_QUEUE)
		others++;
	value = info->si_value.sival_int;
	came++;
}

static void handlers(void)
{
	struct sigaction old, action = {.sa_flags = 0};
	CHECK(sigaction(SIGURG, NULL, &old) == 0 && old.sa_handler == SIG_DFL && old.sa_flags == 0);
	CHECK(signal(SIGURG, plain) == SIG_DFL);
	for (int i = 0; i < 50; i++) {
		work_ms(1);
		CHECK(raise(SIGURG) == 0);
	}
	CHECK(came == 50);
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
	action.sa_sigaction = informed;
	sigaddset(&action.sa_mask, SIGUSR1);
	CHECK(sigaction(SIGURG, &action, &old) == 0 && old.sa_handler == plain && (old.sa_flags & SA_RESTART));
	CHECK(sigaction(SIGURG, NULL, &old) == 0 && old.sa_sigaction == informed &&
	      sigismember(&old.sa_mask, SIGUSR1) == 1);
	CHECK((old.sa_flags & ~0x04000000) == (SA_SIGINFO | SA_RESTART | SA_NODEFER));
	for (int i = 0; i < 50; i++) {
		work_ms(1);
		CHECK(sigqueue(getpid(), SIGURG, (union sigval){.sival_int = i}) == 0 && value == i);
	}
	CHECK(came == 100 && others == 0);
	action.sa_flags = (int)SA_RESETHAND;
	action.sa_handler = plain;
	CHECK(sigaction(SIGURG, &action, NULL) == 0 && raise(SIGURG) == 0 && came == 101);
	CHECK(sigaction(SIGURG, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
	CHECK(raise(SIGURG) == 0 && signal(SIGURG, SIG_IGN) == SIG_DFL && raise(SIGURG) == 0);
	CHECK(signal(SIGURG, plain) == SIG_IGN && came == 101);
}

static void waiting(void)
{
	sigset_t urg, before, now;
	int got;
	siginfo_t info;
	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	CHECK(sigprocmask(SIG_BLOCK, &urg, &before) == 0 && !sigismember(&before, SIGURG));
	CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGURG));
	work_ms(30);
	CHECK(sigpending(&now) == 0 && !sigismember(&now, SIGURG));
	CHECK(raise(SIGURG) == 0);
	work_ms(10);
	CHECK(sigpending(&now) == 0 && sigismember(&now, SIGURG));
	CHECK(sigwait(&urg, &got) == 0 && got == SIGURG);
	struct timespec none = {0, 20000000};
	CHECK(sigtimedwait(&urg, &info, &none) == -1 && errno == EAGAIN);
	CHECK(sigqueue(getpid(), SIGURG, (union sigval){.sival_int = 7}) == 0);
	CHECK(sigwaitinfo(&urg, &info) == SIGURG && info.si_value.sival_int == 7);
	int fd = signalfd(-1, &urg, SFD_NONBLOCK | SFD_CLOEXEC);
	struct signalfd_siginfo read_info;
	work_ms(30);
	CHECK(read(fd, &read_info, sizeof(read_info)) == -1 && errno == EAGAIN);
	CHECK(raise(SIGURG) == 0 && read(fd, &read_info, sizeof(read_info)) == sizeof(read_info));
	CHECK(read_info.ssi_signo == SIGURG && close(fd) == 0);
	CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0 && came == 101);
}

/* What the kernel has, past all wrappers. */
static int is_blocked(void)
{
	uint64_t mask = 0;
	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask)) == 0);
	return mask >> (SIGURG - 1) & 1;
}

static void *blocked_in_thread(void *context)
{
	CHECK(is_blocked());
	work_ms(10);
	CHECK(is_blocked());
	return context;
}

/* Whoever reads a signal through a descriptor needs it blocked in every thread and child. */
static void blocked(void)
{
	sigset_t urg, before;
	pthread_t thread;
	int status;
	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	CHECK(sigprocmask(SIG_BLOCK, &urg, &before) == 0);
	int fd = signalfd(-1, &urg, SFD_NONBLOCK | SFD_CLOEXEC);
	CHECK(fd >= 0 && is_blocked());
	pid_t child = fork();
	CHECK(child >= 0 && is_blocked());
	if (child == 0)
		_exit(is_blocked() ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(pthread_create(&thread, NULL, blocked_in_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(close(fd) == 0 && sigprocmask(SIG_SETMASK, &before, NULL) == 0);
}

static void *in_thread(void *context)
{
	work_ms(40);
	return context;
}

static void threads(void)
{
	pthread_t thread;
	came = 0;
	CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
	for (int i = 0; i < 30; i++)
		CHECK(pthread_kill(thread, SIGURG) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && came >= 1 && came <= 30);
}

/* Urgent data: what the signal is there for. */
static void urgent(void)
{
	int pair[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	came = 0;
	CHECK(fcntl(pair[0], F_SETOWN, getpid()) == 0);
	CHECK(fcntl(pair[0], F_SETSIG, SIGURG) == 0);
	CHECK(fcntl(pair[0], F_SETFL, O_ASYNC) == 0);
	CHECK(write(pair[1], "x", 1) == 1);
	work_ms(10);
	CHECK(came == 1 && close(pair[0]) == 0 && close(pair[1]) == 0);
}

int main(void)
{
	handlers();
	waiting();
	threads();
	urgent();
	blocked();
	puts("every SIGURG was its own");
	return 0;
}
