/*
 * span.c - the calls of include/pitot.h that record: spans, chunks, counters, gauges, snapshots.
 *
 * A span that is open is its node: the path of names from the root is a node of the thread's tree, a path can be open once at a
 * time, and so the node itself holds when it began. Ending it adds the duration to the node's sums, which lie in the mapped file:
 * the totals are exact however many spans there are, and a kill loses nothing. Single spans are written for the time axis, all
 * long ones and fewer and fewer of the short.
 */
#include "lib/span_inside.h"
#include "pitot.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MOST_CHILDREN = 1024 };

static void count(_Atomic uint64_t *counter, uint64_t by)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

/* Of the header: many threads count there. */
static void count_loss(size_t offset)
{
	struct span_wire_header *header = span_file_now();
	if (header)
		atomic_fetch_add_explicit((_Atomic uint64_t *)((char *)header + offset), 1, memory_order_relaxed);
}

static void lose_record(void)
{
	count_loss(offsetof(struct span_wire_header, lost_records));
}

/* Where to cut so that no character is cut in two. */
static size_t name_length(const char *name)
{
	size_t length = strnlen(name, SPAN_WIRE_NAME_MOST + 1);
	if (length <= SPAN_WIRE_NAME_MOST)
		return length;
	length = SPAN_WIRE_NAME_MOST;
	while (length > 0 && ((unsigned char)name[length] & 0xC0) == 0x80)
		length--;
	return length;
}

static struct span_wire_node *node_at(uint64_t place)
{
	return (struct span_wire_node *)(uintptr_t)place;
}

/* ---- nodes ---- */

static struct span_wire_node *add_node(struct span_lane *lane, const char *name, unsigned siblings)
{
	struct span_wire_node *parent = lane->current;
	size_t length = name_length(name);
	struct span_wire_node *node = NULL;
	size_t bytes = sizeof(*node) + length + 1, counts = (bytes + 7) / 8 * 8;
	if (lane->counts)
		bytes = counts + sizeof(struct span_wire_counts);
	if (length && siblings < MOST_CHILDREN && lane->depth < SPAN_WIRE_DEPTH_MOST)
		node = span_lane_record(lane, SPAN_WIRE_NODE, bytes);
	if (!node)
		return NULL;
	node->counts = lane->counts ? (uint32_t)counts : 0;
	node->parent = parent ? (uint32_t)(parent->inside[IN_SERIAL] >> 32) : 0;
	node->name_bytes = (uint32_t)length;
	memcpy(node->name, name, length);
	node->inside[IN_PARENT] = (uintptr_t)parent;
	node->inside[IN_SITE] = (uintptr_t)name;
	/* The node's own id above, the chunk in which it was last seen below. */
	node->inside[IN_SERIAL] = (uint64_t)span_lane_id(lane, node) << 32;
	span_lane_publish(lane);
	uint64_t *first = parent ? &parent->inside[IN_CHILD] : NULL;
	node->inside[IN_SIBLING] = parent ? *first : (uintptr_t)lane->first;
	if (parent)
		*first = (uintptr_t)node;
	else
		lane->first = node;
	return node;
}

static bool has_name(const struct span_wire_node *node, const char *name)
{
	return strncmp(node->name, name, SPAN_WIRE_NAME_MOST) == 0 ||
	       (node->name_bytes >= SPAN_WIRE_NAME_MOST - 3 && strncmp(node->name, name, node->name_bytes) == 0);
}

static struct span_wire_node *first_child(const struct span_lane *lane)
{
	return lane->current ? node_at(lane->current->inside[IN_CHILD]) : lane->first;
}

/* A name that was not seen at this address before: a new one, or the same text elsewhere. */
static struct span_wire_node *find_slowly(struct span_lane *lane, const char *name)
{
	unsigned siblings = 0;
	for (struct span_wire_node *node = first_child(lane); node;
	     node = node_at(node->inside[IN_SIBLING]), siblings++)
		if (has_name(node, name)) {
			node->inside[IN_SITE] = (uintptr_t)name;
			return node;
		}
	return add_node(lane, name, siblings);
}

