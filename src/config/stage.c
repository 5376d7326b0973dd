/*
 * stage.c - the `stages` list: each stage's keys, checked and with parameters in place.
 *
 * `needs` is left to graph.c, which must know all names first.
 */
#include "base/file.h"
#include "base/str.h"
#include "config/load.h"
#include "config/substitute.h"

#include <string.h>
#include <strings.h>

enum { MAX_STAGES = 10000, MAX_NAME_BYTES = 100 };

static int read_name(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	int code = load_name(load, value, "name", &stage->name);
	if (code)
		return code;
	/* Names become parts of paths and of lines in reports. */
	bool bad = !stage->name[0] || strchr(stage->name, '/') || strspn(stage->name, ".") == strlen(stage->name) ||
		   strlen(stage->name) > MAX_NAME_BYTES;
	for (const char *at = stage->name; *at; at++)
		bad |= (unsigned char)*at < 0x20 || *at == 0x7F;
	if (bad)
		return load_fail(
			load, value->line,
			"'%.64s' cannot be a stage's name: use up to %d characters without '/' and line breaks",
			stage->name, (int)MAX_NAME_BYTES);
	return 0;
}

static int read_argument(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	if (value->kind != NODE_SCALAR || node_is_null(value))
		return load_fail_type(load, value, "run", "a text, or a list of texts (program and arguments)");
	char *argument = NULL;
	int code = load_text(load, value, "run", &argument);
	if (!code)
		vec_push(&stage->argv, argument);
	return code;
}

static int read_run(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	if (value->kind == NODE_MAP || node_is_null(value))
		return load_fail_type(load, value, "run", "a text for the shell, or a list: program and arguments");
	if (value->kind == NODE_LIST) {
		int code = load_each(load, value, "run", read_argument, stage);
		if (!code && (!stage->argv.len || !stage->argv.items[0][0]))
			code = load_fail(load, value->line,
					 "'run' names no program: the list is empty or begins with \"\"");
		return code;
	}
	struct scope scope = {load->pipeline, load->path, value->line, load->err};
	int code = substitute_shell(&scope, value->text, &stage->shell);
	if (code)
		return code;
	if (strspn(stage->shell, " \t\n") == strlen(stage->shell))
		return load_fail(load, value->line, "'run' is empty: it must be a command");
	vec_push(&stage->argv, mem_strdup("/bin/sh"));
	vec_push(&stage->argv, mem_strdup("-c"));
	vec_push(&stage->argv, mem_strdup(stage->shell));
	return 0;
}

static int read_needs(struct load *load, void *into, const struct node *value)
{
	(void)load, (void)into, (void)value;
	return 0;
}

static int read_env(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	if (value->kind != NODE_MAP)
		return load_fail_type(load, value, "env", "a map of names and values");
	for (size_t i = 0; i < value->pairs.len; i++) {
		const struct node_pair *pair = &value->pairs.items[i];
		const char *name = pair->key->text;
		char *text = NULL;
		if (!substitute_is_name(name))
			return load_fail(load, pair->key->line,
					 "'%.64s' cannot be an environment variable: use letters, digits and '_'",
					 name);
		int code = load_text(load, pair->value, name, &text);
		if (code)
			return code;
		vec_push(&stage->env, mem_printf("%s=%s", name, text));
		free(text);
	}
	return 0;
}

static int read_cwd(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	char *text = NULL;
	int code = load_text(load, value, "cwd", &text);
	if (!code && !text[0])
		code = load_fail(load, value->line, "'cwd' is empty; leave it out for the pipeline file's folder");
	if (!code) {
		free(stage->cwd);
		stage->cwd =
			strcmp(text, ".") == 0 ? mem_strdup(load->pipeline->dir) : file_join(load->pipeline->dir, text);
	}
	free(text);
	return code;
}

static int read_timeout(struct load *load, void *into, const struct node *value)
{
	return load_duration(load, value, "timeout", &((struct stage_spec *)into)->timeout_ns);
}

static int read_retries(struct load *load, void *into, const struct node *value)
{
	return load_integer(load, value, "retries", 0, 100, &((struct stage_spec *)into)->retries);
}

/* true, false, or the reason. */
static int read_reason(struct load *load, const struct node *value, const char *key, const char *usual, char **out)
{
	char *text = NULL;
	int code = load_text(load, value, key, &text);
	if (code)
		return code;
	int truth = value->quoted ? -1 : load_truth(text);
	if (truth < 0 && text[0]) {
		*out = text;
		return 0;
	}
	free(text);
	*out = truth == 1 ? mem_strdup(usual) : NULL;
	if (truth < 0)
		return load_fail(load, value->line, "'%s' must be true, false or the reason as a text", key);
	return 0;
}

static int read_manual(struct load *load, void *into, const struct node *value)
{
	return read_reason(load, value, "manual", "done by hand", &((struct stage_spec *)into)->manual);
}

static int read_skip(struct load *load, void *into, const struct node *value)
{
	return read_reason(load, value, "skip", "skip: true in the pipeline file", &((struct stage_spec *)into)->skip);
}

