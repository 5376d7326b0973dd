/* findings_words.c - what the formats for people say in the same words, and the rules' documentation. */
#include "analyze/rule.h"
#include "render/findings.h"
#include "render/format.h"

#include <math.h>

void findings_gain_words(const struct finding *finding, struct str *out)
{
	char seconds[FORMAT_SIZE], percent[FORMAT_SIZE];
	if (isnan(finding->gain_s))
		return;
	format_seconds(finding->gain_s, seconds);
	format_percent(100 * finding->gain_share, percent);
	str_appendf(out, "could save %s (%s of the run)", seconds, percent);
}

void findings_number_words(const struct finding_number *number, struct str *out)
{
	char value[FORMAT_SIZE];
	format_metric(number->unit, number->value, value);
	str_appendf(out, "%s %s%s (%s, %s)", number->name, number->lower_bound ? "≥" : "", value,
		    metric_method_name(number->method), number->source);
}

void findings_doc_markdown(struct str *out)
{
	str_append(
		out,
		"# Findings\n\n"
		"Every report ends its tables with what its numbers say should be changed: what, where, on what "
		"evidence, "
		"what to do, and what that would buy. `pitot report --verbose` lists all with their evidence, "
		"`--format json` has them as data (`findings`).\n\n"
		"**fix**: a cause that the numbers show and that costs time or endangers the run. **look**: likely, or "
		"shown by figures of the whole machine only. **note**: good to know.\n\n"
		"The predicted gain is Amdahl's law on the measured times along the critical path of the stages "
		"(`needs`, jobs), with the assumption named beside it. Gains of several findings overlap: they do not "
		"add up. The list is ordered by severity (failures first) and then by gain; the few that make 80 % of "
		"all predicted "
		"gain "
		"are marked. Stages below 50 ms and gains below 2 % of the run say nothing, a gain below 5 % is never "
		"a "
		"fix, and a general finding gives way to a specific one that explains it.\n\n"
		"This page is made from the table of rules in `src/analyze/rule.h`; a test compares them.\n");
	for (const struct finding_rule *const *rule = rule_table; *rule; rule++)
		str_appendf(out, "\n## %s\n\n%s.\n\n- **When**: %s.\n- **Why**: %s.\n- **What to do**: %s.\n",
			    (*rule)->id, (*rule)->title, (*rule)->fires, (*rule)->why, (*rule)->todo);
}
