/* diff.c - pitot diff: what changed between two runs, or two sets of runs. */
#include "analyze/code_diff.h"
#include "cmd/delta.h"
#include "cmd/open_run.h"
#include "render/code_export.h"
#include "store/history.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct diff_args {
	const char *format, *output, *history;
	struct opt_texts a, b, metrics, stages;
	double threshold, confidence;
	bool all;
	int64_t width;
};

#define AT(field) offsetof(struct diff_args, field)
static const struct opt diff_options[] = {
	{"a", 0, OPT_LIST, AT(a), "RUN", "a run of the old side; may be repeated"},
	{"b", 0, OPT_LIST, AT(b), "RUN", "a run of the new side; may be repeated"},
	{"metric", 'm', OPT_LIST, AT(metrics), "NAME", "only this metric; may be repeated"},
	{"stage", 0, OPT_LIST, AT(stages), "NAME", "only this stage; may be repeated"},
	{"threshold", 't', OPT_NUMBER, AT(threshold), "PCT", "the change that matters, in per cent (5)"},
	{"confidence", 0, OPT_NUMBER, AT(confidence), "PCT", "of the intervals, in per cent (98)"},
	{"all", 'a', OPT_FLAG, AT(all), NULL, "also what did not change, or cannot be told"},
	{"format", 'f', OPT_CHOICE, AT(format), "term|md|json|html|folded",
	 "how to show it; folded: both code profiles, for a differential flame graph"},
	{"output", 'o', OPT_TEXT, AT(output), "FILE", "write there instead of to stdout"},
	{"history", 0, OPT_TEXT, AT(history), "DIR", "the folder with the earlier runs"},
	{"width", 0, OPT_INTEGER, AT(width), "N", "columns of the terminal format"},
	{0}};
#undef AT

extern const struct cmd cmd_diff;

struct stage_ids {
	int64_t *items;
	size_t len, cap;
};

static int unknown(const char *option, const char *name, const char *const *names, size_t count)
{
	const char *meant = str_suggest(name, names, count);
	if (meant)
		return cmd_usage_error(&cmd_diff, "--%s: neither side has '%s'; did you mean '%s'?", option, name,
				       meant);
	return cmd_usage_error(&cmd_diff, "--%s: neither side has '%s'", option, name);
}

static bool contains(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The names that may be asked for: of stages, or of metrics and quality metrics. */
static void list_names(const struct delta_runs *runs, bool stages, struct opt_texts *out)
{
	for (int metric = 0; metric < METRIC_COUNT && !stages; metric++)
		vec_push(out, metrics[metric].name);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < runs->sides[side].len; i++) {
			const struct run_record *run = runs->sides[side].items[i];
			for (size_t k = 0; stages && k < run->stages.len; k++)
				vec_push(out, run->stages.items[k].row.name);
			for (size_t k = 0; !stages && k < run->quality.len; k++)
				vec_push(out, run->quality.items[k].name);
		}
}

static int check_names(const struct diff_args *args, const struct delta_runs *runs)
{
	int status = 0;
	for (int stages = 0; stages < 2 && !status; stages++) {
		const struct opt_texts *asked = stages ? &args->stages : &args->metrics;
		struct opt_texts known = {0};
		list_names(runs, stages, &known);
		for (size_t i = 0; i < asked->len && !status; i++)
			if (!contains(known.items, known.len, asked->items[i]))
				status = unknown(stages ? "stage" : "metric", asked->items[i], known.items, known.len);
		vec_fini(&known);
	}
	return status;
}

/* *out stays NULL where the run has no profile. */
static int load_profile(const struct run_record *run, struct profile_data **out, struct err *err)
{
	bool exists = false;
	*out = NULL;
	int code = store_profile_exists(run->path, &exists, err);
	return !code && exists ? store_profile_load(run->path, out, err) : code;
}

/* One profile after the other: together they might not fit into memory. */
static int code_side_load(struct code_side *side, const struct delta_runs *runs, int which, struct err *err)
{
	for (size_t i = 0; i < runs->sides[which].len; i++) {
		struct profile_data *profile = NULL;
		int code = load_profile(runs->sides[which].items[i], &profile, err);
		if (code)
			return code;
		code_side_add(side, runs->sides[which].items[i], profile);
		profile_data_free(profile);
	}
	return 0;
}

/* The rows of the stages that are wanted. */
static void select_stages(const struct run_record *run, const struct diff_args *args, struct stage_ids *out)
{
	for (size_t i = 0; i < run->stages.len; i++) {
		const struct stage_row *row = &run->stages.items[i].row;
		if (!row->warmup &&
		    (args->stages.len == 0 || contains(args->stages.items, args->stages.len, row->name)))
			vec_push(out, row->id);
	}
}

