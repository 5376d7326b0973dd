/* comparison_md.c - a comparison as Markdown, for a pull request or a README: one table per group, then the verdicts. */
#include "render/comparison.h"
#include "render/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In a table cell: nothing of it may end the cell or be taken for markup. */
static void put_escaped(struct str *out, const char *text)
{
	char *clean = str_utf8_clean(text, strlen(text));
	for (const char *at = clean; *at; at++) {
		if (strchr("\\`*_{}[]<>#|!~&$", *at))
			str_append_char(out, '\\');
		str_append_char(out, *at == '\n' || *at == '\r' || *at == '\t' ? ' ' : *at);
	}
	free(clean);
}

static const struct comparison_pair *pair_of(const struct comparison *comparison, size_t subject)
{
	for (size_t i = 0; i < comparison->pairs.len; i++)
		if (comparison->pairs.items[i].subject == subject)
			return &comparison->pairs.items[i];
	return NULL;
}

static void put_median(const struct comparison *comparison, const struct comparison_subject *subject, int metric,
		       struct str *out)
{
	char text[FORMAT_SIZE] = "n/a";
	for (size_t m = 0; m < comparison->metrics.len; m++)
		if (comparison->metrics.items[m] == metric)
			format_metric(metrics[metric].unit, subject->series.items[m].about.median, text);
	str_appendf(out, " %s |", text);
}

static void put_row(const struct comparison *comparison, size_t number, struct str *out)
{
	const struct comparison_subject *subject = &comparison->subjects.items[number];
	const struct description *about = &subject->series.items[comparison->primary].about;
	enum metric_unit unit = metrics[comparison->metrics.items[comparison->primary]].unit;
	const struct comparison_pair *pair = pair_of(comparison, number);
	char median[FORMAT_SIZE], spread[FORMAT_SIZE], min[FORMAT_SIZE], max[FORMAT_SIZE];
	format_metric(unit, about->median, median);
	format_percent(100 * about->sd / about->mean, spread);
	format_metric(unit, about->min, min);
	format_metric(unit, about->max, max);
	str_appendf(out, "| %zu | ", comparison_number(comparison, number));
	put_escaped(out, subject->label);
	str_appendf(out, " | %s | %s | %s … %s |", median, spread, min, max);
	put_median(comparison, subject, METRIC_CPU_TIME, out);
	put_median(comparison, subject, METRIC_RSS_PROCESS_PEAK, out);
	str_append(out, " ");
	if (pair) {
		comparison_ratio_text(comparison_primary(comparison, pair), out);
		str_appendf(out, " | **%s** |\n", change_name(comparison_primary(comparison, pair)->verdict));
	} else {
		str_append(out, "1 | reference |\n");
	}
}

static void put_group(const struct comparison *comparison, const struct comparison_group *group, struct str *out)
{
	const struct comparison_subject *first = &comparison->subjects.items[group->first];
	if (comparison->groups.len > 1) {
		struct str title = {0};
		comparison_params_text(first, &title);
		str_append(out, "### ");
		put_escaped(out, str_text(&title));
		str_append(out, "\n\n");
		str_fini(&title);
	}
	str_append(out, "| # | command | ");
	put_escaped(out, metrics[comparison->metrics.items[comparison->primary]].name);
	str_append(out, " | ± sd | min … max | cpu | memory | ratio | verdict |\n");
	str_append(out, "|--:|:--|--:|--:|--:|--:|--:|:--|:--|\n");
	for (size_t i = group->first; i < group->first + group->count; i++)
		put_row(comparison, i, out);
	str_appendf(out, "\n%zu runs of each, interleaved at random (seed %llu); %s.\n\n", group->blocks,
		    (unsigned long long)comparison->settings.seed, comparison_stop_words(group->stop));
	for (size_t i = 0; i < comparison->pairs.len; i++) {
		const struct comparison_pair *pair = &comparison->pairs.items[i];
		if (pair->subject < group->first || pair->subject >= group->first + group->count)
			continue;
		str_append(out, "- ");
		comparison_sentence(comparison, pair, out);
		str_append(out, "\n");
	}
	str_append(out, "\n");
}

static void render(const struct comparison *comparison, const struct render_options *options, struct str *out)
{
	(void)options;
	for (size_t i = 0; i < comparison->groups.len; i++)
		if (comparison->groups.items[i].blocks)
			put_group(comparison, &comparison->groups.items[i], out);
	for (size_t i = 0; i < comparison->notes.len; i++) {
		struct str text = {0};
		comparison_note_text(comparison, &comparison->notes.items[i], &text);
		str_append(out, "> ");
		put_escaped(out, str_text(&text));
		str_append(out, "\n");
		str_fini(&text);
	}
}

const struct comparison_renderer comparison_md = {"md", render};
