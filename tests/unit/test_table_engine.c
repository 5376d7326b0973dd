/* test_table_engine.c - whole runs: the same result by any number of threads and chunks, limits that hold, models that learn. */
#include "near.h"
#include "table/engine.h"
#include "table_file.h"

#include <dirent.h>
#include <math.h>
#include <time.h>

/* A table of a known law: y = 3 a - 2 b + 10 where g is "x", 20 where "y", with gaps. */
static char *make_table(size_t rows, uint64_t seed)
{
	struct str text = {0};
	str_append(&text, "id,a,b,g,day,y\n");
	for (size_t i = 0; i < rows; i++) {
		double a = (double)(table_random(&seed) % 1000) / 10, b = (double)(table_random(&seed) % 1000) / 10;
		bool x = table_random(&seed) % 2;
		str_appendf(&text, "row%zu,", i);
		if (i % 97 == 5)
			str_append(&text, ",");
		else
			str_appendf(&text, "%g,", a);
		str_appendf(&text, "%g,%s,2020-01-%02d,%.17g\n", b, x ? "x" : "\"y\"", (int)(i % 28) + 1,
			    3 * (i % 97 == 5 ? 50 : a) - 2 * b + (x ? 10 : 20));
	}
	return str_take(&text);
}

static const char recipe_text[] = "target: y\n"
				  "derive:\n"
				  "  ab: a * b\n"
				  "  smooth: rolling_mean(a, 7)\n"
				  "  score: zscore(b)\n"
				  "  share: group_mean(a, g)\n"
				  "  leak: y * 2\n"
				  "  before: lag(y, 1)\n"
				  "select: {correlation: 0.9}\n";

struct seen {
	size_t calls, parts, split, most_rows;
	uint64_t rows, bytes;
	double sum; /* of all encoded cells, weighted by where they stand */
	double last_prediction;
	unsigned retries;
	char *spill;
	atomic_int *stop;
	int fail_at;
};

static int on_chunk(void *context, const struct engine_chunk *chunk, struct err *err)
{
	struct seen *seen = context;
	double *row = calloc(chunk->matrix->width + 1, sizeof(double));
	assert_int_equal(chunk->first_row, seen->rows);
	seen->calls++;
	seen->parts += chunk->part > 0;
	seen->split += chunk->memory_exceeded;
	seen->most_rows = chunk->rows > seen->most_rows ? chunk->rows : seen->most_rows;
	seen->retries = chunk->retries > seen->retries ? chunk->retries : seen->retries;
	for (size_t i = 0; i < chunk->rows; i++, seen->rows++) {
		matrix_row(chunk->matrix, i, row);
		for (size_t j = 0; j < chunk->matrix->width; j++)
			seen->sum += row[j] * (double)(seen->rows % 13 + j);
	}
	seen->bytes += chunk->input_bytes;
	if (chunk->predictions && chunk->rows)
		seen->last_prediction = chunk->predictions[chunk->rows - 1];
	if (chunk->spill_path && !seen->spill)
		seen->spill = strdup(chunk->spill_path);
	free(row);
	if (seen->stop)
		atomic_store(seen->stop, 1);
	return seen->fail_at && (int)seen->calls == seen->fail_at ? err_set(err, ERR_IO, "enough") : 0;
}

static int run(const char *table, const char *recipe_yaml, const struct engine_settings *settings,
	       enum engine_mode mode, struct seen *seen, struct engine_result *result, struct err *err)
{
	char *path = table_file("table.csv", table, strlen(table));
	struct recipe *recipe = NULL;
	struct engine *engine = NULL;
	struct engine_watcher watcher = {on_chunk, seen};
	*err = (struct err){0};
	*result = (struct engine_result){0};
	int code = recipe_parse(recipe_yaml, strlen(recipe_yaml), "r.yaml", &recipe, err);
	if (!code)
		code = engine_open(path, recipe, settings, &engine, err);
	if (!code)
		code = engine_run(engine, mode, &watcher, result, err);
	engine_close(engine);
	recipe_free(recipe);
	table_file_remove(path);
	return code;
}

static bool has(char *const *texts, size_t count, const char *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(texts[i], wanted))
			return true;
	return false;
}

static void threads_change_nothing(void **state)
{
	char *table = make_table(20000, 1);
	(void)state;
	for (int alone = 0; alone < 2; alone++) {
		struct seen first = {0};
		struct engine_result one;
		struct err err;
		struct engine_settings settings = {.chunk_rows = 700, .threads = 1, .per_chunk = alone};
		assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &first, &one, &err), 0);
		assert_int_equal(one.rows, 20000);
		assert_int_equal(one.chunks, 29);
		for (unsigned threads = 2; threads <= 4; threads++) {
			struct seen seen = {0};
			struct engine_result result;
			settings.threads = threads;
			assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err), 0);
			assert_int_equal(seen.rows, 20000);
			assert_true(seen.sum == first.sum);
			assert_true(result.model.r2 == one.model.r2);
			assert_int_equal(result.features.len, one.features.len);
			engine_result_fini(&result);
		}
		engine_result_fini(&one);
	}
	free(table);
}

