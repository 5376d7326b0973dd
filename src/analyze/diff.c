/*
 * diff.c - see diff.h.
 *
 * A count that was sampled, or is only a lower bound, is no count: it varies with the moments of sampling, and is treated
 * like a level.
 */
#include "analyze/diff.h"
#include "analyze/diff_warn.h"
#include "base/str.h"
#include "stats/describe.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

const struct diff_options diff_defaults = {.threshold = 0.05, .alpha = 0.01};

/* What went on around the program, and what pitot did: no result of the program's. */
static const int minor_metrics[] = {
	METRIC_LOAD_AVG,
	METRIC_SYSTEM_CPU_PERCENT,
	METRIC_SYSTEM_AVAILABLE_MIN,
	METRIC_SYSTEM_SWAP_PEAK,
	METRIC_STEAL,
	METRIC_SAMPLES,
	METRIC_PROFILE_SAMPLES,
	METRIC_PROFILE_COVERAGE,
	METRIC_PROFILE_UNCOVERED,
	METRIC_PROFILE_OVERHEAD,
	METRIC_SELF_CPU,
	METRIC_SELF_WALL,
	METRIC_SELF_MEMORY_PEAK,
	METRIC_SELF_INTERVAL,
};

const char *diff_scope_name(enum diff_scope scope)
{
	static const char *const names[] = {"run", "stage", "quality", "deeper"};
	return names[scope];
}

static bool is_minor(int metric)
{
	for (size_t i = 0; i < sizeof(minor_metrics) / sizeof(minor_metrics[0]); i++)
		if (minor_metrics[i] == metric)
			return true;
	return false;
}

static bool listed(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool wanted(const char *const *names, size_t count, const char *name)
{
	return count == 0 || listed(names, count, name);
}

/* Words as parts of the name, so that "permission" has no "miss" in it. */
enum metric_direction quality_direction(const char *name)
{
	static const char *const bad[] = {"miss",   "misses",  "missed", "loss",       "losses", "error",    "errors",
					  "err",    "rmse",    "mse",    "mae",        "mape",   "wer",      "cer",
					  "fpr",    "fnr",     "false",  "perplexity", "ppl",    "latency",  "cost",
					  "regret", "penalty", "drift",  "divergence", "fid",    "failures", "failed"};
	char word[64];
	for (size_t at = 0; name[at];) {
		size_t length = 0;
		while (isalnum((unsigned char)name[at + length]))
			length++;
		for (size_t i = 0; i < length && length < sizeof(word); i++)
			word[i] = (char)tolower((unsigned char)name[at + i]);
		word[length < sizeof(word) ? length : 0] = '\0';
		if (listed(bad, sizeof(bad) / sizeof(bad[0]), word))
			return LOWER_IS_BETTER;
		at += length ? length : 1;
	}
	return HIGHER_IS_BETTER;
}

/* ---- rows ---- */

static bool all_equal(const double *values, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

/* Numbers below 0 have no ratio, but where they do not vary the difference says it all. */
static void decide_signed_count(const double *a, const double *b, struct diff_row *row)
{
	struct change_result *result = &row->result;
	bool worse = (b[0] > a[0]) == (row->direction == LOWER_IS_BETTER);
	result->method = "exact count";
	result->runs_needed = 1;
	result->detectable = 0;
	if (a[0] == b[0]) {
		result->verdict = CHANGE_EQUIVALENT;
		result->why = "the same value in all runs";
		return;
	}
	result->verdict = row->direction == NEITHER_IS_BETTER ? CHANGE_DIFFERS
			  : worse                             ? CHANGE_REGRESSED
							      : CHANGE_IMPROVED;
	result->why = "a value that does not vary is another";
}

static void decide(const struct diff *diff, const struct side_values *a, const struct side_values *b,
		   struct diff_row *row)
{
	struct change_options options = change_defaults;
	size_t a_count, b_count;
	double *a_values = side_thin(a, &a_count), *b_values = side_thin(b, &b_count);
	options.threshold = diff->options.threshold;
	options.alpha = diff->options.alpha;
	options.direction = row->direction;
	options.noise = row->noise;
	/* Whether a pipe is read in one piece or two is decided by the moment; a thousandth of a count says nothing about
	 * the program. A quality metric that moves at all has moved. */
	options.count_threshold = row->metric >= 0 ? 0.001 : 0;
	change_decide(a_values, a_count, b_values, b_count, &options, &row->result);
	bool constant = row->noise == NOISE_COUNT && a_count && b_count && all_equal(a_values, a_count) &&
			all_equal(b_values, b_count);
	if (constant && isnan(row->result.ratio))
		decide_signed_count(a_values, b_values, row);
	row->difference = row->result.median_new - row->result.median_base;
	free(a_values);
	free(b_values);
}

static char *reason_of(const struct side_values *side)
{
	if (!side)
		return mem_strdup("not there");
	if (side->values.len)
		return NULL;
	return mem_strdup(side->reason ? side->reason : "not measured");
}

struct diff_row *diff_add_row(struct diff *diff, struct diff_table *table, const struct diff_subject *subject,
			      const struct side_values *a, const struct side_values *b)
{
	struct diff_row *row = vec_add(&table->rows);
	bool sampled = (a && a->inexact) || (b && b->inexact);
	*row = (struct diff_row){.name = mem_strdup(subject->name),
				 .metric = subject->metric,
				 .unit = subject->unit,
				 .direction = subject->direction,
				 .direction_guessed = subject->direction_guessed,
				 .noise = subject->noise == NOISE_COUNT && sampled ? NOISE_LEVEL : subject->noise,
				 .presence = !a   ? DIFF_ADDED
					     : !b ? DIFF_REMOVED
						  : DIFF_IN_BOTH,
				 .minor = subject->minor,
				 .reasons = {reason_of(a), reason_of(b)}};
	decide(diff, a, b, row);
	return row;
}

struct diff_table *diff_add_table(struct diff *diff, enum diff_scope scope, const char *name)
{
	struct diff_table *table = vec_add(&diff->tables);
	*table = (struct diff_table){.scope = scope, .name = mem_strdup(name)};
	return table;
}

/* ---- tables ---- */

static bool is_estimated(const struct side_part *part, int metric)
{
	return part && part->metrics[metric].estimated;
}

/* Metrics that neither side knows are left out: there is nothing to say about them. */
static void add_metrics(struct diff *diff, struct diff_table *table, const struct side_part *a,
			const struct side_part *b, bool minor)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		const struct metric *known = &metrics[metric];
		bool aside = minor || is_minor(metric) || is_estimated(a, metric) || is_estimated(b, metric);
		struct diff_subject subject = {.name = known->name,
					       .metric = metric,
					       .unit = known->unit,
					       .direction = known->direction,
					       .noise = known->noise,
					       .minor = aside && !diff->options.metric_count};
		bool any = (a && a->metrics[metric].values.len) || (b && b->metrics[metric].values.len);
		if (any && wanted(diff->options.metrics, diff->options.metric_count, known->name))
			diff_add_row(diff, table, &subject, a ? &a->metrics[metric] : NULL,
				     b ? &b->metrics[metric] : NULL);
	}
}

