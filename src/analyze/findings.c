/*
 * findings.c - asks the rules, predicts, sorts out, orders. See finding.h and rule.h.
 *
 * What keeps the list short: stages below SHORTEST say nothing; a predicted gain below a share of the run is dropped,
 * and one below a larger share is no `fix`; a general finding gives way to a specific one that explains it.
 */
#include "analyze/finding.h"
#include "analyze/host_number.h"
#include "analyze/rule.h"
#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double shortest_s = 0.05;       /* below this a stage is start-up and chance */
static const double least_gain = 0.02;       /* share of the run: less is below the noise of most machines */
static const double least_fix_gain = 0.05;   /* less is not worth a change by itself */
static const double explains = 0.5;          /* of a general finding's gain, by a specific one */
static const double one_thread_wants = 1.25; /* cores */
static const double most_queued = 0.95;      /* of the elapsed time: what is left after more is rounding */
static const double vital_share = 0.8;       /* the few that explain 80 % */

const struct finding_rule *const rule_table[] = {
#define RULE_ROW(name) &rule_##name,
	RULE_LIST(RULE_ROW)
#undef RULE_ROW
		NULL};

const char *finding_severity_name(enum finding_severity severity)
{
	static const char *const names[] = {"note", "look", "fix"};
	return names[severity];
}

double evidence_number(const struct evidence *evidence, int metric)
{
	return evidence->values[metric].state == METRIC_KNOWN ? evidence->values[metric].value : NAN;
}

bool evidence_is_own(const struct evidence *evidence, int metric)
{
	return str_starts(evidence->values[metric].source, "cgroup");
}

static struct evidence gather(const struct report *report, const struct plan *plan, const struct schedule *schedule,
			      const struct report_stage *stage, size_t index)
{
	struct evidence evidence = {.report = report,
				    .plan = plan,
				    .schedule = schedule,
				    .stage = stage,
				    .index = index,
				    .values = stage ? stage->values : report->values,
				    .cores = plan->cores};
	evidence.wall = evidence_number(&evidence, METRIC_WALL);
	evidence.cpu = evidence_number(&evidence, METRIC_CPU_TIME);
	evidence.user = evidence_number(&evidence, METRIC_CPU_USER);
	evidence.system = evidence_number(&evidence, METRIC_CPU_SYSTEM);
	evidence.queue = evidence_number(&evidence, METRIC_RUN_QUEUE_WAIT);
	evidence.busy = evidence.cpu / evidence.wall;
	double queue = isnan(evidence.queue) ? 0 : evidence.queue;
	evidence.wanted = (evidence.cpu + queue) / evidence.wall;
	evidence.one_thread = evidence.wanted <= one_thread_wants;
	evidence.alone = evidence.wall - (evidence.one_thread ? fmin(queue, most_queued * evidence.wall) : 0);
	return evidence;
}

struct finding *finding_add(struct finding_list *out, const struct finding_rule *rule, const struct evidence *evidence,
			    enum finding_severity severity)
{
	struct finding *finding = vec_add(&out->items);
	finding->rule = rule;
	finding->severity = severity;
	finding->stage = evidence->stage ? evidence->stage->name : NULL;
	finding->gain_s = finding->gain_share = NAN;
	return finding;
}

static char *format_text(const char *format, va_list args)
{
	char *text = NULL;
	return vasprintf(&text, format, args) < 0 ? mem_strdup("") : text;
}

void finding_say(struct finding *finding, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	finding->what = format_text(format, args);
	va_end(args);
}

void finding_advise(struct finding *finding, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	finding->advice = format_text(format, args);
	va_end(args);
}

void finding_cite_other(struct finding *finding, const char *name, enum metric_unit unit, double value,
			enum metric_method method, const char *source)
{
	struct finding_number *number = vec_add(&finding->evidence);
	*number = (struct finding_number){.name = name, .unit = unit, .value = value, .method = method};
	snprintf(number->source, sizeof(number->source), "%s", source);
}

void finding_cite_from(struct finding *finding, const struct evidence *evidence, const char *name,
		       enum metric_unit unit, double value, int metric)
{
	const struct metric_value *from = &evidence->values[metric];
	if (from->state != METRIC_KNOWN || !isfinite(value))
		return;
	finding_cite_other(finding, name, unit, value, from->method, from->source);
	vec_last(&finding->evidence)->lower_bound = from->lower_bound;
}

void finding_cite(struct finding *finding, const struct evidence *evidence, int metric)
{
	finding_cite_from(finding, evidence, metrics[metric].name, metrics[metric].unit,
			  evidence_number(evidence, metric), metric);
}

static void predict(struct finding *finding, const struct evidence *evidence, double gain_s, char *assumption)
{
	double total = evidence->plan->measured_s;
	finding->gain_s = fmin(fmax(gain_s, 0), total);
	finding->gain_share = total > 0 ? finding->gain_s / total : 0;
	finding->assumption = assumption;
}

void finding_predict(struct finding *finding, const struct evidence *evidence, double saved_s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	double gain_s = plan_gain_s(evidence->plan, evidence->index, fmin(saved_s, evidence->wall));
	predict(finding, evidence, gain_s, format_text(format, args));
	va_end(args);
}

void finding_predict_run(struct finding *finding, const struct evidence *evidence, double gain_s, const char *format,
			 ...)
{
	va_list args;
	va_start(args, format);
	predict(finding, evidence, gain_s, format_text(format, args));
	va_end(args);
}

