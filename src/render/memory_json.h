/*
 * memory_json.h - the memory profile of a stage as an object in the JSON report.
 */
#ifndef PITOT_RENDER_MEMORY_JSON_H
#define PITOT_RENDER_MEMORY_JSON_H

#include "analyze/report.h"
#include "base/json.h"

/* A member "memory", null where there is none. `top` rows in each table; 0: as many as are usual. */
void memory_json(struct json *json, const struct memory_report *memory, size_t top);

#endif
