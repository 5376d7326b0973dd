/*
 * comparison_view.c - the live view of a comparison, on stderr: one line per command, and the interval that shrinks.
 *
 *	compare  12.3 s of 1m 00s  34 runs of each  ±2.4 %, wanted ±2.0 %
 *	1 sort a.txt                    102 ms
 *	2 sort -n a.txt                 110 ms  1.08 × [1.06, 1.10]  ····│··╎├─●─┤···
 *
 * Drawn between runs, never more than ten times a second.
 */
#include "base/clock.h"
#include "render/comparison.h"
#include "render/comparison_scale.h"
#include "render/format.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REDRAW_NS = 90000000, MOST_ROWS = 15, VALUE_COLUMNS = 10, RATIO_COLUMNS = 24, SCALE_COLUMNS = 25 };

struct comparison_view {
	int fd;
	enum progress_mode mode;
	struct render_options options;
	int lines; /* drawn by the last redraw, above the cursor */
	uint64_t drawn_ns;
	size_t told; /* groups whose beginning was told, for the plain mode */
	/* what was drawn last */
	const struct comparison *comparison;
	const struct change_result *results;
	const char *phase;
	size_t group;
};

struct comparison_view *comparison_view_new(int fd, enum progress_mode mode, const struct render_options *options)
{
	struct comparison_view *view = mem_alloc(sizeof(*view));
	*view = (struct comparison_view){.fd = fd, .mode = mode, .options = *options};
	return view;
}

bool comparison_view_is_live(const struct comparison_view *view)
{
	return view->mode == PROGRESS_LIVE;
}

static void emit(const struct comparison_view *view, const struct str *text)
{
	/* The view is a convenience: whoever closed stderr does not want it. */
	ssize_t ignored = write(view->fd, str_text(text), text->len);
	(void)ignored;
}

static void append_head(const struct comparison_view *view, double elapsed_s, struct str *out)
{
	const struct comparison *comparison = view->comparison;
	const struct comparison_group *group = &comparison->groups.items[view->group];
	char elapsed[FORMAT_SIZE], budget[FORMAT_SIZE];
	struct str line = {0};
	format_seconds(elapsed_s, elapsed);
	format_seconds(comparison->settings.budget_s, budget);
	str_appendf(&line, "compare  %s", elapsed);
	if (comparison->settings.runs)
		str_appendf(&line, "  run %zu of %zu", group->blocks, comparison->settings.runs);
	else
		str_appendf(&line, " of %s  %zu runs of each", budget, group->blocks);
	if (comparison->groups.len > 1) {
		str_append(&line, "  ");
		comparison_params_text(&comparison->subjects.items[group->first], &line);
	}
	if (view->phase)
		str_appendf(&line, "  %s", view->phase);
	else if (isfinite(group->half_width) && comparison->settings.runs == 0)
		str_appendf(&line, "  ±%.1f %%, wanted ±%.1f %%", 100 * group->half_width,
			    100 * comparison->settings.precision);
	char *clean = text_clean(str_text(&line), view->options.unicode);
	text_append_cell(out, clean, view->options.columns - 1, false, view->options.unicode);
	free(clean);
	str_fini(&line);
}

static void append_value(const struct comparison_view *view, size_t subject, struct str *out)
{
	const struct comparison *comparison = view->comparison;
	const struct comparison_series *series = &comparison->subjects.items[subject].series.items[comparison->primary];
	char value[FORMAT_SIZE] = "";
	if (series->values.len)
		format_metric(metrics[comparison->metrics.items[comparison->primary]].unit,
			      quantile(series->values.items, series->values.len, 0.5), value);
	char *clean = text_clean(value, view->options.unicode);
	text_append_cell(out, clean, VALUE_COLUMNS, true, view->options.unicode);
	free(clean);
}

static void append_ratio(const struct comparison_view *view, const struct change_result *result, int room,
			 struct str *out)
{
	double threshold = view->comparison->settings.change.threshold;
	struct str ratio = {0};
	comparison_ratio_text(result, &ratio);
	char *clean = text_clean(str_text(&ratio), view->options.unicode);
	str_append(out, "  ");
	text_append_cell(out, clean, RATIO_COLUMNS, false, view->options.unicode);
	if (room >= SCALE_COLUMNS && !isnan(result->ratio))
		/* The same scale all along, so that the shrinking shows. */
		comparison_scale(result, threshold, 1 + 3 * threshold, SCALE_COLUMNS, view->options.unicode, out);
	free(clean);
	str_fini(&ratio);
}

