/* model_columns.c - the columns of the model tables, and the life of the structs that they fill: see model_columns.h. */
#include "store/model_columns.h"

#include <math.h>
#include <stddef.h>

#define MODEL_AT(name, kind)                                                                                           \
	{                                                                                                              \
#name, kind, offsetof(struct model_row, name)                                                          \
	}
#define MODEL_WORK(member) {#member, COLUMN_COUNT, offsetof(struct model_row, work.member)},
#define LAYER_WORK(member) {#member, COLUMN_COUNT, offsetof(struct model_layer_row, work.member)},
#define OP_WORK(member)    {#member, COLUMN_COUNT, offsetof(struct model_op_row, work.member)},
#define TIME_AT(name, kind)                                                                                            \
	{                                                                                                              \
#name, kind, offsetof(struct model_time, name)                                                         \
	}
#define OP_AT(name, kind)                                                                                              \
	{                                                                                                              \
#name, kind, offsetof(struct model_op_row, name)                                                       \
	}
#define FIT_AT(name, kind)                                                                                             \
	{                                                                                                              \
#name, kind, offsetof(struct model_fit, name)                                                          \
	}

static const struct model_column model_columns[] = {MODEL_AT(name, COLUMN_TEXT),
						    MODEL_AT(source, COLUMN_TEXT),
						    MODEL_AT(path, COLUMN_MAYBE),
						    MODEL_AT(sizes, COLUMN_TEXT),
						    MODEL_AT(input, COLUMN_TEXT),
						    MODEL_AT(threads, COLUMN_OPTIONAL),
						    WORK_LIST(MODEL_WORK) MODEL_AT(weights_kept_bytes, COLUMN_COUNT),
						    MODEL_AT(gradient_bytes, COLUMN_COUNT),
						    MODEL_AT(inference_bytes, COLUMN_COUNT),
						    MODEL_AT(inference_op, COLUMN_OPTIONAL),
						    MODEL_AT(saved_bytes, COLUMN_COUNT),
						    MODEL_AT(training_bytes, COLUMN_COUNT),
						    MODEL_AT(training_op, COLUMN_OPTIONAL),
						    MODEL_AT(measured_inference_bytes, COLUMN_OPTIONAL),
						    MODEL_AT(measured_training_bytes, COLUMN_OPTIONAL),
						    MODEL_AT(roof_flops, COLUMN_REAL),
						    MODEL_AT(roof_memory_bytes, COLUMN_REAL),
						    MODEL_AT(roof_cache_bytes, COLUMN_REAL),
						    {0}};

static const struct model_column layer_columns[] = {
	{"path", COLUMN_TEXT, offsetof(struct model_layer_row, path)},
	{"parent", COLUMN_OPTIONAL, offsetof(struct model_layer_row, parent)},
	WORK_LIST(LAYER_WORK){"forward_s", COLUMN_REAL, offsetof(struct model_layer_row, time_s[MODEL_FORWARD])},
	{"backward_s", COLUMN_REAL, offsetof(struct model_layer_row, time_s[MODEL_BACKWARD])},
	{0}};

static const struct model_column op_columns[] = {
	OP_AT(layer, COLUMN_COUNT),   OP_AT(name, COLUMN_TEXT),           OP_AT(type, COLUMN_TEXT),
	OP_AT(kind, COLUMN_TEXT),     OP_AT(input, COLUMN_MAYBE),         OP_AT(output, COLUMN_MAYBE),
	OP_AT(unknown, COLUMN_MAYBE), OP_AT(fused_into, COLUMN_OPTIONAL), WORK_LIST(OP_WORK){0}};

