/* load.c - see load.h. */
#include "config/load.h"
#include "base/file.h"
#include "base/str.h"
#include "config/substitute.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

int load_fail(const struct load *load, int line, const char *format, ...)
{
	char words[sizeof(load->err->text)];
	va_list args;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	return err_set(load->err, ERR_INPUT, "%s:%d: %s", load->path, line, words);
}

int load_fail_type(const struct load *load, const struct node *node, const char *what, const char *wanted)
{
	char found[80];
	node_describe(node, found, sizeof(found));
	return load_fail(load, node->line, "'%s' must be %s, not %s", what, wanted, found);
}

static int fail_key(const struct load *load, const struct node *key, const char *what, const struct load_key *keys,
		    size_t count)
{
	const char **names = mem_alloc(count * sizeof(char *));
	struct str list = {0};
	for (size_t i = 0; i < count; i++) {
		names[i] = keys[i].name;
		str_appendf(&list, "%s%s", i ? ", " : "", keys[i].name);
	}
	const char *suggestion = str_suggest(key->text, names, count);
	int code;
	if (strcmp(key->text, "<<") == 0)
		code = load_fail(load, key->line, "merge keys ('<<') are not part of this format; repeat the values");
	else if (suggestion)
		code = load_fail(load, key->line, "unknown key '%.64s' in %s; did you mean '%s'?", key->text, what,
				 suggestion);
	else
		code = load_fail(load, key->line, "unknown key '%.64s' in %s; the keys are: %s", key->text, what,
				 str_text(&list));
	str_fini(&list);
	free(names);
	return code;
}

static bool is_key(const struct load_key *keys, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(keys[i].name, name) == 0)
			return true;
	return false;
}

int load_map(struct load *load, const struct node *map, const char *what, const struct load_key *keys, size_t count,
	     void *into)
{
	if (map->kind != NODE_MAP)
		return load_fail_type(load, map, what, "a map of keys and values");
	for (size_t i = 0; i < map->pairs.len; i++)
		if (!is_key(keys, count, map->pairs.items[i].key->text))
			return fail_key(load, map->pairs.items[i].key, what, keys, count);
	int code = 0;
	for (size_t i = 0; i < count && !code; i++) {
		const struct node *value = node_get(map, keys[i].name);
		if (value)
			code = keys[i].read(load, into, value);
	}
	return code;
}

int load_each(struct load *load, const struct node *node, const char *what, load_fn *read, void *into)
{
	if (node->kind == NODE_MAP || node_is_null(node))
		return load_fail_type(load, node, what, "a text or a list of texts");
	int code = node->kind == NODE_SCALAR ? read(load, into, node) : 0;
	for (size_t i = 0; i < node->items.len && !code; i++)
		code = read(load, into, node->items.items[i]);
	return code;
}

int load_name(struct load *load, const struct node *node, const char *what, char **out)
{
	if (node->kind != NODE_SCALAR || node_is_null(node))
		return load_fail_type(load, node, what, "a text");
	free(*out);
	*out = mem_strdup(node->text);
	return 0;
}

int load_text(struct load *load, const struct node *node, const char *what, char **out)
{
	if (node->kind != NODE_SCALAR || node_is_null(node))
		return load_fail_type(load, node, what, "a text (write \"\" for an empty one)");
	struct scope scope = {load->pipeline, load->path, node->line, load->err};
	char *text = NULL;
	int code = substitute_plain(&scope, node->text, &text);
	if (code)
		return code;
	free(*out);
	*out = text;
	return 0;
}

int load_truth(const char *text)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(text, words[i]) == 0)
			return (int)(i % 2);
	return -1;
}

int load_bool(struct load *load, const struct node *node, const char *what, int *out)
{
	char *text = NULL;
	int code = load_text(load, node, what, &text);
	int truth = code ? -1 : load_truth(text);
	if (!code && truth < 0)
		code = load_fail(load, node->line, "'%s' must be true or false, not '%.60s'", what, text);
	if (!code)
		*out = truth;
	free(text);
	return code;
}

int load_integer(struct load *load, const struct node *node, const char *what, int least, int most, int *out)
{
	char *text = NULL;
	int64_t value;
	int code = load_text(load, node, what, &text);
	if (!code && (!str_to_int64(text, &value) || value < least || value > most))
		code = load_fail(load, node->line, "'%s' must be a whole number from %d to %d, not '%.60s'", what,
				 least, most, text);
	if (!code)
		*out = (int)value;
	free(text);
	return code;
}

int load_number(struct load *load, const struct node *node, const char *what, double *out)
{
	char *text = NULL;
	int code = load_text(load, node, what, &text);
	if (!code && !str_to_double(text, out))
		code = load_fail(load, node->line, "'%s' must be a number, not '%.60s'", what, text);
	free(text);
	return code;
}

int load_duration(struct load *load, const struct node *node, const char *what, uint64_t *out)
{
	char *text = NULL;
	int code = load_text(load, node, what, &text);
	if (!code && !str_to_duration_ns(text, out))
		code = load_fail(load, node->line,
				 "'%s' must be a duration such as 90 (seconds), 250ms, 1.5s, 2m or 1h, not '%.60s'",
				 what, text);
	free(text);
	return code;
}

char *load_path(const char *base, const char *relative)
{
	while (str_starts(relative, "./") && relative[2] != '/')
		relative += 2;
	if (relative[0] == '/' || !strpbrk(relative, "*?[") || !strpbrk(base, "*?[\\"))
		return file_join(base, relative);
	struct str escaped = {0};
	for (; *base; base++) {
		if (strchr("*?[\\", *base))
			str_append_char(&escaped, '\\');
		str_append_char(&escaped, *base);
	}
	char *path = file_join(str_text(&escaped), relative);
	str_fini(&escaped);
	return path;
}
