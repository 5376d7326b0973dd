/*
 * finding.h - what a run's numbers say should be changed: what, where, on what evidence, what to do, what it would buy.
 *
 * findings_compute asks every rule of the table (rule.h) about every stage and about the run, predicts each finding's
 * gain along the critical path (critical.h), drops what is not worth a reader's time, and orders the rest: by severity,
 * within it by predicted gain. Pure.
 *
 * Severities: `fix` is a cause that the numbers show and that costs time or endangers the run; `look` is likely, or
 * shown by numbers of the whole machine only; `note` is good to know. A rule that says `fix` about a healthy program is
 * a bug; tests/system/healthy has the programs that hold it to that.
 */
#ifndef PITOT_ANALYZE_FINDING_H
#define PITOT_ANALYZE_FINDING_H

#include "base/metric.h"
#include "base/vec.h"

struct report;
struct finding_rule;

enum finding_severity { FINDING_NOTE, FINDING_LOOK, FINDING_FIX };
const char *finding_severity_name(enum finding_severity severity); /* "note", "look", "fix" */

/* A number that a finding rests on. */
struct finding_number {
	const char *name; /* static: of the registry, or of a number made from such, "processes_per_s" */
	enum metric_unit unit;
	double value;
	enum metric_method method;
	bool lower_bound;
	char source[METRIC_SOURCE_SIZE];
};

struct finding {
	const struct finding_rule *rule; /* its id, title and documentation: rule.h */
	enum finding_severity severity;
	const char *stage; /* borrowed from the report; NULL: the whole run */
	char *what;        /* one sentence, with the numbers that matter */
	char *advice;      /* what to do */
	VEC(struct finding_number) evidence;
	double gain_s;     /* predicted, of the run's elapsed time; NaN where none can be predicted */
	double gain_share; /* the same, of the run's elapsed time: 0 to 1 */
	char *assumption;  /* of the prediction; NULL where there is none */
	bool vital;        /* one of the few that explain 80 % of all predicted gain */
};

struct finding_list {
	VEC(struct finding) items;
};

/* Fills report->findings. The stages' series, processes and census should have been attached: rules that need them are
 * silent where they are not there. */
void findings_compute(struct report *report);
void finding_list_fini(struct finding_list *list);

#endif
