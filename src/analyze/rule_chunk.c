/*
 * rule_chunk.c - what the chunks of a run show as a series: bandwidth that falls while memory grows, latency that rises while the
 * throughput stays, chunks that go through fast but come slowly. Silent where a program records no chunks, or too few.
 *
 * First and last are the medians of the first and the last third, after the tenth in which buffers and caches fill by nature: one
 * slow chunk decides nothing.
 */
#include "analyze/rule.h"
#include "stats/order.h"
#include "stats/series.h"

#include <math.h>

static const size_t least_chunks = 12;
static const double matters = 0.1;           /* of the stage's elapsed time is in chunks */
static const double steady_tau = 0.6;        /* of all pairs of chunks, those that rise less those that fall */
static const double falls_to = 0.67;         /* of the first third's bandwidth */
static const double memory_bytes = 32 << 20; /* that resident memory grows by, at least */
static const double rises_to = 1.5;          /* of the first third's latency */
static const double stays_within = 0.2;      /* of the first third's throughput */
static const double alike = 1.25;            /* largest chunk over smallest */
static const double gap_share = 0.5;         /* of the time from the first chunk to the last is between chunks */
static const double least_gap_s = 0.3;

typedef double chunk_figure(const struct span_report *spans, size_t i);

/* How a figure of the chunks goes from the first to the last. */
struct course {
	double first, last, tau;
};

static struct course course_of(const struct span_report *spans, chunk_figure *figure)
{
	struct course course = {NAN, NAN, NAN};
	double *values = mem_alloc((spans->chunks.len + 1) * sizeof(double));
	size_t count = 0, step = 1 + spans->chunks.len / THEIL_SEN_MOST;
	for (size_t i = spans->chunks.len / 10; i < spans->chunks.len; i += step) {
		double value = figure(spans, i);
		if (isfinite(value))
			values[count++] = value;
	}
	if (count >= least_chunks * 3 / 4) {
		struct drift drift = {.tau = 0};
		size_t third = count / 3;
		series_drift(values, count, &drift);
		course.tau = drift.tau;
		course.last = order_median(values + count - third, third);
		course.first = order_median(values, third);
	}
	free(values);
	return course;
}

static double latency_of(const struct span_report *spans, size_t i)
{
	return spans->chunks.items[i].latency_s;
}

static double bandwidth_of(const struct span_report *spans, size_t i)
{
	return spans->chunks.items[i].bytes_in / spans->chunks.items[i].latency_s;
}

static double resident_of(const struct span_report *spans, size_t i)
{
	return spans->chunks.items[i].rss_bytes;
}

/* Rows of a chunk over the time since the one before it ended: what comes out, whatever happens inside. */
static double throughput_of(const struct span_report *spans, size_t i)
{
	const struct chunk_line *chunk = &spans->chunks.items[i];
	if (i == 0)
		return NAN;
	double before = spans->chunks.items[i - 1].begin_s + spans->chunks.items[i - 1].latency_s;
	return (isnan(chunk->rows) ? 1 : chunk->rows) / (chunk->begin_s + chunk->latency_s - before);
}

static double busy_of(const struct span_report *spans)
{
	double busy_s = 0;
	for (size_t i = 0; i < spans->chunks.len; i++)
		busy_s += spans->chunks.items[i].latency_s;
	return busy_s;
}

static const struct span_report *spans_of(const struct evidence *evidence)
{
	const struct span_report *spans = evidence->stage->spans;
	if (!spans || spans->chunks.len < least_chunks)
		return NULL;
	return busy_of(spans) >= matters * evidence->wall ? spans : NULL;
}

/* ---- bandwidth ---- */

static const char *largest_of(const struct span_report *spans)
{
	size_t found = 0;
	for (size_t i = 1; i < spans->operators.len; i++)
		if (spans->operators.items[i].self_s > spans->operators.items[found].self_s)
			found = i;
	return spans->operators.len ? spans->operators.items[found].path : "none of its operators";
}

