/*
 * every_signal - handlers for all signals, each sent once; then all of them blocked while the program works; then all
 * ignored.
 */
#include "unbroken.h"

#include <signal.h>

static volatile sig_atomic_t counts[65];

static void count(int number)
{
	counts[number]++;
}

static int can_be_caught(int number)
{
	return number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN);
}

int main(void)
{
	struct sigaction action = {.sa_flags = SA_RESTART}, old;
	sigset_t all, none, now;
	action.sa_handler = count;
	sigfillset(&action.sa_mask);
	for (int i = 1; i <= SIGRTMAX; i++)
		if (can_be_caught(i))
			CHECK(sigaction(i, &action, &old) == 0 &&
			      old.sa_handler == (i == SIGPIPE ? old.sa_handler : SIG_DFL));
	for (int i = 1; i <= SIGRTMAX; i++) {
		work_ms(2);
		if (can_be_caught(i))
			CHECK(raise(i) == 0 && counts[i] == 1);
	}
	sigfillset(&all);
	CHECK(sigprocmask(SIG_SETMASK, &all, &none) == 0);
	work_ms(150);
	CHECK(sigpending(&now) == 0);
	for (int i = 1; i <= SIGRTMAX; i++)
		if (can_be_caught(i))
			CHECK(!sigismember(&now, i) && !sigismember(&none, i));
	CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
	for (int i = 1; i <= SIGRTMAX; i++)
		CHECK(sigismember(&now, i) == can_be_caught(i));
	CHECK(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
	action.sa_handler = SIG_IGN;
	for (int i = 1; i <= SIGRTMAX; i++)
		if (can_be_caught(i))
			CHECK(sigaction(i, &action, &old) == 0 && old.sa_handler == count && counts[i] == 1);
	work_ms(50);
	puts("each came once");
	return 0;
}
