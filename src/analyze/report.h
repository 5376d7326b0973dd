/*
 * report.h - what a run says: the model that every renderer prints and none computes.
 *
 * Pure: a run_record in, a report out. Repetitions are folded here (medians over the repetitions that
 * count), the stages' values make the run's by the registry's rule, and each stage gets its verdict. After
 * report_compute every value is known or absent with a reason; none is unset.
 */
#ifndef PITOT_ANALYZE_REPORT_H
#define PITOT_ANALYZE_REPORT_H

#include "analyze/census.h"
#include "analyze/code_report.h"
#include "analyze/finding.h"
#include "analyze/memory_report.h"
#include "analyze/span_report.h"
#include "stats/describe.h"
#include "store/model.h"
#include "store/record.h"
#include "store/store.h"

/* What held the stage up. */
#define VERDICT_LIST(X)                                                                                                \
	X(NONE, "none", "too short or not run")                                                                        \
	X(CPU, "cpu-bound", "busy computing")                                                                          \
	X(CPU_ONE_CORE, "cpu-bound, one core", "busy computing on one core while others idle")                         \
	X(CPU_STARVED, "cpu-starved", "ready to run but waiting for a core")                                           \
	X(IO, "io-bound", "waiting for storage")                                                                       \
	X(MEMORY, "memory-bound", "waiting for memory: swapping, reclaim or major faults")                             \
	X(GPU, "gpu-bound", "waiting for the GPU")                                                                     \
	X(WAIT, "wait-bound", "waiting: sleep, network, locks or another process")                                     \
	X(MIXED, "mixed", "no single resource dominates")

enum verdict {
#define VERDICT_ID(id, name, meaning) VERDICT_##id,
	VERDICT_LIST(VERDICT_ID)
#undef VERDICT_ID
		VERDICT_COUNT
};

const char *verdict_name(enum verdict verdict);
const char *verdict_meaning(enum verdict verdict);

struct report_stage {
	const struct stage_record *last;  /* the last repetition's record: artifacts, command, tier */
	const struct stage_record *worst; /* the last of those with `status`: its reason, exit code and log */
	const char *name;
	bool ran;                                 /* in at least one repetition that counts */
	enum stage_status status;                 /* the worst of all repetitions, warm-ups included */
	struct metric_value values[METRIC_COUNT]; /* median over the repetitions that count, per metric */
	struct description wall;                  /* over the repetitions that count */
	VEC(double) walls;                        /* the same one by one, in the order in which they ran */
	double share;                             /* of the sum of the stages' wall times, 0 to 1 */
	enum verdict verdict;
	char *evidence;                           /* "98 % of one core busy, 0.3 % I/O pressure"; owned */
	struct series_list series;                /* of the last repetition */
	struct process_list processes;            /* the costliest, of the last repetition */
	struct census census;                     /* all of them, by program */
	VEC(const struct stage_record *) counted; /* the repetitions that count; the last one where it never ran */
	struct code_report *code;                 /* what its code profile says; NULL: it has none */
	struct span_report *spans;                /* what its programs' spans say; NULL: they recorded none */
	struct memory_report *memory;             /* what its memory profile says; NULL: it has none */
};

struct report {
	const struct run_record *record;
	double total_s; /* median wall time of a repetition that counts */
	struct description total;
	struct metric_value values[METRIC_COUNT];
	double self_cpu_share; /* pitot's own CPU time over the elapsed time of the whole run; NaN: not known */
	VEC(struct report_stage) stages;    /* in pipeline order */
	size_t bottleneck;                  /* index of the stage with the largest share; SIZE_MAX where nothing ran */
	struct finding_list findings;       /* empty until findings_compute */
	const struct model_profile *models; /* borrowed; NULL: the run profiled none */
	const struct span_data *spans;      /* borrowed, one by one, for the time axis; NULL: none */
};

enum { REPORT_BUCKETS = 60 };

/* The report borrows the record. `series`, `processes`, `census` and `code` of the stages stay empty: the caller may load
 * them from the run file, and then have the findings computed. */
void report_compute(const struct run_record *record, struct report *out);
void report_fini(struct report *report);

#endif
