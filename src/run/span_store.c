/*
 * span_store.c - see span_store.h.
 *
 * Two walks over the file: one counts which spans will be stored, because the operators' rows, which say so, come first; the
 * other stores. Operators of a file are written in its order, parents first, so their row ids are the index plus a constant.
 */
#include "run/span_store.h"
#include "base/metric.h"
#include "base/str.h"
#include "probe/perf_event.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct operator_sums {
	uint64_t calls, total_ns, children_ns;
	uint64_t kept, kept_ns;
	int64_t id;
	char *path;
	uint64_t chunk_total_ns, chunk_children_ns, chunk_calls; /* while a chunk is being written */
};

struct storing {
	struct span_collecting *collecting;
	struct span_file *file;
	struct span_process process;
	struct operator_sums *sums;
	int64_t *threads;
	int64_t *gauges; /* row ids; 0: a counter */
	uint64_t end_ns; /* last sign of life, since the run began */
};

static bool stored(struct storing *storing, int code)
{
	if (code && !storing->collecting->code)
		storing->collecting->code = code;
	return code == 0;
}

static struct store *store_of(const struct storing *storing)
{
	return storing->collecting->options->store;
}

/* Since the run began; what lies outside of the run is moved to its edge. */
static uint64_t since_start(const struct storing *storing, uint64_t ticks)
{
	const struct span_collecting *c = storing->collecting;
	double offset = ((double)ticks - (double)c->zero.ticks) * c->pace;
	if (ticks >= c->zero.ticks)
		offset = (double)span_duration_ns(c, ticks - c->zero.ticks);
	uint64_t start = c->options->run_start_mono_ns, most = c->now_ns - start;
	double at = (double)(c->zero.mono_ns - start) + offset;
	if (c->zero.mono_ns < start)
		at = offset - (double)(start - c->zero.mono_ns);
	return !(at > 0) ? 0 : at < (double)most ? (uint64_t)at : most;
}

/* When the process ended, for spans that did not: its record, else its stage's end. */
static uint64_t end_of_process(const struct storing *storing, uint64_t stage_end_ns)
{
	const struct span_wire_header *header = &storing->file->header;
	uint64_t last = since_start(storing, header->last_ticks), end = 0;
	if (header->ended)
		return last;
	const struct process_list *list = &storing->collecting->processes;
	for (size_t i = 0; i < list->items.len; i++) {
		const struct process_row *row = &list->items.items[i];
		if (row->pid == header->pid && row->stage_id == header->stage_id && row->end_ns >= last)
			end = row->end_ns;
	}
	if (!end)
		end = stage_end_ns;
	return end > last ? end : last;
}

/* Tasks of one thread overlap, so their spans may take longer than the process did; beyond any reason means damage. */
static uint64_t within_reason(const struct storing *storing, uint64_t took_ns)
{
	enum { TASKS = 10000 };
	uint64_t most = (storing->process.end_ns - storing->process.start_ns + 1) * TASKS;
	return took_ns < most ? took_ns : most;
}

static bool is_stored(const struct storing *storing, const struct span_visit *visit, uint64_t *took_ns)
{
	*took_ns = within_reason(storing, span_duration_ns(storing->collecting, visit->end - visit->begin));
	return visit->kind == SPAN_WIRE_SPAN && *took_ns >= storing->collecting->shortest_ns;
}

static bool count_kept(void *context, const struct span_visit *visit)
{
	struct storing *storing = context;
	uint64_t took_ns;
	if (is_stored(storing, visit, &took_ns)) {
		storing->sums[visit->place].kept++;
		storing->sums[visit->place].kept_ns += took_ns;
		storing->process.kept++;
	}
	return true;
}

/* ---- operators ---- */

static void sum_operators(struct storing *storing)
{
	for (size_t i = 0; i < storing->file->operators.len; i++) {
		const struct read_operator *about = &storing->file->operators.items[i];
		struct operator_sums *sums = &storing->sums[i];
		uint64_t unended = about->begin ? (about->open > 1 ? about->open : 1) : 0;
		sums->calls = about->calls + unended;
		sums->total_ns = within_reason(storing, span_duration_ns(storing->collecting, about->total));
		if (unended) {
			uint64_t began = since_start(storing, about->begin);
			sums->total_ns += storing->end_ns > began ? storing->end_ns - began : 0;
		}
		storing->process.recorded += sums->calls;
		if (about->parent == SPAN_NOWHERE) {
			sums->path = mem_strdup(about->name);
		} else {
			storing->sums[about->parent].children_ns += sums->total_ns;
			sums->path = mem_printf("%s/%s", storing->sums[about->parent].path, about->name);
		}
	}
}

