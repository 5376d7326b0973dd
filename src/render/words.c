/* words.c - see words.h. */
#include "render/words.h"
#include "render/format.h"

#include <math.h>
#include <string.h>

static bool is_known(const struct metric_value *values, int metric)
{
	return values[metric].state == METRIC_KNOWN;
}

int words_memory_metric(const struct metric_value *values)
{
	int tree = is_known(values, METRIC_MEMORY_ANON_PEAK) || !is_known(values, METRIC_RSS_SUM_PEAK)
			   ? METRIC_MEMORY_ANON_PEAK
			   : METRIC_RSS_SUM_PEAK;
	if (!is_known(values, METRIC_RSS_PROCESS_PEAK))
		return tree;
	bool larger = !is_known(values, tree) || values[METRIC_RSS_PROCESS_PEAK].value > values[tree].value;
	return larger ? METRIC_RSS_PROCESS_PEAK : tree;
}

bool words_stage_running(const struct report *report, const struct report_stage *stage)
{
	const struct stage_row *row = &stage->last->row;
	return report->record->live && row->status == STATUS_INTERRUPTED && row->end_ns == 0;
}

const char *words_stage_status(const struct report *report, const struct report_stage *stage)
{
	return words_stage_running(report, stage) ? "running" : status_name(stage->status);
}

const char *words_run_status(const struct report *report)
{
	return report->record->live ? "running" : status_name(report->record->row.status);
}

bool words_is_failure(enum stage_status status)
{
	return status == STATUS_ERROR || status == STATUS_TIMEOUT || status == STATUS_INTERRUPTED;
}

void words_bottleneck(const struct report *report, struct str *out)
{
	if (report->bottleneck >= report->stages.len)
		return;
	const struct report_stage *stage = &report->stages.items[report->bottleneck];
	char share[FORMAT_SIZE];
	format_percent(stage->share * 100, share);
	str_appendf(out, "%s takes %s of the time", stage->name, share);
	if (stage->verdict == VERDICT_MIXED)
		str_append(out, "; no single resource holds it up");
	else if (stage->verdict != VERDICT_NONE)
		str_appendf(out, " and is %s", verdict_name(stage->verdict));
}

void words_failure(const struct report_stage *stage, struct str *out)
{
	const struct stage_row *row = &stage->worst->row;
	if (row->reason && *row->reason)
		str_append(out, row->reason);
	else if (row->term_signal)
		str_appendf(out, "killed by signal %d (%s)", row->term_signal, strsignal(row->term_signal));
	else if (row->exit_code >= 0)
		str_appendf(out, "exit status %d", row->exit_code);
	else
		str_append(out, status_name(row->status));
}

