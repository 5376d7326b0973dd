/*
 * model.h - profiled models as plain structs: what `pitot model` found out, on its way to people and into the run file and back.
 *
 * The same structs are shown by `pitot model`, written by store_model_write and read by store_model_load, so a report of a stored
 * run says what the command said. Numbers that are not known are NaN or -1 and NULL in the file. Text is owned.
 */
#ifndef PITOT_STORE_MODEL_H
#define PITOT_STORE_MODEL_H

#include "base/vec.h"
#include "base/work.h"
#include "store/store.h"

enum model_phase { MODEL_FORWARD, MODEL_BACKWARD, MODEL_PHASES };
const char *model_phase_name(enum model_phase phase); /* "forward", "backward" */

struct model_time {
	int64_t runs; /* 0: not timed, and nothing else is set */
	double mean_s, sd_s, median_s, low_s, high_s;
	double p90_s, p95_s, p99_s; /* NaN: too few runs */
	double flops, bytes;        /* per second; NaN where they are not counted */
	double attainable_flops, efficiency;
	char *bound, *doubt; /* words of model/roof.h; NULL: none */
	char *warning;       /* drift, two modes, too few runs, …; NULL */
};

struct model_op_row {
	int64_t layer; /* position */
	char *name, *type, *kind;
	char *input, *output; /* shapes; NULL: not known */
	char *unknown;        /* why it is not counted; NULL: it is */
	int64_t fused_into;   /* the operator in whose time its own lies; -1: it has its own */
	struct work work;
	struct model_time time[MODEL_PHASES];
};

struct model_layer_row {
	char *path;
	int64_t parent; /* position, smaller than its own; -1 for the model */
	struct work work;
	double time_s[MODEL_PHASES]; /* of its operators; NaN: not timed */
};

struct model_row {
	char *name, *source, *path, *sizes, *input;
	int64_t threads; /* -1: only counted */
	struct work work;
	int64_t weights_kept_bytes, gradient_bytes, inference_bytes, inference_op, saved_bytes, training_bytes,
		training_op;
	int64_t measured_inference_bytes, measured_training_bytes; /* -1: not measured */
	double roof_flops, roof_memory_bytes, roof_cache_bytes;    /* NaN: not known */
	struct model_time time[MODEL_PHASES];
	VEC(struct model_layer_row) layers;
	VEC(struct model_op_row) ops;
	VEC(char *) notes;
};

struct model_fit {
	char *model, *variable, *quantity;
	double exponent, low, high, r2;
	int64_t points;
};

struct model_profile {
	VEC(struct model_row) models;
	VEC(struct model_fit) fits;
};

void model_row_init(struct model_row *row); /* nothing known */
void model_row_fini(struct model_row *row);
void model_profile_fini(struct model_profile *profile);
void model_profile_free(struct model_profile *profile);

int store_model_write(struct store *store, int64_t stage_id, const struct model_profile *profile, struct err *err);
/* Whether the run has models at all: cheap; a file of an older version has none. */
int store_model_exists(const char *path, bool *out, struct err *err);
/* Layers, operators and times refer to what exists, parents come first: what is loaded can be walked without checks. */
int store_model_load(const char *path, struct model_profile **out, struct err *err);

#endif
