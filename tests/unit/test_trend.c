/* test_trend.c - change points with their commits, per machine, and the three ways to show them. */
#include "unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "render/trend.h"
#include "test_store_run.h"

#include <math.h>

#define HOUR (3600 * NS_PER_S)

enum { MOST = 400 };

struct fixture {
	struct history_entry entries[MOST];
	const struct history_entry *pointers[MOST];
	size_t count;
	uint64_t random;
	struct trend_report report;
	struct str text;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->random = 12345;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	trend_report_fini(&f->report);
	for (size_t i = 0; i < f->count; i++) {
		free(f->entries[i].path);
		free(f->entries[i].git_commit);
	}
	str_fini(&f->text);
	free(f);
	return 0;
}

/* Between -1 and 1, the same at every run of the test. */
static double noise(struct fixture *f)
{
	f->random = f->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(f->random >> 11) / (double)(1ull << 52) - 1;
}

static void add(struct fixture *f, const char *machine, uint64_t hour, const char *commit, double value)
{
	assert_true(f->count < MOST);
	struct history_entry *entry = &f->entries[f->count];
	*entry = (struct history_entry){.path = mem_printf("h/run-%03zu.pitot", f->count),
					.name = "churn",
					.started_utc_ns = 1767225600 * NS_PER_S + hour * HOUR,
					.status = STATUS_OK,
					.git_commit = mem_strdup(commit),
					.fingerprint = (char *)machine,
					.value = value};
	/* Handed over in the reverse order: the trend sorts by time itself. */
	memmove(f->pointers + 1, f->pointers, f->count * sizeof(f->pointers[0]));
	f->pointers[0] = entry;
	f->count++;
}

/* `count` runs around `level` with 3 % of noise, one per hour, commits c0, c1, … */
static void add_level(struct fixture *f, const char *machine, size_t count, double level)
{
	for (size_t i = 0; i < count; i++) {
		char commit[16];
		snprintf(commit, sizeof(commit), "c%zu", f->count);
		add(f, machine, f->count, commit, level * (1 + 0.03 * noise(f)));
	}
}

static const struct trend_machine *compute(struct fixture *f, enum metric_direction direction)
{
	trend_compute(f->pointers, f->count, &(struct trend_question){.direction = direction}, &f->report);
	return f->report.machines.len ? &f->report.machines.items[0] : NULL;
}

static void a_step_is_found_with_its_commit_and_its_size(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 20, 1.0);
	add_level(f, "m", 15, 1.3);
	const struct trend_machine *machine = compute(f, LOWER_IS_BETTER);
	assert_int_equal(machine->changes.len, 1);
	const struct trend_change *change = &machine->changes.items[0];
	assert_int_equal(change->index, 20);
	assert_string_equal(change->commit, "c20");
	assert_string_equal(change->commit_before, "c19");
	assert_int_equal(change->way, TREND_WORSE);
	assert_true(change->is_ratio && change->size.exists);
	assert_true(change->size.low > 1.2 && change->size.low < 1.3);
	assert_true(change->size.high > 1.3 && change->size.high < 1.4);
	assert_true(fabs(change->before - 1.0) < 0.03 && fabs(change->after - 1.3) < 0.04);
	assert_int_equal(machine->stretches.len, 2);
	assert_int_equal(machine->points.items[19].stretch, 0);
	assert_int_equal(machine->points.items[20].stretch, 1);
}

static void what_is_worse_depends_on_the_metric(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 15, 1.0);
	add_level(f, "m", 15, 2.0);
	static const struct {
		enum metric_direction direction;
		enum trend_way way;
	} cases[] = {
		{LOWER_IS_BETTER, TREND_WORSE}, {HIGHER_IS_BETTER, TREND_BETTER}, {NEITHER_IS_BETTER, TREND_OTHER}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct trend_machine *machine = compute(f, cases[i].direction);
		assert_int_equal(machine->changes.len, 1);
		assert_int_equal(machine->changes.items[0].way, cases[i].way);
		trend_report_fini(&f->report);
	}
}

static void noise_alone_is_no_change_and_no_drift(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 100, 1.0);
	const struct trend_machine *machine = compute(f, LOWER_IS_BETTER);
	assert_int_equal(machine->changes.len, 0);
	assert_int_equal(machine->stretches.len, 1);
	assert_int_equal(machine->drift_runs, 100);
	assert_true(machine->drift.low < 0 && machine->drift.high > 0);
}

