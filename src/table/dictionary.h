/*
 * dictionary.h - texts to small numbers, in order of first appearance.
 *
 * What column.h shows of a dictionary is for reading; here is how one is filled. It never holds more than `cap` texts and never
 * more than the account allows: then new texts are refused with COLUMN_OTHER, and those that it has are still found.
 */
#ifndef PITOT_TABLE_DICTIONARY_H
#define PITOT_TABLE_DICTIONARY_H

#include "table/column.h"

/* A text as it is looked for. Up to 16 bytes `low`, `high` and `length` say all of it, so that no bytes are compared. */
struct dictionary_key {
	uint64_t low, high;
	uint32_t length;
	uint32_t hash;
};

struct dictionary_entry {
	struct dictionary_key key;
	uint64_t offset; /* in `bytes` */
};

struct dictionary {
	struct memory *memory;
	size_t cap;
	uint32_t count;
	struct dictionary_entry *entries;
	size_t entry_room;
	uint32_t *slots;   /* code + 1, 0: free */
	size_t slot_count; /* a power of two */
	char *bytes;
	size_t byte_count, byte_room;
	bool refused; /* a text was not taken */
};

void dictionary_init(struct dictionary *dictionary, struct memory *memory, size_t cap);
void dictionary_fini(struct dictionary *dictionary);
void dictionary_clear(struct dictionary *dictionary); /* keeps its memory */
/* The code of the text, which is added where it is new; COLUMN_OTHER where it is new and there is no room. */
uint32_t dictionary_intern(struct dictionary *dictionary, struct span text);
/* The same for a column, in which an empty text is missing: COLUMN_MISSING. */
void dictionary_intern_rows(struct dictionary *dictionary, const struct span *texts, size_t rows, uint32_t *codes);
/* The same for cells of a block (CSV_READABLE), in which an empty text is a text like any other. */
void dictionary_intern_cells(struct dictionary *dictionary, const struct span *cells, size_t rows, uint32_t *codes);
size_t dictionary_bytes(const struct dictionary *dictionary);

#endif
