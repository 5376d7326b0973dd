/*
 * rule_span.c - what operators and chunks show: memory that grows from chunk to chunk, an operator whose time grows faster than
 * the chunks do, data that goes through slowly. Silent where a program records no chunks, or too few.
 */
#include "analyze/rule.h"
#include "stats/order.h"
#include "stats/series.h"

#include <math.h>

static const size_t least_chunks = 12;
static const double growth_bytes = 32 * 1048576.0; /* over all chunks; less is the noise of allocators */
static const double growth_ratio = 1.5;            /* last over first */
static const double growth_tau = 0.8;              /* of all pairs of chunks, those that rise less those that fall */
static const double matters = 0.1;                 /* of the stage's elapsed time */
static const double sizes_differ = 2;              /* largest chunk over smallest: then time is set against size */
static const double faster_than_linear = 1.2;      /* exponent of time over rows, lower end of its interval */
static const double slower_each = 0.5;             /* from the first chunk to the last, of the median */
static const double low_bytes_per_s = 100e6, least_bytes = 1e6, least_seconds = 0.3;

static const struct span_report *spans_of(const struct evidence *evidence)
{
	const struct span_report *spans = evidence->stage->spans;
	return spans && spans->chunks.len >= least_chunks ? spans : NULL;
}

/* ---- memory ---- */

static size_t memory_points(const struct span_report *spans, double **out)
{
	double *values = mem_alloc((spans->chunks.len + 1) * sizeof(double));
	size_t count = 0, kept = 0, step = 1 + spans->chunks.len / THEIL_SEN_MOST;
	for (size_t i = 0; i < spans->chunks.len; i++)
		if (!isnan(spans->chunks.items[i].rss_bytes) && count++ % step == 0)
			values[kept++] = spans->chunks.items[i].rss_bytes;
	*out = values;
	return kept;
}

static void examine_memory(const struct evidence *evidence, struct finding_list *out)
{
	const struct span_report *spans = spans_of(evidence);
	double *values = NULL;
	struct drift drift = {.tau = 0};
	size_t count = spans ? memory_points(spans, &values) : 0;
	/* The first chunks fill buffers and caches by nature. */
	size_t skip = count / 10;
	if (count >= least_chunks)
		series_drift(values + skip, count - skip, &drift);
	double first = count ? values[skip] : NAN, last = count ? values[count - 1] : NAN;
	free(values);
	if (!(drift.tau >= growth_tau && last - first >= growth_bytes && last >= growth_ratio * first &&
	      spans->memory_trend.low > 0))
		return;
	struct finding *finding = finding_add(out, &rule_chunk_memory, evidence, FINDING_FIX);
	finding_say(finding,
		    "Resident memory grew by %.1f MiB with every chunk, from %.0f to %.0f MiB over %zu chunks.",
		    spans->memory_trend.estimate / 1048576, first / 1048576, last / 1048576, spans->chunks.len);
	finding_advise(finding,
		       "Something is kept of every chunk. Let go of it, write it out, or keep a running figure in its "
		       "place: as it is, twice the data needs twice the memory.");
	finding_cite_other(finding, "rss_bytes_per_chunk", UNIT_BYTES, spans->memory_trend.estimate, METHOD_SAMPLED,
			   "Theil-Sen slope of resident memory at the end of chunks");
	finding_cite_other(finding, "rss_growth_tau", UNIT_RATIO, drift.tau, METHOD_SAMPLED,
			   "Kendall's tau of resident memory at the end of chunks");
	finding_cite_other(finding, "chunks", UNIT_COUNT, (double)spans->chunks.len, METHOD_EXACT, "spans");
}

const struct finding_rule rule_chunk_memory = {
	.id = "chunk-memory",
	.title = "Memory that grows with every chunk",
	.fires = "over twelve chunks or more, resident memory at their end keeps rising after the first tenth "
		 "(Kendall's tau "
		 "0.8), by 32 MiB or more and to at least one and a half times as much",
	.why = "work in chunks is there to keep memory flat; what is kept of each makes it grow with the data after "
	       "all",
	.todo = "let go of each chunk; write results out, or keep running figures",
	.depth = 4,
	.examine = examine_memory,
};

/* ---- time ---- */

struct chunk_sizes {
	double least, most;
};

static struct chunk_sizes sizes_of(const struct span_report *spans)
{
	struct chunk_sizes sizes = {INFINITY, 0};
	for (size_t i = 0; i < spans->chunks.len; i++) {
		double rows = spans->chunks.items[i].rows;
		if (!(rows > 0))
			return (struct chunk_sizes){NAN, NAN};
		sizes.least = fmin(sizes.least, rows);
		sizes.most = fmax(sizes.most, rows);
	}
	return sizes;
}

