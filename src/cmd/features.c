/*
 * features.c - pitot features: the tabular engine on a CSV table, watched per operator and chunk.
 *
 * Without --mode everything is done: batch, streaming, benchmark, limits, quality. An interrupt ends what is going on after its
 * current chunk, and the writing of the matrix at once, which is then not there; what was done is written like a whole run, with
 * status `interrupted`. A second interrupt ends at once.
 */
#include "cmd/features.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/topology.h"
#include "render/findings.h"
#include "render/open_run.h"
#include "table/feature_file.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct features_args, field)
static const struct opt features_options[] = {
	{"recipe", 'r', OPT_TEXT, AT(recipe), "FILE", "how raw columns become features; else it is inferred"},
	{"mode", 'm', OPT_CHOICE, AT(mode), "batch|streaming|both", "only these, without the experiments"},
	{"output-dir", 'o', OPT_TEXT, AT(output_dir), "DIR", "where the artifacts go (pitot-features)"},
	{"write-features", 'w', OPT_TEXT, AT(write_features), "FILE", "the matrix, by ending: .csv .npy .arrow"},
	{"features-format", 0, OPT_CHOICE, AT(features_format), "csv|npy|arrow", "its format, whatever the ending"},
	{"write-table", 0, OPT_TEXT, AT(write_table), "FILE", "the typed and derived columns, before encoding, as CSV"},
	{"no-features", 0, OPT_NEGATED, AT(features), NULL, "do not write the matrix"},
	{"settings", 's', OPT_TEXT, AT(settings), "FILE", "YAML or JSON with any of these options"},
	{"target", 't', OPT_TEXT, AT(target), "COLUMN", "what to learn; instead of the recipe's"},
	{"chunk-size", 'c', OPT_INTEGER, AT(chunk_size), "ROWS", "rows of a chunk in streaming (128)"},
	{"batch-size", 0, OPT_INTEGER, AT(batch_size), "ROWS", "rows that batch takes at most (all)"},
	{"statistics", 0, OPT_CHOICE, AT(statistics), "running|chunk", "streaming: of all rows so far, or the chunk's"},
	{"max-memory-mb", 0, OPT_NUMBER, AT(max_memory_mb), "MB", "memory that the engine may hold"},
	{"max-compute-units", 0, OPT_NUMBER, AT(max_compute_units), "PART", "part of the machine's CPUs, 0 to 1"},
	{"spill-to-disk", 0, OPT_FLAG, AT(spill_to_disk), NULL, "chunks that do not fit go through intermediate/"},
	{"n-jobs", 'j', OPT_INTEGER, AT(n_jobs), "N", "threads; -1: one per CPU (default)"},
	{"random-seed", 0, OPT_INTEGER, AT(random_seed), "N", "of the held-out rows and of all resampling (42)"},
	{"benchmark-runs", 'b', OPT_INTEGER, AT(benchmark_runs), "N", "runs of each mode (5; with --mode 0)"},
	{"constraints", 0, OPT_FLAG, AT(explicit_constraints), NULL, "the limits too, although --mode is given"},
	{"no-constraints", 0, OPT_NEGATED, AT(constraints), NULL, "leave the limits out"},
	{"chunk-sizes", 0, OPT_TEXT, AT(chunk_sizes), "LIST", "of the limits (64,128,256)"},
	{"memory-limits", 0, OPT_TEXT, AT(memory_limits), "LIST", "of the limits, in MB (256,512,1024)"},
	{"compute-limits", 0, OPT_TEXT, AT(compute_limits), "LIST", "of the limits (0.5,0.75,1)"},
	{"experiment-rows", 0, OPT_INTEGER, AT(experiment_rows), "N", "rows of each run of limits and --tune (50000)"},
	{"tune", 0, OPT_FLAG, AT(tune), NULL, "only look for the chunk size that this machine likes best"},
	{"delimiter", 'd', OPT_TEXT, AT(delimiter), "CHAR", "between cells; 'tab' is one"},
	{"ragged", 0, OPT_CHOICE, AT(ragged), "error|pad|skip", "records with too few or too many cells"},
	{"history", 0, OPT_TEXT, AT(history), "DIR", "the folder for the run file"},
	{"format", 'f', OPT_CHOICE, AT(format), "term|json", "what to print at the end"},
	{"no-report", 0, OPT_NEGATED, AT(report), NULL, "print nothing at the end"},
	{"quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no progress, no report"},
	{"verbose", 'v', OPT_FLAG, AT(verbose), NULL, "every finding"},
	{"width", 0, OPT_INTEGER, AT(width), "N", "columns of the report"},
	{0}};
