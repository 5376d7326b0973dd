/* test_table_statistics.c - running statistics, medians, selection and dictionaries against the long way round. */
#include "near.h"
#include "table/dictionary.h"
#include "table/pick.h"
#include "table_file.h"

#include <math.h>

enum { COLUMNS = 6, ROWS = 700 };

static double values[COLUMNS + 1][ROWS];

/* Columns of which some follow others, on top of a large mean; the last is the target. */
static void make_values(uint64_t seed)
{
	for (size_t row = 0; row < ROWS; row++) {
		double base[3];
		for (int i = 0; i < 3; i++)
			base[i] = (double)(table_random(&seed) % 10000) / 1000;
		values[0][row] = 1e6 + base[0];
		values[1][row] = base[0] * 2 + base[1] * 0.3;
		values[2][row] = base[1];
		values[3][row] = -base[1] + base[2] * 0.5;
		values[4][row] = 42;
		values[5][row] = base[2];
		values[6][row] = base[0] + base[1] * 2 + base[2] * 3;
	}
}

static double naive_correlation(const double *a, const double *b, size_t rows)
{
	double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;
	for (size_t i = 0; i < rows; i++) {
		mean_a += a[i] / (double)rows;
		mean_b += b[i] / (double)rows;
	}
	for (size_t i = 0; i < rows; i++) {
		ab += (a[i] - mean_a) * (b[i] - mean_b);
		aa += (a[i] - mean_a) * (a[i] - mean_a);
		bb += (b[i] - mean_b) * (b[i] - mean_b);
	}
	return fabs(ab / sqrt(aa * bb));
}

static void naive_choose(bool *dropped, double threshold)
{
	memset(dropped, 0, COLUMNS * sizeof(bool));
	for (;;) {
		double best = threshold;
		size_t first = 0, second = 0;
		for (size_t i = 0; i < COLUMNS; i++)
			for (size_t j = i + 1; j < COLUMNS; j++) {
				double r = i == 4 || j == 4 || dropped[i] || dropped[j]
						   ? 0
						   : naive_correlation(values[i], values[j], ROWS);
				if (r > best) {
					best = r;
					first = i;
					second = j;
				}
			}
		if (first == second)
			return;
		double a = naive_correlation(values[first], values[COLUMNS], ROWS);
		double b = naive_correlation(values[second], values[COLUMNS], ROWS);
		dropped[a < b ? first : second] = true;
	}
}

static void selection_over_chunks_is_that_of_the_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct memory memory = {0};
		struct pick pick;
		struct err err = {0};
		bool expected[COLUMNS];
		uint64_t random = seed;
		make_values(seed * 77);
		naive_choose(expected, 0.4);
		assert_int_equal(pick_init(&pick, COLUMNS + 1, true, &memory, &err), 0);
		for (size_t done = 0, rows; done < ROWS; done += rows) {
			const double *columns[COLUMNS + 1];
			rows = 1 + table_random(&random) % 300;
			rows = rows < ROWS - done ? rows : ROWS - done;
			for (size_t i = 0; i <= COLUMNS; i++)
				columns[i] = values[i] + done;
			pick_add(&pick, columns, rows);
		}
		pick_choose(&pick, 0.4);
		assert_memory_equal(pick.dropped, expected, sizeof(expected));
		pick_fini(&pick);
		assert_int_equal(memory.used, 0);
	}
}

static void a_tie_drops_the_second(void **state)
{
	struct memory memory = {0};
	struct pick pick;
	struct err err = {0};
	double a[] = {1, 2, 3, 4}, b[] = {1, 2, 3, 4}, target[] = {1, 3, 2, 5};
	const double *columns[] = {a, b, target};
	(void)state;
	assert_int_equal(pick_init(&pick, 3, true, &memory, &err), 0);
	pick_add(&pick, columns, 4);
	pick_choose(&pick, 0.5);
	assert_false(pick.dropped[0]);
	assert_true(pick.dropped[1]);
	pick_fini(&pick);
}

static void moments_merge_to_those_of_all(void **state)
{
	struct moments whole, merged = {0}, one = {0};
	uint64_t random = 3;
	(void)state;
	make_values(9);
	values[0][13] = values[0][99] = NAN;
	moments_of(values[0], ROWS, &whole);
	assert_int_equal(whole.count, ROWS - 2);
	for (size_t done = 0, rows; done < ROWS; done += rows) {
		struct moments part;
		rows = 1 + table_random(&random) % 90;
		rows = rows < ROWS - done ? rows : ROWS - done;
		moments_of(values[0] + done, rows, &part);
		moments_merge(&merged, &part);
		for (size_t i = 0; i < rows; i++)
			moments_add(&one, values[0][done + i]);
	}
	assert_near(merged.mean, whole.mean, 1e-9);
	assert_near(merged.m2, whole.m2, 1e-6);
	assert_near(one.m2, whole.m2, 1e-6);
	assert_true(merged.min == whole.min && merged.max == whole.max && one.min == whole.min);
	assert_near(moments_sd(&whole, true), sqrt(whole.m2 / (ROWS - 3)), 1e-12);
	double constant[] = {0.1, 0.1, 0.1};
	moments_of(constant, 3, &whole);
	assert_true(moments_sd(&whole, false) == 0);
}

