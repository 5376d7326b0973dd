/*
 * expression.c - see expression.h. A stack machine over symbolic values: what is not a constant is a register plus an
 * offset, or the word there plus an addend; an operation that would need more makes the expression irreducible.
 */
#include "agent/expression.h"

#include "agent/arch.h"

#include <string.h>

enum { STACK_MOST = 8, STEPS_MOST = 64 };

uint64_t cursor_fixed(struct cursor *cursor, unsigned bytes)
{
	uint64_t value = 0;
	if (cursor->bad || (uint64_t)(cursor->end - cursor->at) < bytes) {
		cursor->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)cursor->at[i] << (8 * i);
	cursor->at += bytes;
	return value;
}

uint64_t cursor_uleb(struct cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t byte = cursor_fixed(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7F) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->bad = true;
	return 0;
}

int64_t cursor_sleb(struct cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t byte = cursor_fixed(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7F) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			value |= ~0ULL << (shift + 7);
		return (int64_t)value;
	}
	cursor->bad = true;
	return 0;
}

void cursor_skip(struct cursor *cursor, uint64_t bytes)
{
	if (cursor->bad || bytes > (uint64_t)(cursor->end - cursor->at))
		cursor->bad = true;
	else
		cursor->at += bytes;
}

struct machine {
	struct cursor code;
	uintptr_t ip;
	unsigned depth;
	struct expression_value stack[STACK_MOST];
};

static bool push(struct machine *machine, enum expression_kind kind, uint8_t number, int64_t offset)
{
	if (machine->depth == STACK_MOST)
		return false;
	machine->stack[machine->depth++] = (struct expression_value){kind, number, EXPRESSION_NO_INDEX, offset, 0};
	return true;
}

/* DW_OP_const1u to DW_OP_consts. */
static bool push_constant(struct machine *machine, uint8_t code)
{
	struct cursor *from = &machine->code;
	switch (code) {
	case 0x08:
		return push(machine, EXPRESSION_CONSTANT, 0, (int64_t)cursor_fixed(from, 1));
	case 0x09:
		return push(machine, EXPRESSION_CONSTANT, 0, (int8_t)cursor_fixed(from, 1));
	case 0x0A:
		return push(machine, EXPRESSION_CONSTANT, 0, (int64_t)cursor_fixed(from, 2));
	case 0x0B:
		return push(machine, EXPRESSION_CONSTANT, 0, (int16_t)cursor_fixed(from, 2));
	case 0x0C:
		return push(machine, EXPRESSION_CONSTANT, 0, (int64_t)cursor_fixed(from, 4));
	case 0x0D:
		return push(machine, EXPRESSION_CONSTANT, 0, (int32_t)cursor_fixed(from, 4));
	case 0x0E:
	case 0x0F:
		return push(machine, EXPRESSION_CONSTANT, 0, (int64_t)cursor_fixed(from, 8));
	case 0x10:
		return push(machine, EXPRESSION_CONSTANT, 0, (int64_t)cursor_uleb(from));
	default:
		return push(machine, EXPRESSION_CONSTANT, 0, cursor_sleb(from));
	}
}

static bool push_register(struct machine *machine, uint64_t number)
{
	int64_t offset = cursor_sleb(&machine->code);
	if (number >= ARCH_REGISTERS)
		return false;
#if defined(__x86_64__)
	/* The return address column of this frame is the instruction itself, and that is known. */
	if (number == ARCH_RA)
		return push(machine, EXPRESSION_CONSTANT, 0, (int64_t)(machine->ip + (uintptr_t)offset));
#endif
	return push(machine, EXPRESSION_REGISTER, (uint8_t)number, offset);
}

static bool add(struct expression_value *value, uint64_t more)
{
	int64_t *sum = value->kind == EXPRESSION_MEMORY ? &value->add : &value->offset;
	*sum = (int64_t)((uint64_t)*sum + more);
	return true;
}