static void store_durations(struct storing *storing, const struct read_operator *about, int64_t id)
{
	for (unsigned i = 0; i < SPAN_WIRE_BUCKETS && !storing->collecting->code; i++) {
		struct operator_duration duration = {
			.operator_id = id,
			.low_ns = span_duration_ns(storing->collecting, span_wire_bucket_low(i)),
			.high_ns = span_duration_ns(storing->collecting, span_wire_bucket_low(i + 1)),
			.calls = about->durations[i]};
		if (duration.calls)
			stored(storing,
			       store_operator_duration(store_of(storing), &duration, storing->collecting->err));
	}
}

/* A span that never ended is in the time, but was never counted: what there is would be too small. */
static void store_counts(struct storing *storing, const struct read_operator *about, const struct operator_sums *sums)
{
	const struct read_counts *counts = &about->counts;
	struct operator_count_row row = {.operator_id = sums->id,
					 .calls = counts->calls,
					 .enabled_ns = counts->enabled_ns,
					 .running_ns = counts->running_ns};
	bool whole = counts->calls == sums->calls;
	for (unsigned i = 0; i < SPAN_WIRE_EVENTS; i++)
		row.count[i] = whole && !(counts->uncounted & 1u << i) ? counts->count[i] : SPAN_UNKNOWN;
	if (counts->known)
		stored(storing, store_operator_count(store_of(storing), &row, storing->collecting->err));
}

static void store_operators(struct storing *storing)
{
	for (size_t i = 0; i < storing->file->operators.len && !storing->collecting->code; i++) {
		const struct read_operator *about = &storing->file->operators.items[i];
		struct operator_sums *sums = &storing->sums[i];
		uint64_t min_ns = span_duration_ns(storing->collecting, about->min);
		uint64_t max_ns = span_duration_ns(storing->collecting, about->max);
		struct operator_row row = {
			.parent = about->parent == SPAN_NOWHERE ? 0 : storing->sums[about->parent].id,
			.process_id = storing->process.id,
			.lane = (int)about->lane,
			.name = about->name,
			.path = sums->path,
			.calls = sums->calls,
			.unended = sums->calls - about->calls,
			.total_ns = sums->total_ns,
			.self_ns = sums->total_ns > sums->children_ns ? sums->total_ns - sums->children_ns : 0,
			.min_ns = about->calls ? min_ns : sums->total_ns,
			.max_ns = about->calls ? max_ns : sums->total_ns,
			.kept = sums->kept,
			.kept_ns = sums->kept_ns,
			.flops = about->flops > 0 ? about->flops : NAN,
			.bytes = about->bytes > 0 ? about->bytes : NAN};
		if (!stored(storing, store_operator(store_of(storing), &row, storing->collecting->err)))
			return;
		sums->id = row.id;
		store_durations(storing, about, row.id);
		store_counts(storing, about, sums);
	}
}

/* ---- threads, counters, gauges ---- */

static void store_threads(struct storing *storing)
{
	for (size_t i = 0; i < storing->file->threads.len && !storing->collecting->code; i++) {
		const struct read_span_thread *thread = &storing->file->threads.items[i];
		struct span_thread row = {.process_id = storing->process.id,
					  .lane = (int)thread->lane,
					  .tid = thread->tid,
					  .name = (char *)thread->name,
					  .start_ns = since_start(storing, thread->start)};
		row.end_ns = thread->end ? since_start(storing, thread->end) : storing->end_ns;
		row.end_ns = row.end_ns > row.start_ns ? row.end_ns : row.start_ns;
		stored(storing, store_span_thread(store_of(storing), &row, storing->collecting->err));
		storing->threads[i] = row.id;
	}
}

