/*
 * study_tune.c - see study.h: the chunk size that this machine likes best.
 *
 * Sizes go up in powers of two from 64 rows. Each is measured ROUNDS times, the sizes in turn, so that a machine that slows
 * down for a while slows all of them; the best run of each counts, because noise only ever makes a run slower. A size that the
 * memory limit refuses ends the series.
 */
#include "base/mem.h"
#include "table/study_measure.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_ROWS = 64, MOST_CHUNK = 1 << 20, ROUNDS = 3 };
#define NEAR_ENOUGH 0.97

static int run_one(const struct study_settings *settings, uint64_t most_rows, struct study_tune_point *point,
		   uint64_t *rows, struct err *err)
{
	struct study_measured measured;
	int code = study_measure(settings, ENGINE_STREAMING, point->chunk_rows, most_rows, &measured, err);
	const struct engine_result *result = &measured.result;
	if (!code && result->wall_ns) {
		double rows_s = (double)result->rows * 1e9 / (double)result->wall_ns;
		point->worst_rows_s = point->runs ? fmin(point->worst_rows_s, rows_s) : rows_s;
		point->rows_s = fmax(point->rows_s, rows_s);
		point->runs++;
		if (result->memory_peak_bytes > point->memory_peak_bytes)
			point->memory_peak_bytes = result->memory_peak_bytes;
		*rows = result->rows;
	}
	engine_result_fini(&measured.result);
	return code;
}

static void choose(struct study_tune *tune)
{
	for (size_t i = 0; i < tune->points.len; i++)
		if (tune->points.items[i].rows_s > tune->points.items[tune->best].rows_s)
			tune->best = i;
	tune->advised = tune->best;
	for (size_t i = tune->best; i > 0; i--)
		if (tune->points.items[i - 1].rows_s >= NEAR_ENOUGH * tune->points.items[tune->best].rows_s)
			tune->advised = i - 1;
}

int study_tune_run(const struct study_settings *settings, uint64_t most_rows, const struct study_progress *progress,
		   struct study_tune *out, struct err *err)
{
	int code = 0;
	size_t done = 0;
	*out = (struct study_tune){0};
	for (size_t rows = LEAST_ROWS; rows <= MOST_CHUNK; rows *= 2)
		vec_add(&out->points)->chunk_rows = rows;
	for (int round = 0; round < ROUNDS && !code && !study_stopped(settings); round++)
		for (size_t i = 0; i < out->points.len && !code && !study_stopped(settings); i++) {
			if (progress->tell)
				progress->tell(progress->context, "chunk sizes", done++, ROUNDS * out->points.len);
			code = run_one(settings, most_rows, &out->points.items[i], &out->rows, err);
			/* Chunks beyond the table's size, or beyond the memory limit, are no new sizes. */
			if (code && code != ERR_INTERRUPTED && i > 0)
				out->points.len = i, code = 0;
			else if (!code && out->points.items[i].chunk_rows >= out->rows)
				out->points.len = i + 1;
		}
	while (out->points.len && !vec_last(&out->points)->runs)
		out->points.len--;
	if (out->points.len)
		choose(out);
	return code;
}

void study_tune_fini(struct study_tune *tune)
{
	vec_fini(&tune->points);
}
