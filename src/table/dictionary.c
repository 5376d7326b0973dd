/* dictionary.c - see dictionary.h. Open addressing; the slots are at most half full. */
#include "table/dictionary.h"

#include <string.h>

static uint64_t dictionary_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t dictionary_load(const char *bytes, size_t count)
{
	uint64_t word = 0;
	memcpy(&word, bytes, count);
	return word;
}

uint32_t dictionary_hash(struct span text)
{
	const uint64_t one = 0x9e3779b97f4a7c15ull, two = 0xe7037ed1a0b428dbull;
	const char *at = text.text;
	size_t left = text.length;
	uint64_t hash = one ^ left;
	for (; left > 16; at += 16, left -= 16)
		hash = dictionary_mix(dictionary_load(at, 8) ^ hash, dictionary_load(at + 8, 8) ^ two);
	uint64_t low = 0, high = 0;
	if (left >= 8) {
		low = dictionary_load(at, 8);
		high = dictionary_load(at + left - 8, 8);
	} else if (left >= 4) {
		low = dictionary_load(at, 4);
		high = dictionary_load(at + left - 4, 4);
	} else if (left) {
		low = (uint64_t)(unsigned char)at[0] << 16 | (uint64_t)(unsigned char)at[left / 2] << 8 |
		      (unsigned char)at[left - 1];
	}
	hash = dictionary_mix(low ^ hash, high ^ two);
	return (uint32_t)(hash ^ hash >> 32);
}

void dictionary_init(struct dictionary *dictionary, struct memory *memory, size_t cap)
{
	*dictionary = (struct dictionary){.memory = memory, .cap = cap < COLUMN_OTHER ? cap : COLUMN_OTHER - 1};
}

void dictionary_fini(struct dictionary *dictionary)
{
	memory_give(dictionary->memory, dictionary->entries, dictionary->entry_room * sizeof(struct dictionary_entry));
	memory_give(dictionary->memory, dictionary->slots, dictionary->slot_count * sizeof(uint32_t));
	memory_give(dictionary->memory, dictionary->bytes, dictionary->byte_room);
	dictionary_init(dictionary, dictionary->memory, dictionary->cap);
}

void dictionary_clear(struct dictionary *dictionary)
{
	dictionary->count = 0;
	dictionary->byte_count = 0;
	dictionary->refused = false;
	if (dictionary->slots)
		memset(dictionary->slots, 0, dictionary->slot_count * sizeof(uint32_t));
}

static bool dictionary_grow_slots(struct dictionary *dictionary)
{
	size_t count = dictionary->slot_count ? dictionary->slot_count * 2 : 64;
	uint32_t *slots = memory_take(dictionary->memory, count * sizeof(uint32_t));
	if (!slots)
		return false;
	for (uint32_t code = 0; code < dictionary->count; code++) {
		size_t at = dictionary->entries[code].hash & (count - 1);
		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = code + 1;
	}
	memory_give(dictionary->memory, dictionary->slots, dictionary->slot_count * sizeof(uint32_t));
	dictionary->slots = slots;
	dictionary->slot_count = count;
	return true;
}

static bool dictionary_reserve(struct dictionary *dictionary, size_t length)
{
	if (dictionary->count == dictionary->entry_room) {
		size_t room = dictionary->entry_room ? dictionary->entry_room * 2 : 32;
		void *entries = memory_resize(dictionary->memory, dictionary->entries,
					      dictionary->entry_room * sizeof(struct dictionary_entry),
					      room * sizeof(struct dictionary_entry));
		if (!entries)
			return false;
		dictionary->entries = entries;
		dictionary->entry_room = room;
	}
	if (dictionary->byte_count + length > dictionary->byte_room) {
		size_t room = dictionary->byte_room * 2 + length + 256;
		char *bytes = memory_resize(dictionary->memory, dictionary->bytes, dictionary->byte_room, room);
		if (!bytes)
			return false;
		dictionary->bytes = bytes;
		dictionary->byte_room = room;
	}
	return (dictionary->count + 1) * 2 <= dictionary->slot_count || dictionary_grow_slots(dictionary);
}

static uint32_t dictionary_add(struct dictionary *dictionary, struct span text, uint32_t hash)
{
	if (dictionary->count >= dictionary->cap || !dictionary_reserve(dictionary, text.length)) {
		dictionary->refused = true;
		return COLUMN_OTHER;
	}
	uint32_t code = dictionary->count++;
	dictionary->entries[code] = (struct dictionary_entry){dictionary->byte_count, text.length, hash};
	memcpy(dictionary->bytes + dictionary->byte_count, text.text, text.length);
	dictionary->byte_count += text.length;
	size_t at = hash & (dictionary->slot_count - 1);
	while (dictionary->slots[at])
		at = (at + 1) & (dictionary->slot_count - 1);
	dictionary->slots[at] = code + 1;
	return code;
}

uint32_t dictionary_intern(struct dictionary *dictionary, struct span text, uint32_t hash)
{
	size_t mask = dictionary->slot_count - 1;
	for (size_t at = hash & mask; dictionary->slot_count && dictionary->slots[at]; at = (at + 1) & mask) {
		uint32_t code = dictionary->slots[at] - 1;
		const struct dictionary_entry *entry = &dictionary->entries[code];
		if (entry->hash == hash && entry->length == text.length &&
		    memcmp(dictionary->bytes + entry->offset, text.text, text.length) == 0)
			return code;
	}
	return dictionary_add(dictionary, text, hash);
}

size_t dictionary_bytes(const struct dictionary *dictionary)
{
	return dictionary->entry_room * sizeof(struct dictionary_entry) + dictionary->slot_count * sizeof(uint32_t) +
	       dictionary->byte_room;
}

size_t dictionary_count(const struct dictionary *dictionary)
{
	return dictionary->count;
}

struct span dictionary_text(const struct dictionary *dictionary, uint32_t code)
{
	if (code == COLUMN_OTHER)
		return (struct span){"(other)", 7};
	if (code >= dictionary->count)
		return (struct span){"", 0};
	const struct dictionary_entry *entry = &dictionary->entries[code];
	return (struct span){dictionary->bytes + entry->offset, entry->length};
}
