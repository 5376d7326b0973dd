/*
 * spawn N PROGRAM [ARGUMENT...] - runs a program N times by posix_spawn and waitpid, and prints the time of each run in
 * nanoseconds: the least that running a program costs, to hold the tools against.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	if (argc < 3)
		return 64;
	int runs = atoi(argv[1]), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	long long *took = calloc((size_t)runs + 1, sizeof(*took));
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_adddup2(&actions, null, fd);
	for (int i = 0; i < runs; i++) {
		int status;
		pid_t pid;
		long long start = now_ns();
		if (posix_spawnp(&pid, argv[2], &actions, NULL, argv + 2, environ) != 0 || waitpid(pid, &status, 0) < 0)
			return 1;
		took[i] = now_ns() - start;
	}
	for (int i = 0; i < runs; i++)
		printf("%lld\n", took[i]);
	free(took);
	return 0;
}
