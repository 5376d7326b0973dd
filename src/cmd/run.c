/* run.c - pitot run: runs a pipeline file, or one command, and shows what it cost. */
#include "run/run.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cmd/delta.h"
#include "config/overlay.h"
#include "render/open_run.h"
#include "render/progress.h"
#include "store/history.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNSAID = -1000 }; /* of a number that was not given, so that a 0 can be refused */

struct run_args {
	const char *output, *history, *report_dir, *name, *format, *compare_to, *cpu, *memory;
	struct opt_texts set, param_files, only;
	int64_t jobs, repeat, warmup, cpu_hz, memory_period;
	uint64_t interval_ns, timeout_ns;
	double watts;
	bool memory_types, span_counters, pss, pmu, gpu, cgroup, exit_records;
	bool dry_run, quiet, show_output, inherit, report, fail_on_regression;
	/* filled from options that the table does not know: --train-epochs 10 */
	struct pipeline_overrides overrides;
	struct baseline *baseline; /* of --compare-to */
	VEC(char *) owned;
	int argc;
	char **argv;
};

#define AT(field) offsetof(struct run_args, field)
static const struct opt run_options[] = {
	{"output", 'o', OPT_TEXT, AT(output), "FILE", "the run file to write; else one in the history"},
	{"history", 0, OPT_TEXT, AT(history), "DIR", "the folder with the earlier runs"},
	{"report-dir", 0, OPT_TEXT, AT(report_dir), "DIR", "write profile_report.json and profile_summary.md there"},
	{"compare-to", 0, OPT_TEXT, AT(compare_to), "RUN", "show afterwards what changed since this run"},
	{"fail-on-regression", 0, OPT_FLAG, AT(fail_on_regression), NULL,
	 "exit 2 where a threshold of gate: is broken"},
	{"set", 's', OPT_LIST, AT(set), "NAME=VALUE", "set a parameter of the pipeline"},
	{"param", 0, OPT_LIST, AT(param_files), "FILE", "read parameters from a YAML or JSON file"},
	{"only", 0, OPT_LIST, AT(only), "STAGE", "run only this stage; may be repeated"},
	{"jobs", 'j', OPT_INTEGER, AT(jobs), "N", "run up to N independent stages side by side"},
	{"repeat", 'r', OPT_INTEGER, AT(repeat), "N", "run the whole pipeline N times"},
	{"warmup", 'w', OPT_INTEGER, AT(warmup), "N", "run it N times before that, not counted"},
	{"interval", 'i', OPT_DURATION, AT(interval_ns), "TIME", "time between samples (100ms)"},
	{"timeout", 't', OPT_DURATION, AT(timeout_ns), "TIME", "end a stage that runs longer, unless it says itself"},
	{"name", 0, OPT_TEXT, AT(name), "NAME", "what to call the run"},
	{"cpu", 0, OPT_MAYBE, AT(cpu), "HZ", "profile the code: functions and lines (999 samples a second)"},
	{"memory", 0, OPT_MAYBE, AT(memory), "exact", "profile memory: which code allocates (sampled, or every block)"},
	{"memory-period", 0, OPT_INTEGER, AT(memory_period), "BYTES",
	 "mean bytes between two samples of --memory (524288)"},
	{"memory-types", 0, OPT_FLAG, AT(memory_types), NULL, "with --memory: Python's objects by type, near the peak"},
	{"span-counters", 0, OPT_FLAG, AT(span_counters), NULL,
	 "hardware counters of every operator (programs with spans)"},
	{"pss", 0, OPT_FLAG, AT(pss), NULL, "also sample proportional set sizes (costly)"},
	{"watts", 0, OPT_NUMBER, AT(watts), "W", "power assumed where none can be read (45; 0: none)"},
	{"no-gpu-sampling", 0, OPT_NEGATED, AT(gpu), NULL, "leave the GPU alone"},
	{"no-pmu", 0, OPT_NEGATED, AT(pmu), NULL, "no hardware counters"},
	{"no-cgroup", 0, OPT_NEGATED, AT(cgroup), NULL, "no control groups"},
	{"no-exit-records", 0, OPT_NEGATED, AT(exit_records), NULL, "no exit records"},
	{"inherit", 0, OPT_FLAG, AT(inherit), NULL, "leave the command's descriptors alone; nothing is captured"},
	{"show-output", 0, OPT_FLAG, AT(show_output), NULL, "show what the stages print"},
	{"dry-run", 'n', OPT_FLAG, AT(dry_run), NULL, "show the plan, run nothing"},
	{"quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no progress, no report"},
	{"no-report", 0, OPT_NEGATED, AT(report), NULL, "no report at the end"},
	{"format", 'f', OPT_CHOICE, AT(format), "term|md|json|csv", "how to show the report at the end"},
	{0}};
