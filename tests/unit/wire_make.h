/*
 * wire_make.h - wire files made by hand, for the tests of whoever reads them and for the fuzzer's seed.
 *
 *	struct wire_make make = {0};
 *	wire_make_begin(&make, 100, 1);
 *	wire_make_thread(&make, 100, "main");
 *	wire_id node = wire_make_node(&make, 0, WIRE_NODE_NATIVE, 0x1234);
 *	wire_make_sample(&make, 0, 5000, node, 1000, 0, 0);
 *	wire_make_write(&make, path);
 *
 * Records go into the second page, nodes into the next ones, samples behind them: the places are fixed, so that an id is
 * known as soon as its entry is made.
 */
#ifndef PITOT_TESTS_WIRE_MAKE_H
#define PITOT_TESTS_WIRE_MAKE_H

#include "base/file.h"
#include "base/mem.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { MAKE_RECORDS_AT = 1, MAKE_NODES_AT = 5, MAKE_SAMPLES_AT = 9, MAKE_CHUNK_PAGES = 4, MAKE_THREADS = 8 };
enum { MAKE_PAGES = MAKE_SAMPLES_AT + MAKE_THREADS * MAKE_CHUNK_PAGES };

struct wire_make {
	uint8_t *bytes; /* MAKE_PAGES pages */
	struct wire_header *header;
	wire_id owners[MAKE_THREADS];
	int threads;
};

static inline struct wire_chunk *wire_make_chunk(struct wire_make *make, int page, uint32_t kind)
{
	struct wire_chunk *chunk = (struct wire_chunk *)(make->bytes + (size_t)page * WIRE_PAGE);
	chunk->kind = kind;
	chunk->pages = MAKE_CHUNK_PAGES;
	return chunk;
}

static inline void wire_make_begin(struct wire_make *make, int pid, int64_t stage_id)
{
	*make = (struct wire_make){.bytes = mem_alloc((size_t)MAKE_PAGES * WIRE_PAGE)};
	make->header = (struct wire_header *)make->bytes;
	make->header->magic = WIRE_MAGIC;
	make->header->version = WIRE_VERSION;
	make->header->header_bytes = sizeof(struct wire_header);
	make->header->pid = pid;
	make->header->ppid = 1;
	make->header->stage_id = stage_id;
	make->header->birth = WIRE_BORN_EXEC;
	make->header->clock = WIRE_CLOCK_PERF;
	make->header->period_ns = 1000000;
	make->header->pages_most = MAKE_PAGES;
	make->header->pages_used = MAKE_PAGES;
	make->header->pages_ready = MAKE_PAGES;
	memcpy(make->header->executable, "/usr/bin/program", 17);
	wire_make_chunk(make, MAKE_RECORDS_AT, WIRE_RECORDS);
	wire_make_chunk(make, MAKE_NODES_AT, WIRE_NODES);
}

/* Room at the end of a chunk, and its id. */
static inline void *wire_make_room(struct wire_make *make, int page, size_t size, wire_id *id)
{
	struct wire_chunk *chunk = (struct wire_chunk *)(make->bytes + (size_t)page * WIRE_PAGE);
	size_t at = (size_t)page * WIRE_PAGE + sizeof(*chunk) + chunk->used;
	if (chunk->used + size > (size_t)MAKE_CHUNK_PAGES * WIRE_PAGE - sizeof(*chunk))
		abort();
	chunk->used += (uint32_t)size;
	*id = (wire_id)(at / WIRE_UNIT);
	return make->bytes + at;
}

static inline void *wire_make_record(struct wire_make *make, uint16_t kind, size_t size, wire_id *id)
{
	size_t padded = (size + WIRE_UNIT - 1) / WIRE_UNIT * WIRE_UNIT;
	struct wire_record *record = wire_make_room(make, MAKE_RECORDS_AT, padded, id);
	record->kind = kind;
	record->bytes = (uint32_t)padded;
	return record;
}

static inline wire_id wire_make_module(struct wire_make *make, uint64_t start, uint64_t end, uint64_t bias,
				       uint32_t generation, const char *path)
{
	wire_id id;
	struct wire_module *module = wire_make_record(make, WIRE_MODULE, sizeof(*module) + strlen(path), &id);
	module->start = start;
	module->end = end;
	module->bias = bias;
	module->first_generation = generation;
	module->path_bytes = (uint16_t)strlen(path);
	memcpy(module->path, path, strlen(path));
	return id;
}

static inline wire_id wire_make_code(struct wire_make *make, const char *name, const char *file, int first_line)
{
	wire_id id;
	struct wire_code *code = wire_make_record(make, WIRE_CODE, sizeof(*code) + strlen(name) + strlen(file), &id);
	code->version = 0x030b02f0;
	code->first_line = first_line;
	code->name_bytes = (uint16_t)strlen(name);
	code->file_bytes = (uint16_t)strlen(file);
	memcpy(code->text, name, strlen(name));
	memcpy(code->text + strlen(name), file, strlen(file));
	return id;
}

/* The record, to be filled further; its id is that of make->owners. */
static inline struct wire_thread *wire_make_thread(struct wire_make *make, int tid, const char *name)
{
	if (make->threads == MAKE_THREADS)
		abort();
	wire_id id;
	struct wire_thread *thread = wire_make_record(make, WIRE_THREAD, sizeof(*thread), &id);
	thread->tid = tid;
	thread->is_main = make->threads == 0;
	memcpy(thread->name, name, strnlen(name, sizeof(thread->name)));
	struct wire_chunk *chunk =
		wire_make_chunk(make, MAKE_SAMPLES_AT + make->threads * MAKE_CHUNK_PAGES, WIRE_SAMPLES);
	chunk->owner = id;
	make->owners[make->threads++] = id;
	return thread;
}

static inline wire_id wire_make_task(struct wire_make *make, const char *name)
{
	wire_id id;
	struct wire_task *task = wire_make_record(make, WIRE_TASK, sizeof(*task) + strlen(name), &id);
	task->name_bytes = (uint32_t)strlen(name);
	memcpy(task->name, name, strlen(name));
	return id;
}

static inline wire_id wire_make_node(struct wire_make *make, wire_id parent, uint8_t kind, uint64_t value)
{
	wire_id id;
	struct wire_node *node = wire_make_room(make, MAKE_NODES_AT, sizeof(*node), &id);
	*node = (struct wire_node){.parent = parent, .kind = kind, .value = value};
	return id;
}

/* By the thread that was made as number `thread`, from 0. */
static inline void wire_make_sample(struct wire_make *make, int thread, uint64_t mono_ns, wire_id node,
				    uint32_t weight_ns, uint32_t flags, wire_id task)
{
	wire_id id;
	struct wire_sample *sample =
		wire_make_room(make, MAKE_SAMPLES_AT + thread * MAKE_CHUNK_PAGES, sizeof(*sample), &id);
	*sample = (struct wire_sample){
		.mono_ns = mono_ns, .node = node, .weight_ns = weight_ns, .flags = flags, .task = task};
}

static inline void *wire_make_at(struct wire_make *make, wire_id id)
{
	return make->bytes + (size_t)id * WIRE_UNIT;
}

static inline int wire_make_write(struct wire_make *make, const char *path, struct err *err)
{
	int code = file_write_atomic(path, (const char *)make->bytes, (size_t)MAKE_PAGES * WIRE_PAGE, err);
	free(make->bytes);
	make->bytes = NULL;
	return code;
}

#endif
