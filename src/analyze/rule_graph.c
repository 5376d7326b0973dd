/* rule_graph.c - how the stages lie in time: one that dominates, and independent ones that wait for each other. */
#include "analyze/rule.h"
#include "base/str.h"

#include <math.h>

/* A stage with three fifths of the critical path is where four of five improvements have to happen. */
static const double dominant_share = 0.6;
static const size_t dominant_least_stages = 3; /* of two stages one always has half */
static const double parallel_least_gain = 0.1; /* of the run: less is not worth another setting */

static void examine_dominant(const struct evidence *evidence, struct finding_list *out)
{
	const struct report *report = evidence->report;
	double total = evidence->plan->measured_s, share = evidence->wall / total;
	size_t ran = 0;
	for (size_t i = 0; i < report->stages.len; i++)
		ran += report->stages.items[i].ran;
	if (ran < dominant_least_stages || !evidence->schedule->slots.items[evidence->index].critical ||
	    !(share >= dominant_share))
		return;
	struct finding *finding = finding_add(out, &rule_dominant_stage, evidence, FINDING_LOOK);
	finding_say(finding, "It alone takes %.0f %% of the run's time; the other %zu stages share the rest.",
		    100 * share, ran - 1);
	finding_advise(finding,
		       "Work on this stage only: making all the others infinitely fast would save %.2f s. "
		       "`pitot whatif` tries out what a faster stage would do to the run.",
		       fmax(total - evidence->wall, 0));
	finding_cite(finding, evidence, METRIC_WALL);
	finding_cite_from(finding, evidence, "share_of_run", UNIT_PERCENT, 100 * share, METRIC_WALL);
	finding_predict(finding, evidence, evidence->wall / 2, "the stage becomes twice as fast");
}

const struct finding_rule rule_dominant_stage = {
	.id = "dominant-stage",
	.title = "One stage is most of the run",
	.fires = "three stages or more ran, and one on the critical path takes at least 60 % of the run's time; left "
		 "out "
		 "where another finding says why that stage is slow",
	.why = "by Amdahl's law nothing done elsewhere can gain more than what is left beside it",
	.todo = "profile and change this stage only, and measure again",
	.depth = 0,
	.examine = examine_dominant,
};

/* Bytes that all stages need at once at worst; NaN where one of them does not know. */
static double memory_together(const struct report *report)
{
	double sum = 0;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct metric_value *peak = &report->stages.items[i].values[METRIC_RSS_PROCESS_PEAK];
		if (report->stages.items[i].ran)
			sum += peak->state == METRIC_KNOWN ? peak->value : NAN;
	}
	return sum;
}

static void examine_serial(const struct evidence *evidence, struct finding_list *out)
{
	const struct plan *plan = evidence->plan;
	double now = plan_predict_s(plan, NULL, plan->jobs), best = now;
	int jobs = plan->jobs;
	for (int more = plan->jobs + 1; (size_t)more <= plan->stages.len; more++) {
		double predicted = plan_predict_s(plan, NULL, more);
		/* One more job has to be worth something. */
		if (predicted > best - 0.01 * now)
			continue;
		best = predicted;
		jobs = more;
	}
	if (jobs == plan->jobs || !(now - best >= parallel_least_gain * plan->measured_s))
		return;
	struct finding *finding = finding_add(out, &rule_serial_stages, evidence, FINDING_FIX);
	finding_say(finding,
		    "Stages that do not need each other ran %s; side by side the run takes %.2f s, not %.2f s.",
		    plan->jobs > 1 ? "in too few jobs" : "one after the other", best, now);
	finding_advise(finding,
		       "Run it with --jobs %d, or set `profile: {jobs: %d}` in the pipeline file; the stages' `needs:` "
		       "already allow it.",
		       jobs, jobs);
	finding_cite(finding, evidence, METRIC_WALL);
	finding_cite(finding, evidence, METRIC_CPU_TIME);
	finding_cite_other(finding, "jobs", UNIT_COUNT, plan->jobs, METHOD_EXACT, "the run's setting");
	double memory = memory_together(evidence->report);
	if (memory > 0)
		finding_cite_other(finding, "memory_of_all_stages_bytes", UNIT_BYTES, memory, METHOD_ESTIMATED,
				   "sum of the stages' largest processes");
	finding_predict_run(finding, evidence, now - best,
			    "%d jobs; each stage takes as long as it did, and all CPU time fits %.0f cores", jobs,
			    plan->cores);
}

const struct finding_rule rule_serial_stages = {
	.id = "serial-stages",
	.title = "Independent stages run one after the other",
	.fires = "by the stages' `needs`, their times and their CPU time, more jobs would make the run at least 10 % "
		 "shorter",
	.why = "the run's length is that of its critical path only where there are jobs enough to follow it",
	.todo = "run with --jobs N, or set profile.jobs in the pipeline file; watch the memory of stages that then "
		"overlap",
	.depth = 2,
	.examine_run = examine_serial,
};
