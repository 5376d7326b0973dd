/* overlay_spec.c - the `config` block: which files of the program's own to copy, and what to change in the copies. */
#include "base/file.h"
#include "base/str.h"
#include "config/load.h"
#include "config/overlay.h"
#include "config/overlay_format.h"
#include "config/pointer.h"
#include "config/substitute.h"

#include <string.h>

static int read_file(struct load *load, void *into, const struct node *value)
{
	struct overlay_spec *overlay = into;
	char *text = NULL;
	int code = load_text(load, value, "file", &text);
	if (!code && !overlay_format_find(text))
		code = load_fail(load, value->line,
				 "'%.64s': only JSON and YAML files (.json, .yaml, .yml) can be copied with changes",
				 text);
	if (!code)
		overlay->file = file_join(load->pipeline->dir, text);
	free(text);
	return code;
}

static int read_param(struct load *load, void *into, const struct node *value)
{
	struct overlay_spec *overlay = into;
	int code = load_name(load, value, "param", &overlay->param);
	if (!code && (!substitute_is_name(overlay->param) || strcmp(overlay->param, "env") == 0))
		code = load_fail(load, value->line, "'%.64s' cannot be a parameter's name: use letters, digits and '_'",
				 overlay->param);
	return code;
}

static int check_pointer(struct load *load, const struct node *node, const char *pointer)
{
	const char *problem = pointer[0] ? pointer_problem(pointer) : "it must name a place within the document";
	if (problem)
		return load_fail(load, node->line, "'%.64s' is no JSON pointer: %s", pointer, problem);
	return 0;
}

static int read_set(struct load *load, void *into, const struct node *value)
{
	struct overlay_spec *overlay = into;
	if (value->kind != NODE_MAP)
		return load_fail_type(load, value, "set", "a map of JSON pointers and values, as {/train/epochs: 10}");
	for (size_t i = 0; i < value->pairs.len; i++) {
		const struct node_pair *pair = &value->pairs.items[i];
		int code = check_pointer(load, pair->key, pair->key->text);
		if (code)
			return code;
		struct overlay_setting *setting = vec_add(&overlay->set);
		setting->pointer = mem_strdup(pair->key->text);
		setting->line = pair->key->line;
		setting->quoted = pair->value->quoted;
		if (node_is_null(pair->value)) {
			setting->value = mem_strdup("null");
			continue;
		}
		code = load_text(load, pair->value, pair->key->text, &setting->value);
		if (code)
			return code;
		/* YAML forces quotes around ${…} within { … }, so the quotes say nothing about the value there. */
		const struct param *lone = substitute_lone_param(load->pipeline, pair->value->text);
		if (lone && !pair->value->forced)
			setting->quoted = lone->quoted;
	}
	return 0;
}

static int read_absolute_item(struct load *load, void *into, const struct node *value)
{
	struct overlay_spec *overlay = into;
	char **pointer = vec_add(&overlay->absolute);
	int code = load_text(load, value, "absolute", pointer);
	return code ? code : check_pointer(load, value, *pointer);
}

static int read_absolute(struct load *load, void *into, const struct node *value)
{
	return load_each(load, value, "absolute", read_absolute_item, into);
}

static const struct load_key overlay_keys[] = {
	{"file", read_file}, {"param", read_param}, {"set", read_set}, {"absolute", read_absolute}};

static int read_overlay(struct load *load, const struct node *node)
{
	struct pipeline *pipeline = load->pipeline;
	size_t at = pipeline->overlays.len;
	struct overlay_spec *overlay = vec_add(&pipeline->overlays);
	overlay->line = node->line;
	int code =
		load_map(load, node, "config", overlay_keys, sizeof(overlay_keys) / sizeof(overlay_keys[0]), overlay);
	if (code)
		return code;
	if (!overlay->file)
		return load_fail(load, node->line, "this config has no 'file'");
	if (!overlay->param)
		overlay->param = mem_strdup("config");
	const struct param *clash = pipeline_param(pipeline, overlay->param);
	if (clash)
		return load_fail(
			load, node->line,
			"the copy's path would be ${%s}, but there is a parameter of that name already; give this "
			"config another with 'param:'",
			overlay->param);
	char *path = overlay_path(overlay, at, load->overlay_dir);
	param_add(pipeline, overlay->param, path, "config");
	free(path);
	return 0;
}

int load_overlays(struct load *load, void *into, const struct node *node)
{
	(void)into;
	if (node_is_null(node))
		return 0;
	if (node->kind == NODE_MAP)
		return read_overlay(load, node);
	if (node->kind != NODE_LIST)
		return load_fail_type(load, node, "config", "a map with 'file' and 'set', or a list of such maps");
	int code = 0;
	for (size_t i = 0; i < node->items.len && !code; i++)
		code = read_overlay(load, node->items.items[i]);
	return code;
}
