/* quality_spec.c - the `quality` list: which number to take out of which file. Expressions are checked here, not after
 * the run. */
#include "base/str.h"
#include "config/load.h"
#include "config/pointer.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

/* glibc compiles a{9,99} by copying; nested, a line of pattern could ask for gigabytes. */
enum { MAX_PATTERN_BYTES = 1024, MAX_REPEATS = 1000 };

static int read_name(struct load *load, void *into, const struct node *value)
{
	struct quality_spec *spec = into;
	int code = load_name(load, value, "name", &spec->name);
	if (code)
		return code;
	size_t length = strlen(spec->name);
	bool good = length > 0 && length < 100;
	for (const char *at = spec->name; *at; at++)
		good &= isalnum((unsigned char)*at) || strchr("_.-", *at);
	if (!good)
		return load_fail(load, value->line,
				 "'%.64s' cannot be a metric's name: use letters, digits, '_', '.' and '-'",
				 spec->name);
	return 0;
}

static int read_file(struct load *load, void *into, const struct node *value)
{
	struct quality_spec *spec = into;
	char *text = NULL;
	int code = load_text(load, value, "file", &text);
	if (!code && !text[0])
		code = load_fail(load, value->line, "'file' is empty");
	if (!code)
		spec->file = load_path(load->pipeline->dir, text);
	free(text);
	return code;
}

static int set_expression(struct load *load, struct quality_spec *spec, const struct node *value, const char *key,
			  enum quality_how how)
{
	if (spec->expression)
		return load_fail(load, value->line,
				 "a quality metric has one of 'pointer', 'regex' and 'column', not two");
	spec->how = how;
	return load_text(load, value, key, &spec->expression);
}

static int read_pointer(struct load *load, void *into, const struct node *value)
{
	struct quality_spec *spec = into;
	int code = set_expression(load, spec, value, "pointer", QUALITY_POINTER);
	const char *problem = code ? NULL : pointer_problem(spec->expression);
	if (problem)
		code = load_fail(load, value->line, "'%.64s' is no JSON pointer: %s", spec->expression, problem);
	return code;
}

static const char *pattern_problem(const char *pattern)
{
	long repeats = 1;
	if (strlen(pattern) > MAX_PATTERN_BYTES)
		return "it is longer than 1024 bytes";
	for (const char *at = pattern; *at; at++) {
		if (*at == '\\' && at[1]) {
			if (isdigit((unsigned char)*++at))
				return "back-references are not part of extended regular expressions";
		} else if (*at == '{') {
			/* The larger bound; {n,} counts as n. */
			long bound = strtol(at + 1, (char **)&at, 10);
			if (*at == ',' && isdigit((unsigned char)at[1]))
				bound = strtol(at + 1, (char **)&at, 10);
			repeats = bound > MAX_REPEATS ? MAX_REPEATS + 1 : repeats * (bound > 1 ? bound : 1);
			at--;
		}
		if (repeats > MAX_REPEATS)
			return "its {…} counts multiply to more than 1000";
	}
	return NULL;
}

static int read_regex(struct load *load, void *into, const struct node *value)
{
	struct quality_spec *spec = into;
	int code = set_expression(load, spec, value, "regex", QUALITY_REGEX);
	if (code)
		return code;
	const char *problem = pattern_problem(spec->expression);
	if (problem)
		return load_fail(load, value->line, "'regex' is refused: %s", problem);
	regex_t regex;
	int result = regcomp(&regex, spec->expression, REG_EXTENDED);
	if (result != 0) {
		char words[120];
		regerror(result, &regex, words, sizeof(words));
		return load_fail(load, value->line, "'%.64s' is no extended regular expression: %s", spec->expression,
				 words);
	}
	int groups = (int)regex.re_nsub;
	regfree(&regex);
	if (spec->group > groups)
		return load_fail(load, value->line, "'group' is %d, but the expression has only %d", spec->group,
				 groups);
	if (spec->group < 0)
		spec->group = groups > 0 ? 1 : 0;
	return 0;
}

static int read_column(struct load *load, void *into, const struct node *value)
{
	return set_expression(load, into, value, "column", QUALITY_COLUMN);
}

static int read_group(struct load *load, void *into, const struct node *value)
{
	return load_integer(load, value, "group", 0, 99, &((struct quality_spec *)into)->group);
}

static int read_row(struct load *load, void *into, const struct node *value)
{
	static const char *const words[] = {"last", "first", "mean", "max", "min"};
	struct quality_spec *spec = into;
	int code = load_text(load, value, "row", &spec->row);
	if (code)
		return code;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(spec->row, words[i]) == 0)
			return 0;
	return load_fail(load, value->line, "'row' must be last, first, mean, max or min, not '%.60s'", spec->row);
}

/* group stands before regex, which checks it. */
static const struct load_key quality_keys[] = {
	{"name", read_name},   {"file", read_file},       {"group", read_group},   {"row", read_row},
	{"regex", read_regex}, {"pointer", read_pointer}, {"column", read_column},
};

static int check_whole(struct load *load, struct quality_spec *spec)
{
	if (!spec->name)
		return load_fail(load, spec->line, "this quality metric has no 'name'");
	if (!spec->file)
		return load_fail(load, spec->line, "quality metric '%s' has no 'file'", spec->name);
	if (!spec->expression)
		return load_fail(load, spec->line, "quality metric '%s' needs one of 'pointer', 'regex' or 'column'",
				 spec->name);
	if (spec->group >= 0 && spec->how != QUALITY_REGEX)
		return load_fail(load, spec->line, "quality metric '%s': 'group' goes with 'regex' only", spec->name);
	if (spec->row && spec->how != QUALITY_COLUMN)
		return load_fail(load, spec->line, "quality metric '%s': 'row' goes with 'column' only", spec->name);
	if (spec->how == QUALITY_COLUMN && !spec->row)
		spec->row = mem_strdup("last");
	if (spec->how != QUALITY_REGEX)
		spec->group = 0;
	const struct quality_spec *others = load->pipeline->quality.items;
	for (const struct quality_spec *other = others; other < spec; other++)
		if (strcmp(other->name, spec->name) == 0)
			return load_fail(load, spec->line, "quality metric '%s' stands twice, first in line %d",
					 spec->name, other->line);
	return 0;
}

int load_quality(struct load *load, void *into, const struct node *node)
{
	(void)into;
	if (node_is_null(node))
		return 0;
	if (node->kind != NODE_LIST)
		return load_fail_type(load, node, "quality", "a list of maps, each with 'name', 'file' and 'pointer'");
	if (node->items.len > 1000)
		return load_fail(load, node->line, "more than 1000 quality metrics");
	int code = 0;
	for (size_t i = 0; i < node->items.len && !code; i++) {
		struct quality_spec *spec = vec_add(&load->pipeline->quality);
		spec->line = node->items.items[i]->line;
		spec->group = -1;
		code = load_map(load, node->items.items[i], "a quality metric", quality_keys,
				sizeof(quality_keys) / sizeof(quality_keys[0]), spec);
		if (!code)
			code = check_whole(load, spec);
	}
	return code;
}
