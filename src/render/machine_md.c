/* machine_md.c - see machine.h: `pitot machine` as Markdown. */
#include "render/machine.h"
#include "render/markup.h"

#include <math.h>
#include <stdio.h>

static void put_line(struct str *out, const char *label, void (*words)(const struct machine_view *, struct str *),
		     const struct machine_view *view)
{
	struct str text = {0};
	words(view, &text);
	if (text.len) {
		str_appendf(out, "- %s: ", label);
		markup_markdown(out, str_text(&text));
		str_append_char(out, '\n');
	}
	str_fini(&text);
}

static void put_rate(const struct machine_rate *rate, struct str *out)
{
	char best[16], median[16], low[16];
	if (!rate) {
		str_append(out, " n/a | | |");
		return;
	}
	machine_format(rate->best, best, sizeof(best));
	machine_format(rate->median, median, sizeof(median));
	machine_format(rate->worst, low, sizeof(low));
	str_appendf(out, " %s | %s | %s–%s |", best, median, low, best);
}

static void put_table(const struct machine_view *view, enum machine_kind kind, bool everything, const char *unit,
		      struct str *out)
{
	struct machine_rows rows = {0};
	bool all = view->machine->threads > 1;
	machine_rows_of(view, kind, everything, &rows);
	str_appendf(out, "\n| %s | one thread, %s | median | range |", machine_kind_name(kind), unit);
	if (all)
		str_appendf(out, " %u threads | median | range |", view->machine->threads);
	str_appendf(out, "\n|---|--:|--:|--:|%s\n", all ? "--:|--:|--:|" : "");
	for (size_t i = 0; i < rows.items.len; i++) {
		str_append(out, "| ");
		markup_markdown(out, rows.items.items[i].label);
		str_append(out, " |");
		put_rate(rows.items.items[i].one, out);
		if (all)
			put_rate(rows.items.items[i].all, out);
		str_append_char(out, '\n');
	}
	vec_fini(&rows.items);
}

static void put_ridges(const struct machine_view *view, struct str *out)
{
	struct machine_ridge ridges[MACHINE_RIDGES];
	machine_ridges(view, ridges);
	for (int i = 0; i < MACHINE_RIDGES; i++) {
		if (isnan(ridges[i].one))
			continue;
		str_appendf(out, "- ridge, %s: %.2f FLOP per byte with one thread", ridges[i].label, ridges[i].one);
		if (!isnan(ridges[i].all))
			str_appendf(out, ", %.2f with %u", ridges[i].all, view->machine->threads);
		str_append_char(out, '\n');
	}
}

static void put_item(struct str *out, const char *text)
{
	str_append(out, "- ");
	markup_markdown(out, text);
	str_append_char(out, '\n');
}

void machine_md(const struct machine_view *view, const struct render_options *options, struct str *out)
{
	const struct machine *machine = view->machine;
	str_append(out, "# Machine\n\n");
	put_line(out, "machine", machine_words_host, view);
	put_line(out, "caches", machine_words_caches, view);
	put_line(out, "frequency", machine_words_frequency, view);
	put_line(out, "when", machine_words_date, view);
	put_ridges(view, out);
	put_table(view, MACHINE_FMA, options->verbose, "GFLOP/s", out);
	put_table(view, MACHINE_GEMM, options->verbose, "GFLOP/s", out);
	put_table(view, MACHINE_BANDWIDTH, options->verbose, "GB/s", out);
	str_append(out, "\n## Notes\n\n");
	for (size_t i = 0; i < machine->rates.len; i++) {
		const struct machine_rate *rate = &machine->rates.items[i];
		char text[512];
		if (rate->known)
			continue;
		snprintf(text, sizeof(text), "not measured: %s %s %s with %u thread%s: %s",
			 machine_kind_name(rate->kind), rate->what, rate->how, rate->threads,
			 rate->threads == 1 ? "" : "s", rate->reason);
		put_item(out, text);
	}
	for (size_t i = 0; i < machine->notes.len; i++)
		put_item(out, machine->notes.items[i]);
	for (size_t i = 0; machine_words_method[i]; i++)
		put_item(out, machine_words_method[i]);
}
