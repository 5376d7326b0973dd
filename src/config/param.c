/*
 * param.c - the parameters of a pipeline: what the file declares, and what the command line puts in its place.
 *
 * Later wins: the file's own value, then the --param files in order, then --set and its like in order. Values from
 * outside are taken as they are, without substitution, and every one must meet a declared parameter: a mistyped name is
 * an error, never a setting without effect.
 */
#include "base/file.h"
#include "base/str.h"
#include "config/load.h"
#include "config/substitute.h"

#include <string.h>

enum { PARAM_FILE_LIMIT = 1 << 20 };

/* A value from outside, wherever it was said. */
struct given {
	char *name; /* with '_' for '-' */
	const char *value;
	char *source;
	char *place; /* what messages begin with */
	bool if_declared;
};

struct givens {
	VEC(struct given) items;
	VEC(struct node_tree *) trees; /* the --param files; they own their values */
};

struct param *param_add(struct pipeline *pipeline, const char *name, const char *value, const char *source)
{
	struct param *param = vec_add(&pipeline->params);
	param->name = mem_strdup(name);
	param->value = mem_strdup(value);
	param->source = mem_strdup(source);
	return param;
}

static struct given *add_given(struct givens *givens, const char *name, const char *value)
{
	struct given *given = vec_add(&givens->items);
	given->name = mem_strdup(name);
	given->value = value;
	for (char *at = given->name; *at; at++)
		if (*at == '-')
			*at = '_';
	return given;
}

static void givens_fini(struct givens *givens)
{
	for (size_t i = 0; i < givens->items.len; i++) {
		struct given *given = &givens->items.items[i];
		free(given->name);
		free(given->source);
		free(given->place);
	}
	for (size_t i = 0; i < givens->trees.len; i++)
		node_tree_free(givens->trees.items[i]);
	vec_fini(&givens->items);
	vec_fini(&givens->trees);
}

static int read_param_file(struct load *load, const char *path, struct givens *givens)
{
	char *text = NULL;
	size_t size;
	struct node_tree *tree = NULL;
	int code = file_read(path, PARAM_FILE_LIMIT, &text, &size, load->err);
	if (!code)
		code = node_parse(text, size, path, &tree, load->err);
	free(text);
	if (code)
		return code;
	vec_push(&givens->trees, tree);
	if (tree->root->kind != NODE_MAP)
		return err_set(load->err, ERR_INPUT, "%s:%d: a parameter file is a map of names and values", path,
			       tree->root->line);
	for (size_t i = 0; i < tree->root->pairs.len; i++) {
		const struct node_pair *pair = &tree->root->pairs.items[i];
		if (pair->value->kind != NODE_SCALAR || node_is_null(pair->value))
			return err_set(load->err, ERR_INPUT,
				       "%s:%d: the value of '%.64s' must be a text, a number or true/false", path,
				       pair->value->line, pair->key->text);
		struct given *given = add_given(givens, pair->key->text, pair->value->text);
		given->source = mem_printf("--param %s", path);
		given->place = mem_printf("%s:%d", path, pair->key->line);
	}
	return 0;
}

static int collect_givens(struct load *load, struct givens *givens)
{
	const struct pipeline_overrides *overrides = load->overrides;
	int code = 0;
	for (size_t i = 0; overrides && i < overrides->param_files.len && !code; i++)
		code = read_param_file(load, overrides->param_files.items[i], givens);
	for (size_t i = 0; overrides && i < overrides->values.len && !code; i++) {
		const struct param_override *value = &overrides->values.items[i];
		struct given *given = add_given(givens, value->name, value->value);
		given->source = mem_strdup(value->source);
		given->place = mem_strdup(value->source);
		given->if_declared = value->if_declared;
	}
	return code;
}

static int fail_undeclared(struct load *load, const struct given *given)
{
	const struct pipeline *pipeline = load->pipeline;
	if (!pipeline->params.len)
		return err_set(load->err, ERR_USAGE, "%s: %s declares no parameter '%.64s': it has no params: at all",
			       given->place, load->path, given->name);
	char suggestion[120];
	struct str list = {0};
	substitute_suggest(pipeline, given->name, suggestion, sizeof(suggestion));
	for (size_t i = 0; i < pipeline->params.len; i++) {
		if (list.len > 400) {
			str_append(&list, ", …");
			break;
		}
		str_appendf(&list, "%s%s", i ? ", " : "", pipeline->params.items[i].name);
	}
	int code = err_set(load->err, ERR_USAGE, "%s: %s declares no parameter '%.64s'%s (declared: %s)", given->place,
			   load->path, given->name, suggestion, str_text(&list));
	str_fini(&list);
	return code;
}

static int check_name(struct load *load, const struct node *key)
{
	if (!substitute_is_name(key->text) || strlen(key->text) > 64)
		return load_fail(
			load, key->line,
			"'%.64s' cannot be a parameter's name: use up to 64 letters, digits and '_', beginning with a "
			"letter",
			key->text);
	if (strcmp(key->text, "env") == 0)
		return load_fail(load, key->line,
				 "a parameter cannot be named 'env': ${env:…} is an environment variable");
	return 0;
}

/* The long form {value: …, help: …}. */
struct declaration {
	const struct node *value;
	char *help;
};

static int read_value(struct load *load, void *into, const struct node *value)
{
	(void)load;
	((struct declaration *)into)->value = value;
	return 0;
}

static int read_help(struct load *load, void *into, const struct node *value)
{
	return load_text(load, value, "help", &((struct declaration *)into)->help);
}

static const struct load_key declaration_keys[] = {{"value", read_value}, {"help", read_help}};

static int declare(struct load *load, const struct node_pair *pair, const struct givens *givens)
{
	struct declaration declaration = {.value = pair->value};
	const char *name = pair->key->text;
	char *value = NULL;
	int code = check_name(load, pair->key);
	if (!code && pair->value->kind == NODE_MAP) {
		declaration.value = NULL;
		code = load_map(load, pair->value, "a parameter", declaration_keys, 2, &declaration);
	}
	if (!code && !declaration.value)
		code = load_fail(load, pair->value->line, "parameter '%s' has no 'value'", name);
	if (!code)
		code = load_text(load, declaration.value, name, &value);
	const struct given *given = NULL;
	for (size_t i = 0; i < givens->items.len; i++)
		if (strcmp(givens->items.items[i].name, name) == 0)
			given = &givens->items.items[i];
	if (!code) {
		const char *slash = strrchr(load->path, '/');
		struct param *param = param_add(load->pipeline, name, given ? given->value : value,
						given   ? given->source
						: slash ? slash + 1
							: load->path);
		param->quoted = declaration.value->quoted;
		param->help = declaration.help;
		declaration.help = NULL;
	}
	free(declaration.help);
	free(value);
	return code;
}

/* Called also where the file has no params, with `node` NULL: the command line may name one all the same. */
int load_params(struct load *load, void *into, const struct node *node)
{
	(void)into;
	struct givens givens = {0};
	int code = 0;
	if (node && node->kind != NODE_MAP && !node_is_null(node))
		return load_fail_type(load, node, "params", "a map of names and values");
	code = collect_givens(load, &givens);
	for (size_t i = 0; node && i < node->pairs.len && !code; i++)
		code = declare(load, &node->pairs.items[i], &givens);
	for (size_t i = 0; i < givens.items.len && !code; i++)
		if (!givens.items.items[i].if_declared && !pipeline_param(load->pipeline, givens.items.items[i].name))
			code = fail_undeclared(load, &givens.items.items[i]);
	givens_fini(&givens);
	return code;
}
