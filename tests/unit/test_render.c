/*
 * test_render.c - the claims of the renderers.
 *
 * With PITOT_TEST_SAMPLES=DIR it also writes a sample of every format there, to be looked at and to be validated
 * against docs/report.schema.json.
 */
#include "unit.h"

#include "base/file.h"
#include "render/metrics_doc.h"
#include "render/render.h"
#include "render/text.h"
#include "sample_run.h"

struct fixture {
	struct run_record *record;
	struct report report;
	struct str out;
};

static const struct render_options plain = {.unicode = true, .columns = 80};

static void fixture_open(struct fixture *fixture, struct run_record *record)
{
	*fixture = (struct fixture){.record = record};
	report_compute(record, &fixture->report);
}

static void fixture_close(struct fixture *fixture)
{
	str_fini(&fixture->out);
	report_fini(&fixture->report);
	run_record_free(fixture->record);
}

static const char *render(struct fixture *fixture, const char *format, const struct render_options *options)
{
	const struct renderer *renderer = renderer_find(format);
	struct err err = {0};
	assert_non_null(renderer);
	str_clear(&fixture->out);
	assert_int_equal(renderer->render(&fixture->report, options, &fixture->out, &err), 0);
	return str_text(&fixture->out);
}

static void load_illustrations(struct report *report)
{
	for (size_t i = 0; i < report->stages.len; i++) {
		struct report_stage *stage = &report->stages.items[i];
		if (!stage->ran)
			continue;
		sample_series(stage, "cpu_percent", UNIT_PERCENT, 98);
		sample_series(stage, "memory_anon", UNIT_BYTES, 2.1e9);
		struct process_row process = {.stage_id = 1,
					      .pid = 4242,
					      .ppid = 1,
					      .start_ns = 5,
					      .command = mem_strdup("python3 train.py"),
					      .exit_code = -1,
					      .cpu_user_s = 3.5,
					      .source = PROCESS_SAMPLED};
		vec_push(&stage->processes.items, process);
	}
}

/* Columns of the widest line, escape sequences not counted. */
static size_t widest_line(const char *text)
{
	size_t widest = 0;
	while (*text) {
		struct str line = {0};
		for (; *text && *text != '\n'; text++) {
			if (*text == '\033')
				text += strcspn(text, "m");
			else
				str_append_char(&line, *text);
		}
		size_t columns = str_columns(str_text(&line));
		widest = columns > widest ? columns : widest;
		str_fini(&line);
		text += *text == '\n';
	}
	return widest;
}

static void every_format_is_found_by_name_and_no_other(void **state)
{
	(void)state;
	static const char *const names[] = {"term", "md", "json", "csv"};
	for (size_t i = 0; i < 4; i++) {
		assert_non_null(renderer_find(names[i]));
		assert_string_equal(renderer_find(names[i])->name, names[i]);
	}
	assert_null(renderer_find("html2"));
	assert_null(renderer_find(""));
}

static void term_fits_every_width_in_every_style(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_pipeline());
	load_illustrations(&fixture.report);
	for (int columns = 20; columns <= 130; columns++)
		for (int style = 0; style < 8; style++) {
			struct render_options options = {.color = style & 1,
							 .unicode = (style & 2) != 0,
							 .verbose = (style & 4) != 0,
							 .columns = columns};
			size_t width = widest_line(render(&fixture, "term", &options));
			if (width > (size_t)columns)
				fail_msg("%zu columns where %d were allowed (style %d)", width, columns, style);
		}
	fixture_close(&fixture);
}

static void term_of_a_command_fits_every_width(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_command(5));
	load_illustrations(&fixture.report);
	for (int columns = 20; columns <= 130; columns++) {
		struct render_options options = {.unicode = true, .columns = columns};
		assert_true(widest_line(render(&fixture, "term", &options)) <= (size_t)columns);
	}
	fixture_close(&fixture);
}

static void term_without_unicode_is_ascii(void **state)
{
	(void)state;
	struct fixture fixture;
	struct render_options options = {.columns = 80, .verbose = true};
	fixture_open(&fixture, sample_pipeline());
	load_illustrations(&fixture.report);
	for (const char *at = render(&fixture, "term", &options); *at; at++)
		assert_true((unsigned char)*at < 0x80);
	fixture_close(&fixture);
}

