/*
 * code_children COUNT MILLISECONDS fork|exec|threads - one after the other, COUNT short-lived children that each use
 * that much CPU time in a function of their own. Tells what they used, as the kernel counted it.
 */
#include "code.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static double wanted_s;

static CODE_FUNCTION void short_work(void)
{
	double end = code_cpu_s() + wanted_s;
	uint64_t state = 1;
	while (code_cpu_s() < end)
		for (unsigned i = 0; i < CODE_STEPS_PER_MS / 50; i++)
			state = code_mix(state);
	if (state == 0)
		abort();
	CODE_KEEP_FRAME();
}

static CODE_FUNCTION void *short_thread(void *used)
{
	short_work();
	*(double *)used += code_cpu_s();
	return NULL;
}

static void child(char **argv, bool exec)
{
	if (exec) {
		execl("/proc/self/exe", argv[0], "1", argv[2], "alone", (char *)NULL);
		_exit(127);
	}
	short_work();
	_exit(0);
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? atoi(argv[1]) : 0;
	wanted_s = argc == 4 ? atof(argv[2]) / 1e3 : 0;
	double threads_s = 0;
	if (count < 1)
		return 64;
	if (strcmp(argv[3], "alone") == 0) {
		short_work();
		return 0;
	}
	bool exec = strcmp(argv[3], "exec") == 0;
	for (int i = 0; i < count; i++) {
		pthread_t thread;
		if (strcmp(argv[3], "threads") == 0) {
			if (pthread_create(&thread, NULL, short_thread, &threads_s) != 0)
				abort();
			pthread_join(thread, NULL);
		} else if (fork() == 0) {
			child(argv, exec);
		}
		wait_for_all();
	}
	struct rusage children;
	getrusage(RUSAGE_CHILDREN, &children);
	truth("children_s", truth_seconds(&children.ru_utime) + truth_seconds(&children.ru_stime) + threads_s);
	truth_cpu();
	return 0;
}
