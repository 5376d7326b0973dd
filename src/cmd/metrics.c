/* metrics.c - pitot metrics: the registry, for people and for docs/metrics.md. */
#include "cmd/cmd.h"
#include "render/metrics_doc.h"
#include "render/open_run.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct metrics_args {
	const char *format;
};

static const struct opt metrics_options[] = {
	{"format", 'f', OPT_CHOICE, offsetof(struct metrics_args, format), "term|md|json", "how to show it"}, {0}};

extern const struct cmd cmd_metrics;

static int run_metrics(int argc, char **argv)
{
	struct metrics_args args = {.format = "term"};
	struct opt_texts rest = {0};
	struct str text = {0};
	int status = 0;
	if (!cmd_parse(&cmd_metrics, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len) {
		status = cmd_usage_error(&cmd_metrics, "takes no argument, but got '%s'", rest.items[0]);
		goto out;
	}
	if (strcmp(args.format, "md") == 0) {
		metrics_doc_markdown(&text);
	} else if (strcmp(args.format, "json") == 0) {
		metrics_doc_json(&text);
	} else {
		struct render_options options;
		render_options_for(STDOUT_FILENO, 0, false, &options);
		metrics_doc_term(&options, &text);
	}
	status = cmd_output(&cmd_metrics, NULL, text.text, text.len);
out:
	str_fini(&text);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_metrics = {.name = "metrics",
				.summary = "every number that pitot knows: unit, meaning, how it adds up",
				.arguments = "[--format term|md|json]",
				.options = metrics_options,
				.run = run_metrics};
