/*
 * engine_inside.h - what engine.c (opening, results) and engine_run.c (the loop over chunks) share.
 */
#ifndef PITOT_TABLE_ENGINE_INSIDE_H
#define PITOT_TABLE_ENGINE_INSIDE_H

#include "table/chunk.h"
#include "table/encode.h"
#include "table/engine.h"
#include "table/linear.h"
#include "table/pick.h"

struct engine {
	struct recipe *recipe;
	struct engine_settings settings;
	char *spill_dir;
	struct memory memory;
	struct csv *csv;
	struct csv_block *first; /* split already; the run takes it */
	struct plan *plan;
	uint64_t likely_rows; /* by the size of the file and its first rows; 0: unknown */
	bool ran;
};

struct engine_work {
	struct engine *engine;
	enum engine_mode mode;
	const struct engine_watcher *watcher;
	struct engine_result *result;
	struct chunk chunk;
	struct pick pick;
	size_t *compared; /* columns of the frame that `pick` has, in its order; the target last */
	const double **compared_numbers;
	struct encode encode;
	bool *dropped;         /* by column of the frame */
	struct moments *known; /* by column of the frame */
	const char **dropped_names;
	size_t dropped_count;
	struct linear_online online;
	struct linear_batch batch;
	bool batch_known;
	double *predictions;
	size_t prediction_room;
	struct crew *crew;
	struct pmu_thread *pmu; /* of the thread that calls; NULL: nothing is counted */
	struct piece *piece;    /* rows left over from it, or NULL */
	bool ended;
	bool spilling;          /* the chunk did not fit after all retries */
	struct engine_chunk at; /* as the watcher sees it */
	uint64_t *unparsed;     /* by column, over all chunks */
	uint64_t start_ns, start_cpu_ns;
	size_t peak_bytes;
};

/* Fills in what is known at the end, or when the run was interrupted. */
void engine_finish(struct engine_work *work);
/* Opens the hardware counters where they are asked for; the result says where there are none. */
void engine_start_counts(struct engine_work *work);
/* A chunk that is processed in parts because it does not fit: its rows, as they are after feature engineering, to a file. */
int engine_spill(struct engine_work *work, struct err *err);
/* Sleeps as long as the CPU time that was used is more than the part of the machine that is allowed. */
void engine_throttle(const struct engine_work *work);
uint64_t engine_cpu_ns(void);

#endif
