/*
 * export_chrome.h - what the files of the trace-event export share: export_chrome.c (stages, processes, sampled stacks, series)
 * and export_chrome_spans.c (what programs recorded themselves).
 */
#ifndef PITOT_RENDER_EXPORT_CHROME_H
#define PITOT_RENDER_EXPORT_CHROME_H

#include "base/json.h"
#include "render/code_export.h"

enum {
	CHROME_DEPTH = 500,
	/* No process has a number that large: what is not of one process goes there. */
	PIPELINE_PID = 1 << 23,
};

/* In place of a node: the slice below CHROME_DEPTH, and that of a sample without a path. */
#define DEEPER   EXPORT_CUT
#define PATHLESS (EXPORT_CUT - 1)

/* One event of the trace; `node` for a slice of a stack. */
struct event {
	uint64_t at_ns, dur_ns;
	size_t order; /* among those of the same moment */
	char phase;   /* 'X', 'C', 'b', 'e', 'i' */
	int pid, tid;
	uint32_t node;
	const char *name, *category; /* borrowed; NULL for a slice of a stack */
	const char *series;          /* of a counter */
	double value;
};

struct trace {
	const struct code_tree *tree;
	const struct report *report;
	VEC(struct event) events;
	uint32_t open[CHROME_DEPTH + 1]; /* nodes of the open slices of the thread in work */
	size_t slices[CHROME_DEPTH + 1]; /* their events */
	size_t depth;
};

void chrome_add(struct trace *trace, struct event event);
void chrome_put_metadata(struct json *json, const char *kind, int pid, int tid, const char *name);

/* Spans, chunks, gauges and marks of the stages that are selected. */
void chrome_add_spans(struct trace *trace);
void chrome_put_span_names(struct json *json, const struct trace *trace);

#endif