/* The only stage of both sides: its numbers are the run's. */
static bool is_the_run(const struct diff *diff, const struct side_part *a, const struct side_part *b)
{
	return a && b && diff->sides[0].stages.len == 1 && diff->sides[1].stages.len == 1 && !diff->options.stage_count;
}

static void add_stage(struct diff *diff, const char *name, const struct side_part *a, const struct side_part *b)
{
	if (!wanted(diff->options.stages, diff->options.stage_count, name))
		return;
	struct diff_table *table = diff_add_table(diff, DIFF_STAGE, name);
	table->presence = !a ? DIFF_ADDED : !b ? DIFF_REMOVED : DIFF_IN_BOTH;
	add_metrics(diff, table, a, b, is_the_run(diff, a, b));
}

/* In B's order, then what B no longer has. */
static void add_stages(struct diff *diff)
{
	const struct side *a = &diff->sides[0], *b = &diff->sides[1];
	for (size_t i = 0; i < b->stages.len; i++)
		add_stage(diff, b->stages.items[i].name, side_stage(a, b->stages.items[i].name), &b->stages.items[i]);
	for (size_t i = 0; i < a->stages.len; i++)
		if (!side_stage(b, a->stages.items[i].name))
			add_stage(diff, a->stages.items[i].name, &a->stages.items[i], NULL);
}

static void add_quality_row(struct diff *diff, struct diff_table *table, const char *name)
{
	const struct side_quality *a = side_quality_of(&diff->sides[0], name),
				  *b = side_quality_of(&diff->sides[1], name);
	struct diff_subject subject = {.name = name,
				       .metric = -1,
				       .unit = UNIT_RATIO,
				       .direction = quality_direction(name),
				       .direction_guessed = true,
				       .noise = NOISE_COUNT};
	if (wanted(diff->options.metrics, diff->options.metric_count, name))
		diff_add_row(diff, table, &subject, a ? &a->values : NULL, b ? &b->values : NULL);
}

static void add_quality(struct diff *diff)
{
	const struct side *a = &diff->sides[0], *b = &diff->sides[1];
	struct diff_table *table = NULL;
	if ((a->quality.len || b->quality.len) && !diff->options.stage_count)
		table = diff_add_table(diff, DIFF_QUALITY, "quality");
	for (size_t i = 0; table && i < b->quality.len; i++)
		add_quality_row(diff, table, b->quality.items[i].name);
	for (size_t i = 0; table && i < a->quality.len; i++)
		if (!side_quality_of(b, a->quality.items[i].name))
			add_quality_row(diff, table, a->quality.items[i].name);
}

/* ---- the whole ---- */

bool diff_is_primary(const struct diff *diff, const struct diff_place *place)
{
	if (place->row->presence != DIFF_IN_BOTH)
		return false;
	if (diff->options.stage_count && place->table->scope == DIFF_STAGE)
		return diff->options.metric_count || place->row->metric == METRIC_WALL;
	if (place->table->scope == DIFF_RUN)
		return diff->options.metric_count || place->row->metric == METRIC_WALL;
	return place->table->scope == DIFF_QUALITY;
}