static const struct model_column time_columns[] = {TIME_AT(runs, COLUMN_COUNT),
						   TIME_AT(mean_s, COLUMN_REAL),
						   TIME_AT(sd_s, COLUMN_REAL),
						   TIME_AT(median_s, COLUMN_REAL),
						   TIME_AT(low_s, COLUMN_REAL),
						   TIME_AT(high_s, COLUMN_REAL),
						   TIME_AT(p90_s, COLUMN_REAL),
						   TIME_AT(p95_s, COLUMN_REAL),
						   TIME_AT(p99_s, COLUMN_REAL),
						   TIME_AT(flops, COLUMN_REAL),
						   TIME_AT(bytes, COLUMN_REAL),
						   TIME_AT(attainable_flops, COLUMN_REAL),
						   TIME_AT(efficiency, COLUMN_REAL),
						   TIME_AT(bound, COLUMN_MAYBE),
						   TIME_AT(doubt, COLUMN_MAYBE),
						   TIME_AT(warning, COLUMN_MAYBE),
						   {0}};

static const struct model_column fit_columns[] = {
	FIT_AT(model, COLUMN_TEXT),    FIT_AT(variable, COLUMN_TEXT), FIT_AT(quantity, COLUMN_TEXT),
	FIT_AT(exponent, COLUMN_REAL), FIT_AT(low, COLUMN_REAL),      FIT_AT(high, COLUMN_REAL),
	FIT_AT(r2, COLUMN_REAL),       FIT_AT(points, COLUMN_COUNT),  {0}};

static const struct model_column no_columns[] = {{0}};

const struct model_table model_table_model = {"model", "id, stage_id", 2, model_columns};
const struct model_table model_table_layer = {"model_layer", "model_id, position", 2, layer_columns};
const struct model_table model_table_op = {"model_op", "model_id, position", 2, op_columns};
const struct model_table model_table_time = {"model_time", "model_id, op, phase", 3, time_columns};
const struct model_table model_table_fit = {"model_fit", "stage_id", 1, fit_columns};
const struct model_table model_table_note = {"model_note", "model_id, text", 2, no_columns};

int model_table_columns(const struct model_table *table, struct str *out)
{
	int count = table->key_count;
	str_append(out, table->keys);
	for (const struct model_column *column = table->columns; column->name; column++, count++)
		str_appendf(out, ", %s", column->name);
	return count;
}

const char *model_phase_name(enum model_phase phase)
{
	return phase == MODEL_FORWARD ? "forward" : "backward";
}

void model_row_init(struct model_row *row)
{
	*row = (struct model_row){.threads = -1,
				  .inference_op = -1,
				  .training_op = -1,
				  .measured_inference_bytes = -1,
				  .measured_training_bytes = -1,
				  .roof_flops = NAN,
				  .roof_memory_bytes = NAN,
				  .roof_cache_bytes = NAN};
}

static void times_fini(struct model_time *times)
{
	for (int i = 0; i < MODEL_PHASES; i++) {
		free(times[i].bound);
		free(times[i].doubt);
		free(times[i].warning);
	}
}

void model_row_fini(struct model_row *row)
{
	for (size_t i = 0; i < row->layers.len; i++)
		free(row->layers.items[i].path);
	for (size_t i = 0; i < row->ops.len; i++) {
		struct model_op_row *op = &row->ops.items[i];
		free(op->name);
		free(op->type);
		free(op->kind);
		free(op->input);
		free(op->output);
		free(op->unknown);
		times_fini(op->time);
	}
	for (size_t i = 0; i < row->notes.len; i++)
		free(row->notes.items[i]);
	vec_fini(&row->layers);
	vec_fini(&row->ops);
	vec_fini(&row->notes);
	free(row->name);
	free(row->source);
	free(row->path);
	free(row->sizes);
	free(row->input);
	times_fini(row->time);
}

void model_profile_fini(struct model_profile *profile)
{
	for (size_t i = 0; i < profile->models.len; i++)
		model_row_fini(&profile->models.items[i]);
	for (size_t i = 0; i < profile->fits.len; i++) {
		free(profile->fits.items[i].model);
		free(profile->fits.items[i].variable);
		free(profile->fits.items[i].quantity);
	}
	vec_fini(&profile->models);
	vec_fini(&profile->fits);
}

void model_profile_free(struct model_profile *profile)
{
	if (profile)
		model_profile_fini(profile);
	free(profile);
}