#undef AT

extern const struct cmd cmd_run;

/* ---- what to run ---- */

static char *own(struct run_args *args, char *text)
{
	vec_push(&args->owned, text);
	return text;
}

static int keep_unknown(void *context, const char *name, const char *value, const char *next, bool *took_next)
{
	struct run_args *args = context;
	if (!value && next && next[0] != '-') {
		value = next;
		*took_next = true;
	}
	struct param_override override = {.name = own(args, mem_strdup(name)),
					  .value = value ? value : "true",
					  .source = own(args, mem_printf("--%s", name))};
	vec_push(&args->overrides.values, override);
	return 0;
}

static int take_overrides(struct run_args *args)
{
	if (!args->gpu)
		vec_push(&args->overrides.values, ((struct param_override){.name = "enable_gpu_sampling",
									   .value = "false",
									   .source = "--no-gpu-sampling",
									   .if_declared = true}));
	for (size_t i = 0; i < args->param_files.len; i++)
		vec_push(&args->overrides.param_files, args->param_files.items[i]);
	for (size_t i = 0; i < args->set.len; i++) {
		const char *equals = strchr(args->set.items[i], '=');
		if (!equals || equals == args->set.items[i])
			return cmd_usage_error(&cmd_run, "--set: expected NAME=VALUE, not '%s'", args->set.items[i]);
		char *name = own(args, mem_strndup(args->set.items[i], (size_t)(equals - args->set.items[i])));
		vec_push(&args->overrides.values,
			 ((struct param_override){.name = name, .value = equals + 1, .source = "--set"}));
	}
	return 0;
}

/* `--cpu` alone, or with samples per second. */
static int check_cpu(struct run_args *args)
{
	args->cpu_hz = !args->cpu ? -1 : PROFILE_CPU_HZ;
	if (!args->cpu || !args->cpu[0])
		return 0;
	if (!str_to_int64(args->cpu, &args->cpu_hz) || args->cpu_hz < 1 || args->cpu_hz > PROFILE_CPU_HZ_MOST)
		return cmd_usage_error(&cmd_run, "--cpu: expected 1 to %d samples per second, not '%s'",
				       PROFILE_CPU_HZ_MOST, args->cpu);
	return 0;
}

/* `--memory` alone, or `--memory=exact`, or with another period. */
static int check_memory(struct run_args *args)
{
	bool is_exact = args->memory && strcmp(args->memory, "exact") == 0, has_period = args->memory_period != UNSAID;
	if (args->memory && args->memory[0] && !is_exact)
		return cmd_usage_error(&cmd_run, "--memory: expected nothing or 'exact', not '%s'", args->memory);
	if (has_period && (!args->memory || is_exact))
		return cmd_usage_error(&cmd_run, "--memory-period: needs --memory, and not --memory=exact");
	if (has_period && (args->memory_period < PROFILE_MEMORY_LEAST || args->memory_period > PROFILE_MEMORY_MOST))
		return cmd_usage_error(&cmd_run, "--memory-period: expected %d to %d bytes", PROFILE_MEMORY_LEAST,
				       PROFILE_MEMORY_MOST);
	if (args->memory_types && !args->memory)
		return cmd_usage_error(&cmd_run, "--memory-types: needs --memory");
	if (!args->memory)
		args->memory_period = -1;
	else if (!has_period)
		args->memory_period = is_exact ? PROFILE_MEMORY_EXACT : PROFILE_MEMORY;
	return 0;
}

