/*
 * jit.c - see jit.h: where the files lie, perf maps, and what is asked of either kind of file.
 *
 * /tmp is open to everybody, so a file counts only where it is a plain one that belongs to us or to the process's owner, and
 * a link is not followed. Names are taken apart when they are first asked for: a map has a hundred thousand, a profile needs a
 * few hundred. So a map is for one thread at a time.
 */
#include "symbol/jit.h"
#include "base/file.h"
#include "base/mem.h"
#include "symbol/demangle.h"
#include "symbol/jit_map.h"
#include "symbol/jit_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t file_most = (size_t)1 << 30;

struct jit_names {
	struct map by_place; /* entry and line, to struct jit_symbol */
	VEC(void *) owned;
};

static bool is_trusted(const struct stat *status, int pid)
{
	if (!S_ISREG(status->st_mode))
		return false;
	if (status->st_uid == geteuid())
		return true;
	struct stat process;
	char *path = mem_printf("%s/%d", file_procfs(), pid);
	bool owner = stat(path, &process) == 0 && process.st_uid == status->st_uid;
	free(path);
	return owner;
}

/* The bytes, owned by the map; NULL where there is no such file that may be read. */
static const char *read_trusted(struct jit_map *map, const char *path, int pid, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	if (fd < 0)
		return NULL;
	char *bytes = NULL;
	size_t got = 0;
	if (fstat(fd, &status) == 0 && is_trusted(&status, pid)) {
		size_t room = (uint64_t)status.st_size < file_most ? (size_t)status.st_size : file_most;
		bytes = mem_alloc(room + 1);
		ssize_t part;
		while (got < room && (part = read(fd, bytes + got, room - got)) > 0)
			got += (size_t)part;
		vec_push(&map->texts, bytes);
	}
	close(fd);
	*size = got;
	return bytes;
}

/* What perf itself and CPython use, then Node's default. */
static bool load_dump(struct jit_map *map, int pid)
{
	static const char *const folders[] = {"/tmp", "."};
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char *path = mem_printf("%s/jit-%d.dump", folders[i], pid);
		size_t size = 0;
		const char *bytes = read_trusted(map, path, pid, &size);
		free(path);
		if (bytes && jit_map_add_dump(map, (const uint8_t *)bytes, size))
			return true;
	}
	return false;
}

int jit_map_load(int pid, struct jit_map **out, struct err *err)
{
	struct jit_map *map = jit_map_new();
	char *path = mem_printf("/tmp/perf-%d.map", pid);
	size_t size = 0;
	const char *text = read_trusted(map, path, pid, &size);
	free(path);
	if (text)
		jit_map_add_text(map, text, size);
	bool dump = load_dump(map, pid);
	if (!text && !dump) {
		jit_map_free(map);
		return err_set(err, ERR_UNAVAILABLE, "process %d left no /tmp/perf-%d.map", pid, pid);
	}
	jit_map_finish(map);
	*out = map;
	return 0;
}

int jit_map_parse(const char *text, size_t bytes, struct jit_map **out, struct err *err)
{
	(void)err;
	struct jit_map *map = jit_map_new();
	jit_map_add_text(map, jit_map_keep(map, text, bytes), bytes);
	jit_map_finish(map);
	*out = map;
	return 0;
}

int jit_dump_parse(const void *bytes, size_t size, struct jit_map **out, struct err *err)
{
	struct jit_map *map = jit_map_new();
	const char *copy = jit_map_keep(map, bytes, size);
	if (!jit_map_add_dump(map, (const uint8_t *)copy, size)) {
		jit_map_free(map);
		return err_set(err, ERR_INPUT, "no jitdump file of this machine's byte order");
	}
	jit_map_finish(map);
	*out = map;
	return 0;
}

