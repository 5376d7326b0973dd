/* diff_words.c - see diff_words.h. */
#include "render/diff_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 3, SHOWN_DIGITS = 12 };

/* ---- cells ---- */

/* "+12.8 %"; large ones as factors, because nobody reads 3400 %. */
static void put_change(double ratio, bool unit, char *out)
{
	double percent = 100 * (ratio - 1);
	const char *sign = unit ? " %" : "";
	if (isnan(ratio))
		snprintf(out, FORMAT_SIZE, "n/a");
	else if (isinf(ratio))
		snprintf(out, FORMAT_SIZE, "from 0");
	else if (ratio >= 10)
		snprintf(out, FORMAT_SIZE, ratio < 9999.5 ? "×%.3g" : "×%.1e", ratio);
	else if (fabs(percent) < 0.05 && percent != 0)
		snprintf(out, FORMAT_SIZE, "%c<0.1%s", percent > 0 ? '+' : '-', sign);
	else
		snprintf(out, FORMAT_SIZE, "%+.1f%s", percent, sign);
}

static void put_plain(double value, char *out)
{
	if (isnan(value))
		snprintf(out, FORMAT_SIZE, "n/a");
	else
		snprintf(out, FORMAT_SIZE, "%.6g", value);
}

void diff_words_median(const struct diff_row *row, int side, char *out)
{
	double value = side ? row->result.median_new : row->result.median_base;
	if (row->metric < 0 && row->unit == UNIT_RATIO)
		put_plain(value, out);
	else
		format_metric(row->unit, value, out);
}

void diff_words_change(const struct diff_row *row, char *out)
{
	if (isnan(row->result.ratio) && !isnan(row->difference))
		snprintf(out, FORMAT_SIZE, "%+.4g", row->difference);
	else
		put_change(row->result.ratio, true, out);
}

void diff_words_interval(const struct diff_row *row, char *out)
{
	char low[FORMAT_SIZE], high[FORMAT_SIZE];
	const struct change_result *result = &row->result;
	if (strcmp(result->method, "exact count") == 0) {
		snprintf(out, FORMAT_SIZE, "exact");
	} else if (isnan(result->low) || isnan(result->high)) {
		snprintf(out, FORMAT_SIZE, "none");
	} else {
		put_change(result->low, false, low);
		put_change(result->high, true, high);
		snprintf(out, FORMAT_SIZE, "%.11s to %.13s", low, high);
	}
}

void diff_words_detectable(const struct diff_row *row, char *out)
{
	double detectable = row->result.detectable;
	if (isnan(detectable))
		snprintf(out, FORMAT_SIZE, "n/a");
	else if (isinf(detectable))
		snprintf(out, FORMAT_SIZE, "nothing");
	else if (detectable == 0)
		snprintf(out, FORMAT_SIZE, "any");
	else
		put_change(1 + detectable, true, out);
}

void diff_words_gate_number(const struct gate_check *check, double value, char *out)
{
	char number[FORMAT_SIZE];
	if (isnan(value))
		snprintf(out, FORMAT_SIZE, "n/a");
	else if (check->percent && isinf(value))
		snprintf(out, FORMAT_SIZE, "from 0");
	else if (check->percent)
		snprintf(out, FORMAT_SIZE, "%+.3g %%", value);
	else if (check->threshold.quality || check->threshold.metric < 0)
		put_plain(value, out);
	else {
		format_metric(check->unit, value, number);
		snprintf(out, FORMAT_SIZE, "%s", number);
	}
}

/* ---- sentences ---- */

static void put_interval(const struct diff_row *row, struct str *out)
{
	char interval[FORMAT_SIZE];
	if (isnan(row->result.low) || strcmp(row->result.method, "exact count") == 0)
		return;
	diff_words_interval(row, interval);
	str_appendf(out, " (%.0f %% interval: %s)", 100 * row->result.level, interval);
}

/* "12.8 %" of a change in either direction. */
static void put_size(double ratio, char *out)
{
	if (ratio >= 10 || isinf(ratio) || isnan(ratio))
		put_change(ratio, true, out);
	else
		snprintf(out, FORMAT_SIZE, "%.1f %%", fabs(100 * (ratio - 1)));
}

static void put_subject(const struct diff_place *place, struct str *out)
{
	const struct diff_table *table = place->table;
	if (table->scope == DIFF_STAGE)
		str_appendf(out, "stage %s: ", table->name);
	else if (table->scope == DIFF_DEEPER)
		str_appendf(out, "%s: ", table->name);
}

