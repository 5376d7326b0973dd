/*
 * features_store.c - see features.h: the run file, so that report, diff, history and the page know a run of the engine too.
 *
 * Each mode is a stage with its operators and chunks; the benchmark's runs are further repetitions of the stages. A store that
 * fails (full disk, no permission) is told at the end and stops nothing.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/features.h"
#include "run/git.h"
#include "store/history.h"
#include "store/limit.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void keep(struct features_job *job, int code, const struct err *err)
{
	if (code && !job->store_code) {
		job->store_code = code;
		job->store_err = *err;
	}
}

static char *argv_json(const struct features_args *args)
{
	struct str text = {0};
	struct json json = {.out = &text};
	json_array_begin(&json, NULL);
	json_put_string(&json, NULL, "pitot");
	json_put_string(&json, NULL, "features");
	for (int i = 0; i < args->argc; i++)
		json_put_string(&json, NULL, args->argv[i]);
	json_array_end(&json);
	return str_take(&text);
}

static void store_settings(struct features_job *job)
{
	struct err err;
	for (size_t i = 0; i < job->view.settings.len; i++) {
		const struct features_setting *setting = &job->view.settings.items[i];
		char number[32];
		json_format_number(setting->number, number, sizeof(number));
		if (setting->text || !isnan(setting->number))
			keep(job,
			     store_param(job->store, setting->name, setting->text ? setting->text : number,
					 "pitot features", &err),
			     &err);
	}
	keep(job, store_param(job->store, "dataset", job->args->input, "pitot features", &err), &err);
	keep(job, store_param(job->store, "sha256", job->sha256, "pitot features", &err), &err);
	for (size_t i = 0; i < job->host.facts.len; i++)
		keep(job,
		     store_host_fact(job->store, job->host.facts.items[i].key, job->host.facts.items[i].value, &err),
		     &err);
}

void features_store_open(struct features_job *job)
{
	struct err err;
	char *dir = history_dir(job->args->history), *cwd = getcwd(NULL, 0), *argv = argv_json(job->args);
	char *commit = cwd ? git_commit_of(cwd) : NULL;
	struct run_row row = {.name = "features",
			      .started_utc_ns = job->view.started_utc_ns,
			      .status = STATUS_INTERRUPTED,
			      .argv_json = argv,
			      .cwd = cwd ? cwd : "?",
			      .config_path = (char *)job->args->recipe,
			      .config_text = (char *)job->view.recipe,
			      .git_commit = commit,
			      .fingerprint = job->host.fingerprint,
			      .repeat = 1 + (int)job->benchmark_runs,
			      .jobs = 1};
	int code = history_new_path(dir, row.name, row.started_utc_ns, &job->run_path, &err);
	code = code ? code : store_create(job->run_path, &row, &job->store, &err);
	keep(job, code, &err);
	if (job->store)
		store_settings(job);
	free(dir);
	free(cwd);
	free(argv);
	free(commit);
}

/* They run one after the other, and are not stages of a pipeline that could be side by side. */
static char *stage_needs(const struct features_job *job, enum engine_mode mode)
{
	return (char *)(mode == ENGINE_STREAMING && job->wants_batch ? "batch" : "");
}

static const char *stage_name(enum engine_mode mode)
{
	return mode == ENGINE_BATCH ? "batch" : "streaming";
}

void features_store_stage_begin(struct features_job *job, enum engine_mode mode)
{
	struct err err;
	job->stage = (struct stage_row){.position = mode == ENGINE_STREAMING && job->wants_batch,
					.name = (char *)stage_name(mode),
					.command = (char *)job->args->input,
					.status = STATUS_INTERRUPTED,
					.attempts = 1,
					.exit_code = -1,
					.start_ns = clock_mono_ns() - job->start_mono_ns,
					.tier = "this process",
					.needs = stage_needs(job, mode)};
	if (job->store)
		keep(job, store_stage_begin(job->store, &job->stage, &err), &err);
}

static enum stage_status status_of(int code)
{
	return !code ? STATUS_OK : code == ERR_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_ERROR;
}

static void store_warnings(struct features_job *job, const struct study_run *run)
{
	struct err err;
	for (size_t i = 0; i < run->result.warnings.len; i++) {
		struct event_row event = {.stage_id = job->stage.id,
					  .at_ns = job->stage.end_ns,
					  .kind = "warning",
					  .text = run->result.warnings.items[i]};
		keep(job, store_event(job->store, &event, &err), &err);
	}
}

