/* wire_parse.c - records and nodes of a wire file out of the bytes of its chunks; see wire_read.h. Nothing is trusted. */
#include "run/wire_parse.h"
#include "base/str.h"

#include <string.h>

/* ---- records ---- */

static void remember(struct wire_file *file, wire_id id, enum wire_record_kind kind, size_t index)
{
	map_put(&file->inside->ids, id, (void *)((uintptr_t)(index + 1) << 8 | (uintptr_t)kind));
}

uint32_t parse_find(const struct wire_file *file, wire_id id, enum wire_record_kind kind)
{
	uintptr_t found = (uintptr_t)map_get(&file->inside->ids, id);
	return found && (found & 0xFF) == (uintptr_t)kind ? (uint32_t)((found >> 8) - 1) : WIRE_NOWHERE;
}

/* Text of the profiled program: cleaned, because it goes into reports and onto terminals. */
static char *take_text(const char *bytes, size_t size)
{
	return str_utf8_clean(bytes, strnlen(bytes, size));
}

static bool add_module(struct wire_file *file, const uint8_t *bytes, uint32_t size, wire_id id)
{
	struct wire_module record;
	const size_t path_at = offsetof(struct wire_module, path);
	if (size < path_at)
		return false;
	memcpy(&record, bytes, path_at);
	if (record.path_bytes > size - path_at || record.path_bytes > WIRE_TEXT_MAX || record.start >= record.end ||
	    record.build_id_bytes > sizeof(record.build_id))
		return false;
	struct read_module *module = vec_add(&file->modules);
	module->start = record.start;
	module->end = record.end;
	module->bias = record.bias;
	module->first_generation = record.first_generation;
	module->build_id_bytes = record.build_id_bytes;
	memcpy(module->build_id, record.build_id, sizeof(module->build_id));
	module->path = take_text((const char *)bytes + path_at, record.path_bytes);
	remember(file, id, WIRE_MODULE, file->modules.len - 1);
	return true;
}

static bool add_code(struct wire_file *file, const uint8_t *bytes, uint32_t size, wire_id id)
{
	struct wire_code record;
	const size_t text_at = offsetof(struct wire_code, text);
	if (size < text_at)
		return false;
	memcpy(&record, bytes, text_at);
	if (record.line_bytes > WIRE_LINES_MAX || record.name_bytes > WIRE_TEXT_MAX ||
	    record.file_bytes > WIRE_TEXT_MAX ||
	    (size_t)record.name_bytes + record.file_bytes + record.line_bytes > size - text_at)
		return false;
	const char *text = (const char *)bytes + text_at;
	struct read_code *code = vec_add(&file->codes);
	code->version = record.version;
	code->first_line = record.first_line > 0 ? record.first_line : 0;
	code->name = take_text(text, record.name_bytes);
	code->file = take_text(text + record.name_bytes, record.file_bytes);
	code->lines = bytes + text_at + record.name_bytes + record.file_bytes;
	code->line_bytes = record.line_bytes;
	remember(file, id, WIRE_CODE, file->codes.len - 1);
	return true;
}

static bool add_thread(struct wire_file *file, const uint8_t *bytes, uint32_t size, wire_id id)
{
	struct wire_thread record;
	if (size < sizeof(record))
		return false;
	memcpy(&record, bytes, sizeof(record));
	struct read_thread *thread = vec_add(&file->threads);
	*thread = (struct read_thread){.tid = record.tid,
				       .is_main = record.is_main != 0,
				       .start_mono_ns = record.start_mono_ns,
				       .end_mono_ns = record.end_mono_ns,
				       .start_routine = record.start_routine,
				       .cpu_start_ns = record.cpu_start_ns,
				       .cpu_last_ns = record.cpu_last_ns,
				       .cpu_end_ns = record.cpu_end_ns,
				       .samples = record.samples,
				       .weight_ns = record.weight_ns,
				       .truncated = record.truncated,
				       .unmatched = record.unmatched,
				       .busy = record.busy,
				       .handler_ns = record.handler_ns,
				       .allocated_bytes = record.allocated_bytes,
				       .allocated_calls = record.allocated_calls,
				       .freed_bytes = record.freed_bytes,
				       .freed_calls = record.freed_calls,
				       .creator = record.creator}; /* an id until the nodes are known */
	memcpy(thread->name, record.name, sizeof(record.name));
	remember(file, id, WIRE_THREAD, file->threads.len - 1);
	return true;
}

