/*
 * diff_md.c - a comparison as Markdown: a comment for a pull request. The first line is a mark by which a job finds its
 * earlier comment again; then the verdict, the gate, what changed; the rest is folded away.
 */
#include "render/delta_formats.h"
#include "render/diff_words.h"
#include "render/markup.h"

#include <stdlib.h>

static void put_cell(struct str *out, const char *text)
{
	str_append(out, " ");
	markup_markdown(out, text);
	str_append(out, " |");
}

static void put_gate(struct str *out, const struct gate *gate)
{
	static const char *const marks[] = {[GATE_PASS] = "✅", [GATE_FAIL] = "❌", [GATE_INCONCLUSIVE] = "❔"};
	struct str words = {0};
	diff_words_gate(gate, &words);
	str_appendf(out,
		    "\n**%s**\n\n| | Threshold | Limit | Observed | Interval | n | Why |\n"
		    "|---|---|---:|---:|---:|---:|---|\n",
		    str_text(&words));
	for (size_t i = 0; i < gate->checks.len; i++) {
		const struct gate_check *check = &gate->checks.items[i];
		char limit[FORMAT_SIZE], observed[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE];
		diff_words_gate_number(check, check->limit, limit);
		diff_words_gate_number(check, check->observed, observed);
		diff_words_gate_number(check, check->low, low);
		diff_words_gate_number(check, check->high, high);
		str_appendf(out, "| %s |", marks[check->outcome]);
		put_cell(out, check->name);
		put_cell(out, limit);
		put_cell(out, observed);
		if (check->level < 1) /* not where it is NaN */
			str_appendf(out, " %s to %s (%.0f %%) |", low, high, 100 * check->level);
		else
			put_cell(out, check->level == 1 ? "exact" : "none");
		str_appendf(out, " %zu / %zu |", check->n[0], check->n[1]);
		put_cell(out, check->why);
		str_append_char(out, '\n');
	}
	str_fini(&words);
}

static void put_table_head(struct str *out, const struct diff *diff)
{
	str_appendf(out,
		    "\n| Verdict | Where | Metric | A | B | Change | %g %% interval | n | Would have seen |\n"
		    "|---|---|---|---:|---:|---:|---:|---:|---:|\n",
		    100 * (1 - 2 * diff->options.alpha));
}

static void put_row(struct str *out, const struct diff_place *place)
{
	const struct diff_row *row = place->row;
	char a[FORMAT_SIZE], b[FORMAT_SIZE], change[FORMAT_SIZE], interval[FORMAT_SIZE], seen[FORMAT_SIZE];
	diff_words_median(row, 0, a);
	diff_words_median(row, 1, b);
	diff_words_change(row, change);
	diff_words_interval(row, interval);
	diff_words_detectable(row, seen);
	str_append_char(out, '|');
	put_cell(out, change_name(row->result.verdict));
	put_cell(out, place->table->name);
	put_cell(out, row->name);
	put_cell(out, a);
	put_cell(out, b);
	put_cell(out, change);
	put_cell(out, interval);
	str_appendf(out, " %zu / %zu |", row->result.n_base, row->result.n_new);
	put_cell(out, seen);
	str_append_char(out, '\n');
}

/* The rows that are shown, or those that are folded away. */
static size_t put_rows(struct str *out, const struct delta *delta, bool shown)
{
	const struct diff *diff = delta->diff;
	size_t count = 0;
	for (size_t i = 0; i < diff->ranking.len; i++) {
		const struct diff_place *place = &diff->ranking.items[i];
		if (diff_words_shows(delta, place) != shown)
			continue;
		if (count++ == 0)
			put_table_head(out, diff);
		put_row(out, place);
	}
	return count;
}

static void put_folded(struct str *out, const struct delta *delta)
{
	struct str rows = {0}, counts = {0};
	if (put_rows(&rows, delta, false)) {
		diff_words_counts(delta->diff, &counts);
		str_append(out, "\n<details><summary>All metrics: ");
		markup_xml(out, str_text(&counts));
		str_appendf(out, "</summary>\n%s\n</details>\n", str_text(&rows));
	}
	str_fini(&rows);
	str_fini(&counts);
}

static void put_sides(struct str *out, const struct diff *diff)
{
	for (int side = 0; side < 2; side++) {
		struct str words = {0};
		if (diff->sides[side].runs.len) {
			diff_words_side(&diff->sides[side], &words);
			str_appendf(out, "- **%c** ", "AB"[side]);
			markup_markdown(out, str_text(&words));
			str_append_char(out, '\n');
		}
		str_fini(&words);
	}
}

static void put_stage_changes(struct str *out, const struct diff *diff)
{
	static const struct {
		enum diff_presence presence;
		const char *words;
	} kinds[] = {{DIFF_ADDED, "Only in B"}, {DIFF_REMOVED, "Only in A"}};
	for (size_t i = 0; i < 2; i++) {
		struct str names = {0};
		diff_words_stages(diff, kinds[i].presence, &names);
		if (names.len) {
			str_appendf(out, "- %s: stage ", kinds[i].words);
			markup_markdown(out, str_text(&names));
			str_append_char(out, '\n');
		}
		str_fini(&names);
	}
}

static void render_md(const struct delta *delta, const struct render_options *options, struct str *out)
{
	(void)options;
	const struct diff *diff = delta->diff;
	struct str words = {0};
	bool compares = diff->sides[0].runs.len > 0;
	str_append(out, "<!-- pitot delta -->\n## Pipeline Profile Delta\n");
	if (compares) {
		diff_words_headline(diff, &words);
		str_append(out, "\n**");
		markup_markdown(out, str_text(&words));
		str_append(out, "**\n");
	}
	if (delta->gate)
		put_gate(out, delta->gate);
	str_append_char(out, '\n');
	put_sides(out, diff);
	if (compares)
		put_stage_changes(out, diff);
	for (size_t i = 0; i < diff->warnings.len; i++) {
		str_append(out, "- ⚠️ ");
		markup_markdown(out, diff->warnings.items[i].text);
		str_append_char(out, '\n');
	}
	if (compares) {
		put_rows(out, delta, true);
		put_folded(out, delta);
	}
	str_fini(&words);
}

const struct delta_renderer delta_md = {"md", render_md};
