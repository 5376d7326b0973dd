/* model_json.c - models as JSON, everything that is known: docs/model.schema.json describes it. */
#include "base/json.h"
#include "render/model.h"

#include <math.h>

enum { SCHEMA_VERSION = 1 };

static void put_count(struct json *json, const char *key, int64_t value)
{
	if (value < 0)
		json_put_null(json, key);
	else
		json_put_integer(json, key, value);
}

static void put_work(const struct work *work, struct json *json)
{
#define PUT_WORK(name) json_put_integer(json, #name, work->name);
	WORK_LIST(PUT_WORK)
#undef PUT_WORK
	json_put_integer(json, "flops", 2 * work->macs);
	json_put_number(json, "flop_per_byte", work_intensity(work));
}

static void put_time(const struct model_time *time, const char *key, struct json *json)
{
	if (!time->runs) {
		json_put_null(json, key);
		return;
	}
	json_object_begin(json, key);
	json_put_integer(json, "runs", time->runs);
	json_put_number(json, "median_s", time->median_s);
	json_put_number(json, "low_s", time->low_s);
	json_put_number(json, "high_s", time->high_s);
	json_put_number(json, "mean_s", time->mean_s);
	json_put_number(json, "sd_s", time->sd_s);
	json_put_number(json, "p90_s", time->p90_s);
	json_put_number(json, "p95_s", time->p95_s);
	json_put_number(json, "p99_s", time->p99_s);
	json_put_number(json, "flop_per_s", time->flops);
	json_put_number(json, "byte_per_s", time->bytes);
	json_put_number(json, "attainable_flop_per_s", time->attainable_flops);
	json_put_number(json, "efficiency", time->efficiency);
	json_put_string(json, "bound", time->bound);
	json_put_string(json, "doubt", time->doubt);
	json_put_string(json, "warning", time->warning);
	json_object_end(json);
}

static void put_op(const struct model_row *row, const struct model_op_row *op, struct json *json)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", op->name);
	json_put_string(json, "type", op->type);
	json_put_string(json, "kind", op->kind);
	json_put_string(json, "layer", row->layers.items[op->layer].path);
	json_put_string(json, "input", op->input);
	json_put_string(json, "output", op->output);
	json_put_bool(json, "counted", !op->unknown);
	json_put_string(json, "reason", op->unknown);
	json_put_string(json, "fused_into", op->fused_into >= 0 ? row->ops.items[op->fused_into].name : NULL);
	put_work(&op->work, json);
	put_time(&op->time[MODEL_FORWARD], "forward", json);
	put_time(&op->time[MODEL_BACKWARD], "backward", json);
	json_object_end(json);
}

static void put_layer(const struct model_row *row, const struct model_layer_row *layer, struct json *json)
{
	json_object_begin(json, NULL);
	json_put_string(json, "path", layer->path);
	json_put_string(json, "parent", layer->parent >= 0 ? row->layers.items[layer->parent].path : NULL);
	put_work(&layer->work, json);
	json_put_number(json, "forward_s", layer->time_s[MODEL_FORWARD]);
	json_put_number(json, "backward_s", layer->time_s[MODEL_BACKWARD]);
	json_object_end(json);
}

static const char *op_name(const struct model_row *row, int64_t op)
{
	return op >= 0 && op < (int64_t)row->ops.len ? row->ops.items[op].name : NULL;
}

static void put_memory(const struct model_row *row, struct json *json)
{
	int64_t base = row->weights_kept_bytes + row->gradient_bytes + row->training_bytes;
	json_object_begin(json, "memory");
	json_put_integer(json, "weight_bytes", row->weights_kept_bytes);
	json_put_integer(json, "gradient_bytes", row->gradient_bytes);
	json_put_integer(json, "inference_activation_bytes", row->inference_bytes);
	json_put_string(json, "inference_peak_at", op_name(row, row->inference_op));
	json_put_integer(json, "saved_for_backward_bytes", row->saved_bytes);
	json_put_integer(json, "training_activation_bytes", row->training_bytes);
	json_put_string(json, "training_peak_at", op_name(row, row->training_op));
	json_put_integer(json, "training_sgd_bytes", base);
	json_put_integer(json, "training_momentum_bytes", base + row->gradient_bytes);
	json_put_integer(json, "training_adam_bytes", base + 2 * row->gradient_bytes);
	put_count(json, "measured_inference_bytes", row->measured_inference_bytes);
	put_count(json, "measured_training_bytes", row->measured_training_bytes);
	json_object_end(json);
}

