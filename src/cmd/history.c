/* history.c - pitot history: its parts, and the list of the earlier runs. */
#include "base/clock.h"
#include "base/json.h"
#include "cmd/history_args.h"
#include "render/format.h"
#include "render/text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_RUNS = 20, COMMIT_DIGITS = 8 };

static const struct opt history_options[] = {
	HISTORY_ROW_LIMIT, HISTORY_ROW_STATUS,  HISTORY_ROW_SINCE,  HISTORY_ROW_UNTIL,   HISTORY_ROW_COMMIT,
	HISTORY_ROW_TAG,   HISTORY_ROW_HOST,    HISTORY_ROW_METRIC, HISTORY_ROW_STAGE,   HISTORY_ROW_QUALITY,
	HISTORY_ROW_JSON,  HISTORY_ROW_CSV,     HISTORY_ROW_FORCE,  HISTORY_ROW_KEEP,    HISTORY_ROW_OLDER,
	HISTORY_ROW_NAME,  HISTORY_ROW_DAMAGED, HISTORY_ROW_YES,    HISTORY_ROW_HISTORY, {0}};

static const struct opt list_options[] = {
	HISTORY_ROW_LIMIT, HISTORY_ROW_STATUS, HISTORY_ROW_SINCE, HISTORY_ROW_UNTIL,   HISTORY_ROW_COMMIT,
	HISTORY_ROW_TAG,   HISTORY_ROW_HOST,   HISTORY_ROW_JSON,  HISTORY_ROW_HISTORY, {0}};

/* What stands behind the file's name: the commit and the tags. */
static void append_marks(const struct history_entry *entry, struct str *out)
{
	if (entry->git_commit && entry->git_commit[0])
		str_appendf(out, "  %.*s", COMMIT_DIGITS, entry->git_commit);
	for (size_t i = 0; i < entry->tags.len; i++)
		str_appendf(out, "  @%s", entry->tags.items[i]);
}

static void list_term(const struct history_entry *entry, struct str *out)
{
	char when[24], wall[FORMAT_SIZE];
	struct str line = {0};
	history_moment(entry->started_utc_ns, when);
	format_seconds((double)entry->wall_ns / 1e9, wall);
	bool timed = entry->wall_ns && !entry->damaged;
	str_appendf(&line, "%-16s  %-11s  %10s  %s", entry->damaged ? "?" : when, history_status_word(entry),
		    timed ? wall : "", history_file_name(entry));
	append_marks(entry, &line);
	if (entry->damaged)
		str_appendf(&line, ": %s", entry->damaged);
	/* Names and messages may hold anything. */
	text_append_clean(out, str_text(&line), true);
	str_append_char(out, '\n');
	str_fini(&line);
}

static void list_json(const struct history_entry *entry, struct json *json)
{
	char when[24];
	clock_format_utc(entry->started_utc_ns, when, sizeof(when));
	json_object_begin(json, NULL);
	json_put_string(json, "path", entry->path);
	json_put_string(json, "name", entry->name);
	json_put_string(json, "uuid", entry->uuid);
	json_put_string(json, "timestamp_utc", entry->damaged ? NULL : when);
	json_put_string(json, "status", history_status_word(entry));
	if (entry->wall_ns)
		json_put_number(json, "total_duration_s", (double)entry->wall_ns / 1e9);
	else
		json_put_null(json, "total_duration_s");
	json_put_integer(json, "stages", (int64_t)entry->stages);
	json_put_string(json, "git_commit", entry->git_commit);
	json_put_string(json, "host_fingerprint", entry->fingerprint);
	json_array_begin(json, "tags");
	for (size_t i = 0; i < entry->tags.len; i++)
		json_put_string(json, NULL, entry->tags.items[i]);
	json_array_end(json);
	json_put_string(json, "damaged", entry->damaged);
	json_object_end(json);
}

static void list(const struct history *history, const struct history_args *args, const struct history_filter *filter,
		 struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	int64_t shown = 0;
	size_t matching = 0;
	if (args->json)
		json_array_begin(&json, NULL);
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		if (!history_filter_passes(filter, entry))
			continue;
		matching++;
		if (args->limit && shown++ >= args->limit)
			continue;
		if (args->json)
			list_json(entry, &json);
		else
			list_term(entry, out);
	}
	if (args->json)
		json_array_end(&json);
	else if (args->limit && matching > (size_t)args->limit)
		str_appendf(out, "(%zu older; --limit 0 shows all)\n", matching - (size_t)args->limit);
}

static int show_list(const struct history_args *args, const char *name)
{
	struct history history = {0};
	struct history_filter filter;
	struct str text = {0};
	struct err err;
	char *dir = history_dir(args->history);
	int code = history_filter_make(args, name, &filter, &err);
	if (!code)
		code = history_open_shown(dir, NULL, &history, &err);
	int status = code ? cmd_fail(&cmd_history_list, &err) : 0;
	if (!code) {
		list(&history, args, &filter, &text);
		if (!text.len && history.entries.len)
			fprintf(stderr, "none of the %zu runs in %s fits\n", history.entries.len, dir);
		else if (!text.len)
			fprintf(stderr, "no runs in %s\n", dir);
		status = cmd_output(&cmd_history_list, NULL, str_text(&text), text.len);
	}
	history_fini(&history);
	str_fini(&text);
	free(dir);
	return status;
}

static int run_list(int argc, char **argv)
{
	struct history_args args = {.limit = SHOWN_RUNS};
	struct opt_texts rest = {0};
	int status = 0;
	if (!cmd_parse(&cmd_history_list, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len > 1)
		status = cmd_usage_error(&cmd_history_list, "takes one pipeline name at most");
	else if (args.limit < 0)
		status = cmd_usage_error(&cmd_history_list, "--limit: expected 0 or more");
	else
		status = show_list(&args, rest.len ? rest.items[0] : NULL);
out:
	vec_fini(&rest);
	vec_fini(&args.statuses);
	return status;
}

const struct cmd cmd_history_list = {.name = "history",
				     .summary = "list earlier runs",
				     .arguments = "[list] [NAME]",
				     .options = list_options,
				     .run = run_list};

static const struct {
	const char *name;
	const struct cmd *cmd;
} parts[] = {{"list", &cmd_history_list},
	     {"trend", &cmd_history_trend},
	     {"tag", &cmd_history_tag},
	     {"untag", &cmd_history_untag},
	     {"prune", &cmd_history_prune}};

/* The manual is one page for all parts, and `pitot history -h` lists all options. */
static bool wants_help(int argc, char **argv, bool has_part)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || (!has_part && strcmp(argv[i], "-h") == 0))
			return true;
	return false;
}

static int run_history(int argc, char **argv)
{
	const struct cmd *part = NULL;
	for (size_t i = 0; argc > 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(argv[0], parts[i].name) == 0)
			part = parts[i].cmd;
	if (wants_help(argc, argv, part != NULL)) {
		struct history_args args = {0};
		struct opt_texts rest = {0};
		int status = 0;
		cmd_parse(&cmd_history, argc, argv, &args, &rest, &status);
		return status;
	}
	return part ? part->run(argc - 1, argv + 1) : run_list(argc, argv);
}

const struct cmd cmd_history = {.name = "history",
				.summary = "list, tag and prune earlier runs, and show trends",
				.arguments = "[list] [NAME] | trend [NAME] | tag [RUN TAG] | untag TAG | prune",
				.options = history_options,
				.run = run_history};
