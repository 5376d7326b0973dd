/*
 * census.h - the processes of a stage, counted by program: what many short lives add up to.
 *
 * A report shows the costliest few processes; that a stage started python 300 times is not among them.
 */
#ifndef PITOT_ANALYZE_CENSUS_H
#define PITOT_ANALYZE_CENSUS_H

#include "base/vec.h"

struct process_list;

struct census_program {
	char *name;        /* the file's name without folder and version: "python" of /usr/bin/python3.11 */
	size_t processes;  /* that were seen to end */
	size_t brief;      /* of these, with a life below CENSUS_BRIEF_S */
	double brief_s;    /* sum of the brief lives */
	double shortest_s; /* the shortest life */
};

struct census {
	VEC(struct census_program) programs; /* most processes first */
};

#define CENSUS_BRIEF_S 0.3 /* an interpreter's start with its imports, on a slow day */

void census_compute(const struct process_list *processes, struct census *out);
void census_fini(struct census *census);

#endif