static void term_without_color_has_no_escape_whatever_the_log_says(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_pipeline());
	const char *text = render(&fixture, "term", &plain);
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\007'));
	assert_non_null(strstr(text, "Traceback (most recent call last):"));
	assert_non_null(strstr(text, "    100%\n"));
	assert_null(strstr(text, "owned"));
	fixture_close(&fixture);
}

static void a_stage_name_cannot_send_escapes(void **state)
{
	(void)state;
	struct fixture fixture;
	struct run_record *record = sample_run("evil\033[2J");
	sample_stage(record,
		     "a\033]0;x\007\xc2\x9b"
		     "31m\xe2\x80\xae",
		     0, 0, 0, 1, 1);
	sample_stage(record, "b\nc", 1, 0, 1, 1, 1);
	fixture_open(&fixture, record);
	const char *text = render(&fixture, "term", &plain);
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\007'));
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_non_null(strstr(text, "b c"));
	fixture_close(&fixture);
}

static void term_says_the_bottleneck_and_its_verdict(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_pipeline());
	const char *text = render(&fixture, "term", &plain);
	assert_non_null(strstr(text, "train takes 82 % of the time and is cpu-bound, one core."));
	assert_non_null(strstr(text, "manual: needs a person at a screen"));
	assert_non_null(strstr(text, "eval: error, exit status 3"));
	assert_non_null(strstr(text, "no GPU found"));
	assert_non_null(strstr(text, "pitot itself: 120 ms of CPU time"));
	fixture_close(&fixture);
}

static void term_of_one_command_is_a_block_and_no_table(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_command(5));
	const char *text = render(&fixture, "term", &plain);
	assert_true(str_starts(text, "make -j4 all"));
	assert_null(strstr(text, "Share"));
	assert_non_null(strstr(text, "median of 5"));
	assert_non_null(strstr(text, "exact, cgroup cpu.stat"));
	fixture_close(&fixture);
}

static void term_lists_the_costliest_of_a_thousand_stages_and_every_failure(void **state)
{
	(void)state;
	struct fixture fixture;
	struct run_record *record = sample_run("wide");
	for (int i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "stage-%03d", i);
		sample_stage(record, name, i, 0, i, i == 500 ? 50 : 1, 0.5)->row.status =
			i == 777 ? STATUS_ERROR : STATUS_OK;
	}
	fixture_open(&fixture, record);
	const char *text = render(&fixture, "term", &plain);
	assert_non_null(strstr(text, "stage-500"));
	assert_non_null(strstr(text, "stage-777"));
	assert_null(strstr(text, "stage-900"));
	assert_non_null(strstr(text, "and 959 more stages"));
	struct render_options all = plain;
	all.verbose = true;
	assert_non_null(strstr(render(&fixture, "term", &all), "stage-900"));
	fixture_close(&fixture);
}

static void term_shows_a_live_stage_as_running(void **state)
{
	(void)state;
	struct fixture fixture;
	struct run_record *record = sample_run("live");
	sample_stage(record, "first", 0, 0, 0, 2, 1);
	struct stage_record *open = sample_stage(record, "second", 1, 0, 3, 1, 1);
	open->row.end_ns = 0;
	open->row.status = STATUS_INTERRUPTED;
	memset(open->values, 0, sizeof(open->values));
	record->live = true;
	record->row.wall_ns = 0;
	fixture_open(&fixture, record);
	const char *text = render(&fixture, "term", &plain);
	assert_non_null(strstr(text, "running"));
	assert_null(strstr(text, "Failed"));
	record->live = false;
	assert_non_null(strstr(render(&fixture, "term", &plain), "Failed"));
	fixture_close(&fixture);
}

static void an_event_that_came_again_is_told_once_and_many_are_cut(void **state)
{
	(void)state;
	struct fixture fixture;
	struct run_record *record = sample_run("r");
	for (int i = 0; i < 3; i++) {
		int64_t id = sample_stage(record, "a", 0, i, i * 2, 1, 1)->row.id;
		sample_event(record, id, "warning", "the same");
	}
	for (int i = 0; i < 20; i++) {
		char text[32];
		snprintf(text, sizeof(text), "number %d", i);
		sample_event(record, 0, "note", text);
	}
	fixture_open(&fixture, record);
	const char *text = render(&fixture, "term", &plain);
	assert_non_null(strstr(text, "! a: the same (3 times)\n"));
	assert_null(strstr(strstr(text, "the same") + 1, "the same"));
	assert_non_null(strstr(text, "and 9 more"));
	assert_non_null(strstr(render(&fixture, "md", &plain), "- a: the same (3 times)\n- number 0\n"));
	fixture_close(&fixture);
}

