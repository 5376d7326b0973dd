/* rule_quota.c - time in which the stage could have run but was not let: by a quota, or by other programs. */
#include "analyze/rule.h"

#include <math.h>

static const double throttled_share = 0.1; /* of the time it wanted to run; less is the grain of the quota's period */
static const double contention_share = 0.25, contention_of_wall = 0.1; /* as the verdict has it */

static void examine_throttled(const struct evidence *evidence, struct finding_list *out)
{
	double throttled = evidence_number(evidence, METRIC_THROTTLED);
	double share = throttled / (evidence->cpu + throttled);
	if (!(share >= throttled_share))
		return;
	struct finding *finding = finding_add(out, &rule_throttled, evidence, FINDING_FIX);
	finding_say(finding, "A CPU quota stopped it for %.0f %% of the time it wanted to run.", 100 * share);
	finding_advise(finding, "Raise the quota (cpu.max, the container's or the pod's CPU limit), or start as many "
				"threads as the quota has cores: more only use it up sooner in each period.");
	finding_cite(finding, evidence, METRIC_THROTTLED);
	finding_cite(finding, evidence, METRIC_CPU_TIME);
	finding_predict(finding, evidence, share * evidence->wall, "the quota is lifted and the cores are free");
}

const struct finding_rule rule_throttled = {
	.id = "throttled",
	.title = "Stopped by a CPU quota",
	.fires = "a CPU quota stopped the stage for at least 10 % of the time it wanted to run",
	.why = "a quota stops every thread until the next period begins, however idle the machine is",
	.todo = "raise the limit of the control group, container or pod, or use fewer threads",
	.depth = 3,
	.examine = examine_throttled,
};

static void examine_contention(const struct evidence *evidence, struct finding_list *out)
{
	double share = evidence->queue / (evidence->cpu + evidence->queue);
	/* More threads than cores wait by their own making: another rule's. */
	if (!(share >= contention_share && evidence->queue / evidence->wall >= contention_of_wall) ||
	    !(evidence->wanted <= evidence->cores + 0.25))
		return;
	struct finding *finding = finding_add(out, &rule_cpu_contention, evidence, FINDING_NOTE);
	finding_say(finding,
		    "It was ready to run but had no core for %.0f %% of the time it wanted one: other programs "
		    "had them.",
		    100 * share);
	finding_advise(finding, "Measure again on an idle machine, or give this one fewer jobs; these times say little "
				"about the program.");
	finding_cite(finding, evidence, METRIC_RUN_QUEUE_WAIT);
	finding_cite(finding, evidence, METRIC_PRESSURE_CPU);
	finding_cite(finding, evidence, METRIC_SYSTEM_CPU_PERCENT);
	finding_predict(finding, evidence, evidence->wall * share / fmax(evidence->wanted, 1),
			"nothing else runs on the machine");
}

const struct finding_rule rule_cpu_contention = {
	.id = "cpu-contention",
	.title = "Waiting for a core that others use",
	.fires = "threads were ready without a core for at least 25 % of the time they wanted to run and 10 % of the "
		 "elapsed "
		 "time, and there were no more of them than cores",
	.why = "the elapsed time then is the machine's mood, not the program's",
	.todo = "measure on an idle machine; run fewer things at once",
	.depth = 0,
	.examine = examine_contention,
};
