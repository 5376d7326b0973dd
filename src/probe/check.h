/*
 * check.h - what can be measured on this machine, what cannot, why, and the exact fix: the rows of `pitot doctor`.
 *
 * This file's rows are the probes, the hardware counters, PSS and the profiler's sampling clock; other layers append
 * theirs in the same type.
 */
#ifndef PITOT_PROBE_CHECK_H
#define PITOT_PROBE_CHECK_H

#include "base/vec.h"

#include <stdbool.h>

struct check_row {
	const char *name; /* static: "rapl" */
	const char *what; /* static: "energy of the CPU packages" */
	bool available;
	char *detail; /* owned: the source where available, else the reason */
	char *fix;    /* owned: a command or a step; NULL where there is none */
};

struct probe_check_list {
	VEC(struct check_row) rows;
};

/* Appends; opens and closes every probe of the table, also those that a run would not need. */
void probe_check_all(struct probe_check_list *out);
/* Appends one row; `detail` and `fix` (may be NULL) are copied. */
void probe_check_add(struct probe_check_list *list, const char *name, const char *what, bool available,
		     const char *detail, const char *fix);
void probe_check_list_fini(struct probe_check_list *list);

#endif
