/* test_overlay.c - configuration copies: what changes, what stays, and that the original is left alone. */
#include "base/file.h"
#include "base/str.h"
#include "config/overlay.h"
#include "unit.h"

#include <sys/stat.h>

struct place {
	char dir[64]; /* of the pipeline and the original */
	char copies[80];
};

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	strcpy(place->dir, "/tmp/pitot-overlay-XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	snprintf(place->copies, sizeof(place->copies), "%s/copies", place->dir);
	assert_int_equal(mkdir(place->copies, 0700), 0);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;
	static const char *const names[] = {"copies/0-c.json", "copies/1-c.json", "copies/0-c.yaml",
					    "copies",          "c.json",          "c.yaml"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = file_join(place->dir, names[i]);
		remove(path);
		free(path);
	}
	int code = rmdir(place->dir);
	free(place);
	return code;
}

static void write_file(const struct place *place, const char *name, const char *text)
{
	char *path = file_join(place->dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	free(path);
}

static char *read_back(const struct place *place, const char *name)
{
	char *path = file_join(place->dir, name), *text = NULL;
	size_t size;
	struct err err;
	if (file_read(path, 1 << 20, &text, &size, &err) != 0)
		fail_msg("%s", err.text);
	free(path);
	return text;
}

/* Loads a pipeline with this config block, given as the lines below "config:", and writes its copies. */
static int copy(const struct place *place, const char *config, struct pipeline **out, struct err *err)
{
	char *text = mem_printf("params: {dataset: coco32, epochs: 10, version: '7'}\nconfig:\n%s\n"
				"stages: [{name: a, run: 'use ${config}'}]\n",
				config);
	char *path = file_join(place->dir, "p.yaml");
	*out = NULL;
	int code = pipeline_parse(text, strlen(text), path, NULL, place->copies, out, err);
	if (!code)
		code = overlay_write_all(*out, place->copies, err);
	free(path);
	free(text);
	return code;
}

static char *copied(const struct place *place, const char *config, const char *name)
{
	struct pipeline *pipeline;
	struct err err = {0};
	if (copy(place, config, &pipeline, &err) != 0)
		fail_msg("%s", err.text);
	pipeline_free(pipeline);
	return read_back(place, name);
}

static void assert_refused(const struct place *place, const char *config, const char *words)
{
	struct pipeline *pipeline;
	struct err err = {0};
	assert_int_equal(copy(place, config, &pipeline, &err), ERR_INPUT);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not contain '%s'", err.text, words);
	pipeline_free(pipeline);
}

static const char original[] =
	"{\"z\": 1, \"run\": {\"dataset\": \"coco128\"}, \"train\": {\"epochs\": 50, \"lr\": 0.5},\n"
	" \"paths\": {\"data\": \"./data\", \"abs\": \"/srv\", \"url\": \"s3://b/k\", \"n\": 3},"
	" \"list\": [\"a\", {\"k\": 1}]}\n";

static void a_json_copy_has_the_settings_with_their_types_and_keeps_the_rest(void **state)
{
	struct place *place = *state;
	write_file(place, "c.json", original);
	char *got = copied(place,
			   "- file: c.json\n"
			   "  set:\n"
			   "    /run/dataset: '${dataset}'\n"
			   "    /train/epochs: \"${epochs}\"\n"
			   "    /train/wandb_enabled: false\n"
			   "    /train/note: \"10\"\n"
			   "    /train/version: ${version}\n"
			   "    /train/forced: !!str ${epochs}\n"
			   "    /train/mixed: \"${epochs}0\"\n"
			   "    /new/deep/value: 1.5\n"
			   "    /list/1/k: null\n"
			   "    /a~1b: x\n"
			   "  absolute: [/paths]",
			   "copies/0-c.json");
	char *want = mem_printf(
		"{\n  \"z\": 1,\n  \"run\": {\n    \"dataset\": \"coco32\"\n  },\n  \"train\": {\n    \"epochs\": 10,\n"
		"    \"lr\": 0.5,\n    \"wandb_enabled\": false,\n    \"note\": \"10\",\n    \"version\": \"7\",\n"
		"    \"forced\": \"10\",\n    \"mixed\": \"100\"\n  },\n"
		"  \"paths\": {\n    \"data\": \"%s/data\",\n    \"abs\": \"/srv\",\n    \"url\": \"s3://b/k\",\n"
		"    \"n\": 3\n  },\n  \"list\": [\n    \"a\",\n    {\n      \"k\": null\n    }\n  ],\n"
		"  \"new\": {\n    \"deep\": {\n      \"value\": 1.5\n    }\n  },\n  \"a/b\": \"x\"\n}\n",
		place->dir);
	assert_string_equal(got, want);
	free(got);
	free(want);
	got = read_back(place, "c.json");
	assert_string_equal(got, original);
	free(got);
	char *path = file_join(place->dir, "copies/0-c.json");
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	free(path);
}

static void a_yaml_copy_keeps_quotes_and_changes_no_other_alias(void **state)
{
	struct place *place = *state;
	write_file(place, "c.yaml",
		   "base: &b {epochs: 50, path: data/x}\n"
		   "train: *b\n"
		   "zip: '007'\n"
		   "paths: [./a, /b, 5, 'c d']\n"
		   "one: rel\n");
	char *got = copied(place,
			   "  file: c.yaml\n"
			   "  set: {/train/epochs: '${epochs}', /text: 'yes', /m/n: 2, /nothing: }\n"
			   "  absolute: [/paths, /one, /train/path]",
			   "copies/0-c.yaml");
	char *want = mem_printf("base: {epochs: 50, path: data/x}\n"
				"train: {epochs: 10, path: %s/data/x}\n"
				"zip: '007'\n"
				"paths: [%s/a, /b, 5, '%s/c d']\n"
				"one: %s/rel\n"
				"text: \"yes\"\n"
				"m:\n  n: 2\n"
				"nothing: null\n",
				place->dir, place->dir, place->dir, place->dir);
	assert_string_equal(got, want);
	free(got);
	free(want);
}

static void the_copys_path_is_a_parameter(void **state)
{
	struct place *place = *state;
	struct pipeline *pipeline;
	struct err err;
	write_file(place, "c.json", "{}");
	assert_int_equal(copy(place, "- {file: c.json}\n- {file: c.json, param: other}", &pipeline, &err), 0);
	char *want = mem_printf("use '%s/0-c.json'", place->copies);
	assert_string_equal(pipeline->stages.items[0].shell, want);
	free(want);
	want = mem_printf("%s/1-c.json", place->copies);
	assert_string_equal(pipeline_param(pipeline, "other")->value, want);
	assert_int_equal(access(want, R_OK), 0);
	free(want);
	pipeline_free(pipeline);
	static const char dry[] = "config: {file: c.json}\nstages: [{name: a, run: ['${config}']}]\n";
	assert_int_equal(pipeline_parse(dry, sizeof(dry) - 1, "p.yaml", NULL, NULL, &pipeline, &err), 0);
	assert_string_equal(pipeline->stages.items[0].argv.items[0], "<copy of c.json>");
	pipeline_free(pipeline);
}

static void what_cannot_be_applied_is_refused_with_pointer_and_line(void **state)
{
	struct place *place = *state;
	write_file(place, "c.json", original);
	write_file(place, "c.yaml", "a: 5\nl: [x]\nd: {e: {f: g}}\n");
	assert_refused(place, "- file: c.json\n  set:\n    /z/x: 1", "p.yaml:5: cannot set /z/x in '");
	assert_refused(place, "- file: c.json\n  set:\n    /z/x: 1", "/z is a number, neither a map nor a list");
	assert_refused(place, "- {file: c.json, set: {/list/7: 1}}", "/list/7 is not in the list");
	assert_refused(place, "- {file: c.json, set: {/list/01: 1}}", "/list/01 is not in the list");
	assert_refused(place, "- {file: c.json, absolute: [/none/x]}", "p.yaml:3: cannot make absolute /none/x");
	assert_refused(place, "- {file: c.json, absolute: [/z]}", "/z is not a text, nor a map or list of texts");
	assert_refused(place, "- {file: c.json, absolute: [/list]}", "/list holds maps or lists of its own");
	assert_refused(place, "- {file: c.yaml, set: {/a/x: 1}}", "/a is a single value");
	assert_refused(place, "- {file: c.yaml, set: {/l/1: 1}}", "/l/1 is not in the list");
	assert_refused(place, "- {file: c.yaml, absolute: [/no]}", "/no does not exist");
	assert_refused(place, "- {file: c.yaml, absolute: [/d]}", "holds maps or lists of its own");
	assert_refused(place, "- {file: c.json, set: {run.dataset: 1}}", "'run.dataset' is no JSON pointer");
	assert_refused(place, "- {file: c.json, set: {/a: [1]}}", "'/a' must be a text");
	assert_refused(place, "- {file: c.toml}", "only JSON and YAML files");
	assert_refused(place, "- {set: {/a: 1}}", "this config has no 'file'");
	assert_refused(place, "- {file: c.json, param: dataset}", "there is a parameter of that name already");
	assert_refused(place, "- {file: c.json}\n- {file: c.json}", "give this config another with 'param:'");
	assert_refused(place, "- {file: none.json}", "p.yaml:3: config: cannot open");
	write_file(place, "c.json", "{\"a\": }");
	assert_refused(place, "- {file: c.json}", "c.json:1: not valid JSON");
	write_file(place, "c.yaml", "a: [\n");
	assert_refused(place, "- {file: c.yaml}", "not valid YAML");
	write_file(place, "c.yaml", "a: 1\n---\nb: 1\n");
	assert_refused(place, "- {file: c.yaml}", "several documents");
	write_file(place, "c.yaml", "");
	assert_refused(place, "- {file: c.yaml}", "the file is empty");
}

static void a_copy_that_cannot_be_written_is_an_io_error(void **state)
{
	struct place *place = *state;
	struct pipeline *pipeline;
	struct err err;
	write_file(place, "c.json", "{}");
	assert_int_equal(copy(place, "- {file: c.json}", &pipeline, &err), 0);
	assert_int_equal(overlay_write_all(pipeline, "/nonexistent", &err), ERR_IO);
	assert_non_null(strstr(err.text, "cannot create configuration copy '/nonexistent/0-c.json'"));
	pipeline_free(pipeline);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_json_copy_has_the_settings_with_their_types_and_keeps_the_rest, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_yaml_copy_keeps_quotes_and_changes_no_other_alias, setup, teardown),
	cmocka_unit_test_setup_teardown(the_copys_path_is_a_parameter, setup, teardown),
	cmocka_unit_test_setup_teardown(what_cannot_be_applied_is_refused_with_pointer_and_line, setup, teardown),
	cmocka_unit_test_setup_teardown(a_copy_that_cannot_be_written_is_an_io_error, setup, teardown),
};

UNIT_MAIN(tests)
