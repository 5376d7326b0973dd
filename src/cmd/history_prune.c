/*
 * history_prune.c - pitot history prune: removes old runs, after having shown which.
 *
 * All conditions that are given must hold for a run to go. Without --yes nothing is removed.
 */
#include "base/clock.h"
#include "cmd/history_args.h"
#include "render/format.h"
#include "render/text.h"
#include "store/prune.h"
#include "store/tag.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt prune_options[] = {HISTORY_ROW_KEEP,
					   HISTORY_ROW_OLDER,
					   HISTORY_ROW_NAME,
					   HISTORY_ROW_DAMAGED,
					   HISTORY_ROW_YES,
					   HISTORY_ROW_HISTORY,
					   {0}};

/* --keep was not given. */
#define NO_KEEP INT64_MIN

/* How many readable runs of each name have been seen, newest first. */
struct tally {
	const char *name;
	int64_t seen;
};

struct tallies {
	VEC(struct tally) items;
};

static int64_t count_up(struct tallies *tallies, const char *name)
{
	for (size_t i = 0; i < tallies->items.len; i++)
		if (strcmp(tallies->items.items[i].name, name) == 0)
			return ++tallies->items.items[i].seen;
	vec_push(&tallies->items, ((struct tally){name, 1}));
	return 1;
}

struct pruning {
	const struct history_args *args;
	struct history history;
	uint64_t before_ns; /* only runs that began earlier */
	struct tallies tallies;
	struct str text;
	size_t chosen, spared;
	uint64_t freed;
};

static bool is_chosen(struct pruning *pruning, const struct history_entry *entry)
{
	const struct history_args *args = pruning->args;
	int64_t place = entry->damaged ? 0 : count_up(&pruning->tallies, entry->name);
	/* A damaged file goes only where that was asked for: nobody can say which run it was. */
	if (args->damaged != (entry->damaged != NULL))
		return false;
	if (args->name && strcmp(args->name, entry->name) != 0)
		return false;
	if (args->keep != NO_KEEP && place <= args->keep)
		return false;
	return entry->started_utc_ns < pruning->before_ns;
}

static void append_line(struct pruning *pruning, const struct history_entry *entry, const char *word, const char *why)
{
	char when[24];
	struct str line = {0};
	history_moment(entry->started_utc_ns, when);
	str_appendf(&line, "%-8s  %-16s  %-11s  %s%s%s", word, entry->damaged ? "?" : when, history_status_word(entry),
		    history_file_name(entry), why ? ": " : "", why ? why : "");
	text_append_clean(&pruning->text, str_text(&line), true);
	str_append_char(&pruning->text, '\n');
	str_fini(&line);
}

static int prune_all(struct pruning *pruning, struct err *err)
{
	for (size_t i = 0; i < pruning->history.entries.len; i++) {
		const struct history_entry *entry = &pruning->history.entries.items[i];
		if (!is_chosen(pruning, entry))
			continue;
		const char *obstacle = prune_obstacle(&pruning->history, entry);
		if (obstacle) {
			pruning->spared++;
			append_line(pruning, entry, "kept", obstacle);
			continue;
		}
		int code = pruning->args->yes ? prune_remove(&pruning->history, entry, &pruning->freed, err) : 0;
		if (code)
			return code;
		pruning->chosen++;
		append_line(pruning, entry, pruning->args->yes ? "removed" : "would go", NULL);
	}
	return 0;
}

static void append_sum(struct pruning *pruning)
{
	char bytes[FORMAT_SIZE];
	const char *s = pruning->chosen == 1 ? "" : "s";
	format_bytes((double)pruning->freed, bytes);
	if (pruning->chosen == 0)
		str_append(&pruning->text, pruning->args->yes ? "removed nothing\n" : "nothing to remove\n");
	else if (pruning->args->yes)
		str_appendf(&pruning->text, "removed %zu run%s, %s\n", pruning->chosen, s, bytes);
	else
		str_appendf(&pruning->text, "would remove %zu run%s; --yes does it\n", pruning->chosen, s);
}

/* With --yes the tags are locked from before the history is read until all is done: a run that gets a tag meanwhile
 * either has it in time or is gone, with an error for whoever wanted to tag it. */
static int prune(const char *dir, struct pruning *pruning, struct err *err)
{
	int lock = -1, code = 0;
	if (pruning->args->yes && access(dir, F_OK) == 0)
		code = tag_lock(dir, &lock, err);
	if (!code)
		code = history_open_shown(dir, NULL, &pruning->history, err);
	if (!code && pruning->history.tags_broken)
		code = err_set(err, ERR_INPUT, "without the tags nobody knows what must stay; nothing was removed");
	if (!code)
		code = prune_all(pruning, err);
	if (lock >= 0)
		tag_unlock(lock);
	append_sum(pruning);
	return code;
}

static int check_args(const struct history_args *args, struct pruning *pruning, struct err *err)
{
	if (args->keep == NO_KEEP && !args->older_than && !args->name && !args->damaged)
		return err_set(err, ERR_USAGE, "what to remove? --keep N, --older-than 90d, --name NAME or --damaged");
	if (args->keep != NO_KEEP && args->keep < 0)
		return err_set(err, ERR_USAGE, "--keep: expected 0 or more");
	if (args->damaged && (args->keep != NO_KEEP || args->name))
		return err_set(err, ERR_USAGE,
			       "--damaged: nobody knows what pipeline a damaged file was of; --keep and"
			       " --name cannot be used with it");
	if (args->older_than && !history_when(args->older_than, clock_utc_ns(), false, &pruning->before_ns))
		return err_set(err, ERR_USAGE,
			       "--older-than: '%s' is no time ago (12h, 90d, 2w) and no date (2026-01-31)",
			       args->older_than);
	return 0;
}

static int run_prune(int argc, char **argv)
{
	struct history_args args = {.keep = NO_KEEP};
	struct opt_texts rest = {0};
	struct pruning pruning = {.args = &args, .before_ns = UINT64_MAX};
	struct err err;
	int status = 0;
	if (!cmd_parse(&cmd_history_prune, argc, argv, &args, &rest, &status))
		goto out;
	char *dir = history_dir(args.history);
	int code = rest.len ? err_set(&err, ERR_USAGE, "'%s' is one word too many; --name chooses a pipeline",
				      rest.items[0])
			    : check_args(&args, &pruning, &err);
	if (!code) {
		code = prune(dir, &pruning, &err);
		status = cmd_output(&cmd_history_prune, NULL, str_text(&pruning.text), pruning.text.len);
	}
	if (code)
		status = cmd_fail(&cmd_history_prune, &err);
	free(dir);
out:
	vec_fini(&pruning.tallies.items);
	history_fini(&pruning.history);
	str_fini(&pruning.text);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_history_prune = {.name = "history prune",
				      .summary = "remove old runs; shows which, and removes them with --yes",
				      .arguments = "[--keep N] [--older-than WHEN] [--name NAME] [--damaged] [--yes]",
				      .options = prune_options,
				      .run = run_prune};
