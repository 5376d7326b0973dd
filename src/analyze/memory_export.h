/*
 * memory_export.h - the memory profile as a tree of calls by one weight, for the formats of other tools.
 *
 * Pure. Besides the weight that was chosen, every site's numbers by all weights go along for formats that have room for them.
 */
#ifndef PITOT_ANALYZE_MEMORY_EXPORT_H
#define PITOT_ANALYZE_MEMORY_EXPORT_H

#include "analyze/memory_view.h"

struct memory_export {
	struct memory_view view;
	struct code_measure measure;
	int64_t *numbers;
	double *parts;
	struct code_tree tree;
};

/* `select` as for the code profile; its measure is set here. `all_sites`: those without that weight too. */
void memory_export_open(const struct profile_data *profile, const struct memory_data *memory,
			const struct code_select *select, enum memory_weight weight, bool all_sites,
			struct memory_export *out);
void memory_export_close(struct memory_export *export);

#endif
