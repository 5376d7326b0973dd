/*
 * diff_term.c - a comparison for the terminal: the verdict first, then the gate, then what changed, the largest
 * regressions first. Never wider than the terminal; the names give way before the numbers do.
 */
#include "render/delta_formats.h"
#include "render/diff_words.h"
#include "render/flow.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	VALUE_WIDTH = 9,
	CHANGE_WIDTH = 9,
	INTERVAL_WIDTH = 17,
	SEEN_WIDTH = 9,
	LEAST_NAME = 8,
};

struct page {
	const struct delta *delta;
	const struct render_options *options;
	struct str *out;
	int where_width, name_width;
};

static struct flow flow_of(const struct page *page)
{
	return (struct flow){.out = page->out,
			     .columns = page->options->columns,
			     .color = page->options->color,
			     .unicode = page->options->unicode};
}

static void put_line(const struct page *page, int indent, enum style style, const char *mark, const char *text)
{
	struct flow flow = flow_of(page);
	flow_begin(&flow, indent);
	if (mark)
		flow_word(&flow, STYLE_BOLD, mark);
	flow_text(&flow, style, text);
	flow_end(&flow);
}

static enum style verdict_style(enum change verdict)
{
	static const enum style styles[DIFF_CHANGES] = {[CHANGE_REGRESSED] = STYLE_BAD,
							[CHANGE_IMPROVED] = STYLE_GOOD,
							[CHANGE_DIFFERS] = STYLE_WARN,
							[CHANGE_INCONCLUSIVE] = STYLE_WARN,
							[CHANGE_EQUIVALENT] = STYLE_PLAIN};
	return styles[verdict];
}

static const char *where_of(const struct diff_place *place)
{
	return place->table->name;
}

/* ---- the rows ---- */

static void put_cell(const struct page *page, enum style style, const char *text, int width, bool right)
{
	struct str cell = {0};
	char *clean = text_clean(text, page->options->unicode);
	text_append_cell(&cell, clean, width, right, page->options->unicode);
	style_append(page->out, style, page->options->color, str_text(&cell));
	str_fini(&cell);
	free(clean);
}

static void end_line(const struct page *page)
{
	while (page->out->len && page->out->text[page->out->len - 1] == ' ')
		page->out->text[--page->out->len] = '\0';
	str_append_char(page->out, '\n');
}

/* What a narrow terminal loses first: the last of these, so never the change itself. */
static const struct {
	int width, from_columns;
} columns[] = {{VALUE_WIDTH, 52}, {VALUE_WIDTH, 52}, {CHANGE_WIDTH, 0}, {INTERVAL_WIDTH, 72}, {SEEN_WIDTH, 96}};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), CHANGE_COLUMN = 2 };

static int numbers_width(const struct page *page)
{
	int width = 0;
	for (int i = 0; i < COLUMNS; i++)
		width += page->options->columns >= columns[i].from_columns ? 1 + columns[i].width : 0;
	return width;
}

static void measure(struct page *page)
{
	int where = 0, name = 0, room;
	for (size_t i = 0; i < page->delta->diff->ranking.len; i++) {
		const struct diff_place *place = &page->delta->diff->ranking.items[i];
		char *where_text = text_clean(where_of(place), page->options->unicode);
		char *name_text = text_clean(place->row->name, page->options->unicode);
		if (diff_words_shows(page->delta, place)) {
			where = (int)fmax(where, (double)str_columns(where_text));
			name = (int)fmax(name, (double)str_columns(name_text));
		}
		free(where_text);
		free(name_text);
	}
	room = page->options->columns - 2 - 1 - numbers_width(page);
	room = room < 2 * LEAST_NAME ? 2 * LEAST_NAME : room;
	if (where + name > room)
		where = (int)fmin(where, fmax(LEAST_NAME, room - name));
	page->where_width = where;
	page->name_width = where + name > room ? room - where : name;
}

static void put_numbers(const struct page *page, enum style style, const char *const *cells)
{
	for (int i = 0; i < COLUMNS; i++) {
		if (page->options->columns < columns[i].from_columns)
			continue;
		str_append_char(page->out, ' ');
		put_cell(page, i == CHANGE_COLUMN ? style : STYLE_PLAIN, cells[i], columns[i].width, true);
	}
}

static void put_row(const struct page *page, const struct diff_place *place)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE], change[FORMAT_SIZE], interval[FORMAT_SIZE], seen[FORMAT_SIZE];
	const char *cells[COLUMNS] = {a, b, change, interval, seen};
	diff_words_median(place->row, 0, a);
	diff_words_median(place->row, 1, b);
	diff_words_change(place->row, change);
	diff_words_interval(place->row, interval);
	diff_words_detectable(place->row, seen);
	str_append(page->out, "  ");
	put_cell(page, STYLE_PLAIN, where_of(place), page->where_width, false);
	str_append_char(page->out, ' ');
	put_cell(page, STYLE_PLAIN, place->row->name, page->name_width, false);
	put_numbers(page, verdict_style(place->row->result.verdict), cells);
	end_line(page);
}

