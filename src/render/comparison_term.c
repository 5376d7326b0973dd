/*
 * comparison_term.c - a comparison for the terminal: what came out, how sure that is, and what else was measured.
 *
 * Never wider than the terminal: the names give way first, then the columns that matter least.
 */
#include "render/comparison.h"
#include "render/comparison_scale.h"
#include "render/flow.h"
#include "render/format.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_WIDTH = 3, CELL = 10, LEAST_NAME = 14, MOST_NAME = 44, SCALE_WIDTH = 41 };

struct page {
	const struct comparison *comparison;
	const struct render_options *options;
	struct str *out;
};

static void put_cell(const struct page *page, const char *text, int width, bool right)
{
	char *clean = text_clean(text, page->options->unicode);
	text_append_cell(page->out, clean, width, right, page->options->unicode);
	free(clean);
}

static void end_line(const struct page *page)
{
	while (page->out->len && page->out->text[page->out->len - 1] == ' ')
		page->out->text[--page->out->len] = '\0';
	str_append_char(page->out, '\n');
}

static struct flow new_flow(const struct page *page)
{
	return (struct flow){.out = page->out,
			     .columns = page->options->columns,
			     .color = page->options->color,
			     .unicode = page->options->unicode};
}

static void put_text(const struct page *page, int indent, enum style style, const char *text)
{
	struct flow flow = new_flow(page);
	flow_begin(&flow, indent);
	flow_text(&flow, style, text);
	flow_end(&flow);
}

/* ---- the table of a group ---- */

/* What the columns show, the dearest first: those that do not fit are left out from the end. */
enum column { COLUMN_MEDIAN, COLUMN_SPREAD, COLUMN_CPU, COLUMN_MEMORY, COLUMN_MIN, COLUMN_MAX, COLUMN_COUNT };
static const char *const titles[] = {"median", "± sd", "cpu", "memory", "min", "max"};

static const struct comparison_series *series_of(const struct page *page, const struct comparison_subject *subject,
						 int metric)
{
	for (size_t i = 0; i < page->comparison->metrics.len; i++)
		if (page->comparison->metrics.items[i] == metric)
			return &subject->series.items[i];
	return NULL;
}

static void cell_text(const struct page *page, const struct comparison_subject *subject, enum column column, char *out)
{
	size_t primary = page->comparison->primary;
	const struct description *about = &subject->series.items[primary].about;
	enum metric_unit unit = metrics[page->comparison->metrics.items[primary]].unit;
	const struct comparison_series *cpu = series_of(page, subject, METRIC_CPU_TIME);
	const struct comparison_series *memory = series_of(page, subject, METRIC_RSS_PROCESS_PEAK);
	switch (column) {
	case COLUMN_MEDIAN:
		format_metric(unit, about->median, out);
		break;
	case COLUMN_SPREAD:
		format_percent(100 * about->sd / about->mean, out);
		break;
	case COLUMN_CPU:
		format_seconds(cpu ? cpu->about.median : NAN, out);
		break;
	case COLUMN_MEMORY:
		format_bytes(memory ? memory->about.median : NAN, out);
		break;
	case COLUMN_MIN:
		format_metric(unit, about->min, out);
		break;
	default:
		format_metric(unit, about->max, out);
		break;
	}
}

static void put_table(const struct page *page, const struct comparison_group *group)
{
	int room = page->options->columns - NUMBER_WIDTH;
	int columns = (room - LEAST_NAME) / CELL;
	columns = columns > COLUMN_COUNT ? COLUMN_COUNT : columns < 1 ? 1 : columns;
	int name = room - columns * CELL;
	name = name > MOST_NAME ? MOST_NAME : name;
	put_cell(page, "", NUMBER_WIDTH, false);
	put_cell(page, metrics[page->comparison->metrics.items[page->comparison->primary]].name, name, false);
	for (int i = 0; i < columns; i++)
		put_cell(page, titles[i], CELL, true);
	end_line(page);
	for (size_t i = group->first; i < group->first + group->count; i++) {
		const struct comparison_subject *subject = &page->comparison->subjects.items[i];
		char text[FORMAT_SIZE];
		snprintf(text, sizeof(text), "%zu", i - group->first + 1);
		put_cell(page, text, NUMBER_WIDTH, false);
		put_cell(page, subject->label, name, false);
		for (int k = 0; k < columns; k++) {
			cell_text(page, subject, (enum column)k, text);
			put_cell(page, text, CELL, true);
		}
		end_line(page);
	}
	str_append_char(page->out, '\n');
}

