/*
 * comparison_notes.c - see comparison_notes.h.
 *
 * The limits are such that a quiet machine with a plain program gets no note at all.
 */
#include "analyze/comparison_notes.h"
#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const double STEAL_SHARE = 0.02;   /* of one core */
static const double OTHERS_CORES = 0.5;   /* busy with something else */
static const double SLOW_START_P = 0.001; /* one look per subject, and it is only a hint */
static const double SLOW_START_RATIO = 1.1;
static const double DRIFT_P = 0.001, DRIFT_TAU = 0.3;
static const double MODES_P = 0.01, MODES_GAP = 1.1;
static const double OUTLIER_SHARE = 0.05;

void comparison_note(struct comparison *comparison, size_t subject, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&comparison->notes, ((struct comparison_note){subject, mem_strdup(text)}));
}

/* True where the host is noisy: that explains outliers and the like, which are then not told one by one. */
static bool note_host(struct comparison *comparison)
{
	const struct comparison_host *host = &comparison->host;
	if (!host->known || host->elapsed_s <= 0)
		return false;
	double steal = host->steal_s / host->elapsed_s;
	double others = (host->busy_s - host->own_s) / host->elapsed_s;
	if (steal > STEAL_SHARE)
		comparison_note(
			comparison, SIZE_MAX,
			"noisy host: the hypervisor kept %.0f %% of a core from this machine; do not trust small "
			"differences",
			100 * steal);
	if (others > OTHERS_CORES)
		comparison_note(comparison, SIZE_MAX,
				"noisy host: other programs used %.1f of its %d cores meanwhile; do not trust small "
				"differences",
				others, host->cpus);
	return steal > STEAL_SHARE || others > OTHERS_CORES;
}

static void note_order(struct comparison *comparison, size_t number, const struct comparison_series *series)
{
	const struct slow_start *start = &series->slow_start;
	const struct drift *drift = &series->drift;
	if (start->p < SLOW_START_P && start->ratio > SLOW_START_RATIO)
		comparison_note(
			comparison, number,
			"its first %s %.0f %% above the rest: a cache that was cold? --warmup %zu would leave it out",
			start->runs == 1   ? "run was"
			: start->runs == 2 ? "2 runs were"
					   : "3 runs were",
			100 * (start->ratio - 1), comparison->settings.warmup + start->runs);
	else if (drift->p < DRIFT_P && fabs(drift->tau) > DRIFT_TAU)
		comparison_note(
			comparison, number,
			"it went %s while the comparison ran (Kendall's tau %.2f); the order was random, so the "
			"ratio holds",
			drift->tau > 0 ? "up" : "down", drift->tau);
}

static void note_spread(struct comparison *comparison, size_t number, const struct comparison_series *series)
{
	const struct two_modes *modes = &series->modes;
	if (modes->p < MODES_P && modes->low > 0 && modes->high / modes->low > MODES_GAP)
		comparison_note(comparison, number,
				"its runs fall into two groups, one %.0f %% above the other with %.0f %% of them",
				100 * (modes->high / modes->low - 1), 100 * modes->share_above);
	else if ((double)series->outliers > OUTLIER_SHARE * (double)series->values.len && series->outliers > 1)
		comparison_note(comparison, number,
				"%zu of %zu runs are outliers (the largest %.2f times the median); kept",
				series->outliers, series->values.len, series->about.max / series->about.median);
}

static void note_runs(struct comparison *comparison, size_t number, const struct comparison_subject *subject)
{
	if (subject->failures)
		comparison_note(comparison, number, "%zu of %zu runs failed and count all the same (--ignore-failure)",
				subject->failures, subject->runs.len);
	if (subject->lingering)
		comparison_note(
			comparison, number,
			"%zu of %zu runs went on after their main process had ended; the time is until the last one "
			"had",
			subject->lingering, subject->runs.len);
}

static void note_floor(struct comparison *comparison, size_t number, const struct comparison_subject *subject)
{
	for (size_t m = 0; m < comparison->metrics.len; m++) {
		const struct comparison_series *series = &subject->series.items[m];
		if (comparison->metrics.items[m] == METRIC_RSS_PROCESS_PEAK && series->values.len &&
		    series->about.max <= comparison->memory_floor_bytes)
			comparison_note(
				comparison, number,
				"its peak memory is at most %.0f KiB: below the size of the process that starts it, "
				"so it is not known any closer",
				comparison->memory_floor_bytes / 1024);
	}
}

void comparison_find_notes(struct comparison *comparison)
{
	bool noisy = note_host(comparison);
	for (size_t i = 0; i < comparison->subjects.len; i++) {
		const struct comparison_subject *subject = &comparison->subjects.items[i];
		const struct comparison_series *series = &subject->series.items[comparison->primary];
		note_runs(comparison, i, subject);
		if (!noisy) {
			note_order(comparison, i, series);
			note_spread(comparison, i, series);
		}
		note_floor(comparison, i, subject);
	}
}
