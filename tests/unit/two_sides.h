/*
 * two_sides.h - runs made by hand for the tests of diff and gate: what is asked for, with seeded noise.
 */
#ifndef PITOT_TESTS_TWO_SIDES_H
#define PITOT_TESTS_TWO_SIDES_H

#include "analyze/gate.h"
#include "sample_run.h"
#include "stats/rng.h"

#include <math.h>
#include <string.h>

enum { MOST_RUNS = 8 };

struct two_sides {
	struct run_record *runs[2][MOST_RUNS];
	size_t counts[2];
	struct diff diff;
	struct rng rng;
};

/* A run of `repeat` repetitions of the stages "load" (1 s) and "train" (10 s times `factor`), noise 3 %. */
static inline struct run_record *noisy_run(struct two_sides *two, int repeat, double factor)
{
	struct run_record *record = sample_run("churn");
	record->row.repeat = repeat;
	for (int i = 0; i < repeat; i++) {
		double start = i * 30.0, load = 1 + 0.03 * rng_normal(&two->rng);
		double train = 10 * factor * (1 + 0.03 * rng_normal(&two->rng));
		sample_stage(record, "load", 0, i, start, load, load);
		sample_stage(record, "train", 1, i, start + load, train, train);
		for (size_t k = record->stages.len - 2; k < record->stages.len; k++)
			metric_set(&record->stages.items[k].values[METRIC_IO_READ], 4096, METHOD_EXACT, "io");
	}
	return record;
}

static inline void two_sides_init(struct two_sides *two)
{
	*two = (struct two_sides){0};
	rng_init(&two->rng, 7);
}

static inline struct run_record *two_sides_add(struct two_sides *two, int side, struct run_record *record)
{
	two->runs[side][two->counts[side]++] = record;
	return record;
}

static inline void two_sides_compare(struct two_sides *two, const struct diff_options *options)
{
	diff_compute((const struct run_record *const *)two->runs[0], two->counts[0],
		     (const struct run_record *const *)two->runs[1], two->counts[1], options ? options : &diff_defaults,
		     &two->diff);
}

static inline void two_sides_fini(struct two_sides *two)
{
	diff_fini(&two->diff);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < two->counts[side]; i++)
			run_record_free(two->runs[side][i]);
}

/* Two single runs of `repeat` repetitions each, B's train slower by `factor`; compared. */
static inline void two_sides_of(struct two_sides *two, int repeat, double factor)
{
	two_sides_init(two);
	two_sides_add(two, 0, noisy_run(two, repeat, 1));
	two_sides_add(two, 1, noisy_run(two, repeat, factor));
	two_sides_compare(two, NULL);
}

static inline const struct diff_row *row_of(const struct diff *diff, const char *table, const char *name)
{
	for (size_t i = 0; i < diff->tables.len; i++)
		for (size_t k = 0; k < diff->tables.items[i].rows.len; k++)
			if (strcmp(diff->tables.items[i].name, table) == 0 &&
			    strcmp(diff->tables.items[i].rows.items[k].name, name) == 0)
				return &diff->tables.items[i].rows.items[k];
	return NULL;
}

static inline const char *warning_of(const struct diff *diff, const char *kind)
{
	for (size_t i = 0; i < diff->warnings.len; i++)
		if (strcmp(diff->warnings.items[i].kind, kind) == 0)
			return diff->warnings.items[i].text;
	return NULL;
}

#endif