/* What the counters of the process's threads are of, and why some have none. */
static void store_counting(struct storing *storing)
{
	static const char *const sources[] = {
		[SPAN_COUNTING_HARDWARE] = "hardware counters of the threads that recorded",
		[SPAN_COUNTING_USER] = "hardware counters of the threads that recorded, in user mode only",
		[SPAN_COUNTING_SOFTWARE] = "page faults, CPU clock and context switches in the place of instructions, "
					   "cycles and cache misses (PITOT_PMU=software)"};
	struct span_counting_row row = {.process_id = storing->process.id};
	char reason[METRIC_REASON_SIZE] = "";
	bool asked = false;
	for (size_t i = 0; i < storing->file->threads.len; i++) {
		uint32_t counting = storing->file->threads.items[i].counting;
		asked = asked || counting != SPAN_COUNTING_UNASKED;
		if (counting >= SPAN_COUNTING_HARDWARE && counting <= SPAN_COUNTING_SOFTWARE)
			row.source = (char *)sources[counting];
		else if (counting == SPAN_COUNTING_NOT_HERE)
			snprintf(reason, sizeof(reason), "%s has no counters here", storing->file->header.source);
		else if (counting > SPAN_COUNTING_FAILED)
			perf_event_words((int)((counting - SPAN_COUNTING_FAILED) & 0xffff), perf_event_paranoid(),
					 reason, sizeof(reason));
	}
	row.reason = reason[0] ? reason : NULL;
	if (asked)
		stored(storing, store_span_counting(store_of(storing), &row, storing->collecting->err));
}

static void store_series_rows(struct storing *storing)
{
	for (size_t i = 0; i < storing->file->series.len && !storing->collecting->code; i++) {
		const struct read_series *series = &storing->file->series.items[i];
		if (!series->is_gauge) {
			struct span_counter row = {.process_id = storing->process.id,
						   .name = series->name,
						   .total = series->sum,
						   .calls = series->calls};
			stored(storing, store_span_counter(store_of(storing), &row, storing->collecting->err));
			continue;
		}
		struct span_gauge row = {.process_id = storing->process.id,
					 .name = series->name,
					 .calls = series->calls,
					 .last = series->last,
					 .min = series->min,
					 .max = series->max,
					 .mean = series->calls ? series->sum / (double)series->calls : 0};
		stored(storing, store_span_gauge(store_of(storing), &row, storing->collecting->err));
		storing->gauges[i] = row.id;
	}
}

/* ---- what comes one by one ---- */

static void store_parts(struct storing *storing, const struct span_wire_chunk *chunk, int64_t chunk_id)
{
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t i = 0; i < chunk->parts && !storing->collecting->code; i++) {
			const struct span_wire_part *part = &chunk->part[i];
			uint32_t place = span_file_operator(storing->file, part->node);
			if (place == SPAN_NOWHERE)
				continue;
			struct operator_sums *sums = &storing->sums[place];
			uint32_t parent = storing->file->operators.items[place].parent;
			uint64_t took_ns = within_reason(storing, span_duration_ns(storing->collecting, part->total));
			if (pass == 0) {
				sums->chunk_children_ns = 0;
			} else if (pass == 1) {
				if (parent != SPAN_NOWHERE)
					storing->sums[parent].chunk_children_ns += took_ns;
			} else {
				uint64_t inner = sums->chunk_children_ns;
				struct chunk_part row = {.chunk_id = chunk_id,
							 .operator_id = sums->id,
							 .calls = part->calls,
							 .total_ns = took_ns,
							 .self_ns = took_ns > inner ? took_ns - inner : 0};
				stored(storing, store_chunk_part(store_of(storing), &row, storing->collecting->err));
			}
		}
}

static uint64_t known(uint64_t value)
{
	return value <= INT64_MAX ? value : SPAN_UNKNOWN;
}

static void store_one_chunk(struct storing *storing, const struct span_visit *visit)
{
	const struct span_wire_chunk *chunk = visit->chunk;
	struct chunk_row row = {.process_id = storing->process.id,
				.thread_id = storing->threads[visit->thread],
				.number = chunk->number > 0 ? chunk->number : 0,
				.begin_ns = since_start(storing, chunk->begin),
				.end_ns = since_start(storing, chunk->end),
				.rows = known(chunk->rows),
				.bytes_in = known(chunk->bytes_in),
				.bytes_out = known(chunk->bytes_out),
				.rss_bytes = known(chunk->rss_bytes),
				.heap_bytes = known(chunk->heap_bytes)};
	if (stored(storing, store_chunk(store_of(storing), &row, storing->collecting->err)))
		store_parts(storing, chunk, row.id);
}

