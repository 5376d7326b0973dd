/*
 * argv.h - the command line out of the run file's JSON array.
 */
#ifndef PITOT_RENDER_ARGV_H
#define PITOT_RENDER_ARGV_H

#include "base/vec.h"

struct argv_list {
	VEC(char *) items;
};

/* -1 where the text is no JSON array of strings; the list is then empty. NULL is an empty list. */
int argv_parse(const char *json, struct argv_list *out);
void argv_fini(struct argv_list *list);

#endif
