/*
 * expression.h - DWARF expressions of unwind rules, reduced to a form that needs no evaluator where stacks are walked; and the
 * bounded reading of bytes that expressions and .eh_frame have in common.
 *
 * All expressions that compilers and libraries write there reduce to `register + offset` or to `word at [register +
 * index * 8 + offset] + add`, once the address of the instruction is known (PLT stubs ask for its lowest bits). The index is
 * OpenSSL's: some of its functions keep the old stack pointer behind a vector on the stack.
 */
#ifndef PITOT_AGENT_EXPRESSION_H
#define PITOT_AGENT_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that are left to read. After a read beyond the end `bad` is set, and what was read is 0. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

uint64_t cursor_fixed(struct cursor *cursor, unsigned bytes); /* 1, 2, 4 or 8 */
uint64_t cursor_uleb(struct cursor *cursor);
int64_t cursor_sleb(struct cursor *cursor);
void cursor_skip(struct cursor *cursor, uint64_t bytes);

enum expression_kind { EXPRESSION_CONSTANT, EXPRESSION_REGISTER, EXPRESSION_MEMORY, EXPRESSION_SCALED };

enum { EXPRESSION_NO_INDEX = 0xFF };

struct expression_value {
	enum expression_kind kind;
	uint8_t number; /* of the register */
	uint8_t index;  /* of the register that is added 8 times; EXPRESSION_NO_INDEX: none */
	int64_t offset,
		add; /* a constant is in `offset`; so is the factor of a scaled register, which only stands on the way */
};

/* `at` is where the expression's length stands. False: it does not reduce, or is damaged. */
bool expression_reduce(const uint8_t *at, const uint8_t *end, uintptr_t ip, struct expression_value *out);

#endif
