/*
 * cfi.c - from an address to its unwind rule: .eh_frame_hdr's table -> FDE -> CIE -> the program that describes the frame.
 *
 *	.eh_frame_hdr   version 1, three encodings, .eh_frame's address, count, then (address, FDE) pairs in order
 *	.eh_frame       entries: length, id (0: CIE, else the distance back to the FDE's CIE), body
 *
 * Runs in a signal handler: no memory but the stack's, no calls but memcpy. Every byte is checked against the view before it is
 * read, every loop is bounded by what it reads, and all arithmetic is unsigned, because the bytes may be anything.
 *
 * Only what unwinding needs is kept of a program: the CFA, the return address and the registers that calls keep
 * (arch_saved). An object without the search table is as one without .eh_frame: linkers always write it.
 */
#include "agent/cfi.h"

#include "agent/expression.h"

#include <stddef.h>
#include <string.h>

enum { ENTRY_MOST = 1 << 20, REMEMBER_MOST = 4, STEPS_MOST = 1 << 16 };

/* What a row of the table says of one register. */
enum place_kind { PLACE_SAME, PLACE_LOST, PLACE_OFFSET, PLACE_REGISTER, PLACE_EXPRESSION, PLACE_UNSUPPORTED };

/* Columns that are kept: the saved registers, the return address, the stack pointer. */
enum { COLUMN_RA = ARCH_SAVED, COLUMN_SP, COLUMNS, COLUMN_NONE };

struct row {
	uint64_t cfa_register;
	int64_t cfa_offset;
	const uint8_t *cfa_expression; /* at its length; NULL: register and offset */
	uint8_t kinds[COLUMNS];
	int64_t values[COLUMNS];
	const uint8_t *expressions[COLUMNS];
};

struct program {
	uintptr_t pc, at; /* looked for; where the program is */
	uintptr_t end;    /* of the row that it came to */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses in the FDE */
	bool signal;
	bool initial; /* running the CIE's instructions */
	unsigned remembered;
	struct row row, first, *saved; /* REMEMBER_MOST */
};

static unsigned column_of(uint64_t number)
{
	for (unsigned i = 0; i < ARCH_SAVED; i++)
		if (arch_saved[i] == number)
			return i;
	return number == ARCH_RA ? COLUMN_RA : number == ARCH_SP ? COLUMN_SP : COLUMN_NONE;
}

/* An address in one of DW_EH_PE's encodings: format in the lower half, what it is relative to in the upper. */
static uintptr_t read_encoded(struct cursor *cursor, uint8_t encoding, uintptr_t data_base)
{
	uintptr_t place = (uintptr_t)cursor->at, value = 0;
	switch (encoding & 0x0F) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0C: /* sdata8 */
		value = cursor_fixed(cursor, 8);
		break;
	case 0x01:
		value = cursor_uleb(cursor);
		break;
	case 0x02:
		value = cursor_fixed(cursor, 2);
		break;
	case 0x03:
		value = cursor_fixed(cursor, 4);
		break;
	case 0x09:
		value = (uintptr_t)cursor_sleb(cursor);
		break;
	case 0x0A:
		value = (uintptr_t)(int64_t)(int16_t)cursor_fixed(cursor, 2);
		break;
	case 0x0B:
		value = (uintptr_t)(int64_t)(int32_t)cursor_fixed(cursor, 4);
		break;
	default:
		cursor->bad = true;
	}
	switch (encoding & 0x70) {
	case 0x00:
		return value;
	case 0x10:
		return value + place;
	case 0x30:
		return value + data_base;
	default: /* relative to .text or to a function, or aligned: nobody writes these here */
		cursor->bad = true;
		return 0;
	}
}

static unsigned encoded_bytes(uint8_t encoding)
{
	static const uint8_t sizes[16] = {
		[0x00] = 8, [0x02] = 2, [0x03] = 4, [0x04] = 8, [0x0A] = 2, [0x0B] = 4, [0x0C] = 8};
	return sizes[encoding & 0x0F];
}

static struct cursor cursor_open(const struct cfi_view *view, uintptr_t at)
{
	struct cursor cursor = {(const uint8_t *)at, (const uint8_t *)view->end, false};
	cursor.bad = at < view->start || at >= view->end;
	return cursor;
}

