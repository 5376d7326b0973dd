/* test_delta.c - a comparison in every format: what it says first, that it fits, that hostile names stay text. */
#include "unit.h"

#include "render/delta.h"
#include "render/markup.h"
#include "two_sides.h"

static char *render(const struct two_sides *two, const struct gate *gate, const char *format, int columns, bool all)
{
	struct delta delta = {.diff = &two->diff, .gate = gate, .rows = true, .all = all};
	struct render_options options = {.unicode = true, .columns = columns};
	struct str out = {0};
	delta_renderer_find(format)->render(&delta, &options, &out);
	return str_take(&out);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_begins(const char *text, const char *beginning)
{
	if (!str_starts(text, beginning))
		fail_msg("does not begin with '%s':\n%s", beginning, text);
}

static struct gate gate_of(const struct two_sides *two, const char *name, double limit)
{
	struct gate_limit one = {.name = name, .limit = limit};
	struct gate gate;
	assert_int_equal(gate_compute(&two->diff, &one, 1, &gate, NULL), 0);
	return gate;
}

static void assert_fits(const char *text, int columns)
{
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		char *one = mem_strndup(line, length);
		if ((int)str_columns(one) > columns)
			fail_msg("%zu columns, not %d: %s", str_columns(one), columns, one);
		free(one);
		line += length + (line[length] == '\n');
	}
}

static void the_terminal_begins_with_the_verdict_and_ranks_regressions_first(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 10, 1.25);
	char *text = render(&two, NULL, "term", 80, false);
	assert_begins(text, "Regressed: the run takes 2");
	assert_has(text, "% longer (98 % interval: +");
	const char *run = strstr(text, "  run   wall_s"), *train = strstr(text, "  train wall_s");
	assert_true(run && train && run < train);
	free(text);
	two_sides_fini(&two);
}

static void one_run_a_side_says_what_cannot_be_concluded(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 1, 4);
	char *text = render(&two, NULL, "term", 80, false);
	assert_begins(text, "Inconclusive: with 1 repetition against 1 a slower program cannot be told from");
	assert_has(text, "at least 5 a side are needed");
	free(text);
	two_sides_fini(&two);
}

static void an_unchanged_program_is_called_unchanged(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 20, 1);
	char *text = render(&two, NULL, "term", 80, false);
	assert_begins(text, "No change: the run's elapsed time changed by less than 5 % (98 % interval: ");
	assert_has(text, "--all shows them");
	free(text);
	text = render(&two, NULL, "term", 80, true);
	assert_null(strstr(text, "--all shows them"));
	assert_has(text, "io_read_bytes");
	free(text);
	two_sides_fini(&two);
}

static void hostile(struct two_sides *two)
{
	static const char *const names[] = {"a<b>&\"'|`*\n::error::x%0A,\x1b[31m",
					    "訓練データの前処理と検証を行うとても長い名前"};
	two_sides_init(two);
	two_sides_add(two, 0, noisy_run(two, 10, 1));
	struct run_record *b = two_sides_add(two, 1, noisy_run(two, 10, 1.3));
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < two->runs[side][0]->stages.len; i++) {
			struct stage_row *row = &two->runs[side][0]->stages.items[i].row;
			free(row->name);
			row->name = mem_strdup(names[i % 2]);
		}
	free(b->row.pitot_version);
	b->row.pitot_version = mem_strdup("</script>\xff]]>");
	sample_quality(two->runs[0][0], "loss|<i>", 0.5, NULL);
	sample_quality(b, "loss|<i>", 0.75, NULL);
	two_sides_compare(two, NULL);
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	(void)state;
	static const int widths[] = {40, 60, 71, 72, 80, 95, 96, 120, 200};
	struct two_sides two;
	hostile(&two);
	struct gate gate = gate_of(&two, "max_total_duration_increase_pct", 5);
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char *text = render(&two, &gate, "term", widths[i], true);
		assert_fits(text, widths[i]);
		assert_null(strchr(text, '\x1b'));
		free(text);
	}
	gate_fini(&gate);
	two_sides_fini(&two);
}