/* ---- the verdicts ---- */

static enum style verdict_style(enum change verdict)
{
	switch (verdict) {
	case CHANGE_REGRESSED:
		return STYLE_BAD;
	case CHANGE_IMPROVED:
		return STYLE_GOOD;
	case CHANGE_EQUIVALENT:
		return STYLE_PLAIN;
	default:
		return STYLE_WARN;
	}
}

static void put_scale(const struct page *page, const struct change_result *result)
{
	double threshold = page->comparison->settings.change.threshold;
	double span = comparison_scale_span(result, threshold);
	int width = page->options->columns - 24;
	width = width > SCALE_WIDTH ? SCALE_WIDTH : width;
	if (width < 11 || isnan(result->ratio))
		return;
	struct str line = {0};
	str_appendf(&line, "   %.2f ", 1 / span);
	comparison_scale(result, threshold, span, width, page->options->unicode, &line);
	str_appendf(&line, " %.2f", span);
	style_append(page->out, STYLE_DIM, page->options->color, str_text(&line));
	end_line(page);
	str_fini(&line);
}

/* The metrics besides the one that decides. */
static void put_others(const struct page *page, const struct comparison_pair *pair)
{
	const struct comparison *comparison = page->comparison;
	for (size_t m = 0; m < comparison->metrics.len; m++) {
		const struct change_result *result = &pair->changes.items[m];
		int metric = comparison->metrics.items[m];
		char base[FORMAT_SIZE], new[FORMAT_SIZE];
		struct str ratio = {0};
		if (m == comparison->primary || (result->median_base == 0 && result->median_new == 0))
			continue;
		format_metric(metrics[metric].unit, result->median_base, base);
		format_metric(metrics[metric].unit, result->median_new, new);
		comparison_ratio_text(result, &ratio);
		put_cell(page, "", NUMBER_WIDTH, false);
		put_cell(page, metrics[metric].name, 27, false);
		put_cell(page, base, 10, true);
		put_cell(page, new, 10, true);
		if (page->options->columns >= 80) {
			put_cell(page, "", 2, false);
			put_cell(page, str_text(&ratio), page->options->columns - NUMBER_WIDTH - 49, false);
		}
		end_line(page);
		str_fini(&ratio);
	}
}

static void put_pairs(const struct page *page, size_t group)
{
	const struct comparison *comparison = page->comparison;
	for (size_t i = 0; i < comparison->pairs.len; i++) {
		const struct comparison_pair *pair = &comparison->pairs.items[i];
		const struct change_result *result = comparison_primary(comparison, pair);
		struct str sentence = {0};
		if (comparison->subjects.items[pair->subject].group != group)
			continue;
		comparison_sentence(comparison, pair, &sentence);
		put_text(page, 0, verdict_style(result->verdict), str_text(&sentence));
		put_scale(page, result);
		put_others(page, pair);
		str_append_char(page->out, '\n');
		str_fini(&sentence);
	}
}

static void put_head(const struct page *page, const struct comparison_group *group)
{
	const struct comparison *comparison = page->comparison;
	const struct comparison_subject *first = &comparison->subjects.items[group->first];
	struct str text = {0};
	if (comparison->groups.len > 1) {
		comparison_params_text(first, &text);
		put_text(page, 0, STYLE_BOLD, str_text(&text));
		str_clear(&text);
	}
	str_appendf(&text, "%zu runs of each, interleaved at random (seed %llu); %s", group->blocks,
		    (unsigned long long)comparison->settings.seed, comparison_stop_words(group->stop));
	if (isfinite(group->half_width))
		str_appendf(&text, " (±%.1f %%)", 100 * group->half_width);
	put_text(page, 0, STYLE_DIM, str_text(&text));
	str_append_char(page->out, '\n');
	str_fini(&text);
}

static void render(const struct comparison *comparison, const struct render_options *options, struct str *out)
{
	struct page page = {comparison, options, out};
	for (size_t i = 0; i < comparison->groups.len; i++) {
		if (comparison->groups.items[i].blocks == 0)
			continue;
		put_head(&page, &comparison->groups.items[i]);
		put_table(&page, &comparison->groups.items[i]);
		put_pairs(&page, i);
	}
	for (size_t i = 0; i < comparison->notes.len; i++) {
		struct str text = {0};
		str_append(&text, "! ");
		comparison_note_text(comparison, &comparison->notes.items[i], &text);
		put_text(&page, 2, STYLE_WARN, str_text(&text));
		str_fini(&text);
	}
}

const struct comparison_renderer comparison_term = {"term", render};
