/*
 * code_killed SECONDS - a child works and writes into shared memory how much CPU time it has used; after SECONDS of
 * it the parent kills it. Tells the last that the child had written.
 */
#include "code.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

struct stamp {
	_Atomic double cpu_s, mono_s;
};

static CODE_FUNCTION void victim(struct stamp *stamp)
{
	uint64_t state = 1;
	for (;;) {
		for (unsigned i = 0; i < CODE_STEPS_PER_MS / 20; i++)
			state = code_mix(state);
		atomic_store(&stamp->cpu_s, code_cpu_s() + (state == 0));
		atomic_store(&stamp->mono_s, clock_s(CLOCK_MONOTONIC));
	}
}

int main(int argc, char **argv)
{
	double wanted_s = argc == 2 ? atof(argv[1]) : 0;
	struct stamp *stamp = mmap(NULL, sizeof(*stamp), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stamp == MAP_FAILED)
		abort();
	pid_t child = fork();
	if (child == 0)
		victim(stamp);
	while (atomic_load(&stamp->cpu_s) < wanted_s)
		sleep_s(0.001);
	kill(child, SIGKILL);
	struct rusage usage;
	wait4(child, NULL, 0, &usage);
	truth("pid", child);
	truth("stamped_cpu_s", atomic_load(&stamp->cpu_s));
	truth("stamped_mono_s", atomic_load(&stamp->mono_s));
	truth("killed_cpu_s", truth_seconds(&usage.ru_utime) + truth_seconds(&usage.ru_stime));
	return 0;
}
