/*
 * few_files_late - threads that take away the last descriptors right after they began, and what the program maps in the meantime
 * is its own.
 */
#include "unbroken.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { THREADS = 20, PAGES = 32, PAGE_BYTES = 4096 };

static char *pages[THREADS][PAGES];

/* Most of the mapped pages lie where another was just given back. */
static void *work(void *own)
{
	char **mine = own;
	struct rlimit limit, none;
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 3;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	for (int i = 0; i < PAGES; i++) {
		work_ms(0.5);
		mine[i] = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(mine[i] != MAP_FAILED);
		mine[i][0] = 1;
	}
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, work, pages[i]) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	int kept = 0;
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < PAGES; k++)
			kept += pages[i][k][0];
	printf("%d pages were kept\n", kept);
	return 0;
}
