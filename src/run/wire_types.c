/*
 * wire_types.c - the record of objects by type (wire/memory.h), from a file that may be anything: of the two tables the one that
 * was whole, with names that are text, and counts that a run file can hold.
 */
#include "base/mem.h"
#include "base/str.h"
#include "run/wire_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_sound(const struct wire_type *type)
{
	return type->kind >= WIRE_TYPE_NAMED && type->kind <= WIRE_TYPE_UNKNOWN && type->samples > 0 &&
	       type->bytes <= INT64_MAX / 256 && type->calls <= INT64_MAX / 256 && isfinite(type->variance) &&
	       type->variance >= 0 && (type->kind != WIRE_TYPE_NAMED || type->name[0]);
}

/* Classes of one name are one. */
static struct read_type *find(struct read_types *types, enum wire_type_kind kind, const char *name)
{
	for (size_t i = 0; i < types->items.len; i++) {
		struct read_type *type = &types->items.items[i];
		if (type->kind == kind && (!name || strcmp(type->name, name) == 0))
			return type;
	}
	return NULL;
}

static void add_type(struct read_types *types, const struct wire_type *from)
{
	if (!is_sound(from))
		return;
	bool is_named = from->kind == WIRE_TYPE_NAMED;
	char *name = is_named ? str_utf8_clean(from->name, strnlen(from->name, sizeof(from->name))) : NULL;
	struct read_type *type = find(types, from->kind, name);
	if (type) {
		free(name);
	} else {
		type = vec_add(&types->items);
		*type = (struct read_type){.kind = from->kind, .name = name};
	}
	type->amount.bytes += from->bytes;
	type->amount.calls += from->calls;
	type->amount.samples += from->samples;
	type->amount.variance += from->variance;
}

struct read_types *wire_types_new(const uint8_t *bytes, uint32_t size)
{
	struct wire_types record;
	if (size < sizeof(record))
		return NULL;
	memcpy(&record, bytes, sizeof(record));
	uint32_t current = record.current, state = record.state;
	struct read_types *types = mem_alloc(sizeof(*types));
	types->state = state <= WIRE_TYPES_READY ? state : WIRE_TYPES_ODD;
	if (current < 1 || current > 2)
		return types;
	const struct wire_type_table *table = &record.tables[current - 1];
	if (!table->period_bytes || table->period_bytes > INT64_MAX || table->live_bytes < 0)
		return types;
	types->is_seen = true;
	types->mono_ns = table->mono_ns;
	types->live_bytes = (uint64_t)table->live_bytes;
	types->period_bytes = table->period_bytes;
	types->cost_ns = table->cost_ns <= INT64_MAX ? table->cost_ns : 0;
	types->looks = table->looks;
	for (uint32_t i = 0; i < table->count && i < WIRE_TYPE_MOST; i++)
		add_type(types, &table->types[i]);
	return types;
}

void wire_types_free(struct read_types *types)
{
	if (!types)
		return;
	for (size_t i = 0; i < types->items.len; i++)
		free(types->items.items[i].name);
	vec_fini(&types->items);
	free(types);
}
