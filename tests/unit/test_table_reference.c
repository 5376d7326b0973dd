/*
 * test_table_reference.c - the engine against results that were computed independently: every cell of the cleaned table, of the features
 * and of the encoded matrix, and each chunk of the streaming run. Exact for names, order, counts and texts; 1e-9 relative for numbers.
 *
 * The reference lies beside the project and is no part of it: without it these tests are skipped.
 */
#include "config/node.h"
#include "table/engine.h"
#include "table_file.h"

#include <math.h>

#define REFERENCE "../shared/data/nba2k/"

static bool is_absent(void)
{
	if (access(REFERENCE "nba2k-full.csv", R_OK) == 0)
		return false;
	printf("skip: no reference results in %s\n", REFERENCE);
	return true;
}

static void close_file(void *csv, void *block)
{
	csv_block_free(block);
	csv_close(csv);
}

/* A small CSV file as one block. */
static struct csv_block *read_expected(const char *name, struct csv **csv, struct memory *memory)
{
	struct csv_settings settings = {.block_bytes = 1 << 20};
	struct err err = {0};
	char *path = mem_printf(REFERENCE "%s", name);
	assert_int_equal(csv_open(path, &settings, memory, csv, &err), 0);
	struct csv_block *block = csv_block_new(*csv, &err);
	assert_int_equal(csv_block_cut(*csv, block, &err), 1);
	assert_int_equal(csv_block_split(*csv, block, NULL, &err), 0);
	free(path);
	return block;
}

static void assert_cell(struct span got, struct span expected, const char *column, size_t row)
{
	char *a = mem_strndup(got.text, got.length), *b = mem_strndup(expected.text, expected.length);
	double x, y;
	bool same = strcmp(a, b) == 0;
	if (!same && str_to_double(a, &x) && str_to_double(b, &y))
		same = fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
	if (!same)
		fail_msg("%s of row %zu is '%s', expected '%s'", column, row, a, b);
	free(a);
	free(b);
}

static void assert_frame(const struct frame *frame, const char *name)
{
	struct memory memory = {0};
	struct csv *csv;
	struct csv_block *block = read_expected(name, &csv, &memory);
	char buffer[COLUMN_FORMAT_SIZE];
	assert_int_equal(csv_block_rows(block), frame->rows);
	for (size_t i = 0; i < csv_column_count(csv); i++) {
		assert_string_equal(frame->columns[i].name, csv_column_name(csv, i));
		for (size_t row = 0; row < frame->rows; row++)
			assert_cell(column_format(&frame->columns[i], row, buffer), csv_block_cells(block, i)[row],
				    frame->columns[i].name, row);
	}
	close_file(csv, block);
}

static void assert_matrix(const struct engine_chunk *chunk, const char *name)
{
	const struct matrix *matrix = chunk->matrix;
	struct memory memory = {0};
	struct csv *csv;
	struct csv_block *block = read_expected(name, &csv, &memory);
	double *row = calloc(matrix->width + 1, sizeof(double));
	assert_int_equal(csv_column_count(csv), matrix->width + 1);
	assert_string_equal(csv_column_name(csv, matrix->width), "__target__");
	for (size_t i = 0; i < matrix->width; i++) {
		struct str text = {0};
		matrix_name(matrix, i, &text);
		assert_string_equal(str_text(&text), csv_column_name(csv, i));
		str_fini(&text);
	}
	for (size_t i = 0; i < matrix->rows; i++) {
		matrix_row(matrix, i, row);
		row[matrix->width] = chunk->target[i];
		for (size_t j = 0; j <= matrix->width; j++) {
			char text[40];
			struct span got = {text, (uint32_t)snprintf(text, sizeof(text), "%.17g", row[j])};
			assert_cell(got, csv_block_cells(block, j)[i], csv_column_name(csv, j), i);
		}
	}
	free(row);
	close_file(csv, block);
}

