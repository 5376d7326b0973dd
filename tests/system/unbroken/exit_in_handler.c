/*
 * exit_in_handler - ends in a signal handler, by exit, with what atexit was given.
 */
#include "unbroken.h"

#include <signal.h>
#include <sys/time.h>

static void at_end(void)
{
	puts("at the end");
}

static void on_alarm(int number)
{
	exit(number == SIGALRM ? 7 : 8);
}

int main(void)
{
	CHECK(atexit(at_end) == 0 && signal(SIGALRM, on_alarm) == SIG_DFL);
	struct itimerval timer = {{0, 0}, {0, 150000}};
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
	for (;;)
		work_ms(10);
}
