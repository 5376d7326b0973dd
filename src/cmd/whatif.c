/* whatif.c - pitot whatif: what the run would take if its stages took another time. */
#include "render/whatif.h"
#include "analyze/whatif_span.h"
#include "cmd/cmd.h"
#include "render/model.h"
#include "render/open_run.h"
#include "store/history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct whatif_args {
	const char *format, *output, *history;
	int64_t jobs, width;
};

static const struct opt whatif_options[] = {
	{"jobs", 'j', OPT_INTEGER, offsetof(struct whatif_args, jobs), "N", "stages that may run side by side"},
	{"format", 'f', OPT_CHOICE, offsetof(struct whatif_args, format), "term|json", "how to show it"},
	{"output", 'o', OPT_TEXT, offsetof(struct whatif_args, output), "FILE", "write there instead of to stdout"},
	{"history", 0, OPT_TEXT, offsetof(struct whatif_args, history), "DIR", "the folder with the earlier runs"},
	{"width", 0, OPT_INTEGER, offsetof(struct whatif_args, width), "N", "columns of the terminal format"},
	{0}};

extern const struct cmd cmd_whatif;

/* Each stage has one new time. */
static int check_again(const struct whatif_changes *changes, size_t known, const char *text, struct err *err)
{
	for (size_t i = known; i < changes->items.len; i++)
		for (size_t k = 0; k < known; k++)
			if (changes->items.items[k].stage == changes->items.items[i].stage)
				return err_set(err, ERR_USAGE, "'%s': that stage has a new time already", text);
	return 0;
}

static int parse_changes(const struct report *report, const struct plan *plan, const struct opt_texts *rest,
			 size_t first, struct whatif_changes *out, struct err *err)
{
	for (size_t i = first; i < rest->len; i++) {
		struct whatif_change change;
		size_t known = out->items.len;
		bool code = whatif_is_code(rest->items[i]), operators = whatif_is_operator(rest->items[i]);
		int status = code        ? whatif_parse_code(report, plan, rest->items[i], out, err)
			     : operators ? whatif_parse_operator(report, plan, rest->items[i], out, err)
					 : whatif_parse(plan, rest->items[i], &change, err);
		if (status)
			return status;
		if (!code && !operators)
			vec_push(&out->items, change);
		status = check_again(out, known, rest->items[i], err);
		if (status)
			return status;
	}
	return 0;
}

static int show(const struct plan *plan, const struct whatif_changes *changes, const struct whatif_args *args)
{
	struct render_options options;
	struct str text = {0};
	struct whatif whatif;
	whatif_compute(plan, changes->items.items, changes->items.len, (int)args->jobs, &whatif);
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, false, &options);
	if (args->format && strcmp(args->format, "json") == 0)
		whatif_json(&whatif, &text);
	else if (changes->items.len || args->jobs)
		whatif_term(&whatif, &options, &text);
	else
		whatif_table_term(&whatif, &options, &text);
	int status = cmd_output(&cmd_whatif, args->output, str_text(&text), text.len);
	str_fini(&text);
	whatif_fini(&whatif);
	return status;
}

/* Of a run of `pitot model`: parts of the model's forward pass. */
static int ask_model(const struct model_profile *models, const struct opt_texts *rest, size_t first,
		     const struct whatif_args *args)
{
	struct model_whatif *whatifs = mem_alloc((rest->len - first) * sizeof(*whatifs));
	struct model_view view = {.profile = models, .whatifs = whatifs};
	struct render_options options;
	struct str text = {0};
	struct err err;
	int code = 0, status;
	for (size_t i = first; i < rest->len && !code; i++)
		code = model_whatif(&models->models.items[0], rest->items[i], &whatifs[view.whatif_count++], &err);
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, false, &options);
	if (!code && args->format && strcmp(args->format, "json") == 0)
		model_whatif_json(&view, &text);
	else if (!code)
		model_whatif_term(&view, &options, &text);
	status = code ? cmd_fail(&cmd_whatif, &err) : cmd_output(&cmd_whatif, args->output, str_text(&text), text.len);
	str_fini(&text);
	free(whatifs);
	return status;
}

static int ask(const char *path, const struct opt_texts *rest, size_t first, const struct whatif_args *args)
{
	struct err err;
	struct opened_run run;
	struct plan plan;
	struct whatif_changes changes = {0};
	if (opened_run_load(path, &run, &err) != 0)
		return cmd_fail(&cmd_whatif, &err);
	int status = 0, code = 0;
	if (run.models && rest->len > first) {
		status = ask_model(run.models, rest, first, args);
		opened_run_fini(&run);
		return status;
	}
	plan_from_report(&run.report, &plan);
	if (!(plan.measured_s > 0))
		code = err_set(&err, ERR_INPUT, "no stage of this run has ended: there is no time to predict from");
	else
		code = parse_changes(&run.report, &plan, rest, first, &changes, &err);
	status = code ? cmd_fail(&cmd_whatif, &err) : show(&plan, &changes, args);
	vec_fini(&changes.items);
	plan_fini(&plan);
	opened_run_fini(&run);
	return status;
}

static int run_whatif(int argc, char **argv)
{
	struct whatif_args args = {0};
	struct opt_texts rest = {0};
	struct err err;
	char *path = NULL, *dir = NULL;
	int status = 0;
	if (!cmd_parse(&cmd_whatif, argc, argv, &args, &rest, &status))
		goto out;
	if (args.jobs < 0 || args.jobs > 1000) {
		status = cmd_usage_error(&cmd_whatif, "--jobs: expected 1 to 1000");
		goto out;
	}
	if (args.width < 0 || args.width > 10000) {
		status = cmd_usage_error(&cmd_whatif, "--width: expected 1 to 10000 columns");
		goto out;
	}
	/* The run may be left out: a word with a "=" in it is a change, unless there is a file of that name. */
	bool named = rest.len && (!strchr(rest.items[0], '=') || access(rest.items[0], F_OK) == 0);
	dir = history_dir(args.history);
	if (history_resolve(dir, named ? rest.items[0] : NULL, &path, &err) != 0)
		status = cmd_fail(&cmd_whatif, &err);
	else
		status = ask(path, &rest, named ? 1 : 0, &args);
out:
	free(path);
	free(dir);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_whatif = {.name = "whatif",
			       .summary = "predict the run's time if stages or functions took another time",
			       .arguments = "[RUN] [STAGE=2x|-3s|12s|0 ...] [function:NAME=2x ...] [--jobs N]",
			       .options = whatif_options,
			       .run = run_whatif};
