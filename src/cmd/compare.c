/*
 * compare.c - pitot compare: commands, pipelines or revisions side by side, and whether they differ; see compare.h.
 *
 * The order matters: everything is planned while the process is small, then the processes that start the commands are
 * forked, and only then anything large is opened. What was made in the repository is undone whatever happens.
 */
#include "cmd/compare.h"
#include "analyze/comparison_notes.h"
#include "base/clock.h"
#include "base/file.h"
#include "cmd/compare_params.h"
#include "render/open_run.h"
#include "run/git.h"
#include "run/trial_deep.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define AT(field) offsetof(struct compare_args, field)
static const struct opt compare_options[] = {
	{"runs", 'r', OPT_INTEGER, AT(runs), "N", "run each exactly N times"},
	{"warmup", 'w', OPT_INTEGER, AT(warmup), "N", "run each N times before that, not counted (1)"},
	{"budget", 'b', OPT_DURATION, AT(budget_ns), "TIME", "stop after this time (60s, but 7 runs at least)"},
	{"precision", 0, OPT_NUMBER, AT(precision), "PERCENT", "stop once the ratio is known to ± this (2)"},
	{"threshold", 't', OPT_NUMBER, AT(threshold), "PERCENT", "how much of a change matters (5)"},
	{"metric", 'm', OPT_TEXT, AT(metric), "METRIC", "what decides: wall_s, cpu_time_s, memory, ... (wall_s)"},
	{"reference", 0, OPT_INTEGER, AT(reference), "N", "compare with the N-th command instead of the first"},
	{"seed", 0, OPT_INTEGER, AT(seed), "N", "of the random order"},
	{"name", 'n', OPT_LIST, AT(names), "NAME", "what to call a command; in their order"},
	{"parameter-scan", 'P', OPT_LIST, AT(scans), "NAME FROM TO [STEP]", "for {NAME} in the commands, numbers"},
	{"parameter-list", 'L', OPT_LIST, AT(lists), "NAME A,B,...", "for {NAME} in the commands, these values"},
	{"setup", 's', OPT_TEXT, AT(setup), "COMMAND", "run this once, before the first run"},
	{"prepare", 'p', OPT_LIST, AT(prepare), "COMMAND", "run this before each run"},
	{"cleanup", 'c', OPT_LIST, AT(cleanup), "COMMAND", "run this after each run"},
	{"rev", 0, OPT_LIST, AT(revisions), "REV", "compare git revisions; once for each"},
	{"build", 0, OPT_TEXT, AT(build), "COMMAND", "how to build a revision"},
	{"no-shell", 'N', OPT_NEGATED, AT(use_shell), NULL, "split the commands into words and run them directly"},
	{"shell", 'S', OPT_TEXT, AT(shell), "SHELL", "the shell that runs the commands (sh)"},
	{"stdin", 0, OPT_TEXT, AT(stdin_file), "FILE", "what the commands read; else nothing"},
	{"ignore-failure", 'i', OPT_FLAG, AT(ignore_failure), NULL, "go on where a command fails"},
	{"show-output", 0, OPT_FLAG, AT(show_output), NULL, "show what the commands print, on stderr"},
	{"cgroup", 0, OPT_FLAG, AT(cgroup), NULL, "a control group per run: the whole tree's peak memory"},
	{"format", 'f', OPT_CHOICE, AT(format), "term|json|csv|md|hyperfine", "how to show the result"},
	{"output", 'o', OPT_TEXT, AT(output), "FILE", "write the result there"},
	{"history", 0, OPT_TEXT, AT(history), "DIR", "the folder with the earlier runs"},
	{"no-history", 0, OPT_NEGATED, AT(keep), NULL, "leave no run file"},
	{"fail-on-regression", 0, OPT_FLAG, AT(fail_on_regression), NULL, "exit with 2 where one regressed"},
	{"fail-on-inconclusive", 0, OPT_FLAG, AT(fail_on_inconclusive), NULL, "exit with 3 where one is undecided"},
	{"quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no progress"},
	{0}};
#undef AT

enum { MOST_RUNS = 5000 };

/* Recorded for every command; the rest only with counters or a control group. */
static const int plain_metrics[] = {METRIC_WALL,
				    METRIC_CPU_TIME,
				    METRIC_CPU_USER,
				    METRIC_CPU_SYSTEM,
				    METRIC_RSS_PROCESS_PEAK,
				    METRIC_PAGE_FAULTS_MINOR,
				    METRIC_PAGE_FAULTS_MAJOR,
				    METRIC_CONTEXT_SWITCHES_VOLUNTARY,
				    METRIC_CONTEXT_SWITCHES_FORCED};
