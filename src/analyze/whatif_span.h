/*
 * whatif_span.h - a run as it would be if an operator were faster: what that is for the stages that it runs in.
 *
 *	operator:encode=2x    twice as fast         operator:chunk/encode=0    gone
 *
 * Amdahl's law on the operator's time with all that is inside it. Where operators run side by side (threads, processes, tasks), a
 * stage gains the operator's part of the time of all roots, of its elapsed time.
 *
 * Pure.
 */
#ifndef PITOT_ANALYZE_WHATIF_SPAN_H
#define PITOT_ANALYZE_WHATIF_SPAN_H

#include "analyze/whatif_code.h"

/* Whether the change is about an operator. */
bool whatif_is_operator(const char *text);
/* Adds a change for each stage with that operator: by its path, or by its name where that is one path only. */
int whatif_parse_operator(const struct report *report, const struct plan *plan, const char *text,
			  struct whatif_changes *out, struct err *err);

#endif
