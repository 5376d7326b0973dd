/* test_table_memo.c - what is remembered by distinct text is what is computed row by row: values, missing, unparsed; and windows in
 * four lanes are windows. */
#include "table/expr_memo.h"
#include "table_file.h"

#include <math.h>

enum { ROWS = 3000, WIDTH = 48, BLOCKS = 4 };

static const char *const expressions[] = {
	"number(part(t, \" / \", 2))",     "date(t, \"%Y-%m-%d\")", "if(t == \"USA\", \"USA\", \"Not-USA\")",
	"number(replace(t, \"$\", \"\"))", "upper(trim(t))",        "year(date(t, \"%Y-%m-%d\"))",
	"length(t) + length(u)",           "concat(t, u)",          "if(is_missing(t), \"none\", t)",
};
enum { COUNT = sizeof(expressions) / sizeof(expressions[0]) };

struct bench {
	struct expr_set set;
	struct memory memory;
	uint32_t leaves[2], nodes[COUNT];
	struct expr_run plain, remembering;
	struct expr_memo *memo;
	struct span cells[2][ROWS];
	const struct span *columns[2];
	char bytes[2][ROWS * WIDTH + CSV_READABLE];
};

static uint32_t find(void *context, const char *name)
{
	return ((struct bench *)context)->leaves[strcmp(name, "t") != 0];
}

static struct bench *bench_new(size_t budget)
{
	struct bench *bench = mem_alloc(sizeof(*bench));
	struct expr_scope scope = {find, bench, (const char *const[]){"t", "u"}, 2};
	struct err err = {0};
	bench->memory.budget = budget;
	for (size_t i = 0; i < 2; i++) {
		struct expr_node leaf = {.op = EXPR_CELL, .type = COLUMN_TEXT, .leaf = i};
		bench->leaves[i] = expr_add(&bench->set, &leaf);
		bench->columns[i] = bench->cells[i];
	}
	for (size_t i = 0; i < COUNT; i++)
		if (expr_parse(&bench->set, expressions[i], &scope, &bench->nodes[i], &err))
			fail_msg("%s: %s", expressions[i], err.text);
	expr_run_init(&bench->plain, &bench->set, &bench->memory);
	expr_run_init(&bench->remembering, &bench->set, &bench->memory);
	bench->plain.cells = bench->remembering.cells = bench->columns;
	bench->memo = expr_memo_new(&bench->set, 2, &bench->memory, 1);
	assert_non_null(bench->memo);
	bench->remembering.memo = bench->memo;
	return bench;
}

static void bench_free(struct bench *bench)
{
	expr_run_fini(&bench->plain);
	expr_run_fini(&bench->remembering);
	expr_memo_free(bench->memo);
	expr_set_fini(&bench->set);
	assert_int_equal(bench->memory.used, 0);
	free(bench);
}

/* Cells of all lengths; `kinds` of them, or a new one in every row. */
static void bench_fill(struct bench *bench, size_t block, size_t kinds)
{
	static const char *const fixed[] = {"", "USA", "x", "2020-02-29", "6-9 / 2.06", "237 lbs. / 107.5", "$1954897"};
	for (size_t column = 0; column < 2; column++)
		for (size_t row = 0; row < ROWS; row++) {
			char *at = bench->bytes[column] + row * WIDTH;
			size_t kind = kinds ? (row * 7 + column) % kinds : block * ROWS + row;
			if (kind < sizeof(fixed) / sizeof(fixed[0]))
				snprintf(at, WIDTH, "%s", fixed[kind]);
			else
				snprintf(at, WIDTH, "%.*s / %zu", (int)(kind % 37),
					 "the same words for all of these texts", kind);
			bench->cells[column][row] = (struct span){at, (uint32_t)strlen(at)};
			memset(at + strlen(at), '#', WIDTH - strlen(at)); /* what follows a cell is no part of it */
		}
}

static struct span text_of(const struct expr_value *value, size_t row)
{
	return value->texts ? value->texts[row] : dictionary_text(value->values, value->codes[row]);
}