/* The text is compared although the address is the same: a program may reuse its buffer. */
static inline struct span_wire_node *find_node(struct span_lane *lane, const char *name)
{
	for (struct span_wire_node *node = first_child(lane); node; node = node_at(node->inside[IN_SIBLING]))
		if (node->inside[IN_SITE] == (uintptr_t)name)
			return strcmp(node->name, name) == 0 ? node : find_slowly(lane, name);
	return find_slowly(lane, name);
}

void pitot_span_begin_to_(const char *name, pitot_span *span)
{
	struct span_lane *lane = span_lane_now();
	if (!lane)
		lane = span_lane_get();
	if (!lane || !name)
		return;
	struct span_wire_node *node = find_node(lane, name);
	if (!node) {
		count_loss(offsetof(struct span_wire_header, lost));
		return;
	}
	lane->current = node;
	lane->depth++;
	if (__builtin_expect(lane->counts, 0))
		span_count_begin(lane, node);
	uint64_t now = span_ticks();
	span->place = node;
	span->began = now;
	atomic_store_explicit(&node->begin, now, memory_order_relaxed);
}

static void write_span(struct span_lane *lane, const struct span_wire_node *node, uint64_t begin, uint64_t end)
{
	struct span_wire_span *span = span_lane_record(lane, SPAN_WIRE_SPAN, sizeof(*span));
	if (!span) {
		lose_record();
		return;
	}
	span->node = (uint32_t)(node->inside[IN_SERIAL] >> 32);
	span->begin = begin;
	span->end = end;
	span_lane_publish(lane);
}

/* What a node takes of the open chunk. */
static void add_to_chunk(struct span_chunk *chunk, struct span_wire_node *node, uint64_t took)
{
	if ((uint32_t)node->inside[IN_SERIAL] != (uint32_t)chunk->serial) {
		node->inside[IN_SERIAL] = (node->inside[IN_SERIAL] & ~(uint64_t)UINT32_MAX) | (uint32_t)chunk->serial;
		node->inside[IN_CHUNK_TICKS] = node->inside[IN_CHUNK_CALLS] = 0;
		node->inside[IN_CHUNK_NEXT] = (uintptr_t)chunk->touched;
		chunk->touched = node;
		chunk->parts++;
	}
	node->inside[IN_CHUNK_TICKS] += took;
	node->inside[IN_CHUNK_CALLS]++;
}

static inline void close_span(struct span_lane *lane, struct span_wire_node *node, uint64_t end)
{
	uint64_t begin = atomic_load_explicit(&node->begin, memory_order_relaxed);
	uint64_t took = end > begin ? end - begin : 0;
	uint64_t calls = atomic_load_explicit(&node->calls, memory_order_relaxed);
	if (!calls || took < atomic_load_explicit(&node->min, memory_order_relaxed))
		atomic_store_explicit(&node->min, took, memory_order_relaxed);
	if (took > atomic_load_explicit(&node->max, memory_order_relaxed))
		atomic_store_explicit(&node->max, took, memory_order_relaxed);
	_Atomic uint32_t *bucket = &node->durations[span_wire_bucket(took)];
	atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1, memory_order_relaxed);
	atomic_store_explicit(&node->calls, calls + 1, memory_order_relaxed);
	count(&node->total, took);
	atomic_store_explicit(&node->begin, 0, memory_order_relaxed);
	lane->current = node_at(node->inside[IN_PARENT]);
	lane->depth--;
	if (__builtin_expect(lane->counts, 0))
		span_count_end(lane, node);
	if (lane->chunk.serial && begin >= lane->chunk.begin)
		add_to_chunk(&lane->chunk, node, took);
	if (span_wire_keeps(calls, took >= span_clock_long))
		write_span(lane, node, begin, begin + took);
}

