/* machine_term.c - see machine.h: what `pitot machine` prints for people. Never wider than the terminal. */
#include "render/flow.h"
#include "render/machine.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_WIDTH = 24, VALUE_WIDTH = 8, RANGE_WIDTH = 12, TEXT_INDENT = 11 };

struct page {
	const struct machine_view *view;
	const struct render_options *options;
	struct str *out;
	bool median, range; /* what there is room for */
	bool all;           /* the team is more than one */
};

static void put_fact(const struct page *page, const char *label, const char *text)
{
	struct flow flow = {.out = page->out,
			    .columns = page->options->columns,
			    .color = page->options->color,
			    .unicode = page->options->unicode};
	if (!text[0])
		return;
	flow_begin(&flow, 0);
	flow_text(&flow, STYLE_DIM, label);
	flow_tab(&flow, TEXT_INDENT);
	flow_text(&flow, STYLE_PLAIN, text);
	flow_end(&flow);
}

static void put_facts(const struct page *page)
{
	static void (*const words[])(const struct machine_view *view, struct str *out) = {
		machine_words_host, machine_words_caches, machine_words_frequency, machine_words_when};
	static const char *const labels[] = {"machine", "caches", "frequency", "when"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct str text = {0};
		words[i](page->view, &text);
		put_fact(page, labels[i], str_text(&text));
		str_fini(&text);
	}
}

static void put_cell(const struct page *page, const char *text, int width, struct str *row)
{
	char *clean = text_clean(text, page->options->unicode);
	text_append_cell(row, clean, width, true, page->options->unicode);
	free(clean);
}

static int group_width(const struct page *page)
{
	return VALUE_WIDTH + page->median * VALUE_WIDTH + page->range * RANGE_WIDTH;
}

/* Ends the row: no spaces at its end, no more than the terminal has. */
static void put_row(const struct page *page, struct str *row, enum style style)
{
	size_t length = text_fitting_bytes(str_text(row), page->options->columns);
	while (length && row->text[length - 1] == ' ')
		length--;
	row->text[length] = '\0';
	style_append(page->out, style, page->options->color, row->text);
	str_append_char(page->out, '\n');
	str_clear(row);
}

static void put_head(const struct page *page)
{
	struct str row = {0};
	char words[32];
	snprintf(words, sizeof(words), "%u threads", page->view->machine->threads);
	str_appendf(&row, "%*s", LABEL_WIDTH, "");
	put_cell(page, "one thread", group_width(page), &row);
	if (page->all)
		put_cell(page, words, group_width(page), &row);
	put_row(page, &row, STYLE_BOLD);
	str_appendf(&row, "%*s", LABEL_WIDTH, "");
	for (int group = 0; group < 1 + page->all; group++) {
		put_cell(page, "best", VALUE_WIDTH, &row);
		if (page->median)
			put_cell(page, "median", VALUE_WIDTH, &row);
		if (page->range)
			put_cell(page, "range", RANGE_WIDTH, &row);
	}
	put_row(page, &row, STYLE_DIM);
	str_fini(&row);
}

static void put_rate(const struct page *page, const struct machine_rate *rate, struct str *row)
{
	char best[16], median[16], low[16], range[40];
	if (!rate) {
		put_cell(page, "n/a", VALUE_WIDTH, row);
		put_cell(page, "", group_width(page) - VALUE_WIDTH, row);
		return;
	}
	machine_format(rate->best, best, sizeof(best));
	machine_format(rate->median, median, sizeof(median));
	machine_format(rate->worst, low, sizeof(low));
	snprintf(range, sizeof(range), "%s–%s", low, best);
	put_cell(page, best, VALUE_WIDTH, row);
	if (page->median)
		put_cell(page, median, VALUE_WIDTH, row);
	if (page->range)
		put_cell(page, range, RANGE_WIDTH, row);
}

static void put_table(const struct page *page, const char *title, enum machine_kind kind)
{
	struct machine_rows rows = {0};
	struct str row = {0};
	machine_rows_of(page->view, kind, page->options->verbose, &rows);
	if (title && rows.items.len) {
		str_append(&row, title);
		put_row(page, &row, STYLE_BOLD);
	}
	for (size_t i = 0; i < rows.items.len; i++) {
		str_append(&row, "  ");
		char *label = text_clean(rows.items.items[i].label, page->options->unicode);
		text_append_cell(&row, label, LABEL_WIDTH - 2, false, page->options->unicode);
		free(label);
		put_rate(page, rows.items.items[i].one, &row);
		if (page->all)
			put_rate(page, rows.items.items[i].all, &row);
		put_row(page, &row, STYLE_PLAIN);
	}
	str_fini(&row);
	vec_fini(&rows.items);
}