/* Seconds that the chunks took beyond what they would at the bandwidth of the first tenth of them. */
static double over_first(const struct span_report *spans)
{
	size_t tenth = spans->chunks.len / 10 + 1, count = 0;
	double *first = mem_alloc(tenth * sizeof(double));
	for (size_t i = 0; i < tenth; i++)
		if (isfinite(bandwidth_of(spans, i)))
			first[count++] = bandwidth_of(spans, i);
	double pace = count ? order_median(first, count) : NAN;
	free(first);
	return fmax(busy_of(spans) - spans->bytes_in / pace, 0);
}

static void examine_bandwidth(const struct evidence *evidence, struct finding_list *out)
{
	const struct span_report *spans = spans_of(evidence);
	if (!spans)
		return;
	struct course bandwidth = course_of(spans, bandwidth_of), resident = course_of(spans, resident_of);
	if (!(bandwidth.tau <= -steady_tau && bandwidth.last <= falls_to * bandwidth.first &&
	      resident.tau >= steady_tau && resident.last - resident.first >= memory_bytes))
		return;
	struct finding *finding = finding_add(out, &rule_chunk_bandwidth, evidence, FINDING_FIX);
	finding_say(finding,
		    "Its chunks go through ever more slowly, from %.3g to %.3g MB/s of input, while resident memory "
		    "grows from %.0f to %.0f MiB; most of the time is in %s.",
		    bandwidth.first / 1e6, bandwidth.last / 1e6, resident.first / 1048576, resident.last / 1048576,
		    largest_of(spans));
	finding_advise(finding,
		       "Memory pressure grows with the data: what every chunk has to go through no longer fits the "
		       "caches, or the machine runs short. Keep less of earlier chunks, bound dictionaries and "
		       "windows, or go through what is kept in order.");
	finding_cite_other(finding, "bandwidth_change", UNIT_PERCENT, 100 * (bandwidth.last / bandwidth.first - 1),
			   METHOD_EXACT, "input bytes over latency, last third of the chunks over the first");
	finding_cite_other(finding, "rss_growth_bytes", UNIT_BYTES, resident.last - resident.first, METHOD_SAMPLED,
			   "resident memory at the end of chunks, last third less the first");
	finding_predict(finding, evidence, over_first(spans), "all chunks go through at the pace of the first tenth");
}

const struct finding_rule rule_chunk_bandwidth = {
	.id = "chunk-bandwidth",
	.title = "Bandwidth that falls as memory grows",
	.fires =
		"over twelve chunks or more with 10 % of the stage's time, input bytes over latency fall by a third or "
		"more from the first third to the last (Kendall's tau -0.6), while resident memory rises by 32 MiB or "
		"more",
	.why = "what is kept of earlier chunks falls out of the caches, and then out of memory",
	.todo = "keep less, bound what grows, go through it in order",
	.depth = 5,
	.examine = examine_bandwidth,
};

/* ---- latency ---- */

static bool rows_are_alike(const struct span_report *spans)
{
	double least = INFINITY, most = 0;
	for (size_t i = 0; i + 1 < spans->chunks.len; i++) { /* the last may be shorter */
		double rows = spans->chunks.items[i].rows;
		least = isnan(rows) ? least : fmin(least, rows);
		most = isnan(rows) ? most : fmax(most, rows);
	}
	return !(most > alike * least);
}

