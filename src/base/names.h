/*
 * names.h - text to a number: which tensor, layer or operator has this name. Keys are borrowed: they must outlive the table or
 * stay where they are.
 */
#ifndef PITOT_BASE_NAMES_H
#define PITOT_BASE_NAMES_H

#include <stddef.h>

#define NAMES_NONE ((size_t)-1)

struct names_slot {
	const char *key; /* NULL: free */
	size_t value;
};

struct names {
	struct names_slot *slots;
	size_t size; /* a power of two, or 0 */
	size_t used;
};

size_t names_get(const struct names *names, const char *key);       /* NAMES_NONE where it is not there */
void names_put(struct names *names, const char *key, size_t value); /* replaces the value */
void names_fini(struct names *names);

#endif