static int check_numbers(const struct run_args *args)
{
	if (args->jobs != UNSAID && (args->jobs < 1 || args->jobs > 1000))
		return cmd_usage_error(&cmd_run, "--jobs: expected 1 to 1000");
	if (args->repeat < 1 || args->repeat > 100000)
		return cmd_usage_error(&cmd_run, "--repeat: expected 1 to 100000");
	if (args->warmup < 0 || args->warmup > 100000)
		return cmd_usage_error(&cmd_run, "--warmup: expected 0 to 100000");
	if (args->fail_on_regression && !args->compare_to)
		return cmd_usage_error(&cmd_run, "--fail-on-regression needs --compare-to RUN");
	if (!isnan(args->watts) && args->watts < 0)
		return cmd_usage_error(&cmd_run, "--watts: expected 0 or more");
	if (args->interval_ns != UINT64_MAX && (args->interval_ns < 1000000 || args->interval_ns > 3600 * NS_PER_S))
		return cmd_usage_error(&cmd_run, "--interval: expected 1ms to 1h");
	return 0;
}

static const char *find_pipeline_file(const struct opt_texts *rest)
{
	static const char *const usual[] = {"pipeline.yaml", "pipeline.yml", "pipeline.json"};
	if (rest->len)
		return rest->items[0];
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (access(usual[i], F_OK) == 0)
			return usual[i];
	return NULL;
}

static int load_command(struct run_args *args, const struct opt_texts *rest, struct pipeline **out)
{
	struct err err;
	if (rest->len == 0)
		return cmd_usage_error(&cmd_run, "nothing after '--': expected a command");
	for (size_t i = 0; i < args->overrides.values.len; i++) {
		const struct param_override *flag = &args->overrides.values.items[i];
		if (flag->if_declared || strcmp(flag->source, "--set") == 0)
			continue;
		opt_unknown_error(run_options, flag->name, &err);
		return cmd_fail(&cmd_run, &err);
	}
	if (args->set.len || args->param_files.len)
		return cmd_usage_error(&cmd_run, "parameters belong to pipeline files, not to commands");
	return pipeline_for_command(rest->items, rest->len, out, &err) ? cmd_fail(&cmd_run, &err) : 0;
}

static int load_file(struct run_args *args, const struct opt_texts *rest, const char *scratch, struct pipeline **out)
{
	struct err err;
	const char *path = find_pipeline_file(rest);
	if (!path)
		return cmd_usage_error(&cmd_run,
				       "no pipeline.yaml here; name one, start one with 'pitot init', or profile a "
				       "command: pitot run -- COMMAND");
	if (rest->len > 1)
		return cmd_usage_error(&cmd_run, "one pipeline at a time; to profile a command: pitot run -- %s ...",
				       path);
	if (access(path, F_OK) != 0 && !strchr(path, '.') && !strchr(path, '/'))
		return cmd_usage_error(&cmd_run, "no pipeline file '%s'; to profile a command: pitot run -- %s", path,
				       path);
	if (pipeline_load(path, &args->overrides, scratch, out, &err) == 0)
		return 0;
	/* A flag that is no parameter of the pipeline's may have been meant as one of ours. */
	for (size_t i = 0; err.code == ERR_USAGE && i < args->overrides.values.len; i++) {
		const struct param_override *flag = &args->overrides.values.items[i];
		if (str_starts(err.text, flag->source) && opt_suggest(run_options, flag->name))
			opt_unknown_error(run_options, flag->name, &err);
	}
	return cmd_fail(&cmd_run, &err);
}

static int unknown_stage(const struct pipeline *pipeline, const char *name)
{
	VEC(const char *) names = {0};
	for (size_t i = 0; i < pipeline->stages.len; i++)
		vec_push(&names, pipeline->stages.items[i].name);
	const char *meant = str_suggest(name, names.items, names.len);
	vec_fini(&names);
	if (meant)
		return cmd_usage_error(&cmd_run, "--only: no stage is called '%s'; did you mean '%s'?", name, meant);
	return cmd_usage_error(&cmd_run, "--only: no stage is called '%s'", name);
}

static int keep_only(const struct run_args *args, struct pipeline *pipeline)
{
	if (!args->only.len)
		return 0;
	for (size_t i = 0; i < args->only.len; i++) {
		bool found = false;
		for (size_t k = 0; k < pipeline->stages.len; k++)
			found |= strcmp(pipeline->stages.items[k].name, args->only.items[i]) == 0;
		if (!found)
			return unknown_stage(pipeline, args->only.items[i]);
	}
	for (size_t k = 0; k < pipeline->stages.len; k++) {
		struct stage_spec *stage = &pipeline->stages.items[k];
		bool wanted = false;
		for (size_t i = 0; i < args->only.len; i++)
			wanted |= strcmp(stage->name, args->only.items[i]) == 0;
		if (!wanted && !stage->skip && !stage->manual)
			stage->skip = mem_strdup("left out by --only");
	}
	return 0;
}

