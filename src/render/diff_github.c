/*
 * diff_github.c - a gate as GitHub workflow commands: an error for each broken threshold, a warning for each undecided
 * one, a notice for the whole.
 *
 * A command is one line, `::error file=F,line=N,title=T::message`, so line ends and the characters with a meaning are
 * written as %XX: in the message %, CR and LF, in the properties also the colon and the comma.
 */
#include "render/delta_formats.h"
#include "render/diff_words.h"
#include "render/text.h"

#include <stdlib.h>
#include <string.h>

static void put_escaped(struct str *out, const char *text, const char *also)
{
	char *clean = text_clean(text, true);
	for (const char *at = clean; *at; at++) {
		if (*at == '%' || *at == '\r' || *at == '\n' || strchr(also, *at))
			str_appendf(out, "%%%02X", (unsigned char)*at);
		else
			str_append_char(out, *at);
	}
	free(clean);
}

static void put_command(const struct delta *delta, const char *level, int line, const char *title, const char *message,
			struct str *out)
{
	str_appendf(out, "::%s ", level);
	if (delta->config_path && line) {
		str_append(out, "file=");
		put_escaped(out, delta->config_path, ":,");
		str_appendf(out, ",line=%d,", line);
	}
	str_append(out, "title=");
	put_escaped(out, title, ":,");
	str_append(out, "::");
	put_escaped(out, message, "");
	str_append_char(out, '\n');
}

static void render_github(const struct delta *delta, const struct render_options *options, struct str *out)
{
	(void)options;
	struct str words = {0};
	for (size_t i = 0; delta->gate && i < delta->gate->checks.len; i++) {
		const struct gate_check *check = &delta->gate->checks.items[i];
		if (check->outcome == GATE_PASS)
			continue;
		str_clear(&words);
		diff_words_check(check, &words);
		put_command(delta, check->outcome == GATE_FAIL ? "error" : "warning", delta_line_of(delta, check),
			    check->name, str_text(&words), out);
	}
	for (size_t i = 0; i < delta->diff->warnings.len; i++)
		put_command(delta, "warning", 0, "pitot", delta->diff->warnings.items[i].text, out);
	str_clear(&words);
	if (delta->gate) {
		diff_words_gate(delta->gate, &words);
		put_command(delta, "notice", 0, "pitot gate", str_text(&words), out);
	}
	str_fini(&words);
}

const struct delta_renderer delta_github = {"github", render_github};