static const int counted_metrics[] = {METRIC_INSTRUCTIONS, METRIC_CYCLES, METRIC_CACHE_REFERENCES, METRIC_CACHE_MISSES,
				      METRIC_BRANCH_MISSES};
static const int pipeline_metrics[] = {METRIC_MEMORY_PEAK, METRIC_IO_READ, METRIC_IO_WRITE, METRIC_ENERGY};

/* ---- options ---- */

static int check_numbers(const struct compare_args *args)
{
	if (args->runs != COMPARE_UNSAID && (args->runs < 1 || args->runs > MOST_RUNS))
		return cmd_usage_error(&cmd_compare, "--runs: expected 1 to %d", MOST_RUNS);
	if (args->warmup < 0 || args->warmup > MOST_RUNS)
		return cmd_usage_error(&cmd_compare, "--warmup: expected 0 to %d", MOST_RUNS);
	if (!(args->threshold > 0 && args->threshold <= 1000))
		return cmd_usage_error(&cmd_compare, "--threshold: expected more than 0, at most 1000");
	if (!isnan(args->precision) && !(args->precision > 0 && args->precision <= 1000))
		return cmd_usage_error(&cmd_compare, "--precision: expected more than 0, at most 1000");
	if (args->seed != COMPARE_UNSAID && args->seed < 0)
		return cmd_usage_error(&cmd_compare, "--seed: expected 0 or more");
	if (args->build && !args->revisions.len)
		return cmd_usage_error(&cmd_compare, "--build belongs to --rev; --setup runs something before");
	if (!args->use_shell && args->shell)
		return cmd_usage_error(&cmd_compare, "--shell and --no-shell exclude each other");
	return 0;
}

static int find_metric(const char *name, int *out)
{
	static const struct {
		const char *word;
		int metric;
	} words[] = {{"time", METRIC_WALL},
		     {"wall", METRIC_WALL},
		     {"cpu", METRIC_CPU_TIME},
		     {"memory", METRIC_RSS_PROCESS_PEAK}};
	*out = name ? metric_find(name) : METRIC_WALL;
	for (size_t i = 0; name && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(name, words[i].word) == 0)
			*out = words[i].metric;
	return *out < 0 ? cmd_usage_error(&cmd_compare, "--metric: there is no metric '%s'; 'pitot metrics' lists them",
					  name)
			: 0;
}

static bool holds(const int *list, size_t count, int metric)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == metric)
			return true;
	return false;
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static uint64_t new_seed(void)
{
	uint32_t seed = 0;
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = (uint32_t)clock_mono_ns();
	return seed;
}

/* What is recorded; *deep says whether that takes counters. */
static int make_comparison(const struct compare_args *args, bool pipelines, struct comparison *comparison,
			   bool *counters)
{
	const double default_budget_s = 60, precision_share = 0.4;
	VEC(int) recorded = {0};
	int primary, status = find_metric(args->metric, &primary);
	double precision = isnan(args->precision) ? fmin(2, precision_share * args->threshold) : args->precision;
	struct comparison_settings settings = {.change = change_defaults,
					       .precision = precision / 100,
					       .seed = args->seed >= 0 ? (uint64_t)args->seed : new_seed(),
					       .warmup = (size_t)args->warmup,
					       .runs = args->runs > 0 ? (size_t)args->runs : 0,
					       .budget_s = args->budget_ns ? (double)args->budget_ns / 1e9
									   : default_budget_s};
	settings.change.threshold = args->threshold / 100;
	*counters = !pipelines && holds(counted_metrics, COUNT(counted_metrics), primary);
	for (size_t i = 0; i < COUNT(plain_metrics); i++)
		vec_push(&recorded, plain_metrics[i]);
	for (size_t i = 0; (pipelines || *counters) && i < COUNT(counted_metrics); i++)
		vec_push(&recorded, counted_metrics[i]);
	for (size_t i = 0; (pipelines || args->cgroup) && i < (pipelines ? COUNT(pipeline_metrics) : 1); i++)
		vec_push(&recorded, pipeline_metrics[i]);
	if (!status && !holds(recorded.items, recorded.len, primary))
		status = cmd_usage_error(&cmd_compare, "--metric: '%s' is not measured here%s", metrics[primary].name,
					 primary == METRIC_MEMORY_PEAK ? "; --cgroup does" : "");
	comparison_init(comparison, &settings, recorded.items, recorded.len, primary);
	comparison->started_utc_ns = clock_utc_ns();
	vec_fini(&recorded);
	return status;
}

/* ---- before and after ---- */

static int open_signals(void)
{
	sigset_t asked;
	sigemptyset(&asked);
	sigaddset(&asked, SIGINT);
	sigaddset(&asked, SIGTERM);
	sigaddset(&asked, SIGHUP);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	return signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK);
}