static void put_changed_row(const struct diff_place *place, struct str *out)
{
	const struct diff_row *row = place->row;
	char size[FORMAT_SIZE], from[FORMAT_SIZE], to[FORMAT_SIZE];
	bool up = row->difference > 0;
	put_size(row->result.ratio, size);
	put_subject(place, out);
	if (row->metric == METRIC_WALL && row->result.ratio < 10) {
		str_appendf(out, "%stakes %s %s", place->table->scope == DIFF_RUN ? "the run " : "", size,
			    up ? "longer" : "less time");
	} else {
		diff_words_median(row, 0, from);
		diff_words_median(row, 1, to);
		str_appendf(out, "%s %s from %s to %s", row->name, up ? "rose" : "fell", from, to);
	}
	put_interval(row, out);
}

/* The primary rows with the verdict that decided. */
static void put_deciding(const struct diff *diff, struct str *out)
{
	size_t count = 0;
	for (size_t i = 0; i < diff->ranking.len; i++) {
		const struct diff_place *place = &diff->ranking.items[i];
		if (place->row->result.verdict != diff->verdict || !diff_is_primary(diff, place))
			continue;
		if (++count > NAMED)
			continue;
		str_append(out, count > 1 ? "; " : "");
		put_changed_row(place, out);
	}
	if (count > NAMED)
		str_appendf(out, "; and %zu more", count - NAMED);
}

/* The first primary row, time before quality; NULL where there is none. */
static const struct diff_place *main_row(const struct diff *diff, enum change verdict)
{
	const struct diff_place *found = NULL;
	for (size_t i = 0; i < diff->ranking.len; i++) {
		const struct diff_place *place = &diff->ranking.items[i];
		if (place->row->result.verdict != verdict || !diff_is_primary(diff, place))
			continue;
		if (!found || (place->row->metric == METRIC_WALL && found->row->metric != METRIC_WALL))
			found = place;
	}
	return found;
}

static void put_name(const struct diff_place *place, struct str *out)
{
	put_subject(place, out);
	if (place->row->metric == METRIC_WALL && place->table->scope == DIFF_RUN)
		str_append(out, "the run's elapsed time");
	else
		str_append(out, place->row->metric == METRIC_WALL ? "the elapsed time" : place->row->name);
}

static void put_inconclusive(const struct diff *diff, struct str *out)
{
	const struct diff_place *place = main_row(diff, CHANGE_INCONCLUSIVE);
	if (!place) {
		str_append(out, "there is nothing to compare");
		return;
	}
	const struct diff_row *row = place->row;
	char change[FORMAT_SIZE], detectable[FORMAT_SIZE];
	diff_words_change(row, change);
	diff_words_detectable(row, detectable);
	for (int side = 0; side < 2; side++)
		if (row->reasons[side]) {
			put_name(place, out);
			str_appendf(out, " is not known of %s: %s", side ? "B" : "A", row->reasons[side]);
			return;
		}
	if (isinf(row->result.detectable)) {
		str_appendf(
			out,
			"with %zu repetition%s against %zu a slower program cannot be told from a slower moment; at "
			"least %zu a side are needed (measured: %s)",
			row->result.n_base, row->result.n_base == 1 ? "" : "s", row->result.n_new,
			row->result.runs_needed, change);
		return;
	}
	put_name(place, out);
	str_appendf(out, " changed by %s", change);
	put_interval(row, out);
	str_appendf(out, ", %s", row->result.why);
	if (!isnan(row->result.detectable))
		str_appendf(out, "; this comparison would have shown %s", detectable);
}

static void put_equivalent(const struct diff *diff, struct str *out)
{
	const struct diff_place *place = main_row(diff, CHANGE_EQUIVALENT);
	if (!place)
		return;
	put_name(place, out);
	if (strcmp(place->row->result.method, "exact count") == 0)
		str_append(out, " is the same");
	else
		str_appendf(out, " changed by less than %g %%", 100 * diff->options.threshold);
	put_interval(place->row, out);
}

void diff_words_headline(const struct diff *diff, struct str *out)
{
	const struct side_part *run = &diff->sides[1].run;
	str_appendf(out, "%s: ", diff->verdict == CHANGE_EQUIVALENT ? "No change" : diff_words_title(diff->verdict));
	if (diff->failed && run->repetitions)
		str_appendf(out, "%zu of %zu repetitions of B failed (%s)", run->failed, run->repetitions,
			    run->why ? run->why : status_name(run->status));
	else if (diff->failed)
		str_appendf(out, "B was %s", status_name(run->status));
	else if (diff->verdict == CHANGE_INCONCLUSIVE)
		put_inconclusive(diff, out);
	else if (diff->verdict == CHANGE_EQUIVALENT)
		put_equivalent(diff, out);
	else
		put_deciding(diff, out);
	str_append_char(out, '.');
}

