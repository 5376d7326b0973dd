/*
 * copy.c - see copy.h.
 *
 * The copy is made without locks (a lock file is what could not be made), so a live run could fold its log into the
 * file between our two reads. Sizes and times of both are therefore compared before and after, and a change means once
 * more.
 */
#include "store/copy.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 5 };

static const char *const endings[] = {"", "-wal"};
enum { ENDINGS = sizeof(endings) / sizeof(endings[0]) };

struct stamp {
	off_t size[ENDINGS];
	struct timespec changed[ENDINGS];
};

static struct stamp take_stamp(const char *path)
{
	struct stamp stamp;
	memset(&stamp, 0, sizeof(stamp));
	for (int i = 0; i < ENDINGS; i++) {
		char *name = mem_printf("%s%s", path, endings[i]);
		struct stat status;
		if (stat(name, &status) == 0) {
			stamp.size[i] = status.st_size;
			stamp.changed[i] = status.st_mtim;
		}
		free(name);
	}
	return stamp;
}

static bool copy_bytes(int from, int to)
{
	char bytes[64 * 1024];
	for (;;) {
		ssize_t got = read(from, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		for (ssize_t put = 0, now; put < got; put += now) {
			now = write(to, bytes + put, (size_t)(got - put));
			if (now < 0 && errno == EINTR)
				now = 0;
			if (now < 0)
				return false;
		}
	}
}

/* A log that is not there is an empty log. */
static int copy_one(const char *from, const char *to, bool may_be_missing, struct err *err)
{
	int code = 0;
	int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	if (in < 0 && errno == ENOENT && may_be_missing)
		return 0;
	if (in < 0)
		return err_set_errno(err, ERR_IO, "cannot read run file '%s'", from);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0 || !copy_bytes(in, out))
		code = err_set_errno(err, ERR_IO, "cannot copy run file '%s' to '%s' in order to read it", from, to);
	if (out >= 0)
		close(out);
	close(in);
	return code;
}

static int copy_all(const char *path, const char *target, struct err *err)
{
	int code = 0;
	for (int i = 0; i < ENDINGS && !code; i++) {
		char *from = mem_printf("%s%s", path, endings[i]);
		char *to = mem_printf("%s%s", target, endings[i]);
		code = copy_one(from, to, i > 0, err);
		free(from);
		free(to);
	}
	return code;
}

static int copy_steadily(const char *path, const char *target, struct err *err)
{
	for (int i = 0; i < TRIES; i++) {
		struct stamp before = take_stamp(path);
		int code = copy_all(path, target, err);
		if (code)
			return code;
		struct stamp after = take_stamp(path);
		if (memcmp(&before, &after, sizeof(before)) == 0)
			return 0;
	}
	return err_set(
		err, ERR_IO,
		"cannot read run file '%s': it is being written, and its folder is not writable for you; try again "
		"when the run has ended",
		path);
}

int copy_run_file(const char *path, char **dir, char **file, struct err *err)
{
	const char *root = getenv("TMPDIR");
	char *made = mem_printf("%s/pitot-read-XXXXXX", root && root[0] ? root : "/tmp");
	if (!mkdtemp(made)) {
		int code = err_set_errno(err, ERR_IO, "cannot create a temporary folder '%s' to read run file '%s'",
					 made, path);
		free(made);
		return code;
	}
	char *target = mem_printf("%s/run", made);
	int code = copy_steadily(path, target, err);
	if (code) {
		free(target);
		copy_remove(made);
		return code;
	}
	*dir = made;
	*file = target;
	return 0;
}

void copy_remove(char *dir)
{
	static const char *const names[] = {"run", "run-wal", "run-shm"};
	if (!dir)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *name = mem_printf("%s/%s", dir, names[i]);
		unlink(name);
		free(name);
	}
	rmdir(dir);
	free(dir);
}