static bool add_task(struct wire_file *file, const uint8_t *bytes, uint32_t size, wire_id id)
{
	struct wire_task record;
	const size_t name_at = offsetof(struct wire_task, name);
	if (size < name_at)
		return false;
	memcpy(&record, bytes, name_at);
	if (record.name_bytes > size - name_at || record.name_bytes > WIRE_TEXT_MAX)
		return false;
	vec_push(&file->tasks, take_text((const char *)bytes + name_at, record.name_bytes));
	remember(file, id, WIRE_TASK, file->tasks.len - 1);
	return true;
}

/* One per file: a second would be of nobody. */
static bool add_memory(struct wire_file *file, const uint8_t *bytes, uint32_t size)
{
	if (file->memory)
		return false;
	file->memory = wire_memory_new(bytes, size);
	return file->memory != NULL;
}

static bool add_resident(struct wire_file *file, const uint8_t *bytes, uint32_t size)
{
	if (size < sizeof(struct wire_resident))
		return false;
	memcpy(vec_add(&file->residents), bytes, sizeof(struct wire_resident));
	return true;
}

static bool add_types(struct wire_file *file, const uint8_t *bytes, uint32_t size)
{
	if (file->types)
		return false;
	file->types = wire_types_new(bytes, size);
	return file->types != NULL;
}

static bool add_record(struct wire_file *file, uint16_t kind, const uint8_t *bytes, uint32_t size, wire_id id)
{
	switch (kind) {
	case WIRE_MODULE:
		return add_module(file, bytes, size, id);
	case WIRE_CODE:
		return add_code(file, bytes, size, id);
	case WIRE_THREAD:
		return add_thread(file, bytes, size, id);
	case WIRE_TASK:
		return add_task(file, bytes, size, id);
	case WIRE_MEMORY:
		return add_memory(file, bytes, size);
	case WIRE_RESIDENT:
		return add_resident(file, bytes, size);
	case WIRE_TYPES:
		return add_types(file, bytes, size);
	}
	return false;
}