#undef AT

enum { MOST_ROWS = 1 << 30, MOST_THREADS = 1024, BENCHMARK_RUNS = 5 };

/* A handler has no other way to tell: set once, never back. */
static atomic_int stop_asked;

static void on_signal(int number)
{
	(void)number;
	stop_asked = 1;
}

static void listen_to_signals(void)
{
	/* The second one finds the default again. A read of standard input is cut short, so that it can be given up. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	struct sigaction old;
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

/* ---- what was asked for ---- */

static int check_numbers(const struct features_args *args, struct err *err)
{
	if (args->chunk_size < 1 || args->chunk_size > MOST_ROWS)
		return err_set(err, ERR_USAGE, "--chunk-size: expected 1 to %d rows", MOST_ROWS);
	if (args->batch_size < 0 || args->batch_size > MOST_ROWS)
		return err_set(err, ERR_USAGE, "--batch-size: expected 1 to %d rows", MOST_ROWS);
	if (!(args->max_memory_mb >= 0 && args->max_memory_mb <= 1 << 24))
		return err_set(err, ERR_USAGE, "--max-memory-mb: expected a size in MB, at least 1; 0 is no limit");
	if (args->max_memory_mb > 0 && args->max_memory_mb < 1)
		return err_set(err, ERR_USAGE, "--max-memory-mb: at least 1 MB");
	if (!(args->max_compute_units > 0 && args->max_compute_units <= 1))
		return err_set(err, ERR_USAGE,
			       "--max-compute-units: expected a part of the machine, above 0, at most 1");
	if (args->benchmark_runs < FEATURES_UNSAID || args->benchmark_runs > 10000)
		return err_set(err, ERR_USAGE, "--benchmark-runs: expected 0 to 10000");
	if (args->n_jobs == 0 || args->n_jobs < -1 || args->n_jobs > MOST_THREADS)
		return err_set(err, ERR_USAGE, "--n-jobs: expected 1 to %d threads, or -1", MOST_THREADS);
	if (args->random_seed < 0)
		return err_set(err, ERR_USAGE, "--random-seed: expected 0 or more");
	if (args->experiment_rows < 1)
		return err_set(err, ERR_USAGE, "--experiment-rows: expected 1 or more");
	if (args->width < 0 || args->width > 10000)
		return err_set(err, ERR_USAGE, "--width: expected 1 to 10000 columns");
	if (args->write_features && !args->features_format && !feature_format_of(args->write_features))
		return err_set(
			err, ERR_USAGE,
			"--write-features: '%s' ends in none of .csv .npy .arrow; --features-format chooses as well",
			args->write_features);
	return 0;
}

static unsigned thread_count(const struct features_args *args)
{
	struct topology_ids allowed = {0};
	if (args->n_jobs > 0)
		return (unsigned)args->n_jobs;
	topology_allowed(&allowed);
	unsigned count = allowed.items.len ? (unsigned)allowed.items.len : 1;
	vec_fini(&allowed.items);
	return count;
}

static int load_recipe(struct features_job *job, struct err *err)
{
	const struct features_args *args = job->args;
	static const char *const policies[] = {"error", "pad", "skip"};
	if (args->recipe) {
		int code = recipe_load(args->recipe, &job->recipe, err);
		if (code)
			return code;
	} else {
		job->recipe = recipe_new();
	}
	if (args->target) {
		free(job->recipe->target);
		job->recipe->target = mem_strdup(args->target);
		job->recipe->target_line = 0;
	}
	if (args->delimiter) {
		bool tab = strcmp(args->delimiter, "tab") == 0 || strcmp(args->delimiter, "\\t") == 0;
		if (!tab && (strlen(args->delimiter) != 1 || strchr("\"\r\n", args->delimiter[0])))
			return err_set(err, ERR_USAGE, "--delimiter: expected one ASCII character, or tab");
		job->recipe->input.delimiter = tab ? '\t' : args->delimiter[0];
	}
	for (int i = 0; args->ragged && i < 3; i++)
		if (strcmp(args->ragged, policies[i]) == 0)
			job->recipe->input.ragged = (enum csv_ragged)i;
	return 0;
}

static int fill_job(struct features_job *job, struct err *err)
{
	const struct features_args *args = job->args;
	bool all = !args->mode && !args->tune;
	job->wants_batch = all || (args->mode && strcmp(args->mode, "streaming") != 0 && !args->tune);
	job->wants_streaming = all || (args->mode && strcmp(args->mode, "batch") != 0 && !args->tune);
	job->wants_constraints = !args->tune && args->constraints && (all || args->explicit_constraints);
	job->benchmark_runs = args->benchmark_runs != FEATURES_UNSAID ? (size_t)args->benchmark_runs
			      : all                                   ? BENCHMARK_RUNS
								      : 0;
	job->settings.recipe = job->recipe;
	job->settings.chunk_rows = (size_t)args->chunk_size;
	job->settings.batch_rows = (size_t)args->batch_size;
	job->settings.max_memory_mb = args->max_memory_mb;
	job->settings.max_compute = args->max_compute_units;
	job->settings.threads = thread_count(args);
	job->settings.seed = (uint64_t)args->random_seed;
	job->settings.per_chunk = args->statistics && strcmp(args->statistics, "chunk") == 0;
	job->settings.stop = job->stop;
	int code = features_sizes("chunk-sizes", args->chunk_sizes, 1, MOST_ROWS, &job->chunk_sizes, err);
	code = code ? code : features_sizes("memory-limits", args->memory_limits, 1, 1 << 24, &job->memory_limits, err);
	return code ? code : features_sizes("compute-limits", args->compute_limits, 0.01, 1, &job->compute_limits, err);
}

/* Recipe and table meet, before anything is written: most mistakes show here. */
static int try_engine(struct features_job *job, struct err *err)
{
	struct engine_settings settings = {.max_memory_bytes = (size_t)(job->settings.max_memory_mb * (1 << 20)),
					   .name = job->settings.name};
	struct engine *engine = NULL;
	struct str text = {0};
	int code = engine_open(job->settings.path, job->recipe, &settings, &engine, err);
	if (code)
		return code;
	job->progress.file_size = engine_file_size(engine);
	engine_close(engine);
	recipe_write(job->recipe, &text);
	job->view.recipe = str_take(&text);
	return 0;
}

static void choose_features_file(struct features_job *job)
{
	static const char *const names[][2] = {{"csv", "intermediate/features.csv"},
					       {"npy", "intermediate/features.npy"},
					       {"arrow", "intermediate/features.arrow"}};
	const struct features_args *args = job->args;
	if (!args->features || args->tune)
		return;
	job->features_format = args->features_format  ? args->features_format
			       : args->write_features ? feature_format_of(args->write_features)
						      : "csv";
	for (size_t i = 0; i < 3; i++)
		if (strcmp(names[i][0], job->features_format) == 0)
			job->features_name = names[i][1];
	job->features_path = args->write_features ? mem_strdup(args->write_features)
						  : features_artifact_path(job, job->features_name);
}

/* ---- doing it ---- */

static int run_mode(struct features_job *job, enum engine_mode mode, struct study_run *run, struct err *err)
{
	struct study_watch watch = {.chunk = features_watch_chunk, .context = job};
	char *path = job->features_path;
	bool features = path && !job->features_written;
	struct err second;
	if (mode == ENGINE_BATCH) {
		watch.bytes = features_watch_bytes;
		watch.bytes_context = job;
	}
	if (!features)
		job->features_path = NULL;
	features_store_stage_begin(job, mode);
	int code = features_watch_begin(job, mode, features, err);
	if (!code)
		code = study_run(&job->settings, mode, &watch, job->probes, run, err);
	int other = features_watch_end(job, run, code ? &second : err);
	features_store_stage_end(job, run);
	job->features_path = path;
	return code ? code : other;
}

static bool may_go_on(const struct features_job *job, int code)
{
	return !code && !*job->stop;
}

/* A table that is too large for the batch's limit is no failure where the stream goes on. */
static bool is_forgiven(const struct features_job *job, int code)
{
	return job->wants_streaming && job->settings.max_memory_mb > 0 && code == ERR_UNAVAILABLE;
}

static int run_modes(struct features_job *job, struct err *err)
{
	int code = 0;
	if (job->wants_batch) {
		code = run_mode(job, ENGINE_BATCH, &job->batch, err);
		job->view.batch = job->batch.ran ? &job->batch : NULL;
		if (is_forgiven(job, code)) {
			code = 0;
			features_progress_clear(job);
			if (!job->args->quiet)
				fprintf(stderr, "pitot features: no batch: %s\n", err->text);
		}
	}
	if (may_go_on(job, code) && job->wants_streaming) {
		code = run_mode(job, ENGINE_STREAMING, &job->streaming, err);
		job->view.streaming = job->streaming.ran ? &job->streaming : NULL;
	}
	return code;
}

static int run_experiments(struct features_job *job, struct err *err)
{
	struct study_progress progress = {.tell = features_progress_step, .context = job};
	struct study_settings settings = job->settings;
	settings.batch_rows = job->batch.effective_rows;
	uint64_t most_rows = (uint64_t)job->args->experiment_rows;
	int code = 0;
	if (job->benchmark_runs && !job->args->tune) {
		bool batch = job->wants_batch && !job->batch.code, streaming = job->wants_streaming;
		code = study_benchmark_run(&settings, job->benchmark_runs, job->streaming.effective_rows, batch,
					   streaming, &progress, &job->benchmark, err);
		job->view.benchmark = &job->benchmark;
	}
	if (may_go_on(job, code) && job->wants_constraints) {
		code = study_constraints_run(&settings, &job->chunk_sizes, &job->memory_limits, &job->compute_limits,
					     most_rows, &progress, &job->constraints, err);
		job->view.constraints = &job->constraints;
	}
	if (may_go_on(job, code) && job->args->tune) {
		code = study_tune_run(&settings, most_rows, &progress, &job->tune, err);
		job->view.tune = &job->tune;
	}
	features_progress_clear(job);
	return code;
}

static void append_findings(const struct features_job *job, const struct render_options *options, struct str *out)
{
	struct opened_run run;
	struct err err;
	if (job->store_code || opened_run_load(job->run_path, &run, &err) != 0)
		return;
	struct term term = {.report = &run.report,
			    .out = out,
			    .columns = options->columns,
			    .color = options->color,
			    .unicode = options->unicode,
			    .verbose = options->verbose};
	findings_term(&term);
	opened_run_fini(&run);
}

static void print_ending(const struct features_job *job, struct str *out)
{
	str_appendf(out, "\n%zu files in %s", job->view.artifacts.len, job->dir);
	if (job->run_path && !job->store_code)
		str_appendf(out, "; pitot report %s", job->run_path);
	str_append_char(out, '\n');
}

static int show(struct features_job *job)
{
	struct render_options options;
	struct str text = {0};
	int status = 0;
	if (job->args->quiet || !job->args->report)
		return 0;
	render_options_for(STDOUT_FILENO, (int)job->args->width, job->args->verbose, &options);
	if (strcmp(job->args->format, "json") == 0) {
		features_json(&job->view, &text);
	} else {
		features_term(&job->view, &options, &text);
		append_findings(job, &options, &text);
		print_ending(job, &text);
	}
	status = cmd_output(&cmd_features, NULL, str_text(&text), text.len);
	str_fini(&text);
	return status;
}

static int finish(struct features_job *job, int code, struct err *err)
{
	struct err second;
	enum stage_status status = !code && !*job->stop                    ? STATUS_OK
				   : *job->stop || code == ERR_INTERRUPTED ? STATUS_INTERRUPTED
									   : STATUS_ERROR;
	job->view.status = status == STATUS_OK ? "ok" : status == STATUS_INTERRUPTED ? "interrupted" : "failed";
	job->view.elapsed_s = (double)(clock_mono_ns() - job->start_mono_ns) / 1e9;
	job->view.sha256 = job->sha256[0] ? job->sha256 : NULL;
	job->view.input_bytes = job->input_bytes;
	features_progress_clear(job);
	features_store_close(job, status);
	job->view.run_path = job->store_code ? NULL : job->run_path;
	int other = features_artifacts_write(job, code ? &second : err);
	if (code)
		cmd_fail(&cmd_features, err);
	else if (*job->stop)
		fprintf(stderr, "pitot features: interrupted; %s has what was done\n", job->dir);
	int shown = show(job);
	if (job->store_code)
		fprintf(stderr, "pitot features: the run file is not whole: %s\n", job->store_err.text);
	if (!code && other)
		return cmd_fail(&cmd_features, err);
	if (code || *job->stop)
		return err_exit_status(code ? code : ERR_INTERRUPTED);
	return shown ? shown : job->store_code ? err_exit_status(job->store_code) : 0;
}

static int prepare(struct features_job *job, struct err *err)
{
	int code = load_recipe(job, err);
	code = code ? code : fill_job(job, err);
	code = code ? code : features_input_prepare(job, err);
	code = code ? code : try_engine(job, err);
	code = code ? code : features_artifacts_prepare(job, err);
	code = code ? code : features_input_fingerprint(job, err);
	if (code)
		return code;
	if (job->args->spill_to_disk)
		job->settings.spill_dir = features_artifact_path(job, "intermediate");
	choose_features_file(job);
	job->probes = probe_set_open(false);
	host_facts_read(&job->host);
	job->view.host = &job->host;
	job->view.seed = job->settings.seed;
	features_settings_describe(job);
	features_store_open(job);
	return 0;
}

static void features_job_fini(struct features_job *job)
{
	study_run_fini(&job->batch);
	study_run_fini(&job->streaming);
	study_benchmark_fini(&job->benchmark);
	study_constraints_fini(&job->constraints);
	study_tune_fini(&job->tune);
	if (job->store)
		store_abandon(job->store);
	if (job->probes)
		probe_set_close(job->probes);
	host_facts_fini(&job->host);
	features_input_drop(job);
	for (size_t i = 0; i < job->view.settings.len; i++)
		free(job->view.settings.items[i].text);
	for (size_t i = 0; i < job->view.artifacts.len; i++)
		free(job->view.artifacts.items[i]);
	vec_fini(&job->view.settings);
	vec_fini(&job->view.artifacts);
	vec_fini(&job->chunk_sizes.items);
	vec_fini(&job->memory_limits.items);
	vec_fini(&job->compute_limits.items);
	free((char *)job->view.recipe);
	free((char *)job->settings.spill_dir);
	recipe_free(job->recipe);
	free(job->features_path);
	free(job->run_path);
	free(job->dir);
}

static int do_job(const struct features_args *args)
{
	struct features_job job = {.args = args, .stop = &stop_asked, .start_mono_ns = clock_mono_ns()};
	struct err err;
	job.dir = mem_strdup(args->output_dir);
	job.view.input = args->input;
	job.view.output_dir = job.dir;
	job.view.started_utc_ns = clock_utc_ns();
	job.profile.fd = job.chunks.fd = job.typed.fd = -1;
	job.progress.shown = !args->quiet;
	job.progress.live = isatty(STDERR_FILENO) == 1;
	listen_to_signals();
	int code = prepare(&job, &err), status;
	if (code) {
		features_progress_clear(&job);
		status = cmd_fail(&cmd_features, &err);
	} else {
		code = run_modes(&job, &err);
		if (may_go_on(&job, code))
			code = run_experiments(&job, &err);
		status = finish(&job, code, &err);
	}
	features_job_fini(&job);
	return status;
}

/* ---- the command line ---- */

static const struct features_args defaults = {.chunk_size = 128,
					      .benchmark_runs = FEATURES_UNSAID,
					      .n_jobs = -1,
					      .random_seed = 42,
					      .experiment_rows = 50000,
					      .max_compute_units = 1,
					      .output_dir = "pitot-features",
					      .chunk_sizes = "64,128,256",
					      .memory_limits = "256,512,1024",
					      .compute_limits = "0.5,0.75,1",
					      .format = "term",
					      .constraints = true,
					      .features = true,
					      .report = true};

/* The file's words first, so that what was typed wins. */
static bool parse_both(struct features_args *args, const struct features_words *words, int argc, char **argv,
		       struct opt_texts *rest, int *status)
{
	char **all = mem_alloc((words->items.len + (size_t)argc + 1) * sizeof(*all));
	for (size_t i = 0; i < words->items.len; i++)
		all[i] = words->items.items[i];
	for (int i = 0; i < argc; i++)
		all[words->items.len + (size_t)i] = argv[i];
	*args = defaults;
	rest->len = 0;
	bool going = cmd_parse(&cmd_features, argc + (int)words->items.len, all, args, rest, status);
	free(all);
	return going;
}

static int run_features(int argc, char **argv)
{
	struct features_args args = defaults;
	struct features_words words = {0};
	struct opt_texts rest = {0};
	struct err err;
	int status = 0;
	bool going = cmd_parse(&cmd_features, argc, argv, &args, &rest, &status);
	if (going && args.settings) {
		going = features_settings_words(args.settings, features_options, &words, &err) == 0;
		status = going ? 0 : cmd_fail(&cmd_features, &err);
		going = going && parse_both(&args, &words, argc, argv, &rest, &status);
	}
	args.argc = argc;
	args.argv = argv;
	if (going && check_numbers(&args, &err) != 0)
		status = cmd_fail(&cmd_features, &err);
	else if (going && rest.len != 1)
		status = cmd_usage_error(&cmd_features,
					 rest.len ? "one table, please: '%s' is one too many"
						  : "which table? give a CSV file, or - for standard input%s",
					 rest.len ? rest.items[1] : "");
	else if (going) {
		args.input = rest.items[0];
		status = do_job(&args);
	}
	features_words_fini(&words);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_features = {.name = "features",
				 .summary = "clean, engineer, select, encode and learn from a CSV table, profiled",
				 .arguments = "INPUT [--recipe FILE] [--mode batch|streaming|both] [--output-dir DIR]",
				 .options = features_options,
				 .run = run_features};