/* One side of a comparison: parameters put in, blanks around it and one pair of quotes removed. */
static int read_side(struct load *load, int line, const char *text, size_t length, char **out)
{
	struct scope scope = {load->pipeline, load->path, line, load->err};
	while (length && strchr(" \t", text[0]))
		text++, length--;
	while (length && strchr(" \t\n", text[length - 1]))
		length--;
	if (length >= 2 && strchr("'\"", text[0]) && text[length - 1] == text[0])
		text++, length -= 2;
	char *side = mem_strndup(text, length);
	int code = substitute_plain(&scope, side, out);
	free(side);
	return code;
}

/* The operator, as the person wrote it: one that comes out of a parameter's value is part of the value. */
static const char *find_operator(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (str_starts(at, "${")) {
			const char *end = strchr(at, '}');
			at = end ? end : at;
		} else if (str_starts(at, "==") || str_starts(at, "!=")) {
			return at;
		}
	}
	return NULL;
}

static bool is_truthy(const char *text)
{
	return text[0] && strcmp(text, "0") != 0 && load_truth(text) != 0;
}

static int read_when(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	if (value->kind != NODE_SCALAR || node_is_null(value))
		return load_fail_type(load, value, "when", "a word, 'a == b' or 'a != b'");
	const char *sign = find_operator(value->text);
	char *left = NULL, *right = NULL;
	size_t length = sign ? (size_t)(sign - value->text) : strlen(value->text);
	int code = read_side(load, value->line, value->text, length, &left);
	if (!code && sign)
		code = read_side(load, value->line, sign + 2, strlen(sign + 2), &right);
	if (!code) {
		bool runs = sign ? (strcmp(left, right) == 0) == (sign[0] == '=') : is_truthy(left);
		if (!runs && !stage->skip)
			stage->skip = mem_printf("when: %s is false", value->text);
	}
	free(left);
	free(right);
	return code;
}

static int read_path(struct load *load, const struct node *value, const char *key, const char *base, char **out)
{
	char *text = NULL;
	int code = load_text(load, value, key, &text);
	if (!code && !text[0])
		code = load_fail(load, value->line, "'%s' has an empty path", key);
	if (!code)
		*out = load_path(base, text);
	free(text);
	return code;
}

static int read_input(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	return read_path(load, value, "inputs", stage->cwd, vec_add(&stage->inputs));
}

static int read_output(struct load *load, void *into, const struct node *value)
{
	struct stage_spec *stage = into;
	return read_path(load, value, "outputs", stage->cwd, vec_add(&stage->outputs));
}

static int read_inputs(struct load *load, void *into, const struct node *value)
{
	return load_each(load, value, "inputs", read_input, into);
}

static int read_outputs(struct load *load, void *into, const struct node *value)
{
	return load_each(load, value, "outputs", read_output, into);
}

static int read_survivors(struct load *load, void *into, const struct node *value)
{
	static const char *const words[] = {
		[SURVIVORS_WAIT] = "wait", [SURVIVORS_KILL] = "kill", [SURVIVORS_LEAVE] = "leave"};
	char *text = NULL;
	int code = load_text(load, value, "survivors", &text);
	bool found = false;
	for (int i = 0; !code && i < 3; i++) {
		if (strcmp(text, words[i]) != 0)
			continue;
		((struct stage_spec *)into)->survivors = (enum survivors)i;
		found = true;
	}
	if (!code && !found)
		code = load_fail(load, value->line, "'survivors' must be wait, kill or leave, not '%.60s'", text);
	free(text);
	return code;
}

/* cwd stands before what is relative to it, skip before when. */
static const struct load_key stage_keys[] = {
	{"name", read_name},
	{"run", read_run},
	{"needs", read_needs},
	{"env", read_env},
	{"cwd", read_cwd},
	{"timeout", read_timeout},
	{"retries", read_retries},
	{"manual", read_manual},
	{"skip", read_skip},
	{"when", read_when},
	{"inputs", read_inputs},
	{"outputs", read_outputs},
	{"survivors", read_survivors},
	{"profile", load_stage_profile},
};

static int read_stage(struct load *load, void *into, const struct node *node)
{
	(void)into;
	struct stage_spec *stage = vec_add(&load->pipeline->stages);
	stage->line = node->line;
	stage->cwd = mem_strdup(load->pipeline->dir);
	profile_unset(&stage->profile);
	if (node->kind != NODE_MAP)
		return load_fail_type(load, node, "stages", "a list of maps, each with 'name' and 'run'");
	int code = load_map(load, node, "a stage", stage_keys, sizeof(stage_keys) / sizeof(stage_keys[0]), stage);
	if (code)
		return code;
	if (!stage->name)
		return load_fail(load, node->line, "this stage has no 'name'");
	if (!stage->argv.len && !stage->manual)
		return load_fail(load, node->line, "stage '%.64s' has no 'run' (only a stage with 'manual' needs none)",
				 stage->name);
	return 0;
}

int load_stages(struct load *load, void *into, const struct node *node)
{
	if (node->kind != NODE_LIST)
		return load_fail_type(load, node, "stages", "a list of stages");
	if (!node->items.len)
		return load_fail(load, node->line, "'stages' is empty: a pipeline needs at least one");
	if (node->items.len > MAX_STAGES)
		return load_fail(load, node->line, "more than %d stages", (int)MAX_STAGES);
	int code = 0;
	for (size_t i = 0; i < node->items.len && !code; i++)
		code = read_stage(load, into, node->items.items[i]);
	return code ? code : graph_resolve(load, node);
}
