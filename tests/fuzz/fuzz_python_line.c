/*
 * fuzz_python_line.c - libFuzzer target: any bytes as a code object's line table, in each of the three formats.
 *
 * The first bytes choose version, first line and offset. A line is 0 or positive.
 */
#include "symbol/python_line.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct {
		int32_t first_line;
		uint32_t offset;
	} head;
	if (size < sizeof(head))
		return 0;
	memcpy(&head, bytes, sizeof(head));
	for (uint32_t minor = 5; minor < 15; minor++)
		if (python_line_at(0x03000000 | minor << 16, bytes + sizeof(head), size - sizeof(head), head.first_line,
				   head.offset) < 0)
			abort();
	return 0;
}
