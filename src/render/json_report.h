/*
 * json_report.h - the report for machines, inside another document: the page's model holds it whole.
 */
#ifndef PITOT_RENDER_JSON_REPORT_H
#define PITOT_RENDER_JSON_REPORT_H

#include "analyze/report.h"
#include "base/json.h"

/* As docs/report.schema.json describes it; `top` rows of each table of code, 0: as many as usual. */
void report_json(struct json *json, const char *key, const struct report *report, size_t top);

#endif
