/*
 * burn USER_SECONDS SYSTEM_SECONDS THREADS - uses that much CPU time, each thread an equal share of it.
 */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

struct share {
	double user_s, system_s;
};

/* Filling a buffer with the kernel's zeros is all kernel time but for the entry and the return. */
static void burn_system_s(double seconds)
{
	enum { CHUNK = 1 << 20 };
	static char buffer[CHUNK];
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	double end = clock_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
	while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 8; i++)
			if (read(zeros, buffer, CHUNK) != CHUNK)
				abort();
	close(zeros);
}

static void *work(void *context)
{
	const struct share *share = context;
	burn_user_s(share->user_s);
	burn_system_s(share->system_s);
	return NULL;
}

int main(int argc, char **argv)
{
	enum { MOST = 64 };
	pthread_t threads[MOST];
	int count = argc == 4 ? atoi(argv[3]) : 0;
	if (count < 1 || count > MOST)
		return 64;
	struct share share = {atof(argv[1]) / count, atof(argv[2]) / count};
	for (int i = 1; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, &share) != 0)
			abort();
	work(&share);
	for (int i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	truth_usage();
	return 0;
}