/* A record whose size makes no sense hides all that follow in its chunk. */
static void parse_chunk(struct wire_file *file, const struct held_chunk *chunk)
{
	uint32_t at = 0;
	while (chunk->used - at >= sizeof(struct wire_record)) {
		struct wire_record head;
		memcpy(&head, chunk->bytes + at, sizeof(head));
		if (head.bytes < WIRE_UNIT || head.bytes % WIRE_UNIT || head.bytes > chunk->used - at) {
			file->dropped.records++;
			return;
		}
		uint64_t id = (chunk->at + sizeof(struct wire_chunk) + at) / WIRE_UNIT;
		bool taken =
			id <= UINT32_MAX && add_record(file, head.kind, chunk->bytes + at, head.bytes, (wire_id)id);
		file->dropped.records += !taken;
		at += head.bytes;
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct module_place *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void sort_modules(struct wire_file *file)
{
	struct wire_inside *inside = file->inside;
	for (size_t i = 0; i < file->modules.len; i++)
		vec_push(&inside->by_start,
			 ((struct module_place){.start = file->modules.items[i].start, .index = (uint32_t)i}));
	if (inside->by_start.len)
		qsort(inside->by_start.items, inside->by_start.len, sizeof(struct module_place), compare_places);
	uint64_t largest = 0;
	for (size_t i = 0; i < inside->by_start.len; i++) {
		uint64_t end = file->modules.items[inside->by_start.items[i].index].end;
		largest = end > largest ? end : largest;
		inside->by_start.items[i].end_before = largest;
	}
}

void parse_records(struct wire_file *file)
{
	for (size_t i = 0; i < file->inside->records.items.len; i++)
		parse_chunk(file, &file->inside->records.items.items[i]);
	sort_modules(file);
}

/* How many modules begin at or before the address. */
static size_t begun_before(const struct wire_inside *inside, uint64_t address)
{
	size_t low = 0, high = inside->by_start.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (inside->by_start.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Several may cover it, one unloaded before the other came: the latest that was there at the node's time. */
const struct read_module *wire_module_at(const struct wire_file *file, uint64_t address, uint32_t generation)
{
	const struct wire_inside *inside = file->inside;
	const struct read_module *best = NULL;
	for (size_t i = begun_before(inside, address); i-- > 0 && inside->by_start.items[i].end_before > address;) {
		const struct read_module *module = &file->modules.items[inside->by_start.items[i].index];
		if (module->end <= address || module->first_generation > generation)
			continue;
		if (!best || module->first_generation > best->first_generation ||
		    (module->first_generation == best->first_generation && module > best))
			best = module;
	}
	return best;
}

/* ---- nodes ---- */

uint32_t parse_find_node(const struct wire_file *file, wire_id id)
{
	const struct wire_inside *inside = file->inside;
	uint64_t at = (uint64_t)id * WIRE_UNIT;
	size_t low = 0, high = inside->nodes.items.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (inside->nodes.items.items[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return WIRE_NOWHERE;
	const struct held_chunk *chunk = &inside->nodes.items.items[low - 1];
	uint64_t place = (at - chunk->at) / sizeof(struct wire_node); /* 0 is the chunk's head */
	if (place == 0 || place > chunk->used / sizeof(struct wire_node))
		return WIRE_NOWHERE;
	return (uint32_t)(chunk->first + place - 1);
}

static bool take_node(const struct wire_file *file, const struct wire_node *raw, struct read_node *node)
{
	*node = (struct read_node){.parent = raw->parent ? parse_find_node(file, raw->parent) : WIRE_NOWHERE,
				   .kind = raw->kind,
				   .flags = raw->flags,
				   .generation = raw->generation,
				   .value = raw->value,
				   .code = WIRE_NOWHERE};
	if (raw->parent && node->parent == WIRE_NOWHERE)
		return false;
	if (raw->kind == WIRE_NODE_PYTHON) {
		node->code = parse_find(file, (wire_id)(raw->value >> 32), WIRE_CODE);
		node->value = (uint32_t)raw->value;
		return node->code != WIRE_NOWHERE;
	}
	return raw->kind == WIRE_NODE_NATIVE ||
	       (raw->kind == WIRE_NODE_MARK && raw->value >= WIRE_MARK_TRUNCATED && raw->value <= WIRE_MARK_BUSY);
}

static void count_nodes(struct wire_file *file)
{
	size_t count = 0;
	for (size_t i = 0; i < file->inside->nodes.items.len; i++) {
		file->inside->nodes.items.items[i].first = count;
		count += file->inside->nodes.items.items[i].used / sizeof(struct wire_node);
	}
	vec_reserve(&file->nodes, count);
	file->nodes.len = count;
}

/*
 * Whole nodes get their depth, parents before children. From each node the way up is walked until something known or a root
 * comes, and then back down. `depth` is 0 while a node is not known, PENDING while it lies on the way: meeting one of those
 * is a cycle.
 */
enum { PENDING = UINT16_MAX };

static void settle(struct wire_file *file, const uint32_t *way, size_t length, uint16_t depth, bool whole)
{
	while (length-- > 0) {
		struct read_node *node = &file->nodes.items[way[length]];
		whole = whole && node->whole && depth < WIRE_STACK_MAX;
		depth = whole ? (uint16_t)(depth + 1) : 1;
		node->depth = depth;
		node->whole = whole;
		if (whole)
			vec_push(&file->order, way[length]);
		else
			file->dropped.nodes++;
	}
}

static void order_nodes(struct wire_file *file)
{
	VEC(uint32_t) way = {0};
	for (uint32_t start = 0; start < file->nodes.len; start++) {
		uint32_t at = start;
		way.len = 0;
		while (at != WIRE_NOWHERE && file->nodes.items[at].depth == 0) {
			file->nodes.items[at].depth = PENDING;
			vec_push(&way, at);
			at = file->nodes.items[at].parent;
		}
		const struct read_node *top = at == WIRE_NOWHERE ? NULL : &file->nodes.items[at];
		bool whole = !top || (top->depth != PENDING && top->whole);
		settle(file, way.items, way.len, top && whole ? top->depth : 0, whole);
	}
	vec_fini(&way);
}

void parse_nodes(struct wire_file *file)
{
	count_nodes(file);
	for (size_t i = 0; i < file->inside->nodes.items.len; i++) {
		const struct held_chunk *chunk = &file->inside->nodes.items.items[i];
		for (size_t k = 0; k < chunk->used / sizeof(struct wire_node); k++) {
			struct wire_node raw;
			struct read_node *node = &file->nodes.items[chunk->first + k];
			memcpy(&raw, chunk->bytes + k * sizeof(raw), sizeof(raw));
			node->whole = take_node(file, &raw, node);
		}
	}
	order_nodes(file);
	for (size_t i = 0; i < file->threads.len; i++) {
		struct read_thread *thread = &file->threads.items[i];
		thread->creator = thread->creator ? parse_find_node(file, thread->creator) : WIRE_NOWHERE;
		if (thread->creator != WIRE_NOWHERE && !file->nodes.items[thread->creator].whole)
			thread->creator = WIRE_NOWHERE;
	}
}
