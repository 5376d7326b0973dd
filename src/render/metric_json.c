/* metric_json.c - see metric_json.h. */
#include "render/metric_json.h"

void metric_json_put(struct json *json, int metric, const struct metric_value *value)
{
	bool known = value->state == METRIC_KNOWN;
	json_object_begin(json, metrics[metric].name);
	if (known)
		json_put_number(json, "value", value->value);
	else
		json_put_null(json, "value");
	json_put_string(json, "unit", metric_unit_name(metrics[metric].unit));
	if (known) {
		json_put_string(json, "method", metric_method_name(value->method));
		json_put_string(json, "source", value->source);
		json_put_number(json, "coverage", value->coverage);
		if (value->lower_bound)
			json_put_bool(json, "lower_bound", true);
	} else {
		json_put_string(json, "reason", value->reason);
	}
	json_object_end(json);
}
