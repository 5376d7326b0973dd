/* csv.c - see csv.h: opening, the header, and cutting the text into blocks. */
#include "table/csv.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "table/csv_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_BLOCK = 256 << 10 };

int csv_no_memory(const struct csv *csv, size_t bytes, struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE,
		       "'%s': %zu bytes more would exceed the memory limit of %zu MB at line %" PRIu64
		       " (long records or many threads need more)",
		       csv->path, bytes, csv->memory ? csv->memory->budget >> 20 : 0, csv->counts.line + 1);
}

struct csv_block *csv_block_new(struct csv *csv, struct err *err)
{
	struct csv_block *block = mem_alloc(sizeof(*block));
	block->csv = csv;
	block->room = csv->settings.block_bytes;
	block->text = memory_take(csv->memory, block->room + SCAN_SLACK);
	block->places = mem_alloc((csv->columns ? csv->columns : 1) * sizeof(uint32_t));
	if (!block->text) {
		csv_no_memory(csv, block->room, err);
		csv_block_free(block);
		return NULL;
	}
	return block;
}

void csv_block_free(struct csv_block *block)
{
	if (!block)
		return;
	struct memory *memory = block->csv->memory;
	free(block->places);
	memory_give(memory, block->text, block->text ? block->room + SCAN_SLACK : 0);
	memory_give(memory, block->cells, block->cells_room * sizeof(struct span));
	memory_give(memory, block->index.cells, block->cell_room * sizeof(uint32_t));
	memory_give(memory, block->index.records, block->record_room[0] * sizeof(uint32_t));
	memory_give(memory, block->starts, block->record_room[1] * sizeof(uint32_t));
	memory_give(memory, block->first_cells, block->record_room[2] * sizeof(uint32_t));
	memory_give(memory, block->widths, block->record_room[3] * sizeof(uint32_t));
	memory_give(memory, block->quoted_rows, block->record_room[4] * sizeof(uint32_t));
	memory_give(memory, block->side, block->side_room);
	free(block);
}

/* The size of the part of the text that is whole records, 0 where there is none. `open` says that the text ends within quotes. A CR
 * at the very end is no line end yet: an LF may follow. */
static size_t csv_whole_records(const char *text, size_t size, bool open)
{
	for (size_t at = size; at > 0; at--) {
		char byte = text[at - 1];
		if (byte == '"')
			open = !open;
		else if (!open && (byte == '\n' || (byte == '\r' && at < size)))
			return at;
	}
	return 0;
}

static int csv_grow_block(struct csv *csv, struct csv_block *block, struct err *err)
{
	size_t room = block->room * 2;
	if (room > CSV_MOST_RECORD)
		return err_set(err, ERR_INPUT,
			       "'%s', line %" PRIu64 ": a record of more than %d MB (is a quote never closed?)",
			       csv->path, csv->counts.line + 1, CSV_MOST_RECORD >> 20);
	char *text = memory_resize(csv->memory, block->text, block->room + SCAN_SLACK, room + SCAN_SLACK);
	if (!text)
		return csv_no_memory(csv, room - block->room, err);
	block->text = text;
	block->room = room;
	return 0;
}

static int csv_keep_carry(struct csv *csv, const char *text, size_t size, struct err *err)
{
	if (size > csv->carry_room) {
		char *carry = memory_resize(csv->memory, csv->carry, csv->carry_room, size);
		if (!carry)
			return csv_no_memory(csv, size, err);
		csv->carry = carry;
		csv->carry_room = size;
	}
	if (size)
		memcpy(csv->carry, text, size);
	csv->carry_size = size;
	return 0;
}

static int csv_fill_block(struct csv *csv, struct csv_block *block, struct err *err)
{
	ssize_t count = source_read(csv->source, block->text + block->size, block->room - block->size, err);
	if (count < 0)
		return (int)count;
	csv->source_ended = (size_t)count < block->room - block->size;
	block->size += (size_t)count;
	return 0;
}

