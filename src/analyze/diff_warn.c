/*
 * diff_warn.c - see diff_warn.h.
 *
 * A warning never changes a verdict: it says what the verdict may owe to something else than the program. The limits for
 * disturbance are low on purpose: 2 % of the cores' time stolen is as large as the effects that people look for.
 */
#include "analyze/diff_warn.h"
#include "base/str.h"
#include "stats/compare.h"
#include "stats/series.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 3 }; /* differences that are spelled out */

static const double STEAL_SHARE = 0.02, OTHERS_SHARE = 0.15, SURPRISING = 0.01;
static const char *const side_names[2] = {"A", "B"};

__attribute__((format(printf, 3, 4))) static void warn(struct diff *diff, const char *kind, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	struct diff_warning *warning = vec_add(&diff->warnings);
	*warning = (struct diff_warning){kind, mem_strdup(text)};
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* ---- what the runs were ---- */

typedef const char *run_text_fn(const struct run_record *run);

static const char *fingerprint_of(const struct run_record *run)
{
	return run->row.fingerprint;
}

static const char *version_of(const struct run_record *run)
{
	return run->row.pitot_version;
}

static const char *name_of(const struct run_record *run)
{
	return run->row.name;
}

static const char *config_of(const struct run_record *run)
{
	return run->row.config_text;
}

/* The first run, of either side, that differs from the very first; NULL where all are alike. */
static const struct run_record *first_other(const struct diff *diff, run_text_fn *text)
{
	const struct run_record *first = diff->sides[0].runs.items[0];
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].runs.len; i++)
			if (!same_text(text(first), text(diff->sides[side].runs.items[i])))
				return diff->sides[side].runs.items[i];
	return NULL;
}

static const struct name_value *find_pair(const struct name_value *items, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].name && strcmp(items[i].name, name) == 0)
			return &items[i];
	return NULL;
}

static void list_pair(struct str *out, size_t *count, const struct name_value *a, const struct name_value *b)
{
	if (++*count <= NAMED)
		str_appendf(out, "%s%s (%.40s against %.40s)", *count > 1 ? ", " : "", a ? a->name : b->name,
			    a && a->value ? a->value : "unset", b && b->value ? b->value : "unset");
}

/* Values that differ, and names that only one has where `both_ways`. */
static size_t list_differences(const struct name_value *a, size_t a_count, const struct name_value *b, size_t b_count,
			       bool both_ways, struct str *out)
{
	size_t count = 0;
	for (size_t i = 0; i < a_count; i++) {
		const struct name_value *other = a[i].name ? find_pair(b, b_count, a[i].name) : NULL;
		if (a[i].name && (other ? !same_text(a[i].value, other->value) : both_ways))
			list_pair(out, &count, &a[i], other);
	}
	for (size_t i = 0; both_ways && i < b_count; i++)
		if (b[i].name && !find_pair(a, a_count, b[i].name))
			list_pair(out, &count, NULL, &b[i]);
	if (count > NAMED)
		str_appendf(out, " and %zu more", count - NAMED);
	return count;
}

static void warn_host(struct diff *diff)
{
	const struct run_record *first = diff->sides[0].runs.items[0], *other = first_other(diff, fingerprint_of);
	struct str words = {0};
	if (!other)
		return;
	list_differences(first->host.items, first->host.len, other->host.items, other->host.len, false, &words);
	warn(diff, "host", "the runs were made on different machines, or one that was changed%s%s",
	     words.len ? ": " : "", str_text(&words));
	str_fini(&words);
}

static void warn_params(struct diff *diff)
{
	const struct run_record *first = diff->sides[0].runs.items[0];
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].runs.len; i++) {
			const struct run_record *run = diff->sides[side].runs.items[i];
			struct str words = {0};
			size_t count = list_differences(first->params.items, first->params.len, run->params.items,
							run->params.len, true, &words);
			if (count)
				warn(diff, "params", "the parameters differ: %s", str_text(&words));
			str_fini(&words);
			if (count)
				return;
		}
}

static void warn_settings(struct diff *diff)
{
	const struct run_record *first = diff->sides[0].runs.items[0], *other = first_other(diff, version_of);
	if (other)
		warn(diff, "version", "the runs were made by different versions of pitot: %s and %s",
		     first->row.pitot_version ? first->row.pitot_version : "unknown",
		     other->row.pitot_version ? other->row.pitot_version : "unknown");
	other = first_other(diff, name_of);
	if (other)
		warn(diff, "name", "the runs are of different pipelines: %s and %s",
		     first->row.name ? first->row.name : "", other->row.name ? other->row.name : "");
	if (first_other(diff, config_of))
		warn(diff, "config", "the pipeline files differ");
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].runs.len; i++) {
			const struct run_row *row = &diff->sides[side].runs.items[i]->row;
			if (row->jobs == first->row.jobs)
				continue;
			warn(diff, "jobs", "the runs were made with different --jobs: %d and %d", first->row.jobs,
			     row->jobs);
			return;
		}
}

/* ---- how they went ---- */