/* The slow machine came later: put together, that would look like a step. */
static void another_machine_is_never_a_change(void **state)
{
	struct fixture *f = *state;
	add_level(f, "fast", 20, 1.0);
	add_level(f, "slow", 20, 2.0);
	compute(f, LOWER_IS_BETTER);
	assert_int_equal(f->report.machines.len, 2);
	assert_string_equal(f->report.machines.items[0].fingerprint, "slow"); /* it has the newest run */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(f->report.machines.items[i].points.len, 20);
		assert_int_equal(f->report.machines.items[i].changes.len, 0);
	}
}

static void runs_without_a_value_or_a_machine_are_kept_apart(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 3, 1.0);
	add(f, "m", 50, NULL, NAN);
	add(f, "m", 51, NULL, INFINITY);
	add(f, NULL, 52, NULL, 1.0);
	compute(f, LOWER_IS_BETTER);
	assert_int_equal(f->report.without_value, 2);
	assert_int_equal(f->report.machines.len, 2);
	assert_string_equal(f->report.machines.items[0].fingerprint, "");
	trend_report_fini(&f->report);
	trend_compute(NULL, 0, &(struct trend_question){0}, &f->report);
	assert_int_equal(f->report.machines.len, 0);
}

static void a_slow_creep_is_a_drift(void **state)
{
	struct fixture *f = *state;
	for (uint64_t i = 0; i < 9; i++)
		add(f, "m", i, NULL, 1 + 0.01 * (double)i);
	const struct trend_machine *machine = compute(f, LOWER_IS_BETTER);
	assert_int_equal(machine->drift_runs, 9);
	assert_true(fabs(machine->drift.estimate - 0.01) < 1e-9 && machine->drift.low > 0);
}

static void values_of_zero_and_below_have_a_difference_and_no_ratio(void **state)
{
	struct fixture *f = *state;
	for (uint64_t i = 0; i < 30; i++)
		add(f, "m", i, NULL, (i < 15 ? 0 : 5) + 0.1 * noise(f));
	const struct trend_machine *machine = compute(f, LOWER_IS_BETTER);
	assert_int_equal(machine->changes.len, 1);
	assert_false(machine->changes.items[0].is_ratio);
	assert_true(fabs(machine->changes.items[0].size.estimate - 5) < 0.2);
	assert_null(machine->changes.items[0].commit);
}

static struct trend_view view_of(const struct fixture *f)
{
	return (struct trend_view){.run_name = "churn",
				   .what = "wall_s",
				   .meaning = "elapsed time",
				   .unit = UNIT_SECONDS,
				   .this_machine = "m",
				   .report = &f->report};
}

static void assert_has(const struct fixture *f, const char *words)
{
	if (!strstr(str_text(&f->text), words))
		fail_msg("no '%s' in:\n%s", words, str_text(&f->text));
}

static void assert_fits(const struct fixture *f, int columns)
{
	char *copy = mem_strdup(str_text(&f->text));
	for (char *line = copy, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (str_columns(line) > (size_t)columns)
			fail_msg("%zu columns, not %d: '%s'", str_columns(line), columns, line);
		if (str_ends(line, " "))
			fail_msg("spaces at the end of '%s'", line);
	}
	free(copy);
}

static void the_chart_never_is_wider_than_the_terminal(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 150, 1.0);
	add_level(f, "m", 100, 1.5);
	add_level(f, "m", 20, 1.2);
	compute(f, LOWER_IS_BETTER);
	struct trend_view view = view_of(f);
	static const int widths[] = {40, 60, 80, 120, 500};
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		for (int unicode = 0; unicode < 2; unicode++) {
			str_clear(&f->text);
			trend_term(&view, &(struct render_options){.columns = widths[i], .unicode = unicode}, &f->text);
			assert_fits(f, widths[i]);
			for (const char *at = f->text.text; *at && !unicode; at++)
				if (*at & 0x80)
					fail_msg("not ASCII: %s", f->text.text);
		}
}

static void the_terminal_names_commits_sizes_and_what_was_left_out(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 20, 1.0);
	add_level(f, "m", 15, 1.3);
	compute(f, LOWER_IS_BETTER);
	f->report.machines.items[0].changes.items[0].note = mem_strdup("also different: rows was 1 and became 2");
	struct trend_view view = view_of(f);
	view.failed = 2;
	view.damaged = 1;
	view.stage = "train";
	trend_term(&view, &(struct render_options){.columns = 200, .unicode = true}, &f->text);
	assert_has(f, "churn wall_s of stage train - elapsed time");
	assert_has(f, "machine m (this one)");
	assert_has(f, "1  2026-01-01 20:00 +29 % [+28 % to +31 %], from 996 ms to 1.30 s: worse");
	assert_has(f, "moved at commit c20, the run before was at c19");
	assert_has(f, "     before run-019.pitot\n     after  run-020.pitot\n");
	assert_has(f, "rows was 1 and became 2");
	assert_has(f, "left out: 2 that did not end well (--status shows them) and 1 damaged");
}

