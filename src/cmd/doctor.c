/* doctor.c - pitot doctor: what can be measured here, what cannot, why, and the exact fix. */
#include "base/json.h"
#include "cmd/cmd.h"
#include "render/open_run.h"
#include "run/check.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct doctor_args {
	bool json;
};

static const struct opt doctor_options[] = {{"json", 0, OPT_FLAG, offsetof(struct doctor_args, json), NULL, "as JSON"},
					    {0}};

extern const struct cmd cmd_doctor;

static void row_json(struct json *json, const struct check_row *row)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", row->name);
	json_put_string(json, "what", row->what);
	json_put_bool(json, "available", row->available);
	json_put_string(json, row->available ? "source" : "reason", row->detail);
	json_put_string(json, "fix", row->available ? NULL : row->fix);
	json_object_end(json);
}

/* Words into lines of at most `columns`, the following ones indented. */
static void wrap(const char *text, int indent, int columns, struct str *out)
{
	int at = indent;
	while (*text) {
		int length = (int)strcspn(text, " ");
		if (at > indent && at + 1 + length > columns) {
			str_appendf(out, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			str_append_char(out, ' ');
			at++;
		}
		str_append_bytes(out, text, (size_t)length);
		at += length;
		text += length + (text[length] == ' ');
	}
	str_append_char(out, '\n');
}

static void row_term(const struct check_row *row, const struct render_options *options, struct str *out)
{
	enum { INDENT = 18 };
	const char *mark = row->available ? (options->unicode ? "✓" : "+") : (options->unicode ? "✗" : "-");
	const char *color = row->available ? "\033[32m" : "\033[31m";
	str_appendf(out, "%s%s%s %-15s ", options->color ? color : "", mark, options->color ? "\033[0m" : "",
		    row->name);
	wrap(row->what, INDENT, options->columns, out);
	str_appendf(out, "%*s", INDENT, "");
	wrap(row->detail, INDENT, options->columns, out);
	if (row->available || !row->fix)
		return;
	/* A command is not broken into lines: people copy it. */
	str_appendf(out, "%*sfix: %s\n", INDENT, "", row->fix);
}

static int run_doctor(int argc, char **argv)
{
	struct doctor_args args = {0};
	struct opt_texts rest = {0};
	struct probe_check_list list = {0};
	struct str text = {0};
	struct render_options options;
	int status = 0;
	size_t available = 0;
	if (!cmd_parse(&cmd_doctor, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len) {
		status = cmd_usage_error(&cmd_doctor, "takes no argument, but got '%s'", rest.items[0]);
		goto out;
	}
	run_check_all(&list);
	probe_check_all(&list);
	render_options_for(STDOUT_FILENO, 0, false, &options);
	struct json json = {.out = &text, .pretty = true};
	if (args.json)
		json_array_begin(&json, NULL);
	for (size_t i = 0; i < list.rows.len; i++) {
		available += list.rows.items[i].available;
		if (args.json)
			row_json(&json, &list.rows.items[i]);
		else
			row_term(&list.rows.items[i], &options, &text);
	}
	if (args.json)
		json_array_end(&json);
	else
		str_appendf(&text, "\n%zu of %zu sources are available; the others show as n/a with their reason.\n",
			    available, list.rows.len);
	status = cmd_output(&cmd_doctor, NULL, text.text, text.len);
out:
	probe_check_list_fini(&list);
	str_fini(&text);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_doctor = {.name = "doctor",
			       .summary = "what can be measured here, what cannot, why, and the fix",
			       .arguments = "[--json]",
			       .options = doctor_options,
			       .run = run_doctor};
