/*
 * crowd CHILDREN SECONDS - that many children that do nothing for that long, all alive at once.
 */
#include "truth.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	int count = atoi(argv[1]);
	double end = clock_s(CLOCK_MONOTONIC) + atof(argv[2]);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid < 0)
			abort();
		if (pid == 0) {
			double left = end - clock_s(CLOCK_MONOTONIC);
			sleep_s(left > 0 ? left : 0);
			_exit(0);
		}
	}
	wait_for_all();
	truth("processes", 1 + count);
	return 0;
}
