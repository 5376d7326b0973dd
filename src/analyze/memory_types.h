/*
 * memory_types.h - Python's objects by type, near the peak: of the process that had most live when it was looked at.
 *
 * Pure. Every number is an estimate with its 99 % interval, in exact mode too: a sample of the objects was looked at. Shares are of all
 * objects that there were. Names are borrowed from the profile.
 */
#ifndef PITOT_ANALYZE_MEMORY_TYPES_H
#define PITOT_ANALYZE_MEMORY_TYPES_H

#include "analyze/memory_view.h"

struct memory_type_row {
	const struct memory_type *type;
	double bytes, low, high;
	double share; /* 0 to 1 */
};

struct memory_types {
	const struct memory_look *look;   /* NULL: nobody asked */
	uint64_t peak_bytes;              /* of the same process */
	double all_bytes;                 /* of all objects */
	VEC(struct memory_type_row) rows; /* the largest first; none where the look is absent */
};

void memory_types_find(const struct memory_data *memory, const bool *wanted, struct memory_types *out);
void memory_types_fini(struct memory_types *types);

#endif
