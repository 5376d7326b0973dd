/*
 * study_constraint.c - see study.h: every combination of chunk size, memory limit and compute limit, each measured once, and
 * which of them nothing beats.
 */
#include "base/mem.h"
#include "stats/pareto.h"
#include "table/sizes.h"
#include "table/study_measure.h"

#include <math.h>
#include <stdlib.h>

static int run_one(const struct study_settings *settings, struct study_constraint *item, uint64_t most_rows,
		   struct err *err)
{
	struct study_settings limited = *settings;
	struct study_measured measured;
	limited.max_memory_mb = item->memory_mb;
	limited.max_compute = item->compute;
	item->chunk_rows =
		sizes_rows((size_t)item->chunk_asked, sizes_scale(item->memory_mb, item->compute), most_rows);
	item->latency_s = item->rows_s = item->chunk_latency_s = item->r2 = item->rmse = NAN;
	int code = study_measure(&limited, ENGINE_STREAMING, item->chunk_rows, most_rows, &measured, err);
	const struct engine_result *result = &measured.result;
	if (code)
		item->failure = mem_strdup(err->text);
	item->known = !code && result->wall_ns;
	if (item->known) {
		item->rows = result->rows;
		item->latency_s = (double)result->wall_ns / 1e9;
		item->rows_s = (double)result->rows / item->latency_s;
		item->chunk_latency_s = measured.chunk_latency_s;
		item->memory_peak_bytes = result->memory_peak_bytes;
		item->r2 = result->model.known ? result->model.r2 : NAN;
		item->rmse = result->model.known ? result->model.rmse : NAN;
	}
	engine_result_fini(&measured.result);
	return code == ERR_INTERRUPTED ? code : 0;
}

enum { OBJECTIVES = 4 };

/* Where there is no model its quality is the same everywhere. */
static void find_front(struct study_constraints *constraints)
{
	static const bool higher[OBJECTIVES] = {true, false, false, true};
	size_t count = constraints->items.len;
	double *values = mem_alloc((count * OBJECTIVES + 1) * sizeof(*values));
	bool *front = mem_alloc(count + 1);
	for (size_t i = 0; i < count; i++) {
		const struct study_constraint *item = &constraints->items.items[i];
		double *row = values + i * OBJECTIVES;
		row[0] = item->rows_s;
		row[1] = item->chunk_latency_s;
		row[2] = item->known ? (double)item->memory_peak_bytes : NAN;
		row[3] = item->known && isnan(item->r2) ? 0 : item->r2;
	}
	pareto_front(values, count, higher, OBJECTIVES, front);
	for (size_t i = 0; i < count; i++)
		constraints->items.items[i].pareto = front[i];
	free(values);
	free(front);
}

static void add_combinations(const struct study_sizes *chunks, const struct study_sizes *memories,
			     const struct study_sizes *computes, struct study_constraints *out)
{
	for (size_t c = 0; c < chunks->items.len; c++)
		for (size_t m = 0; m < memories->items.len; m++)
			for (size_t u = 0; u < computes->items.len; u++) {
				struct study_constraint *item = vec_add(&out->items);
				item->chunk_asked = chunks->items.items[c];
				item->memory_mb = memories->items.items[m];
				item->compute = computes->items.items[u];
			}
}

int study_constraints_run(const struct study_settings *settings, const struct study_sizes *chunks,
			  const struct study_sizes *memories, const struct study_sizes *computes, uint64_t most_rows,
			  const struct study_progress *progress, struct study_constraints *out, struct err *err)
{
	size_t done = 0;
	int code = 0;
	*out = (struct study_constraints){.most_rows = most_rows};
	add_combinations(chunks, memories, computes, out);
	for (; done < out->items.len && !code && !study_stopped(settings); done++) {
		if (progress->tell)
			progress->tell(progress->context, "limits", done, out->items.len);
		code = run_one(settings, &out->items.items[done], most_rows, err);
	}
	/* What was not reached is not in the table. */
	size_t kept = code && done ? done - 1 : done;
	for (size_t i = kept; i < out->items.len; i++)
		free(out->items.items[i].failure);
	out->items.len = kept;
	find_front(out);
	return code;
}

void study_constraints_fini(struct study_constraints *constraints)
{
	for (size_t i = 0; i < constraints->items.len; i++)
		free(constraints->items.items[i].failure);
	vec_fini(&constraints->items);
}