static enum progress_mode pick_progress(const struct compare_args *args)
{
	const char *terminal = getenv("TERM");
	if (args->quiet)
		return PROGRESS_NONE;
	bool can_move = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
	return can_move && !args->show_output ? PROGRESS_LIVE : PROGRESS_PLAIN;
}

static int start_processes(struct compare_bench *bench, bool counters)
{
	struct compare_plan *plan = bench->plan;
	struct err err;
	bool deep = counters || bench->args->cgroup;
	int code = 0;
	if (plan->scratch || deep)
		code = nursery_start(plan->scratch, &bench->nursery, &err);
	if (!code)
		code = trial_runner_start(plan->programs.items, plan->programs.len, plan->tail,
					  bench->nursery ? nursery_pid(bench->nursery) : 0, &bench->runner, &err);
	if (!code && deep && !plan->pipelines)
		code = trial_deep_open(bench->nursery, bench->args->cgroup, counters, &bench->deep, &err);
	if (bench->deep)
		bench->deep_values = mem_alloc(TRIAL_BATCH * sizeof(*bench->deep_values));
	return code ? cmd_fail(&cmd_compare, &err) : 0;
}

/* Which commit that is, behind the revision's name. */
static void name_commit(struct compare_bench *bench, size_t number)
{
	const struct compare_revision *revision = &bench->plan->revisions.items[number];
	struct comparison *comparison = bench->comparison;
	char *commit = git_commit_of(revision->tree);
	bool said = number < bench->args->names.len || (commit && str_starts(commit, revision->name));
	for (size_t i = 0; i < comparison->groups.len && commit && !said; i++) {
		struct comparison_subject *subject =
			&comparison->subjects.items[comparison->groups.items[i].first + number];
		char *label = mem_printf("%s (%.7s)", subject->label, commit);
		free(subject->label);
		subject->label = label;
	}
	free(commit);
}

static int check_out(struct compare_bench *bench)
{
	int status = 0;
	for (size_t i = 0; i < bench->plan->revisions.len && !status && !bench->caught; i++) {
		struct compare_revision *revision = &bench->plan->revisions.items[i];
		char *text = mem_printf("%s %s ...", revision->build == NO_PROGRAM ? "checking out" : "building",
					revision->name);
		comparison_view_say(bench->view, text);
		free(text);
		revision->added = true; /* also where it fails half way */
		status = compare_run_aside(bench, revision->add);
		if (!status)
			name_commit(bench, i);
		if (!status && !bench->caught && revision->build != NO_PROGRAM)
			status = compare_run_aside(bench, revision->build);
	}
	for (size_t i = 0; i < bench->plan->setups.len && !status && !bench->caught; i++)
		status = compare_run_aside(bench, bench->plan->setups.items[i]);
	return status;
}

/* Whatever happened, and whatever is pressed meanwhile. The nursery removes what is left of the folder. */
static void remove_revisions(struct compare_bench *bench)
{
	struct trial_result results[TRIAL_BATCH];
	bench->cleaning = true;
	for (size_t i = 0; i < bench->plan->revisions.len; i++) {
		uint32_t program = (uint32_t)bench->plan->revisions.items[i].remove;
		size_t done;
		if (bench->plan->revisions.items[i].added)
			(void)compare_run_batch(bench, &program, 1, false, results, &done);
	}
}

static int measure_all(struct compare_bench *bench, bool counters)
{
	int status = start_processes(bench, counters);
	if (!status)
		status = check_out(bench);
	if (!status && bench->plan->pipelines)
		status = compare_load_pipelines(bench);
	if (!status && !bench->caught)
		status = compare_measure(bench);
	if (bench->runner) {
		remove_revisions(bench);
		bench->comparison->memory_floor_bytes = (double)trial_runner_floor_kib(bench->runner) * 1024;
	}
	trial_deep_close(bench->deep);
	trial_runner_stop(bench->runner);
	nursery_stop(bench->nursery);
	bench->runner = NULL;
	free(bench->deep_values);
	return status;
}

/* ---- the result ---- */

static void note_shell(const struct compare_plan *plan, struct comparison *comparison)
{
	const double short_s = 0.005;
	for (size_t i = 0; i < comparison->subjects.len && plan->shell_used; i++) {
		const struct comparison_series *wall = &comparison->subjects.items[i].series.items[0];
		if (wall->values.len && wall->about.median < short_s) {
			comparison_note(comparison, SIZE_MAX,
					"a good part of so short a run is the shell's own; -N leaves it out");
			return;
		}
	}
}

static int show(const struct compare_args *args, const struct comparison *comparison)
{
	struct render_options options;
	struct str text = {0};
	bool to_file = args->output && strcmp(args->output, "-") != 0;
	render_options_for(to_file ? -1 : STDOUT_FILENO, 0, false, &options);
	comparison_renderer_find(args->format ? args->format : "term")->render(comparison, &options, &text);
	int status = cmd_output(&cmd_compare, args->output, str_text(&text), text.len);
	str_fini(&text);
	return status;
}

