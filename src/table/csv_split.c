/*
 * csv_split.c - taking a block apart: checks its bytes, finds its cells (scan.h), sorts out ragged records, and lays the cells
 * out column by column. Touches nothing but its block, the counts (under a lock) and read-only settings.
 */
#include "base/str.h"
#include "table/csv_inside.h"

#include <inttypes.h>
#include <string.h>

struct span csv_unquote(struct span cell, char *side, size_t *side_size)
{
	if (!cell.length || cell.text[0] != '"')
		return cell;
	const char *text = cell.text + 1;
	size_t length = cell.length - 1, at = 0;
	const char *quote = memchr(text, '"', length);
	if (quote == text + length - 1)
		return (struct span){text, (uint32_t)(length - 1)};
	char *out = side + *side_size;
	bool open = true;
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '"') {
			out[at++] = text[i];
			continue;
		}
		if (open && i + 1 < length && text[i + 1] == '"')
			out[at++] = text[i++];
		else
			open = !open;
	}
	*side_size += at;
	return (struct span){out, (uint32_t)at};
}

static uint64_t csv_line_at(const struct csv_block *block, size_t offset)
{
	struct scan_tally tally;
	block->csv->scan->tally(block->text, offset, block->csv->settings.delimiter, &tally);
	return block->first_line + tally.lines;
}

/* The offset of the first byte that is not part of valid UTF-8, or `size`. */
static size_t csv_bad_byte(const char *text, size_t at, size_t size)
{
	while (at < size) {
		uint64_t word;
		if (at + 8 <= size) {
			memcpy(&word, text + at, 8);
			if (!(word & 0x8080808080808080ull)) {
				at += 8;
				continue;
			}
		}
		size_t step = str_utf8_length(text + at, size - at);
		if (!step)
			return at;
		at += step;
	}
	return size;
}

static int csv_replace_bad(struct csv_block *block, size_t bad, struct err *err)
{
	struct csv *csv = block->csv;
	uint64_t replaced = 0;
	for (size_t at = bad; at < block->size; at = csv_bad_byte(block->text, at + 1, block->size))
		replaced++;
	size_t room = block->size + replaced * 2, out = 0;
	char *text = memory_take(csv->memory, room + SCAN_SLACK);
	if (!text)
		return csv_no_memory(csv, room, err);
	size_t at = 0;
	while (at < block->size) {
		bad = csv_bad_byte(block->text, at, block->size);
		memcpy(text + out, block->text + at, bad - at);
		out += bad - at;
		at = bad;
		if (at < block->size) {
			memcpy(text + out, "\xef\xbf\xbd", 3);
			out += 3;
			at++;
		}
	}
	memory_give(csv->memory, block->text, block->room + SCAN_SLACK);
	block->text = text;
	block->size = out;
	block->room = room;
	pthread_mutex_lock(&csv->lock);
	csv->counts.replaced += replaced;
	pthread_mutex_unlock(&csv->lock);
	return 0;
}

static int csv_check_encoding(struct csv_block *block, struct err *err)
{
	size_t bad = csv_bad_byte(block->text, 0, block->size);
	if (bad == block->size)
		return 0;
	if (block->csv->settings.encoding == CSV_ENCODING_ERROR)
		return err_set(err, ERR_INPUT,
			       "'%s', line %" PRIu64
			       ": byte 0x%02x is not UTF-8 (encoding: replace in the recipe goes on)",
			       block->csv->path, csv_line_at(block, bad), (unsigned char)block->text[bad]);
	return csv_replace_bad(block, bad, err);
}

static int csv_reserve(struct csv *csv, void **buffer, size_t *room, size_t want, size_t item, struct err *err)
{
	if (want <= *room)
		return 0;
	size_t grown = want + want / 4;
	void *fresh = memory_take(csv->memory, grown * item);
	if (!fresh) {
		grown = want;
		fresh = memory_take(csv->memory, grown * item);
	}
	if (!fresh)
		return csv_no_memory(csv, grown * item, err);
	memory_give(csv->memory, *buffer, *room * item);
	*buffer = fresh;
	*room = grown;
	return 0;
}

static int csv_find_cells(struct csv_block *block, struct err *err)
{
	struct csv *csv = block->csv;
	uint32_t **arrays[] = {&block->index.records, &block->starts, &block->first_cells, &block->widths,
			       &block->quoted_rows};
	int code = csv_reserve(csv, (void **)&block->index.cells, &block->cell_room, block->most_cells + SCAN_SLACK,
			       sizeof(uint32_t), err);
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]) && !code; i++)
		code = csv_reserve(csv, (void **)arrays[i], &block->record_room[i], block->most_records + SCAN_SLACK,
				   sizeof(uint32_t), err);
	if (code)
		return code;
	csv->scan->index(block->text, block->size, csv->settings.delimiter, &block->index);
	block->quoted = block->index.quoted;
	return 0;
}

static int csv_fail_ragged(const struct csv_block *block, size_t start, size_t width, struct err *err)
{
	const struct csv *csv = block->csv;
	return err_set(err, ERR_INPUT,
		       "'%s', line %" PRIu64
		       ": %zu cell%s where the header has %zu (ragged: pad or skip in the recipe goes on)",
		       csv->path, csv_line_at(block, start), width, width == 1 ? "" : "s", csv->columns);
}

