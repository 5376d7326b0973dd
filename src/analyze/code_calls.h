/*
 * code_calls.h - who calls a function, whom it calls, and which of its lines take the time. Internal to analyze/.
 */
#ifndef PITOT_ANALYZE_CODE_CALLS_H
#define PITOT_ANALYZE_CODE_CALLS_H

#include "analyze/code_rows.h"

/* 2: `name` is the function's, 1: it is the last part of it, 0: it is another's. */
int code_name_match(const char *function, const char *name);

/* By its whole name, else by the last part of it ("fit" of "Model.fit" and "model::fit"); of several the one with the most
 * time. `found` is false where no function has the name. */
struct code_calls *code_calls_new(const struct code_rows_of *of, const char *name);
void code_calls_free(struct code_calls *calls);

#endif
