/*
 * code_tree.h - the samples that are asked for, as one tree of calls: what every table, flame graph and export of the code
 * profile is made from.
 *
 * Pure: struct profile_data in, a tree out. Choosing (stage, process, thread, range of time), the view (Python frames only,
 * native ones only, both) and how fine a frame is (function or line) happen here and nowhere else. Frames that the view
 * leaves out vanish from the paths; a sample whose whole path vanishes counts for the root, so that the shares of a view
 * add up to all time.
 *
 * Worker threads of BLAS and OpenMP pools: with `graft_workers` their samples hang below the stack of the thread that had
 * started the work at that moment, behind a frame "[worker thread]". The starter is the thread of the same process whose
 * sample nearest in time (at most 50 ms away) is inside the same library; where there is none, the stack that made the thread.
 */
#ifndef PITOT_ANALYZE_CODE_TREE_H
#define PITOT_ANALYZE_CODE_TREE_H

#include "store/profile.h"

#define CODE_VIEWS(X)                                                                                                  \
	X(MIXED, "mixed")                                                                                              \
	X(PYTHON, "python")                                                                                            \
	X(NATIVE, "native")

enum code_view {
#define CODE_VIEW_ID(id, name) CODE_##id,
	CODE_VIEWS(CODE_VIEW_ID)
#undef CODE_VIEW_ID
		CODE_VIEW_COUNT
};

struct code_value_type {
	const char *type, *unit;
};

/* What weights are where they are not CPU time in nanoseconds: bytes. */
struct code_measure {
	const char *words;                   /* "at the peak" */
	const struct code_value_type *types; /* of the numbers */
	size_t type_count, usual;            /* usual: the one that is shown first */
	const int64_t *numbers;              /* type_count for each sample of the profile */
	uint64_t period;                     /* bytes between two samples; 0: none was left out */
};

struct code_select {
	const int64_t *stage_ids; /* only of these; NULL: of all */
	size_t stage_count;
	int pid, tid;            /* 0: any */
	uint64_t from_ns, to_ns; /* since the run began; to_ns 0: to the end */
	enum code_view view;
	bool by_line; /* frames of one function but other lines are apart; else one frame with line 0 */
	bool graft_workers;
	const struct code_measure *measure; /* borrowed; NULL: CPU time */
};

/* A frame as the view has it; unique within the tree. Text is borrowed from the profile, or the tree's own. Native frames
 * without a name ("[libfoo.so+0x1234]") are one per object, "[libfoo.so]": apart, each of their addresses would be a row. */
struct code_frame {
	enum frame_kind kind;
	const char *function;
	const char *module; /* NULL: Python, mark */
	const char *file;   /* NULL: not known */
	int line;           /* with by_line; else 0 */
	int first_line;
	bool inlined;
};

enum { CODE_ROOT = 0 };

/* The mark between a starter's stack and a worker's. */
#define CODE_WORKER_FRAME "[worker thread]"

struct code_node {
	uint32_t parent; /* index of the node; smaller than its own; of the root: the root */
	uint32_t frame;  /* index into `frames`; meaningless for the root */
	uint64_t self_ns, total_ns;
	uint64_t self_samples, total_samples;
};

struct code_sample {
	uint32_t thread; /* index into the profile's threads */
	uint32_t node;
	size_t index; /* into the profile's samples */
	uint64_t at_ns, weight_ns;
	unsigned flags;
	int32_t task_id;
};

struct code_tree {
	const struct profile_data *profile; /* borrowed */
	struct code_select select;
	VEC(struct code_frame) frames;
	VEC(struct code_node) nodes;     /* [0] is the root; parents before children */
	VEC(struct code_sample) samples; /* by thread, then time */
	VEC(char *) names;               /* of frames without one: "[libfoo.so]" */
};

const char *code_view_name(enum code_view view);
int code_view_find(const char *name); /* -1 where there is none */

bool code_select_has_stage(const struct code_select *select, int64_t stage_id);
void code_tree_build(const struct profile_data *profile, const struct code_select *select, struct code_tree *out);
void code_tree_fini(struct code_tree *tree);

/* Frame indices of a node's path, root first, without the root node itself; returns how many. Of a path that is longer than
 * `most`, the part at the root. */
size_t code_tree_path(const struct code_tree *tree, uint32_t node, uint32_t *out, size_t most);

#endif
