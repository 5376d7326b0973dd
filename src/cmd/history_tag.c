/* history_tag.c - pitot history tag and untag: names for runs. */
#include "cmd/history_args.h"
#include "render/text.h"
#include "store/tag.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct opt tag_options[] = {HISTORY_ROW_FORCE, HISTORY_ROW_HISTORY, {0}};
static const struct opt untag_options[] = {HISTORY_ROW_HISTORY, {0}};

/* A leading @ is how a tag is used, and is no part of it. */
static const char *tag_word(const char *word)
{
	return word[0] == '@' ? word + 1 : word;
}

static bool is_there(const struct history *history, const char *name)
{
	for (size_t i = 0; i < history->entries.len; i++)
		for (size_t tag = 0; tag < history->entries.items[i].tags.len; tag++)
			if (strcmp(history->entries.items[i].tags.items[tag], name) == 0)
				return true;
	return false;
}

static int list_tags(const char *dir)
{
	struct tag_list list = {0};
	struct history history = {0};
	struct str text = {0}, line = {0};
	struct err err;
	int code = history_open_shown(dir, NULL, &history, &err);
	if (!code)
		code = tag_list_read(dir, &list, &err);
	for (size_t i = 0; i < list.items.len; i++) {
		const struct tag *tag = &list.items.items[i];
		str_clear(&line);
		str_appendf(&line, "@%-20s  %s%s", tag->name, tag->file,
			    is_there(&history, tag->name) ? "" : "  (no longer in the history)");
		text_append_clean(&text, str_text(&line), true);
		str_append_char(&text, '\n');
	}
	int status =
		code ? cmd_fail(&cmd_history_tag, &err) : cmd_output(&cmd_history_tag, NULL, str_text(&text), text.len);
	if (!code && !list.items.len)
		fprintf(stderr, "no tags in %s\n", dir);
	tag_list_fini(&list);
	history_fini(&history);
	str_fini(&text);
	str_fini(&line);
	return status;
}

/* The entry that the path belongs to: only what is in the history can be found by its tag later. */
static const struct history_entry *find_path(const struct history *history, const char *path)
{
	char *real = realpath(path, NULL);
	const struct history_entry *found = NULL;
	for (size_t i = 0; real && !found && i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		if (strcmp(strrchr(real, '/') + 1, history_file_name(entry)) != 0 && strcmp(path, entry->path) != 0)
			continue;
		char *other = realpath(entry->path, NULL);
		found = other && strcmp(other, real) == 0 ? entry : NULL;
		free(other);
	}
	free(real);
	return found;
}

static int set_tag(const char *dir, const char *word, const char *name, bool move, struct err *err)
{
	struct history history = {0};
	char *path = NULL;
	int code = history_resolve(dir, word, &path, err);
	if (!code)
		code = history_open_shown(dir, NULL, &history, err);
	const struct history_entry *entry = code ? NULL : find_path(&history, path);
	if (!code && !entry)
		code = err_set(err, ERR_INPUT, "'%s' is not in the history '%s'; only its runs can be tagged", path,
			       dir);
	if (!code && entry->damaged)
		code = err_set(err, ERR_INPUT, "%s", entry->damaged);
	if (!code) {
		struct tag tag = {.name = (char *)name,
				  .uuid = entry->uuid ? entry->uuid : (char *)"",
				  .file = (char *)history_file_name(entry)};
		code = tag_set(dir, &tag, move, err);
	}
	history_fini(&history);
	free(path);
	return code;
}

static int run_tag(int argc, char **argv)
{
	struct history_args args = {0};
	struct opt_texts rest = {0};
	struct err err;
	int status = 0;
	if (cmd_parse(&cmd_history_tag, argc, argv, &args, &rest, &status)) {
		char *dir = history_dir(args.history);
		if (rest.len == 0)
			status = list_tags(dir);
		else if (rest.len != 2)
			status = cmd_usage_error(&cmd_history_tag,
						 "expected a run and a tag: pitot history tag last good");
		else if (set_tag(dir, rest.items[0], tag_word(rest.items[1]), args.force, &err) != 0)
			status = cmd_fail(&cmd_history_tag, &err);
		free(dir);
	}
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_history_tag = {.name = "history tag",
				    .summary = "name a run, to be used as @TAG; without arguments: list the tags",
				    .arguments = "[RUN TAG]",
				    .options = tag_options,
				    .run = run_tag};

static int run_untag(int argc, char **argv)
{
	struct history_args args = {0};
	struct opt_texts rest = {0};
	struct err err;
	int status = 0;
	if (cmd_parse(&cmd_history_untag, argc, argv, &args, &rest, &status)) {
		char *dir = history_dir(args.history);
		if (rest.len == 0)
			status = cmd_usage_error(&cmd_history_untag, "expected a tag (pitot history tag lists them)");
		for (size_t i = 0; status == 0 && i < rest.len; i++)
			if (tag_remove(dir, tag_word(rest.items[i]), &err) != 0)
				status = cmd_fail(&cmd_history_untag, &err);
		free(dir);
	}
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_history_untag = {.name = "history untag",
				      .summary = "take tags away",
				      .arguments = "TAG ...",
				      .options = untag_options,
				      .run = run_untag};