static void warn_status(struct diff *diff, int at)
{
	const struct side *side = &diff->sides[at];
	const struct side_part *run = &side->run;
	for (size_t i = 0; i < side->runs.len; i++)
		if (side->runs.items[i]->live)
			warn(diff, "live", "a run of %s is still going: %s", side_names[at],
			     side->runs.items[i]->row.name ? side->runs.items[i]->row.name : "");
	if (run->failed && run->repetitions)
		warn(diff, "status", "%zu of %zu repetitions of %s did not end well and are left out (%s)", run->failed,
		     run->repetitions, side_names[at], run->why ? run->why : status_name(run->status));
	else if (run->failed)
		warn(diff, "status", "no stage of %s counts: the run was %s", side_names[at], status_name(run->status));
	else if (run->repetitions == 0 && side->runs.len)
		warn(diff, "status", "%s has no repetition that counts: only warm-ups ran, or nothing", side_names[at]);
}

static double sum_of(const struct side_values *side)
{
	double sum = 0;
	for (size_t i = 0; i < side->values.len; i++)
		sum += side->values.items[i];
	return sum;
}

static double mean_of(const struct side_values *side)
{
	return side->values.len ? sum_of(side) / (double)side->values.len : NAN;
}

static double cores_of(const struct side *side)
{
	static const char *const keys[] = {"cpus", "cpus_allowed"};
	const struct run_record *run = side->runs.items[0];
	for (size_t k = 0; k < 2; k++) {
		const struct name_value *fact = find_pair(run->host.items, run->host.len, keys[k]);
		double cores;
		if (fact && fact->value && str_to_double(fact->value, &cores) && cores >= 1)
			return cores;
	}
	return NAN;
}

static void warn_disturbance(struct diff *diff, int at)
{
	const struct side *side = &diff->sides[at];
	const struct side_values *measured = side->run.metrics;
	double cores = cores_of(side);
	double stolen = sum_of(&measured[METRIC_STEAL]) / (sum_of(&measured[METRIC_WALL]) * cores);
	double others = (mean_of(&measured[METRIC_SYSTEM_CPU_PERCENT]) - mean_of(&measured[METRIC_CPU_PERCENT_AVG])) /
			(100 * cores);
	/* The machine's time is counted in ticks, which over a short run can come to more than there was. */
	if (stolen > STEAL_SHARE)
		warn(diff, "steal", "while %s ran, the hypervisor gave %.0f %% of the cores' time to others",
		     side_names[at], 100 * fmin(stolen, 1));
	if (others > OTHERS_SHARE)
		warn(diff, "load", "while %s ran, other programs kept %.0f %% of the machine's cores busy",
		     side_names[at], 100 * fmin(others, 1));
}

/* What the order of the repetitions says. */
static void warn_order(struct diff *diff, int at)
{
	const struct side_values *wall = &diff->sides[at].run.metrics[METRIC_WALL];
	struct slow_start start;
	struct drift drift;
	size_t count = wall->values.len;
	bool *flags = mem_alloc(count + 1);
	series_slow_start(wall->values.items, count, &start);
	series_drift(wall->values.items, count, &drift);
	size_t outliers = series_outliers(wall->values.items, count, flags);
	free(flags);
	if (count > SIDE_THINNED)
		warn(diff, "thinned", "%s has %zu repetitions; %d of them, evenly spread, are compared", side_names[at],
		     count, SIDE_THINNED);
	if (start.p < SURPRISING)
		warn(diff, "warmup",
		     "the first %zu of %zu repetitions of %s took %.2f times as long as the rest (see --warmup)",
		     start.runs, count, side_names[at], start.ratio);
	else if (drift.p < SURPRISING)
		warn(diff, "drift",
		     "%s became %s from repetition to repetition: the machine may have changed meanwhile",
		     side_names[at], drift.tau > 0 ? "slower" : "faster");
	else if (outliers)
		warn(diff, "outliers", "%zu of %zu repetitions of %s %s far from the others; kept all the same",
		     outliers, count, side_names[at], outliers == 1 ? "lies" : "lie");
}

static void warn_few(struct diff *diff)
{
	size_t a = diff->sides[0].run.metrics[METRIC_WALL].values.len,
	       b = diff->sides[1].run.metrics[METRIC_WALL].values.len;
	size_t needed = compare_runs_needed(2 * diff->options.alpha, false);
	if (compare_smallest_p(a, b) > 2 * diff->options.alpha && a && b)
		warn(diff, "samples",
		     "%zu against %zu repetition%s: of what is noisy (times, memory) nothing can be concluded; %zu a "
		     "side "
		     "are the fewest that can show a change, however large",
		     a, b, b == 1 ? "" : "s", needed);
}

void diff_warn(struct diff *diff)
{
	if (!diff->sides[0].runs.len || !diff->sides[1].runs.len)
		return;
	for (int at = 0; at < 2; at++)
		warn_status(diff, at);
	warn_few(diff);
	warn_host(diff);
	warn_settings(diff);
	warn_params(diff);
	for (int at = 0; at < 2; at++) {
		warn_disturbance(diff, at);
		warn_order(diff, at);
	}
}
