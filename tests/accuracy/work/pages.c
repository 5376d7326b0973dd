/*
 * pages COUNT - touches that many small pages for the first time and sleeps as often as a hundredth of that.
 */
#include "truth.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
	enum { PAGE = 4096 };
	if (argc != 2)
		return 64;
	size_t count = (size_t)atol(argv[1]);
	char *memory = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, count * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		memory[i * PAGE] = 1;
	for (size_t i = 0; i < count / 100; i++)
		sleep_s(0.0001);
	truth("pages", (double)count);
	truth("sleeps", (double)(count / 100));
	truth_usage();
	return 0;
}
