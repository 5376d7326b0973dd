/*
 * scan.h - where the delimiters and line ends of a CSV text stand, 64 bytes at a time.
 *
 * The text is turned into bit masks (one bit per byte) by the widest instructions that the CPU has: AVX-512, AVX2, SSE2, NEON, or plain
 * code; scan_kernels() picks once. What stands within quotes is masked out by the running parity of the quotes.
 *
 * The text must be readable for SCAN_SLACK bytes beyond its end. `cells` and `records` need room for
 * as many positions as the tally counts (delimiters and lines; lines), and SCAN_SLACK more.
 */
#ifndef PITOT_TABLE_SCAN_H
#define PITOT_TABLE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCAN_SLACK = 64 };

struct scan_tally {
	uint64_t quotes, delimiters;
	uint64_t lines; /* LF, CRLF or CR, within quotes too */
};

struct scan_index {
	uint32_t *cells; /* where each cell ends: at a delimiter or a line end */
	size_t cell_count;
	uint32_t *records; /* of `cells`: the index after a record's last cell */
	size_t record_count;
	bool quoted; /* there are quotes */
	bool wide;   /* there are bytes above 127 */
};

struct scan_kernel {
	const char *name;
	void (*tally)(const char *text, size_t size, char delimiter, struct scan_tally *out);
	void (*index)(const char *text, size_t size, char delimiter, struct scan_index *out);
};

/* The best first; the last is plain code. For tests. */
size_t scan_kernels(const struct scan_kernel **out);
const struct scan_kernel *scan_kernel_best(void);

#endif