void span_unwind(struct span_lane *lane, const struct span_wire_node *node)
{
	uint64_t now = span_ticks();
	while (lane->current && lane->current != node) {
		count_loss(offsetof(struct span_wire_header, unbalanced));
		close_span(lane, lane->current, now);
	}
}

/* Of an outer span while inner ones are open: those end with it. One that is not open, or of another thread or process: left. */
static void end_out_of_order(struct span_lane *lane, const pitot_span *span, uint64_t now)
{
	const struct span_wire_node *node = lane->current;
	while (node && node != span->place)
		node = node_at(node->inside[IN_PARENT]);
	if (!node || node->begin != span->began) {
		count_loss(offsetof(struct span_wire_header, unbalanced));
		return;
	}
	span_unwind(lane, node);
	close_span(lane, lane->current, now);
}

void pitot_span_end_(pitot_span span)
{
	uint64_t now = span_ticks();
	struct span_lane *lane = span_lane_now();
	if (!lane)
		return;
	if (lane->current == span.place && lane->current->begin == span.began)
		close_span(lane, lane->current, now);
	else
		end_out_of_order(lane, &span, now);
}

void pitot_work_(double flops, double bytes)
{
	struct span_lane *lane = span_lane_now();
	if (!lane || !lane->current)
		return;
	if (isfinite(flops) && flops > 0)
		lane->current->flops += flops;
	if (isfinite(bytes) && bytes > 0)
		lane->current->bytes += bytes;
}

/* ---- chunks ---- */

static void write_parts(struct span_wire_chunk *record, const struct span_chunk *chunk)
{
	struct span_wire_part *part = record->part;
	for (const struct span_wire_node *node = chunk->touched; node; node = node_at(node->inside[IN_CHUNK_NEXT])) {
		uint64_t calls = node->inside[IN_CHUNK_CALLS];
		*part++ = (struct span_wire_part){.node = (uint32_t)(node->inside[IN_SERIAL] >> 32),
						  .calls = calls < UINT32_MAX ? (uint32_t)calls : UINT32_MAX,
						  .total = node->inside[IN_CHUNK_TICKS]};
	}
}

/* Asked of the kernel once in a millisecond at most: chunks may be small. */
static void read_memory(struct span_lane *lane, uint64_t now, struct span_memory *memory)
{
	*memory = (struct span_memory){UINT64_MAX, UINT64_MAX, UINT64_MAX};
	if (lane->memory_ticks && now - lane->memory_ticks < span_clock_long)
		return;
	int saved = errno;
	span_memory_read(memory, SPAN_MEMORY_PAGES);
	errno = saved;
	lane->memory_ticks = now;
}

static uint64_t known(long long value)
{
	return value < 0 ? UINT64_MAX : (uint64_t)value;
}

static void end_chunk(struct span_lane *lane, long long rows, long long bytes_in, long long bytes_out)
{
	struct span_chunk *chunk = &lane->chunk;
	uint64_t now = span_ticks();
	uint64_t heap_bytes = span_memory_chunk(); /* of every chunk, recorded or not: it counts them */
	struct span_memory memory;
	struct span_wire_chunk *record =
		span_lane_record(lane, SPAN_WIRE_CHUNK, sizeof(*record) + chunk->parts * sizeof(record->part[0]));
	if (record) {
		record->parts = chunk->parts;
		record->number = chunk->number;
		record->begin = chunk->begin;
		record->end = now;
		record->rows = known(rows);
		record->bytes_in = known(bytes_in);
		record->bytes_out = known(bytes_out);
		read_memory(lane, now, &memory);
		record->rss_bytes = memory.rss_bytes;
		record->heap_bytes = heap_bytes;
		write_parts(record, chunk);
		span_lane_publish(lane);
	} else {
		lose_record();
	}
	chunk->serial = 0;
}

