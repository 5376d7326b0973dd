/*
 * span.h - operators and chunks in the run file: what programs told through spans.
 *
 *	process ──< thread            who recorded; threads that came one after the other share a lane
 *	process ──< operator          a name in its place (path of names), with exact totals over all its spans
 *	operator ──< span             some spans one by one, for the time axis
 *	process ──< chunk ──< part    portions of the data, and what each operator took of each
 *	process ──< counter, gauge, snapshot
 *
 * Writing goes through store.h's struct store and its error rule. Rows must be written parents first: a process, its threads,
 * its operators (parents before children), then what refers to them. Whoever measures inside pitot itself uses span_log.h,
 * which does that. Reading gives everything in arrays whose index is the id less one.
 *
 * What is not known is SPAN_UNKNOWN in the structs and NULL in the file.
 */
#ifndef PITOT_STORE_SPAN_H
#define PITOT_STORE_SPAN_H

#include "base/vec.h"
#include "store/store.h"

#define SPAN_UNKNOWN UINT64_MAX

struct span_process {
	int64_t id; /* set by the store */
	int64_t stage_id;
	int pid, ppid;
	uint64_t start_ns, end_ns; /* since the run began */
	char *executable;
	char *source; /* "libpitot 0.1.0", "pitot.py 3.11.2", "pitot features" */
	char *clock;  /* "tsc", "monotonic" */
	bool ended;   /* it said that it ends; else it was killed, called exec, or still runs */
	/* Spans counted; of them kept one by one; not even counted, for want of room; ended out of order. */
	uint64_t recorded, kept, lost, unbalanced;
	char *note; /* NULL: nothing to say */
};

struct span_thread {
	int64_t id;
	int64_t process_id;
	int lane; /* from 0, of the process */
	int tid;
	char *name; /* may be NULL */
	uint64_t start_ns, end_ns;
};

struct operator_row {
	int64_t id;
	int64_t parent; /* 0: a root */
	int64_t process_id;
	int lane;
	char *name;
	char *path; /* "chunk/encode": the names from the root, "/" between */
	uint64_t calls;
	uint64_t unended; /* of the calls: not ended when the process did, counted up to then */
	uint64_t total_ns, self_ns;
	uint64_t min_ns, max_ns;
	uint64_t kept, kept_ns; /* how many of its spans are kept one by one, and how long they are together */
	double flops, bytes;    /* NAN: the program said nothing */
};

struct operator_duration {
	int64_t operator_id;
	uint64_t low_ns, high_ns; /* low <= duration < high */
	uint64_t calls;
};

/* Whether counters were asked of the process's spans: what they are of, and why some are missing; either may be NULL. */
struct span_counting_row {
	int64_t process_id;
	char *source, *reason;
};

enum { OPERATOR_EVENTS = 3 }; /* instructions, cycles, cache misses */

/* Of an operator's spans, by the thread that had them open. `running_ns` of `enabled_ns` the hardware was counting. */
struct operator_count_row {
	int64_t operator_id;
	uint64_t calls;                  /* spans that are in it */
	uint64_t count[OPERATOR_EVENTS]; /* SPAN_UNKNOWN: not of all its spans */
	uint64_t enabled_ns, running_ns;
};

struct span_row {
	int64_t operator_id, thread_id;
	uint64_t begin_ns, end_ns;
};

struct chunk_row {
	int64_t id;
	int64_t process_id, thread_id;
	int64_t number; /* the program's own, not negative */
	uint64_t begin_ns, end_ns;
	uint64_t rows, bytes_in, bytes_out;
	uint64_t rss_bytes, heap_bytes; /* when it ended */
};

struct chunk_part {
	int64_t chunk_id, operator_id;
	uint64_t calls, total_ns, self_ns;
};

struct span_counter {
	int64_t process_id;
	char *name;
	double total;
	uint64_t calls;
};

struct span_gauge {
	int64_t id;
	int64_t process_id;
	char *name;
	uint64_t calls;
	double last, min, max, mean;
};

struct span_gauge_point {
	int64_t gauge_id;
	uint64_t at_ns;
	double value;
};

struct span_snapshot {
	int64_t process_id, thread_id;
	int64_t operator_id; /* in which it was taken; 0: in none */
	uint64_t at_ns;
	char *label;
	uint64_t rss_bytes, vms_bytes, heap_bytes;
};

/* Those with an id set it. */
int store_span_process(struct store *store, struct span_process *process, struct err *err);
int store_span_thread(struct store *store, struct span_thread *thread, struct err *err);
int store_operator(struct store *store, struct operator_row *operator_row, struct err *err);
int store_operator_duration(struct store *store, const struct operator_duration *duration, struct err *err);
int store_span_counting(struct store *store, const struct span_counting_row *counting, struct err *err);
int store_operator_count(struct store *store, const struct operator_count_row *count, struct err *err);
int store_span(struct store *store, const struct span_row *span, struct err *err);
int store_chunk(struct store *store, struct chunk_row *chunk, struct err *err);
int store_chunk_part(struct store *store, const struct chunk_part *part, struct err *err);
int store_span_counter(struct store *store, const struct span_counter *counter, struct err *err);
int store_span_gauge(struct store *store, struct span_gauge *gauge, struct err *err);
int store_span_gauge_point(struct store *store, const struct span_gauge_point *point, struct err *err);
int store_span_snapshot(struct store *store, const struct span_snapshot *snapshot, struct err *err);

/* Everything, in the order of ids; parts by chunk, durations by operator, spans as they were written. */
struct span_data {
	VEC(struct span_process) processes;
	VEC(struct span_thread) threads;
	VEC(struct operator_row) operators;
	VEC(struct operator_duration) durations;
	VEC(struct span_counting_row) counting;
	VEC(struct operator_count_row) counts;
	VEC(struct span_row) spans;
	VEC(struct chunk_row) chunks;
	VEC(struct chunk_part) parts;
	VEC(struct span_counter) counters;
	VEC(struct span_gauge) gauges;
	VEC(struct span_gauge_point) points;
	VEC(struct span_snapshot) snapshots;
};

/* Whether the run has any spans, chunks or snapshots: cheap. */
int store_span_exists(const char *path, bool *out, struct err *err);
/* Ids that point nowhere, times that run backwards and sums that overflow are an error with words. A run file of before spans
 * gives empty data. */
int store_span_load(const char *path, struct span_data **out, struct err *err);
void span_data_free(struct span_data *data);

#endif
