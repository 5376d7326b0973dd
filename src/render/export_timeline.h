/*
 * export_timeline.h - where on the time axis a thread's samples lie.
 *
 * A sample stands for the CPU time since the one before it, and that time was spent right before the sample was taken. So
 * it covers [at - weight, at], but never a moment that an earlier sample covers already. What lies between two samples and
 * is shorter than half a sampling period is jitter; what is longer is time in which the thread did not run.
 */
#ifndef PITOT_RENDER_EXPORT_TIMELINE_H
#define PITOT_RENDER_EXPORT_TIMELINE_H

#include "render/export_words.h"

struct export_span {
	const struct code_sample *sample; /* borrowed from the tree */
	uint64_t start_ns, end_ns;        /* since the run began */
	bool follows;                     /* no pause since the span before it in the same thread */
};

struct export_timeline {
	VEC(struct export_span) spans; /* of one thread, in the order of time */
};

/* Spans of the samples [from, to), which are of one thread. */
void export_timeline(const struct code_tree *tree, size_t from, size_t to, struct export_timeline *out);
/* The first sample behind `from` that is of another thread. */
size_t export_thread_end(const struct code_tree *tree, size_t from);

#endif