static int verdict_status(const struct compare_args *args, const struct comparison *comparison)
{
	bool regressed = false, inconclusive = false;
	for (size_t i = 0; i < comparison->pairs.len; i++) {
		enum change verdict = comparison_primary(comparison, &comparison->pairs.items[i])->verdict;
		regressed |= verdict == CHANGE_REGRESSED;
		inconclusive |= verdict == CHANGE_INCONCLUSIVE;
	}
	if (regressed && args->fail_on_regression)
		return 2;
	return inconclusive && args->fail_on_inconclusive ? 3 : 0;
}

static bool has_runs(const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->groups.len; i++)
		if (comparison->groups.items[i].blocks)
			return true;
	return false;
}

static int report(struct compare_bench *bench)
{
	struct comparison *comparison = bench->comparison;
	struct err err;
	char *path = NULL;
	comparison->elapsed_s = compare_elapsed_s(bench);
	comparison_conclude(comparison);
	note_shell(bench->plan, comparison);
	int status = show(bench->args, comparison);
	if (bench->args->keep && !bench->plan->pipelines) {
		if (compare_store(bench, &path, &err) != 0)
			status = cmd_fail(&cmd_compare, &err);
		else if (!bench->args->quiet)
			fprintf(stderr, "run file: %s\n", path);
	}
	free(path);
	return status ? status : verdict_status(bench->args, comparison);
}

static int compare_all(const struct compare_args *args, const struct opt_texts *rest, size_t dashes)
{
	struct compare_plan plan = {.in = -1, .out = -1, .null = -1, .tail = -1};
	struct comparison comparison = {0};
	struct render_options options;
	struct err err;
	bool counters = false;
	int status = compare_plan_kind(args, rest, dashes, &plan);
	status = status ? status : make_comparison(args, plan.pipelines, &comparison, &counters);
	struct compare_bench bench = {.args = args, .plan = &plan, .comparison = &comparison};
	bench.start_ns = clock_mono_ns();
	bench.signals = open_signals();
	if (!status && (plan.pipelines || args->revisions.len) && !(plan.scratch = file_make_temp_dir(&err)))
		status = cmd_fail(&cmd_compare, &err);
	status = status ? status : compare_plan_make(args, rest, dashes, &plan, &comparison);
	if (!status) {
		render_options_for(STDERR_FILENO, 0, false, &options);
		bench.view = comparison_view_new(STDERR_FILENO, pick_progress(args), &options);
		status = measure_all(&bench, counters);
		comparison_view_free(bench.view);
		if (!status && has_runs(&comparison))
			status = report(&bench);
	} else if (plan.scratch) {
		rmdir(plan.scratch);
	}
	if (bench.caught) {
		fprintf(stderr, "pitot compare: interrupted by %s\n", strsignal(bench.caught));
		status = 1;
	}
	close(bench.signals);
	comparison_fini(&comparison);
	compare_plan_fini(&plan);
	return status;
}

static int run_compare(int argc, char **argv)
{
	struct compare_args args = {.runs = COMPARE_UNSAID,
				    .warmup = 1,
				    .reference = 1,
				    .seed = COMPARE_UNSAID,
				    .precision = NAN,
				    .threshold = 5,
				    .use_shell = true,
				    .keep = true,
				    .argc = argc,
				    .argv = argv};
	struct opt_texts rest = {0};
	struct compare_words words = {0}, owned = {0};
	size_t dashes;
	int status = 0;
	compare_fold_words(argc, argv, &words, &owned);
	if (cmd_parse_open(&cmd_compare, (int)words.items.len, words.items.items, &args, NULL, NULL, &rest, &dashes,
			   &status)) {
		status = check_numbers(&args);
		status = status ? status : compare_all(&args, &rest, dashes);
	}
	struct opt_texts *lists[] = {&args.prepare, &args.cleanup, &args.names, &args.revisions,
				     &args.scans,   &args.lists,   &rest};
	for (size_t i = 0; i < COUNT(lists); i++)
		vec_fini(lists[i]);
	for (size_t i = 0; i < owned.items.len; i++)
		free(owned.items.items[i]);
	vec_fini(&owned.items);
	vec_fini(&words.items);
	return status;
}

const struct cmd cmd_compare = {
	.name = "compare",
	.summary = "run commands, pipelines or revisions side by side and say whether they differ",
	.arguments = "COMMAND COMMAND ... | PIPELINE PIPELINE ... | --rev A --rev B -- COMMAND ...",
	.options = compare_options,
	.run = run_compare};
