/*
 * files MIB TIMES FILE - writes FILE and reads it back through the page cache in pieces of 4 KiB, TIMES times: mostly
 * system calls, none of which waits for a device.
 */
#include "inner.h"

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	enum { PIECE = 4096 };
	static char piece[PIECE];
	double start = now_s();
	if (argc != 4)
		return 64;
	long pieces = atol(argv[1]) * (1 << 20) / PIECE;
	int fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (int left = atoi(argv[2]); left > 0; left--) {
		for (long i = 0; i < pieces; i++)
			if (pwrite(fd, piece, PIECE, i * PIECE) != PIECE)
				return 1;
		for (long i = 0; i < pieces; i++)
			if (pread(fd, piece, PIECE, i * PIECE) != PIECE)
				return 1;
	}
	close(fd);
	unlink(argv[3]);
	return tell_inner(start);
}
