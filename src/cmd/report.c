/* report.c - pitot report: shows a run in one of the formats, or its profile of code or memory in one of other tools. */
#include "analyze/memory_export.h"
#include "cmd/cmd.h"
#include "render/code_export.h"
#include "render/open_run.h"
#include "render/page.h"
#include "store/history.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct report_args {
	const char *format, *output, *history;
	const char *view, *stage, *function, *weight;
	bool verbose;
	int64_t width, process, thread, top;
	uint64_t from_ns, to_ns;
};

#define AT(field) offsetof(struct report_args, field)
static const struct opt report_options[] = {
	{"format", 'f', OPT_CHOICE, AT(format),
	 "term|md|json|csv|operators|html|heaptrack|folded|speedscope|pprof|chrome|callgrind|svg",
	 "how to show it; from folded on, the profile of code or memory for other tools"},
	{"output", 'o', OPT_TEXT, AT(output), "FILE", "write there instead of to stdout"},
	{"history", 0, OPT_TEXT, AT(history), "DIR", "the folder with the earlier runs"},
	{"verbose", 'v', OPT_FLAG, AT(verbose), NULL, "every metric with its provenance"},
	{"width", 0, OPT_INTEGER, AT(width), "N", "columns of the terminal format"},
	{"top", 0, OPT_INTEGER, AT(top), "N", "rows in the tables of code"},
	{"weight", 0, OPT_CHOICE, AT(weight), "peak|leaked|allocated|temporary", "the memory profile, by this"},
	{"view", 0, OPT_CHOICE, AT(view), "mixed|python|native", "frames of the profile"},
	{"stage", 0, OPT_TEXT, AT(stage), "NAME", "the profile of this stage only"},
	{"process", 0, OPT_INTEGER, AT(process), "PID", "the profile of this process only"},
	{"thread", 0, OPT_INTEGER, AT(thread), "TID", "the profile of this thread only"},
	{"from", 0, OPT_DURATION, AT(from_ns), "TIME", "the code profile from this time of the run on"},
	{"to", 0, OPT_DURATION, AT(to_ns), "TIME", "the code profile up to this time of the run"},
	{"function", 0, OPT_TEXT, AT(function), "NAME", "who calls this function, and whom it calls"},
	{0}};
#undef AT

extern const struct cmd cmd_report;

static struct code_request request_of(const struct report_args *args)
{
	return (struct code_request){.view = args->view ? (enum code_view)code_view_find(args->view) : CODE_MIXED,
				     .stage = args->stage,
				     .pid = (int)args->process,
				     .tid = (int)args->thread,
				     .from_ns = args->from_ns,
				     .to_ns = args->to_ns,
				     .function = args->function};
}

static bool asks_for_code(const struct report_args *args)
{
	return args->weight || args->view || args->stage || args->process || args->thread || args->from_ns ||
	       args->to_ns || args->function;
}

static int check_stage(const struct report *report, const char *name, struct err *err)
{
	const char **names = mem_alloc((report->stages.len + 1) * sizeof(*names));
	bool found = false;
	for (size_t i = 0; i < report->stages.len; i++) {
		names[i] = report->stages.items[i].name;
		found = found || strcmp(names[i], name) == 0;
	}
	const char *meant = found ? NULL : str_suggest(name, names, report->stages.len);
	free(names);
	if (found)
		return 0;
	if (meant)
		return err_set(err, ERR_USAGE, "--stage: the run has no '%s'; did you mean '%s'?", name, meant);
	return err_set(err, ERR_USAGE, "--stage: the run has no '%s'", name);
}

/* A process or thread that the profile does not have; 0: it is there. */
static int check_ids(const struct profile_data *profile, const struct report_args *args, struct err *err)
{
	bool process = !args->process, thread = !args->thread;
	for (size_t i = 0; i < profile->processes.len; i++)
		process = process || profile->processes.items[i].pid == args->process;
	for (size_t i = 0; i < profile->gaps.len; i++)
		process = process || profile->gaps.items[i].pid == args->process;
	for (size_t i = 0; i < profile->threads.len; i++)
		thread = thread || profile->threads.items[i].tid == args->thread;
	if (process && thread)
		return 0;
	return err_set(
		err, ERR_USAGE,
		"--%s: the code profile has no %s; pitot report --verbose lists those that used most of the time",
		process ? "thread" : "process", process ? "such thread" : "such process");
}

