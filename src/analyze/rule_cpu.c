/*
 * rule_cpu.c - how many cores the work is spread over: one while others idle, many threads that take turns, more
 * threads than cores, cores that the run never used.
 *
 * On a machine that others use too, a program that computes all the time gets less than a core. So what it wanted counts
 * (CPU time plus time in the run queue), and what of its elapsed time it would have taken alone.
 */
#include "analyze/rule.h"

#include <math.h>

static const double one_core_from = 0.75, one_core_to = 1.25; /* cores' worth wanted; as the verdict has it */
/* What a program can usually spread: reading, merging and starting stay on one core. */
static const double spreadable = 0.9;
static const double threads_least = 4;        /* computing threads that only one core's worth comes of */
static const double turns_per_s = 50;         /* switches of a program whose threads really take turns */
static const double oversubscribed_ratio = 2; /* runnable threads per core: half of them always wait */
static const double unused_share = 0.25;      /* of the cores, over the whole run */
static const double unused_least_cores = 4, unused_least_s = 1;

static bool is_one_core(const struct evidence *evidence)
{
	return evidence->cores >= 2 && evidence->cpu / evidence->alone >= one_core_from &&
	       evidence->wanted <= one_core_to;
}

/* Where others use the machine, a thread that is handed the lock first waits for a core, and so more is wanted; threads
 * that do not take turns would want as many cores as there are of them. */
static bool is_one_at_a_time(const struct evidence *evidence)
{
	double threads = evidence_number(evidence, METRIC_THREADS_PEAK);
	return evidence->cores >= 2 && evidence->wanted >= one_core_from && evidence->busy <= one_core_to &&
	       evidence->wanted <= fmax(one_core_to, threads / 2);
}

static double spread_gain_s(const struct evidence *evidence)
{
	return evidence->cpu * spreadable * (1 - 1 / evidence->cores);
}

/* Threads that share a process with another: programs in a pipe take turns by nature. */
static double extra_threads(const struct evidence *evidence)
{
	return evidence_number(evidence, METRIC_THREADS_PEAK) - evidence_number(evidence, METRIC_PROCESSES_PEAK);
}

static bool is_taking_turns(const struct evidence *evidence)
{
	double switches = evidence_number(evidence, METRIC_CONTEXT_SWITCHES_VOLUNTARY);
	return extra_threads(evidence) >= threads_least - 1 && switches / evidence->wall >= turns_per_s;
}

static void examine_one_core(const struct evidence *evidence, struct finding_list *out)
{
	if (!is_one_core(evidence) || is_taking_turns(evidence))
		return;
	struct finding *finding = finding_add(out, &rule_one_core, evidence, FINDING_LOOK);
	finding_say(finding, "It computes on one of %.0f cores all the time.", evidence->cores);
	finding_advise(finding,
		       "Split the work over processes or threads, or use a library that does (and check that it "
		       "is allowed to: OMP_NUM_THREADS). Else only faster code helps: profile it.");
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	finding_cite(finding, evidence, METRIC_RUN_QUEUE_WAIT);
	finding_cite(finding, evidence, METRIC_THREADS_PEAK);
	finding_predict(finding, evidence, spread_gain_s(evidence),
			"%.0f %% of its CPU time can be spread evenly over %.0f cores", 100 * spreadable,
			evidence->cores);
}

const struct finding_rule rule_one_core = {
	.id = "one-core",
	.title = "Computing on one core",
	.fires = "a stage uses at least 75 % of one core (of the time it was not kept from one) and wants 125 % at "
		 "most, where "
		 "there are two cores or more",
	.why = "all other cores idle while it runs",
	.todo = "split the work over processes or threads, or let a library do it; where that cannot be, make the code "
		"faster",
	.depth = 1,
	.examine = examine_one_core,
};