/* The last record may lack its line end: it gets one. */
static int csv_end_text(struct csv *csv, struct csv_block *block, bool open, struct err *err)
{
	if (open) {
		size_t begin = csv_whole_records(block->text, block->size, true);
		struct scan_tally before;
		csv->scan->tally(block->text, begin, csv->settings.delimiter, &before);
		return err_set(err, ERR_INPUT, "'%s', line %" PRIu64 ": a quote is opened here and never closed",
			       csv->path, csv->counts.line + before.lines + 1);
	}
	char last = block->size ? block->text[block->size - 1] : '\n';
	if (last != '\n' && last != '\r') {
		if (block->size == block->room) {
			int code = csv_grow_block(csv, block, err);
			if (code)
				return code;
		}
		block->text[block->size++] = '\n';
	}
	return 0;
}

/* `tally` is of the whole block and of `tail` bytes behind it. */
static void csv_count_block(struct csv *csv, struct csv_block *block, const struct scan_tally *tally, size_t tail)
{
	struct scan_tally rest;
	csv->scan->tally(block->text + block->size, tail, csv->settings.delimiter, &rest);
	uint64_t lines = tally->lines - rest.lines;
	block->most_records = lines + 1;
	block->most_cells = block->most_records + tally->delimiters - rest.delimiters;
	block->first_line = csv->counts.line + 1;
	block->input_bytes = block->size;
	pthread_mutex_lock(&csv->lock);
	csv->counts.line += lines;
	csv->counts.text_bytes += block->size;
	pthread_mutex_unlock(&csv->lock);
}

int csv_block_cut(struct csv *csv, struct csv_block *block, struct err *err)
{
	int code = 0;
	block->size = block->rows = 0;
	if (csv->ended)
		return 0;
	while (block->room < csv->carry_size && !code)
		code = csv_grow_block(csv, block, err);
	if (code)
		return code;
	if (csv->carry_size)
		memcpy(block->text, csv->carry, csv->carry_size);
	block->size = csv->carry_size;
	csv->carry_size = 0;
	for (;;) {
		struct scan_tally tally;
		if (!csv->source_ended)
			code = csv_fill_block(csv, block, err);
		if (code)
			return code;
		csv->scan->tally(block->text, block->size, csv->settings.delimiter, &tally);
		bool open = tally.quotes % 2;
		size_t whole = csv->source_ended ? 0 : csv_whole_records(block->text, block->size, open);
		size_t tail = block->size - whole;
		if (csv->source_ended) {
			csv->ended = true;
			tail = 0;
			code = csv_end_text(csv, block, open, err);
			whole = block->size;
		} else if (whole) {
			code = csv_keep_carry(csv, block->text + whole, tail, err);
		} else {
			code = csv_grow_block(csv, block, err);
		}
		if (code)
			return code;
		if (whole || csv->ended) {
			block->size = whole;
			csv_count_block(csv, block, &tally, tail);
			return whole > 0;
		}
	}
}

/* The header's names: never empty, never the same twice. */
static void csv_add_name(struct csv *csv, struct span cell)
{
	struct str name = {0};
	str_append_bytes(&name, cell.text, cell.length);
	if (!name.len)
		str_appendf(&name, "column_%zu", csv->columns + 1);
	csv->counts.renamed += !cell.length;
	csv->names[csv->columns++] = str_take(&name);
}

static int csv_compare_names(const void *a, const void *b)
{
	const char *const *left = *(const char *const *const *)a, *const *right = *(const char *const *const *)b;
	int order = strcmp(*left, *right);
	return order ? order : (left > right) - (left < right);
}

