/* template.c - see template.h. */
#include "config/template.h"
#include "config/shell_quote.h"

#include <string.h>

/* The value whose {NAME} stands at `text`, or NULL; *length is that of the whole {NAME}. */
static const struct template_value *value_at(const char *text, const struct template_values *values, size_t *length)
{
	if (*text != '{')
		return NULL;
	for (size_t i = 0; i < values->items.len; i++) {
		const struct template_value *value = &values->items.items[i];
		size_t name = strlen(value->name);
		if (strncmp(text + 1, value->name, name) == 0 && text[1 + name] == '}') {
			*length = name + 2;
			return value;
		}
	}
	return NULL;
}

int template_script(const char *text, const struct template_values *values, char **out, struct err *err)
{
	struct shell_state state = {0};
	struct str script = {0};
	size_t length = 0;
	for (const char *at = text; *at; at += length) {
		const struct template_value *value = value_at(at, values, &length);
		const char *reason = NULL;
		if (value && !shell_insert(&state, value->value, &script, &reason)) {
			str_fini(&script);
			return err_set(err, ERR_INPUT, "cannot put '%s' in place of {%s} in '%s': %s", value->value,
				       value->name, text, reason);
		}
		if (value) {
			/* To the shell it is part of a word, whatever is in it. */
			(void)shell_step(&state, "x");
		} else {
			length = shell_step(&state, at);
			str_append_bytes(&script, at, length);
		}
	}
	str_append(&script, "");
	*out = str_take(&script);
	return 0;
}

char *template_plain(const char *text, const struct template_values *values)
{
	struct str plain = {0};
	size_t length;
	str_append(&plain, "");
	while (*text) {
		const struct template_value *value = value_at(text, values, &length);
		if (value)
			str_append(&plain, value->value);
		else
			str_append_bytes(&plain, text, length = 1);
		text += length;
	}
	return str_take(&plain);
}

bool template_mentions(const char *text, const char *name)
{
	struct template_values values = {0};
	bool found = false;
	size_t length;
	vec_push(&values.items, ((struct template_value){name, ""}));
	for (; *text && !found; text++)
		found = value_at(text, &values, &length) != NULL;
	vec_fini(&values.items);
	return found;
}

/* One word from *text on, which is left behind it; false where a quote is not closed. */
static bool take_word(const char **text, const struct template_values *values, struct str *word)
{
	const char *at = *text;
	char quote = 0;
	size_t length;
	for (; *at && (quote || !strchr(" \t\r\n", *at)); at++) {
		const struct template_value *value = value_at(at, values, &length);
		if (value) {
			str_append(word, value->value);
			at += length - 1;
		} else if (quote ? *at == quote : *at == '\'' || *at == '"') {
			quote = quote ? 0 : *at;
		} else if (*at == '\\' && at[1] && (!quote || (quote == '"' && strchr("\"\\", at[1])))) {
			str_append_char(word, *++at);
		} else {
			str_append_char(word, *at);
		}
	}
	*text = at;
	return !quote;
}

int template_words(const char *text, const struct template_values *values, struct word_list *out, struct err *err)
{
	const char *at = text;
	*out = (struct word_list){0};
	while (*(at += strspn(at, " \t\r\n"))) {
		struct str word = {0};
		str_append(&word, ""); /* '' is a word as well */
		bool closed = take_word(&at, values, &word);
		vec_push(&out->items, str_take(&word));
		if (!closed) {
			word_list_fini(out);
			return err_set(err, ERR_INPUT, "a quote in '%s' is not closed", text);
		}
	}
	if (!out->items.len)
		return err_set(err, ERR_INPUT, "an empty command");
	vec_push(&out->items, NULL);
	return 0;
}

void word_list_fini(struct word_list *list)
{
	for (size_t i = 0; i < list->items.len; i++)
		free(list->items.items[i]);
	vec_fini(&list->items);
}
