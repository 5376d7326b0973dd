/* model_weights.c - pitot model weights: what the values of a file's weights look like. */
#include "cmd/model.h"
#include "render/open_run.h"

#include <string.h>
#include <unistd.h>

static int show(const struct model_args *args, const struct weight_rows *rows)
{
	static const struct {
		const char *name;
		void (*render)(const struct weight_rows *rows, const struct render_options *options, struct str *out);
	} formats[] = {{"term", model_weights_term},
		       {"md", model_weights_md},
		       {"json", model_weights_json},
		       {"csv", model_weights_csv}};
	struct render_options options;
	struct str text = {0};
	int status = -1;
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->columns, args->verbose, &options);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, args->format) == 0) {
			formats[i].render(rows, &options, &text);
			status = cmd_output(&cmd_model, args->output, str_text(&text), text.len);
		}
	str_fini(&text);
	return status >= 0 ? status : cmd_usage_error(&cmd_model, "weights are shown as term, md, json or csv");
}

int model_weights_command(const struct model_args *args)
{
	struct model_cases cases;
	struct weight_rows rows = {0};
	struct graph graph;
	const char *kind;
	struct err err;
	int status = 0, code = model_cases_make(args, &cases, &err);
	if (!code && cases.items.len != 1)
		code = err_set(&err, ERR_USAGE, "weights looks at one file, in one size");
	if (!code)
		code = profile_make(&cases.items.items[0].source, &graph, &kind, &err);
	if (!code) {
		if (strcmp(kind, "onnx") != 0)
			code = err_set(&err, ERR_INPUT, "the weights of '%s' are synthetic; give an ONNX file",
				       args->names.items[0]);
		else
			code = weights_of(&graph, args->near_zero, &rows, &err);
		if (!code)
			status = show(args, &rows);
		graph_fini(&graph);
	}
	weight_rows_fini(&rows);
	model_cases_fini(&cases);
	return code ? cmd_fail(&cmd_model, &err) : status;
}