static void put_model(const struct model_row *row, struct json *json)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", row->name);
	json_put_string(json, "source", row->source);
	json_put_string(json, "path", row->path);
	json_put_string(json, "sizes", row->sizes);
	json_put_string(json, "input", row->input);
	put_count(json, "threads", row->threads);
	put_work(&row->work, json);
	put_memory(row, json);
	json_put_number(json, "roof_flop_per_s", row->roof_flops);
	json_put_number(json, "roof_memory_byte_per_s", row->roof_memory_bytes);
	json_put_number(json, "roof_cache_byte_per_s", row->roof_cache_bytes);
	put_time(&row->time[MODEL_FORWARD], "forward", json);
	put_time(&row->time[MODEL_BACKWARD], "backward", json);
	json_array_begin(json, "layers");
	for (size_t i = 0; i < row->layers.len; i++)
		put_layer(row, &row->layers.items[i], json);
	json_array_end(json);
	json_array_begin(json, "operators");
	for (size_t i = 0; i < row->ops.len; i++)
		put_op(row, &row->ops.items[i], json);
	json_array_end(json);
	json_array_begin(json, "notes");
	for (size_t i = 0; i < row->notes.len; i++)
		json_put_string(json, NULL, row->notes.items[i]);
	json_array_end(json);
	json_object_end(json);
}

void model_json_fits(const struct model_profile *profile, struct json *json)
{
	json_array_begin(json, "fits");
	for (size_t i = 0; i < profile->fits.len; i++) {
		const struct model_fit *fit = &profile->fits.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "model", fit->model);
		json_put_string(json, "variable", fit->variable);
		json_put_string(json, "quantity", fit->quantity);
		json_put_number(json, "exponent", fit->exponent);
		json_put_number(json, "low", fit->low);
		json_put_number(json, "high", fit->high);
		json_put_number(json, "r2", fit->r2);
		json_put_integer(json, "points", fit->points);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_whatifs(const struct model_view *view, struct json *json)
{
	json_array_begin(json, "what_if");
	for (size_t i = 0; i < view->whatif_count; i++) {
		const struct model_whatif *whatif = &view->whatifs[i];
		json_object_begin(json, NULL);
		json_put_string(json, "what", whatif->what);
		json_put_number(json, "factor", whatif->factor);
		json_put_integer(json, "operators", (int64_t)whatif->ops);
		json_put_number(json, "part_s", whatif->part_s);
		json_put_number(json, "old_s", whatif->old_s);
		json_put_number(json, "new_s", whatif->new_s);
		json_put_number(json, "ceiling_s", whatif->ceiling_s);
		json_object_end(json);
	}
	json_array_end(json);
}

void model_json_members(const struct model_view *view, struct json *json)
{
	json_array_begin(json, "models");
	for (size_t i = 0; i < view->profile->models.len; i++)
		put_model(&view->profile->models.items[i], json);
	json_array_end(json);
	model_json_fits(view->profile, json);
}

void model_json(const struct model_view *view, const struct render_options *options, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	(void)options;
	json_object_begin(&json, NULL);
	json_put_integer(&json, "schema_version", SCHEMA_VERSION);
	model_json_members(view, &json);
	put_whatifs(view, &json);
	json_object_end(&json);
	str_append_char(out, '\n');
}

void model_whatif_json(const struct model_view *view, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	json_object_begin(&json, NULL);
	json_put_integer(&json, "schema_version", SCHEMA_VERSION);
	put_whatifs(view, &json);
	json_object_end(&json);
	str_append_char(out, '\n');
}
