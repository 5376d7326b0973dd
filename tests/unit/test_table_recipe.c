/* test_table_recipe.c - recipes read, refused with their line, written back, and inferred from a table. */
#include "table/engine.h"
#include "table/recipe.h"
#include "table_file.h"

static struct recipe *parse(const char *text)
{
	struct recipe *recipe = NULL;
	struct err err = {0};
	if (recipe_parse(text, strlen(text), "r.yaml", &recipe, &err))
		fail_msg("%s", err.text);
	return recipe;
}

static const char whole[] =
	"target: y\n"
	"input: {delimiter: ';', ragged: pad, encoding: replace, header: false, missing: ['', NA, '?']}\n"
	"columns:\n"
	"  a: number\n"
	"  b: {type: date, format: '%d.%m.%Y'}\n"
	"  c: {type: text, missing: \"no \\\"c\\\"\"}\n"
	"  d: {type: number, from: 'replace(d, \"$\", \"\")', missing: 3}\n"
	"  e: skip\n"
	"  f: infer\n"
	"missing: {number: mean, text: 'none of {column}'}\n"
	"derive:\n"
	"  g: a + d\n"
	"  h: 'if(c == \"x\", 1, 0)'\n"
	"sort: g\n"
	"windows: {sd: {batch: population, streaming: sample}}\n"
	"select: {correlation: 0.75}\n"
	"encode: {drop: [a, b], most_values: 20}\n"
	"model: {use_target_derived: true, holdout: 0.25, rate: 0.01}\n";

static void every_key_lands_where_it_belongs(void **state)
{
	struct recipe *recipe = parse(whole);
	(void)state;
	assert_string_equal(recipe->target, "y");
	assert_int_equal(recipe->input.delimiter, ';');
	assert_int_equal(recipe->input.ragged, CSV_RAGGED_PAD);
	assert_int_equal(recipe->input.encoding, CSV_ENCODING_REPLACE);
	assert_true(recipe->input.no_header);
	assert_int_equal(recipe->missing_cells.len, 2);
	assert_int_equal(recipe->columns.len, 6);
	assert_int_equal(recipe->columns.items[1].type, RECIPE_DATE);
	assert_string_equal(recipe->columns.items[2].missing, "no \"c\"");
	assert_string_equal(recipe->columns.items[3].from, "replace(d, \"$\", \"\")");
	assert_int_equal(recipe->columns.items[4].type, RECIPE_SKIP);
	assert_int_equal(recipe->fill, RECIPE_FILL_MEAN);
	assert_string_equal(recipe->derived.items[1].expression, "if(c == \"x\", 1, 0)");
	assert_int_equal(recipe->derived.items[1].line, 13);
	assert_int_equal(recipe->sd_batch, RECIPE_SD_POPULATION);
	assert_int_equal(recipe->sd_streaming, RECIPE_SD_SAMPLE);
	assert_true(recipe->correlation == 0.75 && recipe->holdout == 0.25 && recipe->rate == 0.01);
	assert_int_equal(recipe->most_values, 20);
	assert_true(recipe->use_target_derived);
	recipe_free(recipe);
}

static void what_is_written_reads_as_the_same(void **state)
{
	static const char *const texts[] = {whole, "target: a\n", "columns: {\"tab\\there\": text}\n",
					    "input: {delimiter: \"\\t\"}\n"};
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct recipe *recipe = parse(texts[i]);
		struct str first = {0}, second = {0};
		recipe_write(recipe, &first);
		struct recipe *again = parse(str_text(&first));
		recipe_write(again, &second);
		assert_string_equal(str_text(&first), str_text(&second));
		assert_int_equal(again->input.delimiter, recipe->input.delimiter);
		assert_int_equal(again->columns.len, recipe->columns.len);
		recipe_free(recipe);
		recipe_free(again);
		str_fini(&first);
		str_fini(&second);
	}
}

