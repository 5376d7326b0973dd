/* dictionary.c - see dictionary.h. Open addressing; the slots are at most half full. */
#include "table/dictionary.h"

#include <string.h>

/* The loops over rows are only as fast as what is in them: one body for each kind of text. */
#define DICTIONARY_INLINE static inline __attribute__((always_inline))

DICTIONARY_INLINE uint64_t dictionary_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

DICTIONARY_INLINE uint64_t dictionary_load(const char *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * The first 16 bytes, zeros behind a shorter text, and a hash of all. `padded`: 16 bytes can be read where the text begins, so that
 * short texts of any length take the same few instructions.
 */
DICTIONARY_INLINE struct dictionary_key dictionary_key_of(struct span text, bool padded)
{
	const uint64_t one = 0x9e3779b97f4a7c15ull, two = 0xe7037ed1a0b428dbull;
	/* From 16 - length on: as many ones as the text has bytes, then zeros. */
	static const unsigned char masks[32] = {255, 255, 255, 255, 255, 255, 255, 255,
						255, 255, 255, 255, 255, 255, 255, 255};
	const char *mask = (const char *)masks + 16 - (text.length < 16 ? text.length : 16);
	uint64_t low, high, hash = one ^ text.length;
	char copy[16] = {0};
	const char *at = text.text;
	if (!padded && text.length < sizeof(copy)) {
		if (text.length)
			memcpy(copy, at, text.length);
		at = copy;
	}
	low = dictionary_load(at) & dictionary_load(mask);
	high = dictionary_load(at + 8) & dictionary_load(mask + 8);
	hash = dictionary_mix(low ^ hash, high ^ two);
	if (__builtin_expect(text.length > 16, 0)) {
		for (size_t from = 16; from + 16 < text.length; from += 16)
			hash = dictionary_mix(dictionary_load(at + from) ^ hash, dictionary_load(at + from + 8) ^ two);
		at += text.length - 16;
		hash = dictionary_mix(dictionary_load(at) ^ hash, dictionary_load(at + 8) ^ two);
	}
	return (struct dictionary_key){low, high, text.length, (uint32_t)(hash ^ hash >> 32)};
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
		size_t at = dictionary->entries[code].key.hash & (count - 1);
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
	if (!dictionary->bytes || dictionary->byte_count + length > dictionary->byte_room) {
		size_t room = dictionary->byte_room * 2 + length + 256;
		char *bytes = memory_resize(dictionary->memory, dictionary->bytes, dictionary->byte_room, room);
		if (!bytes)
			return false;
		dictionary->bytes = bytes;
		dictionary->byte_room = room;
	}
	return (dictionary->count + 1) * 2 <= dictionary->slot_count || dictionary_grow_slots(dictionary);
}

static __attribute__((noinline)) uint32_t dictionary_add(struct dictionary *dictionary, struct span text,
							 const struct dictionary_key *key)
{
	if (dictionary->count >= dictionary->cap || !dictionary_reserve(dictionary, text.length)) {
		dictionary->refused = true;
		return COLUMN_OTHER;
	}
	uint32_t code = dictionary->count++;
	dictionary->entries[code] = (struct dictionary_entry){*key, dictionary->byte_count};
	if (text.length)
		memcpy(dictionary->bytes + dictionary->byte_count, text.text, text.length);
	dictionary->byte_count += text.length;
	size_t at = key->hash & (dictionary->slot_count - 1);
	while (dictionary->slots[at])
		at = (at + 1) & (dictionary->slot_count - 1);
	dictionary->slots[at] = code + 1;
	return code;
}

/* What a key does not say of a text of more than 16 bytes: the bytes after them. */
DICTIONARY_INLINE bool dictionary_same_rest(const char *a, const char *b, size_t length)
{
	if (length > 32)
		return memcmp(a + 16, b + 16, length - 16) == 0;
	return dictionary_load(a + length - 16) == dictionary_load(b + length - 16) &&
	       dictionary_load(a + length - 8) == dictionary_load(b + length - 8);
}

/* COLUMN_OTHER where it is not there. */
DICTIONARY_INLINE uint32_t dictionary_find(const struct dictionary *dictionary, struct span text,
					   const struct dictionary_key *key)
{
	size_t mask = dictionary->slot_count - 1;
	for (size_t at = key->hash & mask; dictionary->slot_count && dictionary->slots[at]; at = (at + 1) & mask) {
		uint32_t code = dictionary->slots[at] - 1;
		const struct dictionary_entry *entry = &dictionary->entries[code];
		if (entry->key.low == key->low && entry->key.high == key->high && entry->key.length == key->length &&
		    (key->length <= 16 ||
		     dictionary_same_rest(dictionary->bytes + entry->offset, text.text, text.length)))
			return code;
	}
	return COLUMN_OTHER;
}

DICTIONARY_INLINE uint32_t dictionary_find_or_add(struct dictionary *dictionary, struct span text)
{
	struct dictionary_key key = dictionary_key_of(text, false);
	uint32_t code = dictionary_find(dictionary, text, &key);
	return code != COLUMN_OTHER ? code : dictionary_add(dictionary, text, &key);
}

uint32_t dictionary_intern(struct dictionary *dictionary, struct span text)
{
	return dictionary_find_or_add(dictionary, text);
}

void dictionary_intern_rows(struct dictionary *dictionary, const struct span *texts, size_t rows, uint32_t *codes)
{
	for (size_t row = 0; row < rows; row++)
		codes[row] = texts[row].length ? dictionary_find_or_add(dictionary, texts[row]) : COLUMN_MISSING;
}

/* Apart, so that the loop below need not keep its key in memory for it. */
static __attribute__((noinline)) uint32_t dictionary_add_cell(struct dictionary *dictionary, struct span cell)
{
	struct dictionary_key key = dictionary_key_of(cell, true);
	return dictionary_add(dictionary, cell, &key);
}

void dictionary_intern_cells(struct dictionary *dictionary, const struct span *cells, size_t rows, uint32_t *codes)
{
	/* A copy, which no store to `codes` can change: the compiler keeps it in registers. */
	struct dictionary view = *dictionary;
	for (size_t row = 0; row < rows; row++) {
		struct dictionary_key key = dictionary_key_of(cells[row], true);
		uint32_t code = dictionary_find(&view, cells[row], &key);
		codes[row] = code;
		if (__builtin_expect(code == COLUMN_OTHER, 0)) {
			codes[row] = dictionary_add_cell(dictionary, cells[row]);
			view = *dictionary;
		}
	}
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
	return (struct span){dictionary->bytes + entry->offset, entry->key.length};
}
