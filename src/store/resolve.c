/*
 * resolve.c - history_resolve: what a person types for a run, turned into a path.
 *
 * In this order: "@tag", an existing file, a file name in the history (its ending may be left out), "last" and "last~N",
 * a beginning that only one file name has, a commit (revision.h).
 */
#include "base/file.h"
#include "base/str.h"
#include "store/history.h"
#include "store/revision.h"
#include "store/tag.h"

#include <string.h>
#include <sys/stat.h>

static const char ending[] = ".pitot";

enum { NAMED_CANDIDATES = 3 };

static bool is_file(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static const char *file_name(const struct history_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');
	return slash ? slash + 1 : entry->path;
}

static const struct history_entry *find_name(const struct history *history, const char *word)
{
	for (size_t i = 0; i < history->entries.len; i++) {
		const char *name = file_name(&history->entries.items[i]);
		size_t stem = strlen(name) - strlen(ending);
		if (strcmp(name, word) == 0 || (strlen(word) == stem && strncmp(name, word, stem) == 0))
			return &history->entries.items[i];
	}
	return NULL;
}

/* "last" is 0, "last~2" is 2, anything else -1. */
static int64_t steps_back(const char *word)
{
	int64_t steps = 0;
	if (strcmp(word, "last") == 0)
		return 0;
	if (!str_starts(word, "last~") || !str_to_int64(word + strlen("last~"), &steps) || steps < 0)
		return -1;
	return steps;
}

/* A damaged file cannot be the last run: nobody knows what it was. */
static int resolve_last(const struct history *history, int64_t steps, char **out, struct err *err)
{
	int64_t readable = 0;
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		if (entry->damaged)
			continue;
		if (readable++ == steps) {
			*out = mem_strdup(entry->path);
			return 0;
		}
	}
	if (readable == 0)
		return err_set(err, ERR_INPUT, "history in '%s' has no readable run (see pitot history)", history->dir);
	return err_set(err, ERR_INPUT, "history in '%s' has only %lld run%s: the oldest is last~%lld", history->dir,
		       (long long)readable, readable == 1 ? "" : "s", (long long)readable - 1);
}

static int many(const struct history *history, const char *word, size_t count, struct err *err)
{
	struct str names = {0};
	size_t named = 0;
	for (size_t i = 0; i < history->entries.len && named < NAMED_CANDIDATES; i++) {
		const char *name = file_name(&history->entries.items[i]);
		if (!str_starts(name, word))
			continue;
		str_appendf(&names, "%s%s", named++ ? ", " : "", name);
	}
	int code = err_set(err, ERR_INPUT, "%zu runs begin with '%s' (%s%s); type more of the name", count, word,
			   str_text(&names), count > named ? ", …" : "");
	str_fini(&names);
	return code;
}

static int nothing(const struct history *history, const char *word, struct err *err)
{
	VEC(const char *) candidates = {0};
	vec_push(&candidates, "last");
	for (size_t i = 0; i < history->entries.len; i++)
		vec_push(&candidates, file_name(&history->entries.items[i]));
	const char *meant = str_suggest(word, candidates.items, candidates.len);
	int code;
	if (is_folder(word))
		code = err_set(err, ERR_INPUT,
			       "'%s' is a folder, not a run; see the runs with pitot history --history %s", word, word);
	else if (meant)
		code = err_set(err, ERR_INPUT, "no run '%s'; did you mean '%s'?", word, meant);
	else
		code = err_set(err, ERR_INPUT,
			       "no run '%s': neither a file nor a run in '%s' (pitot history lists them)", word,
			       history->dir);
	vec_fini(&candidates);
	return code;
}

/* The only entry whose file name begins with `word`; *count says how many there are. */
static const struct history_entry *find_beginning(const struct history *history, const char *word, size_t *count)
{
	const struct history_entry *found = NULL;
	*count = 0;
	for (size_t i = 0; i < history->entries.len && word[0]; i++) {
		if (!str_starts(file_name(&history->entries.items[i]), word))
			continue;
		found = &history->entries.items[i];
		++*count;
	}
	return found;
}

static int resolve_tag(const struct history *history, const char *name, char **out, struct err *err)
{
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		for (size_t tag = 0; tag < entry->tags.len; tag++)
			if (strcmp(entry->tags.items[tag], name) == 0) {
				*out = mem_strdup(entry->path);
				return 0;
			}
	}
	if (history->tags_broken)
		return err_set(err, ERR_INPUT, "%s", history->tags_broken);
	return tag_missing(history->dir, name, err);
}

static int resolve_in(const struct history *history, const char *word, char **out, struct err *err)
{
	if (history->entries.len == 0 && !strchr(word, '/') && !is_folder(word))
		return err_set(err, ERR_INPUT, "history in '%s' is empty: pitot run first", history->dir);
	const struct history_entry *found = find_name(history, word);
	int64_t steps = steps_back(word);
	if (!found && steps >= 0)
		return resolve_last(history, steps, out, err);
	size_t count = 1;
	if (!found)
		found = find_beginning(history, word, &count);
	if (count > 1)
		return many(history, word, count, err);
	int by_commit = found ? 0 : revision_find(history, word, &found, err);
	if (by_commit < 0)
		return by_commit;
	if (!found)
		return nothing(history, word, err);
	*out = mem_strdup(found->path);
	return 0;
}

int history_resolve(const char *dir, const char *word, char **out, struct err *err)
{
	if (!word)
		word = "last";
	bool tagged = word[0] == '@';
	if (word[0] && !tagged && is_file(word)) {
		*out = mem_strdup(word);
		return 0;
	}
	struct history history;
	int code = history_open(dir, &history, err);
	if (code)
		return code;
	code = tagged ? resolve_tag(&history, word + 1, out, err) : resolve_in(&history, word, out, err);
	history_fini(&history);
	return code;
}
