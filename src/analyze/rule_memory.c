/* rule_memory.c - memory that runs out: close to the limit, waited for, swapped, growing all the time. */
#include "analyze/host_number.h"
#include "analyze/rule.h"
#include "base/str.h"
#include "stats/series.h"

#include <math.h>
#include <string.h>

static const double close_to_limit = 0.85;  /* of the limit: a somewhat larger input is killed */
static const double close_to_machine = 0.9; /* of all memory, where no limit is set */
static const double pressure_share = 0.1;   /* of the elapsed time */
static const double swap_bytes = 64 * 1048576.0, swap_faults_per_s = 50;
static const double growth_bytes = 48 * 1048576.0; /* less is the noise of allocators */
static const double growth_ratio = 2;              /* end over beginning */
static const double growth_tau = 0.9;              /* of all pairs of samples, those that rise less those that fall */
static const double growth_level = 0.95;           /* of the slope's interval, whose lower end counts */
static const size_t growth_least_points = 8;
/* Of the stage's time: starting up is growth by nature, and at the end everything is freed. */
static const double growth_skip_first = 0.1, growth_skip_last = 0.05;

/* What it needed without page cache, which the kernel can take back. */
static int memory_metric(const struct evidence *evidence)
{
	double tree = evidence_number(evidence, METRIC_MEMORY_ANON_PEAK);
	double process = evidence_number(evidence, METRIC_RSS_PROCESS_PEAK);
	return process > tree || isnan(tree) ? METRIC_RSS_PROCESS_PEAK : METRIC_MEMORY_ANON_PEAK;
}

static void examine_limit(const struct evidence *evidence, struct finding_list *out)
{
	const struct run_record *record = evidence->report->record;
	int metric = memory_metric(evidence);
	double peak = evidence_number(evidence, metric), all = host_number(record, "memory_bytes");
	double limit = host_number(record, "memory_limit_bytes");
	bool limited = limit > 0 && !(limit >= all);
	double most = limited ? limit : all;
	if (!(peak >= (limited ? close_to_limit : close_to_machine) * most))
		return;
	struct finding *finding = finding_add(out, &rule_memory_limit, evidence, FINDING_FIX);
	finding_say(finding, "It needed %.0f MiB, %.0f %% of the %.0f MiB that %s.", peak / 1048576, 100 * peak / most,
		    most / 1048576, limited ? "its control group may use" : "the machine has");
	finding_advise(finding,
		       "A larger input will have it killed. Work in chunks, use smaller types, free what is no "
		       "longer needed, or raise the limit.");
	finding_cite(finding, evidence, metric);
	finding_cite_other(finding, limited ? "memory_limit_bytes" : "memory_bytes", UNIT_BYTES, most, METHOD_EXACT,
			   limited ? "memory limit of pitot's control group" : "/proc/meminfo");
}

const struct finding_rule rule_memory_limit = {
	.id = "memory-limit",
	.title = "Memory close to the limit",
	.fires = "a stage needed at least 85 % of its control group's memory limit, or 90 % of the machine's memory "
		 "(page cache "
		 "left out)",
	.why = "the next larger input is killed, and before that reclaim makes everything slow",
	.todo = "work in chunks, use smaller types, free earlier, or raise the limit",
	.depth = 3,
	.examine = examine_limit,
};

static void examine_pressure(const struct evidence *evidence, struct finding_list *out)
{
	double some = evidence_number(evidence, METRIC_PRESSURE_MEMORY);
	bool own = evidence_is_own(evidence, METRIC_PRESSURE_MEMORY);
	if (!(some / evidence->wall >= pressure_share))
		return;
	struct finding *finding = finding_add(out, &rule_memory_pressure, evidence, own ? FINDING_FIX : FINDING_LOOK);
	finding_say(finding, "%s waited for memory %.0f %% of the time.",
		    own ? "Some of it" : "Something on the machine", 100 * fmin(some / evidence->wall, 1));
	finding_advise(finding,
		       "The kernel takes pages back as fast as they are asked for: give it more memory, or keep "
		       "less in memory at once.");
	finding_cite(finding, evidence, METRIC_PRESSURE_MEMORY);
	finding_cite(finding, evidence, METRIC_MEMORY_PEAK);
	finding_cite(finding, evidence, METRIC_PAGE_FAULTS_MAJOR);
	finding_predict(finding, evidence, some, "there is memory enough");
}

const struct finding_rule rule_memory_pressure = {
	.id = "memory-pressure",
	.title = "Waiting for memory",
	.fires = "something in the stage waited for memory at least 10 % of the time (memory pressure, `some`); `look` "
		 "where only "
		 "the whole machine's pressure is known",
	.why = "reclaiming pages and reading them again is done instead of the work",
	.todo = "more memory, or less of it in use at once",
	.depth = 3,
	.examine = examine_pressure,
};