/* Regressions first, what did not change last. */
static int verdict_rank(enum change verdict)
{
	static const int order[DIFF_CHANGES] = {[CHANGE_REGRESSED] = 0,
						[CHANGE_IMPROVED] = 1,
						[CHANGE_DIFFERS] = 2,
						[CHANGE_INCONCLUSIVE] = 3,
						[CHANGE_EQUIVALENT] = 4};
	return order[verdict];
}

static int weight_rank(const struct diff_place *place)
{
	if (place->table->scope == DIFF_QUALITY ||
	    (place->table->scope == DIFF_RUN && place->row->metric == METRIC_WALL))
		return 0;
	if (place->row->metric == METRIC_WALL)
		return 1;
	if (place->row->minor)
		return 4;
	return place->table->scope == DIFF_DEEPER ? 3 : 2;
}

/* Times of stages and functions by what they add to the run, all else by how many times it is. */
static double size_of(const struct diff_place *place)
{
	double ratio = place->row->result.ratio;
	if (weight_rank(place) == 1 || weight_rank(place) == 3)
		return fabs(place->row->difference);
	return isnan(ratio) ? 0 : ratio > 0 ? fabs(log(ratio)) : INFINITY;
}

static int by_weight(const void *a, const void *b)
{
	const struct diff_place *x = a, *y = b;
	int verdicts = verdict_rank(x->row->result.verdict) - verdict_rank(y->row->result.verdict);
	int weights = weight_rank(x) - weight_rank(y);
	double sizes = size_of(y) - size_of(x);
	if (verdicts || weights)
		return verdicts ? verdicts : weights;
	if (sizes < 0 || sizes > 0)
		return sizes > 0 ? 1 : -1;
	/* The order of the tables, and of the rows in one: all stand one behind the other in memory. */
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void rank(struct diff *diff)
{
	diff->ranking.len = 0;
	for (size_t i = 0; i < diff->tables.len; i++) {
		const struct diff_table *table = &diff->tables.items[i];
		for (size_t k = 0; k < table->rows.len; k++)
			vec_push(&diff->ranking, ((struct diff_place){table, &table->rows.items[k]}));
	}
	if (diff->ranking.len > 1)
		qsort(diff->ranking.items, diff->ranking.len, sizeof(*diff->ranking.items), by_weight);
}

/* A regression of any primary row, else what is uncertain, else an improvement; so nothing good hides something bad. */
static enum change overall(const struct diff *diff)
{
	bool seen[DIFF_CHANGES] = {false};
	for (size_t i = 0; i < diff->ranking.len; i++)
		if (diff_is_primary(diff, &diff->ranking.items[i]))
			seen[diff->ranking.items[i].row->result.verdict] = true;
	if (diff->failed || seen[CHANGE_REGRESSED])
		return CHANGE_REGRESSED;
	if (seen[CHANGE_INCONCLUSIVE])
		return CHANGE_INCONCLUSIVE;
	if (seen[CHANGE_IMPROVED])
		return CHANGE_IMPROVED;
	if (seen[CHANGE_DIFFERS])
		return CHANGE_DIFFERS;
	return seen[CHANGE_EQUIVALENT] ? CHANGE_EQUIVALENT : CHANGE_INCONCLUSIVE;
}

void diff_conclude(struct diff *diff)
{
	memset(diff->counts, 0, sizeof(diff->counts));
	rank(diff);
	for (size_t i = 0; i < diff->ranking.len; i++)
		if (!diff->ranking.items[i].row->minor)
			diff->counts[diff->ranking.items[i].row->result.verdict]++;
	diff->failed = diff->sides[1].run.failed > 0 && diff->sides[0].runs.len > 0 && diff->sides[0].run.failed == 0;
	diff->verdict = overall(diff);
}

void diff_compute(const struct run_record *const *a, size_t a_count, const struct run_record *const *b, size_t b_count,
		  const struct diff_options *options, struct diff *out)
{
	*out = (struct diff){.options = *options};
	side_collect(a, a_count, &out->sides[0]);
	side_collect(b, b_count, &out->sides[1]);
	if (!options->stage_count)
		add_metrics(out, diff_add_table(out, DIFF_RUN, "run"), &out->sides[0].run, &out->sides[1].run, false);
	add_stages(out);
	add_quality(out);
	diff_warn(out);
	diff_conclude(out);
}

void diff_fini(struct diff *diff)
{
	for (size_t i = 0; i < diff->tables.len; i++) {
		struct diff_table *table = &diff->tables.items[i];
		for (size_t k = 0; k < table->rows.len; k++) {
			free(table->rows.items[k].name);
			free(table->rows.items[k].reasons[0]);
			free(table->rows.items[k].reasons[1]);
		}
		free(table->name);
		vec_fini(&table->rows);
	}
	for (size_t i = 0; i < diff->warnings.len; i++)
		free(diff->warnings.items[i].text);
	vec_fini(&diff->tables);
	vec_fini(&diff->warnings);
	vec_fini(&diff->ranking);
	side_fini(&diff->sides[0]);
	side_fini(&diff->sides[1]);
}
