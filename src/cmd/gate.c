/* gate.c - pitot gate: passes or fails a change by thresholds, for CI jobs. */
#include "cmd/delta.h"
#include "render/open_run.h"
#include "store/history.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

struct gate_args {
	const char *format, *output, *history;
	struct opt_texts a, b, gates;
	double confidence;
	bool fail_on_inconclusive;
	int64_t width;
};

#define AT(field) offsetof(struct gate_args, field)
static const struct opt gate_options[] = {
	{"a", 0, OPT_LIST, AT(a), "RUN", "a run to compare with; may be repeated"},
	{"b", 0, OPT_LIST, AT(b), "RUN", "a run to judge; may be repeated"},
	{"gate", 'g', OPT_LIST, AT(gates), "NAME=LIMIT", "a threshold, besides those of the pipeline file"},
	{"confidence", 0, OPT_NUMBER, AT(confidence), "PCT", "of the intervals, in per cent (98)"},
	{"fail-on-inconclusive", 0, OPT_FLAG, AT(fail_on_inconclusive), NULL, "exit 3 where a threshold is undecided"},
	{"format", 'f', OPT_CHOICE, AT(format), "term|md|json|html|github|gitlab|junit", "how to show it"},
	{"output", 'o', OPT_TEXT, AT(output), "FILE", "write there instead of to stdout"},
	{"history", 0, OPT_TEXT, AT(history), "DIR", "the folder with the earlier runs"},
	{"width", 0, OPT_INTEGER, AT(width), "N", "columns of the terminal format"},
	{0}};
#undef AT

extern const struct cmd cmd_gate;

static int show(const struct gate_args *args, const struct diff *diff, const struct gate *gate,
		const struct run_record *source)
{
	struct render_options view;
	struct str text = {0};
	char *config_path = delta_config_path(source);
	struct delta delta = {.diff = diff,
			      .gate = gate,
			      .config_path = config_path,
			      .config_text = source ? source->row.config_text : NULL};
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, false, &view);
	delta_renderer_find(args->format ? args->format : "term")->render(&delta, &view, &text);
	int status = cmd_output(&cmd_gate, args->output, str_text(&text), text.len);
	str_fini(&text);
	free(config_path);
	if (status)
		return status;
	if (gate->outcome == GATE_FAIL)
		return EXIT_REGRESSION;
	return gate->outcome == GATE_INCONCLUSIVE && args->fail_on_inconclusive ? EXIT_INCONCLUSIVE : 0;
}

/* A threshold on a change, and nothing to compare with, is a mistake in the call, not something undecided. */
static int check_baseline(const struct delta_runs *runs, const struct gate *gate)
{
	for (size_t i = 0; i < gate->checks.len && runs->sides[0].len == 0; i++) {
		const struct gate_check *check = &gate->checks.items[i];
		if (!isnan(check->limit) && threshold_compares(check->threshold.kind))
			return cmd_usage_error(
				&cmd_gate,
				"%s asks about a change: name the run to compare with first, as in 'pitot "
				"gate last~1 last'",
				check->name);
	}
	return 0;
}

static int judge(const struct gate_args *args, const struct delta_runs *runs, const struct diff_options *options)
{
	struct delta_limits limits = {0};
	struct diff diff = {0};
	struct gate gate = {0};
	struct err err;
	int status = delta_limits_collect(&cmd_gate, runs, &args->gates, &limits);
	if (!status && limits.items.len == 0)
		status = cmd_usage_error(&cmd_gate,
					 "there are no thresholds: put them under gate: in the pipeline file, as "
					 "max_total_duration_increase_pct: 5, or give --gate NAME=LIMIT");
	if (!status) {
		delta_compare(runs, options, &diff);
		if (gate_compute(&diff, limits.items.items, limits.items.len, &gate, &err) != 0)
			status = cmd_fail(&cmd_gate, &err);
	}
	if (!status)
		status = check_baseline(runs, &gate);
	if (!status)
		status = show(args, &diff, &gate, limits.source);
	gate_fini(&gate);
	diff_fini(&diff);
	delta_limits_fini(&limits);
	return status;
}

static int decide(const struct gate_args *args, const struct opt_texts *rest, size_t dashes)
{
	struct delta_words words = {0};
	struct delta_runs runs = {0};
	struct diff_options options;
	char *dir = history_dir(args->history);
	int status = delta_options(&cmd_gate, NAN, args->confidence, &options);
	if (!status && (args->width < 0 || args->width > 10000))
		status = cmd_usage_error(&cmd_gate, "--width: expected 1 to 10000 columns");
	if (!status)
		status = delta_words_sort(&cmd_gate, rest, dashes, &args->a, &args->b, NULL, false, &words);
	if (!status)
		status = delta_runs_load(&cmd_gate, dir, &words, &runs);
	if (!status)
		status = judge(args, &runs, &options);
	delta_words_fini(&words);
	delta_runs_fini(&runs);
	free(dir);
	return status;
}

static int run_gate(int argc, char **argv)
{
	struct gate_args args = {.confidence = NAN};
	struct opt_texts rest = {0};
	size_t dashes;
	int status = 0;
	if (cmd_parse_open(&cmd_gate, argc, argv, &args, NULL, NULL, &rest, &dashes, &status))
		status = decide(&args, &rest, dashes);
	vec_fini(&args.a);
	vec_fini(&args.b);
	vec_fini(&args.gates);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_gate = {.name = "gate",
			     .summary = "pass or fail a change by thresholds, for CI",
			     .arguments = "[A] [B] | A1 A2 ... -- B1 B2 ...",
			     .options = gate_options,
			     .run = run_gate};
