/*
 * closing - a daemon's habit: every descriptor is closed, in every way, and numbers are taken as they come; then
 * threads and children.
 */
#include "unbroken.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *work(void *context)
{
	work_ms(30);
	return context;
}

static void use(void)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
	int first = open("/dev/null", O_RDWR), second = open("/dev/null", O_RDWR);
	CHECK(first == 3 && second == 4);
	CHECK(close(first) == 0 && close(second) == 0);
	CHECK(close(first) == -1 && errno == EBADF);
	pid_t child = fork();
	if (child == 0) {
		work_ms(10);
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void close_listed(void)
{
	DIR *folder = opendir("/proc/self/fd");
	CHECK(folder);
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
		if (atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(folder))
			close(atoi(entry->d_name));
	closedir(folder);
}

int main(void)
{
	struct rlimit limit;
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	long most = limit.rlim_cur < 70000 ? (long)limit.rlim_cur : 70000;
	work_ms(30);
	for (int fd = 3; fd < most; fd++)
		close(fd);
	use();
	close_listed();
	use();
	CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	use();
	closefrom(3);
	use();
	/* Numbers at the very top are the program's to take. */
	for (int fd = (int)most - 1; fd > most - 40; fd--)
		CHECK(dup2(0, fd) == fd && fcntl(fd, F_GETFD) >= 0);
	use();
	for (int fd = (int)most - 1; fd > most - 40; fd--)
		CHECK(close(fd) == 0 && fcntl(fd, F_GETFD) == -1);
	use();
	puts("closed and reopened");
	return 0;
}
