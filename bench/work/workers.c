/*
 * workers COUNT SECONDS PERCENT - COUNT processes (this one is the first) that live for SECONDS; each works for PERCENT
 * of every tenth of a second and sleeps for the rest.
 */
#include "inner.h"

#include <sys/wait.h>
#include <unistd.h>

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void live_until(double end, double percent)
{
	enum { STEPS = 20000 };
	for (double slice = now_s(); now_s() < end; slice += 0.1) {
		double enough = cpu_s() + percent / 1000;
		while (cpu_s() < enough)
			for (volatile int i = 0; i < STEPS; i++)
				continue;
		double left = (percent > 0 ? slice + 0.1 : end) - now_s();
		if (left > 0)
			usleep((useconds_t)(left * 1e6));
	}
}

int main(int argc, char **argv)
{
	double start = now_s();
	if (argc != 4)
		return 64;
	double end = start + atof(argv[2]), percent = atof(argv[3]);
	for (int left = atoi(argv[1]) - 1; left > 0; left--) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			live_until(end, percent);
			_exit(0);
		}
	}
	live_until(end, percent);
	while (wait(NULL) > 0)
		continue;
	return tell_inner(start);
}
