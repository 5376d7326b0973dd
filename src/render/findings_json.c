/* findings_json.c - the findings as data; docs/report.schema.json describes them. */
#include "analyze/rule.h"
#include "render/findings.h"

static void put_number(struct json *json, const struct finding_number *number)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", number->name);
	json_put_number(json, "value", number->value);
	json_put_string(json, "unit", metric_unit_name(number->unit));
	json_put_string(json, "method", metric_method_name(number->method));
	json_put_string(json, "source", number->source);
	if (number->lower_bound)
		json_put_bool(json, "lower_bound", true);
	json_object_end(json);
}

static void put_finding(struct json *json, const struct finding *finding)
{
	json_object_begin(json, NULL);
	json_put_string(json, "id", finding->rule->id);
	json_put_string(json, "title", finding->rule->title);
	json_put_string(json, "severity", finding_severity_name(finding->severity));
	json_put_string(json, "stage", finding->stage);
	json_put_string(json, "what", finding->what);
	json_put_string(json, "advice", finding->advice);
	json_put_number(json, "gain_s", finding->gain_s);
	json_put_number(json, "gain_percent", 100 * finding->gain_share);
	json_put_string(json, "assumption", finding->assumption);
	json_put_bool(json, "vital", finding->vital);
	json_array_begin(json, "evidence");
	for (size_t i = 0; i < finding->evidence.len; i++)
		put_number(json, &finding->evidence.items[i]);
	json_array_end(json);
	json_object_end(json);
}

void findings_json(struct json *json, const struct report *report)
{
	json_array_begin(json, "findings");
	for (size_t i = 0; i < report->findings.items.len; i++)
		put_finding(json, &report->findings.items.items[i]);
	json_array_end(json);
}