static int show_folded(const struct diff_args *args, const struct delta_runs *runs)
{
	struct profile_data *profiles[2] = {NULL, NULL};
	struct code_tree trees[2];
	struct str text = {0};
	struct err err;
	int code = 0, status;
	if (runs->sides[0].len != 1 || runs->sides[1].len != 1)
		return cmd_usage_error(&cmd_diff, "--format folded: expected one run a side");
	for (int side = 0; side < 2 && !code; side++)
		code = load_profile(runs->sides[side].items[0], &profiles[side], &err);
	for (int side = 0; side < 2 && !code; side++)
		if (!profiles[side])
			code = err_set(&err, ERR_INPUT, "%s has no code profile; run it with --cpu", side ? "B" : "A");
	for (int side = 0; side < 2 && !code; side++) {
		struct stage_ids ids = {0};
		select_stages(runs->sides[side].items[0], args, &ids);
		/* A stage that only the other side has: nothing, not everything. */
		vec_reserve(&ids, 1);
		struct code_select select = {.stage_ids = ids.items, .stage_count = ids.len, .graft_workers = true};
		code_tree_build(profiles[side], &select, &trees[side]);
		vec_fini(&ids);
	}
	if (!code) {
		code_export_diff_folded(&trees[0], &trees[1], &text);
		code_tree_fini(&trees[0]);
		code_tree_fini(&trees[1]);
	}
	status = code ? cmd_fail(&cmd_diff, &err) : cmd_output(&cmd_diff, args->output, str_text(&text), text.len);
	str_fini(&text);
	profile_data_free(profiles[0]);
	profile_data_free(profiles[1]);
	return status;
}

static int show(const struct diff_args *args, const struct delta_runs *runs, const struct diff_options *options)
{
	struct diff diff;
	struct render_options view;
	struct str text = {0};
	struct err err;
	struct code_side *a = code_side_new(), *b = code_side_new();
	int status = code_side_load(a, runs, 0, &err);
	if (!status)
		status = code_side_load(b, runs, 1, &err);
	if (status) {
		code_side_free(a);
		code_side_free(b);
		return cmd_fail(&cmd_diff, &err);
	}
	delta_compare(runs, options, &diff);
	code_diff_add(&diff, a, b);
	struct delta delta = {.diff = &diff, .rows = true, .all = args->all};
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, false, &view);
	delta_renderer_find(args->format ? args->format : "term")->render(&delta, &view, &text);
	status = cmd_output(&cmd_diff, args->output, str_text(&text), text.len);
	str_fini(&text);
	diff_fini(&diff);
	code_side_free(a);
	code_side_free(b);
	return status;
}

static int compare(const struct diff_args *args, const struct opt_texts *rest, size_t dashes)
{
	struct delta_words words = {0};
	struct delta_runs runs = {0};
	struct diff_options options;
	char *dir = history_dir(args->history);
	int status = delta_options(&cmd_diff, args->threshold, args->confidence, &options);
	if (!status && (args->width < 0 || args->width > 10000))
		status = cmd_usage_error(&cmd_diff, "--width: expected 1 to 10000 columns");
	if (!status)
		status = delta_words_sort(&cmd_diff, rest, dashes, &args->a, &args->b, "last~1", true, &words);
	if (!status)
		status = delta_runs_load(&cmd_diff, dir, &words, &runs);
	if (!status)
		status = check_names(args, &runs);
	if (!status) {
		options.metrics = args->metrics.items;
		options.metric_count = args->metrics.len;
		options.stages = args->stages.items;
		options.stage_count = args->stages.len;
		bool folded = args->format && strcmp(args->format, "folded") == 0;
		status = folded ? show_folded(args, &runs) : show(args, &runs, &options);
	}
	delta_words_fini(&words);
	delta_runs_fini(&runs);
	free(dir);
	return status;
}

static int run_diff(int argc, char **argv)
{
	struct diff_args args = {.threshold = NAN, .confidence = NAN};
	struct opt_texts rest = {0};
	size_t dashes;
	int status = 0;
	if (cmd_parse_open(&cmd_diff, argc, argv, &args, NULL, NULL, &rest, &dashes, &status))
		status = compare(&args, &rest, dashes);
	vec_fini(&args.a);
	vec_fini(&args.b);
	vec_fini(&args.metrics);
	vec_fini(&args.stages);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_diff = {.name = "diff",
			     .summary = "show what changed between two runs, or two sets of runs",
			     .arguments = "[A [B]] | A1 A2 ... -- B1 B2 ...",
			     .options = diff_options,
			     .run = run_diff};