static int on_batch(void *context, const struct engine_chunk *chunk, struct err *err)
{
	(void)context, (void)err;
	assert_frame(chunk->frame, "expected_features.csv");
	/* The cleaned table is the same columns before the features; the rows are in order of version in the file already. */
	assert_frame(chunk->frame, "expected_cleaned.csv");
	assert_matrix(chunk, "expected_batch_X.csv");
	return 0;
}

static int on_stream(void *context, const struct engine_chunk *chunk, struct err *err)
{
	const struct node *expected = ((const struct node *)context)->items.items[chunk->id];
	const struct node *dropped = node_get(expected, "dropped");
	(void)err;
	assert_int_equal(chunk->rows, atoi(node_get(expected, "rows")->text));
	assert_int_equal(chunk->matrix->width, atoi(node_get(expected, "features")->text));
	assert_int_equal(chunk->dropped_count, dropped->items.len);
	for (size_t i = 0; i < chunk->dropped_count; i++)
		assert_string_equal(chunk->dropped[i], dropped->items.items[i]->text);
	static const char *const columns[] = {"salary_roll_mean", "salary_roll_std"}, *const keys[] = {"roll_mean_last",
												       "roll_std_last"};
	for (int i = 0; i < 2; i++) {
		double want = atof(node_get(expected, keys[i])->text);
		double got = frame_find(chunk->frame, columns[i])->numbers[chunk->rows - 1];
		assert_true(fabs(got - want) <= 1e-9 * fabs(want));
	}
	return 0;
}

static void assert_names(const struct node *expected, char *const *names, size_t count)
{
	assert_int_equal(count, expected->items.len);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(names[i], expected->items.items[i]->text);
}

static void compare(enum engine_mode mode, unsigned threads)
{
	struct recipe *recipe;
	struct engine *engine;
	struct engine_result result;
	struct engine_settings settings = {.chunk_rows = 128, .threads = threads, .per_chunk = true};
	struct node_tree *tree;
	struct err err = {0};
	char *text;
	size_t size;
	assert_int_equal(file_read(REFERENCE "expected.json", 1 << 20, &text, &size, &err), 0);
	assert_int_equal(node_parse(text, size, "expected.json", &tree, &err), 0);
	assert_int_equal(recipe_load("examples/features/nba2k.yaml", &recipe, &err), 0);
	assert_int_equal(engine_open(REFERENCE "nba2k-full.csv", recipe, &settings, &engine, &err), 0);
	const struct node *chunks = node_get(tree->root, "streaming_chunk_128");
	struct engine_watcher watcher = {mode == ENGINE_BATCH ? on_batch : on_stream, (void *)(uintptr_t)chunks};
	assert_int_equal(engine_run(engine, mode, &watcher, &result, &err), 0);
	assert_int_equal(result.rows, atoi(node_get(tree->root, "rows")->text));
	if (mode == ENGINE_BATCH) {
		assert_names(node_get(tree->root, "dropped_by_multicollinearity"), result.dropped.items,
			     result.dropped.len);
		assert_names(node_get(tree->root, "kept_numeric"), result.kept_numbers.items, result.kept_numbers.len);
	} else {
		assert_int_equal(result.chunks, chunks->items.len);
	}
	engine_result_fini(&result);
	engine_close(engine);
	recipe_free(recipe);
	node_tree_free(tree);
	free(text);
}

static void batch_is_the_reference_cell_by_cell(void **state)
{
	(void)state;
	if (is_absent())
		skip();
	compare(ENGINE_BATCH, 1);
}

static void streaming_is_the_reference_chunk_by_chunk(void **state)
{
	(void)state;
	if (is_absent())
		skip();
	compare(ENGINE_STREAMING, 1);
	compare(ENGINE_STREAMING, 3);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(batch_is_the_reference_cell_by_cell),
	cmocka_unit_test(streaming_is_the_reference_chunk_by_chunk),
};

UNIT_MAIN(tests)