/* The last pair whose address is not above pc. 0: there is none. */
static uintptr_t search_table(const struct cfi_view *view, uintptr_t pc)
{
	struct cursor head = cursor_open(view, view->header);
	uint8_t version = (uint8_t)cursor_fixed(&head, 1), frame_encoding = (uint8_t)cursor_fixed(&head, 1);
	uint8_t count_encoding = (uint8_t)cursor_fixed(&head, 1), encoding = (uint8_t)cursor_fixed(&head, 1);
	if (head.bad || version != 1 || frame_encoding == 0xFF || count_encoding == 0xFF || encoding == 0xFF)
		return 0;
	read_encoded(&head, frame_encoding, view->header);
	uint64_t count = read_encoded(&head, count_encoding, view->header);
	unsigned size = encoded_bytes(encoding);
	if (head.bad || size == 0 || count > (uint64_t)(head.end - head.at) / (2 * size))
		return 0;
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct cursor pair = {head.at + middle * 2 * size, head.end, false};
		/* Either may be next, and both have time to come while this one does. */
		__builtin_prefetch(head.at + (low + (middle - low) / 2) * 2 * size);
		__builtin_prefetch(head.at + (middle + 1 + (high - middle - 1) / 2) * 2 * size);
		if (read_encoded(&pair, encoding, view->header) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	struct cursor pair = {head.at + (low - 1) * 2 * size + size, head.end, false};
	uintptr_t entry = read_encoded(&pair, encoding, view->header);
	return pair.bad ? 0 : entry;
}

/* A cursor over the body of an entry, behind its length. */
static struct cursor open_entry(const struct cfi_view *view, uintptr_t at)
{
	struct cursor cursor = cursor_open(view, at);
	uint64_t length = cursor_fixed(&cursor, 4);
	if (length == 0xFFFFFFFF)
		length = cursor_fixed(&cursor, 8);
	if (length < 4 || length > ENTRY_MOST || length > (uint64_t)(cursor.end - cursor.at))
		cursor.bad = true;
	if (!cursor.bad)
		cursor.end = cursor.at + length;
	return cursor;
}

/* The letters of an augmentation string and what they stand for, one after the other. */
static void read_augmentation(struct cursor *cursor, const char *letters, struct program *program)
{
	for (; *letters && !cursor->bad; letters++) {
		uint8_t encoding;
		switch (*letters) {
		case 'L':
			cursor_fixed(cursor, 1);
			break;
		case 'P':
			encoding = (uint8_t)cursor_fixed(cursor, 1);
			if (encoding != 0xFF)
				read_encoded(cursor, encoding & 0x0F, 0);
			break;
		case 'R':
			program->encoding = (uint8_t)cursor_fixed(cursor, 1);
			break;
		case 'S':
			program->signal = true;
			break;
		case 'B':
			break;
		default: /* what follows it is not known, but its length is: the rest is skipped */
			return;
		}
	}
}

/* Head of a CIE; the cursor then stands at its instructions. */
static struct cursor open_cie(const struct cfi_view *view, uintptr_t at, struct program *program, bool *augmented)
{
	struct cursor cursor = open_entry(view, at);
	uint64_t id = cursor_fixed(&cursor, 4), version = cursor_fixed(&cursor, 1);
	const char *letters = (const char *)cursor.at;
	size_t length = cursor.bad ? 0 : strnlen(letters, (size_t)(cursor.end - cursor.at));
	if (cursor.bad || id != 0 || (version != 1 && version != 3 && version != 4) ||
	    length == (size_t)(cursor.end - cursor.at) || (length > 0 && letters[0] != 'z')) {
		cursor.bad = true;
		return cursor;
	}
	cursor.at += length + 1;
	if (version == 4)
		cursor_fixed(&cursor, 2); /* sizes of an address and of a segment */
	program->code_align = cursor_uleb(&cursor);
	program->data_align = cursor_sleb(&cursor);
	uint64_t ra = version == 1 ? cursor_fixed(&cursor, 1) : cursor_uleb(&cursor);
	*augmented = length > 0;
	if (*augmented) {
		uint64_t bytes = cursor_uleb(&cursor);
		if (cursor.bad || bytes > (uint64_t)(cursor.end - cursor.at)) {
			cursor.bad = true;
			return cursor;
		}
		struct cursor inner = {cursor.at, cursor.at + bytes, false};
		read_augmentation(&inner, letters + 1, program);
		cursor.at += bytes;
		cursor.bad = inner.bad;
	}
	cursor.bad |= ra != ARCH_RA;
	return cursor;
}

/*
 * Instructions by number: what follows them. u uleb, s sleb, d uleb times the data alignment, n the same but negative, f sleb times
 * it, 1 2 4 an advance of that many bytes, p an address, b a block with its length.
 */
static const char operands[0x30][3] = {
	[0x01] = "p",  [0x02] = "1",  [0x03] = "2",  [0x04] = "4",  [0x05] = "ud", [0x06] = "u",
	[0x07] = "u",  [0x08] = "u",  [0x09] = "uu", [0x0C] = "uu", [0x0D] = "u",  [0x0E] = "u",
	[0x0F] = "b",  [0x10] = "ub", [0x11] = "uf", [0x12] = "uf", [0x13] = "f",  [0x14] = "ud",
	[0x15] = "uf", [0x16] = "ub", [0x2E] = "u",  [0x2F] = "un",
};
/* Those of the list that have no operands. */
static const bool bare[0x30] = {[0x00] = true, [0x0A] = true, [0x0B] = true, [0x2D] = true};

static int64_t read_operand(struct cursor *cursor, char kind, const struct program *program, const uint8_t **block)
{
	uint64_t align = (uint64_t)program->data_align;
	switch (kind) {
	case 'u':
		return (int64_t)cursor_uleb(cursor);
	case 'd':
		return (int64_t)(cursor_uleb(cursor) * align);
	case 'n':
		return (int64_t)(0 - cursor_uleb(cursor) * align);
	case 'f':
		return (int64_t)((uint64_t)cursor_sleb(cursor) * align);
	case 'p':
		return (int64_t)read_encoded(cursor, program->encoding, 0);
	case 'b':
		*block = cursor->at;
		cursor_skip(cursor, cursor_uleb(cursor));
		return 0;
	default:
		return (int64_t)(cursor_fixed(cursor, (unsigned)(kind - '0')) * program->code_align);
	}
}

static void set_place(struct row *row, int64_t number, enum place_kind kind, int64_t value, const uint8_t *expression)
{
	unsigned column = column_of((uint64_t)number);
	if (column >= COLUMNS)
		return;
	row->kinds[column] = (uint8_t)kind;
	row->values[column] = value;
	row->expressions[column] = expression;
}

static void restore_place(struct program *program, int64_t number)
{
	unsigned column = column_of((uint64_t)number);
	if (column < COLUMNS)
		set_place(&program->row, number, program->first.kinds[column], program->first.values[column],
			  program->first.expressions[column]);
}

static void set_cfa(struct row *row, int64_t number, int64_t offset)
{
	row->cfa_register = (uint64_t)number;
	row->cfa_offset = offset;
	row->cfa_expression = NULL;
}

/* False: the instruction cannot be. */
static bool apply(struct program *program, unsigned code, const int64_t values[2], const uint8_t *block)
{
	struct row *row = &program->row;
	switch (code) {
	case 0x05:
	case 0x11:
	case 0x2F:
		set_place(row, values[0], PLACE_OFFSET, values[1], NULL);
		break;
	case 0x06:
		restore_place(program, values[0]);
		break;
	case 0x07:
		set_place(row, values[0], PLACE_LOST, 0, NULL);
		break;
	case 0x08:
		set_place(row, values[0], PLACE_SAME, 0, NULL);
		break;
	case 0x09:
		set_place(row, values[0], PLACE_REGISTER, values[1], NULL);
		break;
	case 0x0A:
		if (program->remembered == REMEMBER_MOST)
			return false;
		program->saved[program->remembered++] = *row;
		break;
	case 0x0B:
		if (program->remembered == 0)
			return false;
		*row = program->saved[--program->remembered];
		break;
	case 0x0C:
	case 0x12:
		set_cfa(row, values[0], values[1]);
		break;
	case 0x0D:
		set_cfa(row, values[0], row->cfa_offset);
		break;
	case 0x0E:
	case 0x13:
		set_cfa(row, (int64_t)row->cfa_register, values[0]);
		break;
	case 0x0F:
		row->cfa_expression = block;
		break;
	case 0x10:
		set_place(row, values[0], PLACE_EXPRESSION, 0, block);
		break;
	case 0x14:
	case 0x15: /* the register is the CFA plus an offset: only ever said of the stack pointer, with 0 */
		set_place(row, values[0], values[1] == 0 && values[0] == ARCH_SP ? PLACE_SAME : PLACE_UNSUPPORTED, 0,
			  NULL);
		break;
	case 0x16:
		set_place(row, values[0], PLACE_UNSUPPORTED, 0, NULL);
		break;
	default: /* sizes of arguments, signatures: no part of the rule */
		break;
	}
	return true;
}

/* Runs instructions until the end or until the row that holds pc is complete. False: damaged. */
static bool run(struct program *program, struct cursor *cursor)
{
	for (unsigned steps = 0; cursor->at < cursor->end && steps < STEPS_MOST; steps++) {
		uint8_t byte = (uint8_t)cursor_fixed(cursor, 1);
		unsigned code = byte & 0x3F;
		const uint8_t *block = NULL;
		int64_t values[2] = {0, 0};
		uintptr_t next = program->at;
		if (byte >> 6 == 1) {
			next += code * program->code_align;
		} else if (byte >> 6 == 2) {
			values[0] = code;
			values[1] = read_operand(cursor, 'd', program, &block);
			set_place(&program->row, values[0], PLACE_OFFSET, values[1], NULL);
		} else if (byte >> 6 == 3) {
			restore_place(program, code);
		} else if (code >= 0x30 || (operands[code][0] == '\0' && !bare[code])) {
			return false;
		} else {
			for (unsigned i = 0; i < 2 && operands[code][i]; i++)
				values[i] = read_operand(cursor, operands[code][i], program, &block);
			if (code >= 0x02 && code <= 0x04)
				next += (uintptr_t)values[0];
			else if (code == 0x01)
				next = (uintptr_t)values[0];
			else if (cursor->bad || !apply(program, code, values, block))
				return false;
		}
		if (cursor->bad)
			return false;
		if (next > program->pc && !program->initial) {
			program->end = next;
			return true;
		}
		program->at = next;
	}
	return true;
}

static bool fits_place(int64_t value)
{
	return value % 8 == 0 && value / 8 > CFI_LOST && value / 8 < CFI_SAME;
}

/* Where one register was saved, in the rule's short form. */
static bool pack_place(struct cfi_rule *rule, const struct row *row, unsigned column, uintptr_t pc, const uint8_t *end,
		       int16_t *place)
{
	struct expression_value where;
	switch (row->kinds[column]) {
	case PLACE_SAME:
		*place = CFI_SAME;
		return true;
	case PLACE_OFFSET:
		*place = (int16_t)(row->values[column] / 8);
		return fits_place(row->values[column]);
	case PLACE_EXPRESSION:
		if (!expression_reduce(row->expressions[column], end, pc, &where) ||
		    where.kind != EXPRESSION_REGISTER || where.index != EXPRESSION_NO_INDEX ||
		    !fits_place(where.offset) ||
		    ((rule->based != 0 || (rule->flags & CFI_INDEXED)) && rule->base_register != where.number))
			return false;
		rule->base_register = where.number;
		rule->based |= (uint8_t)(1U << column);
		*place = (int16_t)(where.offset / 8);
		return true;
	case PLACE_LOST:
	case PLACE_REGISTER:
		*place = CFI_LOST;
		return true;
	default:
		return false;
	}
}

static bool pack_cfa(struct cfi_rule *rule, const struct row *row, uintptr_t pc, const uint8_t *end)
{
	struct expression_value cfa = {EXPRESSION_REGISTER, (uint8_t)row->cfa_register, EXPRESSION_NO_INDEX,
				       row->cfa_offset, 0};
	if (row->cfa_expression == NULL && row->cfa_register >= ARCH_REGISTERS)
		return false;
	if (row->cfa_expression != NULL && !expression_reduce(row->cfa_expression, end, pc, &cfa))
		return false;
	if (cfa.kind == EXPRESSION_CONSTANT || cfa.offset != (int32_t)cfa.offset || cfa.add != (int16_t)cfa.add)
		return false;
	rule->cfa_register = cfa.number;
	rule->cfa_offset = (int32_t)cfa.offset;
	rule->cfa_add = (int16_t)cfa.add;
	rule->flags |= cfa.kind == EXPRESSION_MEMORY ? CFI_INDIRECT : 0;
	if (cfa.index == EXPRESSION_NO_INDEX)
		return true;
	rule->flags |= CFI_INDEXED;
	rule->base_register = cfa.index;
	return cfa.kind == EXPRESSION_MEMORY;
}

/* The stack pointer of the caller is the CFA. A rule that says otherwise is only understood where it says the same. */
static bool agrees_on_sp(const struct cfi_rule *rule, const struct row *row, uintptr_t pc, const uint8_t *end)
{
	struct expression_value sp;
	if (row->kinds[COLUMN_SP] == PLACE_SAME)
		return true;
	return row->kinds[COLUMN_SP] == PLACE_EXPRESSION &&
	       expression_reduce(row->expressions[COLUMN_SP], end, pc, &sp) && sp.kind == EXPRESSION_REGISTER &&
	       sp.index == EXPRESSION_NO_INDEX && (rule->flags & (CFI_INDIRECT | CFI_INDEXED)) == CFI_INDIRECT &&
	       sp.number == rule->cfa_register && sp.offset == rule->cfa_offset && rule->cfa_add == 0;
}

static enum cfi_answer pack(const struct program *program, const uint8_t *end, struct cfi_rule *out)
{
	const struct row *row = &program->row;
	struct cfi_rule rule = {.flags = program->signal ? CFI_SIGNAL : 0};
	if (row->kinds[COLUMN_RA] == PLACE_LOST) {
		rule.flags |= CFI_ROOT;
		*out = rule;
		return CFI_FOUND;
	}
	if (!pack_cfa(&rule, row, program->pc, end) || !agrees_on_sp(&rule, row, program->pc, end))
		return CFI_UNUSABLE;
	for (unsigned i = 0; i < ARCH_SAVED; i++)
		if (!pack_place(&rule, row, i, program->pc, end, &rule.saved[i]))
			return CFI_UNUSABLE;
	bool in_register = row->kinds[COLUMN_RA] == PLACE_REGISTER;
	if (in_register && (row->values[COLUMN_RA] < 0 || row->values[COLUMN_RA] >= ARCH_REGISTERS))
		return CFI_UNUSABLE;
	if (in_register) {
		rule.flags |= CFI_RA_REGISTER;
		rule.ra = (int16_t)row->values[COLUMN_RA];
	} else if (!pack_place(&rule, row, COLUMN_RA, program->pc, end, &rule.ra)) {
		return CFI_UNUSABLE;
	}
	*out = rule;
	return CFI_FOUND;
}

/* An expression is worked out for one address: it may come to something else for the next. */
static bool has_expression(const struct row *row)
{
	bool found = row->cfa_expression != NULL;
	for (unsigned i = 0; i < COLUMNS; i++)
		found |= row->kinds[i] == PLACE_EXPRESSION;
	return found;
}

static struct cfi_range range_of(const struct program *program, uintptr_t function_end)
{
	struct cfi_range range = {program->pc, program->pc + 1};
	uintptr_t end = program->end < function_end ? program->end : function_end;
	/* A program that went backwards, and a function that ends beyond all addresses, are damaged. */
	if (has_expression(&program->row) || program->at > program->pc || end <= program->pc)
		return range;
	range.start = program->at;
	range.end = end;
	return range;
}

enum cfi_answer cfi_find(const struct cfi_view *view, uintptr_t pc, struct cfi_rule *rule, struct cfi_range *range)
{
	uintptr_t entry = view->header == 0 ? 0 : search_table(view, pc);
	if (entry == 0)
		return CFI_NONE;
	struct cursor fde = open_entry(view, entry);
	uintptr_t id_at = (uintptr_t)fde.at;
	uint64_t back = cursor_fixed(&fde, 4);
	if (fde.bad || back == 0 || back > id_at - view->start)
		return CFI_UNUSABLE;
	struct row saved[REMEMBER_MOST];
	struct program program = {.pc = pc, .initial = true, .saved = saved};
	bool augmented = false;
	struct cursor cie = open_cie(view, id_at - back, &program, &augmented);
	if (cie.bad)
		return CFI_UNUSABLE;
	uintptr_t start = read_encoded(&fde, program.encoding, view->header);
	uintptr_t length = read_encoded(&fde, program.encoding & 0x0F, 0);
	if (fde.bad || pc < start)
		return CFI_UNUSABLE;
	if (pc - start >= length)
		return CFI_NONE;
	if (augmented)
		cursor_skip(&fde, cursor_uleb(&fde));
	if (fde.bad || !run(&program, &cie))
		return CFI_UNUSABLE;
	program.first = program.row;
	program.at = start;
	program.end = start + length;
	program.initial = false;
	if (!run(&program, &fde))
		return CFI_UNUSABLE;
	if (range != NULL)
		*range = range_of(&program, start + length);
	/* An expression lies in the CIE or in the FDE: the view's end bounds both. */
	return pack(&program, (const uint8_t *)view->end, rule);
}

void cfi_frame_pointer(struct cfi_rule *rule)
{
	*rule = (struct cfi_rule){
		.cfa_offset = 16,
		.cfa_register = ARCH_FP,
		.flags = CFI_POINTER,
		.ra = -1,
		.saved = {-2, CFI_LOST, CFI_LOST, CFI_LOST, CFI_LOST, CFI_LOST},
	};
}
