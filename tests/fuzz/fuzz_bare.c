/*
 * fuzz_bare.c - any bytes as code that is followed to its return, from any place in it.
 *
 * The code is in memory of exactly its size, and said to run at an address of its own: what it jumps to must be looked up, never
 * gone to.
 */
#include "agent/bare.h"

#include <stdlib.h>
#include <string.h>

enum { START = 0x10000, STEPS = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct cfi_rule rule;
	if (size < 2)
		return 0;
	uint8_t *copy = malloc(size - 1);
	if (copy == NULL)
		return 0;
	memcpy(copy, bytes + 1, size - 1);
	struct bare_code code = {copy, START, size - 1};
	uintptr_t ip = START + bytes[0];
	if (bare_look_ahead(&code, ip, STEPS, &rule) && (rule.cfa_register >= ARCH_RA || rule.base_register >= ARCH_RA))
		abort();
	bare_return(&code, ip, &rule);
	bare_entry(&code, ip, &rule);
	bare_is_call(copy, code.size);
	free(copy);
	return 0;
}
