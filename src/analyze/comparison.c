/* comparison.c - see comparison.h. */
#include "analyze/comparison.h"
#include "analyze/comparison_notes.h"
#include "base/mem.h"
#include "stats/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRUSTED_BLOCKS = 10 }; /* with fewer, an interval may be narrow by luck */

const char *comparison_stop_name(enum comparison_stop stop)
{
	static const char *const names[] = {
#define STOP_NAME(id, name, words) [STOP_##id] = name,
		STOP_LIST(STOP_NAME)
#undef STOP_NAME
	};
	return names[stop];
}

const char *comparison_stop_words(enum comparison_stop stop)
{
	static const char *const texts[] = {
#define STOP_WORDS(id, name, words) [STOP_##id] = words,
		STOP_LIST(STOP_WORDS)
#undef STOP_WORDS
	};
	return texts[stop];
}

void comparison_init(struct comparison *comparison, const struct comparison_settings *settings, const int *recorded,
		     size_t count, int primary)
{
	*comparison = (struct comparison){.settings = *settings};
	for (size_t i = 0; i < count; i++) {
		if (recorded[i] == primary)
			comparison->primary = i;
		vec_push(&comparison->metrics, recorded[i]);
	}
	rng_init(&comparison->rng, settings->seed);
}

static void series_fini(struct comparison_series *series)
{
	vec_fini(&series->values);
	free(series->outlier);
}

static void subject_fini(struct comparison_subject *subject)
{
	free(subject->label);
	free(subject->command);
	for (size_t i = 0; i < subject->params.len; i++) {
		free(subject->params.items[i].name);
		free(subject->params.items[i].value);
	}
	for (size_t i = 0; i < subject->runs.len; i++)
		free(subject->runs.items[i].run_file);
	for (size_t i = 0; i < subject->series.len; i++)
		series_fini(&subject->series.items[i]);
	vec_fini(&subject->params);
	vec_fini(&subject->runs);
	vec_fini(&subject->series);
}

void comparison_fini(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->subjects.len; i++)
		subject_fini(&comparison->subjects.items[i]);
	for (size_t i = 0; i < comparison->groups.len; i++)
		vec_fini(&comparison->groups.items[i].order);
	for (size_t i = 0; i < comparison->pairs.len; i++)
		vec_fini(&comparison->pairs.items[i].changes);
	for (size_t i = 0; i < comparison->notes.len; i++)
		free(comparison->notes.items[i].text);
	vec_fini(&comparison->subjects);
	vec_fini(&comparison->groups);
	vec_fini(&comparison->pairs);
	vec_fini(&comparison->notes);
	vec_fini(&comparison->metrics);
}

void comparison_add_group(struct comparison *comparison)
{
	struct comparison_group *group = vec_add(&comparison->groups);
	group->first = group->reference = comparison->subjects.len;
	group->half_width = NAN;
}

size_t comparison_add_subject(struct comparison *comparison, const char *label, const char *command)
{
	struct comparison_subject *subject = vec_add(&comparison->subjects);
	subject->label = mem_strdup(label);
	subject->command = mem_strdup(command);
	subject->group = comparison->groups.len - 1;
	for (size_t i = 0; i < comparison->metrics.len; i++)
		vec_add(&subject->series);
	vec_last(&comparison->groups)->count++;
	return comparison->subjects.len - 1;
}

void comparison_next_order(struct comparison *comparison, size_t group, size_t *order)
{
	const struct comparison_group *of = &comparison->groups.items[group];
	for (size_t i = 0; i < of->count; i++)
		order[i] = of->first + i;
	for (size_t i = of->count; i > 1; i--) {
		size_t other = (size_t)rng_below(&comparison->rng, i), kept = order[i - 1];
		order[i - 1] = order[other];
		order[other] = kept;
	}
}

void comparison_add_run(struct comparison *comparison, size_t subject, struct comparison_run *run, const double *values)
{
	struct comparison_subject *of = &comparison->subjects.items[subject];
	struct comparison_group *group = &comparison->groups.items[of->group];
	run->place = comparison->places++;
	run->block = of->runs.len;
	vec_push(&of->runs, *run);
	run->run_file = NULL;
	for (size_t i = 0; i < comparison->metrics.len; i++)
		vec_push(&of->series.items[i].values, values[i]);
	vec_push(&group->order, subject);
	group->blocks = of->runs.len;
	for (size_t i = group->first; i < group->first + group->count; i++)
		if (comparison->subjects.items[i].runs.len < group->blocks)
			group->blocks = comparison->subjects.items[i].runs.len;
}

size_t comparison_least_claim(const struct comparison *comparison)
{
	return compare_runs_needed(2 * comparison->settings.change.alpha, true);
}

size_t comparison_least_blocks(const struct comparison *comparison)
{
	size_t needed = comparison_least_claim(comparison);
	return needed > TRUSTED_BLOCKS ? needed : TRUSTED_BLOCKS;
}

/* ---- verdicts ---- */

static void decide(const struct comparison *comparison, const struct comparison_group *group, size_t subject,
		   size_t metric, struct change_result *out)
{
	const struct metric *about = &metrics[comparison->metrics.items[metric]];
	struct change_options options = comparison->settings.change;
	options.direction = about->direction;
	options.noise = about->noise;
	options.paired = true;
	const double *base = comparison->subjects.items[group->reference].series.items[metric].values.items;
	const double *new = comparison->subjects.items[subject].series.items[metric].values.items;
	change_decide(base, group->blocks, new, group->blocks, &options, out);
}

