/*
 * jailed FOLDER - changes its root to an empty folder, without /proc, and gives up being root; works on with threads
 * and children.
 */
#include "unbroken.h"

#include <pthread.h>
#include <sys/wait.h>

static void *work(void *context)
{
	work_ms(40);
	return context;
}

static void use(void)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
	work_ms(40);
	CHECK(pthread_join(thread, NULL) == 0);
	pid_t child = fork();
	if (child == 0) {
		work_ms(40);
		_exit(5);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2 && chroot(argv[1]) == 0 && chdir("/") == 0);
	use();
	CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	use();
	puts("lived in a jail");
	return 0;
}
