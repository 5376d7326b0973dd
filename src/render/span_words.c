/* span_words.c - see span_words.h. */
#include "render/span_words.h"
#include "render/format.h"

#include <math.h>

bool span_words_any(const struct report *report)
{
	for (size_t i = 0; i < report->stages.len; i++)
		if (report->stages.items[i].spans)
			return true;
	return false;
}

double span_words_usual(const struct operator_line *line)
{
	return line->chunks ? line->per_chunk.p50 : line->per_call.p50;
}

void span_words_trend(const struct interval *trend, struct str *out)
{
	if (trend->low > 0 || trend->high < 0)
		str_appendf(out, "%+.0f %%", 100 * trend->estimate);
}

void span_words_rate(double per_s, bool bytes, struct str *out)
{
	char text[FORMAT_SIZE];
	if (!(per_s > 0))
		return;
	if (bytes)
		format_bytes(per_s, text);
	else
		format_count(per_s, text);
	str_appendf(out, "%s/s", text);
}

void span_words_percentiles(const struct span_percentiles *percentiles, struct str *out)
{
	static const char *const names[] = {"p50", "p90", "p95", "p99"};
	const double values[] = {percentiles->p50, percentiles->p90, percentiles->p95, percentiles->p99};
	for (int i = 0; i < 4; i++) {
		char text[FORMAT_SIZE];
		if (isnan(values[i]))
			continue;
		format_seconds(values[i], text);
		str_appendf(out, "%s%s %s", i ? ", " : "", names[i], text);
	}
}

static void add_rate(double all, double per_s, bool bytes, const char *what, struct str *out)
{
	char text[FORMAT_SIZE];
	if (!(all > 0))
		return;
	if (bytes)
		format_bytes(all, text);
	else
		format_count(all, text);
	str_appendf(out, ", %s%s (", text, what);
	span_words_rate(per_s, bytes, out);
	str_append(out, ")");
}

void span_words_chunks(const struct span_report *spans, struct str *out)
{
	char text[FORMAT_SIZE];
	if (!spans->chunks.len)
		return;
	str_appendf(out, "%zu chunk%s", spans->chunks.len, spans->chunks.len == 1 ? "" : "s");
	add_rate(spans->rows, spans->rows_per_s, false, " rows", out);
	add_rate(spans->bytes_in, spans->bytes_per_s, true, " in", out);
	str_append(out, "; a chunk takes ");
	span_words_percentiles(&spans->latency, out);
	struct str trend = {0};
	span_words_trend(&spans->latency_trend, &trend);
	if (trend.len)
		str_appendf(out, "; from the first to the last %s [%+.0f, %+.0f]", str_text(&trend),
			    100 * spans->latency_trend.low, 100 * spans->latency_trend.high);
	str_fini(&trend);
	if (spans->memory_trend.low > 0 || spans->memory_trend.high < 0) {
		format_bytes(fabs(spans->memory_trend.estimate), text);
		str_appendf(out, "; resident memory %s%s per chunk", spans->memory_trend.estimate < 0 ? "−" : "+",
			    text);
	}
}

void span_words_quality(const struct span_report *spans, struct str *out)
{
	char all[FORMAT_SIZE], kept[FORMAT_SIZE];
	format_count((double)spans->recorded, all);
	format_count((double)spans->kept, kept);
	str_appendf(out, "%s spans in %llu process%s, all in the sums; ", all, (unsigned long long)spans->processes,
		    spans->processes == 1 ? "" : "es");
	if (spans->kept == spans->recorded)
		str_append(out, "each is on the time axis");
	else
		str_appendf(out, "%s are on the time axis one by one", kept);
	if (spans->repetitions > 1)
		str_appendf(out, "; times are of one of %d repetitions", spans->repetitions);
	if (spans->lost)
		str_appendf(out, "; %llu more are not counted at all", (unsigned long long)spans->lost);
}

const char *span_words_no_counts(const struct span_report *spans)
{
	if (spans->counts_reason)
		return spans->counts_reason;
	if (!spans->asked_counts)
		return "not asked for (pitot run --span-counters)";
	for (size_t i = 0; i < spans->operators.len; i++) {
		const struct operator_line *line = &spans->operators.items[i];
		if (isnan(line->count_coverage))
			return "not all of their spans were counted: some never ended, overlap others of the same "
			       "name, or "
			       "came after the program had closed the counters";
		if (isnan(line->counts[0] + line->counts[1] + line->counts[2]))
			return "this hardware does not count instructions, cycles and cache misses at once";
	}
	return NULL;
}

void span_words_counts(const struct span_report *spans, struct str *out)
{
	double least = 1;
	if (!spans->asked_counts)
		return;
	if (spans->counts_source)
		str_appendf(out, "Counts are of %s", spans->counts_source);
	for (size_t i = 0; i < spans->operators.len; i++)
		least = spans->operators.items[i].count_coverage < least ? spans->operators.items[i].count_coverage
									 : least;
	if (spans->counts_source && least < 0.9995)
		str_appendf(out, "; scaled: the hardware counted %.1f %% of the time at least", 100 * least);
	if (span_words_no_counts(spans))
		str_appendf(out, "%s: %s",
			    spans->counts_source ? "; some operators have none" : "Operators have no counts",
			    span_words_no_counts(spans));
}

void span_words_named(const struct span_report *spans, struct str *out)
{
	enum { MOST = 8 };
	for (size_t i = 0; i < spans->counters.len && i < MOST; i++)
		str_appendf(out, "%s%s %.6g", i ? ", " : "", spans->counters.items[i].name,
			    spans->counters.items[i].total);
	for (size_t i = 0; i < spans->gauges.len && i < MOST; i++) {
		const struct span_named *gauge = &spans->gauges.items[i];
		str_appendf(out, "%s%s %.6g to %.6g (mean %.6g)", out->len ? ", " : "", gauge->name, gauge->min,
			    gauge->max, gauge->mean);
	}
}
