/*
 * memory_report.h - what a memory profile says about a stage: what made the peak, what was never given back, what was
 * allocated and thrown away at once, where; what grows; and why the processes were larger than their heaps.
 *
 * Pure: profiles in, tables out. Texts are borrowed from the profile, which must outlive the tables.
 *
 * Bytes are of one repetition: the mean, where several count. Where sites were sampled, every number has its 99 % interval;
 * where they were counted one by one, low and high are the number itself.
 *
 * An allocation belongs to the innermost line whose text is known and that is the program's own, else to the innermost whose
 * text is known, else to the innermost Python one, else to the innermost function: the place that somebody could change.
 */
#ifndef PITOT_ANALYZE_MEMORY_REPORT_H
#define PITOT_ANALYZE_MEMORY_REPORT_H

#include "analyze/code_report.h"
#include "analyze/memory_explain.h"
#include "analyze/memory_peak.h"
#include "analyze/memory_types.h"
#include "analyze/memory_view.h"

struct memory_estimate {
	double bytes, low, high;
	double share; /* of the table's whole, 0 to 1 */
	double count; /* calls or blocks */
};

/* A function, a line or a module. */
struct memory_row {
	struct code_row place;              /* its shares are not filled */
	struct memory_estimate self, total; /* itself, and with what it calls */
};

struct memory_rows {
	VEC(struct memory_row) items; /* the largest first */
};

struct memory_thread {
	const struct profile_thread *thread;
	const struct profile_process *process;
	struct memory_estimate amount;
};

/* All by one weight. */
struct memory_table {
	struct memory_estimate all;
	struct memory_rows functions, lines, modules;
	VEC(struct memory_thread) threads;
	struct memory_estimate kinds[MEMORY_KIND_COUNT];
};

struct memory_process_row {
	const struct memory_process *memory;
	const struct profile_process *process;
};

/* A line whose live bytes grow from turn to turn. */
struct memory_trend {
	struct code_row place;
	enum memory_turn per;
	double bytes, low, high; /* per turn; the interval holds for all lines together */
	uint64_t turns, points;  /* all, and those at which the line was looked at */
	double last_bytes;
	bool grows; /* the whole interval is above 0 */
};

/* One site as it was recorded. */
struct memory_site_row {
	const struct memory_site *site;
	const struct profile_process *process;
	struct code_row place;
};

struct memory_quality {
	size_t processes, sampled; /* images that were watched, and those of them that were sampled */
	uint64_t period_bytes;     /* of these, the largest */
	uint64_t samples, lost, unknown_frees, truncated, unmatched;
	uint64_t agent_bytes; /* the most that watching took in one process */
	double gap_processes; /* processes without an agent */
	struct code_remarks notes, allocators;
	VEC(struct code_gap) gaps;
	bool scaled; /* at the peak of all some process was not at its own: its sites are in proportion */
};

struct memory_report {
	const struct profile_data *profile; /* borrowed, as is: */
	const struct memory_data *data;
	enum code_view view;
	bool cut; /* to a process or a thread */
	size_t repetitions;
	double calls, allocated_bytes; /* on the heap, and maps of the program; exact */
	struct memory_estimate peak;   /* of all processes together */
	double peak_at_s;              /* in the last repetition, since the run began */
	size_t peak_processes;
	struct memory_table tables[MEMORY_WEIGHT_COUNT];
	VEC(struct memory_process_row) processes; /* of the last repetition; the largest peak first */
	VEC(struct memory_site_row) sites;        /* of all that count, every kind; the largest peak first */
	VEC(struct memory_trend) trends;          /* growing ones first, the fastest first */
	struct memory_explanation explanation;    /* of the process with the most resident memory; bytes 0: not known */
	struct memory_types types;                /* Python's objects, of the last repetition */
	VEC(double) timeline;                     /* live bytes, the most in each bucket, of the last repetition */
	double timeline_from_s, bucket_s;
	VEC(struct memory_bucket) sizes, lifetimes; /* of all processes together */
	struct memory_quality quality;
	VEC(char *) names; /* that rows borrow besides the profile's */
};

enum { MEMORY_BUCKETS = 60, MEMORY_TREND_LEAST = 3 };

/* NULL where the memory of the stage's processes was not watched. Owned by the caller. */
struct memory_report *memory_report_new(const struct profile_data *profile, const struct memory_data *memory,
					const struct code_stage *stage, const struct code_request *request);
void memory_report_free(struct memory_report *report);

#endif
