/*
 * wire_walk.h - steps over the fields of a Protocol Buffers message where it lies, without copying anything.
 *
 *	key = field number << 3 | type;  type 0: varint   1: 8 bytes   2: length and bytes   5: 4 bytes
 *
 * A length is checked against what is left: nothing that a file claims is believed.
 */
#ifndef PITOT_MODEL_WIRE_WALK_H
#define PITOT_MODEL_WIRE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum walk_type { WALK_VARINT = 0, WALK_FIXED64 = 1, WALK_BYTES = 2, WALK_FIXED32 = 5 };

struct walk {
	const unsigned char *at, *end;
};

struct walk_field {
	uint32_t number;
	enum walk_type type;
	uint64_t value;             /* of a varint */
	const unsigned char *bytes; /* of all others */
	size_t size;
};

/* 1: a field, 0: the end, -1: not a message. */
int walk_next(struct walk *walk, struct walk_field *out);
/* A varint on its own, as packed fields have them; false at the end or where it is cut. */
bool walk_varint(struct walk *walk, uint64_t *out);

#endif
