/* span_md.c - operators and chunks as Markdown tables. */
#include "render/format.h"
#include "render/span_render.h"
#include "render/span_words.h"

#include <math.h>

enum { USUAL_ROWS = 20 };

typedef void escape_fn(struct str *out, const char *text);

static void put_seconds(double seconds, struct str *out)
{
	char text[FORMAT_SIZE];
	if (!isnan(seconds)) {
		format_seconds(seconds, text);
		str_append(out, text);
	}
	str_append(out, " | ");
}

static void put_counts(const struct operator_line *line, struct str *out)
{
	for (int event = 0; event < OPERATOR_EVENTS; event++) {
		char text[FORMAT_SIZE];
		format_count(line->counts[event], text);
		str_appendf(out, " %s |", isnan(line->counts[event]) ? "" : text);
	}
}

static void put_row(const struct operator_line *line, const struct span_report *spans, escape_fn *put_escaped,
		    struct str *out)
{
	char calls[FORMAT_SIZE];
	format_count(line->calls, calls);
	str_append(out, "| ");
	put_escaped(out, line->path);
	str_append(out, " | ");
	put_seconds(line->self_s, out);
	str_appendf(out, "%.0f %% | ", 100 * line->share);
	put_seconds(line->total_s, out);
	str_appendf(out, "%s | ", calls);
	put_seconds(span_words_usual(line), out);
	span_words_trend(&line->trend, out);
	str_append(out, " | ");
	span_words_rate(line->rows_per_s, false, out);
	str_append(out, " | ");
	span_words_rate(line->bytes_per_s, true, out);
	str_append(out, " |");
	if (spans->has_cpu) {
		str_append(out, " ");
		put_seconds(line->cpu_s, out);
	}
	if (spans->counts_source)
		put_counts(line, out);
	str_append(out, "\n");
}

static void put_words(const struct span_report *spans, escape_fn *put_escaped, struct str *out,
		      void (*words)(const struct span_report *spans, struct str *out))
{
	struct str text = {0};
	words(spans, &text);
	if (text.len) {
		str_append(out, "\n");
		put_escaped(out, str_text(&text));
		str_append(out, "\n");
	}
	str_fini(&text);
}

static void put_stage(const struct report_stage *stage, size_t top, escape_fn *put_escaped, struct str *out)
{
	const struct span_report *spans = stage->spans;
	size_t most = top ? top : USUAL_ROWS;
	str_append(out, "\n### Operators: ");
	put_escaped(out, stage->name);
	str_appendf(out,
		    "\n\n| Operator | Self | Share | Total | Calls | Usual | Trend | Rows | Bytes |%s%s\n"
		    "|---|---:|---:|---:|---:|---:|---:|---:|---:|%s%s\n",
		    spans->has_cpu ? " CPU |" : "",
		    spans->counts_source ? " Instructions | Cycles | Cache misses |" : "",
		    spans->has_cpu ? "---:|" : "", spans->counts_source ? "---:|---:|---:|" : "");
	for (size_t i = 0; i < spans->operators.len && i < most; i++)
		put_row(&spans->operators.items[i], spans, put_escaped, out);
	if (spans->operators.len > most)
		str_appendf(out, "\n%zu more.\n", spans->operators.len - most);
	put_words(spans, put_escaped, out, span_words_chunks);
	put_words(spans, put_escaped, out, span_words_named);
	put_words(spans, put_escaped, out, span_words_counts);
	put_words(spans, put_escaped, out, span_words_quality);
}

void span_md(const struct report *report, size_t top, escape_fn *put_escaped, struct str *out)
{
	for (size_t i = 0; i < report->stages.len; i++)
		if (report->stages.items[i].spans)
			put_stage(&report->stages.items[i], top, put_escaped, out);
}