/* The seed's switch: the parameter and the flag mean the same. */
static void settle_gpu(struct run_args *args, const struct pipeline *pipeline)
{
	const struct param *param = pipeline_param(pipeline, "enable_gpu_sampling");
	if (param && (strcmp(param->value, "false") == 0 || strcmp(param->value, "0") == 0))
		args->gpu = false;
}

/* ---- the plan ---- */

static int show_plan(const struct pipeline *pipeline)
{
	struct str text = {0};
	str_appendf(&text, "%s: %zu stage%s\n", pipeline->name, pipeline->stages.len,
		    pipeline->stages.len == 1 ? "" : "s");
	for (size_t i = 0; i < pipeline->params.len; i++) {
		const struct param *param = &pipeline->params.items[i];
		str_appendf(&text, "  %s = %s   (%s)\n", param->name, param->value, param->source ? param->source : "");
	}
	for (size_t i = 0; i < pipeline->stages.len; i++) {
		const struct stage_spec *stage = &pipeline->stages.items[i];
		str_appendf(&text, "\n%zu. %s", i + 1, stage->name);
		for (size_t k = 0; k < stage->needs.len; k++)
			str_appendf(&text, "%s%s", k ? ", " : "  after ",
				    pipeline->stages.items[stage->needs.items[k]].name);
		if (stage->timeout_ns)
			str_appendf(&text, "  timeout %g s", (double)stage->timeout_ns / 1e9);
		if (stage->retries)
			str_appendf(&text, "  retries %d", stage->retries);
		str_append_char(&text, '\n');
		if (stage->manual)
			str_appendf(&text, "   manual: %s\n", stage->manual);
		else if (stage->skip)
			str_appendf(&text, "   skipped: %s\n", stage->skip);
		for (size_t k = 0; k < stage->argv.len && stage->argv.items[k] && !stage->shell; k++)
			str_appendf(&text, "%s%s", k ? " " : "   $ ", stage->argv.items[k]);
		if (stage->shell)
			str_appendf(&text, "   $ %s", stage->shell);
		str_append_char(&text, '\n');
	}
	int status = cmd_output(&cmd_run, NULL, text.text, text.len);
	str_fini(&text);
	return status;
}

/* ---- running ---- */

static char *argv_json(const struct run_args *args)
{
	struct str text = {0};
	struct json json = {.out = &text};
	json_array_begin(&json, NULL);
	json_put_string(&json, NULL, "pitot");
	json_put_string(&json, NULL, "run");
	for (int i = 0; i < args->argc; i++)
		json_put_string(&json, NULL, args->argv[i]);
	json_array_end(&json);
	return str_take(&text);
}

static enum progress_mode pick_progress(const struct run_args *args, bool command)
{
	const char *terminal = getenv("TERM");
	if (args->quiet || command)
		return args->quiet ? PROGRESS_NONE : PROGRESS_NOTES;
	bool can_move = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
	return can_move && !args->show_output ? PROGRESS_LIVE : PROGRESS_PLAIN;
}

static int render_to(const struct report *report, const char *format, const char *dir, const char *file)
{
	struct render_options options;
	struct str text = {0};
	struct err err;
	char *path = file_join(dir, file);
	render_options_for(-1, 0, false, &options);
	int status = 0;
	if (renderer_find(format)->render(report, &options, &text, &err) != 0)
		status = cmd_fail(&cmd_run, &err);
	else
		status = cmd_output(&cmd_run, path, str_text(&text), text.len);
	free(path);
	str_fini(&text);
	return status;
}

static int write_report_dir(const struct report *report, const char *dir)
{
	struct err err;
	if (file_make_dirs(dir, &err) != 0)
		return cmd_fail(&cmd_run, &err);
	int status = render_to(report, "json", dir, "profile_report.json");
	return status ? status : render_to(report, "md", dir, "profile_summary.md");
}