static const char *parse_hex(const char *at, const char *end, uint64_t *out)
{
	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	uint64_t value = 0;
	const char *start = at;
	for (; at < end && at - start <= 16; at++) {
		unsigned char c = (unsigned char)*at;
		unsigned digit = 16;
		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (c | 32u) - 'a' + 10;
		if (digit == 16)
			break;
		value = value << 4 | digit;
	}
	*out = value;
	return at > start && at - start <= 16 && at < end && *at == ' ' ? at + 1 : NULL;
}

/* "START SIZE name", both numbers hexadecimal. A line that is not like that is passed over: the last one may be cut off. */
void jit_map_add_text(struct jit_map *map, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	for (const char *line = text; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		struct jit_entry entry = {0};
		const char *at = parse_hex(line, stop, &entry.start);
		at = at ? parse_hex(at, stop, &entry.size) : NULL;
		if (at && at < stop) {
			entry.name = at;
			entry.name_bytes = (uint32_t)(stop - at);
			jit_map_add(map, &entry);
		}
		line = stop + 1;
	}
}

static const struct jit_line *line_at(const struct jit_map *map, const struct jit_entry *entry, uint64_t address)
{
	const struct jit_line *found = NULL;
	for (uint32_t i = 0; i < entry->line_count; i++) {
		const struct jit_line *line = &map->lines.items[entry->lines + i];
		if (line->start <= address && (!found || line->start >= found->start))
			found = line;
	}
	return found;
}

static char *copy_part(struct jit_names *names, const char *text, size_t bytes, size_t most)
{
	char *copy = demangle_clean(text, bytes, most);
	vec_push(&names->owned, copy);
	return copy;
}

static struct jit_symbol *make_symbol(struct jit_names *names, const struct jit_entry *entry,
				      const struct jit_line *line)
{
	struct jit_name name;
	jit_name_split(entry->name, entry->name_bytes, &name);
	struct jit_symbol *symbol = mem_alloc(sizeof(*symbol));
	vec_push(&names->owned, symbol);
	symbol->name = copy_part(names, name.function, name.function_bytes, DEMANGLE_NAME_MAX);
	symbol->python = name.python;
	symbol->line = line ? line->line : name.line;
	if (line)
		symbol->file = copy_part(names, line->file, line->file_bytes, DEMANGLE_NAME_MAX);
	else if (name.file)
		symbol->file = copy_part(names, name.file, name.file_bytes, DEMANGLE_NAME_MAX);
	return symbol;
}

bool jit_map_find(const struct jit_map *map, uint64_t address, struct jit_symbol *out)
{
	size_t low = 0, high = map->ranges.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->ranges.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || map->ranges.items[low - 1].entry == UINT32_MAX)
		return false;
	uint32_t index = map->ranges.items[low - 1].entry;
	const struct jit_entry *entry = &map->entries.items[index];
	const struct jit_line *line = line_at(map, entry, address);
	uint64_t key = (uint64_t)index << 32 | (line ? (uint64_t)(line - map->lines.items) + 1 : 0);
	struct jit_symbol *symbol = map_get(&map->names->by_place, key);
	if (!symbol) {
		symbol = make_symbol(map->names, entry, line);
		map_put(&map->names->by_place, key, symbol);
	}
	*out = *symbol;
	return true;
}

struct jit_map *jit_map_new(void)
{
	struct jit_map *map = mem_alloc(sizeof(*map));
	map->names = mem_alloc(sizeof(*map->names));
	return map;
}

const char *jit_map_keep(struct jit_map *map, const char *bytes, size_t size)
{
	char *copy = mem_alloc(size + 1);
	if (size)
		memcpy(copy, bytes, size);
	vec_push(&map->texts, copy);
	return copy;
}

void jit_map_free(struct jit_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->texts.len; i++)
		free(map->texts.items[i]);
	vec_fini(&map->texts);
	vec_fini(&map->entries);
	vec_fini(&map->lines);
	vec_fini(&map->ranges);
	for (size_t i = 0; i < map->names->owned.len; i++)
		free(map->names->owned.items[i]);
	vec_fini(&map->names->owned);
	map_fini(&map->names->by_place);
	free(map->names);
	free(map);
}