static void store_one_span(struct storing *storing, const struct span_visit *visit, uint64_t took_ns)
{
	struct span_row row = {.operator_id = storing->sums[visit->place].id,
			       .thread_id = storing->threads[visit->thread],
			       .begin_ns = since_start(storing, visit->begin)};
	row.end_ns = row.begin_ns + took_ns;
	stored(storing, store_span(store_of(storing), &row, storing->collecting->err));
}

static void store_one_snapshot(struct storing *storing, const struct span_visit *visit)
{
	struct span_snapshot row = {.process_id = storing->process.id,
				    .thread_id = storing->threads[visit->thread],
				    .operator_id = visit->place == SPAN_NOWHERE ? 0 : storing->sums[visit->place].id,
				    .at_ns = since_start(storing, visit->begin),
				    .label = (char *)visit->text,
				    .rss_bytes = known(visit->snapshot->rss_bytes),
				    .vms_bytes = known(visit->snapshot->vms_bytes),
				    .heap_bytes = known(visit->snapshot->heap_bytes)};
	stored(storing, store_span_snapshot(store_of(storing), &row, storing->collecting->err));
}

static bool store_visit(void *context, const struct span_visit *visit)
{
	struct storing *storing = context;
	uint64_t took_ns;
	if (visit->kind == SPAN_WIRE_CHUNK) {
		store_one_chunk(storing, visit);
	} else if (visit->kind == SPAN_WIRE_SNAPSHOT) {
		store_one_snapshot(storing, visit);
	} else if (visit->kind == SPAN_WIRE_POINT && storing->gauges[visit->place]) {
		struct span_gauge_point row = {.gauge_id = storing->gauges[visit->place],
					       .at_ns = since_start(storing, visit->begin),
					       .value = visit->value};
		stored(storing, store_span_gauge_point(store_of(storing), &row, storing->collecting->err));
	} else if (is_stored(storing, visit, &took_ns)) {
		store_one_span(storing, visit, took_ns);
	}
	return storing->collecting->code == 0;
}

static void fill_process(struct storing *storing)
{
	struct span_wire_header *header = &storing->file->header;
	storing->process =
		(struct span_process){.stage_id = header->stage_id,
				      .pid = header->pid,
				      .ppid = header->ppid,
				      .start_ns = since_start(storing, header->start_ticks),
				      .executable = header->executable,
				      .source = header->source,
				      .clock = header->clock == SPAN_CLOCK_TSC ? "tsc" : "monotonic",
				      .ended = header->ended == 1,
				      .lost = known(header->lost) == SPAN_UNKNOWN ? 0 : header->lost,
				      .unbalanced = known(header->unbalanced) == SPAN_UNKNOWN ? 0 : header->unbalanced};
	storing->process.end_ns =
		storing->end_ns > storing->process.start_ns ? storing->end_ns : storing->process.start_ns;
}

void span_store_file(struct span_collecting *collecting, struct span_file *file, uint64_t stage_end_ns)
{
	struct storing storing = {.collecting = collecting, .file = file};
	storing.sums = mem_alloc((file->operators.len + 1) * sizeof(*storing.sums));
	storing.threads = mem_alloc((file->threads.len + 1) * sizeof(*storing.threads));
	storing.gauges = mem_alloc((file->series.len + 1) * sizeof(*storing.gauges));
	storing.end_ns = end_of_process(&storing, stage_end_ns);
	fill_process(&storing);
	sum_operators(&storing);
	span_file_visit(file, count_kept, &storing);
	if (stored(&storing, store_span_process(collecting->options->store, &storing.process, collecting->err))) {
		store_threads(&storing);
		store_counting(&storing);
		store_operators(&storing);
		store_series_rows(&storing);
	}
	if (!collecting->code)
		span_file_visit(file, store_visit, &storing);
	for (size_t i = 0; i < file->operators.len; i++)
		free(storing.sums[i].path);
	free(storing.sums);
	free(storing.threads);
	free(storing.gauges);
}
