/* test_pipeline_files.c - the pipelines that the project ships load: starter, example, and the one in the manual. */
#include "base/file.h"
#include "base/str.h"
#include "config/overlay.h"
#include "unit.h"

static struct pipeline *load(const char *path)
{
	struct pipeline *pipeline;
	struct err err = {0};
	if (pipeline_load(path, NULL, NULL, &pipeline, &err) != 0)
		fail_msg("%s", err.text);
	return pipeline;
}

static void the_starter_loads(void **state)
{
	(void)state;
	struct pipeline *p = load("docs/pipeline-starter.yaml");
	assert_string_equal(p->name, "starter");
	assert_int_equal(p->stages.len, 3);
	assert_non_null(strstr(p->stages.items[0].shell, "seq '200000' | awk '{ print $1"));
	pipeline_free(p);
}

static void the_seeds_example_has_its_stages_metrics_and_thresholds(void **state)
{
	(void)state;
	static const char *const stages[] = {"fetch-dataset", "fetch-dinov3", "label-targets", "generate-dataset",
					     "check-dataset", "train",        "infer",         "eval",
					     "review"};
	static const char *const metrics[] = {"run_grade_0_100", "precision_proxy", "recall_proxy", "miss_rate_proxy"};
	static const char *const gates[] = {"min_run_grade_delta", "max_precision_drop", "max_recall_drop",
					    "max_miss_rate_increase", "max_total_duration_increase_pct"};
	struct pipeline *p = load("examples/seed/pipeline.yaml");
	assert_int_equal(p->stages.len, 9);
	for (size_t i = 0; i < 9; i++)
		assert_string_equal(p->stages.items[i].name, stages[i]);
	assert_string_equal(p->stages.items[2].manual, "requires GUI");
	assert_string_equal(p->stages.items[8].manual, "requires GUI");
	assert_int_equal(p->stages.items[3].needs.len, 2);
	assert_int_equal(p->quality.len, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(p->quality.items[i].name, metrics[i]);
	assert_int_equal(p->gates.len, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(p->gates.items[i].name, gates[i]);
	assert_string_equal(pipeline_param(p, "train_epochs")->value, "50");
	assert_int_equal(p->profile.gpu, 1);
	pipeline_free(p);
}

static void the_seeds_copy_has_its_overrides_and_absolute_paths(void **state)
{
	(void)state;
	char folder[] = "/tmp/pitot-seed-XXXXXX";
	assert_non_null(mkdtemp(folder));
	struct param_override values[] = {
		{.name = "dataset", .value = "coco32", .source = "--dataset"},
		{.name = "train-epochs", .value = "10", .source = "--train-epochs"},
	};
	struct pipeline_overrides overrides = {.values = {values, 2, 2}};
	struct pipeline *p;
	struct err err;
	assert_int_equal(pipeline_load("examples/seed/pipeline.yaml", &overrides, folder, &p, &err), 0);
	assert_int_equal(overlay_write_all(p, folder, &err), 0);
	const char *path = pipeline_param(p, "config")->value;
	char *text, *data = mem_printf("\"data\": \"%s/work/data\"", p->dir);
	size_t size;
	assert_int_equal(file_read(path, 1 << 20, &text, &size, &err), 0);
	assert_non_null(strstr(text, "\"dataset\": \"coco32\""));
	assert_non_null(strstr(text, "\"epochs\": 10"));
	assert_non_null(strstr(text, "\"wandb_enabled\": false"));
	assert_non_null(strstr(text, data));
	unlink(path);
	rmdir(folder);
	free(data);
	free(text);
	pipeline_free(p);
}

static void the_manuals_example_loads(void **state)
{
	(void)state;
	char *text;
	size_t size;
	struct err err = {0};
	assert_int_equal(file_read("docs/man/pitot-pipeline.5", 1 << 20, &text, &size, &err), 0);
	char *start = strstr(text, ".Sh EXAMPLES\n.Bd -literal\n");
	assert_non_null(start);
	start = strstr(start, "name:");
	char *end = strstr(start, "\n.Ed");
	struct pipeline *p;
	if (pipeline_parse(start, (size_t)(end + 1 - start), "manual", NULL, NULL, &p, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(p->stages.len, 4);
	assert_int_equal(p->quality.len, 3);
	pipeline_free(p);
	free(text);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_starter_loads),
	cmocka_unit_test(the_seeds_example_has_its_stages_metrics_and_thresholds),
	cmocka_unit_test(the_seeds_copy_has_its_overrides_and_absolute_paths),
	cmocka_unit_test(the_manuals_example_loads),
};

UNIT_MAIN(tests)
