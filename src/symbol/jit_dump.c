/*
 * jit_dump.c - the records of a jitdump file (see the specification in Linux's tools/perf).
 *
 *	header   magic, version, bytes of the header, machine, -, process: 4 bytes each; time, flags: 8
 *	record   kind, bytes: 4 each; time: 8; then by kind
 *	  0 load    process, thread: 4; place, address, size, number: 8; name with its end; the code
 *	  1 move    process, thread: 4; place, old address, new address, size, number: 8
 *	  2 lines   address, count: 8; then address: 8, line, column: 4, file with its end
 *
 * Everything is checked against the file's end; damage ends the reading. Files of the other byte order are refused.
 */
#include "base/mem.h"
#include "symbol/jit_map.h"

#include <limits.h>
#include <string.h>

enum { MAGIC = 0x4A695444, HEADER_LEAST = 40, RECORD_HEAD = 16, LINES_MOST = 1 << 26, LINES_OF_ONE = 1 << 16 };
enum { RECORD_LOAD, RECORD_MOVE, RECORD_LINES };

struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t take_u64(struct cursor *cursor)
{
	uint64_t value = 0;
	if (cursor->end - cursor->at < 8) {
		cursor->failed = true;
		return 0;
	}
	memcpy(&value, cursor->at, 8);
	cursor->at += 8;
	return value;
}

static uint32_t take_u32(struct cursor *cursor)
{
	uint32_t value = 0;
	if (cursor->end - cursor->at < 4) {
		cursor->failed = true;
		return 0;
	}
	memcpy(&value, cursor->at, 4);
	cursor->at += 4;
	return value;
}

static const char *take_text(struct cursor *cursor, uint32_t *bytes)
{
	const uint8_t *stop = memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));
	const char *text = (const char *)cursor->at;
	if (!stop || stop - cursor->at > INT_MAX) {
		cursor->failed = true;
		*bytes = 0;
		return text;
	}
	*bytes = (uint32_t)(stop - cursor->at);
	cursor->at = stop + 1;
	return text;
}

struct dump {
	struct jit_map *map;
	struct map by_start; /* address of code, to its last entry's number and one */
	/* Debug records that wait for the code that they are of. */
	uint64_t lines_address;
	uint32_t lines, line_count;
};

static void add_entry(struct dump *dump, const struct jit_entry *entry)
{
	jit_map_add(dump->map, entry);
	map_put(&dump->by_start, entry->start, (void *)(uintptr_t)dump->map->entries.len); /* NOLINT */
}

static void read_load(struct dump *dump, struct cursor *cursor)
{
	take_u64(cursor); /* process and thread */
	take_u64(cursor); /* place: the address again */
	struct jit_entry entry = {.start = take_u64(cursor), .size = take_u64(cursor)};
	take_u64(cursor);
	entry.name = take_text(cursor, &entry.name_bytes);
	if (cursor->failed)
		return;
	if (dump->line_count && dump->lines_address == entry.start) {
		entry.lines = dump->lines;
		entry.line_count = dump->line_count;
	}
	dump->line_count = 0;
	add_entry(dump, &entry);
}

/* The code is the same at another address: its name is, too. */
static void read_move(struct dump *dump, struct cursor *cursor)
{
	take_u64(cursor); /* process and thread */
	take_u64(cursor); /* place */
	uint64_t from = take_u64(cursor), to = take_u64(cursor), size = take_u64(cursor);
	size_t number = (size_t)(uintptr_t)map_get(&dump->by_start, from);
	if (cursor->failed || number == 0)
		return;
	struct jit_entry entry = dump->map->entries.items[number - 1];
	entry.start = to;
	entry.size = size;
	entry.line_count = 0;
	add_entry(dump, &entry);
}

static void read_lines(struct dump *dump, struct cursor *cursor)
{
	struct jit_map *map = dump->map;
	dump->lines_address = take_u64(cursor);
	dump->lines = (uint32_t)map->lines.len;
	uint64_t count = take_u64(cursor);
	for (uint64_t i = 0; i < count && i < LINES_OF_ONE && !cursor->failed && map->lines.len < LINES_MOST; i++) {
		struct jit_line line = {.start = take_u64(cursor)};
		uint32_t number = take_u32(cursor);
		take_u32(cursor);
		line.file = take_text(cursor, &line.file_bytes);
		line.line = number <= INT_MAX ? (int)number : 0;
		/* "\xff" repeats the file before. */
		if (i && line.file_bytes == 1 && (uint8_t)line.file[0] == 0xFF) {
			line.file = vec_last(&map->lines)->file;
			line.file_bytes = vec_last(&map->lines)->file_bytes;
		}
		if (!cursor->failed)
			vec_push(&map->lines, line);
	}
	dump->line_count = (uint32_t)map->lines.len - dump->lines;
}

bool jit_map_add_dump(struct jit_map *map, const uint8_t *bytes, size_t size)
{
	struct cursor file = {.at = bytes, .end = bytes + size};
	if (size < HEADER_LEAST || take_u32(&file) != MAGIC || take_u32(&file) == 0)
		return false;
	uint32_t header = take_u32(&file);
	if (header < HEADER_LEAST || header > size)
		return false;
	file.at = bytes + header;
	struct dump dump = {.map = map};
	while (file.end - file.at >= RECORD_HEAD) {
		const uint8_t *start = file.at;
		uint32_t kind = take_u32(&file), length = take_u32(&file);
		if (length < RECORD_HEAD || length > (size_t)(file.end - start))
			break;
		struct cursor record = {.at = start + RECORD_HEAD, .end = start + length};
		if (kind == RECORD_LOAD)
			read_load(&dump, &record);
		else if (kind == RECORD_MOVE)
			read_move(&dump, &record);
		else if (kind == RECORD_LINES)
			read_lines(&dump, &record);
		file.at = start + length;
	}
	map_fini(&dump.by_start);
	return true;
}
