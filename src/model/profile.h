/*
 * profile.h - what is found out about a model, put together: from a graph and its counts to the rows that are shown and stored.
 */
#ifndef PITOT_MODEL_PROFILE_H
#define PITOT_MODEL_PROFILE_H

#include "model/arch.h"
#include "model/onnx.h"
#include "store/model.h"

/* Where models come from. */
struct model_source {
	const char *name;            /* an architecture, or a file */
	struct sizes sizes;          /* 0: not chosen */
	const struct onnx_dim *dims; /* named dimensions of an ONNX file */
	size_t dim_count;
};

/* The graph of a name or file; *kind is "architecture", "preset", "text" or "onnx". */
int profile_make(const struct model_source *source, struct graph *graph, const char **kind, struct err *err);

/* Counts and memory of the graph, as a row. `row` is init'ed here; on an error there is nothing to fini. */
int profile_count(const struct model_source *source, struct graph *graph, const char *kind, struct model_row *row,
		  struct err *err);

/* The sums of the operators' times in their layers, after they were timed. */
void profile_sum_layers(struct model_row *row);

#endif
