/*
 * span_read.h - a file of spans (wire/span_wire.h) that may be damaged in any way, as plain arrays that need no further checks.
 *
 * Only the file's first blocks up to the damage are used; a record that makes no sense is dropped and counted. Ids have become
 * places in the arrays; a node's parent comes before it and is of the same lane. What there may be millions of (spans,
 * chunks, values) is not held in memory: span_file_visit reads it again and hands it over one by one, lane by lane as it lies
 * in the file. Times stay ticks.
 */
#ifndef PITOT_RUN_SPAN_READ_H
#define PITOT_RUN_SPAN_READ_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "wire/span_wire.h"

enum { SPAN_NOWHERE = UINT32_MAX }; /* in place of an index */

/* What the counters said of an operator's spans. */
struct read_counts {
	bool known; /* the operator has them */
	uint64_t count[SPAN_WIRE_EVENTS], enabled_ns, running_ns, calls;
	unsigned uncounted; /* a bit per event */
};

struct read_operator {
	uint32_t parent; /* index, or SPAN_NOWHERE */
	uint32_t lane;
	char *name;
	uint64_t begin, calls, total, min, max;
	uint32_t open;
	double flops, bytes; /* finite, not negative */
	struct read_counts counts;
	uint32_t durations[SPAN_WIRE_BUCKETS];
};

struct read_series {
	bool is_gauge;
	char *name;
	uint64_t calls;
	double last, min, max, sum;
};

struct read_span_thread {
	uint32_t lane;
	int tid;
	uint64_t start, end; /* end 0: not told */
	uint32_t counting;   /* enum span_wire_counting, or an errno above SPAN_COUNTING_FAILED */
	char name[17];
};

struct span_file {
	struct span_wire_header header; /* a copy; texts have an end */
	VEC(struct read_operator) operators;
	VEC(struct read_series) series;
	VEC(struct read_span_thread) threads;
	uint64_t dropped_bytes;   /* after the first block that makes no sense */
	uint64_t dropped_records; /* of those that are held, at least */
	uint64_t dropped_visits;  /* of those that were to be handed over, at the last visit */
	int fd;
	uint64_t size;
	struct map ids; /* of the file: kind and index + 1 in one number */
};

/* One record of those that are handed over. Operators, series and threads are indices that exist. */
struct span_visit {
	enum span_wire_kind kind; /* SPAN, CHUNK, POINT or SNAPSHOT */
	uint32_t thread;
	uint32_t place; /* operator or series; SPAN_NOWHERE: a snapshot outside of any */
	uint64_t begin, end;
	double value;
	const struct span_wire_chunk *chunk; /* with `parts` parts; their nodes are looked up by span_file_operator */
	const struct span_wire_snapshot *snapshot;
	char text[SPAN_WIRE_NAME_MOST + 1];
};

/* ERR_INPUT: no file of spans, or of another version. */
int span_file_open(const char *path, struct span_file **out, struct err *err);
void span_file_free(struct span_file *file);

/* Ends early where `take` gives false. */
typedef bool span_visit_fn(void *context, const struct span_visit *visit);
void span_file_visit(struct span_file *file, span_visit_fn *take, void *context);
/* The operator of an id in the file, or SPAN_NOWHERE. */
uint32_t span_file_operator(const struct span_file *file, uint32_t id);

#endif