static void an_empty_run_renders_in_every_format(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_run("empty"));
	for (size_t i = 0; renderer_table[i]; i++)
		assert_true(strlen(render(&fixture, renderer_table[i]->name, &plain)) > 0);
	fixture_close(&fixture);
}

static void md_has_the_summary_header_and_the_quality_lines(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_pipeline());
	const char *text = render(&fixture, "md", &plain);
	assert_true(str_starts(text, "# Pipeline Profile Report\n"));
	assert_non_null(strstr(text, "\n## Summary\n\n| Stage | Duration | CPU Avg | RAM Max | GPU Util | Status |\n"));
	assert_non_null(strstr(text, "\n## Quality\n\n- Grade: 72.5/100\n- Precision: 0.85\n- Recall: 0.78\n"
				     "- Miss rate: n/a (no file matches runs/grade-\\*.json)\n"));
	fixture_close(&fixture);
}

static void md_escapes_names_and_outgrows_fences(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_pipeline());
	const char *text = render(&fixture, "md", &plain);
	assert_non_null(strstr(text, "| generate\\|dataset |"));
	assert_null(strstr(text, "| generate|dataset |"));
	assert_non_null(strstr(text, "\n`````text\n"));
	assert_null(strchr(text, '\033'));
	fixture_close(&fixture);
}

static void csv_quotes_and_has_a_row_per_stage(void **state)
{
	(void)state;
	struct fixture fixture;
	struct run_record *record = sample_run("a,b");
	sample_stage(record, "say \"hi\"", 0, 0, 0, 1.5, 1);
	sample_unrun(record, "later", 1, STATUS_MANUAL, "by hand");
	fixture_open(&fixture, record);
	const char *text = render(&fixture, "csv", &plain);
	assert_true(str_starts(text, "run,stage,status,wall_s,"));
	assert_non_null(strstr(text, "\r\n\"a,b\",\"say \"\"hi\"\"\",ok,1.5,"));
	size_t lines = 0, commas = 0;
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	const char *last = strstr(text, "\"a,b\",later,manual");
	assert_non_null(last);
	for (const char *at = last + 5; *at && *at != '\r'; at++)
		commas += *at == ',';
	assert_int_equal(lines, 3);
	assert_int_equal(commas, 2 + METRIC_COUNT);
	fixture_close(&fixture);
}

static void json_has_the_seeds_keys_and_every_metric(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, sample_pipeline());
	const char *text = render(&fixture, "json", &plain);
	static const char *const pieces[] = {
		"\"timestamp_utc\": \"2026-01-31T12:34:56Z\"",
		"\"dataset\": \"coco128\"",
		"\"train_epochs\": 50",
		"\"stage\": \"train\"",
		"\"duration_s\": 302.1",
		"\"gpu_util_percent_avg\": null",
		"\"run_grade_0_100\": 72.5",
		"\"miss_rate_proxy\": null",
		"\"bottleneck\": \"train\"",
		"\"reason\": \"no GPU found\"",
		"\"needs\": [\n        \"fetch-dataset\",\n        \"generate|dataset\"\n      ]",
	};
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		if (!strstr(text, pieces[i]))
			fail_msg("no %s in the report", pieces[i]);
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		char key[80];
		size_t times = 0;
		snprintf(key, sizeof(key), "\"%s\": {", metrics[metric].name);
		for (const char *at = text; (at = strstr(at, key)); at++)
			times++;
		assert_int_equal(times, fixture.report.stages.len + 1);
	}
	fixture_close(&fixture);
}

