/* span_log.c - see span_log.h. */
#include "store/span_log.h"
#include "base/str.h"
#include "wire/span_wire.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

struct log_operator {
	int parent;
	char *name;
	char *path;
	uint64_t calls, total_ns, children_ns, min_ns, max_ns, kept, kept_ns;
	double flops, bytes;
	uint64_t chunk_calls, chunk_ns, chunk_children_ns; /* in the open chunk */
	uint64_t durations[SPAN_WIRE_BUCKETS];
};

struct span_log {
	struct store *store;
	struct span_process process;
	VEC(struct log_operator) operators;
	VEC(struct span_row) spans; /* operator_id: the number here */
	VEC(struct chunk_row) chunks;
	VEC(struct chunk_part) parts;
	bool in_chunk;
	struct chunk_row chunk;
};

struct span_log *span_log_open(struct store *store, int64_t stage_id, const char *source, uint64_t now_ns)
{
	struct span_log *log = mem_alloc(sizeof(*log));
	log->store = store;
	log->process = (struct span_process){.stage_id = stage_id,
					     .pid = (int)getpid(),
					     .ppid = (int)getppid(),
					     .start_ns = now_ns,
					     .source = mem_strdup(source),
					     .clock = "monotonic",
					     .ended = true};
	return log;
}

int span_log_operator(struct span_log *log, int parent, const char *name)
{
	for (size_t i = 0; i < log->operators.len; i++)
		if (log->operators.items[i].parent == parent && strcmp(log->operators.items[i].name, name) == 0)
			return (int)i + 1;
	struct log_operator *added = vec_add(&log->operators);
	added->parent = parent;
	added->name = mem_strdup(name);
	added->path = parent ? mem_printf("%s/%s", log->operators.items[parent - 1].path, name) : mem_strdup(name);
	return (int)log->operators.len;
}

static void keep_span(struct span_log *log, struct log_operator *about, int number, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t took_ns = end_ns - begin_ns;
	if (!span_wire_keeps(about->calls, took_ns >= SPAN_WIRE_LONG_NS) || log->spans.len >= SPAN_LOG_KEPT)
		return;
	about->kept++;
	about->kept_ns += took_ns;
	vec_push(&log->spans, ((struct span_row){.operator_id = number, .begin_ns = begin_ns, .end_ns = end_ns}));
}

void span_log_span(struct span_log *log, int operator_number, uint64_t begin_ns, uint64_t end_ns)
{
	struct log_operator *about = &log->operators.items[operator_number - 1];
	uint64_t took_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
	struct log_operator *parent = about->parent ? &log->operators.items[about->parent - 1] : NULL;
	keep_span(log, about, operator_number, begin_ns, begin_ns + took_ns);
	about->min_ns = !about->calls || took_ns < about->min_ns ? took_ns : about->min_ns;
	about->max_ns = took_ns > about->max_ns ? took_ns : about->max_ns;
	about->calls++;
	about->total_ns += took_ns;
	about->durations[span_wire_bucket(took_ns)]++;
	if (parent)
		parent->children_ns += took_ns;
	if (!log->in_chunk)
		return;
	about->chunk_calls++;
	about->chunk_ns += took_ns;
	if (parent)
		parent->chunk_children_ns += took_ns;
}

void span_log_work(struct span_log *log, int operator_number, double flops, double bytes)
{
	log->operators.items[operator_number - 1].flops += flops;
	log->operators.items[operator_number - 1].bytes += bytes;
}