static void append_subject(const struct comparison_view *view, size_t subject, const struct change_result *result,
			   struct str *out)
{
	int room = view->options.columns - 4 - VALUE_COLUMNS - 2 - RATIO_COLUMNS;
	int scale = room >= SCALE_COLUMNS + 16 ? SCALE_COLUMNS : 0, name = room - scale - 1;
	char *label = text_clean(view->comparison->subjects.items[subject].label, view->options.unicode);
	str_appendf(out, "%-3zu", comparison_number(view->comparison, subject));
	text_append_cell(out, label, name > 8 ? name : 8, false, view->options.unicode);
	append_value(view, subject, out);
	if (result && name > 8)
		append_ratio(view, result, scale, out);
	free(label);
}

static void redraw(struct comparison_view *view, double elapsed_s)
{
	const struct comparison_group *group = &view->comparison->groups.items[view->group];
	struct str out = {0};
	size_t rows = group->count < MOST_ROWS ? group->count : MOST_ROWS, at = 0;
	if (view->lines)
		str_appendf(&out, "\033[%dA", view->lines);
	str_append(&out, "\r\033[K");
	append_head(view, elapsed_s, &out);
	str_append(&out, "\n");
	for (size_t i = 0; i < rows; i++) {
		size_t subject = group->first + i;
		bool compared = subject != group->reference;
		str_append(&out, "\033[K");
		append_subject(view, subject, compared && view->results ? &view->results[at] : NULL, &out);
		str_append(&out, "\n");
		at += compared;
	}
	str_append(&out, "\033[J");
	emit(view, &out);
	view->lines = (int)rows + 1;
	view->drawn_ns = clock_mono_ns();
	str_fini(&out);
}

/* One line at the beginning of a group, one at its end. */
static void tell(struct comparison_view *view, double elapsed_s)
{
	const struct comparison_group *group = &view->comparison->groups.items[view->group];
	bool begins = view->told <= view->group, ends = view->phase && strcmp(view->phase, "done") == 0;
	struct str out = {0};
	char elapsed[FORMAT_SIZE];
	if (!begins && !ends)
		return;
	format_seconds(elapsed_s, elapsed);
	str_appendf(&out, "[%zu/%zu] ", view->group + 1, view->comparison->groups.len);
	if (view->comparison->groups.len > 1) {
		comparison_params_text(&view->comparison->subjects.items[group->first], &out);
		str_append(&out, " ");
	}
	if (begins)
		str_appendf(&out, "%zu commands ...\n", group->count);
	else
		str_appendf(&out, "%zu runs of each, %s: %s\n", group->blocks, elapsed,
			    comparison_stop_words(group->stop));
	view->told = view->group + 1;
	emit(view, &out);
	str_fini(&out);
}

void comparison_view_draw(struct comparison_view *view, const struct comparison *comparison, size_t group,
			  const struct change_result *results, const char *phase, double elapsed_s, bool now)
{
	if (view->mode == PROGRESS_NONE || (!comparison && !view->comparison))
		return;
	if (comparison) {
		view->comparison = comparison;
		view->group = group;
		view->results = results;
		view->phase = phase;
	}
	if (view->mode == PROGRESS_PLAIN && comparison)
		tell(view, elapsed_s);
	else if (view->mode == PROGRESS_LIVE && (now || clock_mono_ns() - view->drawn_ns >= REDRAW_NS))
		redraw(view, elapsed_s);
	if (phase && strcmp(phase, "done") == 0)
		view->lines = 0; /* it stays, the next group is drawn below */
}

void comparison_view_say(struct comparison_view *view, const char *text)
{
	struct str out = {0};
	if (view->mode == PROGRESS_NONE)
		return;
	str_appendf(&out, "%s\n", text);
	emit(view, &out);
	view->lines = 0;
	str_fini(&out);
}

void comparison_view_log(struct comparison_view *view, const char *text, size_t lines)
{
	struct str out = {0};
	const char *at = text_tail(text, lines);
	while (*at) {
		size_t length = strcspn(at, "\n");
		str_append(&out, "  | ");
		text_append_log_line(&out, at, length, view->options.unicode);
		str_append(&out, "\n");
		at += length + (at[length] == '\n');
	}
	emit(view, &out);
	view->lines = 0;
	str_fini(&out);
}

void comparison_view_free(struct comparison_view *view)
{
	struct str gap = {0};
	str_append(&gap, "\n");
	if (view->mode != PROGRESS_NONE && view->comparison)
		emit(view, &gap);
	str_fini(&gap);
	free(view);
}
