/*
 * whatif_code.h - a run as it would be if a function were faster: what that is for the stages that it is used in.
 *
 *	function:parse_row=2x    twice as fast         function:parse_row=0    gone
 *
 * Amdahl's law on the function's share of the stage's CPU time, with all that it calls. A stage that computes on several cores
 * at once gains the share of its elapsed time; one that mostly waits gains the CPU time itself.
 *
 * Pure.
 */
#ifndef PITOT_ANALYZE_WHATIF_CODE_H
#define PITOT_ANALYZE_WHATIF_CODE_H

#include "analyze/report.h"
#include "analyze/whatif.h"

struct whatif_changes {
	VEC(struct whatif_change) items;
};

/* The factor after the "=": "2x"; infinite for "0", where what it is about is to go. */
bool whatif_parse_factor(const char *text, double *factor);
/* Whether the change is about a function. */
bool whatif_is_code(const char *text);
/* Adds a change for each stage with that function. The report has its code profile. */
int whatif_parse_code(const struct report *report, const struct plan *plan, const char *text,
		      struct whatif_changes *out, struct err *err);

#endif
