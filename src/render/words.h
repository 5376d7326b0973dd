/*
 * words.h - what the renderers for people share: the sentences, and which of the known numbers stands for what.
 */
#ifndef PITOT_RENDER_WORDS_H
#define PITOT_RENDER_WORDS_H

#include "analyze/report.h"
#include "base/str.h"

/* Which metric stands for "the memory it needed", as the seed of such reports, the resident set of the process tree,
 * did. The tree's own figure (memory_anon_peak_bytes, else rss_sum_peak_bytes) is sampled and can miss a spike; the
 * largest process's (rss_process_peak_bytes) is exact and misses the others: so the larger one. Never
 * memory_peak_bytes, which has page cache in it that the kernel could have taken back. */
int words_memory_metric(const struct metric_value *values);

/* A stage whose end is not in the file, while its pitot still runs, is running, not interrupted. */
bool words_stage_running(const struct report *report, const struct report_stage *stage);
const char *words_stage_status(const struct report *report, const struct report_stage *stage);
const char *words_run_status(const struct report *report);
bool words_is_failure(enum stage_status status);

/* "train takes 71 % of the time and is cpu-bound, one core"; nothing where no stage has a time. */
void words_bottleneck(const struct report *report, struct str *out);
/* "exit status 3", "killed by signal 9 (Killed)", or the row's own reason; never empty for a failure. */
void words_failure(const struct report_stage *stage, struct str *out);
/* NULL where the event is the run's. */
const char *words_event_stage(const struct report *report, const struct event_row *event);
/* Events worth telling, in order; one that came again, for the same stage in another repetition, is told once. */
struct told_event {
	const struct event_row *event; /* borrowed, as is the name */
	const char *stage;             /* NULL where it is the run's */
	size_t times;
};
struct told_events {
	VEC(struct told_event) items;
};
void words_events(const struct report *report, bool marks_too, struct told_events *out);
/* The host fact's value, or NULL. */
const char *words_host(const struct report *report, const char *key);
/* "build7, 8 cores of AMD EPYC 7543, 31.2 GiB, Linux 6.1.0": what is known of it. */
void words_host_line(const struct report *report, struct str *out);
/* "exact, cgroup cpu.stat, 92 % covered". */
void words_provenance(const struct metric_value *value, struct str *out);
/* "0.12 s CPU (0.03 % of the elapsed time), 9.1 MiB, …": pitot's own cost. */
void words_own_cost(const struct report *report, struct str *out);

/* Metrics that the run does not know, by reason. */
struct reason_group {
	const char *reason; /* borrowed */
	VEC(int) metrics;
};
struct reason_groups {
	VEC(struct reason_group) items;
};
void words_absent(const struct metric_value *values, struct reason_groups *out);
void words_absent_fini(struct reason_groups *groups);

/* The quality metric's title and scale: "Grade" and "/100" for run_grade_0_100; the name itself for others. */
const char *words_quality_title(const char *name, const char **suffix);

#endif
