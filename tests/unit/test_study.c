/* test_study.c - what surrounds the tabular engine and needs no table: sizes, samples of chunks, quality of number columns. */
#include "base/mem.h"
#include "table/chunk_sample.h"
#include "table/quality.h"
#include "table/sizes.h"
#include "unit.h"

#include <math.h>

static void sizes_shrink_with_the_limits_and_have_a_floor(void **state)
{
	static const struct {
		size_t asked;
		double memory, compute;
		uint64_t table;
		size_t want;
	} cases[] = {{128, 0, 1, 0, 128},       {128, 1024, 1, 0, 128}, {128, 4096, 1, 0, 128}, {128, 512, 1, 0, 64},
		     {1000, 64, 1, 0, 100},     {1000, 1, 1, 0, 100},   {100, 0, 0.5, 0, 50},   {100, 512, 0.5, 0, 25},
		     {128, 64, 0.05, 0, 16},    {10, 0, 1, 0, 16},      {128, 0, 1, 100, 100},  {128, 0, 1, 7, 7},
		     {100000, 256, 1, 0, 25000}};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			sizes_rows(cases[i].asked, sizes_scale(cases[i].memory, cases[i].compute), cases[i].table),
			cases[i].want);
}

static void a_sample_of_chunks_is_even_and_bounded(void **state)
{
	enum { CHUNKS = 3 * CHUNK_SAMPLE_MOST + 17 };
	struct chunk_sample *sample = chunk_sample_new();
	(void)state;
	for (size_t i = 0; i < CHUNKS; i++) {
		struct engine_chunk chunk = {.id = i, .rows = 2, .latency_ns = i, .input_bytes = 10};
		chunk_sample_add(sample, &chunk);
	}
	assert_int_equal(sample->seen, CHUNKS);
	assert_int_equal(sample->rows, 2 * CHUNKS);
	assert_int_equal(sample->input_bytes, 10 * CHUNKS);
	assert_int_equal(sample->longest_ns, CHUNKS - 1);
	assert_int_equal(sample->stride, 4);
	assert_int_equal(sample->count, (CHUNKS + 3) / 4);
	for (size_t i = 0; i < sample->count; i++)
		assert_int_equal(sample->notes[i].id, 4 * i);
	chunk_sample_free(sample);
}

static double number_at(size_t row)
{
	return row % 10 == 0 ? 1000 : (double)(row * 7919 % 101) + (row > 500 ? 50 : 0);
}

static struct frame make_frame(struct column *column, double *values, size_t from, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		values[i] = number_at(from + i);
	*column = (struct column){.name = "x", .kind = COLUMN_NUMBER, .numbers = values, .missing = rows / 10};
	return (struct frame){.rows = rows, .columns = column, .count = 1};
}

static void a_stream_that_fits_is_judged_like_a_batch(void **state)
{
	enum { ROWS = 1000, STEP = 37 };
	double values[ROWS];
	struct column column;
	struct quality whole, stream;
	struct quality_sample *sample = quality_sample_new();
	(void)state;
	for (size_t at = 0; at < ROWS; at += STEP) {
		size_t rows = ROWS - at < STEP ? ROWS - at : STEP;
		struct frame frame = make_frame(&column, values, at, rows);
		quality_sample_add(sample, &frame);
	}
	quality_sample_end(sample, "x", &stream);
	struct frame frame = make_frame(&column, values, 0, ROWS);
	quality_of_frame(&frame, "x", &whole);
	assert_false(stream.sampled);
	assert_string_equal(stream.target, "x");
	assert_true(whole.outlier_rate == 0.1 && stream.outlier_rate == 0.1);
	assert_true(stream.columns.items[0].ks == whole.columns.items[0].ks && whole.columns.items[0].ks > 0.2);
	assert_true(stream.columns.items[0].mean_shift == whole.columns.items[0].mean_shift);
	assert_true(isnan(whole.columns.items[0].l1));
	quality_fini(&whole);
	quality_fini(&stream);
}

static void a_long_stream_is_sampled_evenly_in_bounded_memory(void **state)
{
	enum { STEP = 4096, STEPS = 200 };
	double *values = mem_alloc(STEP * sizeof(*values));
	struct column column;
	struct quality stream;
	struct quality_sample *sample = quality_sample_new();
	(void)state;
	for (size_t at = 0; at < STEPS; at++) {
		struct frame frame = make_frame(&column, values, at * STEP, STEP);
		for (size_t i = 0; i < STEP; i++)
			values[i] = (double)(at * STEP + i);
		quality_sample_add(sample, &frame);
	}
	quality_sample_end(sample, NULL, &stream);
	assert_true(stream.sampled);
	assert_int_equal(stream.rows, STEP * STEPS);
	assert_true(stream.rows_used <= QUALITY_BYTES / sizeof(double) && stream.rows_used > 50000);
	/* 0, 1, 2, …: the means of the halves are known. */
	double half = STEP * STEPS / 2.0;
	assert_true(fabs(stream.columns.items[0].early_mean - half / 2) < 20);
	assert_true(fabs(stream.columns.items[0].mean_shift - half) < 20);
	assert_true(stream.columns.items[0].ks == 1);
	quality_fini(&stream);
	free(values);
}

static void what_the_reader_met_is_a_problem_of_the_schema(void **state)
{
	static const struct csv_counts fine, met = {.padded = 2, .skipped = 1, .renamed = 3};
	double value = 1;
	struct column column = {.name = "x", .kind = COLUMN_NUMBER, .numbers = &value, .missing = 1, .unparsed = 1};
	struct frame frame = {.rows = 1, .columns = &column, .count = 1};
	struct quality quality;
	(void)state;
	quality_of_frame(&frame, "x", &quality);
	quality_check_schema(&met, &quality);
	assert_int_equal(quality.problems.len, 5);
	assert_string_equal(quality.problems.items[0], "column 'x': 1 of 1 cells are no number");
	assert_string_equal(quality.problems.items[1], "column 'x' is empty");
	quality_fini(&quality);
	column.missing = column.unparsed = 0;
	quality_of_frame(&frame, "x", &quality);
	quality_check_schema(&fine, &quality);
	assert_int_equal(quality.problems.len, 0);
	quality_fini(&quality);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(sizes_shrink_with_the_limits_and_have_a_floor),
	cmocka_unit_test(a_sample_of_chunks_is_even_and_bounded),
	cmocka_unit_test(a_stream_that_fits_is_judged_like_a_batch),
	cmocka_unit_test(a_long_stream_is_sampled_evenly_in_bounded_memory),
	cmocka_unit_test(what_the_reader_met_is_a_problem_of_the_schema),
};

UNIT_MAIN(tests)
