/*
 * code_pair SECONDS - two threads that use equal CPU time: one profiler's 80/20 for two equal threads is where this
 * comes from.
 */
#include "code.h"

#include <pthread.h>

static double wanted_s, used_s[2];

#define THREAD(name, number)                                                                                           \
	static CODE_FUNCTION void *name(void *context)                                                                 \
	{                                                                                                              \
		uint64_t state = 1;                                                                                    \
		while (code_cpu_s() < wanted_s)                                                                        \
			for (unsigned i = 0; i < CODE_STEPS_PER_MS / 8; i++)                                           \
				state = code_mix(state);                                                               \
		used_s[number] = code_cpu_s();                                                                         \
		return state ? context : NULL;                                                                         \
	}

THREAD(left, 0)
THREAD(right, 1)

int main(int argc, char **argv)
{
	pthread_t threads[2];
	wanted_s = argc == 2 ? atof(argv[1]) : 0;
	if (pthread_create(&threads[0], NULL, left, NULL) != 0 || pthread_create(&threads[1], NULL, right, NULL) != 0)
		abort();
	pthread_setname_np(threads[0], "left");
	pthread_setname_np(threads[1], "right");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	truth("left_s", used_s[0]);
	truth("right_s", used_s[1]);
	truth_cpu();
	return 0;
}