/* What was asked for that this run cannot show. */
static int check_profile(const struct opened_run *run, const struct report_args *args, struct err *err)
{
	bool memory = args->weight || (args->format && strcmp(args->format, "heaptrack") == 0);
	if (memory && !run->memory)
		return err_set(err, ERR_INPUT, "this run has no memory profile; run it with --memory");
	if (!run->profile)
		return err_set(err, ERR_INPUT, "this run has no code profile; run it with --cpu or --memory");
	if (check_ids(run->profile, args, err) != 0)
		return ERR_USAGE;
	return args->stage ? check_stage(&run->report, args->stage, err) : 0;
}

/* Sites in the place of samples. A format with a time axis shows the course of the memory beside the CPU samples. */
static int export_memory(const struct opened_run *run, const struct code_export *format,
			 const struct code_select *select, enum memory_weight weight, struct str *out, struct err *err)
{
	struct memory_export export;
	memory_export_open(run->profile, run->memory, select, weight, format->values, &export);
	int code = export.tree.samples.len
			   ? format->render(&export.tree, &run->report, out, err)
			   : err_set(err, ERR_INPUT, "the memory profile has nothing of what was asked for");
	memory_export_close(&export);
	return code;
}

static bool has_samples(const struct opened_run *run)
{
	return run->profile->samples.len > 0;
}

/* The repetitions that count, of the stages that are wanted. */
static int export_code(const struct opened_run *run, const struct code_export *format,
		       const struct code_request *request, int weight, struct str *out, struct err *err)
{
	VEC(int64_t) stages = {0};
	struct code_tree tree;
	for (size_t i = 0; i < run->report.stages.len; i++) {
		const struct report_stage *stage = &run->report.stages.items[i];
		for (size_t k = 0; k < stage->counted.len; k++)
			if (!request->stage || strcmp(request->stage, stage->name) == 0)
				vec_push(&stages, stage->counted.items[k]->row.id);
	}
	struct code_select select = {.stage_ids = stages.items,
				     .stage_count = stages.len,
				     .pid = request->pid,
				     .tid = request->tid,
				     .from_ns = request->from_ns,
				     .to_ns = request->to_ns,
				     .view = request->view,
				     .by_line = format->by_line,
				     .graft_workers = !format->per_thread};
	int code;
	if (weight && !format->timed) {
		code = export_memory(run, format, &select, (enum memory_weight)(weight - 1), out, err);
	} else {
		static const struct profile_data none;
		code_tree_build(run->profile ? run->profile : &none, &select, &tree);
		code = tree.samples.len || format->timed
			       ? format->render(&tree, &run->report, out, err)
			       : err_set(err, ERR_INPUT, "the code profile has no samples of what was asked for");
		code_tree_fini(&tree);
	}
	vec_fini(&stages);
	return code;
}

static int render(struct opened_run *run, const struct report_args *args, struct str *out, struct err *err)
{
	const char *format = args->format ? args->format : "term";
	const struct code_export *exporter = code_export_find(format);
	struct code_request request = request_of(args);
	bool profile = (exporter && !exporter->timed) || asks_for_code(args) || strcmp(format, "heaptrack") == 0;
	int code = profile ? check_profile(run, args, err) : 0;
	if (code)
		return code;
	if (exporter && exporter->binary && !args->output && isatty(STDOUT_FILENO))
		return err_set(err, ERR_USAGE, "--format %s is not for a terminal: write it to a file with -o", format);
	int weight = args->weight ? memory_weight_find(args->weight) + 1 : 0;
	if (exporter && !weight && run->memory && !has_samples(run))
		weight = MEMORY_BY_PEAK + 1;
	if (exporter)
		return export_code(run, exporter, &request, weight, out, err);
	if (strcmp(format, "operators") == 0 && !run->spans)
		return err_set(
			err, ERR_INPUT,
			"this run has no spans: its programs recorded none (pitot-span(1) and docs/spans.md tell how)");
	if (asks_for_code(args))
		opened_run_look(run, &request);
	struct render_options options;
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, args->verbose, &options);
	options.top = (size_t)args->top;
	options.only_code = asks_for_code(args);
	options.weight = weight;
	return renderer_find(format)->render(&run->report, &options, out, err);
}

