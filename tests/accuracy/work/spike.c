/*
 * spike MIB MILLISECONDS - touches that much memory, holds it for that long, gives it back, and goes on for a while.
 */
#include "truth.h"

#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	size_t bytes = (size_t)atol(argv[1]) << 20;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	size_t most = bytes / 10 * 9;
	memset(memory, 1, most);
	double near_top = clock_s(CLOCK_MONOTONIC);
	memset(memory + most, 1, bytes - most);
	sleep_s(atof(argv[2]) / 1000);
	near_top = clock_s(CLOCK_MONOTONIC) - near_top;
	munmap(memory, bytes);
	sleep_s(0.3);
	truth("touched_bytes", (double)bytes);
	truth("near_top_s", near_top); /* with at least nine tenths of it: how long one has to notice */
	return 0;
}