static int show_report(const struct run_args *args, const struct report *report, bool command)
{
	struct render_options options;
	struct str text = {0};
	struct err err;
	int status = 0;
	/* A command's own stdout stays clean: the report goes where its messages go. */
	int fd = command ? STDERR_FILENO : STDOUT_FILENO;
	render_options_for(fd, 0, false, &options);
	if (renderer_find(args->format ? args->format : "term")->render(report, &options, &text, &err) != 0)
		status = cmd_fail(&cmd_run, &err);
	else if (command)
		fwrite(str_text(&text), 1, text.len, stderr);
	else
		status = cmd_output(&cmd_run, NULL, str_text(&text), text.len);
	str_fini(&text);
	return status;
}

static int report_all(const struct run_args *args, const char *file, bool command)
{
	struct opened_run run;
	struct err err;
	bool wanted = args->report && !args->quiet;
	if (!wanted && !args->report_dir)
		return 0;
	if (opened_run_load(file, &run, &err) != 0)
		return cmd_fail(&cmd_run, &err);
	int status = args->report_dir ? write_report_dir(&run.report, args->report_dir) : 0;
	if (!status && wanted)
		status = show_report(args, &run.report, command);
	opened_run_fini(&run);
	return status;
}

static int exit_status(const struct run_outcome *outcome)
{
	if (outcome->store_code) {
		fprintf(stderr, "pitot run: %s\npitot run: the stages ran on, but what was measured is incomplete\n",
			outcome->store_err.text);
		return err_exit_status(outcome->store_code);
	}
	return outcome->status == STATUS_OK ? 0 : 1;
}

static void fill_options(const struct run_args *args, bool command, struct run_options *out)
{
	*out = (struct run_options){.interval_ns = args->interval_ns == UINT64_MAX ? 0 : args->interval_ns,
				    .jobs = args->jobs == UNSAID ? 0 : (int)args->jobs,
				    .repeat = (int)args->repeat,
				    .warmup = (int)args->warmup,
				    .cgroup = args->cgroup,
				    .exit_records = args->exit_records,
				    .pmu = args->pmu,
				    .gpu = args->gpu,
				    .pss = args->pss ? 1 : -1,
				    .watts = isnan(args->watts) ? -1 : args->watts,
				    .cpu_hz = (int)args->cpu_hz,
				    .memory_period = args->memory_period,
				    .memory_types = args->memory_types ? 1 : -1,
				    .span_counters = args->span_counters ? 1 : -1,
				    .timeout_ns = args->timeout_ns,
				    .inherit = args->inherit,
				    .pass_output = args->show_output,
				    .foreground = command};
}

/* Runs into the file that was asked for, or into a new one in the history. A name there is free but not reserved: two
 * runs that begin in the same second may meet, and then the loser takes the next. */
static int execute(const struct run_args *args, const struct pipeline *pipeline, struct run_options *options,
		   struct nursery *nursery, const struct run_observer *observer, char **file,
		   struct run_outcome *outcome)
{
	struct err err;
	int code = 0;
	for (int tries = 0; tries < 10; tries++) {
		free(*file);
		*file = args->output ? mem_strdup(args->output) : NULL;
		code = args->output ? 0
				    : history_new_path(options->history, pipeline->name, clock_utc_ns(), file, &err);
		if (code)
			break;
		options->file = *file;
		code = run_execute(pipeline, options, nursery, observer, outcome, &err);
		if (!code || args->output || access(*file, F_OK) != 0)
			break;
	}
	return code ? cmd_fail(&cmd_run, &err) : 0;
}

/* After the report. A pipeline that failed has failed already; the comparison is shown all the same. */
static int compare_to_baseline(const struct run_args *args, const char *file, bool command)
{
	bool plain = !args->format || strcmp(args->format, "term") == 0;
	struct baseline_show show = {
		.report_dir = args->report_dir, .print = args->report && !args->quiet, .to_stderr = command || !plain};
	int status = args->baseline ? baseline_compare(&cmd_run, args->baseline, file, &show) : 0;
	return status == EXIT_REGRESSION && !args->fail_on_regression ? 0 : status;
}

