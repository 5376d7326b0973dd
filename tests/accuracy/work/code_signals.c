/*
 * code_signals SECONDS - a program that lives by signals: SIGPROF from setitimer and SIGALRM from another timer, each
 * handler with work of its own, beside ordinary work. Tells how often each came, and the CPU time of each of the
 * three.
 */
#include "code.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t profs, alarms;
static double prof_s, alarm_s;

static CODE_FUNCTION void some_work(void)
{
	uint64_t state = 1;
	for (unsigned i = 0; i < 2 * CODE_STEPS_PER_MS; i++)
		state = code_mix(state);
	if (state == 0)
		abort();
}

static CODE_FUNCTION void on_prof(int number)
{
	double start = code_cpu_s();
	some_work();
	profs += number == SIGPROF;
	prof_s += code_cpu_s() - start;
}

static CODE_FUNCTION void on_alarm(int number)
{
	double start = code_cpu_s();
	some_work();
	alarms += number == SIGALRM;
	alarm_s += code_cpu_s() - start;
}

static void start(int which, int number, void (*handler)(int), long every_us)
{
	/* Neither interrupts the other: their times are not to be counted twice. */
	struct sigaction action = {.sa_flags = SA_RESTART};
	action.sa_handler = handler;
	sigaddset(&action.sa_mask, SIGPROF);
	sigaddset(&action.sa_mask, SIGALRM);
	sigaction(number, &action, NULL);
	struct itimerval timer = {{0, every_us}, {0, every_us}};
	setitimer(which, &timer, NULL);
}

int main(int argc, char **argv)
{
	double end = code_cpu_s() + (argc == 2 ? atof(argv[1]) : 0);
	start(ITIMER_PROF, SIGPROF, on_prof, 16000);
	start(ITIMER_REAL, SIGALRM, on_alarm, 10000);
	while (code_cpu_s() < end)
		some_work();
	struct itimerval off = {0};
	setitimer(ITIMER_PROF, &off, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	truth("profs", profs);
	truth("alarms", alarms);
	truth("prof_s", prof_s);
	truth("alarm_s", alarm_s);
	truth_cpu();
	return 0;
}