static void examine_latency(const struct evidence *evidence, struct finding_list *out)
{
	const struct span_report *spans = spans_of(evidence);
	if (!spans || !rows_are_alike(spans))
		return;
	struct course latency = course_of(spans, latency_of), rate = course_of(spans, throughput_of);
	if (!(latency.tau >= steady_tau && latency.last >= rises_to * latency.first &&
	      fabs(rate.last / rate.first - 1) <= stays_within))
		return;
	struct finding *finding = finding_add(out, &rule_chunk_latency, evidence, FINDING_LOOK);
	finding_say(finding,
		    "Its chunks take ever longer, from %.3g to %.3g ms each, though they are of one size and leave at "
		    "the same pace.",
		    latency.first * 1e3, latency.last * 1e3);
	finding_advise(finding,
		       "Something else sets the pace, so nothing is lost yet; but work is added to every chunk, most "
		       "often copies of what came before (appending to an array, joining frames). Collect in a list "
		       "and join once, or write into room that is there.");
	finding_cite_other(finding, "latency_change", UNIT_PERCENT, 100 * (latency.last / latency.first - 1),
			   METHOD_EXACT, "latency, last third of the chunks over the first");
	finding_cite_other(finding, "throughput_change", UNIT_PERCENT, 100 * (rate.last / rate.first - 1), METHOD_EXACT,
			   "rows over the time between the ends of chunks, last third over the first");
}

const struct finding_rule rule_chunk_latency = {
	.id = "chunk-latency",
	.title = "Latency that rises while the throughput stays",
	.fires = "over twelve chunks or more of one size with 10 % of the stage's time, latency rises by half or more "
		 "from the first third to the last (Kendall's tau 0.6), and rows leave at the same pace, within 20 %",
	.why = "while something else sets the pace nobody notices; when the chunks take longer than that, throughput "
	       "falls with every one of them",
	.todo = "look for copies of what came before: appending, joining, slicing",
	.depth = 4,
	.examine = examine_latency,
};

/* ---- between chunks ---- */

static void examine_gaps(const struct evidence *evidence, struct finding_list *out)
{
	const struct span_report *spans = spans_of(evidence);
	double end_s = 0, busy_s = 0;
	if (!spans || !(spans->bytes_in > 0))
		return;
	for (size_t i = 0; i < spans->chunks.len; i++) { /* the time in which at least one is in work */
		const struct chunk_line *chunk = &spans->chunks.items[i];
		double begin_s = i && chunk->begin_s < end_s ? end_s : chunk->begin_s;
		busy_s += fmax(chunk->begin_s + chunk->latency_s - begin_s, 0);
		end_s = fmax(end_s, chunk->begin_s + chunk->latency_s);
	}
	double whole_s = end_s - spans->chunks.items[0].begin_s, gap_s = whole_s - busy_s;
	if (!(gap_s >= gap_share * whole_s && gap_s >= least_gap_s))
		return;
	bool waits = evidence->busy < 0.5;
	struct finding *finding = finding_add(out, &rule_chunk_gap, evidence, FINDING_LOOK);
	finding_say(finding,
		    "Its chunks go through at %.3g MB/s of input each, but only %.3g MB/s come through: %.0f %% of the "
		    "time passes between them.",
		    spans->bytes_in / busy_s / 1e6, spans->bytes_in / whole_s / 1e6, 100 * gap_s / whole_s);
	finding_advise(
		finding, "%s",
		waits ? "Nothing computes meanwhile: it is storage or the network. Read ahead in a thread of its "
			"own, ask for more at once, or keep a local copy."
		      : "It computes meanwhile: parsing or decompressing the next chunk. Use a faster reader, a "
			"columnar format, or prepare the next chunk while this one is worked on.");
	finding_cite_other(finding, "between_chunks_s", UNIT_SECONDS, gap_s, METHOD_EXACT, "spans");
	finding_cite_other(finding, "between_chunks_share", UNIT_PERCENT, 100 * gap_s / whole_s, METHOD_EXACT, "spans");
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	finding_predict(finding, evidence, fmin(gap_s, busy_s), "the next chunk is prepared while one is worked on");
}

const struct finding_rule rule_chunk_gap = {
	.id = "chunk-gap",
	.title = "Chunks that go through fast and come slowly",
	.fires = "over twelve chunks or more with 10 % of the stage's time, half of the time from the first chunk to "
		 "the "
		 "last, and 0.3 s at least, passes between chunks",
	.why = "the bandwidth of the chunks is far from the throughput: storage or parsing decides, not the work on "
	       "them",
	.todo = "read ahead; parse faster; prepare one chunk while another is worked on",
	.depth = 3,
	.examine = examine_gaps,
};