static void put_titles(const struct page *page, const char *title)
{
	char interval[FORMAT_SIZE];
	const char *cells[COLUMNS] = {"A", "B", "change", interval, "can see"};
	snprintf(interval, sizeof(interval), "%g %% interval", 100 * (1 - 2 * page->delta->diff->options.alpha));
	put_cell(page, STYLE_BOLD, title, 2 + page->where_width + 1 + page->name_width, false);
	put_numbers(page, STYLE_PLAIN, cells);
	end_line(page);
}

static void put_rows(struct page *page)
{
	const struct diff *diff = page->delta->diff;
	int last = -1;
	measure(page);
	for (size_t i = 0; i < diff->ranking.len; i++) {
		const struct diff_place *place = &diff->ranking.items[i];
		enum change verdict = place->row->result.verdict;
		if (!diff_words_shows(page->delta, place))
			continue;
		if ((int)verdict != last) {
			str_append_char(page->out, '\n');
			put_titles(page, diff_words_title(verdict));
			last = (int)verdict;
		}
		put_row(page, place);
	}
}

/* ---- the rest ---- */

static void put_gate(const struct page *page)
{
	static const char *const marks[] = {[GATE_PASS] = "✓", [GATE_FAIL] = "✗", [GATE_INCONCLUSIVE] = "?"};
	static const enum style styles[] = {
		[GATE_PASS] = STYLE_GOOD, [GATE_FAIL] = STYLE_BAD, [GATE_INCONCLUSIVE] = STYLE_WARN};
	const struct gate *gate = page->delta->gate;
	struct str words = {0};
	diff_words_gate(gate, &words);
	put_line(page, 0, styles[gate->outcome], NULL, str_text(&words));
	for (size_t i = 0; i < gate->checks.len; i++) {
		const struct gate_check *check = &gate->checks.items[i];
		struct flow flow = flow_of(page);
		str_clear(&words);
		diff_words_check(check, &words);
		flow_begin(&flow, 2);
		flow_word(&flow, styles[check->outcome], marks[check->outcome]);
		flow.indent = 4;
		flow_text(&flow, STYLE_BOLD, check->name);
		flow_text(&flow, STYLE_PLAIN, str_text(&words));
		flow_end(&flow);
	}
	str_fini(&words);
}

static void put_sides(const struct page *page)
{
	static const char *const names[] = {"A", "B"};
	for (int side = 0; side < 2; side++) {
		struct str words = {0};
		if (page->delta->diff->sides[side].runs.len) {
			diff_words_side(&page->delta->diff->sides[side], &words);
			put_line(page, 2, STYLE_PLAIN, names[side], str_text(&words));
		}
		str_fini(&words);
	}
}

static void put_stage_changes(const struct page *page)
{
	static const struct {
		enum diff_presence presence;
		const char *words;
	} kinds[] = {{DIFF_ADDED, "Only in B: "}, {DIFF_REMOVED, "Only in A: "}};
	for (size_t i = 0; i < 2 && page->delta->diff->sides[0].runs.len; i++) {
		struct str names = {0}, line = {0};
		diff_words_stages(page->delta->diff, kinds[i].presence, &names);
		if (names.len) {
			str_appendf(&line, "%sstage %s", kinds[i].words, str_text(&names));
			put_line(page, 0, STYLE_WARN, NULL, str_text(&line));
		}
		str_fini(&names);
		str_fini(&line);
	}
}

static void put_footer(const struct page *page)
{
	const struct delta *delta = page->delta;
	struct str words = {0};
	size_t hidden = 0;
	for (size_t i = 0; i < delta->diff->ranking.len; i++)
		hidden += !diff_words_shows(delta, &delta->diff->ranking.items[i]);
	diff_words_counts(delta->diff, &words);
	str_appendf(&words, "; each has a %g %% chance of a false alarm", 100 * delta->diff->options.alpha);
	if (hidden)
		str_appendf(&words, " (%zu rows left out; --all shows them)", hidden);
	str_append_char(&words, '.');
	str_append_char(page->out, '\n');
	put_line(page, 0, STYLE_DIM, NULL, str_text(&words));
	str_fini(&words);
}

static void render_term(const struct delta *delta, const struct render_options *options, struct str *out)
{
	struct page page = {.delta = delta, .options = options, .out = out};
	struct str words = {0};
	bool compares = delta->diff->sides[0].runs.len > 0;
	if (delta->gate)
		put_gate(&page);
	diff_words_headline(delta->diff, &words);
	if (delta->rows && compares)
		put_line(&page, 0, verdict_style(delta->diff->verdict), NULL, str_text(&words));
	put_sides(&page);
	for (size_t i = 0; i < delta->diff->warnings.len; i++)
		put_line(&page, 2, STYLE_WARN, "!", delta->diff->warnings.items[i].text);
	put_stage_changes(&page);
	if (delta->rows && compares) {
		put_rows(&page);
		put_footer(&page);
	}
	str_fini(&words);
}

const struct delta_renderer delta_term = {"term", render_term};
