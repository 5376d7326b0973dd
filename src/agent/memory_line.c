/*
 * memory_line.c - the instructions of an instruction's line, so that a line is one place, however many calls it has.
 *
 * A function that calls itself twice in one line would else have twice as many stacks at each depth. The table of lines is read from the
 * record of the code object in the wire file, which has a copy of it. It is that of Python 3.11 and later: entries of a first byte
 * 1kkkkccc (kind, code units less one) and operands without the highest bit, the first of which is the line's change where the kind
 * has one (see src/symbol/python_line.c, which reads all versions).
 */
#include "agent/memory_stack.h"

enum { UNIT_BYTES = 2, ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15, SHIFT_MOST = 30 };

struct table {
	const uint8_t *at, *end;
	int64_t line;
	uint32_t start, next; /* offsets of the entry, and of the one after it */
	bool has_line;
};

/* Six bits a byte, the lowest first, with bit 6 where another follows; the sign is the lowest bit. */
static int64_t read_signed(struct table *table)
{
	uint64_t value = 0;
	for (unsigned shift = 0; table->at < table->end && shift <= SHIFT_MOST; shift += 6) {
		uint8_t byte = *table->at++;
		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static bool next_entry(struct table *table)
{
	while (table->at < table->end && !(*table->at & 0x80))
		table->at++;
	if (table->at == table->end)
		return false;
	uint8_t first = *table->at++;
	unsigned kind = first >> 3 & 15;
	if (kind == LONG || kind == NO_COLUMNS)
		table->line += read_signed(table);
	else if (kind >= ONE_LINE && kind < NO_COLUMNS)
		table->line += kind - ONE_LINE;
	table->has_line = kind != NO_LINE;
	table->start = table->next;
	table->next += ((first & 7U) + 1) * UNIT_BYTES;
	return true;
}

static struct table open_table(const struct wire_code *code)
{
	const uint8_t *text = (const uint8_t *)code->text + code->name_bytes + code->file_bytes;
	return (struct table){.at = text, .end = text + code->line_bytes};
}

struct stretch {
	int64_t line;
	uint32_t low, high;
};

/* The entries around `offset` that follow each other and are of one line. False: it is of none. */
static bool find_stretch(const struct wire_code *code, uint32_t offset, struct stretch *out)
{
	bool has_line = false;
	*out = (struct stretch){0};
	for (struct table table = open_table(code); next_entry(&table);) {
		if (!has_line || !table.has_line || table.line != out->line) {
			if (out->high > offset)
				break;
			has_line = table.has_line;
			out->line = table.line;
			out->low = table.start;
		}
		out->high = table.next;
	}
	return has_line && offset >= out->low && offset < out->high;
}

static struct stack_line find_line(const struct wire_code *code, uint64_t value)
{
	uint32_t offset = (uint32_t)value;
	struct stretch stretch;
	if (!find_stretch(code, offset, &stretch))
		return (struct stack_line){value, offset, offset, offset + 1};
	struct stack_line line = {value, stretch.low, stretch.low, stretch.high};
	for (struct table table = open_table(code); next_entry(&table);)
		if (table.has_line && table.line == stretch.line) {
			line.start = table.start;
			break;
		}
	return line;
}

const struct stack_line *stack_line(struct memory_stack *stack, uint64_t value)
{
	struct stack_line *known = &stack->line[value * 0x9E3779B97F4A7C15ULL >> 54];
	if (known->value != value) {
		const struct wire_code *code = file_at((wire_id)(value >> 32));
		if (!code)
			return NULL;
		*known = find_line(code, value);
	}
	return known;
}

_Static_assert(STACK_LINES == 1 << (64 - 54), "the hash gives as many bits as there are lines");
