/*
 * jumping - leaves signal handlers by siglongjmp, again and again, from the timer's and from its own SIGURG.
 */
#include "unbroken.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;

static void jump(int number)
{
	siglongjmp(back, number);
}

__attribute__((noinline)) static void deep(int depth)
{
	if (depth == 0)
		for (;;)
			work_ms(1);
	deep(depth - 1);
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	volatile int alarms = 0, urgents = 0;
	CHECK(signal(SIGALRM, jump) == SIG_DFL && signal(SIGURG, jump) == SIG_DFL);
	struct itimerval timer = {{0, 5000}, {0, 5000}};
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
	for (;;) {
		int number = sigsetjmp(back, 1);
		alarms += number == SIGALRM;
		urgents += number == SIGURG;
		if (alarms == 60)
			break;
		if (number == SIGALRM && urgents < alarms)
			raise(SIGURG);
		deep(40);
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	CHECK(urgents > 0);
	sigset_t now;
	CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && !sigismember(&now, SIGURG) && !sigismember(&now, SIGALRM));
	puts("jumped out of all of them");
	return 0;
}
