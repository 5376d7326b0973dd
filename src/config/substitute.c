/* substitute.c - see substitute.h. */
#include "config/substitute.h"
#include "base/str.h"
#include "config/shell_quote.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Linux starts no program with an argument longer than this; it also bounds parameters that double one another. */
enum { MAX_BYTES = 128 * 1024 };

/* Names of one or two letters are close to any other: a loop's ${i} must not be taken for a parameter ${n}. */
enum { SUGGEST_MIN_LETTERS = 3 };

enum reference_form {
	REFERENCE_PLAIN, /* ${name} */
	REFERENCE_RAW,   /* ${name:raw} */
	REFERENCE_ENV,   /* ${env:NAME}, ${env:NAME:-words} */
	REFERENCE_OTHER, /* anything else that begins with ${ */
};

struct reference {
	enum reference_form form;
	size_t length; /* of all of it, where the form is known */
	char *name;    /* "" where none follows ${ */
	char *words;   /* default of ${env:…}, or NULL */
};

static size_t name_length(const char *text)
{
	size_t length = 0;
	if (isdigit((unsigned char)text[0]))
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length;
}

bool substitute_is_name(const char *text)
{
	return text[0] && name_length(text) == strlen(text);
}

/* `text` begins with "${env:". */
static void parse_env(const char *text, struct reference *out)
{
	const char *name = text + strlen("${env:");
	size_t length = name_length(name);
	const char *after = name + length, *end = strchr(after, '}');
	bool has_default = strncmp(after, ":-", 2) == 0;
	if (length == 0 || !end || (!has_default && *after != '}'))
		return;
	free(out->name);
	out->form = REFERENCE_ENV;
	out->name = mem_strndup(name, length);
	out->words = has_default ? mem_strndup(after + 2, (size_t)(end - after - 2)) : NULL;
	out->length = (size_t)(end + 1 - text);
}

/* `text` begins with "${". */
static void reference_parse(const char *text, struct reference *out)
{
	size_t length = name_length(text + 2);
	const char *after = text + 2 + length;
	*out = (struct reference){.form = REFERENCE_OTHER, .name = mem_strndup(text + 2, length)};
	if (str_starts(text, "${env:")) {
		parse_env(text, out);
	} else if (length && *after == '}') {
		out->form = REFERENCE_PLAIN;
		out->length = length + 3;
	} else if (length && str_starts(after, ":raw}")) {
		out->form = REFERENCE_RAW;
		out->length = length + 2 + strlen(":raw}");
	}
}

static void reference_fini(struct reference *reference)
{
	free(reference->name);
	free(reference->words);
}

void substitute_suggest(const struct pipeline *pipeline, const char *name, char *out, size_t size)
{
	size_t count = pipeline->params.len;
	const char **names = mem_alloc(count * sizeof(char *));
	for (size_t i = 0; i < count; i++)
		names[i] = pipeline->params.items[i].name;
	const char *suggestion = str_suggest(name, names, count);
	if (suggestion)
		snprintf(out, size, "; did you mean '%s'?", suggestion);
	else
		out[0] = '\0';
	free(names);
}

static int fail_unknown(const struct scope *scope, const char *name)
{
	char suggestion[120];
	substitute_suggest(scope->pipeline, name, suggestion, sizeof(suggestion));
	return err_set(
		scope->err, ERR_INPUT,
		"%s:%d: ${%.64s} names no declared parameter%s (declare it under params:, write ${env:%.64s} for an "
		"environment variable, or $${ for a literal ${)",
		scope->path, scope->line, name, suggestion, name);
}

static int fail_form(const struct scope *scope, const char *text)
{
	return err_set(
		scope->err, ERR_INPUT,
		"%s:%d: cannot read '%.40s': expected ${name}, ${name:raw}, ${env:NAME} or ${env:NAME:-default}; "
		"write $${ for a literal ${",
		scope->path, scope->line, text);
}

/* The value, borrowed from the parameter, the environment or the reference. */
static int reference_value(const struct scope *scope, const struct reference *reference, const char **out)
{
	if (reference->form != REFERENCE_ENV) {
		const struct param *param = pipeline_param(scope->pipeline, reference->name);
		if (!param)
			return fail_unknown(scope, reference->name);
		*out = param->value;
		return 0;
	}
	const char *value = getenv(reference->name);
	if (!value)
		value = reference->words;
	if (!value)
		return err_set(scope->err, ERR_INPUT,
			       "%s:%d: environment variable '%.64s' is not set; set it, or write ${env:%.64s:-default}",
			       scope->path, scope->line, reference->name, reference->name);
	*out = value;
	return 0;
}

static int check_size(const struct scope *scope, const struct str *out)
{
	if (out->len <= MAX_BYTES)
		return 0;
	return err_set(scope->err, ERR_INPUT,
		       "%s:%d: longer than 128 KiB after substitution, which no program can be given", scope->path,
		       scope->line);
}

static int append_plain(const struct scope *scope, const char *text, struct str *out, size_t *used)
{
	struct reference reference;
	const char *value;
	reference_parse(text, &reference);
	int code =
		reference.form == REFERENCE_OTHER ? fail_form(scope, text) : reference_value(scope, &reference, &value);
	if (!code)
		str_append(out, value);
	*used = reference.length;
	reference_fini(&reference);
	return code;
}

