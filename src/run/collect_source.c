/*
 * collect_source.c - the text of the lines that samples hit, copied while the sources are at hand.
 *
 * File names come from the profiled programs. Only regular files with a size are opened, so neither a device nor a pipe nor
 * the like is ever touched, and how much is read and kept is bounded.
 */
#include "run/collect_inside.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINES = 100000, MOST_TEXT = 400, MOST_FILE = 32 << 20 };

void source_want(struct collect *collect, const struct profile_frame *frame)
{
	if (!frame->file || frame->line <= 0 || collect->sources.len >= MOST_LINES ||
	    map_get(&collect->seen_frames, (uint64_t)frame->id))
		return;
	map_put(&collect->seen_frames, (uint64_t)frame->id, collect);
	vec_push(&collect->sources, ((struct source_place){mem_strdup(frame->file), frame->line}));
}

static int compare_places(const void *a, const void *b)
{
	const struct source_place *x = a, *y = b;
	int order = strcmp(x->file, y->file);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* NULL where it is nothing to be read. Owned by the caller. */
static char *read_source(const char *path, size_t *size)
{
	struct stat status;
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	char *text = NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= MOST_FILE) {
		text = mem_alloc((size_t)status.st_size + 1);
		ssize_t got = 0;
		*size = 0;
		while (*size < (size_t)status.st_size &&
		       (got = read(fd, text + *size, (size_t)status.st_size - *size)) > 0)
			*size += (size_t)got;
	}
	close(fd);
	return text;
}

/* Long lines are cut, but not inside a character. */
static char *line_text(const char *line, size_t length)
{
	if (length && line[length - 1] == '\r')
		length--;
	if (length > MOST_TEXT)
		for (length = MOST_TEXT; length && (line[length] & 0xC0) == 0x80;)
			length--;
	return mem_strndup(line, length);
}

static void store_lines(struct collect *collect, const struct source_place *places, size_t count, const char *text,
			size_t size)
{
	int line = 1;
	const char *at = text, *end = text + size;
	for (size_t i = 0; i < count && !collect->code; i++) {
		if (i && places[i].line == places[i - 1].line)
			continue;
		for (const char *newline; line < places[i].line && at < end; at = newline + 1, line++) {
			newline = memchr(at, '\n', (size_t)(end - at));
			if (!newline)
				return;
		}
		if (at >= end || line != places[i].line)
			return;
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		char *copy = line_text(at, (size_t)((newline ? newline : end) - at));
		struct profile_source source = {.file = places[i].file, .line = line, .text = copy};
		collect_stored(collect, store_profile_source(collect->options->store, &source, collect->err));
		free(copy);
	}
}

void source_store_all(struct collect *collect)
{
	struct source_place *places = collect->sources.items;
	size_t all = collect->sources.len;
	if (all)
		qsort(places, all, sizeof(*places), compare_places);
	for (size_t first = 0, next; first < all && !collect->code; first = next) {
		for (next = first + 1; next < all && strcmp(places[next].file, places[first].file) == 0;)
			next++;
		size_t size = 0;
		char *text = read_source(places[first].file, &size);
		if (text)
			store_lines(collect, places + first, next - first, text, size);
		free(text);
	}
}
