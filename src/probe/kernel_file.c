/* kernel_file.c - see kernel_file.h. */
#include "probe/kernel_file.h"
#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int kernel_open(const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

void kernel_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

ssize_t kernel_pread(int fd, char *out, size_t size)
{
	ssize_t got;
	do
		got = pread(fd, out, size - 1, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	out[got] = '\0';
	return got;
}

/* Digits, then nothing but white space: what the kernel writes for a plain number. */
static bool parse_u64(const char *text, uint64_t *out)
{
	if (text[0] < '0' || text[0] > '9')
		return false;
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || end[strspn(end, " \n")] != '\0')
		return false;
	*out = number;
	return true;
}

bool kernel_pread_u64(int fd, uint64_t *out)
{
	char text[64];
	return fd >= 0 && kernel_pread(fd, text, sizeof(text)) > 0 && parse_u64(text, out);
}

bool kernel_text(char *out, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return file_read_small(path, out, size) >= 0;
}

bool kernel_u64(uint64_t *out, const char *format, ...)
{
	char path[PATH_MAX], text[64];
	va_list args;
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return file_read_small(path, text, sizeof(text)) > 0 && parse_u64(text, out);
}

static bool number_at(const char *text, uint64_t *out)
{
	text += strspn(text, " \t");
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*out = strtoull(text, NULL, 10);
	return errno == 0;
}

bool kernel_find_u64(const char *text, const char *key, const char *field, uint64_t *out)
{
	while (text) {
		if (str_starts(text, key))
			break;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (!text)
		return false;
	text += strlen(key);
	if (!field)
		return number_at(text, out);
	const char *end = strchrnul(text, '\n');
	const char *at = strstr(text, field);
	return at && at < end && number_at(at + strlen(field), out);
}

bool kernel_list_next(const char **at, int *first, int *last)
{
	const char *text = *at + strspn(*at, ", \n");
	char *end;
	long from = strtol(text, &end, 10), to = from;
	if (end == text || from < 0 || from > INT_MAX)
		return false;
	if (*end == '-') {
		text = end + 1;
		to = strtol(text, &end, 10);
		if (end == text || to < from || to > INT_MAX)
			return false;
	}
	*at = end;
	*first = (int)from;
	*last = (int)to;
	return true;
}