static void running_statistics_end_where_batch_does(void **state)
{
	char *table = make_table(5000, 2);
	struct seen streamed = {0}, whole = {0};
	struct engine_result stream, batch;
	struct engine_settings settings = {.chunk_rows = 64, .threads = 2};
	struct err err;
	(void)state;
	const char *recipe = "target: y\nderive: {ab: a * b, half: a / 2 + b / 100}\n";
	assert_int_equal(run(table, recipe, &settings, ENGINE_STREAMING, &streamed, &stream, &err), 0);
	assert_int_equal(run(table, recipe, &settings, ENGINE_BATCH, &whole, &batch, &err), 0);
	assert_int_equal(whole.calls, 1);
	assert_int_equal(batch.features.len, stream.features.len);
	for (size_t i = 0; i < batch.features.len; i++)
		assert_string_equal(batch.features.items[i], stream.features.items[i]);
	assert_int_equal(batch.dropped.len, stream.dropped.len);
	/* Every byte of the file but the header went into some chunk. */
	assert_int_equal(streamed.bytes, strlen(table) - strlen("id,a,b,g,day,y\n"));
	engine_result_fini(&stream);
	engine_result_fini(&batch);
	free(table);
}

static void models_find_the_law(void **state)
{
	char *table = make_table(20000, 3);
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 128, .threads = 1, .seed = 5};
	struct err err;
	(void)state;
	const char *recipe = "target: y\ncolumns: {day: skip}\n";
	assert_int_equal(run(table, recipe, &settings, ENGINE_BATCH, &seen, &result, &err), 0);
	assert_true(result.model.known);
	assert_true(result.model.r2 > 0.9999);
	assert_true(result.model.rows > 3500 && result.model.rows < 4500);
	engine_result_fini(&result);
	seen = (struct seen){0};
	assert_int_equal(run(table, recipe, &settings, ENGINE_STREAMING, &seen, &result, &err), 0);
	assert_true(result.model.r2 > 0.97 && result.model.r2 < 1);
	assert_int_equal(result.model.rows, 20000 - 128);
	for (size_t i = 0; i < result.model.weights.len; i++)
		if (strcmp(result.model.weights.items[i].name, "b") == 0)
			assert_true(result.model.weights.items[i].weight < -50); /* -2 per unit, 28.9 units per sd */
	engine_result_fini(&result);
	free(table);
}

static void what_is_made_from_the_target_is_kept_from_the_model_and_said(void **state)
{
	char *table = make_table(3000, 4), *honest = strdup(recipe_text);
	struct str open = {0};
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 100, .threads = 1};
	struct err err;
	(void)state;
	assert_int_equal(run(table, honest, &settings, ENGINE_BATCH, &seen, &result, &err), 0);
	assert_true(has(result.warnings.items, result.warnings.len, "target leakage: the row's own y went into leak;"));
	for (size_t i = 0; i < result.model.weights.len; i++)
		assert_string_not_equal(result.model.weights.items[i].name, "leak");
	assert_true(has(result.features.items, result.features.len, "leak"));
	engine_result_fini(&result);
	str_appendf(&open, "%smodel: {use_target_derived: true}\n", recipe_text);
	seen = (struct seen){0};
	assert_int_equal(run(table, str_text(&open), &settings, ENGINE_BATCH, &seen, &result, &err), 0);
	bool used = false;
	for (size_t i = 0; i < result.model.weights.len; i++)
		used |= strcmp(result.model.weights.items[i].name, "leak") == 0;
	assert_true(used && result.model.r2 > 0.999999);
	assert_true(has(result.warnings.items, result.warnings.len, "its quality means little"));
	engine_result_fini(&result);
	str_fini(&open);
	free(honest);
	free(table);
}

static void a_memory_limit_splits_chunks_and_holds(void **state)
{
	char *table = make_table(60000, 5);
	struct seen seen = {0}, free_run = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 40000, .threads = 2};
	struct err err;
	(void)state;
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &free_run, &result, &err), 0);
	size_t unlimited = result.memory_peak_bytes;
	engine_result_fini(&result);
	settings.max_memory_bytes = 6 << 20;
	assert_true(unlimited > settings.max_memory_bytes);
	if (run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err))
		fail_msg("%s", err.text);
	assert_int_equal(result.rows, 60000);
	assert_int_equal(result.chunks, 2);
	assert_true(seen.parts > 0 && seen.retries >= 1 && seen.retries <= 3);
	assert_true(result.memory_peak_bytes <= settings.max_memory_bytes);
	engine_result_fini(&result);
	seen = (struct seen){0};
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_BATCH, &seen, &result, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "does not fit 6 MB at once"));
	engine_result_fini(&result);
	free(table);
}