/* Whether the column was remembered in the last block is how its value says so: by codes, or by a table. */
static void compare(struct bench *bench, size_t number)
{
	struct err err = {0};
	uint32_t node = bench->nodes[number];
	assert_int_equal(expr_eval(&bench->plain, node, &err), 0);
	assert_int_equal(expr_eval(&bench->remembering, node, &err), 0);
	const struct expr_value *a = &bench->plain.values[node], *b = &bench->remembering.values[node];
	for (size_t row = 0; row < ROWS; row++) {
		if (bench->set.nodes.items[node].type == COLUMN_TEXT) {
			struct span left = text_of(a, row), right = text_of(b, row);
			assert_int_equal(left.length, right.length);
			assert_memory_equal(left.text, right.text, left.length);
		} else {
			assert_memory_equal(&a->numbers[row], &b->numbers[row], sizeof(double));
		}
	}
	if (bench->set.nodes.items[node].op == EXPR_CALL)
		assert_int_equal(a->unparsed, b->unparsed);
}

static void compare_blocks(size_t budget, size_t kinds, bool remembered)
{
	struct bench *bench = bench_new(budget);
	for (size_t block = 0; block < BLOCKS; block++) {
		bench_fill(bench, block, kinds);
		expr_run_begin(&bench->plain, ROWS);
		expr_run_begin(&bench->remembering, ROWS);
		for (size_t i = 0; i < COUNT; i++)
			compare(bench, i);
	}
	/* A text of one column has codes where it is remembered, texts where it was computed row by row. */
	assert_int_equal(bench->remembering.values[bench->nodes[2]].codes != NULL, remembered);
	bench_free(bench);
}

static void what_is_remembered_is_what_is_computed(void **state)
{
	(void)state;
	compare_blocks(0, 90, true);
}

static void columns_that_do_not_repeat_are_let_go(void **state)
{
	(void)state;
	compare_blocks(0, 0, false);
}

static void columns_of_more_texts_than_fit_are_let_go(void **state)
{
	(void)state;
	compare_blocks(0, EXPR_MEMO_CAP + 1, false);
	compare_blocks(8 << 20, 2000, false); /* a sixteenth of the budget is not enough */
	compare_blocks(64 << 20, 90, true);
}

static double naive(const double *values, size_t count, bool deviation)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	sum /= (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - sum) * (values[i] - sum);
	return deviation ? sqrt(squares / (double)count) : sum;
}

/* Over chunks of all sizes, with and without a gap: the windows of four rows at a time are those of one. */
static void windows_in_lanes_are_windows(void **state)
{
	enum { ALL = 200, WINDOW = 5 };
	double numbers[ALL];
	(void)state;
	for (int gap = 0; gap < 2; gap++)
		for (size_t step = 1; step < 40; step += 6) {
			struct expr_set set = {0};
			struct expr_run run;
			struct memory memory = {0};
			struct err err = {0};
			struct expr_node leaf = {.op = EXPR_SERIES, .type = COLUMN_NUMBER, .ordered = true};
			struct expr_node width = {.op = EXPR_NUMBER, .type = COLUMN_NUMBER, .number = WINDOW};
			uint32_t args[2] = {expr_add(&set, &leaf), expr_add(&set, &width)}, mean, sd;
			assert_int_equal(expr_call(&set, "rolling_mean", args, 2, &mean, &err), 0);
			assert_int_equal(expr_call(&set, "rolling_sd", args, 2, &sd, &err), 0);
			expr_run_init(&run, &set, &memory);
			run.sd = RECIPE_SD_POPULATION;
			for (size_t i = 0; i < ALL; i++)
				numbers[i] = i % 50 < 8 ? 3 : (double)(i * i % 101) / 7;
			numbers[60] = gap ? NAN : numbers[60];
			for (size_t from = 0; from < ALL; from += step) {
				size_t rows = ALL - from < step ? ALL - from : step;
				expr_run_begin(&run, rows);
				expr_bind_numbers(&run, args[0], numbers + from);
				assert_int_equal(expr_eval(&run, mean, &err) | expr_eval(&run, sd, &err), 0);
				for (size_t i = 0; i < rows; i++) {
					size_t end = from + i + 1, count = end < WINDOW ? end : WINDOW;
					if (gap && end > 60 && end <= 60 + WINDOW)
						continue;
					assert_true(run.values[mean].numbers[i] ==
						    naive(numbers + end - count, count, false));
					assert_true(run.values[sd].numbers[i] ==
						    naive(numbers + end - count, count, true));
				}
			}
			expr_run_fini(&run);
			expr_set_fini(&set);
		}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_remembered_is_what_is_computed),
	cmocka_unit_test(columns_that_do_not_repeat_are_let_go),
	cmocka_unit_test(columns_of_more_texts_than_fit_are_let_go),
	cmocka_unit_test(windows_in_lanes_are_windows),
};

UNIT_MAIN(tests)
