/* wire_walk.c - see wire_walk.h. */
#include "model/wire_walk.h"

bool walk_varint(struct walk *walk, uint64_t *out)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && walk->at < walk->end; shift += 7) {
		unsigned char byte = *walk->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = value;
			return true;
		}
	}
	return false;
}

static int take(struct walk *walk, uint64_t size, struct walk_field *out)
{
	if (size > (size_t)(walk->end - walk->at))
		return -1;
	out->bytes = walk->at;
	out->size = (size_t)size;
	walk->at += size;
	return 1;
}

int walk_next(struct walk *walk, struct walk_field *out)
{
	uint64_t key, size;
	if (walk->at == walk->end)
		return 0;
	if (!walk_varint(walk, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return -1;
	*out = (struct walk_field){.number = (uint32_t)(key >> 3), .type = (enum walk_type)(key & 7)};
	switch (out->type) {
	case WALK_VARINT:
		return walk_varint(walk, &out->value) ? 1 : -1;
	case WALK_FIXED64:
		return take(walk, 8, out);
	case WALK_BYTES:
		return walk_varint(walk, &size) ? take(walk, size, out) : -1;
	case WALK_FIXED32:
		return take(walk, 4, out);
	}
	return -1;
}
