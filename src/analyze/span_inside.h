/* span_inside.h - what the files of the spans' report share. Internal to analyze/. */
#ifndef PITOT_ANALYZE_SPAN_INSIDE_H
#define PITOT_ANALYZE_SPAN_INSIDE_H

#include "analyze/span_report.h"

struct span_building {
	const struct span_data *data;
	const int64_t *ids; /* stages that count; the last is the last repetition */
	size_t id_count;
	struct span_report *report;
	size_t *lines; /* by operator of the data: its line, or SIZE_MAX */
};

/* Whether the process is of a repetition that counts, or of the last one. */
bool span_inside_counts(const struct span_building *building, int64_t process_id);
bool span_inside_last(const struct span_building *building, int64_t process_id);

void span_inside_counters(struct span_building *building);
void span_inside_chunks(struct span_building *building);
void span_inside_cpu(struct span_building *building, const struct profile_data *profile);

#endif