const char *words_event_stage(const struct report *report, const struct event_row *event)
{
	const struct run_record *record = report->record;
	for (size_t i = 0; event->stage_id && i < record->stages.len; i++)
		if (record->stages.items[i].row.id == event->stage_id)
			return record->stages.items[i].row.name;
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

void words_events(const struct report *report, bool marks_too, struct told_events *out)
{
	for (size_t i = 0; i < report->record->events.len; i++) {
		const struct event_row *event = &report->record->events.items[i];
		struct told_event told = {event, words_event_stage(report, event), 1};
		size_t at = 0;
		if (!event->text || (!marks_too && same_text(event->kind, "mark")))
			continue;
		while (at < out->items.len && !(same_text(out->items.items[at].event->text, event->text) &&
						same_text(out->items.items[at].stage, told.stage)))
			at++;
		if (at < out->items.len)
			out->items.items[at].times++;
		else
			vec_push(&out->items, told);
	}
}

const char *words_host(const struct report *report, const char *key)
{
	for (size_t i = 0; i < report->record->host.len; i++) {
		const struct name_value *fact = &report->record->host.items[i];
		if (fact->name && fact->value && *fact->value && strcmp(fact->name, key) == 0)
			return fact->value;
	}
	return NULL;
}

static void append_part(struct str *out, const char *text)
{
	if (out->len)
		str_append(out, ", ");
	str_append(out, text);
}

void words_host_line(const struct report *report, struct str *out)
{
	const char *hostname = words_host(report, "hostname"), *model = words_host(report, "cpu_model");
	const char *cpus = words_host(report, "cpus_allowed"), *memory = words_host(report, "memory_bytes");
	const char *kernel = words_host(report, "kernel");
	struct str line = {0};
	cpus = cpus ? cpus : words_host(report, "cpus");
	if (hostname)
		append_part(&line, hostname);
	if (cpus) {
		append_part(&line, cpus);
		str_append(&line, strcmp(cpus, "1") == 0 ? " core" : " cores");
	}
	if (model) {
		str_append(&line, cpus ? " of " : line.len ? ", " : "");
		str_append(&line, model);
	}
	double bytes;
	if (memory && str_to_double(memory, &bytes)) {
		char text[FORMAT_SIZE];
		format_bytes(bytes, text);
		append_part(&line, text);
	}
	if (kernel) {
		append_part(&line, strstr(kernel, "inux") ? "" : "Linux ");
		str_append(&line, kernel);
	}
	str_append(out, str_text(&line));
	str_fini(&line);
}

void words_provenance(const struct metric_value *value, struct str *out)
{
	str_append(out, metric_method_name(value->method));
	if (value->source[0])
		str_appendf(out, ", %s", value->source);
	if (value->coverage < 0.995)
		str_appendf(out, ", speaks for %.0f %%", value->coverage * 100);
	if (value->lower_bound)
		str_append(out, ", at least");
}

void words_own_cost(const struct report *report, struct str *out)
{
	static const struct {
		int metric;
		const char *before, *after;
	} parts[] = {
		{METRIC_SELF_CPU, "", " of CPU time"},
		{METRIC_SELF_MEMORY_PEAK, "", " of memory"},
		{METRIC_SELF_WALL, "", " in which no stage ran"},
		{METRIC_SELF_INTERVAL, "a sample every ", ""},
	};
	struct str line = {0};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!is_known(report->values, parts[i].metric))
			continue;
		char number[FORMAT_SIZE];
		format_value(parts[i].metric, &report->values[parts[i].metric], number);
		append_part(&line, parts[i].before);
		str_appendf(&line, "%s%s", number, parts[i].after);
		if (parts[i].metric == METRIC_SELF_CPU && !isnan(report->self_cpu_share)) {
			format_percent(report->self_cpu_share * 100, number);
			str_appendf(&line, " (%s of the elapsed time)", number);
		}
	}
	str_append(out, str_text(&line));
	str_fini(&line);
}

void words_absent(const struct metric_value *values, struct reason_groups *out)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		if (values[metric].state == METRIC_KNOWN)
			continue;
		size_t at = 0;
		while (at < out->items.len && strcmp(out->items.items[at].reason, values[metric].reason) != 0)
			at++;
		if (at == out->items.len)
			vec_add(&out->items)->reason = values[metric].reason;
		vec_push(&out->items.items[at].metrics, metric);
	}
}

void words_absent_fini(struct reason_groups *groups)
{
	for (size_t i = 0; i < groups->items.len; i++)
		vec_fini(&groups->items.items[i].metrics);
	vec_fini(&groups->items);
}

const char *words_quality_title(const char *name, const char **suffix)
{
	static const struct {
		const char *name, *title, *suffix;
	} known[] = {
		{"run_grade_0_100", "Grade", "/100"},
		{"precision_proxy", "Precision", ""},
		{"recall_proxy", "Recall", ""},
		{"miss_rate_proxy", "Miss rate", ""},
	};
	*suffix = "";
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0) {
			*suffix = known[i].suffix;
			return known[i].title;
		}
	return name;
}
