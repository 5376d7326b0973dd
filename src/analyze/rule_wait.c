/* rule_wait.c - time in which nothing was computed and nothing was read: sleeping, networks, handing work to and fro. */
#include "analyze/rule.h"

#include <math.h>

static const double idle_busy = 0.25;       /* of one core; as the verdict has it */
static const double idle_io_below = 0.2;    /* share of the time: beyond, storage is the story */
static const double handoffs_per_s = 20000; /* threads that mostly compute give up their core some hundred times */
static const double handoff_s = 5e-6;       /* waking another thread, and the switch, on a fast machine */
static const double dear_handoff_s = 20e-6; /* on a slow one: kernel time beyond that is of something else */

static void examine_waiting(const struct evidence *evidence, struct finding_list *out)
{
	double io = evidence_number(evidence, METRIC_PRESSURE_IO_FULL) / evidence->alone;
	double idle = evidence->alone - evidence->cpu;
	if (!evidence->one_thread || !(evidence->cpu / evidence->alone < idle_busy) || io >= idle_io_below ||
	    evidence->stage->verdict == VERDICT_GPU)
		return;
	struct finding *finding = finding_add(out, &rule_waiting, evidence, FINDING_LOOK);
	finding_say(finding, "It waited %.0f %% of the time: neither computing nor reading.",
		    100 * idle / evidence->alone);
	finding_advise(finding,
		       "Look for sleep, requests over the network one at a time, locks, or a process elsewhere that "
		       "it waits for. Send requests side by side, wait for events instead of polling.");
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	finding_cite(finding, evidence, METRIC_CONTEXT_SWITCHES_VOLUNTARY);
	finding_cite(finding, evidence, METRIC_PRESSURE_IO_FULL);
	finding_predict(finding, evidence, idle, "none of the waiting is needed");
}

const struct finding_rule rule_waiting = {
	.id = "waiting",
	.title = "Mostly waiting",
	.fires = "a stage uses less than a quarter of one core (of the time it was not kept from one) and does not "
		 "wait for storage",
	.why = "the time goes by without any work being done here",
	.todo = "overlap requests, replace sleeping by waiting for the event, look at what it waits for",
	.depth = 1,
	.examine = examine_waiting,
};

static void examine_handoffs(const struct evidence *evidence, struct finding_list *out)
{
	double switches = evidence_number(evidence, METRIC_CONTEXT_SWITCHES_VOLUNTARY);
	if (!(switches / evidence->wall >= handoffs_per_s))
		return;
	struct finding *finding = finding_add(out, &rule_handoffs, evidence, FINDING_LOOK);
	finding_say(finding, "Its threads stopped to wait for each other %.0f times a second.",
		    switches / evidence->wall);
	finding_advise(finding,
		       "Hand over work in batches, not item by item: larger queue entries, larger pipe writes, a "
		       "lock taken once per batch.");
	finding_cite(finding, evidence, METRIC_CONTEXT_SWITCHES_VOLUNTARY);
	finding_cite(finding, evidence, METRIC_CPU_SYSTEM);
	finding_cite(finding, evidence, METRIC_THREADS_PEAK);
	/* What it costs here is told by the kernel's own time; where that is not known, the least that it can be. */
	double each = fmin(fmax(evidence_number(evidence, METRIC_CPU_SYSTEM) / switches, handoff_s), dear_handoff_s);
	finding_predict(finding, evidence, fmin(switches * each / 2, 0.9 * evidence->wall),
			"each handing over costs %.0f µs, and hardly any are left", 1e6 * each);
}

const struct finding_rule rule_handoffs = {
	.id = "handoffs",
	.title = "Work handed over item by item",
	.fires = "threads give up their core to wait at least 20 000 times a second",
	.why = "waking another thread and switching to it costs more than the item that is handed over",
	.todo = "hand over in batches; take locks less often",
	.depth = 3,
	.examine = examine_handoffs,
};
