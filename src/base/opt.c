/* opt.c - see opt.h. */
#include "base/opt.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool opt_takes_value(const struct opt *option)
{
	return option->kind != OPT_FLAG && option->kind != OPT_NEGATED && option->kind != OPT_MAYBE;
}

static const struct opt *find_long(const struct opt *options, const char *name, size_t length)
{
	for (const struct opt *option = options; option->name; option++)
		if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
			return option;
	return NULL;
}

static const struct opt *find_letter(const struct opt *options, char letter)
{
	for (const struct opt *option = options; option->name; option++)
		if (option->letter == letter)
			return option;
	return NULL;
}

static bool is_choice(const char *choices, const char *value)
{
	size_t length = strlen(value);
	for (const char *at = choices; length;) {
		size_t word = strcspn(at, "|");
		if (word == length && strncmp(at, value, length) == 0)
			return true;
		if (!at[word])
			break;
		at += word + 1;
	}
	return false;
}

static int store_value(const struct opt *option, void *into, const char *value, struct err *err)
{
	void *field = (char *)into + option->offset;
	switch (option->kind) {
	case OPT_FLAG:
	case OPT_NEGATED:
		*(bool *)field = option->kind == OPT_FLAG;
		return 0;
	case OPT_TEXT:
		*(const char **)field = value;
		return 0;
	case OPT_MAYBE:
		*(const char **)field = value ? value : "";
		return 0;
	case OPT_INTEGER:
		if (!str_to_int64(value, field))
			return err_set(err, ERR_USAGE, "--%s: '%s' is not a whole number", option->name, value);
		return 0;
	case OPT_NUMBER:
		if (!str_to_double(value, field))
			return err_set(err, ERR_USAGE, "--%s: '%s' is not a number", option->name, value);
		return 0;
	case OPT_DURATION:
		if (!str_to_duration_ns(value, field))
			return err_set(err, ERR_USAGE, "--%s: '%s' is not a duration (write 250ms, 1.5s, 2m or 1h)",
				       option->name, value);
		return 0;
	case OPT_CHOICE:
		if (!is_choice(option->value, value))
			return err_set(err, ERR_USAGE, "--%s: '%s' is not one of %s", option->name, value,
				       option->value);
		*(const char **)field = value;
		return 0;
	case OPT_LIST:
		vec_push((struct opt_texts *)field, value);
		return 0;
	}
	return err_set(err, ERR_INTERNAL, "--%s: option of an unknown kind", option->name);
}

const char *opt_suggest(const struct opt *options, const char *name)
{
	VEC(const char *) names = {0};
	for (const struct opt *option = options; option->name; option++)
		vec_push(&names, option->name);
	vec_push(&names, "help");
	const char *meant = str_suggest(name, names.items, names.len);
	vec_fini(&names);
	return meant;
}

int opt_unknown_error(const struct opt *options, const char *name, struct err *err)
{
	const char *meant = opt_suggest(options, name);
	return meant ? err_set(err, ERR_USAGE, "unknown option --%s; did you mean --%s?", name, meant)
		     : err_set(err, ERR_USAGE, "unknown option --%s", name);
}

struct cursor {
	int argc;
	char **argv;
	int at;
};

static int parse_unknown(const struct opt_parser *parser, struct cursor *cursor, const char *name, const char *value,
			 struct err *err)
{
	const char *next = cursor->at + 1 < cursor->argc ? cursor->argv[cursor->at + 1] : NULL;
	bool took_next = false;
	if (parser->unknown && parser->unknown(parser->unknown_context, name, value, next, &took_next) == 0) {
		cursor->at += took_next;
		return 0;
	}
	return opt_unknown_error(parser->options, name, err);
}

static int parse_long(const struct opt_parser *parser, struct cursor *cursor, struct err *err)
{
	const char *word = cursor->argv[cursor->at] + 2;
	size_t length = strcspn(word, "=");
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	const struct opt *option = find_long(parser->options, word, length);
	if (!option) {
		char *name = mem_strndup(word, length);
		int code = parse_unknown(parser, cursor, name, value, err);
		free(name);
		return code;
	}
	if (value && (option->kind == OPT_FLAG || option->kind == OPT_NEGATED))
		return err_set(err, ERR_USAGE, "--%s takes no value", option->name);
	if (!value && opt_takes_value(option)) {
		if (cursor->at + 1 >= cursor->argc)
			return err_set(err, ERR_USAGE, "--%s needs a value: %s", option->name, option->value);
		value = cursor->argv[++cursor->at];
	}
	return store_value(option, parser->into, value, err);
}

static int parse_letters(const struct opt_parser *parser, struct cursor *cursor, struct err *err)
{
	for (const char *letter = cursor->argv[cursor->at] + 1; *letter; letter++) {
		const struct opt *option = find_letter(parser->options, *letter);
		if (!option)
			return err_set(err, ERR_USAGE, "unknown option -%c", *letter);
		const char *value = NULL;
		if (opt_takes_value(option)) {
			value = letter[1]                       ? letter + 1
				: cursor->at + 1 < cursor->argc ? cursor->argv[++cursor->at]
								: NULL;
			if (!value)
				return err_set(err, ERR_USAGE, "-%c needs a value: %s", *letter, option->value);
		}
		int code = store_value(option, parser->into, value, err);
		if (code || value)
			return code;
	}
	return 0;
}

int opt_parse(const struct opt_parser *parser, int argc, char **argv, struct opt_texts *rest, size_t *dashes,
	      struct err *err)
{
	struct cursor cursor = {.argc = argc, .argv = argv};
	*dashes = SIZE_MAX;
	for (; cursor.at < argc; cursor.at++) {
		const char *word = argv[cursor.at];
		int code = 0;
		if (strcmp(word, "--") == 0) {
			*dashes = rest->len;
			cursor.at++;
			break;
		}
		if (str_starts(word, "--"))
			code = parse_long(parser, &cursor, err);
		else if (word[0] == '-' && word[1])
			code = parse_letters(parser, &cursor, err);
		else if (parser->stop_at_word)
			break;
		else
			vec_push(rest, word);
		if (code)
			return code;
	}
	for (; cursor.at < argc; cursor.at++)
		vec_push(rest, argv[cursor.at]);
	return 0;
}

void opt_describe(const struct opt *options, struct str *out)
{
	for (const struct opt *option = options; option->name; option++) {
		char left[64];
		const char *format = option->kind == OPT_MAYBE ? "--%s[=%s]" : "--%s %s";
		char spelled[56];
		if (option->kind == OPT_FLAG || option->kind == OPT_NEGATED)
			snprintf(spelled, sizeof(spelled), "--%s", option->name);
		else
			snprintf(spelled, sizeof(spelled), format, option->name, option->value);
		if (option->letter)
			snprintf(left, sizeof(left), "-%c, %s", option->letter, spelled);
		else
			snprintf(left, sizeof(left), "    %s", spelled);
		if (strlen(left) > 30)
			str_appendf(out, "  %s\n  %-30s  %s\n", left, "", option->help);
		else
			str_appendf(out, "  %-30s  %s\n", left, option->help);
	}
}
