/*
 * page_model.c - "models" of the page's model: what `pitot model` counted and timed, with the machine's roof. See docs/page-model.md.
 */
#include "render/model.h"
#include "render/page_parts.h"
#include "store/model.h"

static void put_integer_or_null(struct json *json, const char *key, int64_t value)
{
	if (value < 0)
		json_put_null(json, key);
	else
		json_put_integer(json, key, value);
}

static void put_work(struct json *json, const struct work *work)
{
	json_put_integer(json, "parameters", work->parameters);
	json_put_integer(json, "macs", work->macs);
	json_put_integer(json, "causal_macs", work->causal_macs);
	json_put_integer(json, "point_ops", work->point_ops);
	json_put_integer(json, "weight_bytes", work->weight_bytes);
	json_put_integer(json, "read_bytes", work->read_bytes);
	json_put_integer(json, "written_bytes", work->written_bytes);
	json_put_integer(json, "flops", work_flops(work));
	json_put_number(json, "intensity", work_intensity(work));
}

/* null where it was not timed */
static void put_time(struct json *json, enum model_phase phase, const struct model_time *time)
{
	if (time->runs <= 0) {
		json_put_null(json, model_phase_name(phase));
		return;
	}
	json_object_begin(json, model_phase_name(phase));
	json_put_integer(json, "runs", time->runs);
	json_put_number(json, "median_s", time->median_s);
	json_put_number(json, "low_s", time->low_s);
	json_put_number(json, "high_s", time->high_s);
	json_put_number(json, "p90_s", time->p90_s);
	json_put_number(json, "p99_s", time->p99_s);
	json_put_number(json, "flops", time->flops);
	json_put_number(json, "bytes", time->bytes);
	json_put_number(json, "attainable_flops", time->attainable_flops);
	json_put_number(json, "efficiency", time->efficiency);
	json_put_string(json, "bound", time->bound);
	json_put_string(json, "doubt", time->doubt);
	json_put_string(json, "warning", time->warning);
	json_object_end(json);
}

static void put_times(struct json *json, const struct model_time *times)
{
	for (int phase = 0; phase < MODEL_PHASES; phase++)
		put_time(json, (enum model_phase)phase, &times[phase]);
}

static void put_ops(struct json *json, const struct model_row *model)
{
	json_array_begin(json, "ops");
	for (size_t i = 0; i < model->ops.len; i++) {
		const struct model_op_row *op = &model->ops.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "name", op->name);
		json_put_string(json, "type", op->type);
		json_put_string(json, "kind", op->kind);
		json_put_string(json, "layer", model->layers.items[op->layer].path);
		json_put_string(json, "input", op->input);
		json_put_string(json, "output", op->output);
		json_put_string(json, "unknown", op->unknown);
		put_work(json, &op->work);
		put_times(json, op->time);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_model(struct json *json, const struct model_row *model)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", model->name);
	json_put_string(json, "source", model->source);
	json_put_string(json, "sizes", model->sizes);
	json_put_string(json, "input", model->input);
	put_integer_or_null(json, "threads", model->threads);
	put_work(json, &model->work);
	json_put_integer(json, "uncounted", model->work.uncounted);
	put_integer_or_null(json, "weights_kept_bytes", model->weights_kept_bytes);
	put_integer_or_null(json, "inference_bytes", model->inference_bytes);
	put_integer_or_null(json, "training_bytes", model->training_bytes);
	put_integer_or_null(json, "measured_inference_bytes", model->measured_inference_bytes);
	put_integer_or_null(json, "measured_training_bytes", model->measured_training_bytes);
	json_put_number(json, "roof_flops", model->roof_flops);
	json_put_number(json, "roof_memory_bytes", model->roof_memory_bytes);
	json_put_number(json, "roof_cache_bytes", model->roof_cache_bytes);
	put_times(json, model->time);
	put_ops(json, model);
	json_array_begin(json, "notes");
	for (size_t i = 0; i < model->notes.len; i++)
		json_put_string(json, NULL, model->notes.items[i]);
	json_array_end(json);
	json_object_end(json);
}

int page_models(struct json *json, const struct opened_run *run, struct err *err)
{
	bool exists = false;
	struct model_profile *profile = NULL;
	int code = store_model_exists(run->record->path, &exists, err);
	if (!code && exists)
		code = store_model_load(run->record->path, &profile, err);
	if (code)
		return code;
	if (!profile) {
		str_append(json->out, "null");
		return 0;
	}
	json_object_begin(json, NULL);
	json_array_begin(json, "models");
	for (size_t i = 0; i < profile->models.len; i++)
		put_model(json, &profile->models.items[i]);
	json_array_end(json);
	model_json_fits(profile, json);
	json_object_end(json);
	model_profile_free(profile);
	return 0;
}