/* The records that are rows, and which of them are ragged. */
static int csv_find_rows(struct csv_block *block, struct csv_counts *counts, struct err *err)
{
	const struct csv *csv = block->csv;
	const struct scan_index *index = &block->index;
	uint32_t start = 0, cell = 0;
	size_t rows = 0;
	block->ragged = false;
	for (size_t i = 0; i < index->record_count; i++) {
		uint32_t width = index->records[i] - cell, end = index->cells[index->records[i] - 1];
		bool blank = width == 1 && end == start && csv->columns > 1;
		block->starts[rows] = start;
		block->first_cells[rows] = cell;
		block->widths[rows] = width;
		cell = index->records[i];
		uint32_t begin = start;
		start = end + 1 + (block->text[end] == '\r' && block->text[end + 1] == '\n');
		if (blank)
			continue;
		if (__builtin_expect(width != csv->columns, 0)) {
			if (csv->settings.ragged == CSV_RAGGED_ERROR)
				return csv_fail_ragged(block, begin, width, err);
			counts->skipped += csv->settings.ragged == CSV_RAGGED_SKIP;
			if (csv->settings.ragged == CSV_RAGGED_SKIP)
				continue;
			counts->padded += width < csv->columns;
			counts->truncated += width > csv->columns;
			block->ragged = true;
		}
		rows++;
	}
	block->rows = rows;
	counts->records += rows;
	return 0;
}

/* A column's cells where every row has all of them, without looking at the text. */
static void csv_lay_column(const struct csv_block *block, size_t column, struct span *out)
{
	const uint32_t *ends = block->index.cells + column, *first_cells = block->first_cells;
	const char *text = block->text;
	size_t rows = block->rows;
	for (size_t row = 0; row < rows && !column; row++) {
		uint32_t begin = block->starts[row];
		out[row] = (struct span){text + begin, ends[first_cells[row]] - begin};
	}
	for (size_t row = 0; row < rows && column; row++) {
		const uint32_t *end = ends + first_cells[row];
		uint32_t begin = end[-1] + 1;
		out[row] = (struct span){text + begin, *end - begin};
	}
}

static void csv_lay_ragged(const struct csv_block *block, size_t column, struct span *out)
{
	const uint32_t *ends = block->index.cells + column;
	for (size_t row = 0; row < block->rows; row++) {
		const uint32_t *end = ends + block->first_cells[row];
		out[row] = (struct span){block->text, 0};
		if (column >= block->widths[row])
			continue;
		uint32_t begin = column ? end[-1] + 1 : block->starts[row];
		out[row] = (struct span){block->text + begin, *end - begin};
	}
}

/* The rows that have quotes: mostly few, and the others' cells need not be looked at. */
static size_t csv_find_quoted(struct csv_block *block)
{
	const char *text = block->text, *end = text + block->size, *quote = memchr(text, '"', block->size);
	size_t count = 0;
	for (size_t row = 0; quote && row < block->rows; row++) {
		const char *next = row + 1 < block->rows ? text + block->starts[row + 1] : end;
		if (quote >= next)
			continue;
		block->quoted_rows[count++] = (uint32_t)row;
		quote = next < end ? memchr(next, '"', (size_t)(end - next)) : NULL;
	}
	return count;
}

static int csv_lay_cells(struct csv_block *block, const bool *wanted, struct err *err)
{
	struct csv *csv = block->csv;
	uint32_t places = 0;
	size_t quoted = 0;
	for (size_t i = 0; i < csv->columns; i++)
		block->places[i] = !wanted || wanted[i] ? places++ : UINT32_MAX;
	int code = csv_reserve(csv, (void **)&block->cells, &block->cells_room, places * block->rows + 1,
			       sizeof(struct span), err);
	if (!code && block->quoted) {
		code = csv_reserve(csv, (void **)&block->side, &block->side_room, block->size + CSV_READABLE, 1, err);
		block->side_size = 0;
		quoted = csv_find_quoted(block);
	}
	for (size_t i = 0; i < csv->columns && !code; i++) {
		if (block->places[i] == UINT32_MAX)
			continue;
		struct span *out = block->cells + block->places[i] * block->rows;
		(block->ragged ? csv_lay_ragged : csv_lay_column)(block, i, out);
		for (size_t k = 0; k < quoted; k++) {
			struct span *cell = &out[block->quoted_rows[k]];
			if (cell->length && cell->text[0] == '"')
				*cell = csv_unquote(*cell, block->side, &block->side_size);
		}
	}
	return code;
}

int csv_block_split(struct csv *csv, struct csv_block *block, const bool *wanted, struct err *err)
{
	struct csv_counts counts = {0};
	const char *nul = memchr(block->text, 0, block->size);
	if (nul)
		return err_set(err, ERR_INPUT,
			       "'%s', line %" PRIu64 ": a NUL byte (UTF-16 must be converted to UTF-8 first)",
			       csv->path, csv_line_at(block, (size_t)(nul - block->text)));
	/* A line end may have been added behind what was counted, and reading ahead must find none. */
	memset(block->text + block->size, 0, SCAN_SLACK);
	int code = csv_find_cells(block, err);
	if (!code && block->index.wide) {
		code = csv_check_encoding(block, err);
		if (!code)
			code = csv_find_cells(block, err);
	}
	if (!code)
		code = csv_find_rows(block, &counts, err);
	if (!code)
		code = csv_lay_cells(block, wanted, err);
	pthread_mutex_lock(&csv->lock);
	csv->counts.records += counts.records;
	csv->counts.padded += counts.padded;
	csv->counts.truncated += counts.truncated;
	csv->counts.skipped += counts.skipped;
	pthread_mutex_unlock(&csv->lock);
	return code;
}

size_t csv_block_rows(const struct csv_block *block)
{
	return block->rows;
}

uint64_t csv_block_bytes(const struct csv_block *block)
{
	return block->input_bytes;
}

const struct span *csv_block_cells(const struct csv_block *block, size_t column)
{
	if (!block->cells || block->places[column] == UINT32_MAX)
		return NULL;
	return block->cells + block->places[column] * block->rows;
}

uint64_t csv_block_line(const struct csv_block *block, size_t row)
{
	return csv_line_at(block, block->starts[row]);
}
