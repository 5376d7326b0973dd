/*
 * rule.h - what a rule is, what it is given, and how it says what it found. Internal to analyze/, but for the table.
 *
 * A rule is a const struct in a rule_*.c file and a row in RULE_LIST. It looks at one stage (or, where it has
 * `examine_run`, at the run), and where its condition holds it adds a finding:
 *
 *	struct finding *finding = finding_add(out, &rule_x, evidence, FINDING_FIX);
 *	finding_say(finding, "…", …);                 one sentence
 *	finding_advise(finding, "…");                 one or two sentences
 *	finding_cite(finding, evidence, METRIC_X);    the numbers it rests on
 *	finding_predict(finding, evidence, saved_s, "…");   seconds saved within the stage, and on what assumption
 *
 * What is not known is NaN, and no comparison with NaN holds: a rule without its numbers is silent.
 */
#ifndef PITOT_ANALYZE_RULE_H
#define PITOT_ANALYZE_RULE_H

#include "analyze/critical.h"
#include "analyze/report.h"

/* The order is that of the documentation. */
#define RULE_LIST(X)                                                                                                   \
	X(failed)                                                                                                      \
	X(retried)                                                                                                     \
	X(dominant_stage)                                                                                              \
	X(serial_stages)                                                                                               \
	X(one_core)                                                                                                    \
	X(serialised_threads)                                                                                          \
	X(oversubscribed)                                                                                              \
	X(cores_unused)                                                                                                \
	X(throttled)                                                                                                   \
	X(cpu_contention)                                                                                              \
	X(io_wait)                                                                                                     \
	X(small_io)                                                                                                    \
	X(same_input)                                                                                                  \
	X(output_flood)                                                                                                \
	X(memory_limit)                                                                                                \
	X(memory_pressure)                                                                                             \
	X(swapping)                                                                                                    \
	X(chunk_memory)                                                                                                \
	X(memory_growth)                                                                                               \
	X(leak)                                                                                                        \
	X(peak_one_line)                                                                                               \
	X(memory_kept)                                                                                                 \
	X(page_fault_storm)                                                                                            \
	X(major_faults)                                                                                                \
	X(short_processes)                                                                                             \
	X(interpreter_starts)                                                                                          \
	X(chunk_time)                                                                                                  \
	X(chunk_bandwidth)                                                                                             \
	X(chunk_latency)                                                                                               \
	X(chunk_gap)                                                                                                   \
	X(low_bandwidth)                                                                                               \
	X(waiting)                                                                                                     \
	X(handoffs)                                                                                                    \
	X(system_time)                                                                                                 \
	X(hot_function)                                                                                                \
	X(interpreter_loop)                                                                                            \
	X(import_time)                                                                                                 \
	X(serialising)                                                                                                 \
	X(allocator)                                                                                                   \
	X(allocation_churn)                                                                                            \
	X(regex_compile)                                                                                               \
	X(date_parsing)                                                                                                \
	X(gpu_memory)                                                                                                  \
	X(gpu_idle)                                                                                                    \
	X(low_ipc)                                                                                                     \
	X(cache_misses)                                                                                                \
	X(branch_misses)                                                                                               \
	X(steal)                                                                                                       \
	X(noisy_host)                                                                                                  \
	X(requested_resources)

/* What rules look at. The numbers are the stage's, or the run's where `stage` is NULL. */
struct evidence {
	const struct report *report;
	const struct plan *plan;
	const struct schedule *schedule;  /* of the plan as it was measured */
	const struct report_stage *stage; /* NULL: the run */
	size_t index;                     /* of the stage */
	const struct metric_value *values;
	double cores; /* that it could use */
	double wall, cpu, user, system;
	double queue;    /* seconds that its threads were ready without a core */
	double busy;     /* cores' worth of CPU time: cpu / wall */
	double wanted;   /* cores' worth that it would have used: (cpu + queue) / wall, with queue 0 where not known */
	bool one_thread; /* no more was wanted than one computing thread and its helpers' start and end */
	/* The elapsed time that it would have taken with the machine to itself: without the time in which its one
	 * computing thread waited for a core. Where several computed, that cannot be told, and it is the elapsed time.
	 */
	double alone;
};

struct finding_rule {
	const char *id;    /* "one-core" */
	const char *title; /* "Computing on one core" */
	const char *fires; /* when, with the thresholds in words */
	const char *why;   /* it costs time */
	const char *todo;  /* what to do about it, in general */
	/* A finding is dropped where one of a larger depth explains at least half of its gain in the same stage: "it
	 * computes on one core" is no news beside "it computes in 4000 processes". 0 is the most general. */
	int depth;
	bool first; /* before all others of its severity: what it says spoils the numbers of theirs */
	void (*examine)(const struct evidence *evidence, struct finding_list *out);     /* each stage; or NULL */
	void (*examine_run)(const struct evidence *evidence, struct finding_list *out); /* the run; or NULL */
};

#define RULE_EXTERN(name) extern const struct finding_rule rule_##name;
RULE_LIST(RULE_EXTERN)
#undef RULE_EXTERN

extern const struct finding_rule *const rule_table[]; /* ends with NULL */

/* The metric where it is known, else NaN. */
double evidence_number(const struct evidence *evidence, int metric);
/* Whether the metric is of the stage's own control group rather than of the whole machine. */
bool evidence_is_own(const struct evidence *evidence, int metric);

/* The finding is the list's; the pointer is good until the next is added. */
struct finding *finding_add(struct finding_list *out, const struct finding_rule *rule, const struct evidence *evidence,
			    enum finding_severity severity);
void finding_say(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_advise(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A metric as it stands; nothing where it is not known. */
void finding_cite(struct finding *finding, const struct evidence *evidence, int metric);
/* A number made from `metric`, whose method and source it has. */
void finding_cite_from(struct finding *finding, const struct evidence *evidence, const char *name,
		       enum metric_unit unit, double value, int metric);
/* A number from elsewhere. */
void finding_cite_other(struct finding *finding, const char *name, enum metric_unit unit, double value,
			enum metric_method method, const char *source);
/* `saved_s` within the stage; what that is for the run follows from the critical path. */
void finding_predict(struct finding *finding, const struct evidence *evidence, double saved_s, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same for the run as a whole. */
void finding_predict_run(struct finding *finding, const struct evidence *evidence, double gain_s, const char *format,
			 ...) __attribute__((format(printf, 4, 5)));

#endif
