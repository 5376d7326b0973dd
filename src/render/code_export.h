/*
 * code_export.h - the code profile in the formats of other tools: one function per format, one table.
 */
#ifndef PITOT_RENDER_CODE_EXPORT_H
#define PITOT_RENDER_CODE_EXPORT_H

#include "analyze/code_tree.h"
#include "analyze/report.h"
#include "base/str.h"

struct code_export {
	const char *name;    /* "folded", "speedscope", "pprof", "chrome", "callgrind", "svg" */
	const char *summary; /* for help */
	bool by_line;        /* wants frames apart by line */
	bool per_thread; /* shows each thread for itself: work is left where it ran, not grafted below its starter */
	bool binary;     /* not for a terminal */
	bool values;     /* of memory it takes all sites, with their numbers by every weight */
	bool timed; /* shows a time axis: of memory it has the course, whatever the weight; needs no code profile */
	/* `report` for names and times of stages; the tree holds what was selected. */
	int (*render)(const struct code_tree *tree, const struct report *report, struct str *out, struct err *err);
};

extern const struct code_export *const code_export_table[]; /* ends with NULL */
const struct code_export *code_export_find(const char *name);

/* Two profiles: "a;b;c N M" lines, weights in microseconds or bytes, as differential flame graphs take them. */
void code_export_diff_folded(const struct code_tree *a, const struct code_tree *b, struct str *out);

#endif
