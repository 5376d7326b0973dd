/*
 * test_findings_code.c - the rules about code, each on a profile that shows its sickness and on profiles that just do not.
 * tests/system/test_findings.py does the same with real programs.
 */
#include "unit.h"

#include "analyze/rule.h"
#include "code_profile.h"
#include "near.h"
#include "sample_run.h"

#define PACKAGES "/usr/lib/python3/dist-packages/"
#define LIBC     "/usr/lib/libc.so.6"
#define PYTHON   "/usr/bin/python3.11"

struct call {
	enum frame_kind kind;
	const char *function, *module, *file;
};

struct part {
	int percent;
	struct call calls[4]; /* root first; ends with one without a name */
};

struct code_case {
	const char *id; /* NULL: nothing about code may be found */
	struct part parts[4];
};

#define MAIN                                                                                                           \
	{                                                                                                              \
		FRAME_PYTHON, "<module>", NULL, "/srv/etl.py"                                                          \
	}
#define STEP                                                                                                           \
	{                                                                                                              \
		FRAME_PYTHON, "step", NULL, "/srv/etl.py"                                                              \
	}
#define IN(name)                                                                                                       \
	{                                                                                                              \
		FRAME_NATIVE, name, "/srv/a.out", "/srv/a.c"                                                           \
	}
#define LIB(name)                                                                                                      \
	{                                                                                                              \
		FRAME_NATIVE, name, LIBC, NULL                                                                         \
	}
#define REST                                                                                                           \
	{                                                                                                              \
		FRAME_NATIVE, "other", "/srv/b.so", NULL                                                               \
	}

