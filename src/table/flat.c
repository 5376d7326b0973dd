/*
 * flat.c - see flat.h.
 *
 *	vtable: u16 its size | u16 the table's size | u16 per slot: offset of the field in the table, 0 where there is none
 *	table:  i32 distance back to its vtable | fields
 *	vector: u32 count | elements;   text: u32 length | bytes | NUL;   reference: u32 distance ahead
 */
#include "table/flat.h"
#include "base/mem.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *make_room(struct flat *flat, size_t size)
{
	if (flat->len + size > flat->cap) {
		size_t cap = 2 * (flat->len + size) + 256;
		unsigned char *bytes = mem_alloc(cap);
		if (flat->len)
			memcpy(bytes + cap - flat->len, flat->bytes + flat->cap - flat->len, flat->len);
		free(flat->bytes);
		flat->bytes = bytes;
		flat->cap = cap;
	}
	flat->len += size;
	unsigned char *at = flat->bytes + flat->cap - flat->len;
	memset(at, 0, size);
	return at;
}

/* So that after `size` more bytes the length is a multiple of `align`. */
static void pad(struct flat *flat, size_t align, size_t size)
{
	size_t missing = (align - (flat->len + size) % align) % align;
	if (missing)
		make_room(flat, missing);
}

static void push_int(struct flat *flat, int64_t value, size_t size)
{
	uint64_t little = htole64((uint64_t)value);
	memcpy(make_room(flat, size), &little, size);
}

static void push_ref(struct flat *flat, flat_ref ref)
{
	push_int(flat, (int64_t)(flat->len + 4 - ref), 4);
}

flat_ref flat_text(struct flat *flat, const char *text)
{
	size_t size = strlen(text);
	pad(flat, 4, size + 1);
	memcpy(make_room(flat, size + 1), text, size);
	push_int(flat, (int64_t)size, 4);
	return flat->len;
}

flat_ref flat_refs(struct flat *flat, const flat_ref *refs, size_t count)
{
	pad(flat, 4, 4 * count);
	for (size_t i = count; i > 0; i--)
		push_ref(flat, refs[i - 1]);
	push_int(flat, (int64_t)count, 4);
	return flat->len;
}

flat_ref flat_structs(struct flat *flat, const void *structs, size_t count, size_t size)
{
	pad(flat, 8, count * size);
	if (count)
		memcpy(make_room(flat, count * size), structs, count * size);
	push_int(flat, (int64_t)count, 4);
	return flat->len;
}

void flat_table_begin(struct flat *flat)
{
	memset(flat->fields, 0, sizeof(flat->fields));
	flat->table_end = flat->len;
}

void flat_put_int(struct flat *flat, int slot, int64_t value, size_t size)
{
	assert(slot >= 0 && slot < FLAT_MOST_FIELDS);
	pad(flat, size, size);
	push_int(flat, value, size);
	flat->fields[slot] = flat->len;
}

void flat_put_ref(struct flat *flat, int slot, flat_ref ref)
{
	assert(slot >= 0 && slot < FLAT_MOST_FIELDS);
	pad(flat, 4, 4);
	push_ref(flat, ref);
	flat->fields[slot] = flat->len;
}

flat_ref flat_table_end(struct flat *flat)
{
	int slots = FLAT_MOST_FIELDS;
	pad(flat, 4, 4);
	push_int(flat, 0, 4);
	flat_ref table = flat->len;
	while (slots > 0 && !flat->fields[slots - 1])
		slots--;
	for (int i = slots; i > 0; i--)
		push_int(flat, flat->fields[i - 1] ? (int64_t)(table - flat->fields[i - 1]) : 0, 2);
	push_int(flat, (int64_t)(table - flat->table_end), 2);
	push_int(flat, 4 + 2 * slots, 2);
	uint32_t back = htole32((uint32_t)(flat->len - table));
	memcpy(flat->bytes + flat->cap - table, &back, sizeof(back));
	return table;
}

const unsigned char *flat_finish(struct flat *flat, flat_ref root)
{
	pad(flat, 8, 4);
	push_ref(flat, root);
	return flat->bytes + flat->cap - flat->len;
}

void flat_fini(struct flat *flat)
{
	free(flat->bytes);
	*flat = (struct flat){0};
}
