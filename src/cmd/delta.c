/* delta.c - see delta.h. */
#include "cmd/delta.h"
#include "base/file.h"
#include "render/open_run.h"
#include "store/history.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which runs ---- */

static void take(struct opt_texts *into, const struct opt_texts *from, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		vec_push(into, from->items[first + i]);
}

static int sort_flags(const struct cmd *cmd, const struct opt_texts *rest, const struct opt_texts *a,
		      const struct opt_texts *b, bool needs_a, struct delta_words *out)
{
	if (rest->len)
		return cmd_usage_error(cmd, "runs are named either by --a and --b or by themselves; '%s' is too much",
				       rest->items[0]);
	if (!b->len || (needs_a && !a->len))
		return cmd_usage_error(cmd, "--%s needs --%s: what to compare it with", b->len ? "b" : "a",
				       b->len ? "a" : "b");
	take(&out->sides[0], a, 0, a->len);
	take(&out->sides[1], b, 0, b->len);
	return 0;
}

static int sort_dashes(const struct cmd *cmd, const struct opt_texts *rest, size_t dashes, bool needs_a,
		       struct delta_words *out)
{
	if (dashes == rest->len || (needs_a && dashes == 0))
		return cmd_usage_error(cmd, "there is no run %s '--'", dashes == rest->len ? "after" : "before");
	take(&out->sides[0], rest, 0, dashes);
	take(&out->sides[1], rest, dashes, rest->len - dashes);
	return 0;
}

int delta_words_sort(const struct cmd *cmd, const struct opt_texts *rest, size_t dashes, const struct opt_texts *a,
		     const struct opt_texts *b, const char *default_a, bool first_is_a, struct delta_words *out)
{
	if (a->len || b->len)
		return sort_flags(cmd, rest, a, b, default_a != NULL, out);
	if (dashes != SIZE_MAX)
		return sort_dashes(cmd, rest, dashes, default_a != NULL, out);
	if (rest->len > 2)
		return cmd_usage_error(cmd, "several runs a side: pitot %s %s ... -- %s ...", cmd->name, rest->items[0],
				       rest->items[rest->len - 1]);
	bool has_a = rest->len == 2 || (rest->len == 1 && first_is_a);
	const char *first = has_a ? rest->items[0] : default_a;
	if (first)
		vec_push(&out->sides[0], first);
	vec_push(&out->sides[1], rest->len > (has_a ? 1u : 0u) ? rest->items[rest->len - 1] : "last");
	return 0;
}

void delta_words_fini(struct delta_words *words)
{
	vec_fini(&words->sides[0]);
	vec_fini(&words->sides[1]);
}

int delta_runs_add(struct delta_runs *runs, int side, const char *path, struct err *err)
{
	struct run_record *record = NULL;
	int code = store_load(path, &record, err);
	if (!code)
		vec_push(&runs->sides[side], record);
	return code;
}

int delta_runs_load(const struct cmd *cmd, const char *dir, const struct delta_words *words, struct delta_runs *out)
{
	struct err err;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < words->sides[side].len; i++) {
			char *path = NULL;
			int code = history_resolve(dir, words->sides[side].items[i], &path, &err);
			if (!code)
				code = delta_runs_add(out, side, path, &err);
			free(path);
			if (code)
				return cmd_fail(cmd, &err);
		}
	return 0;
}

void delta_runs_fini(struct delta_runs *runs)
{
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < runs->sides[side].len; i++)
			run_record_free(runs->sides[side].items[i]);
		vec_fini(&runs->sides[side]);
	}
}

/* ---- what to compare ---- */

int delta_options(const struct cmd *cmd, double threshold_pct, double confidence_pct, struct diff_options *out)
{
	*out = diff_defaults;
	if (!isnan(threshold_pct) && !(threshold_pct > 0 && threshold_pct <= 1000))
		return cmd_usage_error(cmd, "--threshold: expected more than 0 and at most 1000 per cent");
	if (!isnan(confidence_pct) && !(confidence_pct >= 50 && confidence_pct < 100))
		return cmd_usage_error(cmd, "--confidence: expected 50 or more and less than 100 per cent");
	if (!isnan(threshold_pct))
		out->threshold = threshold_pct / 100;
	if (!isnan(confidence_pct))
		out->alpha = (1 - confidence_pct / 100) / 2;
	return 0;
}

void delta_compare(const struct delta_runs *runs, const struct diff_options *options, struct diff *out)
{
	diff_compute((const struct run_record *const *)runs->sides[0].items, runs->sides[0].len,
		     (const struct run_record *const *)runs->sides[1].items, runs->sides[1].len, options, out);
}

static void put_limit(struct delta_limits *limits, const char *name, double limit, bool from_flag)
{
	for (size_t i = 0; i < limits->items.len; i++)
		if (strcmp(limits->items.items[i].name, name) == 0) {
			limits->items.items[i].limit = limit;
			limits->items.items[i].from_flag = from_flag;
			return;
		}
	vec_push(&limits->items, ((struct gate_limit){name, limit, from_flag}));
}