/* One file with all that the run has; what is damaged is named on the page, not here. */
static int show_page(const char *path, const struct report_args *args)
{
	struct err err;
	struct str model = {0}, text = {0};
	int status;
	if (asks_for_code(args))
		return cmd_usage_error(&cmd_report, "--format html has the whole run: the page itself filters it");
	if (!args->output && isatty(STDOUT_FILENO))
		return cmd_usage_error(&cmd_report, "--format html is not for a terminal: write it to a file with -o");
	int code = page_is_built() ? page_run_json(path, &model, &err) : 0;
	if (!code)
		code = page_html(str_text(&model), model.len, &text, &err);
	status = code ? cmd_fail(&cmd_report, &err) : cmd_output(&cmd_report, args->output, str_text(&text), text.len);
	str_fini(&model);
	str_fini(&text);
	return status;
}

static int show(const char *path, const struct report_args *args)
{
	struct err err;
	struct opened_run run;
	struct str text = {0};
	if (args->format && strcmp(args->format, "html") == 0)
		return show_page(path, args);
	int status = opened_run_load(path, &run, &err) ? cmd_fail(&cmd_report, &err) : 0;
	if (status)
		return status;
	if (render(&run, args, &text, &err) != 0)
		status = cmd_fail(&cmd_report, &err);
	else
		status = cmd_output(&cmd_report, args->output, str_text(&text), text.len);
	str_fini(&text);
	opened_run_fini(&run);
	return status;
}

/* 0, or the exit status after the message. */
static int check_numbers(const struct report_args *args)
{
	if (args->width < 0 || args->width > 10000)
		return cmd_usage_error(&cmd_report, "--width: expected 1 to 10000 columns");
	if (args->top < 0 || args->top > 1000000)
		return cmd_usage_error(&cmd_report, "--top: expected 1 to 1000000 rows");
	if (args->process < 0 || args->process > INT_MAX || args->thread < 0 || args->thread > INT_MAX)
		return cmd_usage_error(&cmd_report, "--process, --thread: expected the number of one");
	if (args->to_ns && args->to_ns <= args->from_ns)
		return cmd_usage_error(&cmd_report, "--to: expected a time after --from");
	if (args->weight && (args->from_ns || args->to_ns || args->function))
		return cmd_usage_error(&cmd_report, "--weight: --from, --to and --function are of the CPU time");
	return 0;
}

static int run_report(int argc, char **argv)
{
	struct report_args args = {0};
	struct opt_texts rest = {0};
	struct err err;
	char *path = NULL, *dir = NULL;
	int status = 0;
	if (!cmd_parse(&cmd_report, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len > 1) {
		status = cmd_usage_error(&cmd_report, "one run at a time; '%s' is one too many", rest.items[1]);
		goto out;
	}
	status = check_numbers(&args);
	if (status)
		goto out;
	dir = history_dir(args.history);
	if (history_resolve(dir, rest.len ? rest.items[0] : NULL, &path, &err) != 0)
		status = cmd_fail(&cmd_report, &err);
	else
		status = show(path, &args);
out:
	free(path);
	free(dir);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_report = {
	.name = "report",
	.summary = "show a run: as text, a web page, Markdown, JSON or CSV; its code for other tools",
	.arguments = "[RUN] [--format F] [-o FILE]",
	.options = report_options,
	.run = run_report};
