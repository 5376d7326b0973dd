/*
 * many_threads COUNT - that many threads one after the other, four at a time, each of them gone after a moment. Some
 * are detached, some cancelled, some leave by pthread_exit.
 */
#include "unbroken.h"

#include <pthread.h>
#include <semaphore.h>

static sem_t ended;

static void *leave(void *context)
{
	pthread_exit(context);
}

static void *wait_to_be_cancelled(void *context)
{
	for (;;)
		sleep(1000);
	return context;
}

static void *detached(void *context)
{
	CHECK(sem_post(&ended) == 0);
	return context;
}

static void *briefly(void *context)
{
	for (volatile int i = 0; i < 20000; i++)
		continue;
	return context;
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t threads[4];
	void *result;
	CHECK(sem_init(&ended, 0, 0) == 0);
	for (int i = 0; i < count; i += 4) {
		CHECK(pthread_create(&threads[0], NULL, leave, &count) == 0);
		CHECK(pthread_create(&threads[1], NULL, wait_to_be_cancelled, NULL) == 0);
		CHECK(pthread_create(&threads[2], NULL, detached, NULL) == 0);
		CHECK(pthread_create(&threads[3], NULL, briefly, NULL) == 0);
		CHECK(pthread_detach(threads[2]) == 0 && pthread_cancel(threads[1]) == 0);
		CHECK(pthread_join(threads[0], &result) == 0 && result == &count);
		CHECK(pthread_join(threads[1], &result) == 0 && result == PTHREAD_CANCELED);
		CHECK(pthread_join(threads[3], &result) == 0 && result == NULL);
		while (sem_wait(&ended) != 0)
			CHECK(errno == EINTR);
	}
	puts("all threads ended");
	return 0;
}
