/*
 * cmd.h - what a command is: one file, one const entry, one option table.
 *
 * Commands are the only code (with render/) that prints. Results go to stdout, everything else to stderr.
 */
#ifndef PITOT_CMD_CMD_H
#define PITOT_CMD_CMD_H

#include "base/opt.h"

struct cmd {
	const char *name;
	const char *summary;   /* one line for `pitot --help` */
	const char *arguments; /* "[PIPELINE] | -- COMMAND …" */
	const struct opt *options;
	/* argv without the command's own name; the exit status. */
	int (*run)(int argc, char **argv);
};

/* The whole command line; the exit status. */
int cmd_main(int argc, char **argv);

extern const struct cmd *const cmd_table[]; /* ends with NULL */
const struct cmd *cmd_find(const char *name);

/* Parses by the command's table. Handles --help and -h. Returns true where the command should go on; else *status. */
bool cmd_parse(const struct cmd *cmd, int argc, char **argv, void *into, struct opt_texts *rest, int *status);
/* The same for a command that takes options of its own making (run: one per declared parameter). */
bool cmd_parse_open(const struct cmd *cmd, int argc, char **argv, void *into, opt_unknown_fn *unknown, void *context,
		    struct opt_texts *rest, size_t *dashes, int *status);

/* "pitot run: <message>" on stderr; the exit status for it. */
int cmd_fail(const struct cmd *cmd, const struct err *err);
int cmd_usage_error(const struct cmd *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes to stdout, or to `path` atomically where it is given and not "-". A closed pipe is no error. */
int cmd_output(const struct cmd *cmd, const char *path, const char *text, size_t size);

#endif
