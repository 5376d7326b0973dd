/*
 * engine.h - the tabular engine: from a CSV input and a recipe to features and a model, in batch or in streaming.
 *
 *	struct recipe *recipe;  recipe_load(...) or recipe_new()
 *	engine_open(path, recipe, &settings, &engine, err)   opens the input, infers what the recipe leaves open, makes the plan
 *	engine_run(engine, ENGINE_STREAMING, &watcher, &result, err)
 *	engine_result_fini(&result); engine_close(engine); recipe_free(recipe);
 *
 * A run reads its input once, so an engine runs once; another run is another engine_open.
 *
 * Streaming: the watcher's `chunk` is called once per chunk (once per part of a chunk that had to be split), in order, on the
 * calling thread, with everything that is known of it; all pointers are borrowed and end with the call. Memory does not grow with
 * the number of rows. Rows are read, split and cleaned by several threads; what depends on earlier rows is done in order, so the
 * result does not depend on the number of threads.
 * Batch: the whole table at once; `chunk` is called once, with all rows, and the frame holds the whole table.
 *
 * Statistics in streaming are running ones: fill values, z-scores, group statistics, correlations, scaling and dictionaries are those of
 * all rows so far, the chunk's own included. With `per_chunk` they are those of the chunk alone, and so are the dropped columns and
 * the order of categories. Rolling windows go over chunk borders in both.
 *
 * The limit of memory is on the engine's own account (memory.h), which every buffer that grows with the input is part of. The
 * process has a constant besides: its code, libraries and stacks.
 */
#ifndef PITOT_TABLE_ENGINE_H
#define PITOT_TABLE_ENGINE_H

#include "probe/pmu_thread.h"
#include "table/column.h"
#include "table/recipe.h"

enum engine_mode { ENGINE_BATCH, ENGINE_STREAMING };

/* In the order in which a chunk passes them. */
#define ENGINE_OPERATORS(X)                                                                                            \
	X(PREPROCESS, "preprocess")                                                                                    \
	X(FEATURE_ENGINEERING, "feature_engineering")                                                                  \
	X(FEATURE_SELECTION, "feature_selection")                                                                      \
	X(ENCODE_SCALE, "encode_scale")                                                                                \
	X(MODEL_UPDATE, "model_update")

enum engine_operator {
#define ENGINE_OPERATOR_ID(id, name) ENGINE_##id,
	ENGINE_OPERATORS(ENGINE_OPERATOR_ID)
#undef ENGINE_OPERATOR_ID
		ENGINE_OPERATOR_COUNT
};

const char *engine_operator_name(enum engine_operator op);

struct engine_settings {
	size_t chunk_rows;       /* streaming; 0: 128 */
	size_t batch_rows;       /* batch takes the first so many; 0: all */
	unsigned threads;        /* that work at a time, the caller's included; 0: one */
	size_t max_memory_bytes; /* 0: no limit */
	double max_compute;      /* part of the machine's CPUs, above 0 and below 1; else no limit */
	bool per_chunk;
	bool count; /* hardware counters per operator, where there are any: a read of them at each border */
	const char
		*spill_dir; /* where a chunk goes that does not fit after three halvings, or NULL: that is an error */
	size_t dictionary_cap; /* distinct values of a text column in streaming; 0: 65536 */
	uint64_t seed;         /* chooses the held-out rows of batch */
	csv_watch_fn *watch;   /* sees the file's bytes, or NULL */
	void *watch_context;
	const char *name; /* of the input in messages, where it is read from a copy; or NULL */
	const atomic_int *
		stop; /* once this is not 0 a stream ends after its chunk, a batch at once, with ERR_INTERRUPTED; or NULL */
};

/*
 * The encoded rows, sparse: a block is a scaled number column (`numbers`) or a text column of which each row has at most one 1,
 * in the block's column `codes[row]`. A code of `width` or above is none: all zero. Blocks stand in the order of the columns of
 * the dense matrix: first the numbers, then the texts, each in the frame's order.
 */
struct matrix_block {
	const struct column *column;
	size_t first; /* dense column at which it begins */
	size_t width; /* 1 for numbers */
	const double *numbers;
	double mean, sd; /* by which they were scaled */
	const uint32_t *codes;
	const uint32_t *order; /* dictionary code of each of the `width` columns */
	bool model_input; /* false: in the matrix, but kept from the model, because the row's own target went into it */
};

struct matrix {
	size_t rows;
	size_t width; /* dense columns */
	struct matrix_block *blocks;
	size_t count;
};

