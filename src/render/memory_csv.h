/*
 * memory_csv.h - the memory profile as rows for spreadsheets.
 */
#ifndef PITOT_RENDER_MEMORY_CSV_H
#define PITOT_RENDER_MEMORY_CSV_H

#include "analyze/report.h"
#include "base/str.h"

void memory_csv(const struct report *report, enum memory_weight weight, struct str *out);
#endif
