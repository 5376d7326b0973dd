/* pipeline.c - see pipeline.h. The sections of the file are read by the files that load.h names. */
#include "config/pipeline.h"
#include "base/file.h"
#include "base/str.h"
#include "base/threshold.h"
#include "config/load.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { PIPELINE_FILE_LIMIT = 8 << 20 };

static int read_name(struct load *load, void *into, const struct node *value)
{
	(void)into;
	int code = load_name(load, value, "name", &load->pipeline->name);
	if (!code && !load->pipeline->name[0])
		code = load_fail(load, value->line, "'name' is empty; leave it out for the folder's name");
	return code;
}

static int check_gate_stage(const struct load *load, const struct threshold *threshold, int line)
{
	VEC(const char *) names = {0};
	bool found = false;
	for (size_t i = 0; i < load->pipeline->stages.len; i++) {
		vec_push(&names, load->pipeline->stages.items[i].name);
		found = found || strcmp(load->pipeline->stages.items[i].name, threshold->stage) == 0;
	}
	const char *meant = found ? NULL : str_suggest(threshold->stage, names.items, names.len);
	vec_fini(&names);
	if (found)
		return 0;
	return meant ? load_fail(load, line, "gate: no stage is called '%s'; did you mean '%s'?", threshold->stage,
				 meant)
		     : load_fail(load, line, "gate: no stage is called '%s'", threshold->stage);
}

/* Stages and quality metrics have been read. */
static int check_gate_name(const struct load *load, const struct gate_spec *gate)
{
	VEC(const char *) quality = {0};
	struct threshold threshold;
	struct err err;
	for (size_t i = 0; i < load->pipeline->quality.len; i++)
		vec_push(&quality, load->pipeline->quality.items[i].name);
	int code = threshold_parse(gate->name, quality.items, quality.len, &threshold, &err);
	vec_fini(&quality);
	if (code)
		return load_fail(load, gate->line, "%s", err.text);
	if (threshold.stage)
		code = check_gate_stage(load, &threshold, gate->line);
	threshold_fini(&threshold);
	return code;
}

static int read_gate(struct load *load, void *into, const struct node *node)
{
	(void)into;
	if (node_is_null(node))
		return 0;
	if (node->kind != NODE_MAP)
		return load_fail_type(load, node, "gate",
				      "a map of thresholds, as {max_total_duration_increase_pct: 5}");
	int code = 0;
	for (size_t i = 0; i < node->pairs.len && !code; i++) {
		const struct node_pair *pair = &node->pairs.items[i];
		struct gate_spec *gate = vec_add(&load->pipeline->gates);
		gate->name = mem_strdup(pair->key->text);
		gate->line = pair->key->line;
		code = check_gate_name(load, gate);
		if (!code)
			code = load_number(load, pair->value, gate->name, &gate->limit);
	}
	return code;
}

/* What later rows substitute comes first. */
static const struct load_key pipeline_keys[] = {
	{"name", read_name},     {"params", load_params},   {"config", load_overlays}, {"profile", load_profile},
	{"stages", load_stages}, {"quality", load_quality}, {"gate", read_gate},
};

static char *folder_of(const char *path)
{
	char resolved[PATH_MAX], here[PATH_MAX];
	const char *slash = strrchr(path, '/');
	char *folder = !slash ? mem_strdup(".") : mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
	char *absolute;
	if (realpath(folder, resolved))
		absolute = mem_strdup(resolved);
	else
		absolute = file_join(getcwd(here, sizeof(here)) ? here : "/", folder);
	free(folder);
	return absolute;
}

static struct pipeline *new_pipeline(void)
{
	struct pipeline *pipeline = mem_alloc(sizeof(*pipeline));
	profile_unset(&pipeline->profile);
	return pipeline;
}

static int read_root(struct load *load, const struct node *root)
{
	if (root->kind != NODE_MAP)
		return load_fail(load, root->line,
				 "a pipeline file is a map with 'stages'; `pitot init` writes an example");
	int code = 0;
	if (!node_get(root, "params"))
		code = load_params(load, NULL, NULL);
	if (!code)
		code = load_map(load, root, "the pipeline file", pipeline_keys,
				sizeof(pipeline_keys) / sizeof(pipeline_keys[0]), NULL);
	if (!code && !load->pipeline->stages.len)
		code = load_fail(load, root->line, "there are no 'stages'; `pitot init` writes an example");
	return code;
}