void diff_words_gate(const struct gate *gate, struct str *out)
{
	size_t count = gate->checks.len;
	if (gate->outcome == GATE_PASS) {
		str_appendf(out, "Gate passed: %zu threshold%s kept.", count, count == 1 ? "" : "s");
		return;
	}
	str_append(out, gate->outcome == GATE_FAIL ? "Gate failed: " : "Gate inconclusive: ");
	if (gate->counts[GATE_FAIL])
		str_appendf(out, "%zu of %zu broken", gate->counts[GATE_FAIL], count);
	if (gate->counts[GATE_INCONCLUSIVE])
		str_appendf(out, "%s%zu of %zu undecided", gate->counts[GATE_FAIL] ? ", " : "",
			    gate->counts[GATE_INCONCLUSIVE], count);
	str_append_char(out, '.');
}

static const char *file_name(const struct run_record *run)
{
	const char *slash = run->path ? strrchr(run->path, '/') : NULL;
	return slash ? slash + 1 : run->path ? run->path : "?";
}

void diff_words_side(const struct side *side, struct str *out)
{
	const char *commit = side->runs.len ? side->runs.items[0]->row.git_commit : NULL;
	for (size_t i = 0; i < side->runs.len && i < NAMED; i++) {
		const char *other = side->runs.items[i]->row.git_commit;
		str_appendf(out, "%s%s", i ? ", " : "", file_name(side->runs.items[i]));
		commit = commit && other && strcmp(commit, other) == 0 ? commit : NULL;
	}
	if (side->runs.len > NAMED)
		str_appendf(out, " and %zu more", side->runs.len - NAMED);
	str_appendf(out, ": %zu repetition%s", side->run.repetitions, side->run.repetitions == 1 ? "" : "s");
	if (side->run.failed)
		str_appendf(out, ", %zu failed", side->run.failed);
	if (commit && side->runs.len <= NAMED)
		str_appendf(out, ", commit %.*s", SHOWN_DIGITS, commit);
}

void diff_words_counts(const struct diff *diff, struct str *out)
{
	static const enum change order[] = {CHANGE_REGRESSED, CHANGE_IMPROVED, CHANGE_DIFFERS, CHANGE_INCONCLUSIVE,
					    CHANGE_EQUIVALENT};
	size_t all = 0, said = 0;
	for (int i = 0; i < DIFF_CHANGES; i++)
		all += diff->counts[i];
	str_appendf(out, "%zu comparisons", all);
	for (int i = 0; i < DIFF_CHANGES; i++) {
		const char *name = order[i] == CHANGE_EQUIVALENT ? "unchanged" : change_name(order[i]);
		if (diff->counts[order[i]])
			str_appendf(out, "%s%zu %s", said++ ? ", " : ": ", diff->counts[order[i]], name);
	}
}

void diff_words_stages(const struct diff *diff, enum diff_presence presence, struct str *out)
{
	size_t count = 0;
	for (size_t i = 0; i < diff->tables.len; i++) {
		const struct diff_table *table = &diff->tables.items[i];
		if (table->scope == DIFF_STAGE && table->presence == presence)
			str_appendf(out, "%s%s", count++ ? ", " : "", table->name);
	}
}

bool diff_words_shows(const struct delta *delta, const struct diff_place *place)
{
	enum change verdict = place->row->result.verdict;
	if (delta->all || delta->diff->options.metric_count)
		return true;
	if (place->table->presence != DIFF_IN_BOTH || place->row->minor)
		return false;
	if (place->row->metric == METRIC_WALL || place->table->scope == DIFF_QUALITY)
		return true;
	/* Of functions the largest differences, even of single runs: where to look, not what is proven. */
	if (place->table->scope == DIFF_DEEPER)
		return verdict != CHANGE_EQUIVALENT;
	return verdict != CHANGE_EQUIVALENT && verdict != CHANGE_INCONCLUSIVE;
}

const char *diff_words_title(enum change verdict)
{
	static const char *const titles[DIFF_CHANGES] = {[CHANGE_REGRESSED] = "Regressed",
							 [CHANGE_IMPROVED] = "Improved",
							 [CHANGE_DIFFERS] = "Differs",
							 [CHANGE_INCONCLUSIVE] = "Inconclusive",
							 [CHANGE_EQUIVALENT] = "Unchanged"};
	return titles[verdict];
}

void diff_words_check(const struct gate_check *check, struct str *out)
{
	char observed[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE], limit[FORMAT_SIZE];
	diff_words_gate_number(check, check->observed, observed);
	diff_words_gate_number(check, check->low, low);
	diff_words_gate_number(check, check->high, high);
	diff_words_gate_number(check, check->limit, limit);
	if (!isnan(check->observed))
		str_append(out, observed);
	if (!isnan(check->low) && !isnan(check->high) && check->level < 1)
		str_appendf(out, " (%.0f %% interval: %s to %s)", 100 * check->level, low, high);
	if (!isnan(check->limit))
		str_appendf(out, "%slimit %s", isnan(check->observed) ? "" : ", ", limit);
	str_appendf(out, "%s%s", isnan(check->limit) ? "" : ": ", check->why ? check->why : "");
}
