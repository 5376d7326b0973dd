/*
 * study_measure.h - one run of the engine of which nothing but its result is wanted. Internal to study_*.c.
 */
#ifndef PITOT_TABLE_STUDY_MEASURE_H
#define PITOT_TABLE_STUDY_MEASURE_H

#include "table/study.h"

struct study_measured {
	struct engine_result result;
	double chunk_latency_s; /* mean; NaN where there was no chunk */
};

/* `chunk_rows` as it is, not scaled; a streaming run ends after the chunk in which `most_rows` (0: none) is reached, and that is no
 * error. `out` has to be freed by engine_result_fini(&out->result) whatever is returned. */
int study_measure(const struct study_settings *settings, enum engine_mode mode, size_t chunk_rows, uint64_t most_rows,
		  struct study_measured *out, struct err *err);
bool study_stopped(const struct study_settings *settings);

#endif
