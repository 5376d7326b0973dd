/*
 * span_read.c - see span_read.h.
 *
 * Read with pread, not mapped: a program that still runs may cut the file short, and touching a page that is gone would be a SIGBUS.
 * One block is held at a time, so a file cannot take more memory than its nodes and the largest block.
 */
#include "run/span_read.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BLOCK_PAGES = 4096, MOST_ENTRIES = 1 << 20 };
static const uint64_t MOST_CALLS = 1ull << 44; /* a year of nothing else */
enum place_kind { PLACE_OPERATOR, PLACE_SERIES };

/* What walking the blocks of a file needs. */
struct walk {
	struct span_file *file;
	uint8_t *bytes; /* of the block at hand */
	uint64_t at;    /* where the block lies */
	uint32_t lane;
	size_t threads_seen;
	VEC(uint32_t) thread_of_lane; /* index of the thread at work, or SPAN_NOWHERE */
	bool first_pass;
	span_visit_fn *take;
	void *context;
	bool stopped;
	uint64_t dropped;
};

static bool read_at(int fd, void *out, size_t bytes, uint64_t at)
{
	char *to = out;
	while (bytes) {
		ssize_t got = pread(fd, to, bytes, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		at += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return true;
}

static int open_file(const char *path, struct span_file *file, struct err *err)
{
	struct stat status;
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0)
		return err_set_errno(err, ERR_IO, "cannot open the spans in '%s'", path);
	if (fstat(file->fd, &status) != 0 || !S_ISREG(status.st_mode))
		return err_set(err, ERR_INPUT, "'%s' is not a regular file", path);
	file->size = status.st_size > 0 ? (uint64_t)status.st_size : 0;
	if (!read_at(file->fd, &file->header, sizeof(file->header), 0))
		return err_set(err, ERR_INPUT, "'%s' is cut short", path);
	if (file->header.magic != SPAN_WIRE_MAGIC)
		return err_set(err, ERR_INPUT, "'%s' has no spans, or was never begun", path);
	if (file->header.version != SPAN_WIRE_VERSION || file->header.header_bytes != sizeof(file->header))
		return err_set(
			err, ERR_INPUT,
			"'%s' is of another version of libpitot (%u, this pitot reads %d); link the program anew", path,
			file->header.version, SPAN_WIRE_VERSION);
	if (file->header.clock != SPAN_CLOCK_MONOTONIC && file->header.clock != SPAN_CLOCK_TSC)
		return err_set(err, ERR_INPUT, "'%s' has times of an unknown clock", path);
	file->header.source[sizeof(file->header.source) - 1] = '\0';
	file->header.executable[sizeof(file->header.executable) - 1] = '\0';
	return 0;
}

/* ---- ids ---- */

static uint64_t id_of(const struct walk *walk, const void *record)
{
	return (walk->at + (uint64_t)((const uint8_t *)record - walk->bytes)) / SPAN_WIRE_UNIT;
}

static void remember(struct walk *walk, const void *record, enum place_kind kind, size_t index)
{
	map_put(&walk->file->ids, id_of(walk, record), (void *)(((uintptr_t)index + 1) << 1 | (uintptr_t)kind));
}

static uint32_t look_up(const struct span_file *file, uint64_t id, enum place_kind kind)
{
	uintptr_t found = id ? (uintptr_t)map_get(&file->ids, id) : 0;
	return found && (found & 1) == (uintptr_t)kind ? (uint32_t)((found >> 1) - 1) : SPAN_NOWHERE;
}

uint32_t span_file_operator(const struct span_file *file, uint32_t id)
{
	return look_up(file, id, PLACE_OPERATOR);
}

/* ---- the records that are held ---- */

static double sane(double value)
{
	return isfinite(value) && value > 0 ? value : 0;
}

/* False where it stands outside of its record, or says what cannot be. */
static bool read_counts(const struct span_wire_node *node, struct read_counts *out)
{
	const uint64_t most = 1ull << 60;
	if (!node->counts)
		return true;
	if (node->counts % 8 || node->counts < sizeof(*node) + node->name_bytes || node->counts > node->record.bytes ||
	    node->record.bytes - node->counts < sizeof(struct span_wire_counts))
		return false;
	const struct span_wire_counts *counts = (const void *)((const char *)node + node->counts);
	*out = (struct read_counts){.known = true,
				    .enabled_ns = counts->enabled_ns,
				    .running_ns = counts->running_ns,
				    .calls = counts->calls,
				    .uncounted = counts->uncounted & SPAN_WIRE_ALL_EVENTS};
	bool right = out->enabled_ns < most && out->running_ns < most && out->calls <= MOST_CALLS;
	for (unsigned i = 0; i < SPAN_WIRE_EVENTS; i++) {
		out->count[i] = counts->count[i];
		right = right && out->count[i] < most;
	}
	if (!right)
		*out = (struct read_counts){0};
	return right;
}

static bool take_node(struct walk *walk, const struct span_wire_node *node)
{
	struct span_file *file = walk->file;
	if (node->record.bytes < sizeof(*node) || node->name_bytes > node->record.bytes - sizeof(*node) ||
	    node->name_bytes > SPAN_WIRE_NAME_MOST || file->operators.len >= MOST_ENTRIES || node->calls > MOST_CALLS)
		return false;
	uint32_t parent = look_up(file, node->parent, PLACE_OPERATOR);
	if (node->parent && (parent == SPAN_NOWHERE || file->operators.items[parent].lane != walk->lane))
		return false;
	struct read_operator *added = vec_add(&file->operators);
	added->parent = parent;
	added->lane = walk->lane;
	added->name = mem_strndup(node->name, node->name_bytes);
	added->begin = node->begin;
	added->calls = node->calls;
	added->total = node->total;
	added->min = node->min;
	added->max = node->max;
	added->open = node->open;
	added->flops = sane(node->flops);
	added->bytes = sane(node->bytes);
	for (unsigned i = 0; i < SPAN_WIRE_BUCKETS; i++)
		added->durations[i] = node->durations[i];
	if (!read_counts(node, &added->counts))
		walk->dropped++;
	remember(walk, node, PLACE_OPERATOR, file->operators.len - 1);
	return true;
}

static bool take_series(struct walk *walk, const struct span_wire_series *series)
{
	struct span_file *file = walk->file;
	if (series->record.bytes < sizeof(*series) || series->name_bytes > series->record.bytes - sizeof(*series) ||
	    series->name_bytes > SPAN_WIRE_NAME_MOST || file->series.len >= MOST_ENTRIES || !isfinite(series->last) ||
	    !isfinite(series->min) || !isfinite(series->max) || !isfinite(series->sum) || series->calls > MOST_CALLS)
		return false;
	vec_push(&file->series, ((struct read_series){.is_gauge = series->is_gauge == 1,
						      .name = mem_strndup(series->name, series->name_bytes),
						      .calls = series->calls,
						      .last = series->last,
						      .min = series->min,
						      .max = series->max,
						      .sum = series->sum}));
	remember(walk, series, PLACE_SERIES, file->series.len - 1);
	return true;
}

static bool take_thread(struct walk *walk, const struct span_wire_thread *thread)
{
	struct span_file *file = walk->file;
	size_t most = walk->first_pass ? MOST_ENTRIES : file->threads.len; /* the file may have grown since */
	if (thread->record.bytes < sizeof(*thread) || walk->threads_seen >= most)
		return false;
	while (walk->thread_of_lane.len <= walk->lane)
		vec_push(&walk->thread_of_lane, SPAN_NOWHERE);
	walk->thread_of_lane.items[walk->lane] = (uint32_t)walk->threads_seen++;
	if (!walk->first_pass)
		return true;
	struct read_span_thread *added = vec_add(&file->threads);
	added->lane = walk->lane;
	added->tid = thread->tid;
	added->counting = thread->counting;
	added->start = thread->start;
	added->end = thread->end;
	memcpy(added->name, thread->name, sizeof(thread->name));
	return true;
}

/* ---- the records that are handed over ---- */

static bool fill_span(const struct walk *walk, const struct span_wire_span *span, struct span_visit *visit)
{
	if (span->record.bytes < sizeof(*span))
		return false;
	visit->place = look_up(walk->file, span->node, PLACE_OPERATOR);
	visit->begin = span->begin;
	visit->end = span->end;
	return visit->place != SPAN_NOWHERE && span->end >= span->begin;
}

static bool fill_chunk(const struct span_wire_chunk *chunk, struct span_visit *visit)
{
	if (chunk->record.bytes < sizeof(*chunk) || chunk->end < chunk->begin ||
	    chunk->parts > (chunk->record.bytes - sizeof(*chunk)) / sizeof(chunk->part[0]))
		return false;
	visit->chunk = chunk;
	visit->begin = chunk->begin;
	visit->end = chunk->end;
	return true;
}

static bool fill_point(const struct walk *walk, const struct span_wire_point *point, struct span_visit *visit)
{
	if (point->record.bytes < sizeof(*point))
		return false;
	visit->place = look_up(walk->file, point->series, PLACE_SERIES);
	visit->begin = visit->end = point->at;
	visit->value = point->value;
	return visit->place != SPAN_NOWHERE && isfinite(point->value);
}

static bool fill_snapshot(const struct walk *walk, const struct span_wire_snapshot *snapshot, struct span_visit *visit)
{
	if (snapshot->record.bytes < sizeof(*snapshot) || snapshot->label_bytes > SPAN_WIRE_NAME_MOST ||
	    snapshot->label_bytes > snapshot->record.bytes - sizeof(*snapshot))
		return false;
	visit->place = look_up(walk->file, snapshot->node, PLACE_OPERATOR);
	visit->snapshot = snapshot;
	visit->begin = visit->end = snapshot->at;
	memcpy(visit->text, snapshot->label, snapshot->label_bytes);
	return true;
}

static bool hand_over(struct walk *walk, const struct span_wire_record *record)
{
	struct span_visit visit = {.kind = record->kind, .thread = SPAN_NOWHERE, .place = SPAN_NOWHERE};
	bool right = false;
	if (walk->lane < walk->thread_of_lane.len)
		visit.thread = walk->thread_of_lane.items[walk->lane];
	switch (record->kind) {
	case SPAN_WIRE_SPAN:
		right = fill_span(walk, (const struct span_wire_span *)record, &visit);
		break;
	case SPAN_WIRE_CHUNK:
		right = fill_chunk((const struct span_wire_chunk *)record, &visit);
		break;
	case SPAN_WIRE_POINT:
		right = fill_point(walk, (const struct span_wire_point *)record, &visit);
		break;
	case SPAN_WIRE_SNAPSHOT:
		right = fill_snapshot(walk, (const struct span_wire_snapshot *)record, &visit);
		break;
	default:
		break;
	}
	if (!right || visit.thread == SPAN_NOWHERE)
		return false;
	walk->stopped = !walk->take(walk->context, &visit);
	return true;
}

static bool take_record(struct walk *walk, const struct span_wire_record *record)
{
	switch (record->kind) {
	case SPAN_WIRE_NODE:
		return !walk->first_pass || take_node(walk, (const struct span_wire_node *)record);
	case SPAN_WIRE_SERIES:
		return !walk->first_pass || take_series(walk, (const struct span_wire_series *)record);
	case SPAN_WIRE_THREAD:
		return take_thread(walk, (const struct span_wire_thread *)record);
	default:
		return walk->first_pass || hand_over(walk, record);
	}
}

/* ---- blocks ---- */

static void walk_records(struct walk *walk, size_t used)
{
	for (size_t at = sizeof(struct span_wire_block); at < used && !walk->stopped;) {
		const struct span_wire_record *record = (const struct span_wire_record *)(walk->bytes + at);
		if (used - at < sizeof(struct span_wire_span) / 2 || record->bytes == 0 || record->bytes > used - at ||
		    record->bytes % SPAN_WIRE_UNIT) {
			walk->dropped++;
			return;
		}
		if (!take_record(walk, record))
			walk->dropped++;
		at += record->bytes;
	}
}

/* False where the block makes no sense. `*pages` is how many to go on by. */
static bool walk_block(struct walk *walk, uint64_t end, uint32_t *pages)
{
	struct span_wire_block head;
	*pages = 1;
	if (!read_at(walk->file->fd, &head, sizeof(head), walk->at))
		return false;
	if (head.kind == 0)
		return true;
	uint64_t room = (uint64_t)head.pages * SPAN_WIRE_PAGE;
	if (head.kind != SPAN_WIRE_BLOCK || head.pages == 0 || head.pages > MOST_BLOCK_PAGES || room > end - walk->at ||
	    head.used > room - sizeof(head) || head.lane > MOST_ENTRIES)
		return false;
	*pages = head.pages;
	walk->lane = head.lane;
	walk->bytes = mem_alloc(sizeof(head) + head.used);
	bool right = read_at(walk->file->fd, walk->bytes, sizeof(head) + head.used, walk->at);
	if (right)
		walk_records(walk, sizeof(head) + head.used);
	free(walk->bytes);
	return right;
}

/* An empty page may be the first of a hole. */
static uint64_t skip_hole(int fd, uint64_t at, uint64_t end)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? end : at;
	uint64_t page = (uint64_t)data / SPAN_WIRE_PAGE * SPAN_WIRE_PAGE;
	return page > at ? page : at;
}

