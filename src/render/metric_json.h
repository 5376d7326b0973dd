/*
 * metric_json.h - a metric's value with its provenance, as every JSON report has it.
 */
#ifndef PITOT_RENDER_METRIC_JSON_H
#define PITOT_RENDER_METRIC_JSON_H

#include "base/json.h"
#include "base/metric.h"

/* Under the metric's name: value, unit, method, source and coverage, or null and the reason. */
void metric_json_put(struct json *json, int metric, const struct metric_value *value);

#endif
