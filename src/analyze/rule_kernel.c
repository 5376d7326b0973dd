/* rule_kernel.c - more CPU time in the kernel than in the program. */
#include "analyze/rule.h"

#include <math.h>

static const double system_share = 0.5, system_busy = 0.3, system_least_s = 0.1;
static const double system_usual = 0.2; /* share of the CPU time that programs with files to read have */

static void examine_system(const struct evidence *evidence, struct finding_list *out)
{
	double share = evidence->system / evidence->cpu;
	if (!(share >= system_share && evidence->cpu / evidence->alone >= system_busy &&
	      evidence->system >= system_least_s))
		return;
	struct finding *finding = finding_add(out, &rule_system_time, evidence, FINDING_LOOK);
	finding_say(finding, "%.0f %% of its CPU time goes into the kernel.", 100 * share);
	finding_advise(finding, "Find out which calls (strace -c -f, or perf trace -s): copying data, mapping memory, "
				"opening files, or polling. Fewer and larger calls.");
	finding_cite(finding, evidence, METRIC_CPU_SYSTEM);
	finding_cite(finding, evidence, METRIC_CPU_USER);
	finding_cite(finding, evidence, METRIC_PAGE_FAULTS_MINOR);
	finding_cite(finding, evidence, METRIC_CONTEXT_SWITCHES);
	double saved = evidence->system - system_usual * evidence->cpu;
	finding_predict(finding, evidence, saved * fmin(1 / evidence->busy, 1), "the kernel's part falls to %.0f %%",
			100 * system_usual);
}

const struct finding_rule rule_system_time = {
	.id = "system-time",
	.title = "Busy in the kernel",
	.fires = "at least half of the CPU time (100 ms or more) is the kernel's, in a stage that uses 30 % of a core "
		 "or more",
	.why = "the program asks for so many or such large services that its own work is the smaller part",
	.todo = "find the calls, make them fewer and larger",
	.depth = 2,
	.examine = examine_system,
};
