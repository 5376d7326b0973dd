/*
 * build_step.h - one operator in the making; only build*.c include it. Begin, read, set attributes where they are not NULL, done.
 */
#ifndef PITOT_MODEL_BUILD_STEP_H
#define PITOT_MODEL_BUILD_STEP_H

#include "model/build.h"

struct build_step {
	struct build *build;
	size_t op;                       /* GRAPH_NONE after an error */
	union op_attributes *attributes; /* NULL after an error; valid until the next operator is begun */
};

struct build_step build_step(struct build *build, enum op_kind kind, const char *leaf);
void build_reads(const struct build_step *step, size_t tensor);
/* Adds the output, infers shapes; `given` where the shape is the attribute. The output, or GRAPH_NONE. */
size_t build_done(const struct build_step *step, const struct shape *given);
char *build_path(const struct build *build, const char *leaf); /* "scope.leaf", owned by the caller */

#endif
