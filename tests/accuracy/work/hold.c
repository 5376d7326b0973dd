/*
 * hold THREADS FILES SECONDS - keeps that many more threads and descriptors for a while.
 */
#include "truth.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>

static void *wait_long(void *context)
{
	sleep_s(*(const double *)context);
	return NULL;
}

static int count_descriptors(void)
{
	int count = -1; /* the one that counts */
	DIR *folder = opendir("/proc/self/fd");
	for (struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	enum { MOST = 256 };
	pthread_t threads[MOST];
	if (argc != 4 || atoi(argv[1]) > MOST)
		return 64;
	int count = atoi(argv[1]);
	double seconds = atof(argv[3]);
	for (int i = 0; i < atoi(argv[2]); i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			abort();
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, wait_long, &seconds) != 0)
			abort();
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (count == 0)
		sleep_s(seconds);
	truth("threads", count + 1);
	truth("open_files", count_descriptors());
	return 0;
}
