/* features_words.c - see features.h: what the report and the page both need to know. */
#include "base/mem.h"
#include "render/features.h"
#include "stats/order.h"

#include <math.h>

const struct study_run *features_main_run(const struct features_view *view)
{
	if (view->batch && !view->batch->code)
		return view->batch;
	if (view->streaming && view->streaming->ran)
		return view->streaming;
	return view->batch && view->batch->ran ? view->batch : NULL;
}

static uint64_t note_ns(const struct chunk_note *note, int index)
{
	return index < ENGINE_OPERATOR_COUNT ? note->operator_ns[index] : note->read_ns;
}

static void put_counts(const struct pmu_tally *tally, struct features_operator *out)
{
	for (int event = 0; event < PMU_THREAD_EVENT_COUNT; event++)
		out->counts[event] = pmu_tally_value(tally, (enum pmu_thread_event)event);
	out->counts_coverage = pmu_tally_coverage(tally);
}

void features_operators(const struct study_run *run, struct features_operator out[FEATURES_OPERATORS])
{
	const struct engine_result *result = &run->result;
	double *times = mem_alloc((run->chunks->count + 1) * sizeof(*times)), all = 0;
	for (int i = 0; i < FEATURES_OPERATORS; i++) {
		bool reading = i == ENGINE_OPERATOR_COUNT;
		out[i].name = reading ? "read" : engine_operator_name((enum engine_operator)i);
		out[i].total_s = (double)(reading ? result->read_ns : result->operator_ns[i]) / 1e9;
		all += out[i].total_s;
		put_counts(reading ? &result->read_counts : &result->operator_counts[i], &out[i]);
		for (size_t k = 0; k < run->chunks->count; k++)
			times[k] = (double)note_ns(&run->chunks->notes[k], i) / 1e9;
		order_sort(times, run->chunks->count);
		out[i].median_s = order_quantile(times, run->chunks->count, 0.5);
		out[i].p95_s = order_quantile(times, run->chunks->count, 0.95);
	}
	for (int i = 0; i < FEATURES_OPERATORS; i++)
		out[i].share = all > 0 ? out[i].total_s / all : NAN;
	free(times);
}

void features_chunk_latency(const struct study_run *run, double *mean_s, double *median_s, double *p95_s)
{
	const struct chunk_sample *chunks = run->chunks;
	double *times = mem_alloc((chunks->count + 1) * sizeof(*times));
	for (size_t i = 0; i < chunks->count; i++)
		times[i] = (double)chunks->notes[i].latency_ns / 1e9;
	order_sort(times, chunks->count);
	*mean_s = chunks->seen ? (double)chunks->latency_ns / (double)chunks->seen / 1e9 : NAN;
	*median_s = order_quantile(times, chunks->count, 0.5);
	*p95_s = order_quantile(times, chunks->count, 0.95);
	free(times);
}

char features_letter(size_t place)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	return letters[place % (sizeof(letters) - 1)];
}