static void walk_file(struct walk *walk)
{
	struct span_file *file = walk->file;
	uint64_t end = (uint64_t)file->header.pages_used * SPAN_WIRE_PAGE;
	end = end < file->size ? end : file->size / SPAN_WIRE_PAGE * SPAN_WIRE_PAGE;
	for (walk->at = SPAN_WIRE_PAGE; walk->at < end && !walk->stopped;) {
		uint32_t pages = 1;
		if (!walk_block(walk, end, &pages)) {
			file->dropped_bytes = end - walk->at;
			break;
		}
		walk->at = skip_hole(file->fd, walk->at + (uint64_t)pages * SPAN_WIRE_PAGE, end);
	}
	vec_fini(&walk->thread_of_lane);
}

int span_file_open(const char *path, struct span_file **out, struct err *err)
{
	struct span_file *file = mem_alloc(sizeof(*file));
	int code = open_file(path, file, err);
	if (code) {
		span_file_free(file);
		return code;
	}
	struct walk walk = {.file = file, .first_pass = true};
	walk_file(&walk);
	file->dropped_records = walk.dropped;
	*out = file;
	return 0;
}

void span_file_visit(struct span_file *file, span_visit_fn *take, void *context)
{
	struct walk walk = {.file = file, .take = take, .context = context};
	walk_file(&walk);
	file->dropped_visits = walk.dropped;
}

void span_file_free(struct span_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->operators.len; i++)
		free(file->operators.items[i].name);
	for (size_t i = 0; i < file->series.len; i++)
		free(file->series.items[i].name);
	vec_fini(&file->operators);
	vec_fini(&file->series);
	vec_fini(&file->threads);
	map_fini(&file->ids);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}
