/* names.c - open addressing by FNV-1a: see names.h. */
#include "base/names.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t find(const struct names *names, const char *key)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	for (const char *at = key; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ULL;
	size_t slot = (size_t)(hash ^ hash >> 32) & (names->size - 1);
	while (names->slots[slot].key && strcmp(names->slots[slot].key, key) != 0)
		slot = (slot + 1) & (names->size - 1);
	return slot;
}

size_t names_get(const struct names *names, const char *key)
{
	if (!names->size)
		return NAMES_NONE;
	const struct names_slot *slot = &names->slots[find(names, key)];
	return slot->key ? slot->value : NAMES_NONE;
}

static void grow(struct names *names)
{
	struct names larger = {.size = names->size ? 2 * names->size : 64};
	larger.slots = mem_alloc(larger.size * sizeof(*larger.slots));
	for (size_t i = 0; i < names->size; i++)
		if (names->slots[i].key)
			larger.slots[find(&larger, names->slots[i].key)] = names->slots[i];
	larger.used = names->used;
	free(names->slots);
	*names = larger;
}

void names_put(struct names *names, const char *key, size_t value)
{
	if (2 * (names->used + 1) > names->size)
		grow(names);
	struct names_slot *slot = &names->slots[find(names, key)];
	if (!slot->key) {
		slot->key = key;
		names->used++;
	}
	slot->value = value;
}

void names_fini(struct names *names)
{
	free(names->slots);
	*names = (struct names){0};
}