static void put_ridges(const struct page *page)
{
	struct machine_ridge ridges[MACHINE_RIDGES];
	struct str row = {0};
	machine_ridges(page->view, ridges);
	str_append(&row, "ridge, FLOP per byte");
	put_row(page, &row, STYLE_BOLD);
	for (int i = 0; i < MACHINE_RIDGES; i++) {
		double values[] = {ridges[i].one, ridges[i].all};
		str_appendf(&row, "  %-*s", LABEL_WIDTH - 2, ridges[i].label);
		for (int group = 0; group < 1 + page->all; group++) {
			char text[16] = "n/a";
			if (!isnan(values[group]))
				snprintf(text, sizeof(text), "%.2f", values[group]);
			put_cell(page, text, VALUE_WIDTH, &row);
			put_cell(page, "", group_width(page) - VALUE_WIDTH, &row);
		}
		put_row(page, &row, STYLE_PLAIN);
	}
	str_fini(&row);
}

static void put_plot(const struct page *page)
{
	struct machine_lines lines;
	struct str row = {0};
	if (machine_lines_of(page->view, page->view->machine->threads, &lines)) {
		str_append_char(page->out, '\n');
		str_appendf(&row, "roofline, %u thread%s: GFLOP/s over FLOP per byte", page->view->machine->threads,
			    page->all ? "s" : "");
		put_row(page, &row, STYLE_BOLD);
		machine_plot(&lines, page->options, page->out);
	}
	str_fini(&row);
	machine_lines_fini(&lines);
}

/* With --verbose: what stands behind each number. */
static void put_provenance(const struct page *page)
{
	const struct machine *machine = page->view->machine;
	str_append_char(page->out, '\n');
	for (size_t i = 0; i < machine->rates.len; i++) {
		const struct machine_rate *rate = &machine->rates.items[i];
		struct str text = {0};
		if (!rate->known)
			continue;
		str_appendf(&text, "%s %s%s, %u thread%s: %zu runs, median %.4g %s, ", rate->what, rate->how,
			    rate->non_temporal ? " nt" : "", rate->threads, rate->threads == 1 ? "" : "s", rate->runs,
			    rate->median, machine_kind_unit(rate->kind));
		if (isnan(rate->low))
			str_append(&text, "too few for an interval");
		else
			str_appendf(&text, "%.1f %% interval %.4g to %.4g", 100 * rate->level, rate->low, rate->high);
		str_appendf(&text, "; %s", rate->source);
		put_fact(page, machine_kind_name(rate->kind), str_text(&text));
		str_fini(&text);
	}
}

static void put_notes(const struct page *page)
{
	const struct machine *machine = page->view->machine;
	str_append_char(page->out, '\n');
	for (size_t i = 0; i < machine->rates.len; i++) {
		const struct machine_rate *rate = &machine->rates.items[i];
		struct str text = {0};
		if (!rate->known) {
			str_appendf(&text, "%s %s %s with %u thread%s: %s", machine_kind_name(rate->kind), rate->what,
				    rate->how, rate->threads, rate->threads == 1 ? "" : "s", rate->reason);
			put_fact(page, "n/a", str_text(&text));
		}
		str_fini(&text);
	}
	for (size_t i = 0; i < machine->notes.len; i++)
		put_fact(page, "note", machine->notes.items[i]);
	for (size_t i = 0; machine_words_method[i]; i++)
		put_fact(page, i ? "" : "how", machine_words_method[i]);
}

void machine_term(const struct machine_view *view, const struct render_options *options, struct str *out)
{
	struct page page = {.view = view, .options = options, .out = out, .median = true, .range = true};
	page.all = view->machine->threads > 1;
	if (LABEL_WIDTH + (1 + page.all) * group_width(&page) > options->columns)
		page.range = false;
	if (LABEL_WIDTH + (1 + page.all) * group_width(&page) > options->columns)
		page.median = false;
	put_facts(&page);
	str_append_char(out, '\n');
	put_head(&page);
	put_table(&page, "peak, GFLOP/s", MACHINE_FMA);
	put_table(&page, NULL, MACHINE_GEMM);
	put_table(&page, "bandwidth, GB/s", MACHINE_BANDWIDTH);
	put_ridges(&page);
	put_plot(&page);
	if (options->verbose)
		put_provenance(&page);
	put_notes(&page);
}
