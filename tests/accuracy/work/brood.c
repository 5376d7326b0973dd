/*
 * brood TRUES SHELLS - starts /bin/true TRUES times, then SHELLS shells that each count a little and start /bin/true
 * twice. One after the other: each lives for far less than a sampling interval.
 */
#include "truth.h"

#include <spawn.h>

extern char **environ;

static void run(char *const *argv)
{
	pid_t pid;
	int status;
	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		abort();
	if (waitpid(pid, &status, 0) != pid || status != 0)
		abort();
}

int main(int argc, char **argv)
{
	char *const small[] = {"/bin/true", NULL};
	/* The last command is a builtin, or some shells would exec it in place of themselves. */
	char *const shell[] = {"/bin/sh", "-c",
			       "i=0; while [ $i -lt 500 ]; do i=$((i + 1)); done; /bin/true; /bin/true; :", NULL};
	if (argc != 3)
		return 64;
	int trues = atoi(argv[1]), shells = atoi(argv[2]);
	for (int i = 0; i < trues; i++)
		run(small);
	for (int i = 0; i < shells; i++)
		run(shell);
	truth_usage();
	truth("processes", 1 + trues + 3 * shells);
	return 0;
}