static void json_memory_is_the_larger_of_tree_and_process_in_mib(void **state)
{
	(void)state;
	struct fixture fixture;
	struct run_record *record = sample_run("memory");
	struct stage_record *stage = sample_stage(record, "spike", 0, 0, 0, 1, 1);
	metric_set(&stage->values[METRIC_MEMORY_PEAK], 900 * 1048576.0, METHOD_EXACT, "cgroup memory.peak");
	metric_set(&stage->values[METRIC_MEMORY_ANON_PEAK], 100 * 1048576.0, METHOD_SAMPLED, "cgroup memory.stat");
	metric_set(&stage->values[METRIC_RSS_PROCESS_PEAK], 512 * 1048576.0, METHOD_EXACT, "wait4");
	fixture_open(&fixture, record);
	assert_non_null(strstr(render(&fixture, "json", &plain), "\"rss_mb_max\": 512,"));
	fixture_close(&fixture);
}

static void json_of_a_command_line_that_is_no_json_says_null(void **state)
{
	(void)state;
	struct fixture fixture;
	struct run_record *record = sample_command(1);
	free(record->row.argv_json);
	record->row.argv_json = mem_strdup("[\"a\", 7]");
	fixture_open(&fixture, record);
	assert_non_null(strstr(render(&fixture, "json", &plain), "\"argv\": null"));
	fixture_close(&fixture);
}

static void a_log_tail_is_its_last_lines(void **state)
{
	(void)state;
	assert_string_equal(text_tail("a\nb\nc\n", 2), "b\nc\n");
	assert_string_equal(text_tail("a\nb\nc", 1), "c");
	assert_string_equal(text_tail("a\nb", 5), "a\nb");
	assert_string_equal(text_tail("", 5), "");
	assert_string_equal(text_tail("\n\n", 5), "\n\n");
}

