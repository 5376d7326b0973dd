/* init.c - pitot init: writes a commented starter pipeline. */
#include "base/file.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct init_args {
	bool force;
};

static const struct opt init_options[] = {
	{"force", 0, OPT_FLAG, offsetof(struct init_args, force), NULL, "overwrite a file that is there"}, {0}};

/* docs/pipeline-starter.yaml */
static const char starter[] =
#include "starter.inc"
	;

extern const struct cmd cmd_init;

static int run_init(int argc, char **argv)
{
	struct init_args args = {0};
	struct opt_texts rest = {0};
	struct err err;
	int status = 0;
	if (!cmd_parse(&cmd_init, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len > 1) {
		status = cmd_usage_error(&cmd_init, "writes one file; '%s' is one too many", rest.items[1]);
		goto out;
	}
	const char *path = rest.len ? rest.items[0] : "pipeline.yaml";
	if (!args.force && access(path, F_OK) == 0) {
		err_set(&err, ERR_INPUT, "'%s' is already there; --force overwrites it", path);
		status = cmd_fail(&cmd_init, &err);
	} else if (strcmp(path, "-") == 0) {
		status = cmd_output(&cmd_init, NULL, starter, sizeof(starter) - 1);
	} else if (file_write_atomic(path, starter, sizeof(starter) - 1, &err) != 0) {
		status = cmd_fail(&cmd_init, &err);
	} else {
		fprintf(stderr, "wrote %s; next: pitot run %s\n", path, path);
	}
out:
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_init = {.name = "init",
			     .summary = "write a commented starter pipeline",
			     .arguments = "[FILE]",
			     .options = init_options,
			     .run = run_init};
