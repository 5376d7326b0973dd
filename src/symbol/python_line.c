/*
 * python_line.c - see python_line.h.
 *
 *	to 3.9    lnotab: pairs (bytes of code, lines); the line changes after the bytes. Lines are signed from 3.6 on.
 *	3.10      pairs (bytes of code, lines); the line changes before the bytes, and -128 means that they have none.
 *	3.11 on   entries: a first byte 1kkkkccc (kind, code units less one) and operands, of which a line's change is one;
 *	          operands may end with the table only where it is damaged.
 *
 * All three are walked from the beginning: a table has no index, and its lines are changes. Sums are kept in 64 bits and a
 * line outside of 1 … INT_MAX is no line, so that a hostile table can only be wrong, never harmful.
 */
#include "symbol/python_line.h"

#include <limits.h>
#include <stdbool.h>

enum { NO_LINE_310 = -128, UNIT_BYTES = 2 };

static int as_line(int64_t line)
{
	return line >= 1 && line <= INT_MAX ? (int)line : 0;
}

static int as_signed(uint8_t byte)
{
	return byte < 128 ? byte : byte - 256;
}

static int line_lnotab(const uint8_t *table, size_t bytes, int first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t at = 0;
	for (size_t i = 0; i + 1 < bytes; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += as_signed(table[i + 1]);
	}
	return as_line(line);
}

static int line_310(const uint8_t *table, size_t bytes, int first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t at = 0;
	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int change = as_signed(table[i + 1]);
		if (change != NO_LINE_310)
			line += change;
		at += table[i];
		if (at > offset)
			return change == NO_LINE_310 ? 0 : as_line(line);
	}
	return 0;
}

enum location_kind { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMNS = 13, LOCATION_LONG = 14, LOCATION_NONE = 15 };

/* Six bits a byte, the lowest first; bit 6 says that another follows. False where the number does not fit or end. */
static bool read_number(const uint8_t *table, size_t bytes, size_t *at, uint32_t *out)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *at < bytes && shift <= 30; shift += 6) {
		uint8_t byte = table[(*at)++];
		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64)) {
			*out = (uint32_t)value;
			return value <= UINT32_MAX;
		}
	}
	return false;
}

/* The sign is the lowest bit. */
static bool read_signed(const uint8_t *table, size_t bytes, size_t *at, int64_t *out)
{
	uint32_t number;
	if (!read_number(table, bytes, at, &number))
		return false;
	*out = number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
	return true;
}

/* The change of line that an entry says; columns are passed over with the next entry's search for a first byte. */
static bool read_change(unsigned kind, const uint8_t *table, size_t bytes, size_t *at, int64_t *change)
{
	*change = 0;
	if (kind == LOCATION_LONG || kind == LOCATION_NO_COLUMNS)
		return read_signed(table, bytes, at, change);
	if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
		*change = (int64_t)kind - LOCATION_ONE_LINE;
	return true;
}

static int line_311(const uint8_t *table, size_t bytes, int first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t end = 0;
	for (size_t at = 0; at < bytes;) {
		uint8_t first = table[at++];
		/* Only the first byte of an entry has the highest bit. */
		if (!(first & 0x80))
			continue;
		unsigned kind = first >> 3 & 15;
		int64_t change;
		if (!read_change(kind, table, bytes, &at, &change))
			return 0;
		line += change;
		end += ((uint64_t)(first & 7) + 1) * UNIT_BYTES;
		if (end > offset)
			return kind == LOCATION_NONE ? 0 : as_line(line);
	}
	return 0;
}

int python_line_at(uint32_t version, const uint8_t *table, size_t bytes, int first_line, uint32_t offset)
{
	uint32_t minor = version >> 16;
	if (!table || minor < 0x0306)
		return 0;
	if (minor >= 0x030B)
		return line_311(table, bytes, first_line, offset);
	if (minor == 0x030A)
		return line_310(table, bytes, first_line, offset);
	return line_lnotab(table, bytes, first_line, offset);
}