/* As a share of the ratio: that 1.42 is meant to ±2 % says 1.39 to 1.45. */
static double half_width(const struct change_result *result)
{
	if (isnan(result->low) || isnan(result->high))
		return INFINITY;
	return (result->high - result->low) / 2 / result->ratio;
}

void comparison_look(struct comparison *comparison, size_t number, struct change_result *results)
{
	struct comparison_group *group = &comparison->groups.items[number];
	size_t count = 0;
	double widest = 0;
	for (size_t i = group->first; i < group->first + group->count; i++) {
		if (i == group->reference)
			continue;
		decide(comparison, group, i, comparison->primary, &results[count]);
		widest = fmax(widest, half_width(&results[count++]));
	}
	group->half_width = count && isfinite(widest) ? widest : NAN;
	change_adjust(results, count, comparison->settings.change.alpha);
}

static void add_pairs(struct comparison *comparison, const struct comparison_group *group)
{
	for (size_t i = group->first; i < group->first + group->count; i++) {
		if (i == group->reference)
			continue;
		struct comparison_pair *pair = vec_add(&comparison->pairs);
		pair->reference = group->reference;
		pair->subject = i;
		for (size_t m = 0; m < comparison->metrics.len; m++)
			decide(comparison, group, i, m, vec_add(&pair->changes));
	}
}

static bool is_known(const struct comparison *comparison, size_t metric)
{
	for (size_t i = 0; i < comparison->subjects.len; i++) {
		const struct comparison_series *series = &comparison->subjects.items[i].series.items[metric];
		for (size_t k = 0; k < series->values.len; k++)
			if (isnan(series->values.items[k]))
				return false;
	}
	return true;
}

/* A metric that was not known in every run would compare unlike with unlike. The primary one was checked before. */
static void drop_unknown(struct comparison *comparison)
{
	for (size_t m = comparison->metrics.len; m-- > 0;) {
		if (m == comparison->primary || is_known(comparison, m))
			continue;
		size_t after = --comparison->metrics.len - m;
		memmove(&comparison->metrics.items[m], &comparison->metrics.items[m + 1],
			after * sizeof(comparison->metrics.items[0]));
		comparison->primary -= comparison->primary > m;
		for (size_t i = 0; i < comparison->subjects.len; i++) {
			struct comparison_subject *subject = &comparison->subjects.items[i];
			series_fini(&subject->series.items[m]);
			subject->series.len--;
			memmove(&subject->series.items[m], &subject->series.items[m + 1],
				after * sizeof(subject->series.items[0]));
		}
	}
}

/* The primary metric of all pairs is one family of questions, everything else another. */
static void adjust(struct comparison *comparison)
{
	VEC(struct change_result) families[2] = {0};
	for (int store = 0; store < 2; store++) {
		size_t at[2] = {0};
		for (size_t i = 0; i < comparison->pairs.len; i++)
			for (size_t m = 0; m < comparison->metrics.len; m++) {
				struct change_result *one = &comparison->pairs.items[i].changes.items[m];
				int family = m != comparison->primary;
				if (store)
					*one = families[family].items[at[family]++];
				else
					vec_push(&families[family], *one);
			}
		for (int f = 0; f < 2 && !store; f++)
			change_adjust(families[f].items, families[f].len, comparison->settings.change.alpha);
	}
	vec_fini(&families[0]);
	vec_fini(&families[1]);
}

/* Of the metric that decides; it costs too much to do for all. */
static void bootstrap_medians(struct comparison *comparison, struct comparison_pair *pair)
{
	size_t blocks = comparison->groups.items[comparison->subjects.items[pair->subject].group].blocks;
	size_t m = comparison->primary;
	struct bootstrap how = {.method = INTERVAL_PERCENTILE,
				.level = 1 - 2 * comparison->settings.change.alpha,
				.draws = blocks > 100 ? 2000 : 0,
				.seed = comparison->settings.seed};
	interval_ratio_paired(comparison->subjects.items[pair->reference].series.items[m].values.items,
			      comparison->subjects.items[pair->subject].series.items[m].values.items, blocks,
			      statistic_median, NULL, &how, &pair->medians);
}

static void describe_series(struct comparison_series *series, uint64_t seed, bool deeply)
{
	const double *values = series->values.items;
	size_t n = series->values.len;
	describe(values, n, &series->about);
	interval_mean(values, n, 0.95, &series->mean);
	interval_median(values, n, 0.95, &series->median);
	series->outlier = mem_alloc((n + 1) * sizeof(bool));
	series->slow_start.p = series->drift.p = series->modes.p = NAN;
	if (n == 0)
		return;
	series->outliers = series_outliers(values, n, series->outlier);
	if (!deeply)
		return;
	series_slow_start(values, n, &series->slow_start);
	series_drift(values, n, &series->drift);
	series_two_modes(values, n, seed, &series->modes);
}

void comparison_conclude(struct comparison *comparison)
{
	drop_unknown(comparison);
	for (size_t i = 0; i < comparison->subjects.len; i++)
		for (size_t m = 0; m < comparison->metrics.len; m++)
			describe_series(&comparison->subjects.items[i].series.items[m], comparison->settings.seed,
					m == comparison->primary);
	for (size_t i = 0; i < comparison->groups.len; i++)
		add_pairs(comparison, &comparison->groups.items[i]);
	adjust(comparison);
	for (size_t i = 0; i < comparison->pairs.len; i++)
		bootstrap_medians(comparison, &comparison->pairs.items[i]);
	comparison_find_notes(comparison);
}

const struct change_result *comparison_primary(const struct comparison *comparison, const struct comparison_pair *pair)
{
	return &pair->changes.items[comparison->primary];
}