static void examine_swapping(const struct evidence *evidence, struct finding_list *out)
{
	double swap = evidence_number(evidence, METRIC_SYSTEM_SWAP_PEAK);
	double faults = evidence_number(evidence, METRIC_PAGE_FAULTS_MAJOR);
	if (!(swap >= swap_bytes && faults / evidence->wall >= swap_faults_per_s))
		return;
	/* Swap is the machine's: it may be somebody else's. */
	struct finding *finding = finding_add(out, &rule_swapping, evidence, FINDING_LOOK);
	finding_say(finding, "%.0f page faults a second waited for storage while the machine had %.0f MiB in swap.",
		    faults / evidence->wall, swap / 1048576);
	finding_advise(finding, "Keep less in memory at once, or run it where there is more: swapping costs more than "
				"any other change can save.");
	finding_cite(finding, evidence, METRIC_SYSTEM_SWAP_PEAK);
	finding_cite(finding, evidence, METRIC_PAGE_FAULTS_MAJOR);
	finding_cite(finding, evidence, METRIC_SYSTEM_AVAILABLE_MIN);
}

const struct finding_rule rule_swapping = {
	.id = "swapping",
	.title = "Swapping",
	.fires = "at least 50 page faults a second waited for storage while the machine had 64 MiB or more in swap",
	.why = "memory that has to come back from storage is thousands of times slower",
	.todo = "keep less in memory, or use a machine with more",
	.depth = 3,
	.examine = examine_swapping,
};

/* Without page cache; where there is no control group, resident memory, which has none of it either. */
static const struct series *memory_series(const struct report_stage *stage)
{
	const char *tier = stage->last->row.tier;
	const char *name = tier && str_starts(tier, "cgroup") ? "memory_anon" : "memory";
	for (size_t i = 0; i < stage->series.items.len; i++)
		if (strcmp(stage->series.items.items[i].name, name) == 0)
			return &stage->series.items.items[i];
	return NULL;
}

static size_t points_of(const struct series *series, double *x, double *y)
{
	size_t count = 0, len = series->buckets.len;
	size_t first = (size_t)((double)len * growth_skip_first), end = len - (size_t)((double)len * growth_skip_last);
	for (size_t i = first; i < end; i++) {
		const struct series_bucket *bucket = &series->buckets.items[i];
		if (bucket->count == 0)
			continue;
		x[count] = (double)bucket->at_ns / 1e9;
		y[count++] = bucket->mean;
	}
	return count;
}

static void examine_growth(const struct evidence *evidence, struct finding_list *out)
{
	const struct series *series = memory_series(evidence->stage);
	double x[REPORT_BUCKETS], y[REPORT_BUCKETS];
	if (!series || series->buckets.len > REPORT_BUCKETS)
		return;
	size_t count = points_of(series, x, y);
	if (count < growth_least_points)
		return;
	struct trend trend;
	struct drift drift;
	series_trend(x, y, count, growth_level, &trend);
	series_drift(y, count, &drift);
	double grown = trend.least_squares.low * (x[count - 1] - x[0]);
	if (!(grown >= growth_bytes && drift.tau >= growth_tau && y[count - 1] >= growth_ratio * y[0]))
		return;
	double slope = trend.least_squares.estimate, all = host_number(evidence->report->record, "memory_bytes");
	struct finding *finding = finding_add(out, &rule_memory_growth, evidence, FINDING_LOOK);
	finding_say(finding, "Its memory grew steadily, by %.0f MiB a second, and had not stopped at the end.",
		    slope / 1048576);
	finding_advise(finding, "Look for what is kept but not needed again: results of every chunk, caches without a "
				"limit, lists that only grow. Input four times as long needs four times the memory.");
	finding_cite_other(finding, "memory_growth_bytes_per_s", UNIT_BYTES, slope, METHOD_SAMPLED,
			   "least squares through the memory samples");
	finding_cite_other(finding, "memory_growth_tau", UNIT_RATIO, drift.tau, METHOD_SAMPLED,
			   "Kendall's tau of the memory samples");
	finding_cite(finding, evidence, memory_metric(evidence));
	if (all > 0)
		finding_cite_other(finding, "seconds_until_full", UNIT_SECONDS, fmax(all - y[count - 1], 0) / slope,
				   METHOD_ESTIMATED, "the machine's memory at this rate");
}

const struct finding_rule rule_memory_growth = {
	.id = "memory-growth",
	.title = "Memory that grows all the time",
	.fires = "after the first tenth of the stage and up to its last twentieth its memory keeps rising (Kendall's "
		 "tau 0.9 over eight "
		 "samples or more), by 48 MiB or more (lower end of the slope's 95 % interval) and to at least twice "
		 "as much",
	.why = "memory in proportion to the input limits what can be run; often nobody wants what is kept",
	.todo = "find what is kept; work in chunks and let go of each",
	.depth = 2,
	.examine = examine_growth,
};
