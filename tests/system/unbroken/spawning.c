/*
 * spawning - all ways to start a program: vfork, posix_spawn, system, popen, clone, execve with an environment of
 * one's own. Also from a thread, and a fork that goes on for a while without exec.
 */
#include "unbroken.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

static int status_of(pid_t child)
{
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void by_vfork(int i)
{
	char text[16];
	snprintf(text, sizeof(text), "exit %d", i);
	pid_t child = vfork();
	if (child == 0) {
		close(0);
		execl("/bin/sh", "sh", "-c", text, (char *)NULL);
		_exit(127);
	}
	CHECK(status_of(child) == i && fcntl(0, F_GETFD) >= 0);
	child = vfork();
	if (child == 0)
		_exit(i);
	CHECK(status_of(child) == i);
}

static void by_spawn(int i)
{
	char text[16];
	snprintf(text, sizeof(text), "exit %d", i);
	char *argv[] = {"sh", "-c", text, NULL}, *environment[] = {"A=1", NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;
	CHECK(posix_spawn_file_actions_init(&actions) == 0);
	CHECK(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0);
	CHECK(posix_spawn(&child, "/bin/sh", &actions, NULL, argv, environment) == 0 && status_of(child) == i);
	CHECK(posix_spawnp(&child, "sh", NULL, NULL, argv, environment) == 0 && status_of(child) == i);
	CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
	CHECK(posix_spawn(&child, "/no/such/program", NULL, NULL, argv, environment) == ENOENT);
}

static void by_shell(int i)
{
	char text[32], line[32] = "";
	snprintf(text, sizeof(text), "echo %d", i);
	FILE *pipe = popen(text, "r");
	CHECK(pipe && fgets(line, sizeof(line), pipe) && atoi(line) == i && pclose(pipe) == 0);
	snprintf(text, sizeof(text), "exit %d", i);
	CHECK(WEXITSTATUS(system(text)) == i);
}

static void by_fork(int i)
{
	pid_t child = fork();
	if (child == 0) {
		work_ms(5);
		_exit(i);
	}
	CHECK(status_of(child) == i);
}

static int in_clone(void *context)
{
	work_ms(2);
	return *(int *)context;
}

static void by_clone(int i)
{
	static char stack[65536] __attribute__((aligned(16)));
	CHECK(status_of(clone(in_clone, stack + sizeof(stack), SIGCHLD, &i)) == i);
}

static void *all_of_it(void *context)
{
	for (int i = 0; i < 12; i++) {
		by_vfork(i);
		by_spawn(i);
		by_shell(i);
		by_fork(i);
		by_clone(i);
		work_ms(5);
	}
	return context;
}

int main(void)
{
	pthread_t thread;
	all_of_it(NULL);
	CHECK(pthread_create(&thread, NULL, all_of_it, NULL) == 0 && pthread_join(thread, NULL) == 0);
	puts("all were started");
	return 0;
}
