/*
 * sigprof - a program with the timers that profilers like to take: SIGPROF, SIGVTALRM and SIGALRM, with their
 * handlers and settings as it left them.
 */
#include "unbroken.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t counts[65];

static void count(int number)
{
	counts[number]++;
}

static void start(int which, int number)
{
	struct sigaction action = {.sa_flags = SA_RESTART};
	action.sa_handler = count;
	CHECK(sigaction(number, &action, NULL) == 0);
	struct itimerval timer = {{0, 10000}, {0, 10000}};
	CHECK(setitimer(which, &timer, NULL) == 0);
}

int main(void)
{
	struct itimerval now;
	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
		CHECK(getitimer(which, &now) == 0 && now.it_value.tv_sec == 0 && now.it_value.tv_usec == 0);
	start(ITIMER_PROF, SIGPROF);
	start(ITIMER_VIRTUAL, SIGVTALRM);
	start(ITIMER_REAL, SIGALRM);
	while (counts[SIGPROF] < 20 || counts[SIGVTALRM] < 20 || counts[SIGALRM] < 20)
		work_ms(5);
	struct sigaction set;
	CHECK(sigaction(SIGPROF, NULL, &set) == 0 && set.sa_handler == count && (set.sa_flags & SA_RESTART));
	CHECK(getitimer(ITIMER_PROF, &now) == 0 && now.it_interval.tv_usec == 10000);
	puts("all three came");
	return 0;
}