static void a_slip_is_named_with_file_and_line(void **state)
{
	static const char *const cases[][2] = {
		{"\ntargte: y\n", "r.yaml:2: unknown key 'targte' in the recipe; did you mean 'target'?"},
		{"columns:\n  a: nubmer\n",
		 "r.yaml:2: 'type' must be one of infer, number, date, text, skip, not 'nubmer'"},
		{"columns: {a: {type: date, format: '%Q'}}\n", "r.yaml:1: '%Q' is no part of a date"},
		{"columns: {a: {type: number, format: '%Y'}}\n", "a format is for dates"},
		{"columns: {a: {from: b}}\n", "'from' needs a type"},
		{"columns: {a: {type: number, missing: x}}\n", "missing must be a number, not 'x'"},
		{"columns: [a]\n", "'columns' must be a map"},
		{"input: {delimiter: ab}\n", "'delimiter' must be one character"},
		{"input: {delimiter: '\"'}\n", "'delimiter' must be one character"},
		{"missing: {number: mode}\n", "must be one of median, mean, zero, keep"},
		{"select:\n  correlation: 2\n", "r.yaml:2: 'correlation' must be from 0 to 1, not 2"},
		{"encode: {most_values: 0}\n", "must be a whole number from 1"},
		{"model: {holdout: 0}\n", "'holdout' must be from 0.01 to 0.9"},
		{"derive: [a]\n", "'derive' must be a map"},
		{"derive: {a: [1]}\n", "'a' must be a text"},
		{"[1, 2]\n", "'the recipe' must be a map"},
		{"a: [\n", "r.yaml:"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recipe *recipe = NULL;
		struct err err = {0};
		assert_int_equal(recipe_parse(cases[i][0], strlen(cases[i][0]), "r.yaml", &recipe, &err), ERR_INPUT);
		if (!strstr(err.text, cases[i][1]))
			fail_msg("'%s' does not say '%s'", err.text, cases[i][1]);
	}
}

/* What engine_open says about a recipe and a table: "" where they fit. */
static void meet(const char *text, const char *table, struct err *err, struct recipe **out)
{
	char *path = table_file("table.csv", table, strlen(table));
	struct recipe *recipe = parse(text);
	struct engine_settings settings = {0};
	struct engine *engine = NULL;
	*err = (struct err){0};
	engine_open(path, recipe, &settings, &engine, err);
	engine_close(engine);
	table_file_remove(path);
	if (out)
		*out = recipe;
	else
		recipe_free(recipe);
}

static void what_does_not_fit_the_table_is_named_with_its_line(void **state)
{
	static const char *const cases[][2] = {
		{"target: z\n", "r.yaml:1: the target 'z' is no column"},
		{"target: nubmer\n", "r.yaml:1: the target 'nubmer' is no column; did you mean 'number'?"},
		{"sort: numbr\n", "r.yaml:1: sort: there is no column 'numbr'; did you mean 'number'?"},
		{"target: t\n", "r.yaml:1: the target 't' is a text, not a number"},
		{"columns:\n  nubmer: text\n", "r.yaml:2: the table"},
		{"columns:\n  nubmer: text\n", "has no column 'nubmer'; did you mean 'number'?"},
		{"derive:\n  x: 1\n  y: nmber + 1\n",
		 "r.yaml:3: 'nmber + 1': there is no column 'nmber'; did you mean 'number'?"},
		{"derive:\n  t: number + 1\n", "r.yaml:2: there is a column 't' already"},
		{"columns:\n  number: {type: number, from: 'rolling_mean(number(number), 2)'}\n", "belong in derive"},
		{"columns:\n  t: {type: text, from: number(t)}\n", "'from' gives a number, not a text"},
		{"sort: t\n", "r.yaml:1: sort: 't' is a text"},
		{"sort: q\n", "r.yaml:1: sort: there is no column 'q'"},
		{"derive: {w: 'lag(number, 1)'}\nsort: w\n", "r.yaml:2: sort: 'w' needs the rows in order already"},
		{"encode: {drop: [q]}\n", "no column 'q'"},
		{"derive: {w: 'if(number > 1, t, t)'}\n", "a text must come from the row's own texts"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err;
		meet(cases[i][0], "number,t\n1,a\n2,b\n", &err, NULL);
		if (!strstr(err.text, cases[i][1]))
			fail_msg("'%s' does not say '%s'", err.text, cases[i][1]);
	}
}

static void types_are_inferred_from_the_first_rows(void **state)
{
	struct str table = {0};
	struct err err;
	struct recipe *recipe;
	(void)state;
	str_append(&table, "n,money,iso,us,text,free,empty,share,mostly\n");
	for (int i = 0; i < 200; i++)
		str_appendf(&table, "%d.5,$%d,2020-01-%02d,%02d/28/99,%s,word%d,,%d%%,%s\n", i, i * 10, i % 28 + 1,
			    i % 12 + 1, i % 2 ? "yes" : "no", i, i % 100, i == 50 ? "n/a" : "7");
	meet("missing: {number: median}\n", table.text, &err, &recipe);
	assert_string_equal(err.text, "");
	assert_int_equal(recipe->columns.len, 9);
	static const enum recipe_type types[] = {RECIPE_NUMBER, RECIPE_NUMBER, RECIPE_DATE,   RECIPE_DATE,  RECIPE_TEXT,
						 RECIPE_TEXT,   RECIPE_TEXT,   RECIPE_NUMBER, RECIPE_NUMBER};
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(recipe->columns.items[i].type, types[i]);
	assert_string_equal(recipe->columns.items[1].from, "replace(money, \"$\", \"\")");
	assert_string_equal(recipe->columns.items[2].format, "%Y-%m-%d");
	assert_string_equal(recipe->columns.items[3].format, "%m/%d/%y");
	assert_non_null(strstr(recipe->columns.items[4].note, "category: 2 distinct"));
	assert_non_null(strstr(recipe->columns.items[5].note, "free text: 200 distinct"));
	assert_non_null(strstr(recipe->columns.items[8].note, "1 of 200 cells are no numbers"));
	recipe_free(recipe);
	str_fini(&table);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_key_lands_where_it_belongs),
	cmocka_unit_test(what_is_written_reads_as_the_same),
	cmocka_unit_test(a_slip_is_named_with_file_and_line),
	cmocka_unit_test(what_does_not_fit_the_table_is_named_with_its_line),
	cmocka_unit_test(types_are_inferred_from_the_first_rows),
};

UNIT_MAIN(tests)