static void examine_serialised(const struct evidence *evidence, struct finding_list *out)
{
	double threads = evidence_number(evidence, METRIC_THREADS_PEAK);
	if (!is_one_at_a_time(evidence) || !is_taking_turns(evidence))
		return;
	struct finding *finding = finding_add(out, &rule_serialised_threads, evidence, FINDING_LOOK);
	finding_say(finding, "It has %.0f threads, but together they use one core's worth: they take turns.", threads);
	finding_advise(finding, "A lock lets one run at a time. In Python it is the interpreter's own: use processes "
				"(multiprocessing, concurrent.futures.ProcessPoolExecutor) or code that releases it. "
				"Elsewhere, hold locks for less or split what they protect.");
	finding_cite(finding, evidence, METRIC_THREADS_PEAK);
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	finding_cite(finding, evidence, METRIC_CONTEXT_SWITCHES_VOLUNTARY);
	finding_predict(finding, evidence, spread_gain_s(evidence),
			"%.0f %% of its CPU time can be spread evenly over %.0f cores", 100 * spreadable,
			evidence->cores);
}

const struct finding_rule rule_serialised_threads = {
	.id = "serialised-threads",
	.title = "Threads that take turns",
	.fires = "four threads or more of a process together use one core at most, though they want at least 75 % of "
		 "one, and give "
		 "up their "
		 "core at least 50 times a second",
	.why = "threads that hold one lock in turn do the work of one, and pay for handing it over",
	.todo = "use processes where the lock is the interpreter's; else hold it for less, or split what it protects",
	.depth = 2,
	.examine = examine_serialised,
};

static void examine_oversubscribed(const struct evidence *evidence, struct finding_list *out)
{
	if (!(evidence->wanted >= oversubscribed_ratio * evidence->cores))
		return;
	struct finding *finding = finding_add(out, &rule_oversubscribed, evidence, FINDING_LOOK);
	finding_say(finding, "On average %.1f of its threads wanted to run on %.0f cores.", evidence->wanted,
		    evidence->cores);
	finding_advise(finding,
		       "Start %.0f workers, not more: OMP_NUM_THREADS, -j, n_jobs or the size of the pool. Beyond that "
		       "they only wait for each other, switch, and take memory.",
		       evidence->cores);
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	finding_cite(finding, evidence, METRIC_RUN_QUEUE_WAIT);
	finding_cite(finding, evidence, METRIC_CONTEXT_SWITCHES_FORCED);
	finding_cite(finding, evidence, METRIC_THREADS_PEAK);
	finding_cite(finding, evidence, METRIC_PROCESSES_PEAK);
}

const struct finding_rule rule_oversubscribed = {
	.id = "oversubscribed",
	.title = "More threads than cores",
	.fires = "on average at least twice as many of its threads want to run as there are cores",
	.why = "the cores are busy anyway; more threads add switching, memory and waiting for the slowest",
	.todo = "start as many workers as there are cores; beware of a pool of processes each of which has its own "
		"pool of "
		"threads",
	.depth = 2,
	.examine = examine_oversubscribed,
};

static void examine_unused(const struct evidence *evidence, struct finding_list *out)
{
	double used = evidence->cpu / evidence->report->total_s;
	if (!(evidence->cores >= unused_least_cores) || !(evidence->report->total_s >= unused_least_s) ||
	    !(used < unused_share * evidence->cores))
		return;
	struct finding *finding = finding_add(out, &rule_cores_unused, evidence, FINDING_NOTE);
	finding_say(finding, "The whole run used %.1f of %.0f cores on average.", used, evidence->cores);
	finding_advise(finding,
		       "Use the others (--jobs for stages, workers within them), or ask for a smaller machine.");
	finding_cite(finding, evidence, METRIC_CPU_TIME);
	finding_cite(finding, evidence, METRIC_WALL);
}

const struct finding_rule rule_cores_unused = {
	.id = "cores-unused",
	.title = "Cores that the run never used",
	.fires = "on four cores or more, a run of at least a second used less than a quarter of them; left out where "
		 "another "
		 "finding says why",
	.why = "what is paid for by the hour is paid for idle, too",
	.todo = "spread the work, or take a smaller machine",
	.depth = 0,
	.examine_run = examine_unused,
};