/* Of an operator: the exponent of its time over the chunks' rows, and what it would have taken at the pace of small chunks. */
static bool exponent_of(const struct span_report *spans, size_t line, double least_rows, struct interval *out,
			double *at_best_s)
{
	size_t count = 0, step = 1 + spans->chunks.len / THEIL_SEN_MOST, small = 0;
	double *x = mem_alloc(spans->chunks.len * sizeof(double)), *y = mem_alloc(spans->chunks.len * sizeof(double));
	double *paces = mem_alloc(spans->chunks.len * sizeof(double)), rows = 0;
	for (size_t k = spans->first_time[line]; k < spans->first_time[line + 1]; k++) {
		double seconds = spans->times.items[k].seconds;
		size_t i = spans->times.items[k].chunk;
		const struct chunk_line *chunk = &spans->chunks.items[i];
		if (!(seconds > 0))
			continue;
		rows += chunk->rows;
		if (chunk->rows <= 1.5 * least_rows)
			paces[small++] = seconds / chunk->rows;
		if (i % step == 0) {
			x[count] = log(chunk->rows);
			y[count++] = log(seconds);
		}
	}
	struct trend trend = {0};
	bool known = count >= least_chunks && small >= 3;
	if (known) {
		series_trend(x, y, count, 0.95, &trend);
		*out = trend.theil_sen;
		*at_best_s = rows * order_median(paces, small);
	}
	free(x);
	free(y);
	free(paces);
	return known;
}

static void say_faster(const struct evidence *evidence, const struct operator_line *line,
		       const struct interval *exponent, double saved_s, struct finding_list *out)
{
	struct finding *finding = finding_add(out, &rule_chunk_time, evidence, FINDING_FIX);
	finding_say(finding, "The operator %s takes time that grows faster than the chunks: rows to the power of %.2f.",
		    line->path, exponent->estimate);
	finding_advise(finding,
		       "Look for work on all pairs, or on all that came before, within a chunk; else larger chunks no "
		       "longer fit the caches. Smaller chunks are cheaper per row either way.");
	finding_cite_other(finding, "time_over_rows_exponent", UNIT_RATIO, exponent->estimate, METHOD_EXACT,
			   "Theil-Sen slope of log time over log rows");
	finding_cite_other(finding, "operator_share", UNIT_PERCENT, 100 * line->share, METHOD_EXACT, "spans");
	finding_predict(finding, evidence, saved_s, "all rows go through at the pace of the smallest chunks");
}

static void say_slower(const struct evidence *evidence, const struct operator_line *line, double saved_s,
		       struct finding_list *out)
{
	struct finding *finding = finding_add(out, &rule_chunk_time, evidence, FINDING_FIX);
	finding_say(finding,
		    "The operator %s becomes slower from chunk to chunk: %+.0f %% from the first to the last, of its "
		    "median.",
		    line->path, 100 * line->trend.estimate);
	finding_advise(finding,
		       "Look for what it goes through again for every chunk and what grows meanwhile: a list that is "
		       "searched, a frame that is appended to, a dictionary without a limit.");
	finding_cite_other(finding, "time_trend", UNIT_PERCENT, 100 * line->trend.estimate, METHOD_EXACT,
			   "Theil-Sen slope over the chunks");
	finding_cite_other(finding, "operator_share", UNIT_PERCENT, 100 * line->share, METHOD_EXACT, "spans");
	finding_predict(finding, evidence, saved_s, "every chunk takes as long as the first tenth of them");
}

/* Seconds over what all chunks would take at the pace of the first tenth. */
static double over_first(const struct span_report *spans, size_t line)
{
	size_t tenth = spans->chunks.len / 10 + 1, count = 0;
	double *first = mem_alloc(tenth * sizeof(double)), sum = 0;
	size_t all = 0;
	for (size_t i = spans->first_time[line]; i < spans->first_time[line + 1]; i++) {
		double seconds = spans->times.items[i].seconds;
		if (count < tenth)
			first[count++] = seconds;
		sum += seconds;
		all++;
	}
	double pace = count ? order_median(first, count) : NAN;
	free(first);
	return sum - (double)all * pace;
}

static bool has_larger_child(const struct span_report *spans, size_t line)
{
	for (size_t i = line + 1; i < spans->operators.len; i++)
		if (spans->operators.items[i].parent == line &&
		    spans->operators.items[i].total_s >= 0.7 * spans->operators.items[line].total_s)
			return true;
	return false;
}