static void names_stay_text_in_markup(void **state)
{
	(void)state;
	struct two_sides two;
	hostile(&two);
	struct gate gate = gate_of(&two, "max_quality:loss|<i>_increase", 0.1);
	char *html = render(&two, &gate, "html", 80, true);
	assert_null(strstr(html, "<b>"));
	assert_null(strstr(html, "</script>"));
	assert_null(strstr(html, "<script"));
	assert_has(html, "a&lt;b&gt;&amp;&quot;&#39;");
	free(html);
	char *md = render(&two, &gate, "md", 80, true);
	assert_begins(md, "<!-- pitot delta -->\n");
	assert_null(strstr(md, "a<b>"));
	assert_has(md, "loss\\|\\<i\\>");
	free(md);
	char *junit = render(&two, &gate, "junit", 80, true);
	assert_has(junit, "name=\"max_quality:loss|&lt;i&gt;_increase\"");
	assert_has(junit, "tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\"");
	free(junit);
	gate_fini(&gate);
	two_sides_fini(&two);
}

static void a_workflow_command_is_one_line_whatever_is_in_it(void **state)
{
	(void)state;
	struct two_sides two;
	hostile(&two);
	struct gate gate = gate_of(&two, "max_quality:loss|<i>_increase", 0.1);
	struct delta delta = {.diff = &two.diff,
			      .gate = &gate,
			      .config_path = "a,b:c%.yaml",
			      .config_text = "stages: []\ngate:\n  max_quality:loss|<i>_increase: 0.1\n"};
	struct render_options options = {.columns = 80};
	struct str out = {0};
	delta_renderer_find("github")->render(&delta, &options, &out);
	assert_begins(str_text(&out),
		      "::error file=a%2Cb%3Ac%25.yaml,line=3,title=max_quality%3Aloss|<i>_increase::0.25, ");
	for (const char *line = str_text(&out); *line; line = strchr(line, '\n') + 1)
		assert_true(str_starts(line, "::error ") || str_starts(line, "::warning ") ||
			    str_starts(line, "::notice "));
	str_fini(&out);
	gate_fini(&gate);
	two_sides_fini(&two);
}

static void xml_has_only_what_xml_can_hold(void **state)
{
	(void)state;
	struct str out = {0};
	markup_xml(&out, "\x01 \xEF\xBF\xBE \xEF\xBF\xBF \xff <");
	assert_string_equal(str_text(&out), "^A \xEF\xBF\xBD \xEF\xBF\xBD \xEF\xBF\xBD &lt;");
	str_fini(&out);
}

static void a_gate_says_what_was_measured_and_why(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 10, 1.5);
	struct gate gate = gate_of(&two, "max_total_duration_increase_pct", 5);
	char *text = render(&two, &gate, "term", 100, false);
	assert_begins(text, "Gate failed: 1 of 1 broken.\n  ✗ max_total_duration_increase_pct +4");
	assert_has(text, "limit +5 %:");
	free(text);
	gate_fini(&gate);
	gate = gate_of(&two, "max_total_duration", 1000);
	text = render(&two, &gate, "term", 100, false);
	assert_begins(text, "Gate passed: 1 threshold kept.\n  ✓ max_total_duration 1");
	free(text);
	gate_fini(&gate);
	two_sides_fini(&two);
}

static void unknown_formats_have_no_renderer(void **state)
{
	(void)state;
	assert_null(delta_renderer_find("csv"));
	assert_null(delta_renderer_find(""));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_terminal_begins_with_the_verdict_and_ranks_regressions_first),
	cmocka_unit_test(one_run_a_side_says_what_cannot_be_concluded),
	cmocka_unit_test(an_unchanged_program_is_called_unchanged),
	cmocka_unit_test(no_line_is_wider_than_the_terminal),
	cmocka_unit_test(names_stay_text_in_markup),
	cmocka_unit_test(a_workflow_command_is_one_line_whatever_is_in_it),
	cmocka_unit_test(xml_has_only_what_xml_can_hold),
	cmocka_unit_test(a_gate_says_what_was_measured_and_why),
	cmocka_unit_test(unknown_formats_have_no_renderer),
};
UNIT_MAIN(tests)