int substitute_plain(const struct scope *scope, const char *text, char **out)
{
	struct str result = {0};
	int code = 0;
	while (*text && !code) {
		size_t used = 1;
		if (str_starts(text, "$${")) {
			str_append(&result, "${");
			used = 3;
		} else if (str_starts(text, "${")) {
			code = append_plain(scope, text, &result, &used);
		} else {
			str_append_char(&result, *text);
		}
		text += used;
		if (!code)
			code = check_size(scope, &result);
	}
	if (code)
		str_fini(&result);
	else
		*out = str_take(&result);
	return code;
}

/* Text in which ${ is hidden from the pass that follows. */
static void append_hidden(struct str *out, const char *value)
{
	for (; *value; value++) {
		if (str_starts(value, "${"))
			str_append_char(out, '$');
		str_append_char(out, *value);
	}
}

/* The first pass over a script: raw values become part of it, so that the second sees the quotes they may contain. */
static int expand_raw(const struct scope *scope, const char *text, struct str *out)
{
	int code = 0;
	while (*text && !code) {
		struct reference reference = {0};
		const char *value;
		size_t used = str_starts(text, "$${") ? 3 : str_starts(text, "$$") ? 2 : 1;
		if (used == 1 && str_starts(text, "${"))
			reference_parse(text, &reference);
		if (reference.form == REFERENCE_RAW) {
			code = reference_value(scope, &reference, &value);
			if (!code)
				append_hidden(out, value);
			used = reference.length;
		} else {
			str_append_bytes(out, text, used);
		}
		reference_fini(&reference);
		text += used;
		if (!code)
			code = check_size(scope, out);
	}
	return code;
}

/* Whether the ${…} is the shell's own. */
static int leave_to_shell(const struct scope *scope, const struct reference *reference, const char *text, bool *out)
{
	bool declared = pipeline_param(scope->pipeline, reference->name) != NULL;
	*out = !declared && reference->form != REFERENCE_ENV;
	if (reference->form == REFERENCE_OTHER && (declared || str_starts(text, "${env:")))
		return fail_form(scope, text);
	if (!*out || reference->form != REFERENCE_PLAIN || strlen(reference->name) < SUGGEST_MIN_LETTERS)
		return 0;
	char suggestion[120];
	substitute_suggest(scope->pipeline, reference->name, suggestion, sizeof(suggestion));
	if (!suggestion[0])
		return 0;
	return err_set(
		scope->err, ERR_INPUT,
		"%s:%d: ${%.64s} names no declared parameter%s (for a variable of the shell's own write $%.64s or "
		"$${%.64s})",
		scope->path, scope->line, reference->name, suggestion, reference->name, reference->name);
}

static int append_quoted(const struct scope *scope, const struct shell_state *state, const struct reference *reference,
			 struct str *out)
{
	const char *value, *reason;
	int code = reference_value(scope, reference, &value);
	if (code)
		return code;
	if (!shell_insert(state, value, out, &reason))
		return err_set(scope->err, ERR_INPUT, "%s:%d: '%.40s' cannot be put in place of ${%.64s} here: %s",
			       scope->path, scope->line, value, reference->name, reason);
	return 0;
}

/* One step of the second pass; *used bytes of `text` are done. */
static int step_shell(const struct scope *scope, struct shell_state *state, const char *text, struct str *out,
		      size_t *used)
{
	bool hidden = str_starts(text, "$${"), left = true;
	struct reference reference = {0};
	int code = 0;
	if (str_starts(text, "${") && !state->in_comment) {
		reference_parse(text, &reference);
		code = leave_to_shell(scope, &reference, text, &left);
	}
	if (!code && !left) {
		code = append_quoted(scope, state, &reference, out);
		*used = reference.length;
		state->in_word = true;
		state->before = '}';
	} else if (!code) {
		size_t bytes = shell_step(state, text + hidden);
		str_append_bytes(out, text + hidden, bytes);
		*used = bytes + hidden;
	}
	reference_fini(&reference);
	return code;
}

int substitute_shell(const struct scope *scope, const char *text, char **out)
{
	struct str script = {0}, result = {0};
	struct shell_state state = {0};
	int code = expand_raw(scope, text, &script);
	for (const char *at = str_text(&script); *at && !code;) {
		size_t used = 0;
		code = step_shell(scope, &state, at, &result, &used);
		at += used;
		if (!code)
			code = check_size(scope, &result);
	}
	str_fini(&script);
	if (code)
		str_fini(&result);
	else
		*out = str_take(&result);
	return code;
}

const struct param *substitute_lone_param(const struct pipeline *pipeline, const char *text)
{
	if (!str_starts(text, "${"))
		return NULL;
	struct reference reference;
	reference_parse(text, &reference);
	bool lone = (reference.form == REFERENCE_PLAIN || reference.form == REFERENCE_RAW) && !text[reference.length];
	const struct param *param = lone ? pipeline_param(pipeline, reference.name) : NULL;
	reference_fini(&reference);
	return param;
}