static void the_same_commit_on_both_sides_is_said(void **state)
{
	struct fixture *f = *state;
	for (uint64_t i = 0; i < 30; i++)
		add(f, "m", i, "abcdef", (i < 15 ? 1 : 5) + 0.1 * noise(f));
	compute(f, LOWER_IS_BETTER);
	struct trend_view view = view_of(f);
	trend_term(&view, &(struct render_options){.columns = 200}, &f->text);
	assert_has(f, "both at commit abcdef: not what git knows");
}

static void few_runs_say_that_they_are_too_few(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 1, 1.0);
	compute(f, LOWER_IS_BETTER);
	struct trend_view view = view_of(f);
	trend_term(&view, &(struct render_options){.columns = 80}, &f->text);
	assert_has(f, "too few runs to look for changes: 10 are needed");
	assert_has(f, "(1 run, ");
	assert_null(strstr(f->text.text, "drift"));
}

static void json_and_csv_have_every_run_with_its_stretch(void **state)
{
	struct fixture *f = *state;
	add_level(f, "m", 12, 1.0);
	add_level(f, "m", 12, 2.0);
	f->entries[3].git_commit[0] = ','; /* has to be quoted */
	compute(f, LOWER_IS_BETTER);
	struct trend_view view = view_of(f);
	trend_csv(&view, &f->text);
	size_t rows = 0;
	for (const char *at = f->text.text; (at = strstr(at, "\r\n")); at += 2)
		rows++;
	assert_int_equal(rows, 25);
	assert_has(f, "host_fingerprint,timestamp_utc,file,git_commit,tags,value,stretch,change\r\n");
	assert_has(f, "m,2026-01-01T03:00:00Z,run-003.pitot,\",3\",,");
	assert_has(f, ",0,0\r\nm,2026-01-01T12:00:00Z,run-012.pitot,c12,,");
	assert_has(f, ",1,1\r\nm,2026-01-01T13:00:00Z");
	str_clear(&f->text);
	trend_json(&view, &f->text);
	assert_has(f, "\"metric\": \"wall_s\"");
	assert_has(f, "\"git_commit_before\": \"c11\"");
	assert_has(f, "\"is_this\": true");
	assert_has(f, "\"direction\": \"worse\"");
}

static void a_note_says_what_else_is_different(void **state)
{
	struct fixture *f = *state;
	(void)f;
	struct run_record before = {.row = {.pitot_version = "1", .config_text = "a"}},
			  after = {.row = {.pitot_version = "1", .config_text = "a"}};
	assert_null(trend_note(&before, &after, METRIC_WALL, NULL));
	vec_push(&before.params, ((struct name_value){.name = "rows", .value = "10"}));
	vec_push(&after.params, ((struct name_value){.name = "rows", .value = "20"}));
	after.row.config_text = "b";
	after.row.pitot_version = "2";
	metric_set(&before.values[METRIC_SELF_CPU], 1, METHOD_EXACT, "getrusage");
	metric_set(&after.values[METRIC_SELF_CPU], 1, METHOD_SAMPLED, "samples");
	char *note = trend_note(&before, &after, METRIC_SELF_CPU, NULL);
	assert_string_equal(note,
			    "also different: rows was 10 and became 20; the pipeline file; measured by 'getrusage'"
			    " before and by 'samples' after; pitot 1, then 2");
	free(note);
	note = trend_note(&before, &after, -1, NULL);
	assert_null(strstr(note, "measured"));
	free(note);
	vec_fini(&before.params);
	vec_fini(&after.params);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	WITH(a_step_is_found_with_its_commit_and_its_size),
	WITH(what_is_worse_depends_on_the_metric),
	WITH(noise_alone_is_no_change_and_no_drift),
	WITH(another_machine_is_never_a_change),
	WITH(runs_without_a_value_or_a_machine_are_kept_apart),
	WITH(a_slow_creep_is_a_drift),
	WITH(values_of_zero_and_below_have_a_difference_and_no_ratio),
	WITH(the_chart_never_is_wider_than_the_terminal),
	WITH(the_terminal_names_commits_sizes_and_what_was_left_out),
	WITH(the_same_commit_on_both_sides_is_said),
	WITH(few_runs_say_that_they_are_too_few),
	WITH(json_and_csv_have_every_run_with_its_stretch),
	WITH(a_note_says_what_else_is_different),
};
UNIT_MAIN(tests)
