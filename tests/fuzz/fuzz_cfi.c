/*
 * fuzz_cfi.c - any bytes as .eh_frame_hdr and .eh_frame.
 *
 * The first four bytes say how far before the image's start (where its code would be) the address is that is looked for; the rest is the
 * image, in memory of exactly its size.
 */
#include "agent/cfi.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int32_t distance;
	struct cfi_rule rule = {.cfa_register = 0};
	if (size < sizeof distance + 1)
		return 0;
	memcpy(&distance, bytes, sizeof distance);
	size -= sizeof distance;
	unsigned char *image = malloc(size);
	if (image == NULL)
		return 0;
	memcpy(image, bytes + sizeof distance, size);
	struct cfi_view view = {(uintptr_t)image, (uintptr_t)image + size, (uintptr_t)image};
	uintptr_t pc = (uintptr_t)image - (uintptr_t)(intptr_t)distance;
	struct cfi_range range = {0, 0};
	if (cfi_find(&view, pc, &rule, &range) == CFI_FOUND &&
	    (pc < range.start || pc >= range.end || rule.cfa_register >= ARCH_REGISTERS ||
	     rule.base_register >= ARCH_REGISTERS ||
	     ((rule.flags & CFI_RA_REGISTER) && (rule.ra < 0 || rule.ra >= ARCH_REGISTERS))))
		abort();
	free(image);
	return 0;
}