static void take_stored(const struct delta_runs *runs, struct delta_limits *out)
{
	for (int side = 1; side >= 0 && !out->source; side--) {
		const struct run_record *run = runs->sides[side].len ? runs->sides[side].items[0] : NULL;
		for (size_t i = 0; run && i < run->gates.len; i++) {
			double limit;
			if (!run->gates.items[i].name || !str_to_double(run->gates.items[i].value, &limit))
				continue;
			put_limit(out, run->gates.items[i].name, limit, false);
			out->source = run;
		}
	}
}

int delta_limits_collect(const struct cmd *cmd, const struct delta_runs *runs, const struct opt_texts *flags,
			 struct delta_limits *out)
{
	take_stored(runs, out);
	for (size_t i = 0; i < flags->len; i++) {
		const char *equals = strrchr(flags->items[i], '=');
		double limit;
		if (!equals || equals == flags->items[i] || !str_to_double(equals + 1, &limit))
			return cmd_usage_error(cmd, "--gate: expected NAME=LIMIT with a number, not '%s'",
					       flags->items[i]);
		char *name = mem_strndup(flags->items[i], (size_t)(equals - flags->items[i]));
		vec_push(&out->owned, name);
		put_limit(out, name, limit, true);
	}
	return 0;
}

void delta_limits_fini(struct delta_limits *limits)
{
	for (size_t i = 0; i < limits->owned.len; i++)
		free(limits->owned.items[i]);
	vec_fini(&limits->owned);
	vec_fini(&limits->items);
}

char *delta_config_path(const struct run_record *run)
{
	char here[PATH_MAX];
	const char *path = run ? run->row.config_path : NULL;
	if (!path)
		return NULL;
	size_t length = getcwd(here, sizeof(here)) ? strlen(here) : 0;
	if (length && strncmp(path, here, length) == 0 && path[length] == '/')
		return mem_strdup(path + length + 1);
	const char *slash = strrchr(path, '/');
	return mem_strdup(slash ? slash + 1 : path);
}

/* ---- after a run ---- */

struct baseline {
	struct delta_runs runs; /* A is there, B comes when it has run */
};

int baseline_open(const struct cmd *cmd, const char *dir, const char *word, struct baseline **out)
{
	struct err err;
	char *path = NULL;
	struct baseline *baseline = mem_alloc(sizeof(*baseline));
	int code = history_resolve(dir, word, &path, &err);
	if (!code)
		code = delta_runs_add(&baseline->runs, 0, path, &err);
	free(path);
	if (code) {
		baseline_free(baseline);
		err_prefix(&err, "--compare-to");
		return cmd_fail(cmd, &err);
	}
	*out = baseline;
	return 0;
}

void baseline_free(struct baseline *baseline)
{
	if (!baseline)
		return;
	delta_runs_fini(&baseline->runs);
	free(baseline);
}

static int write_file(const struct cmd *cmd, const struct delta *delta, const char *format, const char *dir,
		      const char *file)
{
	struct render_options options;
	struct str text = {0};
	char *path = file_join(dir, file);
	render_options_for(-1, 0, false, &options);
	delta_renderer_find(format)->render(delta, &options, &text);
	int status = cmd_output(cmd, path, str_text(&text), text.len);
	free(path);
	str_fini(&text);
	return status;
}

static int show_delta(const struct cmd *cmd, const struct delta *delta, const struct baseline_show *show)
{
	struct render_options options;
	struct str text = {0};
	int status = 0;
	if (show->report_dir) {
		status = write_file(cmd, delta, "json", show->report_dir, "profile_delta.json");
		status = status ? status : write_file(cmd, delta, "md", show->report_dir, "profile_delta.md");
	}
	if (!show->print)
		return status;
	render_options_for(show->to_stderr ? STDERR_FILENO : STDOUT_FILENO, 0, false, &options);
	str_append_char(&text, '\n');
	delta_renderer_find("term")->render(delta, &options, &text);
	if (show->to_stderr)
		fwrite(str_text(&text), 1, text.len, stderr);
	else if (!status)
		status = cmd_output(cmd, NULL, str_text(&text), text.len);
	str_fini(&text);
	return status;
}

int baseline_compare(const struct cmd *cmd, struct baseline *baseline, const char *file,
		     const struct baseline_show *show)
{
	static const struct opt_texts no_flags;
	struct delta_limits limits = {0};
	struct diff diff;
	struct gate gate = {0};
	struct err err;
	if (delta_runs_add(&baseline->runs, 1, file, &err) != 0)
		return cmd_fail(cmd, &err);
	delta_compare(&baseline->runs, &diff_defaults, &diff);
	delta_limits_collect(cmd, &baseline->runs, &no_flags, &limits);
	/* Who declares no thresholds still wants to know whether it became slower. */
	if (limits.items.len == 0)
		put_limit(&limits, "max_total_duration_increase_pct", 100 * diff_defaults.threshold, false);
	int status = gate_compute(&diff, limits.items.items, limits.items.len, &gate, &err) ? cmd_fail(cmd, &err) : 0;
	if (!status) {
		struct delta delta = {.diff = &diff, .gate = &gate, .rows = true};
		status = show_delta(cmd, &delta, show);
	}
	if (!status && gate.outcome == GATE_FAIL)
		status = EXIT_REGRESSION;
	gate_fini(&gate);
	diff_fini(&diff);
	delta_limits_fini(&limits);
	return status;
}
