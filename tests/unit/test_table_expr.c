/* test_table_expr.c - the recipe's expressions: each function by its rule, windows and statistics over chunk borders, refusals. */
#include "near.h"
#include "table/dictionary.h"
#include "table/expr_eval.h"
#include "table_file.h"

#include <math.h>

/* Columns: a b (numbers), gap (a missing number), t u (texts), none (a missing text), d e (dates), k (a key, by its codes). */
static const char *const names[] = {"a", "b", "gap", "t", "u", "none", "d", "e", "k"};
enum { NAME_COUNT = sizeof(names) / sizeof(names[0]), FIRST_TEXT = 3, FIRST_DATE = 6, KEY = 8, ROWS = 16 };

struct bench {
	struct expr_set set;
	struct expr_run run;
	struct memory memory;
	uint32_t leaves[NAME_COUNT];
	const struct span *cells[NAME_COUNT];
	struct span texts[NAME_COUNT][ROWS];
	double numbers[NAME_COUNT][ROWS];
	uint32_t codes[ROWS];
	struct dictionary keys;
};

static uint32_t find(void *context, const char *name)
{
	struct bench *bench = context;
	for (size_t i = 0; i < NAME_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return bench->leaves[i];
	return EXPR_NONE;
}

static void bench_init(struct bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	for (size_t i = 0; i < NAME_COUNT; i++) {
		bool text = (i >= FIRST_TEXT && i < FIRST_DATE) || i == KEY;
		struct expr_node leaf = {.op = text ? EXPR_CELL : EXPR_SERIES, .leaf = i};
		leaf.type = text ? COLUMN_TEXT : i >= FIRST_DATE ? COLUMN_DATE : COLUMN_NUMBER;
		bench->leaves[i] = expr_add(&bench->set, &leaf);
		bench->cells[i] = bench->texts[i];
	}
	dictionary_init(&bench->keys, &bench->memory, 100);
}

static int bench_parse(struct bench *bench, const char *text, uint32_t *node, struct err *err)
{
	struct expr_scope scope = {find, bench, names, NAME_COUNT};
	return expr_parse(&bench->set, text, &scope, node, err);
}

static void bench_start(struct bench *bench)
{
	expr_run_init(&bench->run, &bench->set, &bench->memory);
	bench->run.cells = bench->cells;
}

static void bench_rows(struct bench *bench, size_t rows)
{
	expr_run_begin(&bench->run, rows);
	for (size_t i = 0; i < NAME_COUNT; i++)
		if (bench->set.nodes.items[bench->leaves[i]].op == EXPR_SERIES)
			expr_bind_numbers(&bench->run, bench->leaves[i], bench->numbers[i]);
	expr_bind_codes(&bench->run, bench->leaves[KEY], bench->codes, &bench->keys);
}

static void bench_fini(struct bench *bench)
{
	if (bench->run.set)
		expr_run_fini(&bench->run);
	dictionary_fini(&bench->keys);
	expr_set_fini(&bench->set);
	assert_int_equal(bench->memory.used, 0);
}

/* The value for one row, as text. */
static char *value_of(const char *expression)
{
	struct bench bench;
	struct err err = {0};
	uint32_t node;
	bench_init(&bench);
	if (bench_parse(&bench, expression, &node, &err))
		fail_msg("%s", err.text);
	bench.numbers[0][0] = 7;
	bench.numbers[1][0] = 2;
	bench.numbers[2][0] = NAN;
	bench.texts[3][0] = (struct span){"6-9 / 2.06 / x", 14};
	bench.texts[4][0] = (struct span){"  Ab1k20", 8};
	bench.texts[5][0] = (struct span){"", 0};
	bench.numbers[6][0] = 12053.5; /* 2003-01-01T12:00 */
	bench.numbers[7][0] = 0;
	bench_start(&bench);
	bench_rows(&bench, 1);
	assert_int_equal(expr_eval(&bench.run, node, &err), 0);
	const struct expr_value *value = &bench.run.values[node];
	char *text = bench.set.nodes.items[node].type == COLUMN_TEXT
			     ? mem_strndup(value->texts[0].text, value->texts[0].length)
			     : mem_printf("%.10g", isnan(value->numbers[0]) ? (double)NAN : value->numbers[0]);
	bench_fini(&bench);
	return text;
}

/* Texts up to 20 bytes, in memory of just that size, with the separator at each place. */
static void a_separator_is_found_at_every_place_of_every_length(void **state)
{
	struct bench bench;
	struct err err = {0};
	uint32_t nodes[2];
	(void)state;
	bench_init(&bench);
	assert_int_equal(bench_parse(&bench, "before(t, ';')", &nodes[0], &err), 0);
	assert_int_equal(bench_parse(&bench, "before(t, ';:')", &nodes[1], &err), 0);
	bench_start(&bench);
	for (uint32_t length = 1; length <= 20; length++)
		for (uint32_t at = 0; at <= length; at++) {
			char *text = mem_alloc(length);
			memset(text, 'x', length);
			for (uint32_t i = at; i < length; i++) /* others behind the first must not be found instead */
				text[i] = (i - at) % 2 ? ':' : ';';
			bench.texts[3][0] = (struct span){text, length};
			bench_rows(&bench, 1);
			for (int i = 0; i < 2; i++) {
				assert_int_equal(expr_eval(&bench.run, nodes[i], &err), 0);
				uint32_t found = bench.run.values[nodes[i]].texts[0].length;
				assert_int_equal(found, i && at + 1 >= length ? length : at);
			}
			free(text);
		}
	bench_fini(&bench);
}

static void expressions_have_the_values_of_their_rules(void **state)
{
	static const char *const cases[][2] = {
		{"1 + 2 * 3", "7"},
		{"(1 + 2) * 3", "9"},
		{"2 ^ 3 ^ 2", "512"},
		{"-2 ^ 2", "-4"},
		{"10 - 4 - 3", "3"},
		{"a / b", "3.5"},
		{"a % 4", "3"},
		{"-7 % 4", "1"},
		{"a / 0", "nan"},
		{"gap + 1", "nan"},
		{"gap > 1", "nan"},
		{"is_missing(gap)", "1"},
		{"is_missing(none)", "1"},
		{"coalesce(gap, 5)", "5"},
		{"coalesce(none, t) == t", "1"},
		{"a > b and b > 1", "1"},
		{"a < b or not b < 1", "1"},
		{"a == 7", "1"},
		{"a != 7", "0"},
		{"a >= 7 and a <= 7", "1"},
		{"if(a > b, 1, 2)", "1"},
		{"if(gap > 1, 1, 2)", "nan"},
		{"min(a, b) + max(a, b)", "9"},
		{"abs(b - a)", "5"},
		{"sqrt(a + b)", "3"},
		{"sqrt(-1)", "nan"},
		{"log(exp(2))", "2"},
		{"log(0)", "nan"},
		{"floor(3.7) + ceil(3.2)", "7"},
		{"round(2.5)", "3"},
		{"1.5e1 + .5", "15.5"},
		{"part(t, \" / \", 2)", "2.06"},
		{"part(t, \" / \", -1)", "x"},
		{"part(t, \" / \", 4)", ""},
		{"part(t, \" / \", 0)", ""},
		{"number(part(t, ' / ', 2)) * 2", "4.12"},
		{"before(t, '-')", "6"},
		{"after(t, '-')", "9 / 2.06 / x"},
		{"after(t, '?')", ""},
		{"before(t, '?') == t", "1"},
		{"replace(t, ' / ', ';')", "6-9;2.06;x"},
		{"replace(t, ' / x', '')", "6-9 / 2.06"},
		{"replace('$5', '$', '')", "5"},
		{"replace('aa', 'a', '')", ""},
		{"replace('aba', 'a', '')", "b"},
		{"slice(t, 1, 3)", "6-9"},
		{"slice(t, -1, 5)", "x"},
		{"slice(t, 100, 5)", ""},
		{"slice('\xc3\xa9t\xc3\xa9', 2, 2)", "t\xc3\xa9"},
		{"slice('\xc3\xa9t\xc3\xa9', -1, 1)", "\xc3\xa9"},
		{"last_digits(u)", "20"},
		{"digits(u)", "1"},
		{"last_digits(t)", ""},
		{"trim(u)", "Ab1k20"},
		{"lower(trim(u))", "ab1k20"},
		{"upper(u)", "  AB1K20"},
		{"length('\xc3\xa9t\xc3\xa9')", "3"},
		{"starts(t, '6-')", "1"},
		{"ends(t, 'x')", "1"},
		{"contains(t, '2.0')", "1"},
		{"contains(t, 'y')", "0"},
		{"concat(part(t, '-', 1), '!')", "6!"},
		{"number('x')", "nan"},
		{"number(' 4 ')", "4"},
		{"'b' > 'a'", "1"},
		{"'a' == 'b'", "0"},
		{"none == ''", "1"},
		{"year(d)", "2003"},
		{"month(d) * 100 + day(d)", "101"},
		{"weekday(d)", "3"},
		{"weekday(e)", "4"},
		{"day_of_year(date('2020-12-31', '%Y-%m-%d'))", "366"},
		{"d - e", "12053.5"},
		{"year(e + 400)", "1971"},
		{"days(e)", "0"},
		{"if('x' == 'x', 'yes', 'no')", "yes"},
		{"`a` + 1", "8"},
		{"'it\\'s'", "it's"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = value_of(cases[i][0]);
		if (strcmp(got, cases[i][1]) != 0)
			fail_msg("%s is '%s', expected '%s'", cases[i][0], got, cases[i][1]);
		free(got);
	}
}

static void refusals_say_what_is_wrong(void **state)
{
	static const char *const cases[][2] = {
		{"", "something is missing at the end"},
		{"1 +", "something is missing at the end"},
		{"(1", "')' is missing"},
		{"1 2", "something is left over at '2'"},
		{"aa", "there is no column 'aa'"},
		{"nosuch(1)", "there is no function 'nosuch'"},
		{"abs(1, 2)", "abs(x) takes 1 argument, not 2"},
		{"abs(t)", "argument 1 must be a number, not a text"},
		{"t + 1", "a + b: argument 1 must be a number"},
		{"t == 1", "a text and a number do not go together"},
		{"part(t, u, 1)", "argument 2 must be a text in quotes"},
		{"rolling_mean(a, 0)", "argument 2 must be a number of rows"},
		{"rolling_mean(a, b)", "argument 2 must be a number of rows"},
		{"group_mean(a, b)", "argument 2 must be a text column"},
		{"year(a)", "argument 1 must be a date"},
		{"'open", "a text is not closed"},
		{"`open", "a name is not closed"},
		{"1.2.3", "no number at '1.2.3'"},
		{"if(1, t, 2)", "do not go together"},
		{"#", "something is missing at '#'"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;
		struct err err = {0};
		uint32_t node;
		bench_init(&bench);
		assert_int_equal(bench_parse(&bench, cases[i][0], &node, &err), ERR_INPUT);
		if (!strstr(err.text, cases[i][1]))
			fail_msg("'%s' does not say '%s'", err.text, cases[i][1]);
		bench_fini(&bench);
	}
	struct str deep = {0};
	struct bench bench;
	struct err err = {0};
	uint32_t node;
	for (int i = 0; i < 100000; i++)
		str_append_char(&deep, '(');
	bench_init(&bench);
	assert_int_equal(bench_parse(&bench, deep.text, &node, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "too deep"));
	bench_fini(&bench);
	str_fini(&deep);
}

static void equal_parts_are_one_node(void **state)
{
	struct bench bench;
	struct err err = {0};
	uint32_t first, second;
	(void)state;
	bench_init(&bench);
	assert_int_equal(bench_parse(&bench, "number(last_digits(t)) + 1", &first, &err), 0);
	size_t before = bench.set.nodes.len;
	assert_int_equal(bench_parse(&bench, "number(last_digits(t)) + 1", &second, &err), 0);
	assert_int_equal(first, second);
	assert_int_equal(bench.set.nodes.len, before);
	bench_fini(&bench);
}

/* What a window has over all rows at once, the long way. */
static double naive(const char *name, const double *values, size_t row, size_t width)
{
	size_t begin = row + 1 > width ? row + 1 - width : 0;
	double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
	size_t count = 0;
	for (size_t i = begin; i <= row; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		least = fmin(least, values[i]);
		most = fmax(most, values[i]);
		count++;
	}
	if (!count)
		return NAN;
	for (size_t i = begin; i <= row; i++)
		squares += isnan(values[i]) ? 0 : pow(values[i] - sum / (double)count, 2);
	if (strstr(name, "mean"))
		return sum / (double)count;
	if (strstr(name, "sum"))
		return sum;
	if (strstr(name, "min"))
		return least;
	return strstr(name, "max") ? most : sqrt(squares / (double)count);
}

static void windows_go_over_chunk_borders(void **state)
{
	static const char *const functions[] = {"rolling_mean", "rolling_sd", "rolling_sum", "rolling_min",
						"rolling_max"};
	static const size_t widths[] = {1, 5, 33, 200};
	enum { ALL = 600 };
	double values[ALL];
	uint64_t seed = 5;
	(void)state;
	for (size_t i = 0; i < ALL; i++)
		values[i] = i % 11 == 3 ? (double)NAN : 1e6 + (double)(table_random(&seed) % 1000);
	for (size_t f = 0; f < 5; f++)
		for (size_t w = 0; w < 4; w++) {
			struct bench bench;
			struct err err = {0};
			uint32_t node;
			char text[64];
			bench_init(&bench);
			bench.run.sd = RECIPE_SD_POPULATION;
			snprintf(text, sizeof(text), "%s(a, %zu)", functions[f], widths[w]);
			assert_int_equal(bench_parse(&bench, text, &node, &err), 0);
			bench_start(&bench);
			bench.run.sd = RECIPE_SD_POPULATION;
			for (size_t done = 0, rows; done < ALL; done += rows) {
				rows = 1 + table_random(&seed) % ROWS;
				rows = rows < ALL - done ? rows : ALL - done;
				memcpy(bench.numbers[0], values + done, rows * sizeof(double));
				bench_rows(&bench, rows);
				assert_int_equal(expr_eval(&bench.run, node, &err), 0);
				for (size_t i = 0; i < rows; i++) {
					double want = naive(functions[f], values, done + i, widths[w]);
					double got = bench.run.values[node].numbers[i];
					if (isnan(want))
						assert_true(isnan(got));
					else
						assert_near(got, want, 1e-9 * (fabs(want) + 1000));
				}
			}
			bench_fini(&bench);
		}
}

static void lag_and_diff_look_back(void **state)
{
	struct bench bench;
	struct err err = {0};
	uint32_t lag, diff;
	(void)state;
	bench_init(&bench);
	assert_int_equal(bench_parse(&bench, "lag(a, 2)", &lag, &err), 0);
	assert_int_equal(bench_parse(&bench, "diff(a)", &diff, &err), 0);
	bench_start(&bench);
	for (int chunk = 0; chunk < 3; chunk++) {
		bench.numbers[0][0] = chunk * 2;
		bench.numbers[0][1] = chunk * 2 + 1;
		bench_rows(&bench, 2);
		assert_int_equal(expr_eval(&bench.run, lag, &err), 0);
		assert_int_equal(expr_eval(&bench.run, diff, &err), 0);
		for (int i = 0; i < 2; i++) {
			double earlier = bench.run.values[lag].numbers[i], step = bench.run.values[diff].numbers[i];
			assert_true(chunk == 0 ? isnan(earlier) : earlier == chunk * 2 + i - 2);
			assert_true(chunk == 0 && i == 0 ? isnan(step) : step == 1);
		}
	}
	bench_fini(&bench);
}

static void statistics_run_or_are_the_chunks_own(void **state)
{
	(void)state;
	for (int alone = 0; alone < 2; alone++) {
		struct bench bench;
		struct err err = {0};
		uint32_t mean, group, count, score;
		bench_init(&bench);
		assert_int_equal(bench_parse(&bench, "column_mean(a)", &mean, &err), 0);
		assert_int_equal(bench_parse(&bench, "group_mean(a, k)", &group, &err), 0);
		assert_int_equal(bench_parse(&bench, "group_count(k)", &count, &err), 0);
		assert_int_equal(bench_parse(&bench, "zscore(a)", &score, &err), 0);
		bench_start(&bench);
		bench.run.per_chunk = alone;
		for (int chunk = 0; chunk < 2; chunk++) {
			for (uint32_t i = 0; i < 4; i++) {
				struct span key = {i % 2 ? "odd" : "even", i % 2 ? 3 : 4};
				bench.numbers[0][i] = chunk * 10 + i;
				bench.codes[i] = dictionary_intern(&bench.keys, key);
			}
			bench_rows(&bench, 4);
			assert_int_equal(expr_eval(&bench.run, mean, &err), 0);
			assert_int_equal(expr_eval(&bench.run, group, &err), 0);
			assert_int_equal(expr_eval(&bench.run, count, &err), 0);
			assert_int_equal(expr_eval(&bench.run, score, &err), 0);
		}
		/* 0 1 2 3, then 10 11 12 13 */
		assert_near(bench.run.values[mean].numbers[0], alone ? 11.5 : 6.5, 1e-12);
		assert_near(bench.run.values[group].numbers[1], alone ? 12 : 7, 1e-12);
		assert_near(bench.run.values[count].numbers[0], alone ? 2 : 4, 1e-12);
		assert_near(bench.run.values[score].numbers[0], alone ? -1.5 / sqrt(1.25) : 3.5 / sqrt(26.25), 1e-12);
		bench_fini(&bench);
	}
}

static void the_target_is_followed_except_through_lag(void **state)
{
	struct bench bench;
	struct err err = {0};
	uint32_t node;
	(void)state;
	bench_init(&bench);
	bench.set.nodes.items[bench.leaves[0]].from_target = true;
	assert_int_equal(bench_parse(&bench, "rolling_mean(a, 5) + b", &node, &err), 0);
	assert_true(bench.set.nodes.items[node].from_target);
	assert_int_equal(bench_parse(&bench, "rolling_mean(lag(a, 1), 5) + b", &node, &err), 0);
	assert_false(bench.set.nodes.items[node].from_target);
	bench_fini(&bench);
}

static void every_function_stands_in_the_manual_page(void **state)
{
	const struct expr_function *tables[] = {expr_number_functions, expr_text_functions, expr_window_functions};
	struct err err = {0};
	char *page;
	size_t size, count = 0;
	(void)state;
	assert_int_equal(file_read("docs/man/pitot-recipe.5", 1 << 20, &page, &size, &err), 0);
	for (size_t i = 0; i < 3; i++)
		for (const struct expr_function *function = tables[i]; function->name; function++) {
			char call[64];
			snprintf(call, sizeof(call), ".Fn %s ", function->name);
			/* Operators, and what they are inside, have no call of their own. */
			if (!strchr(function->shape, '('))
				continue;
			if (!strstr(page, call))
				fail_msg("%s is not in docs/man/pitot-recipe.5", function->shape);
			count++;
		}
	assert_true(count > 50);
	free(page);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_separator_is_found_at_every_place_of_every_length),
	cmocka_unit_test(expressions_have_the_values_of_their_rules),
	cmocka_unit_test(refusals_say_what_is_wrong),
	cmocka_unit_test(equal_parts_are_one_node),
	cmocka_unit_test(windows_go_over_chunk_borders),
	cmocka_unit_test(lag_and_diff_look_back),
	cmocka_unit_test(statistics_run_or_are_the_chunks_own),
	cmocka_unit_test(the_target_is_followed_except_through_lag),
	cmocka_unit_test(every_function_stands_in_the_manual_page),
};

UNIT_MAIN(tests)
