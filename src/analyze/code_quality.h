/*
 * code_quality.h - how good the sampling of a stage was, and what it did not see. Internal to analyze/.
 */
#ifndef PITOT_ANALYZE_CODE_QUALITY_H
#define PITOT_ANALYZE_CODE_QUALITY_H

#include "analyze/code_report.h"

/* `pid` 0: of all its processes. */
void code_quality_compute(const struct profile_data *profile, const struct code_stage *stage, int pid,
			  struct code_quality *out);
void code_quality_fini(struct code_quality *quality);

#endif
