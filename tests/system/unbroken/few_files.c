/*
 * few_files - lowers its own limit of open files, opens as many as are left, and works with threads when there are
 * none left.
 */
#include "unbroken.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

enum { LIMIT = 24 };

static void *work(void *context)
{
	work_ms(40);
	return context;
}

int main(void)
{
	struct rlimit limit = {LIMIT, LIMIT}, now;
	pthread_t threads[30];
	closefrom(3);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == LIMIT && now.rlim_max == LIMIT);
	int opened = 0;
	while (open("/dev/null", O_RDONLY) >= 0)
		opened++;
	CHECK(errno == EMFILE);
	for (int i = 0; i < 30; i++)
		CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 30; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	printf("%d were opened\n", opened);
	return 0;
}
