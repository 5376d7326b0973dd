/*
 * limit.h - the constraint experiment of `pitot features` as plain structs, on its way into the run file and back.
 *
 * A trial that failed has its words in `failure` and NaN for what was not measured. Text is owned.
 */
#ifndef PITOT_STORE_LIMIT_H
#define PITOT_STORE_LIMIT_H

#include "base/vec.h"
#include "store/store.h"

struct limit_trial {
	double chunk_asked, compute_limit;
	uint64_t memory_limit_bytes;
	uint64_t chunk_rows; /* that were asked for, scaled by the limits */
	uint64_t rows;
	double latency_s, rows_per_s, chunk_latency_s, memory_peak_bytes;
	double r2, rmse; /* NaN: no model */
	bool pareto;     /* no other trial is at least as good in everything and better in something */
	char *failure;   /* NULL: it ran to its end */
};

struct limit_trials {
	VEC(struct limit_trial) items;
};

int store_limit_trial(struct store *store, const struct limit_trial *trial, struct err *err);
/* In the order in which they were tried; none where the run has no such experiment. */
int store_limits_load(const char *path, struct limit_trials *out, struct err *err);
void limit_trials_fini(struct limit_trials *trials);

#endif