static const struct code_case cases[] = {
	{"hot-function", {{60, {IN("main"), IN("parse")}}, {20, {IN("main"), IN("sort")}}, {20, {REST}}}},
	{NULL, {{40, {IN("main"), IN("parse")}}, {40, {IN("main"), IN("sort")}}, {20, {REST}}}},
	/* Code without a name cannot be told to be one function. */
	{NULL, {{80, {{FRAME_NATIVE, "[libz.so.1+0x12]", "libz.so.1", NULL}}}, {20, {REST}}}},
	/* What the C library does was asked for by others; a script's top level is no function. */
	{NULL, {{60, {IN("main"), LIB("write")}}, {40, {REST}}}},
	{NULL, {{45, {MAIN, REST}}, {55, {MAIN, LIB("memset")}}}},
	/* What a Python function calls is its own time. */
	{"hot-function",
	 {{30, {MAIN, STEP, LIB("memcpy")}}, {30, {MAIN, STEP, LIB("strlen")}}, {10, {MAIN, STEP}}, {30, {REST}}}},
	{"interpreter-loop", {{70, {MAIN, STEP}}, {30, {REST}}}},
	/* Spread over many functions there is no loop to point at. */
	{NULL, {{25, {MAIN}}, {20, {MAIN, {FRAME_PYTHON, "a", NULL, "x.py"}}}, {20, {MAIN, STEP}}, {35, {REST}}}},
	{"import-time",
	 {{40, {MAIN, {FRAME_PYTHON, "_find_and_load", NULL, "<frozen importlib._bootstrap>"}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	{NULL,
	 {{20, {MAIN, {FRAME_PYTHON, "_find_and_load", NULL, "<frozen importlib._bootstrap>"}, LIB("memset")}},
	  {40, {REST}},
	  {40, {IN("main")}}}},
	/* A function of the program's own with such a name. */
	{NULL,
	 {{40, {MAIN, {FRAME_PYTHON, "_find_and_load", NULL, "/srv/shop.py"}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	{"serialising",
	 {{40, {MAIN, {FRAME_PYTHON, "dumps", NULL, "/usr/lib/python3.11/json/__init__.py"}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	{"serialising",
	 {{40, {MAIN, {FRAME_NATIVE, "_pickle_dumps", PYTHON, NULL}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	{"serialising",
	 {{40, {MAIN, {FRAME_PYTHON, "read_csv", NULL, PACKAGES "pandas/io/parsers/readers.py"}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	{"serialising",
	 {{40, {MAIN, {FRAME_PYTHON, "_save_chunk", NULL, PACKAGES "pandas/io/formats/csvs.py"}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	{"serialising",
	 {{40, {MAIN, {FRAME_PYTHON, "safe_load", NULL, PACKAGES "yaml/__init__.py"}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	/* A file of the program's own in a folder of that name. */
	{NULL,
	 {{40, {MAIN, {FRAME_PYTHON, "walk", NULL, "/srv/yaml/walk.py"}, LIB("memset")}},
	  {30, {REST}},
	  {30, {IN("main")}}}},
	{"allocator",
	 {{20, {IN("main"), LIB("malloc"), LIB("_int_malloc")}},
	  {15, {IN("main"), LIB("free")}},
	  {35, {REST}},
	  {30, {IN("main")}}}},
	/* malloc of somebody else's making is not the C library's. */
	{NULL, {{35, {IN("main"), IN("malloc")}}, {35, {REST}}, {30, {IN("main")}}}},
	{"regex-compile",
	 {{20, {MAIN, STEP, {FRAME_PYTHON, "compile", NULL, "/usr/lib/python3.11/re/_compiler.py"}, LIB("memset")}},
	  {40, {REST}},
	  {40, {IN("main")}}}},
	/* Modules compile their patterns when they are imported; that is done once. */
	{NULL,
	 {{20,
	   {MAIN,
	    {FRAME_PYTHON, "_find_and_load", NULL, "<frozen importlib._bootstrap>"},
	    {FRAME_PYTHON, "compile", NULL, "/usr/lib/python3.11/re/_compiler.py"},
	    LIB("memset")}},
	  {40, {REST}},
	  {40, {IN("main")}}}},
	{"date-parsing",
	 {{35, {MAIN, STEP, {FRAME_PYTHON, "_strptime", NULL, "/usr/lib/python3.11/_strptime.py"}, LIB("memset")}},
	  {35, {REST}},
	  {30, {IN("main")}}}},
};

static int64_t stack_of(struct profile_data *profile, const struct part *part)
{
	int64_t stack = 0;
	for (int i = 0; i < 4 && part->calls[i].function; i++) {
		const struct call *call = &part->calls[i];
		int64_t frame = code_profile_frame(profile, call->kind, call->function, call->module, call->file,
						   call->kind == FRAME_PYTHON ? 10 + i : 0);
		stack = code_profile_stack(profile, stack, frame);
	}
	return stack;
}

struct fixture {
	struct run_record *record;
	struct profile_data *profile;
	struct report report;
};

/* A command of 10 s that computes all the time on eight cores; `samples` stand for `cpu_s`. */
static void fixture_open(struct fixture *fixture, const struct code_case *c, int samples, double cpu_s)
{
	*fixture = (struct fixture){sample_run("work"), code_profile_new(), {0}};
	sample_stage(fixture->record, "work", 0, 0, 0, 10, 10);
	struct profile_data *profile = fixture->profile;
	int64_t thread = code_profile_thread(profile, code_profile_process(profile, 1, 100), 100, NULL);
	for (int i = 0; i < 4 && c->parts[i].percent; i++) {
		int64_t stack = stack_of(profile, &c->parts[i]);
		for (int k = 0; k < c->parts[i].percent * samples / 100; k++)
			code_profile_sample(profile, thread, k, stack, 1e3 * cpu_s / samples);
	}
	report_compute(fixture->record, &fixture->report);
	struct report_stage *stage = &fixture->report.stages.items[0];
	stage->code = code_report_new(profile, &(struct code_stage){stage->counted.items, stage->counted.len},
				      &(struct code_request){0});
	findings_compute(&fixture->report);
}

static void fixture_close(struct fixture *fixture)
{
	report_fini(&fixture->report);
	profile_data_free(fixture->profile);
	run_record_free(fixture->record);
}

/* The first that is not about how many cores are used. */
static const struct finding *about_code(const struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->report.findings.items.len; i++) {
		const struct finding *finding = &fixture->report.findings.items.items[i];
		if (strcmp(finding->rule->id, "one-core") != 0 && strcmp(finding->rule->id, "cores-unused") != 0)
			return finding;
	}
	return NULL;
}

static void every_rule_fires_on_its_profile_and_not_on_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture fixture;
		fixture_open(&fixture, &cases[i], 2000, 10);
		const struct finding *finding = about_code(&fixture);
		if (!finding != !cases[i].id || (finding && strcmp(finding->rule->id, cases[i].id) != 0))
			fail_msg("case %zu: expected %s, got %s (%s)", i, cases[i].id ? cases[i].id : "nothing",
				 finding ? finding->rule->id : "nothing", finding ? finding->what : "");
		if (finding) {
			assert_int_equal(finding->severity, FINDING_LOOK);
			assert_true(finding->gain_s > 0 && finding->evidence.len > 0);
		}
		fixture_close(&fixture);
	}
}

static void the_function_and_the_gain_are_told(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, &cases[0], 2000, 10);
	const struct finding *finding = about_code(&fixture);
	assert_string_equal(finding->what, "60 % of its CPU time is spent in parse (a.c).");
	assert_near(finding->gain_s, 3.0, 1e-6); /* 6 s become 3 s */
	fixture_close(&fixture);
}

static void the_line_that_imports_is_told(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, &cases[8], 2000, 10);
	const struct finding *finding = about_code(&fixture);
	assert_string_equal(finding->rule->id, "import-time");
	assert_non_null(strstr(finding->what, "most of it from <module> (etl.py:10)"));
	fixture_close(&fixture);
}

static void few_samples_or_a_part_of_the_time_bear_no_finding(void **state)
{
	(void)state;
	struct fixture fixture;
	fixture_open(&fixture, &cases[0], 50, 10);
	assert_null(about_code(&fixture));
	fixture_close(&fixture);
	fixture_open(&fixture, &cases[0], 2000, 5); /* the other half was not sampled */
	assert_null(about_code(&fixture));
	fixture_close(&fixture);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_rule_fires_on_its_profile_and_not_on_others),
	cmocka_unit_test(the_function_and_the_gain_are_told),
	cmocka_unit_test(the_line_that_imports_is_told),
	cmocka_unit_test(few_samples_or_a_part_of_the_time_bear_no_finding),
};

UNIT_MAIN(tests)
