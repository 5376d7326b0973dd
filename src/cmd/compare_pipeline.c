/*
 * compare_pipeline.c - pipelines in a comparison: each run is a whole `pitot run`, with a run file of its own.
 *
 * They are measured as `pitot run` measures, samples included; both sides pay the same for it.
 */
#include "base/clock.h"
#include "base/file.h"
#include "cmd/compare.h"
#include "config/overlay.h"
#include "render/open_run.h"
#include "run/run.h"
#include "store/history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int load_one(struct compare_bench *bench, size_t number)
{
	struct compare_subject *subject = &bench->plan->subjects.items[number];
	const struct comparison_subject *about = &bench->comparison->subjects.items[number];
	struct pipeline_overrides overrides = {0};
	struct err err;
	subject->folder = compare_own(bench->plan, mem_printf("%s/pipeline-%zu", bench->plan->scratch, number + 1));
	for (size_t i = 0; i < about->params.len; i++)
		vec_push(&overrides.values, ((struct param_override){.name = about->params.items[i].name,
								     .value = about->params.items[i].value,
								     .source = "--parameter"}));
	int code = file_make_dirs(subject->folder, &err);
	if (!code)
		code = pipeline_load(subject->pipeline_path, &overrides, subject->folder, &subject->pipeline, &err);
	if (!code)
		code = overlay_write_all(subject->pipeline, subject->folder, &err);
	vec_fini(&overrides.values);
	return code ? cmd_fail(&cmd_compare, &err) : 0;
}

int compare_load_pipelines(struct compare_bench *bench)
{
	int status = 0;
	for (size_t i = 0; i < bench->plan->subjects.len && !status; i++)
		status = load_one(bench, i);
	return status;
}

/* ---- one run ---- */

static void on_changed(void *context, const struct run_view *view, size_t stage)
{
	(void)context;
	(void)view;
	(void)stage;
}

static void on_tick(void *context, const struct run_view *view)
{
	const struct compare_bench *bench = context;
	(void)view;
	comparison_view_draw(bench->view, NULL, 0, NULL, NULL, compare_elapsed_s(bench), false);
}

static void on_note(void *context, const char *text)
{
	(void)context;
	(void)text; /* it is in the run file */
}

static int new_file(const struct compare_bench *bench, const struct compare_subject *subject, char **file,
		    struct err *err)
{
	char *dir = bench->args->keep ? history_dir(bench->args->history) : mem_strdup(subject->folder);
	int code = history_new_path(dir, subject->pipeline->name, clock_utc_ns(), file, err);
	free(dir);
	return code;
}

/* Which stage it was, why, and what it printed last. */
static void tell_failure(struct compare_bench *bench, size_t number, const struct run_record *record)
{
	enum { SHOWN_LINES = 20 };
	const char *label = bench->comparison->subjects.items[number].label;
	for (size_t i = 0; i < record->stages.len; i++) {
		const struct stage_record *stage = &record->stages.items[i];
		if (stage->row.status != STATUS_ERROR && stage->row.status != STATUS_TIMEOUT)
			continue;
		if (stage->log)
			comparison_view_log(bench->view, stage->log, SHOWN_LINES);
		fprintf(stderr, "pitot compare: %s failed at stage '%s': %s\n", label, stage->row.name,
			stage->row.reason ? stage->row.reason : status_name(stage->row.status));
		return;
	}
	fprintf(stderr, "pitot compare: %s failed\n", label);
}

static int take(struct compare_bench *bench, size_t number, char *file, const struct run_outcome *outcome, bool counts)
{
	struct comparison *comparison = bench->comparison;
	struct opened_run opened;
	struct err err;
	double values[METRIC_COUNT];
	bool failed = outcome->status != STATUS_OK;
	if (opened_run_load(file, &opened, &err) != 0)
		return cmd_fail(&cmd_compare, &err);
	for (size_t i = 0; i < comparison->metrics.len; i++) {
		const struct metric_value *value = &opened.report.values[comparison->metrics.items[i]];
		/* What was estimated from another metric says nothing of its own. */
		bool measured = value->state == METRIC_KNOWN && value->method != METHOD_ESTIMATED;
		values[i] = measured ? value->value : NAN;
	}
	const struct metric_value *cpu = &opened.report.values[METRIC_CPU_TIME];
	bench->own_s += cpu->state == METRIC_KNOWN ? cpu->value : 0;
	int status = 0;
	if (failed && !bench->args->ignore_failure) {
		tell_failure(bench, number, opened.record);
		status = 1;
	} else if (counts) {
		uint64_t now = clock_mono_ns() - bench->start_ns, wall = opened.record->row.wall_ns;
		struct comparison_run run = {.start_ns = now > wall ? now - wall : 0, .exit_code = failed};
		run.run_file = bench->args->keep ? mem_strdup(file) : NULL;
		comparison->subjects.items[number].failures += failed;
		comparison_add_run(comparison, number, &run, values);
	}
	opened_run_fini(&opened);
	return status;
}

int compare_run_pipeline(struct compare_bench *bench, size_t number, bool counts)
{
	struct compare_subject *subject = &bench->plan->subjects.items[number];
	const struct run_observer observer = {
		.context = bench, .changed = on_changed, .tick = on_tick, .note = on_note};
	struct run_outcome outcome = {0};
	struct err err;
	char *argv = compare_argv_json(bench->args), *file = NULL;
	struct run_options options = {.argv_json = argv,
				      .repeat = 1,
				      .cgroup = true,
				      .exit_records = true,
				      .pmu = true,
				      .gpu = true,
				      .pss = -1,
				      .watts = -1,
				      .pass_output = bench->args->show_output,
				      .channel_dir = subject->folder};
	int code = new_file(bench, subject, &file, &err), status = 0;
	if (!code) {
		options.file = file;
		code = run_execute(subject->pipeline, &options, bench->nursery, &observer, &outcome, &err);
	}
	if (!code && outcome.store_code) {
		err = outcome.store_err;
		code = outcome.store_code;
	}
	if (code)
		status = cmd_fail(&cmd_compare, &err);
	else if (outcome.caught_signal)
		bench->caught = outcome.caught_signal;
	else
		status = take(bench, number, file, &outcome, counts);
	free(argv);
	free(file);
	return status;
}
