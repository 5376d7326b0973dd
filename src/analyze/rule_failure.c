/* rule_failure.c - stages that failed, and stages that only a later attempt got through. */
#include "analyze/rule.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

static void examine_failed(const struct evidence *evidence, struct finding_list *out)
{
	const struct report *report = evidence->report;
	const struct stage_row *row = &evidence->stage->worst->row;
	bool failed = evidence->stage->status == STATUS_ERROR || evidence->stage->status == STATUS_TIMEOUT;
	if (!failed || report->record->live)
		return;
	struct finding *finding = finding_add(out, &rule_failed, evidence, FINDING_FIX);
	bool timeout = evidence->stage->status == STATUS_TIMEOUT;
	if (timeout)
		finding_say(finding, "It was ended by its time limit after %.2f s.", evidence->wall);
	else if (row->term_signal)
		finding_say(finding, "It was killed by signal %d after %.2f s.", row->term_signal, evidence->wall);
	else
		finding_say(finding, "It failed with exit status %d after %.2f s.", row->exit_code, evidence->wall);
	if (timeout)
		finding_advise(finding,
			       "Find out what it waited for (its log's end is below), or raise `timeout:`. Its "
			       "times are those of the limit, not of the work.");
	else
		finding_advise(finding, "Read the end of its log below. Numbers of a stage that failed say nothing "
					"about its speed: repair it first.");
	finding_cite(finding, evidence, METRIC_WALL);
}

const struct finding_rule rule_failed = {
	.id = "failed",
	.title = "A stage failed",
	.fires = "a stage ended with an error or by its time limit",
	.why = "what it measured is the way to the failure, not the work; every comparison with it misleads",
	.todo = "read the log's end in the report and repair the stage before tuning anything",
	.depth = 2,
	.first = true,
	.examine = examine_failed,
};

/* When the last attempt that failed had ended, from the notes that the run left; NaN where there is none. */
static double lost_s(const struct evidence *evidence)
{
	const struct run_record *record = evidence->report->record;
	const struct stage_row *row = &evidence->stage->last->row;
	double lost = NAN;
	for (size_t i = 0; i < record->events.len; i++) {
		const struct event_row *event = &record->events.items[i];
		if (event->stage_id != row->id || event->at_ns < row->start_ns || !event->text)
			continue;
		if (str_starts(event->text, "attempt ") && str_ends(event->text, " failed"))
			lost = (double)(event->at_ns - row->start_ns) / 1e9;
	}
	return lost;
}

static void examine_retried(const struct evidence *evidence, struct finding_list *out)
{
	int attempts = evidence->stage->last->row.attempts;
	double lost = lost_s(evidence);
	if (attempts < 2)
		return;
	struct finding *finding = finding_add(out, &rule_retried, evidence, FINDING_FIX);
	if (isnan(lost))
		lost = evidence->wall * (attempts - 1) / attempts;
	finding_say(finding, "It took %d attempts; %.2f s went into attempts that failed.", attempts, lost);
	finding_advise(finding, "Find the cause of the first failure instead of trying again: each attempt costs its "
				"time, and a stage that fails now and then will also fail on all of them.");
	finding_cite_other(finding, "attempts", UNIT_COUNT, attempts, METHOD_EXACT, "pitot");
	finding_cite(finding, evidence, METRIC_WALL);
	finding_predict(finding, evidence, lost, "the first attempt succeeds and takes as long as the last one did");
}

const struct finding_rule rule_retried = {
	.id = "retried",
	.title = "Time lost in attempts that failed",
	.fires = "a stage needed more than one attempt",
	.why = "the failed attempts' time is part of the stage's, and of the run's",
	.todo = "make the first attempt succeed: look at what it waits for or competes with",
	.depth = 2,
	.examine = examine_retried,
};
