/* test_machine_render.c - what `pitot machine` prints about a machine with round numbers. */
#include "render/machine.h"
#include "sample_machine.h"
#include "unit.h"

struct fixture {
	struct machine machine;
	struct topology topology;
	struct host_facts host;
	struct machine_view view;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct topology_cpu cpu = {.package = 0, .node = 0, .allowed = true};
	struct topology_kind kind = {.cpus = 1, .cores = 1};
	struct host_fact fact = {.key = "cpu_model", .value = mem_strdup("A <CPU> & more")};
	sample_machine(&fixture->machine);
	vec_push(&fixture->topology.cpus, cpu);
	vec_push(&fixture->topology.kinds, kind);
	fixture->topology.cores = 1;
	vec_push(&fixture->host.facts, fact);
	fixture->view = (struct machine_view){&fixture->machine, &fixture->topology, &fixture->host, true, 3 * 86400.0};
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	machine_fini(&fixture->machine);
	topology_fini(&fixture->topology);
	host_facts_fini(&fixture->host);
	free(fixture);
	return 0;
}

static bool contains(const struct str *text, const char *part)
{
	return strstr(str_text(text), part) != NULL;
}

static size_t widest(const char *text)
{
	size_t most = 0;
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = mem_strndup(text, length);
		size_t columns = str_columns(line);
		most = columns > most ? columns : most;
		free(line);
		text += length + (text[length] == '\n');
	}
	return most;
}

static void the_page_shows_roofs_ridges_reasons_and_age(void **state)
{
	struct fixture *fixture = *state;
	struct render_options options = {.unicode = true, .columns = 80};
	struct str text = {0};
	machine_term(&fixture->view, &options, &text);
	assert_true(
		contains(&text, "  avx2 fp32                  100    90.0    50.0–100     200     180     100–200"));
	assert_true(contains(&text, "  fp32, memory              5.00                        8.00\n"));
	assert_true(contains(&text, "this CPU <does> not | offer it"));
	assert_true(contains(&text, "3 days ago"));
	assert_true(contains(&text, "a fp32 peak (avx2) 200 GFLOP/s"));
	assert_false(contains(&text, "\033"));
	str_fini(&text);
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	struct fixture *fixture = *state;
	for (int columns = 20; columns <= 200; columns += 7)
		for (int unicode = 0; unicode < 2; unicode++) {
			struct render_options options = {
				.unicode = unicode, .columns = columns, .verbose = columns % 2};
			struct str text = {0};
			machine_term(&fixture->view, &options, &text);
			if (widest(str_text(&text)) > (size_t)columns)
				fail_msg("%zu columns instead of %d", widest(str_text(&text)), columns);
			for (size_t i = 0; !unicode && i < text.len; i++)
				assert_true((unsigned char)text.text[i] < 0x80);
			str_fini(&text);
		}
}

/* Where a letter stands in the plot: column and row, or false. */
static bool find_letter(const char *plot, char letter, int *column, int *row)
{
	*row = 0;
	for (const char *line = plot; line[0] && line[7] == '|'; line = strchr(line, '\n') + 1, ++*row)
		for (*column = 8; line[*column] && line[*column] != '\n'; ++*column)
			if (line[*column] == letter)
				return true;
	return false;
}

static void the_plot_has_every_line_and_the_higher_roof_is_higher(void **state)
{
	struct fixture *fixture = *state;
	struct render_options options = {.unicode = false, .columns = 80};
	struct machine_lines lines;
	struct str text = {0};
	int column, rows[6];
	assert_true(machine_lines_of(&fixture->view, 2, &lines));
	assert_int_equal(lines.items.len, 6); /* two peaks, a product, three bandwidths */
	machine_plot(&lines, &options, &text);
	for (int i = 0; i < 6; i++)
		if (!find_letter(str_text(&text), (char)('a' + i), &column, &rows[i]))
			fail_msg("no letter %c in\n%s", 'a' + i, str_text(&text));
	assert_true(rows[0] < rows[2]); /* 200 above 100 GFLOP/s */
	assert_true(rows[3] < rows[5]); /* L1 above memory */
	machine_lines_fini(&lines);
	str_fini(&text);
}

static void a_machine_without_bandwidth_has_no_plot(void **state)
{
	struct fixture *fixture = *state;
	struct machine_lines lines;
	struct str text = {0};
	struct render_options options = {.columns = 80};
	for (size_t i = 0; i < fixture->machine.rates.len; i++)
		fixture->machine.rates.items[i].known = fixture->machine.rates.items[i].kind != MACHINE_BANDWIDTH;
	assert_false(machine_lines_of(&fixture->view, 2, &lines));
	machine_lines_fini(&lines);
	machine_svg(&fixture->view, &options, &text);
	assert_true(contains(&text, "no peak or no bandwidth"));
	str_clear(&text);
	machine_term(&fixture->view, &options, &text);
	assert_false(contains(&text, "roofline"));
	str_fini(&text);
}

static void json_has_null_and_a_reason_where_nothing_was_measured(void **state)
{
	struct fixture *fixture = *state;
	struct render_options options = {0};
	struct str text = {0};
	machine_json(&fixture->view, &options, &text);
	const char *absent = strstr(str_text(&text), "\"avx512\"");
	assert_non_null(absent);
	assert_non_null(strstr(absent, "\"value\": null"));
	assert_non_null(strstr(absent, "\"reason\": \"this CPU <does> not | offer it\""));
	assert_true(contains(&text, "\"ridge_flop_per_byte\": 5,") || contains(&text, "\"ridge_flop_per_byte\": 5\n"));
	assert_true(contains(&text, "\"age_s\": 259200"));
	str_fini(&text);
}

static void what_came_from_elsewhere_stays_text_in_markup(void **state)
{
	struct fixture *fixture = *state;
	struct render_options options = {0};
	struct str text = {0};
	machine_svg(&fixture->view, &options, &text);
	assert_true(contains(&text, "A &lt;CPU&gt; &amp; more"));
	assert_true(contains(&text, "prefers-color-scheme: dark"));
	assert_true(contains(&text, "measured 2026-01-01T00:00:00Z in 2.50 s (normal)"));
	assert_false(contains(&text, "href") || contains(&text, "url("));
	str_clear(&text);
	machine_md(&fixture->view, &options, &text);
	assert_false(contains(&text, "<CPU>"));
	assert_true(contains(&text, "| avx2 fp32 | 100 | 90.0 | 50.0–100 | 200 | 180 | 100–200 |"));
	str_fini(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(the_page_shows_roofs_ridges_reasons_and_age),
	TEST(no_line_is_wider_than_the_terminal),
	TEST(the_plot_has_every_line_and_the_higher_roof_is_higher),
	TEST(a_machine_without_bandwidth_has_no_plot),
	TEST(json_has_null_and_a_reason_where_nothing_was_measured),
	TEST(what_came_from_elsewhere_stays_text_in_markup),
};

UNIT_MAIN(tests)