void pitot_chunk_begin_(long long number)
{
	struct span_lane *lane = span_lane_get();
	if (!lane)
		return;
	if (lane->chunk.serial) {
		count_loss(offsetof(struct span_wire_header, unbalanced));
		end_chunk(lane, -1, -1, -1);
	}
	if (++lane->chunks > UINT32_MAX)
		lane->chunks = 1;
	lane->chunk = (struct span_chunk){.serial = lane->chunks, .number = number < 0 ? 0 : number};
	lane->chunk.begin = span_ticks();
}

void pitot_chunk_end_(long long rows, long long bytes_in, long long bytes_out)
{
	struct span_lane *lane = span_lane_now();
	if (lane && lane->chunk.serial)
		end_chunk(lane, rows, bytes_in, bytes_out);
}

/* ---- counters, gauges, snapshots ---- */

static struct span_wire_series *find_series(struct span_lane *lane, const char *name, uint32_t is_gauge)
{
	struct span_wire_series *series = lane->series;
	unsigned seen = 0;
	for (; series; series = (struct span_wire_series *)(uintptr_t)series->inside[0], seen++)
		if (series->is_gauge == is_gauge && strncmp(series->name, name, SPAN_WIRE_NAME_MOST) == 0)
			return series;
	size_t length = name_length(name);
	if (!length || seen >= MOST_CHILDREN)
		return NULL;
	series = span_lane_record(lane, SPAN_WIRE_SERIES, sizeof(*series) + length + 1);
	if (!series)
		return NULL;
	series->is_gauge = is_gauge;
	series->name_bytes = (uint32_t)length;
	memcpy(series->name, name, length);
	series->inside[0] = (uintptr_t)lane->series;
	series->inside[1] = span_lane_id(lane, series);
	lane->series = series;
	span_lane_publish(lane);
	return series;
}

static void write_point(struct span_lane *lane, const struct span_wire_series *series, double value)
{
	struct span_wire_point *point = span_lane_record(lane, SPAN_WIRE_POINT, sizeof(*point));
	if (!point) {
		lose_record();
		return;
	}
	point->series = (uint32_t)series->inside[1];
	point->at = span_ticks();
	point->value = value;
	span_lane_publish(lane);
}

static void set_series(const char *name, double value, uint32_t is_gauge)
{
	struct span_lane *lane = span_lane_get();
	if (!lane || !name || !isfinite(value))
		return;
	struct span_wire_series *series = find_series(lane, name, is_gauge);
	if (!series) {
		lose_record();
		return;
	}
	uint64_t calls = atomic_load_explicit(&series->calls, memory_order_relaxed);
	series->last = value;
	series->min = calls && series->min < value ? series->min : value;
	series->max = calls && series->max > value ? series->max : value;
	series->sum += value;
	atomic_store_explicit(&series->calls, calls + 1, memory_order_relaxed);
	if (is_gauge && span_wire_keeps(calls, false))
		write_point(lane, series, value);
}

void pitot_counter_(const char *name, double by)
{
	set_series(name, by, 0);
}

void pitot_gauge_(const char *name, double value)
{
	set_series(name, value, 1);
}

void pitot_snapshot_(const char *label)
{
	struct span_lane *lane = span_lane_get();
	struct span_memory memory;
	if (!lane || !label)
		return;
	int saved = errno;
	span_memory_read(&memory, SPAN_MEMORY_WHOLE);
	errno = saved;
	size_t length = name_length(label);
	struct span_wire_snapshot *record = span_lane_record(lane, SPAN_WIRE_SNAPSHOT, sizeof(*record) + length + 1);
	if (!record) {
		lose_record();
		return;
	}
	record->node = lane->current ? (uint32_t)(lane->current->inside[IN_SERIAL] >> 32) : 0;
	record->label_bytes = (uint32_t)length;
	record->at = span_ticks();
	record->rss_bytes = memory.rss_bytes;
	record->vms_bytes = memory.vms_bytes;
	record->heap_bytes = memory.heap_bytes;
	memcpy(record->label, label, length);
	span_lane_publish(lane);
}
