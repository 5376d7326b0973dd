/* report.c - pitot report: shows a run in one of the formats. */
#include "cmd/open_run.h"
#include "store/history.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct report_args {
	const char *format, *output, *history;
	bool verbose;
	int64_t width;
};

static const struct opt report_options[] = {
	{"format", 'f', OPT_CHOICE, offsetof(struct report_args, format), "term|md|json|csv", "how to show it"},
	{"output", 'o', OPT_TEXT, offsetof(struct report_args, output), "FILE", "write there instead of to stdout"},
	{"history", 0, OPT_TEXT, offsetof(struct report_args, history), "DIR", "the folder with the earlier runs"},
	{"verbose", 'v', OPT_FLAG, offsetof(struct report_args, verbose), NULL, "every metric with its provenance"},
	{"width", 0, OPT_INTEGER, offsetof(struct report_args, width), "N", "columns of the terminal format"},
	{0}};

extern const struct cmd cmd_report;

static int show(const char *path, const struct report_args *args)
{
	struct err err;
	struct opened_run run;
	struct str text = {0};
	struct render_options options;
	const struct renderer *renderer = renderer_find(args->format ? args->format : "term");
	int status = opened_run_load(path, &run, &err) ? cmd_fail(&cmd_report, &err) : 0;
	if (status)
		return status;
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, args->verbose, &options);
	if (renderer->render(&run.report, &options, &text, &err) != 0)
		status = cmd_fail(&cmd_report, &err);
	else
		status = cmd_output(&cmd_report, args->output, str_text(&text), text.len);
	str_fini(&text);
	opened_run_fini(&run);
	return status;
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
	if (args.width < 0 || args.width > 10000) {
		status = cmd_usage_error(&cmd_report, "--width: expected 1 to 10000 columns");
		goto out;
	}
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

const struct cmd cmd_report = {.name = "report",
			       .summary = "show a run: as text, Markdown, JSON or CSV",
			       .arguments = "[RUN] [--format F] [-o FILE]",
			       .options = report_options,
			       .run = run_report};