static char *default_name(const char *dir)
{
	const char *slash = strrchr(dir, '/');
	return mem_strdup(slash && slash[1] ? slash + 1 : "pipeline");
}

int pipeline_parse(const char *text, size_t size, const char *path, const struct pipeline_overrides *overrides,
		   const char *overlay_dir, struct pipeline **out, struct err *err)
{
	struct node_tree *tree = NULL;
	int code = node_parse(text, size, path, &tree, err);
	if (code)
		return code;
	struct pipeline *pipeline = new_pipeline();
	pipeline->path = mem_strdup(path);
	pipeline->dir = folder_of(path);
	pipeline->text = mem_strndup(text, size);
	struct load load = {path, pipeline, overrides, overlay_dir, err};
	code = read_root(&load, tree->root);
	node_tree_free(tree);
	if (code) {
		pipeline_free(pipeline);
		return code;
	}
	if (!pipeline->name)
		pipeline->name = default_name(pipeline->dir);
	*out = pipeline;
	return 0;
}

int pipeline_load(const char *path, const struct pipeline_overrides *overrides, const char *overlay_dir,
		  struct pipeline **out, struct err *err)
{
	char *text;
	size_t size;
	int code = file_read(path, PIPELINE_FILE_LIMIT, &text, &size, err);
	if (code)
		return code;
	code = pipeline_parse(text, size, path, overrides, overlay_dir, out, err);
	free(text);
	return code;
}

#define FREE_TEXTS(texts)                                                                                              \
	do {                                                                                                           \
		for (size_t text_at = 0; text_at < (texts)->len; text_at++)                                            \
			free((texts)->items[text_at]);                                                                 \
		vec_fini(texts);                                                                                       \
	} while (0)

static void stage_fini(struct stage_spec *stage)
{
	free(stage->name);
	free(stage->shell);
	free(stage->cwd);
	free(stage->manual);
	free(stage->skip);
	FREE_TEXTS(&stage->argv);
	FREE_TEXTS(&stage->env);
	FREE_TEXTS(&stage->inputs);
	FREE_TEXTS(&stage->outputs);
	vec_fini(&stage->needs);
}

static void overlay_fini(struct overlay_spec *overlay)
{
	for (size_t i = 0; i < overlay->set.len; i++) {
		free(overlay->set.items[i].pointer);
		free(overlay->set.items[i].value);
	}
	vec_fini(&overlay->set);
	FREE_TEXTS(&overlay->absolute);
	free(overlay->file);
	free(overlay->param);
}

static void param_fini(struct param *param)
{
	free(param->name);
	free(param->value);
	free(param->source);
	free(param->help);
}

static void quality_fini(struct quality_spec *quality)
{
	free(quality->name);
	free(quality->file);
	free(quality->expression);
	free(quality->row);
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	for (size_t i = 0; i < pipeline->params.len; i++)
		param_fini(&pipeline->params.items[i]);
	for (size_t i = 0; i < pipeline->overlays.len; i++)
		overlay_fini(&pipeline->overlays.items[i]);
	for (size_t i = 0; i < pipeline->stages.len; i++)
		stage_fini(&pipeline->stages.items[i]);
	for (size_t i = 0; i < pipeline->quality.len; i++)
		quality_fini(&pipeline->quality.items[i]);
	for (size_t i = 0; i < pipeline->gates.len; i++)
		free(pipeline->gates.items[i].name);
	vec_fini(&pipeline->params);
	vec_fini(&pipeline->overlays);
	vec_fini(&pipeline->stages);
	vec_fini(&pipeline->quality);
	vec_fini(&pipeline->gates);
	free(pipeline->path);
	free(pipeline->dir);
	free(pipeline->text);
	free(pipeline->name);
	free(pipeline);
}

const struct param *pipeline_param(const struct pipeline *pipeline, const char *name)
{
	for (size_t i = 0; i < pipeline->params.len; i++)
		if (strcmp(pipeline->params.items[i].name, name) == 0)
			return &pipeline->params.items[i];
	return NULL;
}
