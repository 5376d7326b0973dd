/*
 * history_trend.c - pitot history trend: how a metric moved over the runs of one pipeline, and at which commit.
 */
#include "cmd/history_args.h"
#include "probe/host.h"
#include "render/open_run.h"
#include "render/trend.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt trend_options[] = {HISTORY_ROW_METRIC,  HISTORY_ROW_STAGE,
					   HISTORY_ROW_QUALITY, HISTORY_ROW_LIMIT,
					   HISTORY_ROW_STATUS,  HISTORY_ROW_SINCE,
					   HISTORY_ROW_UNTIL,   HISTORY_ROW_COMMIT,
					   HISTORY_ROW_TAG,     HISTORY_ROW_HOST,
					   HISTORY_ROW_JSON,    HISTORY_ROW_CSV,
					   HISTORY_ROW_HISTORY, {0}};

struct chosen {
	VEC(const struct history_entry *) items; /* newest first */
};

/* The pipeline of the newest run that can be read. */
static int newest_name(const char *dir, char **out, struct err *err)
{
	struct history history = {0};
	int code = history_open_shown(dir, NULL, &history, err);
	for (size_t i = 0; !code && !*out && i < history.entries.len; i++)
		if (!history.entries.items[i].damaged)
			*out = mem_strdup(history.entries.items[i].name);
	if (!code && !*out)
		code = err_set(err, ERR_INPUT, "history in '%s' has no readable run: pitot run first", dir);
	history_fini(&history);
	return code;
}

static int unknown_metric(const char *word, struct err *err)
{
	const char *names[METRIC_COUNT];
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		names[metric] = metrics[metric].name;
	const char *meant = str_suggest(word, names, METRIC_COUNT);
	if (meant)
		return err_set(err, ERR_USAGE, "--metric: no metric '%s'; did you mean '%s'?", word, meant);
	return err_set(err, ERR_USAGE,
		       "--metric: no metric '%s' (pitot metrics lists them; --quality is for a program's own)", word);
}

static int make_request(const struct history_args *args, const char *name, struct history_request *request,
			struct trend_view *view, struct err *err)
{
	const char *word = args->metric ? args->metric : metrics[METRIC_WALL].name;
	int metric = metric_find(word);
	if (args->quality && (args->metric || args->stage))
		return err_set(err, ERR_USAGE, "--quality is of the run: neither --metric nor --stage goes with it");
	if (metric < 0)
		return unknown_metric(word, err);
	*request = (struct history_request){
		.fold = trend_fold, .run_name = name, .stage = args->stage, .metric = metric, .quality = args->quality};
	*view = (struct trend_view){.run_name = name,
				    .what = args->quality ? args->quality : word,
				    .stage = args->stage,
				    .meaning = args->quality ? NULL : metrics[metric].meaning,
				    .is_quality = args->quality != NULL,
				    .unit = metrics[metric].unit,
				    .direction = args->quality ? NEITHER_IS_BETTER : metrics[metric].direction};
	return 0;
}

/* Failed runs are left out unless asked for: where a run stops early, its numbers mean something else. */
static void choose(const struct history *history, const struct history_filter *filter, const struct history_args *args,
		   struct trend_view *view, struct chosen *out)
{
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		view->damaged += entry->damaged != NULL;
		if (entry->damaged || !history_filter_passes(filter, entry))
			continue;
		if (entry->live)
			view->running++;
		else if (!filter->status_count && entry->status != STATUS_OK)
			view->failed++;
		else if (args->limit && out->items.len >= (size_t)args->limit)
			view->older++;
		else
			vec_push(&out->items, entry);
	}
}

/* Reads the two runs beside each change; where one is gone by now, there is no note. */
static void add_notes(struct trend_machine *machine, int metric, const char *stage)
{
	for (size_t i = 0; i < machine->changes.len; i++) {
		struct trend_change *change = &machine->changes.items[i];
		const struct trend_point *first = &machine->points.items[change->index];
		struct run_record *before = NULL, *after = NULL;
		if (store_load((first - 1)->entry->path, &before, NULL) == 0 &&
		    store_load(first->entry->path, &after, NULL) == 0)
			change->note = trend_note(before, after, metric, stage);
		run_record_free(before);
		run_record_free(after);
	}
}

static int nothing(const struct trend_view *view, size_t matching, struct err *err)
{
	if (matching == 0)
		return err_set(err, ERR_INPUT, "no run of '%s' fits (pitot history lists the runs)", view->run_name);
	return err_set(err, ERR_INPUT, "none of the %zu runs of '%s' knows %s%s%s", matching, view->run_name,
		       view->what, view->stage ? " of a stage " : "", view->stage ? view->stage : "");
}

static void render(const struct trend_view *view, const struct history_args *args, struct str *out)
{
	struct render_options options;
	render_options_for(STDOUT_FILENO, 0, false, &options);
	if (args->json)
		trend_json(view, out);
	else if (args->csv)
		trend_csv(view, out);
	else
		trend_term(view, &options, out);
}

static int show_trend(const char *dir, const char *name, const struct history_args *args, struct str *out,
		      struct err *err)
{
	struct history_filter filter;
	struct history_request request;
	struct history history = {0};
	struct trend_report report = {0};
	struct trend_view view;
	struct chosen chosen = {0};
	struct host_facts facts = {0};
	int code = history_filter_make(args, name, &filter, err);
	if (!code)
		code = make_request(args, name, &request, &view, err);
	if (!code)
		code = history_open_shown(dir, &request, &history, err);
	if (code)
		return code;
	host_facts_read(&facts);
	choose(&history, &filter, args, &view, &chosen);
	trend_compute(chosen.items.items, chosen.items.len, &(struct trend_question){.direction = view.direction},
		      &report);
	view.report = &report;
	view.this_machine = facts.fingerprint;
	if (report.machines.len == 0)
		code = nothing(&view, chosen.items.len, err);
	for (size_t i = 0; i < report.machines.len; i++)
		add_notes(&report.machines.items[i], args->quality ? -1 : request.metric, args->stage);
	if (!code)
		render(&view, args, out);
	trend_report_fini(&report);
	vec_fini(&chosen.items);
	host_facts_fini(&facts);
	history_fini(&history);
	return code;
}

static int run_trend(int argc, char **argv)
{
	struct history_args args = {0};
	struct opt_texts rest = {0};
	struct str text = {0};
	struct err err;
	char *dir = NULL, *newest = NULL;
	int status = 0, code = 0;
	if (!cmd_parse(&cmd_history_trend, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len > 1)
		code = err_set(&err, ERR_USAGE, "takes one pipeline name at most");
	else if (args.json && args.csv)
		code = err_set(&err, ERR_USAGE, "--json or --csv, not both");
	else if (args.limit < 0)
		code = err_set(&err, ERR_USAGE, "--limit: expected 0 or more");
	dir = history_dir(args.history);
	if (!code && rest.len == 0)
		code = newest_name(dir, &newest, &err);
	if (!code)
		code = show_trend(dir, rest.len ? rest.items[0] : newest, &args, &text, &err);
	status = code ? cmd_fail(&cmd_history_trend, &err)
		      : cmd_output(&cmd_history_trend, NULL, str_text(&text), text.len);
out:
	free(dir);
	free(newest);
	str_fini(&text);
	vec_fini(&rest);
	vec_fini(&args.statuses);
	return status;
}

const struct cmd cmd_history_trend = {.name = "history trend",
				      .summary = "show how a metric moved over the runs of a pipeline",
				      .arguments = "[NAME] [--metric NAME [--stage NAME] | --quality NAME]",
				      .options = trend_options,
				      .run = run_trend};
