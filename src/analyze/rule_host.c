/* rule_host.c - the machine under the run: a hypervisor that takes time, neighbours, and resources asked for in vain. */
#include "analyze/host_number.h"
#include "analyze/rule.h"

#include <math.h>

static const double steal_share = 0.05;  /* of the cores' time */
static const double noisy_cores = 0.5;   /* cores' worth of CPU time of others */
static const double noisy_share = 0.25;  /* of the cores */
static const double noisy_spread = 0.1;  /* standard deviation over median of three repetitions or more */
static const double noisy_least_s = 0.2; /* of a run: the machine's figures come twice a second */
static const double memory_asked = 8;    /* times what was used */
static const double memory_asked_least = 1073741824.0;

static void examine_steal(const struct evidence *evidence, struct finding_list *out)
{
	double share = evidence_number(evidence, METRIC_STEAL) / (evidence->report->total_s * evidence->cores);
	if (!(share >= steal_share))
		return;
	struct finding *finding = finding_add(out, &rule_steal, evidence, FINDING_LOOK);
	finding_say(finding, "The hypervisor gave %.0f %% of the cores' time to other machines.", 100 * share);
	finding_advise(finding,
		       "Do not trust differences of that size between runs made here; repeat and interleave them "
		       "(pitot compare), or use a machine of your own.");
	finding_cite(finding, evidence, METRIC_STEAL);
	finding_cite(finding, evidence, METRIC_WALL);
}

const struct finding_rule rule_steal = {
	.id = "steal",
	.title = "A hypervisor that takes time",
	.fires = "the hypervisor gave at least 5 % of the cores' time to others",
	.why = "times measured here differ by at least as much for no reason of the program's",
	.todo = "repeat and interleave, or use a machine that is not shared",
	.depth = 2,
	.examine_run = examine_steal,
};

static void examine_noisy(const struct evidence *evidence, struct finding_list *out)
{
	const struct report *report = evidence->report;
	double others = evidence_number(evidence, METRIC_SYSTEM_CPU_PERCENT) / 100 -
			evidence_number(evidence, METRIC_CPU_PERCENT_AVG) / 100;
	double spread = report->total.n >= 3 ? report->total.sd / report->total.median : NAN;
	double cores = host_number(report->record, "cpus");
	bool busy = others >= noisy_cores && others >= noisy_share * cores && report->total_s >= noisy_least_s;
	if (!busy && !(spread >= noisy_spread))
		return;
	struct finding *finding = finding_add(out, &rule_noisy_host, evidence, FINDING_NOTE);
	if (busy)
		finding_say(finding, "Other programs used %.1f of %.0f cores meanwhile.", others, cores);
	else
		finding_say(finding, "The repetitions differ by %.0f %% (standard deviation).", 100 * spread);
	finding_advise(finding,
		       "Do not trust small differences from this run: repeat it on an idle machine, or interleave "
		       "what is to be compared.");
	finding_cite(finding, evidence, METRIC_SYSTEM_CPU_PERCENT);
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	if (!isnan(spread))
		finding_cite_from(finding, evidence, "repetition_spread", UNIT_PERCENT, 100 * spread, METRIC_WALL);
}

const struct finding_rule rule_noisy_host = {
	.id = "noisy-host",
	.title = "A noisy machine",
	.fires = "other programs used half a core and a quarter of the cores or more, or the repetitions' standard "
		 "deviation is at "
		 "least 10 % of their median",
	.why = "the times depend on what else ran",
	.todo = "do not trust small differences; repeat on an idle machine, or interleave",
	.depth = 2,
	.examine_run = examine_noisy,
};

/* The most stages that ran at the same time in the last repetition. */
static int most_together(const struct report *report)
{
	int most = 0;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct stage_row *one = &report->stages.items[i].last->row;
		int together = 0;
		for (size_t k = 0; k < report->stages.len; k++) {
			const struct stage_row *other = &report->stages.items[k].last->row;
			together += report->stages.items[k].ran && other->start_ns <= one->start_ns &&
				    other->end_ns > one->start_ns;
		}
		most = together > most ? together : most;
	}
	return most;
}

static void examine_requested(const struct evidence *evidence, struct finding_list *out)
{
	const struct run_record *record = evidence->report->record;
	int jobs = record->row.jobs, together = most_together(evidence->report);
	double limit = host_number(record, "memory_limit_bytes"), peak = evidence_number(evidence, METRIC_MEMORY_PEAK);
	if (jobs > 1 && together > 0 && jobs >= 2 * together) {
		struct finding *finding = finding_add(out, &rule_requested_resources, evidence, FINDING_NOTE);
		finding_say(finding, "%d jobs were asked for, but never more than %d stage%s ran at once.", jobs,
			    together, together == 1 ? "" : "s");
		finding_advise(finding,
			       "Check the stages' `needs:` (a stage without it needs the one before it), or ask "
			       "for fewer jobs.");
		finding_cite_other(finding, "jobs", UNIT_COUNT, jobs, METHOD_EXACT, "the run's setting");
		finding_cite_other(finding, "stages_at_once", UNIT_COUNT, together, METHOD_EXACT, "stage times");
	}
	if (limit >= memory_asked_least && limit < host_number(record, "memory_bytes") && peak > 0 &&
	    limit >= memory_asked * peak) {
		struct finding *finding = finding_add(out, &rule_requested_resources, evidence, FINDING_NOTE);
		finding_say(finding, "The memory limit is %.0f MiB; the run needed %.0f MiB at most.", limit / 1048576,
			    peak / 1048576);
		finding_advise(finding, "Ask for less memory: twice the peak leaves room for larger inputs.");
		finding_cite_other(finding, "memory_limit_bytes", UNIT_BYTES, limit, METHOD_EXACT,
				   "memory limit of pitot's control group");
		finding_cite(finding, evidence, METRIC_MEMORY_PEAK);
	}
}

const struct finding_rule rule_requested_resources = {
	.id = "requested-resources",
	.title = "Asked for far more than was used",
	.fires = "twice as many jobs were asked for as ever ran at once; or the control group's memory limit (1 GiB or "
		 "more) is "
		 "eight times the run's peak or more",
	.why = "what is reserved and not used is paid for, and keeps others waiting",
	.todo = "ask for what the numbers say, with room to spare",
	.depth = 2,
	.examine_run = examine_requested,
};
