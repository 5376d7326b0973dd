/*
 * pitot.c - libpitot: implements include/pitot.h.
 *
 * There is no state. Each record opens the channel, writes one line and closes it again: a descriptor kept between
 * calls could have been closed and reused by the program, and our next record would land in the program's own file. The
 * price is a few microseconds per call, which marks and metrics can pay. No state also means nothing to lock, and
 * nothing that fork could leave half done.
 *
 * The host program must not notice: errno is kept, thread cancellation waits, a file-size limit does not become a
 * signal, and a channel that is no regular file (a pipe would block) is left alone.
 */
#include "pitot.h"
#include "wire/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* NULL where no pitot listens. A set-user-ID program must not write where its caller's environment says. */
static const char *channel_path(void)
{
	const char *path = secure_getenv(CHANNEL_VARIABLE);
	return path && path[0] == '/' ? path : NULL;
}

static uint64_t mono_ns(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A write beyond RLIMIT_FSIZE sends SIGXFSZ, whose default ends the program: it is held back, and taken off again where
 * this write caused it. */
static void write_quietly(int fd, const char *line, size_t length)
{
	sigset_t limit, before, pending;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (pthread_sigmask(SIG_BLOCK, &limit, &before) != 0)
		return;
	sigemptyset(&pending);
	sigpending(&pending);
	bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
	ssize_t put = write(fd, line, length);
	if (put < 0 && errno == EFBIG && !was_pending) {
		const struct timespec no_wait = {0};
		sigtimedwait(&limit, NULL, &no_wait);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void append(const char *path, const char *line, size_t length)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	struct stat status;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		write_quietly(fd, line, length);
	close(fd);
}

static void send_record(const char *path, struct channel_record *record)
{
	char line[CHANNEL_LINE_SIZE];
	record->mono_ns = mono_ns();
	record->pid = getpid();
	size_t length = channel_format(record, line);
	if (length)
		append(path, line, length);
}

static void send_kept_apart(const char *path, struct channel_record *record)
{
	int saved = errno, cancel = PTHREAD_CANCEL_ENABLE;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	send_record(path, record);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

int pitot_active(void)
{
	return channel_path() != NULL;
}

void pitot_metric(const char *name, double value)
{
	const char *path = channel_path();
	struct channel_record record = {.kind = CHANNEL_METRIC, .value = value};
	if (path && name && channel_set_text(&record, name))
		send_kept_apart(path, &record);
}

void pitot_mark(const char *label)
{
	const char *path = channel_path();
	struct channel_record record = {.kind = CHANNEL_MARK};
	if (!path || !label)
		return;
	channel_set_text(&record, label);
	send_kept_apart(path, &record);
}

const char *pitot_version(void)
{
	return PITOT_VERSION;
}
