/*
 * interrupted - system calls that a signal can interrupt, thousands of them between moments of work: none may end
 * early because of a signal that the program knows nothing of, and a sleep lasts as long as it was asked to.
 */
#include "unbroken.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

enum { ROUNDS = 400 };

static int channel[2];
static sem_t semaphore;

static void *feed(void *context)
{
	for (int i = 0; i < ROUNDS; i++) {
		work_ms(0.2);
		CHECK(write(channel[1], "x", 1) == 1 && sem_post(&semaphore) == 0);
	}
	return context;
}

static void calls(int epoll)
{
	struct timespec pause = {0, 50000};
	struct timeval wait = {0, 300};
	struct epoll_event event;
	char byte;
	CHECK(nanosleep(&pause, NULL) == 0);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) == 0);
	CHECK(usleep(30) == 0);
	CHECK(poll(NULL, 0, 1) == 0);
	CHECK(ppoll(NULL, 0, &pause, NULL) == 0);
	CHECK(select(0, NULL, NULL, NULL, &wait) == 0);
	CHECK(epoll_wait(epoll, &event, 1, 1) == 0);
	CHECK(read(channel[0], &byte, 1) == 1);
	CHECK(sem_wait(&semaphore) == 0);
}

int main(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	pthread_t thread;
	CHECK(epoll >= 0 && sem_init(&semaphore, 0, 0) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, channel) == 0);
	CHECK(pthread_create(&thread, NULL, feed, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		work_ms(0.3);
		calls(epoll);
	}
	CHECK(pthread_join(thread, NULL) == 0);
	puts("no call ended early");
	return 0;
}
