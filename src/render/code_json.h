/*
 * code_json.h - the code profile of a stage for machines; docs/report.schema.json describes it.
 */
#ifndef PITOT_RENDER_CODE_JSON_H
#define PITOT_RENDER_CODE_JSON_H

#include "analyze/report.h"
#include "base/json.h"

/* `top` rows of each table; 0: as many as are usual. Null where the stage has no profile. */
void code_json(struct json *json, const struct code_report *code, size_t top);

#endif
