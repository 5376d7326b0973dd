/* pointer.h - JSON pointers (RFC 6901): "/train/epochs" as its steps. */
#ifndef PITOT_CONFIG_POINTER_H
#define PITOT_CONFIG_POINTER_H

#include "base/vec.h"

#include <stdbool.h>

struct pointer {
	VEC(char *) steps; /* unescaped; none for "", which is the whole document */
};

/* What is wrong with the text as a pointer, in words; NULL where nothing is. */
const char *pointer_problem(const char *text);
/* The text must be without problem. */
void pointer_init(struct pointer *pointer, const char *text);
void pointer_fini(struct pointer *pointer);
/* The index that a step means in a list: false for what is no plain number. */
bool pointer_index(const char *step, size_t *out);

#endif
