/* history_tags.c - finds the runs that the tags name. */
#include "store/index.h"
#include "store/tag.h"

#include <string.h>

/* An entry by something of its own. */
struct place {
	const char *key;
	size_t entry;
};

struct places {
	VEC(struct place) items;
};

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int keys = strcmp(x->key, y->key);
	return keys ? keys : (x->entry > y->entry) - (x->entry < y->entry);
}

static const char *file_of(const struct history_entry *entry)
{
	return strrchr(entry->path, '/') + 1;
}

static void sort_places(const struct history *history, bool by_uuid, struct places *out)
{
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		if (!by_uuid || entry->uuid)
			vec_push(&out->items, ((struct place){by_uuid ? entry->uuid : file_of(entry), i}));
	}
	if (out->items.len)
		qsort(out->items.items, out->items.len, sizeof(struct place), by_key);
}

/* Where the key's places begin, or would. */
static size_t first_place(const struct places *places, const char *key)
{
	size_t low = 0, high = places->items.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(places->items.items[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The run with the tag's uuid: of several copies the one with its file name, else the newest. Where there is none, the
 * file of that name, if one of the two cannot say who it is. */
static struct history_entry *find_tagged(const struct history *history, const struct places *uuids,
					 const struct places *files, const struct tag *tag)
{
	struct history_entry *found = NULL;
	for (size_t at = first_place(uuids, tag->uuid); tag->uuid[0] && at < uuids->items.len; at++) {
		struct history_entry *entry = &history->entries.items[uuids->items.items[at].entry];
		if (strcmp(entry->uuid, tag->uuid) != 0)
			break;
		if (!found || strcmp(file_of(entry), tag->file) == 0)
			found = entry;
	}
	size_t at = first_place(files, tag->file);
	if (found || at == files->items.len || strcmp(files->items.items[at].key, tag->file) != 0)
		return found;
	struct history_entry *entry = &history->entries.items[files->items.items[at].entry];
	return entry->uuid && tag->uuid[0] ? NULL : entry;
}

void history_attach_tags(struct history *history)
{
	struct tag_list list = {0};
	struct places uuids = {0}, files = {0};
	struct err err;
	if (tag_list_read(history->dir, &list, &err) != 0)
		history->tags_broken = mem_strdup(err.text);
	if (list.items.len) {
		sort_places(history, true, &uuids);
		sort_places(history, false, &files);
	}
	for (size_t i = 0; i < list.items.len; i++) {
		struct history_entry *entry = find_tagged(history, &uuids, &files, &list.items.items[i]);
		if (entry)
			vec_push(&entry->tags, mem_strdup(list.items.items[i].name));
	}
	vec_fini(&uuids.items);
	vec_fini(&files.items);
	tag_list_fini(&list);
}