static void what_does_not_fit_after_three_halvings_is_spilled_or_refused(void **state)
{
	char *table = make_table(60000, 6);
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 60000, .threads = 1, .max_memory_bytes = 2 << 20};
	struct err err = {0};
	char *folder = file_make_temp_dir(&err);
	(void)state;
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "let it spill to disk"));
	engine_result_fini(&result);
	settings.spill_dir = folder;
	seen = (struct seen){0};
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err), 0);
	assert_int_equal(result.rows, 60000);
	assert_int_equal(result.spills, 1);
	assert_true(result.memory_peak_bytes <= settings.max_memory_bytes);
	assert_non_null(seen.spill);
	char *text;
	size_t size, lines = 0;
	assert_int_equal(file_read(seen.spill, 1 << 28, &text, &size, &err), 0);
	assert_true(str_starts(text, "id,a,b,g,day,y,ab,smooth,score,share,leak,before\n"));
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	assert_int_equal(lines, 60001);
	free(text);
	unlink(seen.spill);
	rmdir(folder);
	free(seen.spill);
	free(folder);
	engine_result_fini(&result);
	free(table);
}

static void a_compute_limit_limits_the_cpu(void **state)
{
	char *table = make_table(60000, 7);
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 500, .threads = 2, .max_compute = 0.05};
	struct err err;
	(void)state;
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err), 0);
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	assert_true((double)result.cpu_ns <= 0.05 * cpus * (double)result.wall_ns * 1.3);
	engine_result_fini(&result);
	free(table);
}

static void a_stop_or_a_refusal_ends_the_run_with_what_was_done(void **state)
{
	char *table = make_table(5000, 8);
	atomic_int stop = 0;
	struct seen seen = {.stop = &stop};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 500, .threads = 2, .stop = &stop};
	struct err err;
	(void)state;
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err), ERR_INTERRUPTED);
	assert_int_equal(result.rows, 500);
	assert_true(result.features.len > 0);
	engine_result_fini(&result);
	seen = (struct seen){.fail_at = 3};
	settings.stop = NULL;
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err), ERR_IO);
	assert_string_equal(err.text, "enough");
	assert_int_equal(result.rows, 1500);
	engine_result_fini(&result);
	free(table);
}

static void a_batch_is_given_up_in_the_middle(void **state)
{
	char *table = make_table(5000, 8);
	atomic_int stop = 1;
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.threads = 2, .stop = &stop};
	struct err err;
	(void)state;
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_BATCH, &seen, &result, &err), ERR_INTERRUPTED);
	assert_non_null(strstr(err.text, "interrupted in a batch"));
	assert_int_equal(seen.calls, 0);
	assert_int_equal(result.rows, 0);
	engine_result_fini(&result);
	free(table);
}

static void a_bad_row_far_inside_is_an_error_with_its_line(void **state)
{
	char *table = make_table(30000, 9);
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 500, .threads = 3};
	struct err err;
	(void)state;
	char *row = strstr(table, "row25000,");
	row[3] = ',';
	assert_int_equal(run(table, recipe_text, &settings, ENGINE_STREAMING, &seen, &result, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "line 25002: 7 cells where the header has 6"));
	engine_result_fini(&result);
	free(table);
}

static void small_tables_have_results_too(void **state)
{
	static const char *const tables[] = {"a,b\n", "a,b\n1,2\n", "a\n\n", "a,b\nx,y\nx,z\n"};
	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (int mode = 0; mode < 2; mode++) {
			struct seen seen = {0};
			struct engine_result result;
			struct engine_settings settings = {0};
			struct err err;
			assert_int_equal(
				run(tables[i], "missing: {number: median}\n", &settings, mode, &seen, &result, &err),
				0);
			assert_int_equal(result.rows, i == 3 ? 2 : i > 0);
			engine_result_fini(&result);
		}
}

static void a_dictionary_has_a_cap_and_a_bucket(void **state)
{
	char *table = make_table(3000, 10);
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 3000, .per_chunk = true, .dictionary_cap = 100};
	struct err err;
	(void)state;
	/* 3000 ids, 100 of which fit: 101 values. */
	assert_int_equal(run(table, "columns: {id: text}\nencode: {most_values: 200}\n", &settings, ENGINE_STREAMING,
			     &seen, &result, &err),
			 0);
	assert_true(has(result.features.items, result.features.len, "id__(other)"));
	assert_true(has(result.features.items, result.features.len, "id__row99"));
	assert_false(has(result.features.items, result.features.len, "id__row100"));
	assert_true(has(result.warnings.items, result.warnings.len, "id: more than 100 distinct values"));
	engine_result_fini(&result);
	free(table);
}