void span_log_chunk_begin(struct span_log *log, int64_t number, uint64_t now_ns)
{
	log->in_chunk = true;
	log->chunk = (struct chunk_row){.number = number > 0 ? number : 0, .begin_ns = now_ns};
	for (size_t i = 0; i < log->operators.len; i++) {
		struct log_operator *about = &log->operators.items[i];
		about->chunk_calls = about->chunk_ns = about->chunk_children_ns = 0;
	}
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void span_log_chunk_end(struct span_log *log, const struct chunk_row *chunk, uint64_t now_ns)
{
	if (!log->in_chunk)
		return;
	log->in_chunk = false;
	struct chunk_row *row = vec_add(&log->chunks);
	*row = *chunk;
	row->number = log->chunk.number;
	row->begin_ns = log->chunk.begin_ns;
	row->end_ns = now_ns > row->begin_ns ? now_ns : row->begin_ns;
	for (size_t i = 0; i < log->operators.len; i++) {
		const struct log_operator *about = &log->operators.items[i];
		if (about->chunk_calls)
			vec_push(&log->parts,
				 ((struct chunk_part){.chunk_id = (int64_t)log->chunks.len,
						      .operator_id = (int64_t)i + 1,
						      .calls = about->chunk_calls,
						      .total_ns = about->chunk_ns,
						      .self_ns = less(about->chunk_ns, about->chunk_children_ns)}));
	}
}

static void free_log(struct span_log *log)
{
	for (size_t i = 0; i < log->operators.len; i++) {
		free(log->operators.items[i].name);
		free(log->operators.items[i].path);
	}
	free(log->process.source);
	vec_fini(&log->operators);
	vec_fini(&log->spans);
	vec_fini(&log->chunks);
	vec_fini(&log->parts);
	free(log);
}

static int write_operator(struct span_log *log, const struct log_operator *about, int64_t *ids, struct err *err)
{
	struct operator_row row = {.parent = about->parent ? ids[about->parent - 1] : 0,
				   .process_id = log->process.id,
				   .name = about->name,
				   .path = about->path,
				   .calls = about->calls,
				   .total_ns = about->total_ns,
				   .self_ns = less(about->total_ns, about->children_ns),
				   .min_ns = about->min_ns,
				   .max_ns = about->max_ns,
				   .kept = about->kept,
				   .kept_ns = about->kept_ns,
				   .flops = about->flops > 0 ? about->flops : NAN,
				   .bytes = about->bytes > 0 ? about->bytes : NAN};
	int code = store_operator(log->store, &row, err);
	ids[about - log->operators.items] = row.id;
	for (unsigned i = 0; i < SPAN_WIRE_BUCKETS && !code; i++) {
		struct operator_duration duration = {.operator_id = row.id,
						     .low_ns = span_wire_bucket_low(i),
						     .high_ns = span_wire_bucket_low(i + 1),
						     .calls = about->durations[i]};
		if (duration.calls)
			code = store_operator_duration(log->store, &duration, err);
	}
	return code;
}

static int write_chunks(struct span_log *log, int64_t thread_id, const int64_t *ids, struct err *err)
{
	int code = 0;
	size_t part = 0;
	for (size_t i = 0; i < log->chunks.len && !code; i++) {
		struct chunk_row *chunk = &log->chunks.items[i];
		chunk->process_id = log->process.id;
		chunk->thread_id = thread_id;
		code = store_chunk(log->store, chunk, err);
		for (; part < log->parts.len && log->parts.items[part].chunk_id == (int64_t)i + 1 && !code; part++) {
			struct chunk_part row = log->parts.items[part];
			row.chunk_id = chunk->id;
			row.operator_id = ids[row.operator_id - 1];
			code = store_chunk_part(log->store, &row, err);
		}
	}
	return code;
}

static int write_all(struct span_log *log, uint64_t now_ns, int64_t *ids, struct err *err)
{
	struct span_thread thread = {.tid = (int)gettid(), .start_ns = log->process.start_ns, .end_ns = now_ns};
	int code = store_span_process(log->store, &log->process, err);
	thread.process_id = log->process.id;
	if (!code)
		code = store_span_thread(log->store, &thread, err);
	for (size_t i = 0; i < log->operators.len && !code; i++)
		code = write_operator(log, &log->operators.items[i], ids, err);
	for (size_t i = 0; i < log->spans.len && !code; i++) {
		struct span_row row = log->spans.items[i];
		row.operator_id = ids[row.operator_id - 1];
		row.thread_id = thread.id;
		code = store_span(log->store, &row, err);
	}
	return code ? code : write_chunks(log, thread.id, ids, err);
}

int span_log_close(struct span_log *log, uint64_t now_ns, struct err *err)
{
	int64_t *ids = mem_alloc((log->operators.len + 1) * sizeof(*ids));
	log->process.end_ns = now_ns > log->process.start_ns ? now_ns : log->process.start_ns;
	log->process.kept = log->spans.len;
	for (size_t i = 0; i < log->operators.len; i++)
		log->process.recorded += log->operators.items[i].calls;
	int code = write_all(log, log->process.end_ns, ids, err);
	free(ids);
	free_log(log);
	return code;
}
