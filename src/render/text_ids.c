/* text_ids.c - see text_ids.h. */
#include "render/text_ids.h"

#include <string.h>

struct text_id {
	size_t number;
	struct text_id *next; /* of the same hash */
	char text[];
};

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

size_t text_ids_of(struct text_ids *ids, const char *text, bool *is_new)
{
	uint64_t hash = hash_text(text);
	struct text_id *first = map_get(&ids->by_hash, hash), *id = first;
	while (id && strcmp(id->text, text) != 0)
		id = id->next;
	if (is_new)
		*is_new = id == NULL;
	if (id)
		return id->number;
	size_t length = strlen(text);
	id = mem_alloc(sizeof(*id) + length + 1);
	id->number = ids->items.len;
	id->next = first;
	memcpy(id->text, text, length + 1);
	vec_push(&ids->items, id);
	map_put(&ids->by_hash, hash, id);
	return id->number;
}

const char *text_ids_text(const struct text_ids *ids, size_t number)
{
	return ids->items.items[number]->text;
}

void text_ids_fini(struct text_ids *ids)
{
	for (size_t i = 0; i < ids->items.len; i++)
		free(ids->items.items[i]);
	vec_fini(&ids->items);
	map_fini(&ids->by_hash);
}
