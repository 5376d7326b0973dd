/*
 * careless CHILDREN CPU_SECONDS - a parent that ignores SIGCHLD: its children vanish without being waited for, and what
 * they used goes into nobody's account. They report it themselves through shared memory.
 */
#include "truth.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	enum { MOST = 64 };
	int count = argc == 3 ? atoi(argv[1]) : 0;
	if (count < 1 || count > MOST)
		return 64;
	double *used = mmap(NULL, MOST * sizeof(*used), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (used == MAP_FAILED)
		return 1;
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < count; i++)
		if (fork() == 0) {
			burn_user_s(atof(argv[2]) / count);
			used[i] = clock_s(CLOCK_PROCESS_CPUTIME_ID);
			_exit(0);
		}
	wait_for_all(); /* comes back when none is left */
	double sum = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	truth("own_cpu_s", sum);
	for (int i = 0; i < count; i++)
		sum += used[i];
	truth("cpu_time_s", sum);
	truth("processes", 1 + count);
	return 0;
}
