/* test_store_model.c - profiled models come back from the run file as they went in, and damaged ones are refused. */
#include "unit.h"

#include "store/model.h"
#include "test_store_run.h"

#include <math.h>
#include <sqlite3.h>

static void sample_time(struct model_time *time, double seconds)
{
	*time = (struct model_time){.runs = 30,
				    .mean_s = seconds,
				    .sd_s = NAN,
				    .median_s = seconds,
				    .low_s = 0.9 * seconds,
				    .high_s = 1.1 * seconds,
				    .p90_s = NAN,
				    .p95_s = NAN,
				    .p99_s = NAN,
				    .flops = 1e9,
				    .bytes = NAN,
				    .attainable_flops = 2e9,
				    .efficiency = 0.5,
				    .bound = mem_strdup("compute-bound")};
}

static void sample(struct model_profile *profile)
{
	struct model_row *model = vec_add(&profile->models);
	model_row_init(model);
	model->name = mem_strdup("mlp");
	model->source = mem_strdup("architecture");
	model->sizes = mem_strdup("batch=32");
	model->input = mem_strdup("synthetic, seed 1");
	model->threads = 2;
	model->work.macs = model->work.causal_macs = 669706;
	model->measured_inference_bytes = 12345;
	sample_time(&model->time[MODEL_FORWARD], 1e-3);
	vec_push(&model->layers,
		 ((struct model_layer_row){.path = mem_strdup(""), .parent = -1, .time_s = {[MODEL_BACKWARD] = NAN}}));
	vec_push(&model->layers, ((struct model_layer_row){.path = mem_strdup("hidden"), .parent = 0}));
	vec_push(&model->ops, ((struct model_op_row){.layer = 1,
						     .name = mem_strdup("hidden.linear"),
						     .type = mem_strdup("Gemm"),
						     .kind = mem_strdup("linear"),
						     .input = mem_strdup("32×784"),
						     .fused_into = -1,
						     .work = {.parameters = 401920}}));
	sample_time(&model->ops.items[0].time[MODEL_FORWARD], 8e-4);
	sample_time(&model->ops.items[0].time[MODEL_BACKWARD], 2e-3);
	vec_push(&model->notes, mem_strdup("a note"));
	vec_push(&profile->fits, ((struct model_fit){.model = mem_strdup("mlp"),
						     .variable = mem_strdup("batch"),
						     .quantity = mem_strdup("forward_s"),
						     .exponent = 0.9,
						     .low = NAN,
						     .high = NAN,
						     .r2 = 0.99,
						     .points = 4}));
}

static void write_sample(const char *path)
{
	struct model_profile profile = {0};
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	struct err err = {0};
	struct stage_row stage = {.name = (char *)"mlp", .attempts = 1, .exit_code = 0};
	sample(&profile);
	int code = store_create(path, &run, &store, &err);
	if (!code)
		code = store_stage_begin(store, &stage, &err);
	if (!code)
		code = store_model_write(store, stage.id, &profile, &err);
	if (!code)
		code = store_finish(store, STATUS_OK, 1000, &err);
	model_profile_fini(&profile);
	if (code)
		fail_msg("%s", err.text);
}

static void models_come_back_as_they_went_in(void **state)
{
	(void)state;
	char *dir = run_folder_new(), *path = file_join(dir, "a.pitot");
	struct model_profile *profile = NULL;
	struct err err = {0};
	bool exists = false;
	write_sample(path);
	assert_int_equal(store_model_exists(path, &exists, &err), 0);
	assert_true(exists);
	if (store_model_load(path, &profile, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(profile->models.len, 1);
	const struct model_row *model = &profile->models.items[0];
	assert_string_equal(model->sizes, "batch=32");
	assert_null(model->path);
	assert_int_equal(model->threads, 2);
	assert_int_equal(model->work.macs, 669706);
	assert_int_equal(model->inference_op, -1);
	assert_int_equal(model->measured_inference_bytes, 12345);
	assert_true(isnan(model->roof_flops));
	assert_true(model->time[MODEL_FORWARD].median_s == 1e-3 && isnan(model->time[MODEL_FORWARD].p99_s));
	assert_int_equal(model->time[MODEL_BACKWARD].runs, 0);
	assert_int_equal(model->layers.len, 2);
	assert_int_equal(model->layers.items[0].parent, -1);
	assert_true(isnan(model->layers.items[0].time_s[MODEL_BACKWARD]));
	assert_string_equal(model->layers.items[1].path, "hidden");
	assert_string_equal(model->ops.items[0].type, "Gemm");
	assert_null(model->ops.items[0].unknown);
	assert_true(model->ops.items[0].time[MODEL_BACKWARD].median_s == 2e-3);
	assert_string_equal(model->ops.items[0].time[MODEL_FORWARD].bound, "compute-bound");
	assert_string_equal(model->notes.items[0], "a note");
	assert_string_equal(profile->fits.items[0].quantity, "forward_s");
	assert_true(profile->fits.items[0].exponent == 0.9);
	model_profile_free(profile);
	free(path);
	run_folder_free(dir);
}

static void what_points_nowhere_is_refused_with_words(void **state)
{
	(void)state;
	static const char *const damages[] = {"UPDATE model_layer SET parent = 1 WHERE position = 1",
					      "UPDATE model_layer SET parent = NULL",
					      "UPDATE model_op SET layer = 7",
					      "UPDATE model_op SET position = 3",
					      "UPDATE model_time SET op = 9 WHERE op = 0",
					      "UPDATE model_time SET model_id = 2",
					      "UPDATE model SET id = 5",
					      "UPDATE model SET macs = -1",
					      "UPDATE model_op SET parameters = 'many'"};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char *dir = run_folder_new(), *path = file_join(dir, "a.pitot");
		struct model_profile *profile = NULL;
		struct err err = {0};
		sqlite3 *db = NULL;
		write_sample(path);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, damages[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		if (store_model_load(path, &profile, &err) != ERR_INPUT)
			fail_msg("accepted: %s", damages[i]);
		assert_non_null(strstr(err.text, "damaged"));
		free(path);
		run_folder_free(dir);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(models_come_back_as_they_went_in),
	cmocka_unit_test(what_points_nowhere_is_refused_with_words),
};

UNIT_MAIN(tests)
