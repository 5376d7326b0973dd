/*
 * flat.h - a FlatBuffer, built from its end to its beginning: the metadata of Arrow files is in that format.
 *
 * Strings, vectors and tables that another one refers to are made first; what made them gives a reference, which is the
 * distance of the thing from the buffer's end and therefore stays true while the buffer grows at its front. One table is open at
 * a time. Fields with their default value may be left out by the caller.
 */
#ifndef PITOT_TABLE_FLAT_H
#define PITOT_TABLE_FLAT_H

#include <stddef.h>
#include <stdint.h>

enum { FLAT_MOST_FIELDS = 8 };

struct flat {
	unsigned char *bytes;
	size_t cap;
	size_t len;                      /* used, at the buffer's end */
	size_t fields[FLAT_MOST_FIELDS]; /* of the open table: where each lies, from the end; 0: not there */
	size_t table_end;
};

typedef size_t flat_ref;

flat_ref flat_text(struct flat *flat, const char *text);
flat_ref flat_refs(struct flat *flat, const flat_ref *refs, size_t count);
/* `count` structs of `size` bytes each, as they lie in memory, little-endian, their alignment 8. */
flat_ref flat_structs(struct flat *flat, const void *structs, size_t count, size_t size);

void flat_table_begin(struct flat *flat);
void flat_put_int(struct flat *flat, int slot, int64_t value, size_t size); /* of 1, 2, 4 or 8 bytes */
void flat_put_ref(struct flat *flat, int slot, flat_ref ref);
flat_ref flat_table_end(struct flat *flat);

/* The whole buffer is then the `len` bytes from the return value on, a multiple of 8; borrowed. */
const unsigned char *flat_finish(struct flat *flat, flat_ref root);
void flat_fini(struct flat *flat);

#endif
