/*
 * traffic KIB CALLS CHILDREN FILE - writes KIB to FILE in CALLS calls and reads it back the same way; itself where
 * CHILDREN is 0, else each of the children in turn. Then it reads its own /proc/self/io, in which the children it has
 * waited for are contained, and says what that will be once it has said so: the very last bytes are part of the count.
 */
#include "truth.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void move(size_t chunk, int calls, const char *path)
{
	char *buffer = calloc(1, chunk);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (int i = 0; i < calls; i++)
		if (write(fd, buffer, chunk) != (ssize_t)chunk)
			abort();
	lseek(fd, 0, SEEK_SET);
	for (int i = 0; i < calls; i++)
		if (read(fd, buffer, chunk) != (ssize_t)chunk)
			abort();
	close(fd);
	free(buffer);
}

static void tell(void)
{
	static const char form[] = "truth io_read_bytes %020llu\ntruth io_write_bytes %020llu\n"
				   "truth io_read_calls %020llu\ntruth io_write_calls %020llu\n";
	char text[512];
	unsigned long long read_bytes, write_bytes, read_calls, write_calls;
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		abort();
	text[got] = '\0';
	if (sscanf(text, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &read_bytes, &write_bytes, &read_calls,
		   &write_calls) != 4)
		abort();
	read_bytes += (unsigned long long)got;
	read_calls++;
	/* Numbers of fixed width, so that the length of the message does not depend on what it says. */
	int length = snprintf(text, sizeof(text), form, 0ull, 0ull, 0ull, 0ull);
	snprintf(text, sizeof(text), form, read_bytes, write_bytes + (unsigned long long)length, read_calls,
		 write_calls + 1);
	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		abort();
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 64;
	int calls = atoi(argv[2]), children = atoi(argv[3]);
	size_t chunk = ((size_t)atol(argv[1]) << 10) / (size_t)calls;
	if (children == 0)
		move(chunk, calls, argv[4]);
	for (int i = 0; i < children; i++) {
		if (fork() == 0) {
			move(chunk, calls, argv[4]);
			_exit(0);
		}
		wait_for_all();
	}
	tell();
	return 0;
}
