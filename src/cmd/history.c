/* history.c - pitot history: the earlier runs, newest first. */
#include "store/history.h"
#include "base/clock.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "render/format.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct history_args {
	const char *history;
	int64_t limit;
	bool json;
};

static const struct opt history_options[] = {
	{"limit", 'n', OPT_INTEGER, offsetof(struct history_args, limit), "N", "show at most N runs; 0 shows all"},
	{"history", 0, OPT_TEXT, offsetof(struct history_args, history), "DIR", "the folder with the earlier runs"},
	{"json", 0, OPT_FLAG, offsetof(struct history_args, json), NULL, "as JSON"},
	{0}};

extern const struct cmd cmd_history;

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static const char *status_word(const struct history_entry *entry)
{
	return entry->damaged ? "damaged" : entry->live ? "running" : status_name(entry->status);
}

static void list_term(const struct history_entry *entry, struct str *out)
{
	char when[24], wall[FORMAT_SIZE];
	clock_format_utc(entry->started_utc_ns, when, sizeof(when));
	when[10] = ' ';
	when[16] = '\0';
	format_seconds((double)entry->wall_ns / 1e9, wall);
	if (entry->damaged)
		str_appendf(out, "%-16s  %-11s  %10s  %s: %s\n", "?", "damaged", "", file_name(entry->path),
			    entry->damaged);
	else
		str_appendf(out, "%-16s  %-11s  %10s  %s\n", when, status_word(entry), entry->wall_ns ? wall : "",
			    file_name(entry->path));
}

static void list_json(const struct history_entry *entry, struct json *json)
{
	char when[24];
	clock_format_utc(entry->started_utc_ns, when, sizeof(when));
	json_object_begin(json, NULL);
	json_put_string(json, "path", entry->path);
	json_put_string(json, "name", entry->name);
	json_put_string(json, "timestamp_utc", entry->damaged ? NULL : when);
	json_put_string(json, "status", status_word(entry));
	if (entry->wall_ns)
		json_put_number(json, "total_duration_s", (double)entry->wall_ns / 1e9);
	else
		json_put_null(json, "total_duration_s");
	json_put_integer(json, "stages", (int64_t)entry->stages);
	json_put_string(json, "git_commit", entry->git_commit);
	json_put_string(json, "host_fingerprint", entry->fingerprint);
	json_put_string(json, "damaged", entry->damaged);
	json_object_end(json);
}

static void list(const struct history *history, const struct history_args *args, const char *name, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	int64_t shown = 0;
	size_t matching = 0;
	if (args->json)
		json_array_begin(&json, NULL);
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		if (name && (!entry->name || strcmp(entry->name, name) != 0))
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

static int run_history(int argc, char **argv)
{
	struct history_args args = {.limit = 20};
	struct opt_texts rest = {0};
	struct history history = {0};
	struct str text = {0};
	struct err err;
	char *dir = NULL;
	int status = 0;
	if (!cmd_parse(&cmd_history, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len > 1 || args.limit < 0) {
		status = cmd_usage_error(&cmd_history, rest.len > 1 ? "takes one pipeline name at most"
								    : "--limit: expected 0 or more");
		goto out;
	}
	dir = history_dir(args.history);
	if (history_open(dir, &history, &err) != 0) {
		status = cmd_fail(&cmd_history, &err);
		goto out;
	}
	list(&history, &args, rest.len ? rest.items[0] : NULL, &text);
	if (!text.len)
		fprintf(stderr, "no runs in %s\n", dir);
	status = cmd_output(&cmd_history, NULL, str_text(&text), text.len);
out:
	history_fini(&history);
	str_fini(&text);
	free(dir);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_history = {.name = "history",
				.summary = "list earlier runs",
				.arguments = "[NAME]",
				.options = history_options,
				.run = run_history};