static bool csv_has_name(char ***sorted, size_t count, const char *name)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(*sorted[middle], name);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void csv_rename_doubles(struct csv *csv)
{
	char ***sorted = mem_alloc((csv->columns + 1) * sizeof(char **));
	VEC(char *) fresh = {0};
	for (size_t i = 0; i < csv->columns; i++)
		sorted[i] = &csv->names[i];
	qsort(sorted, csv->columns, sizeof(char **), csv_compare_names);
	size_t number = 2;
	for (size_t i = 1; i < csv->columns; i++) {
		if (strcmp(*sorted[i], *sorted[i - 1]) != 0) {
			number = 2;
			vec_push(&fresh, NULL);
			continue;
		}
		char *name = mem_printf("%s_%zu", *sorted[i], number++);
		while (csv_has_name(sorted, csv->columns, name)) {
			free(name);
			name = mem_printf("%s_%zu", *sorted[i], number++);
		}
		vec_push(&fresh, name);
	}
	for (size_t i = 1; i < csv->columns; i++) {
		if (!fresh.items[i - 1])
			continue;
		free(*sorted[i]);
		*sorted[i] = fresh.items[i - 1];
		csv->counts.renamed++;
	}
	vec_fini(&fresh);
	free(sorted);
}

static int csv_check_text(const struct csv *csv, const char *text, size_t size, struct err *err)
{
	if (memchr(text, 0, size))
		return err_set(err, ERR_INPUT, "'%s', line 1: a NUL byte (UTF-16 must be converted to UTF-8 first)",
			       csv->path);
	for (size_t at = 0, step; at < size; at += step) {
		step = str_utf8_length(text + at, size - at);
		if (!step)
			return err_set(err, ERR_INPUT, "'%s', line 1: the header is not UTF-8", csv->path);
	}
	return 0;
}

/* The first record of `text`, which is whole records: its size with the line end. */
static size_t csv_first_record(const char *text, size_t size)
{
	bool open = false;
	for (size_t at = 0; at < size; at++) {
		if (text[at] == '"')
			open = !open;
		else if (!open && text[at] == '\n')
			return at + 1;
		else if (!open && text[at] == '\r')
			return at + 1 < size && text[at + 1] == '\n' ? at + 2 : at + 1;
	}
	return size;
}

static int csv_read_names(struct csv *csv, char *text, size_t size, struct err *err)
{
	size_t begin = 0, count = 1;
	char *side = mem_alloc(size + 1);
	bool open = false;
	for (size_t i = 0; i < size; i++) {
		open ^= text[i] == '"';
		count += !open && text[i] == csv->settings.delimiter;
	}
	if (count > CSV_MOST_COLUMNS) {
		free(side);
		return err_set(err, ERR_INPUT, "'%s' has %zu columns; at most %d (is the delimiter right?)", csv->path,
			       count, CSV_MOST_COLUMNS);
	}
	csv->names = mem_alloc(count * sizeof(char *));
	for (size_t at = 0; at <= size; at++) {
		open ^= at < size && text[at] == '"';
		if (at < size && (open || text[at] != csv->settings.delimiter))
			continue;
		size_t side_size = 0;
		struct span cell = {text + begin, (uint32_t)(at - begin)};
		cell = csv_unquote(cell, side, &side_size);
		if (csv->settings.no_header)
			cell.length = 0;
		csv_add_name(csv, cell);
		begin = at + 1;
	}
	free(side);
	if (csv->settings.no_header)
		csv->counts.renamed = 0;
	csv_rename_doubles(csv);
	return 0;
}

