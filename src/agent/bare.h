/*
 * bare.h - the unwind rule of code that has none: hand-written assembler (BLAS kernels above all) and generated code.
 */
#ifndef PITOT_AGENT_BARE_H
#define PITOT_AGENT_BARE_H

#include "agent/cfi.h"

#include <stddef.h>

/* A stretch of code that can be read; `start` is where it runs, `bytes` may be a copy of it. */
struct bare_code {
	const uint8_t *bytes;
	uintptr_t start;
	size_t size;
};

/* Follows the code from `ip` to its return, at most `steps` instructions. False: that leads nowhere. */
bool bare_look_ahead(const struct bare_code *code, uintptr_t ip, unsigned steps, struct cfi_rule *rule);

/* Goes to the next instruction where the same rule, found by looking ahead, holds. False: it may not. */
bool bare_shares_next(const struct bare_code *code, uintptr_t *ip, const struct cfi_rule *rule);

/* Where the return is only a few instructions away. What compilers say of a frame that is half taken down is not always true
 * (gcc, where a function aligned its stack); the code itself is. */
bool bare_return(const struct bare_code *code, uintptr_t ip, struct cfi_rule *rule);

/* Where a function is just about to set up its frame pointer: up to a few instructions before that, and in the middle of it. */
bool bare_entry(const struct bare_code *code, uintptr_t ip, struct cfi_rule *rule);

/* Whether the `count` bytes that end where a call would return to end with a call. */
bool bare_is_call(const uint8_t *before, size_t count);

#endif
