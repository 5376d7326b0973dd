/* cmd.c - the table of commands, and what all of them share: parsing, help, errors, output. */
#include "cmd/cmd.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One command a line, in the order in which -h lists them. */
/* clang-format off */
#define COMMANDS(X) \
	X(run) \
	X(report) \
	X(diff) \
	X(gate) \
	X(compare) \
	X(whatif) \
	X(span) \
	X(history) \
	X(features) \
	X(serve) \
	X(machine) \
	X(model) \
	X(doctor) \
	X(init) \
	X(metrics) \
	X(completion)
/* clang-format on */

#define DECLARE(name) extern const struct cmd cmd_##name;
COMMANDS(DECLARE)
#undef DECLARE

const struct cmd *const cmd_table[] = {
#define ROW(name) &cmd_##name,
	COMMANDS(ROW)
#undef ROW
		NULL,
};

/* Made from docs/man at build time: command name and the page's text. */
static const struct {
	const char *name;
	const char *text;
} help_pages[] = {
#include "help.inc"
};

const struct cmd *cmd_find(const char *name)
{
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		if (strcmp((*cmd)->name, name) == 0)
			return *cmd;
	return NULL;
}

static const char *help_text(const char *name)
{
	for (size_t i = 0; i < sizeof(help_pages) / sizeof(help_pages[0]); i++)
		if (strcmp(help_pages[i].name, name) == 0)
			return help_pages[i].text;
	return NULL;
}

static bool write_whole(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t put = write(fd, text, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		text += put;
		size -= (size_t)put;
	}
	return true;
}

int cmd_output(const struct cmd *cmd, const char *path, const char *text, size_t size)
{
	struct err err;
	if (path && strcmp(path, "-") != 0)
		return file_write_atomic(path, text, size, &err) ? cmd_fail(cmd, &err) : 0;
	if (write_whole(STDOUT_FILENO, text, size) || errno == EPIPE)
		return 0;
	err_set_errno(&err, ERR_IO, "cannot write to standard output");
	return cmd_fail(cmd, &err);
}

int cmd_fail(const struct cmd *cmd, const struct err *err)
{
	fprintf(stderr, "pitot %s: %s\n", cmd->name, err->text);
	if (err->code == ERR_USAGE)
		fprintf(stderr, "Try 'pitot %s -h'.\n", cmd->name);
	return err_exit_status(err->code);
}

int cmd_usage_error(const struct cmd *cmd, const char *format, ...)
{
	struct err err = {.code = ERR_USAGE};
	va_list args;
	va_start(args, format);
	vsnprintf(err.text, sizeof(err.text), format, args);
	va_end(args);
	return cmd_fail(cmd, &err);
}

static int print_usage(const struct cmd *cmd)
{
	struct str text = {0};
	str_appendf(&text, "usage: pitot %s %s\n%s\n\n", cmd->name, cmd->arguments, cmd->summary);
	opt_describe(cmd->options, &text);
	str_append(&text, "  -h, --help                      -h: this; --help: the manual page\n");
	int status = cmd_output(cmd, NULL, text.text, text.len);
	str_fini(&text);
	return status;
}

/* Help is asked for by a word before any "--". */
static bool handle_help(const struct cmd *cmd, int argc, char **argv, int *status)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *page = help_text(cmd->name);
		if (strcmp(argv[i], "-h") == 0 || (strcmp(argv[i], "--help") == 0 && !page)) {
			*status = print_usage(cmd);
			return true;
		}
		if (strcmp(argv[i], "--help") == 0) {
			*status = cmd_output(cmd, NULL, page, strlen(page));
			return true;
		}
	}
	return false;
}

bool cmd_parse_open(const struct cmd *cmd, int argc, char **argv, void *into, opt_unknown_fn *unknown, void *context,
		    struct opt_texts *rest, size_t *dashes, int *status)
{
	struct err err;
	if (handle_help(cmd, argc, argv, status))
		return false;
	struct opt_parser parser = {
		.options = cmd->options, .into = into, .unknown = unknown, .unknown_context = context};
	if (opt_parse(&parser, argc, argv, rest, dashes, &err) == 0)
		return true;
	*status = cmd_fail(cmd, &err);
	return false;
}

bool cmd_parse(const struct cmd *cmd, int argc, char **argv, void *into, struct opt_texts *rest, int *status)
{
	size_t dashes;
	return cmd_parse_open(cmd, argc, argv, into, NULL, NULL, rest, &dashes, status);
}

static int print_commands(FILE *to)
{
	fprintf(to, "usage: pitot COMMAND ...\n\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		fprintf(to, "  %-10s  %s\n", (*cmd)->name, (*cmd)->summary);
	fprintf(to, "\n'pitot COMMAND -h' lists a command's options, 'pitot COMMAND --help' is its manual.\n");
	return 0;
}

static int unknown_command(const char *name)
{
	const char *names[sizeof(cmd_table) / sizeof(cmd_table[0]) + 2] = {"--help", "--version"};
	size_t count = 2;
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		names[count++] = (*cmd)->name;
	const char *meant = str_suggest(name, names, count);
	fprintf(stderr, name[0] == '-' ? "pitot: unknown option %s" : "pitot: unknown command '%s'", name);
	if (meant)
		fprintf(stderr, name[0] == '-' ? "; did you mean %s?" : "; did you mean '%s'?", meant);
	fprintf(stderr, "\n");
	fprintf(stderr, "Try 'pitot -h'.\n");
	return err_exit_status(ERR_USAGE);
}

static int print_help(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[2] : "";
	const char *page = help_text(name);
	if (!page)
		return unknown_command(name);
	return write_whole(STDOUT_FILENO, page, strlen(page)) || errno == EPIPE ? 0 : err_exit_status(ERR_IO);
}

int cmd_main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return printf("pitot %s\n", PITOT_VERSION) < 0;
	if (strcmp(word, "--help") == 0 || strcmp(word, "help") == 0)
		return print_help(strcmp(word, "help") == 0 ? argc : 0, argv);
	if (strcmp(word, "-h") == 0)
		return print_commands(stdout);
	if (!word[0]) {
		print_commands(stderr);
		return err_exit_status(ERR_USAGE);
	}
	const struct cmd *cmd = cmd_find(word);
	return cmd ? cmd->run(argc - 2, argv + 2) : unknown_command(word);
}