static int csv_read_header(struct csv *csv, struct err *err)
{
	struct csv_block *block = csv_block_new(csv, err);
	if (!block)
		return err->code;
	int code = csv_block_cut(csv, block, err);
	size_t skip = 0;
	if (code == 0)
		code = err_set(err, ERR_INPUT, "'%s' is empty: not even a header", csv->path);
	if (code < 0)
		goto out;
	code = 0;
	if (block->size >= 3 && memcmp(block->text, "\xef\xbb\xbf", 3) == 0)
		skip = 3;
	while (skip < block->size && (block->text[skip] == '\n' || block->text[skip] == '\r'))
		skip++;
	size_t record = csv_first_record(block->text + skip, block->size - skip);
	size_t length = record;
	while (length && (block->text[skip + length - 1] == '\n' || block->text[skip + length - 1] == '\r'))
		length--;
	if (!length)
		code = err_set(err, ERR_INPUT, "'%s' has nothing but blank lines", csv->path);
	if (!code)
		code = csv_check_text(csv, block->text + skip, length, err);
	if (!code)
		code = csv_read_names(csv, block->text + skip, length, err);
	if (code)
		goto out;
	size_t used = csv->settings.no_header ? skip : skip + record;
	struct scan_tally tally;
	csv->scan->tally(block->text, used, csv->settings.delimiter, &tally);
	/* What follows goes back before whatever was carried: the block and the carry are one text. */
	size_t rest = block->size - used;
	char *joined = memory_take(csv->memory, rest + csv->carry_size + 1);
	if (!joined) {
		code = csv_no_memory(csv, rest, err);
		goto out;
	}
	memcpy(joined, block->text + used, rest);
	if (csv->carry_size)
		memcpy(joined + rest, csv->carry, csv->carry_size);
	memory_give(csv->memory, csv->carry, csv->carry_room);
	csv->carry = joined;
	csv->carry_room = rest + csv->carry_size + 1;
	csv->carry_size += rest;
	csv->counts.line = tally.lines;
	csv->counts.text_bytes = used;
	csv->ended = csv->ended && !csv->carry_size;
out:
	if (code)
		csv->columns = csv->names ? csv->columns : 0;
	csv_block_free(block);
	return code;
}

static char csv_default_delimiter(const char *path)
{
	char *name = mem_strdup(path);
	static const char *const packed[] = {".gz", ".zst"};
	for (size_t i = 0; i < 2; i++)
		if (str_ends(name, packed[i]))
			name[strlen(name) - strlen(packed[i])] = 0;
	bool tabs = str_ends(name, ".tsv") || str_ends(name, ".tab");
	free(name);
	return tabs ? '\t' : ',';
}

int csv_open(const char *path, const struct csv_settings *settings, struct memory *memory, struct csv **out,
	     struct err *err)
{
	struct csv *csv = mem_alloc(sizeof(*csv));
	struct err unheard = {0};
	err = err ? err : &unheard;
	csv->path = mem_strdup(settings->name ? settings->name : strcmp(path, "-") == 0 ? "standard input" : path);
	csv->settings = *settings;
	csv->memory = memory;
	csv->scan = scan_kernel_best();
	pthread_mutex_init(&csv->lock, NULL);
	if (!csv->settings.delimiter)
		csv->settings.delimiter = csv_default_delimiter(path);
	if (!csv->settings.block_bytes)
		csv->settings.block_bytes = CSV_BLOCK;
	int code = source_open(path, csv->path, memory, settings->watch, settings->watch_context, &csv->source, err);
	if (!code)
		code = csv_read_header(csv, err);
	if (code) {
		csv_close(csv);
		return code;
	}
	*out = csv;
	return 0;
}

void csv_close(struct csv *csv)
{
	if (!csv)
		return;
	for (size_t i = 0; i < csv->columns && csv->names; i++)
		free(csv->names[i]);
	free(csv->names);
	memory_give(csv->memory, csv->carry, csv->carry_room);
	source_close(csv->source);
	pthread_mutex_destroy(&csv->lock);
	free(csv->path);
	free(csv);
}

size_t csv_column_count(const struct csv *csv)
{
	return csv->columns;
}

const char *csv_column_name(const struct csv *csv, size_t column)
{
	return csv->names[column];
}

const char *csv_path(const struct csv *csv)
{
	return csv->path;
}

uint64_t csv_file_size(const struct csv *csv)
{
	return source_file_size(csv->source);
}

void csv_count(struct csv *csv, struct csv_counts *out)
{
	pthread_mutex_lock(&csv->lock);
	*out = csv->counts;
	pthread_mutex_unlock(&csv->lock);
	out->file_bytes = source_file_bytes(csv->source);
}
