/*
 * export_words.h - what the exports of the code profile call things, and in which order they take them.
 *
 * Names come from the profiled program: they may hold anything and be of any length. Each format escapes for itself; cutting
 * to what a person can read is done here.
 */
#ifndef PITOT_RENDER_EXPORT_WORDS_H
#define PITOT_RENDER_EXPORT_WORDS_H

#include "analyze/code_tree.h"
#include "analyze/report.h"
#include "base/str.h"

/* Longer paths are cut in their middle: the outermost and the innermost frames stay. */
enum { EXPORT_DEPTH = 1024 };
/* Stands in a path for the frames that were cut. */
#define EXPORT_CUT      UINT32_MAX
#define EXPORT_CUT_NAME "[frames left out]"

/* "fit (model.py:12)" for Python, "cblas_dgemm" for the rest. The line is the sample's, or else the function's first. */
void export_frame_name(struct str *out, const struct code_frame *frame);
/* The same without a line: what stays the same when the program is edited. */
void export_frame_place(struct str *out, const struct code_frame *frame);
int export_frame_line(const struct code_frame *frame);
/* What a sample without a path in this view stands for: "[no stack]", "[no Python code]". */
const char *export_pathless_name(const struct code_tree *tree);

void export_process_name(struct str *out, const struct profile_process *process); /* "python3-1234" */
void export_thread_name(struct str *out, const struct profile_thread *thread);    /* "MainThread", "worker-1240" */
const struct profile_process *export_process_of(const struct code_tree *tree, size_t thread);
/* NULL where the run has no such stage. */
const char *export_stage_name(const struct report *report, int64_t stage_id);
/* The sampling period of the first process that has one; 0: none has. */
uint64_t export_period_ns(const struct code_tree *tree);

/* The first `most` bytes of `text` at most, whole characters, "…" behind what was cut. */
void export_cut(struct str *out, const char *text, size_t most);

/* Nodes of a path, root first, without the root: at most EXPORT_DEPTH, EXPORT_CUT for what was left out. `out` has
 * EXPORT_DEPTH items; returns how many are used. */
size_t export_path(const struct code_tree *tree, uint32_t node, uint32_t *out);

/* Samples of one thread with one path and one task, added up. */
struct export_cost {
	size_t thread;
	uint32_t node;
	int64_t task_id;
	uint64_t ns, samples;
};
struct export_cost_list {
	VEC(struct export_cost) items; /* by thread, node, task */
};
void export_costs(const struct code_tree *tree, struct export_cost_list *out);

#endif
