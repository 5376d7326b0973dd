/* file.c - see file.h. */
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, const char *path, size_t limit, char **out, size_t *size, struct err *err)
{
	size_t cap = 64 * 1024, len = 0;
	char *bytes = mem_alloc(cap + 1);
	for (;;) {
		if (len == cap) {
			cap *= 2;
			bytes = mem_resize(bytes, cap + 1);
		}
		ssize_t got = read(fd, bytes + len, cap - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int code = err_set_errno(err, ERR_IO, "cannot read '%s'", path);
			free(bytes);
			return code;
		}
		if (got == 0)
			break;
		len += (size_t)got;
		if (len > limit) {
			free(bytes);
			return err_set(err, ERR_INPUT, "'%s' is larger than %zu bytes", path, limit);
		}
	}
	bytes[len] = '\0';
	*out = bytes;
	*size = len;
	return 0;
}

int file_read(const char *path, size_t limit, char **out, size_t *size, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(err, ERR_INPUT, "cannot open '%s'", path);
	struct stat status;
	int code;
	if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
		code = err_set(err, ERR_INPUT, "'%s' is a directory, not a file", path);
	else
		code = read_all(fd, path, limit, out, size, err);
	close(fd);
	return code;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t put = write(fd, bytes, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		bytes += put;
		size -= (size_t)put;
	}
	return true;
}

/* Of a device, a FIFO or a symbolic link only the content is ours: to rename a file over it would put it away. */
static bool is_replaceable(const char *path)
{
	struct stat status;
	return lstat(path, &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

static int write_in_place(const char *path, const char *bytes, size_t size, struct err *err)
{
	int code = 0, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_set_errno(err, ERR_IO, "cannot open '%s'", path);
	if (!write_all(fd, bytes, size))
		code = err_set_errno(err, ERR_IO, "cannot write '%s'", path);
	if (close(fd) != 0 && !code)
		code = err_set_errno(err, ERR_IO, "cannot write '%s'", path);
	return code;
}

int file_write_atomic(const char *path, const char *bytes, size_t size, struct err *err)
{
	if (!is_replaceable(path))
		return write_in_place(path, bytes, size, err);
	char *beside = mem_printf("%s.%ld.tmp", path, (long)getpid());
	int code = 0;
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		code = err_set_errno(err, ERR_IO, "cannot create '%s'", beside);
		goto out;
	}
	bool written = write_all(fd, bytes, size);
	if (!written)
		code = err_set_errno(err, ERR_IO, "cannot write '%s'", path);
	if (close(fd) != 0 && !code)
		code = err_set_errno(err, ERR_IO, "cannot write '%s'", path);
	if (!code && rename(beside, path) != 0)
		code = err_set_errno(err, ERR_IO, "cannot rename '%s' to '%s'", beside, path);
	if (code)
		unlink(beside);
out:
	free(beside);
	return code;
}

int file_write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t put = write(fd, bytes, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		bytes += put;
		size -= (size_t)put;
	}
	return 0;
}

int file_make_dirs(const char *path, struct err *err)
{
	char *copy = mem_strdup(path);
	int code = 0;
	for (char *at = copy + 1; !code; at++) {
		if (*at != '/' && *at != '\0')
			continue;
		char kept = *at;
		*at = '\0';
		if (mkdir(copy, 0777) != 0 && errno != EEXIST)
			code = err_set_errno(err, ERR_IO, "cannot create folder '%s'", copy);
		*at = kept;
		if (!kept)
			break;
	}
	struct stat status;
	if (!code && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)))
		code = err_set(err, ERR_IO, "cannot create folder '%s': a file of that name is in the way", path);
	free(copy);
	return code;
}

char *file_make_temp_dir(struct err *err)
{
	const char *base = getenv("TMPDIR");
	char *path = mem_printf("%s/pitot-XXXXXX", base && base[0] ? base : "/tmp");
	if (mkdtemp(path))
		return path;
	err_set_errno(err, ERR_IO, "cannot make a temporary folder '%s'", path);
	free(path);
	return NULL;
}

ssize_t file_read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, out, size - 1);
	int saved = errno;
	close(fd);
	if (got < 0)
		return -saved;
	while (got > 0 && out[got - 1] == '\n')
		got--;
	out[got] = '\0';
	return got;
}

char *file_join(const char *base, const char *relative)
{
	if (relative[0] == '/' || !base || !base[0])
		return mem_strdup(relative);
	size_t length = strlen(base);
	return mem_printf("%s%s%s", base, base[length - 1] == '/' ? "" : "/", relative);
}

const char *file_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

const char *file_telling_name(const char *path)
{
	const char *base = file_base_name(path);
	if (strncmp(base, "__", 2) != 0 || base - path < 2)
		return base;
	const char *at = base - 1;
	while (at > path && at[-1] != '/')
		at--;
	return at;
}

static const char *root(const char *variable, const char *usual)
{
	const char *moved = getenv(variable);
	return moved && moved[0] ? moved : usual;
}

const char *file_procfs(void)
{
	return root("PITOT_PROCFS", "/proc");
}

const char *file_sysfs(void)
{
	return root("PITOT_SYSFS", "/sys");
}
