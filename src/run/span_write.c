/* span_write.c - see span_write.h. */
#include "run/span_write.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "wire/span_wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGES = 32, SEPARATOR = '\x1f', DEPTH_MOST = 64 };

struct span_write {
	int fd;
	uint8_t *bytes; /* the file */
	struct span_wire_block *block;
	struct span_wire_node *node;
	struct span_wire_thread *thread;
};

/* "dir=/tmp/x;stage=3" of the environment. */
static char *asked_folder(int64_t *stage_id)
{
	const char *text = getenv(SPAN_WIRE_VARIABLE), *end = text ? strrchr(text, ';') : NULL;
	if (!end || strncmp(text, "dir=/", 5) != 0 || strncmp(end, ";stage=", 7) != 0)
		return NULL;
	*stage_id = strtoll(end + 7, NULL, 10);
	return mem_strndup(text + 4, (size_t)(end - text) - 4);
}

static void *add_record(struct span_write *span, enum span_wire_kind kind, size_t bytes)
{
	bytes = (bytes + SPAN_WIRE_UNIT - 1) / SPAN_WIRE_UNIT * SPAN_WIRE_UNIT;
	if (sizeof(*span->block) + span->block->used + bytes > (PAGES - 1) * SPAN_WIRE_PAGE)
		return NULL;
	struct span_wire_record *record = (struct span_wire_record *)((uint8_t *)(span->block + 1) + span->block->used);
	record->kind = (uint16_t)kind;
	record->bytes = (uint32_t)bytes;
	span->block->used += (uint32_t)bytes;
	return record;
}

static uint32_t id_of(const struct span_write *span, const void *record)
{
	return record ? (uint32_t)(((const uint8_t *)record - span->bytes) / SPAN_WIRE_UNIT) : 0;
}

static void add_node(struct span_write *span, const char *name, size_t length)
{
	uint32_t parent = id_of(span, span->node);
	length = length < SPAN_WIRE_NAME_MOST ? length : SPAN_WIRE_NAME_MOST;
	struct span_wire_node *node = length ? add_record(span, SPAN_WIRE_NODE, sizeof(*node) + length + 1) : NULL;
	if (!node)
		return;
	node->parent = parent;
	node->name_bytes = (uint32_t)length;
	memcpy(node->name, name, length);
	span->node = node;
}

static void fill(struct span_write *span, int64_t stage_id, uint64_t now)
{
	struct span_wire_header *header = (struct span_wire_header *)span->bytes;
	*header = (struct span_wire_header){.magic = SPAN_WIRE_MAGIC,
					    .version = SPAN_WIRE_VERSION,
					    .header_bytes = sizeof(*header),
					    .pid = getpid(),
					    .ppid = getppid(),
					    .stage_id = stage_id,
					    .start_mono_ns = now,
					    .start_ticks = now,
					    .last_mono_ns = now,
					    .last_ticks = now,
					    .clock = SPAN_CLOCK_MONOTONIC,
					    .pages_most = PAGES,
					    .pages_used = PAGES};
	snprintf(header->source, sizeof(header->source), "pitot span " PITOT_VERSION);
	snprintf(header->executable, sizeof(header->executable), "pitot");
	span->block = (struct span_wire_block *)(span->bytes + SPAN_WIRE_PAGE);
	span->block->kind = SPAN_WIRE_BLOCK;
	span->block->pages = PAGES - 1;
	span->thread = add_record(span, SPAN_WIRE_THREAD, sizeof(*span->thread));
	span->thread->tid = getpid();
	span->thread->start = now;
	if (getenv(SPAN_WIRE_COUNTERS_VARIABLE)) /* it would count this process, which waits */
		span->thread->counting = SPAN_COUNTING_NOT_HERE;
}

/* The names around, then the span's own; what is inside the command gets them all. */
static void add_path(struct span_write *span, const char *name)
{
	const char *around = getenv(SPAN_PATH_VARIABLE);
	struct str path = {0};
	int depth = 0;
	for (const char *at = around; at && *at && depth < DEPTH_MOST; depth++) {
		size_t length = strcspn(at, (char[]){SEPARATOR, '\0'});
		add_node(span, at, length);
		at += length + (at[length] == SEPARATOR);
	}
	add_node(span, name, strlen(name));
	str_appendf(&path, "%s%c%s", around ? around : "", SEPARATOR, name);
	setenv(SPAN_PATH_VARIABLE, str_text(&path) + (path.text[0] == SEPARATOR), 1);
	str_fini(&path);
}

static bool write_file(const struct span_write *span)
{
	size_t bytes = PAGES * SPAN_WIRE_PAGE;
	return pwrite(span->fd, span->bytes, bytes, 0) == (ssize_t)bytes;
}

static void span_write_free(struct span_write *span)
{
	if (span->fd >= 0)
		close(span->fd);
	free(span->bytes);
	free(span);
}

struct span_write *span_write_begin(const char *name)
{
	int64_t stage_id = 0;
	char *folder = asked_folder(&stage_id);
	if (!folder)
		return NULL;
	uint64_t now = clock_mono_ns();
	char *path = mem_printf("%s/%d-%llx" SPAN_WIRE_SUFFIX, folder, (int)getpid(), (unsigned long long)now);
	struct span_write *span = mem_alloc(sizeof(*span));
	span->bytes = mem_alloc(PAGES * SPAN_WIRE_PAGE);
	span->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	free(path);
	free(folder);
	if (span->fd < 0) {
		span_write_free(span);
		return NULL;
	}
	fill(span, stage_id, now);
	add_path(span, name);
	span->node->begin = now;
	if (!write_file(span)) {
		span_write_free(span);
		return NULL;
	}
	return span;
}

void span_write_end(struct span_write *span)
{
	if (!span)
		return;
	struct span_wire_header *header = (struct span_wire_header *)span->bytes;
	uint64_t now = clock_mono_ns(), begin = span->node->begin, took = now - begin;
	span->node->begin = 0;
	span->node->calls = 1;
	span->node->total = span->node->min = span->node->max = took;
	span->node->durations[span_wire_bucket(took)] = 1;
	struct span_wire_span *record = add_record(span, SPAN_WIRE_SPAN, sizeof(*record));
	if (record) {
		record->node = id_of(span, span->node);
		record->begin = begin;
		record->end = now;
	}
	span->thread->end = now;
	header->last_mono_ns = header->last_ticks = now;
	header->ended = 1;
	write_file(span);
	span_write_free(span);
}
