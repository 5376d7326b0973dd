/* diff.c - pitot diff: what changed between two runs, or two sets of runs. */
#include "analyze/code_diff.h"
#include "analyze/memory_export.h"
#include "analyze/span_diff.h"
#include "cmd/delta.h"
#include "cmd/delta_models.h"
#include "render/code_export.h"
#include "render/open_run.h"
#include "render/page.h"
#include "store/history.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct diff_args {
	const char *format, *output, *history, *weight;
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
	 "how to show it; folded: both profiles, for a differential flame graph"},
	{"weight", 0, OPT_CHOICE, AT(weight), "peak|leaked|allocated|temporary",
	 "folded: of the memory profiles, by this"},
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

/* What is compared of each side: the CPU time, and memory by every weight. */
struct profile_sides {
	struct code_side *code[2], *memory[2][MEMORY_WEIGHT_COUNT];
	struct span_side *spans[2];
};

static void sides_make(struct profile_sides *sides)
{
	for (int side = 0; side < 2; side++) {
		sides->code[side] = code_side_new();
		sides->spans[side] = span_side_new();
		for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
			sides->memory[side][i] = code_side_new_memory((enum memory_weight)i);
	}
}

static void sides_free(struct profile_sides *sides)
{
	for (int side = 0; side < 2; side++) {
		code_side_free(sides->code[side]);
		span_side_free(sides->spans[side]);
		for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
			code_side_free(sides->memory[side][i]);
	}
}

/* A run of which only the memory was profiled has no samples. */
static const struct profile_data *timed(const struct profile_data *profile, const struct memory_data *memory)
{
	return profile && memory && profile->samples.len == 0 ? NULL : profile;
}

/* One profile after the other: together they might not fit into memory. */
static int sides_load(struct profile_sides *sides, const struct delta_runs *runs, int which, struct err *err)
{
	for (size_t i = 0; i < runs->sides[which].len; i++) {
		struct profile_data *profile = NULL;
		int code = load_profile(runs->sides[which].items[i], &profile, err);
		if (code)
			return code;
		const struct run_record *run = runs->sides[which].items[i];
		struct memory_data *memory = NULL;
		if (profile)
			code = store_memory_load(run->path, profile, &memory, err);
		if (!code) {
			code_side_add(sides->code[which], run, timed(profile, memory));
			for (int k = 0; k < MEMORY_WEIGHT_COUNT; k++)
				code_side_add_memory(sides->memory[which][k], run, profile, memory);
		}
		memory_data_free(memory);
		profile_data_free(profile);
		if (code)
			return code;
	}
	return 0;
}

static int span_side_load(struct span_side *side, const struct delta_runs *runs, int which, struct err *err)
{
	for (size_t i = 0; i < runs->sides[which].len; i++) {
		struct span_data *data = NULL;
		int code = store_span_load(runs->sides[which].items[i]->path, &data, err);
		if (code)
			return code;
		span_side_add(side, runs->sides[which].items[i], data);
		span_data_free(data);
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

/* One side of a differential flame graph: the tree of its code, or of its memory by a weight. */
struct folded_side {
	struct profile_data *profile;
	struct memory_data *memory;
	struct memory_export export;
	struct code_tree code;
	const struct code_tree *tree; /* one of the two; NULL: not built */
};

static int folded_load(const struct diff_args *args, const struct run_record *run, bool is_b, struct folded_side *out,
		       struct err *err)
{
	const char *name = is_b ? "B" : "A";
	int code = load_profile(run, &out->profile, err);
	if (!code && out->profile && args->weight)
		code = store_memory_load(run->path, out->profile, &out->memory, err);
	if (!code && args->weight && !out->memory)
		code = err_set(err, ERR_INPUT, "%s has no memory profile; run it with --memory", name);
	if (!code && !out->profile)
		code = err_set(err, ERR_INPUT, "%s has no code profile; run it with --cpu", name);
	if (code)
		return code;
	struct stage_ids ids = {0};
	select_stages(run, args, &ids);
	/* A stage that only the other side has: nothing, not everything. */
	vec_reserve(&ids, 1);
	struct code_select select = {.stage_ids = ids.items, .stage_count = ids.len, .graft_workers = true};
	if (args->weight) {
		enum memory_weight weight = (enum memory_weight)memory_weight_find(args->weight);
		memory_export_open(out->profile, out->memory, &select, weight, false, &out->export);
		out->tree = &out->export.tree;
	} else {
		code_tree_build(out->profile, &select, &out->code);
		out->tree = &out->code;
	}
	vec_fini(&ids);
	return 0;
}

static void folded_fini(const struct diff_args *args, struct folded_side *side)
{
	if (side->tree && args->weight)
		memory_export_close(&side->export);
	else if (side->tree)
		code_tree_fini(&side->code);
	memory_data_free(side->memory);
	profile_data_free(side->profile);
}

static int show_folded(const struct diff_args *args, const struct delta_runs *runs)
{
	struct folded_side sides[2] = {0};
	struct str text = {0};
	struct err err;
	int code = 0;
	if (runs->sides[0].len != 1 || runs->sides[1].len != 1)
		return cmd_usage_error(&cmd_diff, "--format folded: expected one run a side");
	for (int side = 0; side < 2 && !code; side++)
		code = folded_load(args, runs->sides[side].items[0], side == 1, &sides[side], &err);
	if (!code)
		code_export_diff_folded(sides[0].tree, sides[1].tree, &text);
	int status = code ? cmd_fail(&cmd_diff, &err) : cmd_output(&cmd_diff, args->output, str_text(&text), text.len);
	str_fini(&text);
	for (int side = 0; side < 2; side++)
		folded_fini(args, &sides[side]);
	return status;
}

/* The page, where this pitot has it; else the same rows without a script. */
static int render_delta(const struct diff_args *args, const struct delta *delta, struct str *out, struct err *err)
{
	struct render_options view;
	struct str model = {0};
	const char *format = args->format ? args->format : "term";
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, false, &view);
	if (strcmp(format, "html") != 0 || !page_is_built()) {
		delta_renderer_find(format)->render(delta, &view, out);
		return 0;
	}
	int code = page_delta_json(delta, &model, err);
	if (!code)
		code = page_html(str_text(&model), model.len, out, err);
	str_fini(&model);
	return code;
}

static int show(const struct diff_args *args, const struct delta_runs *runs, const struct diff_options *options)
{
	struct diff diff;
	struct str text = {0};
	struct err err;
	struct profile_sides sides;
	sides_make(&sides);
	int status = sides_load(&sides, runs, 0, &err);
	if (!status)
		status = sides_load(&sides, runs, 1, &err);
	for (int side = 0; side < 2 && !status; side++)
		status = span_side_load(sides.spans[side], runs, side, &err);
	if (status) {
		sides_free(&sides);
		return cmd_fail(&cmd_diff, &err);
	}
	delta_compare(runs, options, &diff);
	span_diff_add(&diff, sides.spans[0], sides.spans[1]);
	code_diff_add(&diff, sides.code[0], sides.code[1]);
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		code_diff_add(&diff, sides.memory[0][i], sides.memory[1][i]);
	struct delta delta = {.diff = &diff, .rows = true, .all = args->all};
	status = delta_models_add(&diff, runs, &err) || render_delta(args, &delta, &text, &err)
			 ? cmd_fail(&cmd_diff, &err)
			 : cmd_output(&cmd_diff, args->output, str_text(&text), text.len);
	str_fini(&text);
	diff_fini(&diff);
	sides_free(&sides);
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
		if (args->weight && !folded)
			status = cmd_usage_error(&cmd_diff, "--weight: only with --format folded");
		else
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
