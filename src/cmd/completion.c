/* completion.c - pitot completion: shell completions out of the option tables. `make install` calls it. */
#include "cmd/cmd.h"

#include <string.h>

static const struct opt completion_options[] = {{0}};

extern const struct cmd cmd_completion;

static void bash_options(const struct cmd *cmd, struct str *out)
{
	for (const struct opt *option = cmd->options; option->name; option++)
		str_appendf(out, "--%s ", option->name);
	str_append(out, "--help");
}

static void bash(struct str *out)
{
	str_append(out, "# bash completion for pitot\n_pitot() {\n"
			"\tlocal word=${COMP_WORDS[COMP_CWORD]} options=\n"
			"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		str_appendf(out, "%s ", (*cmd)->name);
	str_append(out, "--help --version\" -- \"$word\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		str_appendf(out, "\t%s) options=\"", (*cmd)->name);
		bash_options(*cmd, out);
		str_append(out, "\" ;;\n");
	}
	str_append(out, "\tesac\n\tcase $word in\n\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
			"\t*) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n\tesac\n}\n"
			"complete -o filenames -F _pitot pitot\n");
}

/* Help texts go into single quotes, and brackets and colons mean something to zsh. */
static void zsh_text(const char *text, struct str *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			str_append(out, "'\\''");
		else if (strchr("[]:", *text))
			str_appendf(out, "\\%c", *text);
		else
			str_append_char(out, *text);
	}
}

static void zsh(struct str *out)
{
	str_append(out, "#compdef pitot\n_pitot() {\n\tlocal -a commands=(\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		str_appendf(out, "\t\t'%s:", (*cmd)->name);
		zsh_text((*cmd)->summary, out);
		str_append(out, "'\n");
	}
	str_append(out, "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
			"\tcase $words[2] in\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		str_appendf(out, "\t%s)\n\t\t_arguments ", (*cmd)->name);
		for (const struct opt *option = (*cmd)->options; option->name; option++) {
			bool maybe = option->kind == OPT_MAYBE;
			str_appendf(out, "'%s--%s%s[", option->kind == OPT_LIST ? "*" : "", option->name,
				    opt_takes_value(option) ? "="
				    : maybe                 ? "=-"
							    : "");
			zsh_text(option->help, out);
			str_append(out, "]");
			if (opt_takes_value(option)) {
				str_append(out, ":");
				zsh_text(option->kind == OPT_CHOICE ? option->name : option->value, out);
				str_append(out, ":");
			}
			if (maybe)
				str_appendf(out, "::%s: ", option->value);
			if (option->kind == OPT_CHOICE) {
				str_append(out, "(");
				for (const char *at = option->value; *at; at++)
					str_append_char(out, *at == '|' ? ' ' : *at);
				str_append(out, ")");
			} else if (opt_takes_value(option)) {
				str_append(out, "_files");
			}
			str_append(out, "' ");
		}
		str_append(out, "'*:file:_files'\n\t\t;;\n");
	}
	str_append(out, "\tesac\n}\n_pitot \"$@\"\n");
}

static void fish_text(const char *text, struct str *out)
{
	for (; *text; text++)
		str_appendf(out, *text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void fish(struct str *out)
{
	str_append(out, "# fish completion for pitot\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		str_appendf(out, "complete -c pitot -n __fish_use_subcommand -f -a %s -d '", (*cmd)->name);
		fish_text((*cmd)->summary, out);
		str_append(out, "'\n");
		for (const struct opt *option = (*cmd)->options; option->name; option++) {
			str_appendf(out, "complete -c pitot -n '__fish_seen_subcommand_from %s' -l %s", (*cmd)->name,
				    option->name);
			if (option->letter)
				str_appendf(out, " -s %c", option->letter);
			if (opt_takes_value(option))
				str_append(out, " -r");
			str_append(out, " -d '");
			fish_text(option->help, out);
			str_append(out, "'\n");
		}
	}
}

static int run_completion(int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*write)(struct str *out);
	} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
	struct opt_texts rest = {0};
	struct str text = {0};
	char nothing;
	int status = 0;
	if (!cmd_parse(&cmd_completion, argc, argv, &nothing, &rest, &status))
		goto out;
	status = -1;
	for (size_t i = 0; rest.len == 1 && i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(rest.items[0], shells[i].shell) != 0)
			continue;
		shells[i].write(&text);
		status = cmd_output(&cmd_completion, NULL, text.text, text.len);
	}
	if (status < 0)
		status = cmd_usage_error(&cmd_completion, "expected one of bash, zsh, fish%s%s%s",
					 rest.len ? ", not '" : "", rest.len ? rest.items[0] : "", rest.len ? "'" : "");
out:
	str_fini(&text);
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_completion = {.name = "completion",
				   .summary = "print completions for bash, zsh or fish",
				   .arguments = "bash|zsh|fish",
				   .options = completion_options,
				   .run = run_completion};