static int note_cells(void *context, const struct engine_chunk *chunk, struct err *err)
{
	struct str *out = context;
	char buffer[COLUMN_FORMAT_SIZE];
	(void)err;
	for (size_t row = 0; row < chunk->rows; row++)
		for (size_t i = 0; i < chunk->frame->count; i++) {
			struct span cell = column_format(&chunk->frame->columns[i], row, buffer);
			str_append_bytes(out, cell.text, cell.length);
			str_append_char(out, i + 1 == chunk->frame->count ? '/' : '|');
		}
	for (size_t i = 0; i < chunk->frame->count; i++)
		str_appendf(out, "%d ", (int)chunk->frame->columns[i].missing);
	return 0;
}

static void gaps_are_filled_by_the_recipe(void **state)
{
	static const char *const cases[][2] = {{"median", "1|x|7/3|Unknown_t|7/3|y|5/8|Unknown_t|7/1 2 3 "},
					       {"mean", "1|x|7/4|Unknown_t|7/3|y|5/8|Unknown_t|7/1 2 3 "},
					       {"zero", "1|x|7/0|Unknown_t|7/3|y|5/8|Unknown_t|7/1 2 3 "},
					       {"keep", "1|x|7/|Unknown_t|7/3|y|5/8|Unknown_t|7/1 2 3 "}};
	const char *table = "a,t,n\n1,x,\n,,NA\n3,y,5\n8,,?\n";
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char *path = table_file("table.csv", table, strlen(table));
		char *yaml = mem_printf(
			"input: {missing: ['', NA, '?']}\nmissing: {number: %s}\ncolumns: {n: {type: number, "
			"missing: 7}}\n",
			cases[i][0]);
		struct recipe *recipe = NULL;
		struct engine *engine = NULL;
		struct engine_settings settings = {.per_chunk = true};
		struct engine_result result;
		struct err err = {0};
		struct str got = {0};
		assert_int_equal(recipe_parse(yaml, strlen(yaml), "r", &recipe, &err), 0);
		assert_int_equal(engine_open(path, recipe, &settings, &engine, &err), 0);
		struct engine_watcher watcher = {note_cells, &got};
		assert_int_equal(engine_run(engine, ENGINE_BATCH, &watcher, &result, &err), 0);
		assert_string_equal(str_text(&got), cases[i][1]);
		str_fini(&got);
		engine_result_fini(&result);
		engine_close(engine);
		recipe_free(recipe);
		free(yaml);
		table_file_remove(path);
	}
}

static void what_overflows_is_missing_and_spoils_nothing(void **state)
{
	char *table = make_table(2000, 11);
	struct seen seen = {0};
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 100};
	struct err err;
	(void)state;
	const char *recipe = "target: y\nderive: {huge: exp(a * 100), larger: huge * 10, from_day: day(day) ^ 900}\n";
	assert_int_equal(run(table, recipe, &settings, ENGINE_STREAMING, &seen, &result, &err), 0);
	assert_true(isfinite(seen.sum) && isfinite(result.model.r2) && result.model.r2 > 0.5);
	engine_result_fini(&result);
	seen = (struct seen){0};
	assert_int_equal(run(table, recipe, &settings, ENGINE_BATCH, &seen, &result, &err), 0);
	assert_true(isfinite(seen.sum) && isfinite(result.model.r2));
	engine_result_fini(&result);
	free(table);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(threads_change_nothing),
	cmocka_unit_test(running_statistics_end_where_batch_does),
	cmocka_unit_test(models_find_the_law),
	cmocka_unit_test(what_is_made_from_the_target_is_kept_from_the_model_and_said),
	cmocka_unit_test(a_memory_limit_splits_chunks_and_holds),
	cmocka_unit_test(what_does_not_fit_after_three_halvings_is_spilled_or_refused),
	cmocka_unit_test(a_compute_limit_limits_the_cpu),
	cmocka_unit_test(a_stop_or_a_refusal_ends_the_run_with_what_was_done),
	cmocka_unit_test(a_batch_is_given_up_in_the_middle),
	cmocka_unit_test(a_bad_row_far_inside_is_an_error_with_its_line),
	cmocka_unit_test(small_tables_have_results_too),
	cmocka_unit_test(a_dictionary_has_a_cap_and_a_bucket),
	cmocka_unit_test(gaps_are_filled_by_the_recipe),
	cmocka_unit_test(what_overflows_is_missing_and_spoils_nothing),
};

UNIT_MAIN(tests)
