/*
 * quality.h - quality metrics out of the files that a pipeline leaves behind.
 *
 * Per metric: the newest file that matches the glob, then a JSON pointer, a regular expression with a group, or a CSV
 * column. A metric that cannot be had is a reason, not an error: the run goes on, the report says why.
 */
#ifndef PITOT_CONFIG_QUALITY_H
#define PITOT_CONFIG_QUALITY_H

#include "config/pipeline.h"

struct quality_result {
	bool known;
	double value;
	char *file;   /* the file that was read, or NULL; owned */
	char *reason; /* why not known; owned */
};

/* `not_before_utc_ns`: a newest match that is older than the run is an old result; it is refused with a reason. */
void quality_extract(const struct quality_spec *spec, uint64_t not_before_utc_ns, struct quality_result *out);
void quality_result_fini(struct quality_result *result);

/* "pitot-metric name=value" as a whole line of output: true, with name and value set. */
bool quality_parse_line(const char *line, size_t length, char *name, size_t name_size, double *value);

#endif