/* Appends `column`, or `column__value`: the name of dense column `index`. */
void matrix_name(const struct matrix *matrix, size_t index, struct str *out);
/* Writes a row densely; `row_out` has `width` places. */
void matrix_row(const struct matrix *matrix, size_t row, double *row_out);

struct engine_chunk {
	size_t id;      /* from 0 */
	unsigned part;  /* of a chunk that was split, from 0; else 0 */
	bool last_part; /* where the input ends right behind a part, no part has it */
	size_t rows;
	uint64_t first_row;
	uint64_t input_bytes; /* of CSV text */
	uint64_t start_ns;    /* monotonic clock: when the first of its operators in order began */
	uint64_t latency_ns;  /* from then to the end of the last operator, with waiting for its rows */
	uint64_t read_ns;     /* time to read and split its rows, summed over threads */
	uint64_t operator_ns[ENGINE_OPERATOR_COUNT]; /* summed over threads: may add up to more than the latency */
	uint64_t operator_start_ns[ENGINE_OPERATOR_COUNT]; /* of the part that runs in order, on the monotonic clock */
	uint64_t operator_order_ns[ENGINE_OPERATOR_COUNT]; /* of that part: these never overlap */
	/* Counted in the threads that did the work; without a value where nothing was counted. */
	struct pmu_tally read_counts, operator_counts[ENGINE_OPERATOR_COUNT];
	size_t memory_before_bytes, memory_after_bytes, memory_peak_bytes; /* of the engine's account */
	bool memory_exceeded;   /* it would have gone over the limit and was split */
	unsigned retries;       /* halvings */
	const char *spill_path; /* or NULL */
	const struct frame *frame;
	const struct matrix *matrix;
	const double *target;       /* or NULL: the recipe has none */
	const double *predictions;  /* made before the rows were learned from; NULL where there is no model yet */
	const char *const *dropped; /* by selection, in the frame's order */
	size_t dropped_count;
	/* So far: */
	uint64_t rows_done, file_bytes_done;
};

struct engine_watcher {
	/* A value other than 0 ends the run with that code; the callee sets `err`. May be NULL. */
	int (*chunk)(void *context, const struct engine_chunk *chunk, struct err *err);
	void *context;
};

struct engine_weight {
	char *name;    /* dense column, or "(intercept)" */
	double weight; /* per unit of the encoded column, in units of the target */
};

/* Owned strings and arrays; engine_result_fini frees them. Filled also where the run was interrupted. */
struct engine_result {
	uint64_t rows, chunks, splits, spills;
	size_t columns; /* of the input */
	struct csv_counts input;
	uint64_t wall_ns, cpu_ns; /* of the run, the opening excluded */
	uint64_t read_ns, operator_ns[ENGINE_OPERATOR_COUNT];
	struct pmu_tally read_counts, operator_counts[ENGINE_OPERATOR_COUNT];
	const char *counts_source; /* NULL: nothing was counted */
	char *counts_reason;       /* why nothing was, or not all of it; else NULL */
	size_t memory_peak_bytes;
	VEC(char *) dropped;      /* by selection, in the frame's order; streaming: at the end */
	VEC(char *) kept_numbers; /* number columns that stayed, the target included */
	VEC(char *) features;     /* names of the dense columns; streaming: at the end */
	struct {
		bool known;    /* false: no target, or too few rows */
		uint64_t rows; /* that were predicted before they were learned from, or held out */
		double r2, rmse, mae;
		const char *method; /* "prequential SGD", "least squares, held-out rows" */
		VEC(struct engine_weight) weights;
	} model;
	VEC(char *) warnings; /* target leakage, padded rows, unparsed cells, values beyond the dictionary, … */
};

struct engine;

/* `recipe` is borrowed until engine_close, and what it left open is filled in. ERR_INPUT where recipe and table do not fit. */
int engine_open(const char *path, struct recipe *recipe, const struct engine_settings *settings, struct engine **out,
		struct err *err);
int engine_run(struct engine *engine, enum engine_mode mode, const struct engine_watcher *watcher,
	       struct engine_result *out, struct err *err);
void engine_close(struct engine *engine);
void engine_result_fini(struct engine_result *result);

uint64_t engine_file_size(const struct engine *engine); /* 0: unknown */
/* Bytes that a row takes while its chunk is worked on, as planned: what chunk sizes can be chosen by. */
size_t engine_row_bytes(const struct engine *engine);

#endif
