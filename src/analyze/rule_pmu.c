/* rule_pmu.c - what the hardware counters say about the code; silent where there are none. */
#include "analyze/rule.h"

#include <math.h>

static const double least_cycles = 2e8;    /* a tenth of a second: below, start-up is all there is */
static const double low_ipc = 0.7;         /* current cores retire four and more; below one they mostly wait */
static const double many_cache_misses = 5; /* last-level, per thousand instructions */
static const double miss_s = 8e-8;         /* a read of memory */
static const double overlapped = 0.5;      /* of the misses, by others in flight */
static const double many_branch_misses = 8;
static const double branch_miss_cycles = 15;

/* Per thousand instructions. */
static double per_thousand(const struct evidence *evidence, int metric)
{
	return 1000 * evidence_number(evidence, metric) / evidence_number(evidence, METRIC_INSTRUCTIONS);
}

static bool has_cycles(const struct evidence *evidence)
{
	return evidence_number(evidence, METRIC_CYCLES) >= least_cycles;
}

/* Elapsed seconds that go with CPU seconds: several cores save them side by side. */
static double elapsed_of(const struct evidence *evidence, double cpu_s)
{
	return cpu_s * fmin(1 / evidence->busy, 1);
}

static void examine_ipc(const struct evidence *evidence, struct finding_list *out)
{
	double ipc = evidence_number(evidence, METRIC_INSTRUCTIONS) / evidence_number(evidence, METRIC_CYCLES);
	if (!has_cycles(evidence) || !(ipc < low_ipc))
		return;
	struct finding *finding = finding_add(out, &rule_low_ipc, evidence, FINDING_LOOK);
	finding_say(finding, "It retires %.2f instructions a cycle: the cores mostly wait for data.", ipc);
	finding_advise(finding,
		       "Lay data out so that it is read in order, make it smaller (narrower types), and do more with "
		       "each piece while it is in the cache.");
	finding_cite(finding, evidence, METRIC_INSTRUCTIONS);
	finding_cite(finding, evidence, METRIC_CYCLES);
	finding_predict(finding, evidence, elapsed_of(evidence, evidence->cpu * (1 - ipc)),
			"it reaches one instruction a cycle");
}

const struct finding_rule rule_low_ipc = {
	.id = "low-ipc",
	.title = "Cores that wait for data",
	.fires = "less than 0.7 instructions a cycle, over 200 million cycles or more; left out where cache or branch "
		 "misses explain "
		 "it",
	.why = "a core that could retire four instructions a cycle retires less than one",
	.todo = "read in order, narrower types, blocking",
	.depth = 1,
	.examine = examine_ipc,
};

static void examine_cache(const struct evidence *evidence, struct finding_list *out)
{
	double misses = per_thousand(evidence, METRIC_CACHE_MISSES);
	if (!has_cycles(evidence) || !(misses >= many_cache_misses))
		return;
	struct finding *finding = finding_add(out, &rule_cache_misses, evidence, FINDING_LOOK);
	finding_say(finding, "%.1f of a thousand instructions miss the last cache and wait for memory.", misses);
	finding_advise(finding,
		       "Work in blocks that fit the cache, use narrower types, arrays instead of linked objects, and "
		       "columns instead of rows where few columns are needed.");
	finding_cite(finding, evidence, METRIC_CACHE_MISSES);
	finding_cite(finding, evidence, METRIC_INSTRUCTIONS);
	double cost = evidence_number(evidence, METRIC_CACHE_MISSES) * miss_s * overlapped;
	finding_predict(finding, evidence, elapsed_of(evidence, fmin(cost, 0.8 * evidence->cpu)),
			"a miss costs %.0f ns, half of them overlap, and hardly any are left", 1e9 * miss_s);
}

const struct finding_rule rule_cache_misses = {
	.id = "cache-misses",
	.title = "Missing the caches",
	.fires = "five last-level cache misses or more per thousand instructions, over 200 million cycles or more",
	.why = "a read of memory takes as long as hundreds of instructions",
	.todo = "blocks that fit the cache, narrower types, arrays instead of objects",
	.depth = 2,
	.examine = examine_cache,
};

static void examine_branches(const struct evidence *evidence, struct finding_list *out)
{
	double misses = per_thousand(evidence, METRIC_BRANCH_MISSES);
	double cycles = evidence_number(evidence, METRIC_CYCLES);
	if (!has_cycles(evidence) || !(misses >= many_branch_misses))
		return;
	struct finding *finding = finding_add(out, &rule_branch_misses, evidence, FINDING_LOOK);
	finding_say(finding, "%.1f of a thousand instructions are branches that were guessed wrong.", misses);
	finding_advise(finding,
		       "Sort the data by what is tested, compute both sides and select, or use a table: unpredictable "
		       "tests in inner loops are what costs.");
	finding_cite(finding, evidence, METRIC_BRANCH_MISSES);
	finding_cite(finding, evidence, METRIC_INSTRUCTIONS);
	double share = evidence_number(evidence, METRIC_BRANCH_MISSES) * branch_miss_cycles / cycles;
	finding_predict(finding, evidence, elapsed_of(evidence, fmin(share, 0.8) * evidence->cpu),
			"a wrong guess costs %.0f cycles, and hardly any are left", branch_miss_cycles);
}

const struct finding_rule rule_branch_misses = {
	.id = "branch-misses",
	.title = "Branches guessed wrong",
	.fires = "eight mispredicted branches or more per thousand instructions, over 200 million cycles or more",
	.why = "each throws away the work of some fifteen cycles",
	.todo = "sort first, select instead of branching, use tables",
	.depth = 2,
	.examine = examine_branches,
};