static void finding_fini(struct finding *finding)
{
	free(finding->what);
	free(finding->advice);
	free(finding->assumption);
	vec_fini(&finding->evidence);
}

void finding_list_fini(struct finding_list *list)
{
	for (size_t i = 0; i < list->items.len; i++)
		finding_fini(&list->items.items[i]);
	vec_fini(&list->items);
}

static bool same_place(const struct finding *a, const struct finding *b)
{
	return a->stage == b->stage || (a->stage && b->stage && strcmp(a->stage, b->stage) == 0);
}

/* Whether a more specific finding of the same stage says why; of any stage where this one is the run's. What has no gain
 * of its own to be explained (a risk, a failure) stays, unless it is of the most general kind. */
static bool is_explained(const struct finding_list *list, const struct finding *finding)
{
	double gain = isnan(finding->gain_share) ? 0 : finding->gain_share;
	if (finding->rule->depth > 0 && (gain == 0 || !finding->stage))
		return false;
	for (size_t i = 0; i < list->items.len; i++) {
		const struct finding *other = &list->items.items[i];
		if (other->rule->depth <= finding->rule->depth || (finding->stage && !same_place(other, finding)))
			continue;
		if (other->gain_share >= explains * gain)
			return true;
	}
	return false;
}

static void drop_what_is_too_small(struct finding_list *list)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->items.len; i++) {
		struct finding *finding = &list->items.items[i];
		if (finding->gain_share < least_gain) {
			finding_fini(finding);
			continue;
		}
		if (finding->gain_share < least_fix_gain && finding->severity == FINDING_FIX)
			finding->severity = FINDING_LOOK;
		list->items.items[kept++] = *finding;
	}
	list->items.len = kept;
}

/* All are judged before any goes: the most general is explained by the most specific, whatever lies between. */
static void drop_what_is_explained(struct finding_list *list)
{
	bool *explained = mem_alloc((list->items.len + 1) * sizeof(*explained));
	for (size_t i = 0; i < list->items.len; i++)
		explained[i] = is_explained(list, &list->items.items[i]);
	size_t kept = 0;
	for (size_t i = 0; i < list->items.len; i++) {
		if (explained[i])
			finding_fini(&list->items.items[i]);
		else
			list->items.items[kept++] = list->items.items[i];
	}
	list->items.len = kept;
	free(explained);
}

static double gain_or_less(const struct finding *finding)
{
	return isnan(finding->gain_s) ? -1 : finding->gain_s;
}

/* By severity, then by gain; equal ones in the table's order and then the stages', which is the order they come in. */
static bool comes_before(const struct finding *a, const struct finding *b)
{
	if (a->severity != b->severity)
		return a->severity > b->severity;
	if (a->rule->first != b->rule->first)
		return a->rule->first;
	return gain_or_less(a) > gain_or_less(b);
}

static void sort_findings(struct finding_list *list)
{
	for (size_t i = 1; i < list->items.len; i++) {
		struct finding moving = list->items.items[i];
		size_t at = i;
		for (; at > 0 && comes_before(&moving, &list->items.items[at - 1]); at--)
			list->items.items[at] = list->items.items[at - 1];
		list->items.items[at] = moving;
	}
}

/* What can be gained by changing the pipeline: a note's gain is another machine's. */
static double gain_to_be_had(const struct finding *finding)
{
	return finding->severity == FINDING_NOTE ? 0 : fmax(gain_or_less(finding), 0);
}

/* The fewest that together make 80 % of the sum of all gains: so the largest, wherever they stand in the list. */
static void mark_vital(struct finding_list *list)
{
	double sum = 0, marked = 0;
	for (size_t i = 0; i < list->items.len; i++)
		sum += gain_to_be_had(&list->items.items[i]);
	while (sum > 0 && marked < vital_share * sum) {
		struct finding *largest = NULL;
		for (size_t i = 0; i < list->items.len; i++) {
			struct finding *finding = &list->items.items[i];
			if (!finding->vital && finding->gain_s > 0 && (!largest || finding->gain_s > largest->gain_s))
				largest = finding;
		}
		if (!largest)
			break;
		largest->vital = true;
		marked += largest->gain_s;
	}
}

static void ask_rules(const struct report *report, const struct plan *plan, const struct schedule *schedule,
		      struct finding_list *out)
{
	struct evidence of_run = gather(report, plan, schedule, NULL, SIZE_MAX);
	for (const struct finding_rule *const *rule = rule_table; *rule; rule++) {
		for (size_t i = 0; (*rule)->examine && i < report->stages.len; i++) {
			const struct report_stage *stage = &report->stages.items[i];
			struct evidence evidence = gather(report, plan, schedule, stage, i);
			if (stage->ran && evidence.wall >= shortest_s)
				(*rule)->examine(&evidence, out);
		}
		if ((*rule)->examine_run && report->total_s >= shortest_s)
			(*rule)->examine_run(&of_run, out);
	}
}

void findings_compute(struct report *report)
{
	struct plan plan;
	struct schedule schedule;
	finding_list_fini(&report->findings);
	plan_from_report(report, &plan);
	plan_schedule(&plan, NULL, plan.jobs, &schedule);
	ask_rules(report, &plan, &schedule, &report->findings);
	drop_what_is_too_small(&report->findings);
	drop_what_is_explained(&report->findings);
	sort_findings(&report->findings);
	mark_vital(&report->findings);
	schedule_fini(&schedule);
	plan_fini(&plan);
}
