/*
 * direct MIB FILE - writes and reads FILE past the page cache. Exit status 77 where its file system cannot.
 */
#include "truth.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static double own_io(const char *name)
{
	char text[512];
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *at = strstr(text, name);
	return at ? atof(at + strlen(name)) : -1;
}

int main(int argc, char **argv)
{
	enum { CHUNK = 1 << 20, CANNOT = 77 };
	void *buffer;
	if (argc != 3 || posix_memalign(&buffer, 4096, CHUNK) != 0)
		return 64;
	memset(buffer, 1, CHUNK);
	int count = atoi(argv[1]), fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
	if (fd < 0)
		return CANNOT;
	for (int i = 0; i < count; i++)
		if (pwrite(fd, buffer, CHUNK, (off_t)i * CHUNK) != CHUNK)
			return CANNOT;
	for (int i = 0; i < count; i++)
		if (pread(fd, buffer, CHUNK, (off_t)i * CHUNK) != CHUNK)
			return CANNOT;
	close(fd);
	double moved = (double)count * CHUNK;
	if (own_io("\nread_bytes: ") < moved || own_io("\nwrite_bytes: ") < moved)
		return CANNOT; /* a file system in memory takes O_DIRECT as well */
	truth("moved_bytes", moved);
	truth("io_device_read_bytes", own_io("\nread_bytes: "));
	truth("io_device_write_bytes", own_io("\nwrite_bytes: "));
	return 0;
}