static void a_cell_is_exactly_as_wide_as_asked(void **state)
{
	(void)state;
	static const char *const texts[] = {"",    "abc",           "a long name of a stage", "訓練データの前処理",
					    "a訓", "e\u0301e\u0301"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (int width = 0; width < 24; width++)
			for (int unicode = 0; unicode < 2; unicode++) {
				struct str cell = {0};
				text_append_cell(&cell, texts[i], width, i & 1, unicode);
				assert_int_equal(str_columns(str_text(&cell)), width);
				str_fini(&cell);
			}
}

static void a_cut_escape_sequence_is_shown_and_not_sent(void **state)
{
	(void)state;
	struct str out = {0};
	const char *line = "x\033[31";
	text_append_log_line(&out, line, strlen(line), true);
	assert_string_equal(str_text(&out), "x^[[31");
	str_fini(&out);
}

static void write_sample(const char *dir, const char *name, const char *text)
{
	struct err err = {0};
	char *path = file_join(dir, name);
	assert_int_equal(file_write_atomic(path, text, strlen(text), &err), 0);
	free(path);
}

static void remove_sample(const char *dir, const char *name)
{
	char *path = file_join(dir, name);
	assert_int_equal(unlink(path), 0);
	free(path);
}

static void the_metrics_page_in_docs_is_the_registrys(void **state)
{
	(void)state;
	struct str page = {0};
	struct err err = {0};
	char *text = NULL;
	size_t size;
	metrics_doc_markdown(&page);
	if (getenv("PITOT_TEST_SAMPLES"))
		assert_int_equal(file_write_atomic("docs/metrics.md", str_text(&page), page.len, &err), 0);
	/* The tests run in the project's folder. */
	if (file_read("docs/metrics.md", 1 << 20, &text, &size, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(text, str_text(&page));
	free(text);
	str_fini(&page);
}

static void the_schema_requires_every_metric_of_the_registry(void **state)
{
	(void)state;
	struct err err = {0};
	char *text = NULL;
	size_t size;
	if (file_read("docs/report.schema.json", 1 << 20, &text, &size, &err) < 0)
		fail_msg("%s", err.text);
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		char piece[80];
		snprintf(piece, sizeof(piece), "\"%s\"", metrics[metric].name);
		if (!strstr(text, piece))
			fail_msg("docs/report.schema.json does not name %s", metrics[metric].name);
	}
	free(text);
}

static void the_metrics_for_a_terminal_fit(void **state)
{
	(void)state;
	for (int columns = 20; columns < 120; columns += 9) {
		struct str page = {0};
		struct render_options options = {.columns = columns, .color = true};
		metrics_doc_term(&options, &page);
		assert_true(widest_line(str_text(&page)) <= (size_t)columns);
		assert_non_null(strstr(str_text(&page), "wall_s"));
		str_fini(&page);
	}
}

static void the_metrics_as_json_name_every_one(void **state)
{
	(void)state;
	struct str page = {0};
	metrics_doc_json(&page);
	if (getenv("PITOT_TEST_SAMPLES"))
		write_sample(getenv("PITOT_TEST_SAMPLES"), "metrics.json", str_text(&page));
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		char piece[80];
		snprintf(piece, sizeof(piece), "\"name\": \"%s\"", metrics[metric].name);
		assert_non_null(strstr(str_text(&page), piece));
	}
	str_fini(&page);
}

static void samples_are_written_where_asked(void **state)
{
	(void)state;
	const char *dir = getenv("PITOT_TEST_SAMPLES");
	static const struct {
		const char *name, *format;
		struct render_options options;
	} samples[] = {
		{"term80.txt", "term", {.unicode = true, .columns = 80}},
		{"term20.txt", "term", {.unicode = true, .columns = 20}},
		{"term60.txt", "term", {.unicode = true, .columns = 60}},
		{"term120.txt", "term", {.unicode = true, .columns = 120, .color = true}},
		{"term80a.txt", "term", {.columns = 80}},
		{"verbose.txt", "term", {.unicode = true, .columns = 80, .verbose = true}},
		{"md.md", "md", {0}},
		{"json.json", "json", {0}},
		{"csv.csv", "csv", {0}},
	};
	/* Where nobody asked, they go where they disturb nobody. */
	char own[] = "/tmp/pitot-samples-XXXXXX";
	if (!dir)
		assert_non_null(mkdtemp(own));
	for (int kind = 0; kind < 4; kind++) {
		static const char *const prefixes[] = {"pipeline", "command", "repeated", "empty"};
		struct fixture fixture;
		fixture_open(&fixture, kind == 0   ? sample_pipeline()
				       : kind == 1 ? sample_command(1)
				       : kind == 2 ? sample_command(5)
						   : sample_run("empty"));
		if (kind < 2)
			load_illustrations(&fixture.report);
		for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
			char name[64];
			snprintf(name, sizeof(name), "%s-%s", prefixes[kind], samples[i].name);
			write_sample(dir ? dir : own, name, render(&fixture, samples[i].format, &samples[i].options));
			if (!dir)
				remove_sample(own, name);
		}
		fixture_close(&fixture);
	}
	if (!dir)
		assert_int_equal(rmdir(own), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_format_is_found_by_name_and_no_other),
	cmocka_unit_test(term_fits_every_width_in_every_style),
	cmocka_unit_test(term_of_a_command_fits_every_width),
	cmocka_unit_test(term_without_unicode_is_ascii),
	cmocka_unit_test(term_without_color_has_no_escape_whatever_the_log_says),
	cmocka_unit_test(a_stage_name_cannot_send_escapes),
	cmocka_unit_test(term_says_the_bottleneck_and_its_verdict),
	cmocka_unit_test(term_of_one_command_is_a_block_and_no_table),
	cmocka_unit_test(term_lists_the_costliest_of_a_thousand_stages_and_every_failure),
	cmocka_unit_test(term_shows_a_live_stage_as_running),
	cmocka_unit_test(an_event_that_came_again_is_told_once_and_many_are_cut),
	cmocka_unit_test(an_empty_run_renders_in_every_format),
	cmocka_unit_test(md_has_the_summary_header_and_the_quality_lines),
	cmocka_unit_test(md_escapes_names_and_outgrows_fences),
	cmocka_unit_test(csv_quotes_and_has_a_row_per_stage),
	cmocka_unit_test(json_has_the_seeds_keys_and_every_metric),
	cmocka_unit_test(json_memory_is_the_larger_of_tree_and_process_in_mib),
	cmocka_unit_test(json_of_a_command_line_that_is_no_json_says_null),
	cmocka_unit_test(a_log_tail_is_its_last_lines),
	cmocka_unit_test(a_cell_is_exactly_as_wide_as_asked),
	cmocka_unit_test(a_cut_escape_sequence_is_shown_and_not_sent),
	cmocka_unit_test(the_metrics_page_in_docs_is_the_registrys),
	cmocka_unit_test(the_schema_requires_every_metric_of_the_registry),
	cmocka_unit_test(the_metrics_for_a_terminal_fit),
	cmocka_unit_test(the_metrics_as_json_name_every_one),
	cmocka_unit_test(samples_are_written_where_asked),
};

UNIT_MAIN(tests)