static int run_pipeline(struct run_args *args, const struct pipeline *pipeline, struct nursery **nursery,
			const char *scratch, bool command)
{
	struct run_outcome outcome;
	struct render_options view;
	struct run_options options;
	char *history = history_dir(args->history), *file = NULL, *argv = argv_json(args);
	fill_options(args, command, &options);
	options.history = history;
	options.argv_json = argv;
	options.channel_dir = scratch;
	render_options_for(STDERR_FILENO, 0, false, &view);
	struct progress *progress = progress_new(STDERR_FILENO, pick_progress(args, command), &view);
	struct run_observer observer = progress_observer(progress);
	int status = execute(args, pipeline, &options, *nursery, &observer, &file, &outcome);
	progress_free(progress);
	nursery_stop(*nursery); /* the configuration copies are gone after this */
	*nursery = NULL;
	if (!status) {
		int shown = report_all(args, file, command);
		int compared = shown || outcome.store_code ? 0 : compare_to_baseline(args, file, command);
		status = exit_status(&outcome);
		status = status ? status : shown ? shown : compared;
		if (!args->quiet && !args->output && !outcome.store_code)
			fprintf(stderr, "run file: %s\n", file);
	}
	free(history);
	free(file);
	free(argv);
	return status;
}

/* Before anything runs: a slip in the name must not cost the run. */
static int open_baseline(struct run_args *args)
{
	char *history = history_dir(args->history);
	int status = args->compare_to ? baseline_open(&cmd_run, history, args->compare_to, &args->baseline) : 0;
	free(history);
	return status;
}

static int with_pipeline(struct run_args *args, const struct opt_texts *rest, size_t dashes)
{
	struct err err;
	struct pipeline *pipeline = NULL;
	struct nursery *nursery = NULL;
	bool command = dashes != SIZE_MAX;
	char *scratch = args->dry_run ? NULL : file_make_temp_dir(&err);
	if (!args->dry_run && !scratch)
		return cmd_fail(&cmd_run, &err);
	/* First of all, while this process is small. */
	if (scratch && nursery_start(scratch, &nursery, &err) != 0) {
		rmdir(scratch);
		free(scratch);
		return cmd_fail(&cmd_run, &err);
	}
	int status = command ? load_command(args, rest, &pipeline) : load_file(args, rest, scratch, &pipeline);
	if (!status && args->name) {
		free(pipeline->name);
		pipeline->name = mem_strdup(args->name);
	}
	if (!status)
		status = keep_only(args, pipeline);
	if (!status)
		status = open_baseline(args);
	if (!status) {
		settle_gpu(args, pipeline);
		if (args->dry_run)
			status = show_plan(pipeline);
		else if (overlay_write_all(pipeline, scratch, &err) != 0)
			status = cmd_fail(&cmd_run, &err);
		else
			status = run_pipeline(args, pipeline, &nursery, scratch, command);
	}
	nursery_stop(nursery);
	pipeline_free(pipeline);
	free(scratch);
	return status;
}

static int run_run(int argc, char **argv)
{
	struct run_args args = {.repeat = 1,
				.jobs = UNSAID,
				.memory_period = UNSAID,
				.interval_ns = UINT64_MAX,
				.watts = NAN,
				.gpu = true,
				.pmu = true,
				.cgroup = true,
				.exit_records = true,
				.report = true,
				.argc = argc,
				.argv = argv};
	struct opt_texts rest = {0};
	size_t dashes;
	int status = 0;
	if (cmd_parse_open(&cmd_run, argc, argv, &args, keep_unknown, &args, &rest, &dashes, &status)) {
		status = check_cpu(&args);
		if (!status)
			status = check_memory(&args);
		status = status ? status : check_numbers(&args);
		status = status ? status : take_overrides(&args);
		if (!status && dashes != SIZE_MAX && dashes > 0)
			status = cmd_usage_error(&cmd_run,
						 "a pipeline file ('%s') and a command after '--' exclude each other",
						 rest.items[0]);
		status = status ? status : with_pipeline(&args, &rest, dashes);
	}
	baseline_free(args.baseline);
	for (size_t i = 0; i < args.owned.len; i++)
		free(args.owned.items[i]);
	vec_fini(&args.owned);
	vec_fini(&args.overrides.values);
	vec_fini(&args.overrides.param_files);
	vec_fini(&args.set);
	vec_fini(&args.param_files);
	vec_fini(&args.only);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_run = {.name = "run",
			    .summary = "run a pipeline or a command and profile every stage",
			    .arguments = "[PIPELINE] [--PARAM VALUE ...] | -- COMMAND ...",
			    .options = run_options,
			    .run = run_run};
