/*
 * forking - fork from one of several threads that all work; the child works, makes threads and forks itself. Also
 * fork in a signal handler, and a child that outlives its parent.
 */
#include "unbroken.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t forked;

static void *work(void *context)
{
	work_ms(20);
	return context;
}

static void with_thread(void)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
	work_ms(10);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void wait_for(pid_t child, int wanted)
{
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

static void *fork_deep(void *context)
{
	for (int i = 0; i < 4; i++) {
		pid_t child = fork();
		if (child == 0) {
			with_thread();
			pid_t grandchild = fork();
			if (grandchild == 0) {
				with_thread();
				_exit(3);
			}
			wait_for(grandchild, 3);
			_exit(2);
		}
		wait_for(child, 2);
	}
	return context;
}

static void on_user(int number)
{
	pid_t child = fork();
	if (child == 0) {
		work_ms(5);
		_exit(number == SIGUSR1 ? 4 : 5);
	}
	wait_for(child, 4);
	forked++;
}

int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, i < 2 ? fork_deep : work, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(signal(SIGUSR1, on_user) == SIG_DFL);
	for (int i = 0; i < 5; i++)
		CHECK(raise(SIGUSR1) == 0);
	CHECK(forked == 5);
	pid_t child = fork();
	if (child == 0) {
		if (fork() == 0)
			work_ms(50);
		_exit(6);
	}
	wait_for(child, 6);
	puts("all children came back");
	return 0;
}
