/*
 * features_settings.c - see features.h: settings from a YAML or JSON file.
 *
 * A key is an option's name, with "_" or "-"; its value becomes a word of the command line in front of the words that were
 * typed, which therefore win. So a file can say exactly what options can, with the same checks and messages.
 */
#include "base/file.h"
#include "base/mem.h"
#include "cmd/features.h"
#include "config/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

static const struct opt *find_option(const struct opt *options, const char *key)
{
	char *name = mem_strdup(key);
	const struct opt *found = NULL;
	for (char *at = name; *at; at++)
		if (*at == '_')
			*at = '-';
	for (const struct opt *option = options; option->name && !found; option++)
		if (strcmp(option->name, name) == 0 && strcmp(name, "settings") != 0)
			found = option;
	free(name);
	return found;
}

static int add_truth(const struct opt *option, const struct node *value, const char *path, struct features_words *out,
		     struct err *err)
{
	int truth = value->kind == NODE_SCALAR ? load_truth(value->text) : -1;
	if (truth < 0)
		return err_set(err, ERR_INPUT, "%s:%d: %s is true or false", path, value->line, option->name);
	/* "no-" options are written by what they turn off: `no_features: true`. */
	if (truth)
		vec_push(&out->items, mem_printf("--%s", option->name));
	return 0;
}

/* A list is written with commas between. */
static int add_value(const struct opt *option, const struct node *value, const char *path, struct features_words *out,
		     struct err *err)
{
	struct str word = {0};
	str_appendf(&word, "--%s=", option->name);
	if (value->kind == NODE_SCALAR)
		str_append(&word, value->text);
	for (size_t i = 0; value->kind == NODE_LIST && i < value->items.len; i++) {
		if (value->items.items[i]->kind != NODE_SCALAR) {
			str_fini(&word);
			return err_set(err, ERR_INPUT, "%s:%d: %s: expected a list of numbers", path, value->line,
				       option->name);
		}
		str_appendf(&word, "%s%s", i ? "," : "", value->items.items[i]->text);
	}
	if (value->kind == NODE_MAP) {
		str_fini(&word);
		return err_set(err, ERR_INPUT, "%s:%d: %s: expected a value, not a map", path, value->line,
			       option->name);
	}
	vec_push(&out->items, str_take(&word));
	return 0;
}

static int add_pair(const struct node_pair *pair, const struct opt *options, const char *path,
		    struct features_words *out, struct err *err)
{
	const struct opt *option = find_option(options, pair->key->text);
	if (!option) {
		const char *meant = opt_suggest(options, pair->key->text);
		return err_set(err, ERR_INPUT, "%s:%d: no setting is called '%s'%s%s%s", path, pair->key->line,
			       pair->key->text, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
	}
	if (node_is_null(pair->value))
		return 0;
	if (option->kind == OPT_FLAG || option->kind == OPT_NEGATED)
		return add_truth(option, pair->value, path, out, err);
	return add_value(option, pair->value, path, out, err);
}

int features_settings_words(const char *path, const struct opt *options, struct features_words *out, struct err *err)
{
	char *text = NULL;
	size_t size;
	struct node_tree *tree = NULL;
	int code = file_read(path, MOST_BYTES, &text, &size, err);
	code = code ? code : node_parse(text, size, path, &tree, err);
	if (!code && tree->root && tree->root->kind != NODE_MAP && !node_is_null(tree->root))
		code = err_set(err, ERR_INPUT, "%s: expected settings as 'name: value'", path);
	for (size_t i = 0; !code && tree->root && tree->root->kind == NODE_MAP && i < tree->root->pairs.len; i++)
		code = add_pair(&tree->root->pairs.items[i], options, path, out, err);
	node_tree_free(tree);
	free(text);
	return code;
}

void features_words_fini(struct features_words *words)
{
	for (size_t i = 0; i < words->items.len; i++)
		free(words->items.items[i]);
	vec_fini(&words->items);
}

int features_sizes(const char *option, const char *text, double least, double most, struct study_sizes *out,
		   struct err *err)
{
	while (*text) {
		size_t length = strcspn(text, ",");
		char *word = mem_strndup(text, length);
		double value;
		bool fine = str_to_double(word, &value) && value >= least && value <= most;
		free(word);
		if (!fine)
			return err_set(err, ERR_USAGE, "--%s: '%.*s' is no number between %g and %g", option,
				       (int)length, text, least, most);
		vec_push(&out->items, value);
		text += length + (text[length] == ',');
	}
	if (!out->items.len)
		return err_set(err, ERR_USAGE, "--%s: expected numbers with commas between", option);
	return 0;
}

static void add_number(struct features_job *job, const char *name, double value)
{
	vec_push(&job->view.settings, ((struct features_setting){.name = name, .number = value}));
}

static void add_truth_value(struct features_job *job, const char *name, bool value)
{
	vec_push(&job->view.settings, ((struct features_setting){.name = name, .number = value, .is_bool = true}));
}

static void add_text(struct features_job *job, const char *name, const char *value)
{
	vec_push(&job->view.settings,
		 ((struct features_setting){.name = name, .text = mem_strdup(value), .number = NAN}));
}

void features_settings_describe(struct features_job *job)
{
	const struct features_args *args = job->args;
	add_text(job, "mode", args->mode ? args->mode : "all");
	add_text(job, "recipe", args->recipe);
	add_text(job, "target", job->recipe->target);
	add_number(job, "chunk_size", (double)args->chunk_size);
	add_number(job, "batch_size", args->batch_size ? (double)args->batch_size : NAN);
	add_number(job, "max_memory_mb", args->max_memory_mb > 0 ? args->max_memory_mb : NAN);
	add_number(job, "max_compute_units", args->max_compute_units);
	add_number(job, "benchmark_runs", (double)job->benchmark_runs);
	add_number(job, "n_jobs", job->settings.threads);
	add_number(job, "random_seed", (double)args->random_seed);
	add_truth_value(job, "spill_to_disk", args->spill_to_disk);
	add_text(job, "statistics", args->statistics);
	add_text(job, "delimiter", args->delimiter);
	add_text(job, "ragged", args->ragged);
	add_text(job, "chunk_sizes", args->chunk_sizes);
	add_text(job, "memory_limits", args->memory_limits);
	add_text(job, "compute_limits", args->compute_limits);
	add_number(job, "experiment_rows", (double)args->experiment_rows);
}
