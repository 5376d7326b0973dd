/*
 * model.h - what the files of `pitot model` share: its options, the sizes to go through, what was found.
 */
#ifndef PITOT_CMD_MODEL_H
#define PITOT_CMD_MODEL_H

#include "cmd/cmd.h"
#include "model/profile.h"
#include "model/weights.h"
#include "render/model.h"

struct model_args {
	const char *dims[DIM_COUNT]; /* lists of sizes as they were typed; NULL: not chosen */
	const char *threads;
	struct opt_texts named_dims, whatifs;
	bool count_only, list, quiet, verbose, keep, backward;
	const char *format, *output, *history, *data;
	uint64_t budget_ns;
	int64_t seed, columns;
	double near_zero;
	struct opt_texts names; /* what was typed besides options */
	int argc;
	char **argv;
};

extern const struct cmd cmd_model;

enum { MODEL_LIST_MOST = 64 };

/* "1,8,32", "64..1024*2", "1..8+1". ERR_USAGE with the option's name. */
int model_list_parse(const char *option, const char *text, int64_t *out, size_t *count, struct err *err);

/* One size of one model to look at. */
struct model_case {
	struct model_source source;
	int64_t threads; /* 0: not chosen */
};
struct model_cases {
	VEC(struct model_case) items;
	VEC(struct onnx_dim) dims; /* what the sources borrow */
	VEC(char *) texts;
	int varied; /* the one size that changes, DIM_COUNT for threads; -1: none or several */
};
/* All combinations of names, sizes and threads. */
int model_cases_make(const struct model_args *args, struct model_cases *out, struct err *err);
void model_cases_fini(struct model_cases *cases);
/* The exponents, where one size changed. */
void model_cases_fit(const struct model_cases *cases, struct model_profile *profile);

/* Prints what was found; the exit status. */
int model_show(const struct model_args *args, const struct model_profile *profile, bool compare);
/* Leaves a run file in the history; its path is owned by the caller. */
int model_store(const struct model_args *args, const struct model_profile *profile, uint64_t began_utc_ns,
		uint64_t wall_ns, char **path, struct err *err);
/* `pitot model weights FILE`. */
int model_weights_command(const struct model_args *args);

#endif