/* The innermost operator that explains it speaks, once. */
static void examine_time(const struct evidence *evidence, struct finding_list *out)
{
	const struct span_report *spans = spans_of(evidence);
	if (!spans)
		return;
	struct chunk_sizes sizes = sizes_of(spans);
	bool by_size = sizes.most >= sizes_differ * sizes.least;
	for (size_t i = 0; i < spans->operators.len; i++) {
		const struct operator_line *line = &spans->operators.items[i];
		struct interval exponent;
		double at_best_s;
		if (line->chunks < least_chunks || line->total_s < matters * evidence->wall ||
		    has_larger_child(spans, i))
			continue;
		if (by_size && exponent_of(spans, i, sizes.least, &exponent, &at_best_s)) {
			if (exponent.low >= faster_than_linear) {
				say_faster(evidence, line, &exponent, fmax(line->total_s - at_best_s, 0), out);
				return;
			}
		} else if (!by_size && line->trend.low >= slower_each) {
			say_slower(evidence, line, fmax(over_first(spans, i), 0), out);
			return;
		}
	}
}

const struct finding_rule rule_chunk_time = {
	.id = "chunk-time",
	.title = "Time that grows faster than the chunks",
	.fires = "an operator with 10 % of the stage's time takes, over twelve chunks or more, time that grows faster "
		 "than the "
		 "chunks' rows (exponent 1.2, lower end of the 95 % interval, where the largest chunk is twice the "
		 "smallest), or, "
		 "where chunks are alike, half as much again from the first to the last",
	.why = "cost per row that rises with the amount of data makes long inputs take for ever",
	.todo = "find the work that is done again for all that came before; try smaller chunks",
	.depth = 4,
	.examine = examine_time,
};

/* ---- bandwidth ---- */

static size_t largest(const struct span_report *spans)
{
	size_t found = 0;
	for (size_t i = 1; i < spans->operators.len; i++)
		if (spans->operators.items[i].self_s > spans->operators.items[found].self_s)
			found = i;
	return found;
}

static void examine_bandwidth(const struct evidence *evidence, struct finding_list *out)
{
	const struct span_report *spans = spans_of(evidence);
	double busy_s = 0;
	if (!spans || !(spans->bytes_in >= least_bytes) || !spans->operators.len)
		return;
	for (size_t i = 0; i < spans->chunks.len; i++)
		busy_s += spans->chunks.items[i].latency_s;
	double bytes_per_s = spans->bytes_in / busy_s;
	if (!(bytes_per_s < low_bytes_per_s && busy_s >= least_seconds && busy_s >= 0.3 * evidence->wall))
		return;
	const struct operator_line *line = &spans->operators.items[largest(spans)];
	bool waits = evidence->busy < 0.5;
	struct finding *finding = finding_add(out, &rule_low_bandwidth, evidence, FINDING_LOOK);
	finding_say(finding,
		    "Its chunks go through at %.3g MB/s of input each, most of the time in %s; below 100 MB/s neither "
		    "memory nor a disk is the limit.",
		    bytes_per_s / 1e6, line->path);
	finding_advise(finding, "%s",
		       waits ? "It waits most of the time: read ahead, ask for more at once, or overlap reading "
			       "with computing."
			     : "It computes most of the time: look at how it parses and copies, and at the types "
			       "that it uses.");
	finding_cite_other(finding, "input_bytes_per_s", UNIT_BYTES, bytes_per_s, METHOD_EXACT,
			   "input bytes over the time of chunks");
	finding_cite_other(finding, "operator_share", UNIT_PERCENT, 100 * line->share, METHOD_EXACT, "spans");
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	/* What computing could be saved nobody knows; waiting could be. */
	if (waits)
		finding_predict(finding, evidence, fmin(busy_s, evidence->wall) - spans->bytes_in / low_bytes_per_s,
				"its input comes at 100 MB/s");
}

const struct finding_rule rule_low_bandwidth = {
	.id = "low-bandwidth",
	.title = "Data that goes through slowly",
	.fires = "chunks of 1 MB or more together took 30 % of the stage's time and 0.3 s at least, at less than 100 "
		 "MB of input "
		 "a second",
	.why = "a core reads tens of times as much from memory; what is slower parses, converts, copies or waits",
	.todo = "find out which: the operator with the most time, and whether it computes or waits",
	.depth = 2,
	.examine = examine_bandwidth,
};
