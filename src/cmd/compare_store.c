/*
 * compare_store.c - the run file that a comparison of commands leaves in the history.
 *
 * Each command is a stage, each of its runs a repetition, so that report, diff and history work on it. Written after all
 * runs are over. Warm-up runs are not in it.
 */
#include "base/clock.h"
#include "cmd/compare.h"
#include "probe/host.h"
#include "run/git.h"
#include "store/history.h"
#include "store/store.h"

#include <string.h>
#include <unistd.h>

static const char *source_of(int metric)
{
	switch (metric) {
	case METRIC_WALL:
		return "monotonic clock, start to last exit";
	case METRIC_CPU_USER:
	case METRIC_CPU_SYSTEM:
		return "wait4 rusage; the split is by timer ticks";
	case METRIC_MEMORY_PEAK:
		return "cgroup high-water mark, page cache included";
	case METRIC_INSTRUCTIONS:
	case METRIC_CYCLES:
	case METRIC_CACHE_REFERENCES:
	case METRIC_CACHE_MISSES:
	case METRIC_BRANCH_MISSES:
		return "perf_event_open";
	default:
		return "wait4 rusage";
	}
}

static char *stage_name(const struct comparison *comparison, const struct comparison_subject *subject)
{
	struct str text = {0};
	str_append(&text, subject->label);
	if (comparison->groups.len > 1 && subject->params.len) {
		str_append(&text, " (");
		comparison_params_text(subject, &text);
		str_append(&text, ")");
	}
	return str_take(&text);
}

/* What a report likes to show and what follows from the rest. */
static void set_derived(struct metric_value *values)
{
	double wall_s = values[METRIC_WALL].value;
	if (wall_s > 0)
		metric_set(&values[METRIC_CPU_PERCENT_AVG], 100 * values[METRIC_CPU_TIME].value / wall_s, METHOD_EXACT,
			   "CPU time over elapsed time");
	metric_set(&values[METRIC_CONTEXT_SWITCHES],
		   values[METRIC_CONTEXT_SWITCHES_VOLUNTARY].value + values[METRIC_CONTEXT_SWITCHES_FORCED].value,
		   METHOD_EXACT, "wait4 rusage");
}

static int store_one(struct store *store, const struct comparison *comparison, size_t number, size_t run_number,
		     char *name, struct err *err)
{
	const struct comparison_subject *subject = &comparison->subjects.items[number];
	const struct comparison_run *run = &subject->runs.items[run_number];
	struct metric_value values[METRIC_COUNT] = {0};
	double wall_s = 0;
	for (size_t m = 0; m < comparison->metrics.len; m++) {
		int metric = comparison->metrics.items[m];
		double value = subject->series.items[m].values.items[run_number];
		metric_set(&values[metric], value, METHOD_EXACT, "%s", source_of(metric));
		wall_s = metric == METRIC_WALL ? value : wall_s;
	}
	set_derived(values);
	struct stage_row row = {.repetition = (int)run->block,
				.position = (int)number,
				.name = name,
				.command = subject->command,
				.status = run->exit_code == 0 ? STATUS_OK : STATUS_ERROR,
				.attempts = 1,
				.exit_code = run->exit_code,
				.term_signal = run->term_signal,
				.start_ns = run->start_ns,
				.end_ns = run->start_ns + (uint64_t)(wall_s * 1e9),
				.tier = "processes",
				.needs = ""};
	int code = store_stage_begin(store, &row, err);
	code = code ? code : store_stage_end(store, &row, err);
	return code ? code : store_metrics(store, row.id, values, err);
}

static int store_runs(struct store *store, const struct comparison *comparison, struct err *err)
{
	int code = 0;
	for (size_t i = 0; i < comparison->subjects.len && !code; i++) {
		const struct comparison_subject *subject = &comparison->subjects.items[i];
		char *name = stage_name(comparison, subject);
		for (size_t k = 0; k < subject->runs.len && !code; k++)
			code = store_one(store, comparison, i, k, name, err);
		free(name);
	}
	return code;
}

/* With names, because a report does not number the stages. */
static void append_verdict(const struct comparison *comparison, const struct comparison_pair *pair, struct str *out)
{
	char *new = stage_name(comparison, &comparison->subjects.items[pair->subject]);
	char *base = stage_name(comparison, &comparison->subjects.items[pair->reference]);
	const struct change_result *result = comparison_primary(comparison, pair);
	str_appendf(out, "%s against %s: %s ", new, base, metrics[comparison->metrics.items[comparison->primary]].name);
	comparison_ratio_text(result, out);
	str_appendf(out, ", %s", change_name(result->verdict));
	free(new);
	free(base);
}

static int store_notes(struct store *store, const struct comparison *comparison, struct err *err)
{
	int code = 0;
	for (size_t i = 0; i < comparison->pairs.len + comparison->notes.len && !code; i++) {
		bool verdict = i < comparison->pairs.len;
		struct str text = {0};
		if (verdict)
			append_verdict(comparison, &comparison->pairs.items[i], &text);
		else
			comparison_note_text(comparison, &comparison->notes.items[i - comparison->pairs.len], &text);
		struct event_row event = {.kind = verdict ? "note" : "warning", .text = text.text};
		code = store_event(store, &event, err);
		str_fini(&text);
	}
	return code;
}

static int store_facts(struct store *store, const struct comparison *comparison, const struct host_facts *facts,
		       struct err *err)
{
	char *seed = mem_printf("%llu", (unsigned long long)comparison->settings.seed);
	int code = store_param(store, "seed", seed, "pitot compare", err);
	for (size_t i = 0; i < facts->facts.len && !code; i++)
		code = store_host_fact(store, facts->facts.items[i].key, facts->facts.items[i].value, err);
	free(seed);
	return code;
}

static int most_blocks(const struct comparison *comparison)
{
	size_t most = 0;
	for (size_t i = 0; i < comparison->groups.len; i++)
		most = comparison->groups.items[i].blocks > most ? comparison->groups.items[i].blocks : most;
	return (int)most;
}

int compare_store(const struct compare_bench *bench, char **path, struct err *err)
{
	const struct comparison *comparison = bench->comparison;
	char *dir = history_dir(bench->args->history), *cwd = getcwd(NULL, 0), *argv = compare_argv_json(bench->args);
	char *commit = cwd ? git_commit_of(cwd) : NULL;
	struct host_facts facts = {0};
	struct store *store = NULL;
	host_facts_read(&facts);
	struct run_row row = {.name = "compare",
			      .started_utc_ns = comparison->started_utc_ns,
			      .status = STATUS_INTERRUPTED,
			      .argv_json = argv,
			      .cwd = cwd ? cwd : "?",
			      .git_commit = commit,
			      .fingerprint = facts.fingerprint,
			      .repeat = most_blocks(comparison),
			      .jobs = 1};
	int code = history_new_path(dir, row.name, row.started_utc_ns, path, err);
	code = code ? code : store_create(*path, &row, &store, err);
	if (!code)
		code = store_facts(store, comparison, &facts, err);
	code = code ? code : store_runs(store, comparison, err);
	code = code ? code : store_notes(store, comparison, err);
	enum stage_status status = bench->caught ? STATUS_INTERRUPTED : STATUS_OK;
	if (!code)
		code = store_finish(store, status, (uint64_t)(comparison->elapsed_s * 1e9), err);
	else if (store)
		store_abandon(store);
	host_facts_fini(&facts);
	free(dir);
	free(cwd);
	free(argv);
	free(commit);
	return code;
}
