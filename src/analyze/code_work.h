/*
 * code_work.h - what kind of work the time went into: Python functions with what they call, the interpreter itself, and the
 * topics of code_topics.h. Internal to analyze/.
 */
#ifndef PITOT_ANALYZE_CODE_WORK_H
#define PITOT_ANALYZE_CODE_WORK_H

#include "analyze/code_rows.h"

/* Fills `functions`, `python`, `interpreter` and `topics`. */
void code_work_fill(const struct code_rows_of *of, struct code_report *out);

#endif