static bool combine_constants(uint8_t code, int64_t left, int64_t right, int64_t *out)
{
	uint64_t a = (uint64_t)left, b = (uint64_t)right;
	switch (code) {
	case 0x1A:
		*out = left & right;
		return true;
	case 0x1E:
		*out = (int64_t)(a * b);
		return true;
	case 0x21:
		*out = left | right;
		return true;
	case 0x24:
		*out = b < 64 ? (int64_t)(a << b) : 0;
		return true;
	case 0x25:
		*out = b < 64 ? (int64_t)(a >> b) : 0;
		return true;
	case 0x27:
		*out = left ^ right;
		return true;
	case 0x29:
		*out = left == right;
		return true;
	case 0x2A:
		*out = left >= right;
		return true;
	case 0x2B:
		*out = left > right;
		return true;
	case 0x2C:
		*out = left <= right;
		return true;
	case 0x2D:
		*out = left < right;
		return true;
	case 0x2E:
		*out = left != right;
		return true;
	default:
		return false;
	}
}

/* A register times 8, to be added to another one. */
static bool combine_registers(uint8_t code, struct expression_value *left, const struct expression_value *right)
{
	if (code == 0x1E && left->kind == EXPRESSION_REGISTER && left->offset == 0 &&
	    left->index == EXPRESSION_NO_INDEX && right->kind == EXPRESSION_CONSTANT) {
		left->kind = EXPRESSION_SCALED;
		left->offset = right->offset;
		return true;
	}
	if (code == 0x22 && left->kind == EXPRESSION_REGISTER && left->index == EXPRESSION_NO_INDEX &&
	    right->kind == EXPRESSION_SCALED && right->offset == 8) {
		left->index = right->number;
		return true;
	}
	return false;
}

/* The two on top become one. */
static bool combine(struct machine *machine, uint8_t code)
{
	if (machine->depth < 2)
		return false;
	struct expression_value right = machine->stack[--machine->depth];
	struct expression_value *left = &machine->stack[machine->depth - 1];
	if (combine_registers(code, left, &right))
		return true;
	if (left->kind == EXPRESSION_SCALED || right.kind == EXPRESSION_SCALED)
		return false;
	if (code == 0x22 && left->kind == EXPRESSION_CONSTANT) {
		int64_t more = left->offset;
		*left = right;
		return add(left, (uint64_t)more);
	}
	if (right.kind != EXPRESSION_CONSTANT)
		return false;
	if (code == 0x22)
		return add(left, (uint64_t)right.offset);
	if (code == 0x1C)
		return add(left, 0 - (uint64_t)right.offset);
	return left->kind == EXPRESSION_CONSTANT && combine_constants(code, left->offset, right.offset, &left->offset);
}

static bool step(struct machine *machine, uint8_t code)
{
	struct expression_value *top = machine->depth > 0 ? &machine->stack[machine->depth - 1] : NULL;
	if (code >= 0x30 && code <= 0x4F)
		return push(machine, EXPRESSION_CONSTANT, 0, code - 0x30);
	if (code >= 0x70 && code <= 0x8F)
		return push_register(machine, code - 0x70U);
	if (code == 0x92)
		return push_register(machine, cursor_uleb(&machine->code));
	if (code >= 0x08 && code <= 0x11)
		return push_constant(machine, code);
	if (code == 0x96)
		return true;
	if (top == NULL)
		return false;
	switch (code) {
	case 0x06:
		if (top->kind != EXPRESSION_REGISTER)
			return false;
		top->kind = EXPRESSION_MEMORY;
		return true;
	case 0x12:
		if (machine->depth == STACK_MOST)
			return false;
		machine->stack[machine->depth++] = *top;
		return true;
	case 0x13:
		machine->depth--;
		return true;
	case 0x23:
		return top->kind != EXPRESSION_SCALED && add(top, cursor_uleb(&machine->code));
	default:
		return combine(machine, code);
	}
}

bool expression_reduce(const uint8_t *at, const uint8_t *end, uintptr_t ip, struct expression_value *out)
{
	struct machine machine = {.code = {at, end, false}, .ip = ip};
	uint64_t length = cursor_uleb(&machine.code);
	if (machine.code.bad || length > (uint64_t)(end - machine.code.at))
		return false;
	machine.code.end = machine.code.at + length;
	for (unsigned steps = 0; machine.code.at < machine.code.end; steps++)
		if (steps == STEPS_MOST || !step(&machine, (uint8_t)cursor_fixed(&machine.code, 1)) || machine.code.bad)
			return false;
	if (machine.depth == 0)
		return false;
	*out = machine.stack[machine.depth - 1];
	return out->kind != EXPRESSION_SCALED;
}