void features_store_stage_end(struct features_job *job, const struct study_run *run)
{
	struct err err;
	job->stage.status = status_of(run->code);
	job->stage.reason = run->failure;
	job->stage.exit_code = run->code ? -1 : 0;
	job->stage.end_ns = clock_mono_ns() - job->start_mono_ns;
	if (!job->store)
		return;
	keep(job, store_stage_end(job->store, &job->stage, &err), &err);
	keep(job, store_metrics(job->store, job->stage.id, run->values, &err), &err);
	store_warnings(job, run);
	keep(job, store_commit(job->store, &err), &err);
}

static void store_runs(struct features_job *job, enum engine_mode mode, const struct study_series *series)
{
	struct err err;
	for (size_t i = 0; i < series->runs; i++) {
		struct metric_value values[METRIC_COUNT] = {{0}};
		struct stage_row row = {.repetition = (int)i + 1,
					.position = mode == ENGINE_STREAMING && job->wants_batch,
					.name = (char *)stage_name(mode),
					.command = (char *)job->args->input,
					.status = STATUS_OK,
					.attempts = 1,
					.start_ns = series->start_ns[i] - job->start_mono_ns,
					.tier = "this process",
					.needs = stage_needs(job, mode)};
		row.end_ns = row.start_ns + (uint64_t)(series->wall_s[i] * 1e9);
		metric_set(&values[METRIC_WALL], series->wall_s[i], METHOD_EXACT, "monotonic clock");
		metric_set(&values[METRIC_CPU_TIME], series->cpu_s[i], METHOD_EXACT, "getrusage");
		int code = store_stage_begin(job->store, &row, &err);
		code = code ? code : store_stage_end(job->store, &row, &err);
		keep(job, code ? code : store_metrics(job->store, row.id, values, &err), &err);
	}
}

static void store_one_quality(struct features_job *job, const char *name, double value, const char *source)
{
	struct err err;
	struct quality_row row = {
		.name = (char *)name, .known = !isnan(value), .value = value, .source = (char *)source};
	row.reason = row.known ? NULL : (char *)"not known";
	keep(job, store_quality(job->store, &row, &err), &err);
}

static void store_all_quality(struct features_job *job)
{
	const struct study_run *main_run = features_main_run(&job->view);
	const struct study_run *runs[] = {job->view.batch, job->view.streaming};
	static const char *const names[][3] = {{"batch_r2", "batch_rmse", "batch_rows_per_s"},
					       {"streaming_r2", "streaming_rmse", "streaming_rows_per_s"}};
	for (int i = 0; i < 2; i++) {
		if (!runs[i] || runs[i]->code)
			continue;
		if (runs[i]->result.model.known) {
			store_one_quality(job, names[i][0], runs[i]->result.model.r2, runs[i]->result.model.method);
			store_one_quality(job, names[i][1], runs[i]->result.model.rmse, runs[i]->result.model.method);
		}
		store_one_quality(job, names[i][2], study_rows_per_s(runs[i]), "rows over elapsed time");
	}
	if (main_run) {
		const char *source = main_run->quality.sampled ? "an even sample of the rows" : "all rows";
		store_one_quality(job, "missing_ratio", main_run->quality.missing_ratio, "all cells");
		store_one_quality(job, "outlier_rate", main_run->quality.outlier_rate, source);
	}
}

static void store_limits(struct features_job *job)
{
	struct err err;
	for (size_t i = 0; i < job->constraints.items.len; i++) {
		const struct study_constraint *item = &job->constraints.items.items[i];
		struct limit_trial trial = {.chunk_asked = item->chunk_asked,
					    .memory_limit_bytes = (uint64_t)(item->memory_mb * (1 << 20)),
					    .compute_limit = item->compute,
					    .chunk_rows = item->chunk_rows,
					    .rows = item->rows,
					    .latency_s = item->latency_s,
					    .rows_per_s = item->rows_s,
					    .chunk_latency_s = item->chunk_latency_s,
					    .memory_peak_bytes = item->known ? (double)item->memory_peak_bytes : NAN,
					    .r2 = item->r2,
					    .rmse = item->rmse,
					    .pareto = item->pareto,
					    .failure = item->failure};
		if (!item->known && !item->failure)
			trial.failure = (char *)"nothing was read";
		keep(job, store_limit_trial(job->store, &trial, &err), &err);
	}
}

void features_store_close(struct features_job *job, enum stage_status status)
{
	struct err err;
	if (!job->store)
		return;
	store_runs(job, ENGINE_BATCH, &job->benchmark.batch);
	store_runs(job, ENGINE_STREAMING, &job->benchmark.streaming);
	store_all_quality(job);
	store_limits(job);
	keep(job, store_finish(job->store, status, clock_mono_ns() - job->start_mono_ns, &err), &err);
	job->store = NULL;
}