static int compare_numbers(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static void the_median_is_the_middle(void **state)
{
	uint64_t seed = 17;
	(void)state;
	for (size_t count = 1; count < 400; count++) {
		double numbers[400], scratch[400], sorted[400];
		size_t kept = 0;
		for (size_t i = 0; i < count; i++) {
			numbers[i] =
				i % 7 == 5 ? (double)NAN : (double)(table_random(&seed) % (count < 200 ? 10 : 1000));
			if (!isnan(numbers[i]))
				sorted[kept++] = numbers[i];
		}
		qsort(sorted, kept, sizeof(double), compare_numbers);
		double expected = kept % 2 ? sorted[kept / 2] : (sorted[kept / 2 - 1] + sorted[kept / 2]) / 2;
		assert_near(moments_median(numbers, count, scratch), expected, 1e-12);
	}
	double nothing[] = {NAN}, scratch[1];
	assert_true(isnan(moments_median(nothing, 1, scratch)));
}

static void a_running_median_is_exact_while_it_is_short_and_close_after(void **state)
{
	struct memory memory = {0};
	struct sketch sketch;
	double scratch[SKETCH_ROOM], numbers[1000];
	(void)state;
	sketch_init(&sketch, 10, &memory);
	assert_true(isnan(sketch_median(&sketch, scratch)));
	for (int i = 0; i < 1000; i++)
		numbers[i] = (double)(i * 37 % 1000);
	sketch_add(&sketch, numbers, 1000);
	assert_near(sketch_median(&sketch, scratch), 499.5, 1e-12);
	for (int chunk = 1; chunk < 1000; chunk++) {
		for (int i = 0; i < 1000; i++)
			numbers[i] = (double)((uint32_t)(chunk * 1000 + i) * 2654435761u % 1000000);
		sketch_add(&sketch, numbers, 1000);
	}
	assert_near(sketch_median(&sketch, scratch), 500000, 25000);
	assert_true(sketch.count >= SKETCH_ROOM / 2 && sketch.count <= SKETCH_ROOM);
	sketch_fini(&sketch);
	/* Less room, less exact, but not wrong. */
	memory.budget = 2000;
	memory.peak = 0;
	sketch_init(&sketch, 10, &memory);
	for (int chunk = 0; chunk < 100; chunk++) {
		for (int i = 0; i < 1000; i++)
			numbers[i] = (double)((uint32_t)(chunk * 1000 + i) * 2654435761u % 1000000);
		sketch_add(&sketch, numbers, 1000);
	}
	assert_near(sketch_median(&sketch, scratch), 500000, 120000);
	assert_true(memory.peak <= 2000);
	sketch_fini(&sketch);
	assert_int_equal(memory.used, 0);
}

static void dictionaries_number_texts_in_order_and_keep_their_cap(void **state)
{
	struct memory memory = {0};
	struct dictionary dictionary;
	(void)state;
	dictionary_init(&dictionary, &memory, 1000);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 1500; i++) {
			char text[40];
			struct span span = {text, (uint32_t)snprintf(text, sizeof(text), "%*u", (int)(i % 30), i)};
			uint32_t code = dictionary_intern(&dictionary, span);
			assert_int_equal(code, i < 1000 ? i : COLUMN_OTHER);
			if (i < 1000) {
				struct span back = dictionary_text(&dictionary, code);
				assert_int_equal(back.length, span.length);
				assert_memory_equal(back.text, text, span.length);
			}
		}
	assert_int_equal(dictionary_count(&dictionary), 1000);
	assert_true(dictionary.refused);
	assert_memory_equal(dictionary_text(&dictionary, COLUMN_OTHER).text, "(other)", 7);
	dictionary_fini(&dictionary);
	assert_int_equal(memory.used, 0);
}

static void the_account_refuses_what_exceeds_it(void **state)
{
	struct memory memory = {.budget = 1 << 20};
	(void)state;
	char *small = memory_take(&memory, 1000), *large = memory_take(&memory, 500000);
	assert_non_null(small);
	assert_non_null(large);
	assert_null(memory_take(&memory, 600000));
	assert_int_equal(memory.used, 501000);
	memset(large, 7, 500000);
	large = memory_resize(&memory, large, 500000, 900000);
	assert_non_null(large);
	assert_true(large[0] == 7 && large[499999] == 7);
	assert_null(memory_resize(&memory, large, 900000, 2000000));
	assert_int_equal(memory.used, 901000);
	large = memory_resize(&memory, large, 900000, 100);
	assert_true(large[99] == 7);
	memory_give(&memory, large, 100);
	memory_give(&memory, small, 1000);
	assert_int_equal(memory.used, 0);
	assert_true(memory.peak == 901000 + 100); /* both, while it was moved */
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(selection_over_chunks_is_that_of_the_whole),
	cmocka_unit_test(a_tie_drops_the_second),
	cmocka_unit_test(moments_merge_to_those_of_all),
	cmocka_unit_test(the_median_is_the_middle),
	cmocka_unit_test(a_running_median_is_exact_while_it_is_short_and_close_after),
	cmocka_unit_test(dictionaries_number_texts_in_order_and_keep_their_cap),
	cmocka_unit_test(the_account_refuses_what_exceeds_it),
};

UNIT_MAIN(tests)
