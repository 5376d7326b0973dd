/*
 * test_findings.c - the rules, each on numbers that show its sickness and on numbers that just do not; what is dropped,
 * how the rest is ordered, how it is shown. tests/system/test_findings.py does the same with real programs.
 *
 * With PITOT_TEST_SAMPLES=DIR it writes findings.md there, which belongs into docs/.
 */
#include "unit.h"

#include "analyze/rule.h"
#include "base/file.h"
#include "near.h"
#include "render/findings.h"
#include "sample_run.h"

#define GIB 1073741824.0
#define MIB 1048576.0

struct setting {
	int metric;
	double value;
	const char *source; /* NULL: "wait4" */
};

struct rule_case {
	const char *id; /* NULL: nothing may be found */
	enum finding_severity severity;
	double wall_s, cpu_s;
	struct setting settings[5]; /* ends with a source-less metric 0 */
};

struct fixture {
	struct run_record *record;
	struct report report;
};

static void host_fact(struct run_record *record, const char *name, const char *value)
{
	sample_pair(vec_add(&record->host), name, value, NULL);
}

static void set_value(struct stage_record *stage, int metric, double value, const char *source)
{
	metric_set(&stage->values[metric], value, METHOD_EXACT, "%s", source ? source : "wait4");
}

static void fixture_compute(struct fixture *fixture)
{
	report_compute(fixture->record, &fixture->report);
	findings_compute(&fixture->report);
}

static void fixture_close(struct fixture *fixture)
{
	report_fini(&fixture->report);
	run_record_free(fixture->record);
}

static const struct finding *first(const struct fixture *fixture)
{
	const struct finding_list *list = &fixture->report.findings;
	return list->items.len ? &list->items.items[0] : NULL;
}

static const struct finding *find(const struct fixture *fixture, const char *id)
{
	for (size_t i = 0; i < fixture->report.findings.items.len; i++)
		if (strcmp(fixture->report.findings.items.items[i].rule->id, id) == 0)
			return &fixture->report.findings.items.items[i];
	return NULL;
}

static const char *const own = "cgroup io.pressure", *const machine = "/proc/pressure/io, whole machine";

/* Of a single command on eight cores. */
static const struct rule_case cases[] = {
	{"one-core", FINDING_LOOK, 10, 9.8, {{METRIC_RUN_QUEUE_WAIT, 0.1, NULL}}},
	/* Others had the cores half of the time. */
	{"one-core", FINDING_LOOK, 10, 5, {{METRIC_RUN_QUEUE_WAIT, 5, NULL}}},
	{NULL, 0, 10, 6, {{METRIC_RUN_QUEUE_WAIT, 0.1, NULL}}},
	{NULL, 0, 10, 60, {{0}}},
	{NULL, 0, 0.04, 0.04, {{0}}}, /* too short to say */
	{"serialised-threads",
	 FINDING_LOOK,
	 10,
	 9.8,
	 {{METRIC_THREADS_PEAK, 8, NULL},
	  {METRIC_PROCESSES_PEAK, 1, NULL},
	  {METRIC_CONTEXT_SWITCHES_VOLUNTARY, 4000, NULL}}},
	{"one-core",
	 FINDING_LOOK,
	 10,
	 9.8,
	 {{METRIC_THREADS_PEAK, 8, NULL},
	  {METRIC_PROCESSES_PEAK, 8, NULL},
	  {METRIC_CONTEXT_SWITCHES_VOLUNTARY, 4000, NULL}}},
	{"oversubscribed", FINDING_LOOK, 10, 79, {{METRIC_RUN_QUEUE_WAIT, 200, NULL}}},
	{NULL, 0, 10, 79, {{METRIC_RUN_QUEUE_WAIT, 40, NULL}}},
	{"throttled", FINDING_FIX, 10, 5, {{METRIC_THROTTLED, 5, NULL}}},
	{NULL, 0, 10, 5, {{METRIC_THROTTLED, 0.2, NULL}}},
	{"cpu-contention", FINDING_NOTE, 10, 4, {{METRIC_RUN_QUEUE_WAIT, 2, NULL}}},
	{"io-wait", FINDING_FIX, 10, 4, {{METRIC_PRESSURE_IO_FULL, 4, own}}},
	{"io-wait", FINDING_LOOK, 10, 4, {{METRIC_PRESSURE_IO_FULL, 4, machine}}},
	{NULL, 0, 10, 4, {{METRIC_PRESSURE_IO_FULL, 1.5, own}}},
	{"small-io",
	 FINDING_FIX,
	 10,
	 6,
	 {{METRIC_IO_READ_CALLS, 2e6, NULL}, {METRIC_IO_READ, 2e6, NULL}, {METRIC_CPU_SYSTEM, 2, NULL}}},
	{"small-io",
	 FINDING_FIX,
	 10,
	 6,
	 {{METRIC_IO_WRITE_CALLS, 2e6, NULL}, {METRIC_IO_WRITE, 8e6, NULL}, {METRIC_CPU_SYSTEM, 2, NULL}}},
	/* Large ones are no trouble. */
	{NULL,
	 0,
	 10,
	 6,
	 {{METRIC_IO_READ_CALLS, 2e6, NULL}, {METRIC_IO_READ, 2e10, NULL}, {METRIC_CPU_SYSTEM, 2, NULL}}},
	{"output-flood", FINDING_LOOK, 10, 6, {{METRIC_OUTPUT, 3e8, NULL}}},
	{NULL, 0, 10, 6, {{METRIC_OUTPUT, 3e6, NULL}}},
	{"memory-limit", FINDING_FIX, 10, 6, {{METRIC_RSS_PROCESS_PEAK, 31e9, NULL}}},
	{NULL, 0, 10, 6, {{METRIC_RSS_PROCESS_PEAK, 20e9, NULL}}},
	{"memory-pressure", FINDING_FIX, 10, 6, {{METRIC_PRESSURE_MEMORY, 3, "cgroup memory.pressure"}}},
	{"memory-pressure", FINDING_LOOK, 10, 6, {{METRIC_PRESSURE_MEMORY, 3, "/proc/pressure/memory"}}},
	{"swapping",
	 FINDING_LOOK,
	 10,
	 6,
	 {{METRIC_SYSTEM_SWAP_PEAK, GIB, NULL}, {METRIC_PAGE_FAULTS_MAJOR, 900, NULL}}},
	{NULL, 0, 10, 6, {{METRIC_SYSTEM_SWAP_PEAK, GIB, NULL}, {METRIC_PAGE_FAULTS_MAJOR, 10, NULL}}},
	{"page-fault-storm",
	 FINDING_FIX,
	 10,
	 6,
	 {{METRIC_PAGE_FAULTS_MINOR, 4e6, NULL},
	  {METRIC_RSS_PROCESS_PEAK, 100 * MIB, NULL},
	  {METRIC_PROCESSES, 1, NULL},
	  {METRIC_CPU_SYSTEM, 2.5, NULL}}},
	/* A large table, taken once. */
	{NULL,
	 0,
	 10,
	 6,
	 {{METRIC_PAGE_FAULTS_MINOR, 4e6, NULL},
	  {METRIC_RSS_PROCESS_PEAK, 14 * GIB, NULL},
	  {METRIC_PROCESSES, 1, NULL},
	  {METRIC_CPU_SYSTEM, 2.5, NULL}}},
	{"major-faults", FINDING_LOOK, 10, 6, {{METRIC_PAGE_FAULTS_MAJOR, 20000, NULL}}},
	{NULL, 0, 10, 6, {{METRIC_PAGE_FAULTS_MAJOR, 20000, NULL}, {METRIC_IO_DEVICE_READ, 4096, NULL}}},
	{"short-processes", FINDING_FIX, 10, 6, {{METRIC_PROCESSES, 8000, "exit records"}}},
	{"short-processes", FINDING_LOOK, 10, 6, {{METRIC_PROCESSES, 1000, "exit records"}}},
	{NULL, 0, 10, 6, {{METRIC_PROCESSES, 40, "exit records"}}},
	{"waiting", FINDING_LOOK, 10, 0.5, {{0}}},
	{"handoffs", FINDING_LOOK, 10, 6, {{METRIC_CONTEXT_SWITCHES_VOLUNTARY, 1e6, NULL}}},
	{"system-time", FINDING_LOOK, 10, 6, {{METRIC_CPU_SYSTEM, 5, NULL}}},
	{NULL, 0, 10, 6, {{METRIC_CPU_SYSTEM, 1, NULL}}},
	{"gpu-idle", FINDING_LOOK, 10, 7, {{METRIC_GPU_UTIL_AVG, 20, "NVML"}, {METRIC_GPU_UTIL_MAX, 95, "NVML"}}},
	{NULL, 0, 10, 7, {{METRIC_GPU_UTIL_AVG, 2, "NVML"}, {METRIC_GPU_UTIL_MAX, 5, "NVML"}}},
	{NULL, 0, 10, 7, {{METRIC_GPU_UTIL_AVG, 85, "NVML"}, {METRIC_GPU_UTIL_MAX, 99, "NVML"}}},
	{"gpu-memory",
	 FINDING_LOOK,
	 10,
	 7,
	 {{METRIC_GPU_UTIL_AVG, 85, "NVML"},
	  {METRIC_GPU_UTIL_MAX, 99, "NVML"},
	  {METRIC_GPU_MEMORY_PERCENT_MAX, 97, "NVML"},
	  {METRIC_GPU_MEMORY_PEAK, 15 * GIB, "NVML"}}},
	{NULL,
	 0,
	 10,
	 7,
	 {{METRIC_GPU_UTIL_AVG, 85, "NVML"},
	  {METRIC_GPU_UTIL_MAX, 99, "NVML"},
	  {METRIC_GPU_MEMORY_PERCENT_MAX, 80, "NVML"},
	  {METRIC_GPU_MEMORY_PEAK, 12 * GIB, "NVML"}}},
	/* Somebody else's, on a GPU that this stage does not use. */
	{NULL,
	 0,
	 10,
	 7,
	 {{METRIC_GPU_UTIL_AVG, 0, "NVML"},
	  {METRIC_GPU_UTIL_MAX, 1, "NVML"},
	  {METRIC_GPU_MEMORY_PERCENT_MAX, 99, "NVML"},
	  {METRIC_GPU_MEMORY_PEAK, 15 * GIB, "NVML"}}},
	/* The part of the machine's memory that an integrated GPU has for itself. */
	{NULL,
	 0,
	 10,
	 7,
	 {{METRIC_GPU_UTIL_AVG, 85, "amdgpu"},
	  {METRIC_GPU_UTIL_MAX, 99, "amdgpu"},
	  {METRIC_GPU_MEMORY_PERCENT_MAX, 98, "amdgpu"},
	  {METRIC_GPU_MEMORY_PEAK, 512 * MIB, "amdgpu"}}},
	{"low-ipc", FINDING_LOOK, 10, 6, {{METRIC_INSTRUCTIONS, 5e9, "perf"}, {METRIC_CYCLES, 1.5e10, "perf"}}},
	{NULL, 0, 10, 6, {{METRIC_INSTRUCTIONS, 3e10, "perf"}, {METRIC_CYCLES, 1.5e10, "perf"}}},
	{"cache-misses",
	 FINDING_LOOK,
	 10,
	 6,
	 {{METRIC_INSTRUCTIONS, 1e10, "perf"}, {METRIC_CYCLES, 1.2e10, "perf"}, {METRIC_CACHE_MISSES, 1e8, "perf"}}},
	{"branch-misses",
	 FINDING_LOOK,
	 10,
	 6,
	 {{METRIC_INSTRUCTIONS, 1e10, "perf"}, {METRIC_CYCLES, 1.2e10, "perf"}, {METRIC_BRANCH_MISSES, 2e8, "perf"}}},
	{"steal", FINDING_LOOK, 10, 60, {{METRIC_STEAL, 10, NULL}}},
	{NULL, 0, 10, 60, {{METRIC_STEAL, 1, NULL}}},
	{"noisy-host", FINDING_NOTE, 10, 20, {{METRIC_SYSTEM_CPU_PERCENT, 600, NULL}}},
	{NULL, 0, 10, 20, {{METRIC_SYSTEM_CPU_PERCENT, 240, NULL}}},
};

static struct run_record *single(double wall_s, double cpu_s)
{
	struct run_record *record = sample_run("work");
	free(record->row.config_path);
	record->row.config_path = NULL;
	sample_stage(record, "work", 0, 0, 0, wall_s, cpu_s);
	return record;
}

/* On eight cores a run that is said to use few of them is no surprise: that note is another test's. */
static void every_rule_fires_on_its_numbers_and_not_on_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rule_case *c = &cases[i];
		struct fixture fixture = {.record = single(c->wall_s, c->cpu_s)};
		for (size_t k = 0; k < 5 && c->settings[k].metric; k++)
			set_value(&fixture.record->stages.items[0], c->settings[k].metric, c->settings[k].value,
				  c->settings[k].source);
		fixture_compute(&fixture);
		const struct finding *finding = first(&fixture);
		if (finding && strcmp(finding->rule->id, "cores-unused") == 0)
			finding = NULL;
		if (!finding != !c->id || (finding && strcmp(finding->rule->id, c->id) != 0))
			fail_msg("case %zu: expected %s, got %s", i, c->id ? c->id : "nothing",
				 finding ? finding->rule->id : "nothing");
		if (finding && finding->severity != c->severity)
			fail_msg("case %zu: %s is '%s'", i, c->id, finding_severity_name(finding->severity));
		if (finding && (!finding->what || !finding->advice || finding->evidence.len == 0))
			fail_msg("case %zu: %s says too little", i, c->id);
		fixture_close(&fixture);
	}
}

static void every_rule_has_a_test_and_its_documentation(void **state)
{
	(void)state;
	/* Those that need a pipeline, a series or process records have tests of their own below; those about code are
	 * test_findings_code.c's, those about allocations test_findings_memory.c's, those about chunks test_span_report.c's. */
	static const char *const elsewhere[] = {
		"failed",       "retried",       "dominant-stage",     "serial-stages",       "cores-unused",
		"same-input",   "memory-growth", "interpreter-starts", "requested-resources", "hot-function",
		"import-time",  "serialising",   "interpreter-loop",   "allocator",           "regex-compile",
		"date-parsing", "leak",          "allocation-churn",   "peak-one-line",       "memory-kept",
		"chunk-memory", "chunk-time",    "low-bandwidth",      "chunk-bandwidth",     "chunk-latency",
		"chunk-gap"};
	for (const struct finding_rule *const *rule = rule_table; *rule; rule++) {
		bool tested = false;
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			tested = tested || (cases[i].id && strcmp(cases[i].id, (*rule)->id) == 0);
		for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
			tested = tested || strcmp(elsewhere[i], (*rule)->id) == 0;
		if (!tested)
			fail_msg("no test for %s", (*rule)->id);
		assert_non_null((*rule)->title);
		assert_non_null((*rule)->fires);
		assert_non_null((*rule)->why);
		assert_non_null((*rule)->todo);
		assert_true(!(*rule)->examine != !(*rule)->examine_run);
	}
}

static void a_run_without_numbers_says_nothing(void **state)
{
	(void)state;
	struct fixture fixture = {.record = sample_run("empty")};
	sample_unrun(fixture.record, "later", 0, STATUS_SKIPPED, "not asked for");
	fixture_compute(&fixture);
	assert_null(first(&fixture));
	fixture_close(&fixture);
	fixture.record = single(10, 1);
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (metric != METRIC_WALL)
			metric_set_absent(&fixture.record->stages.items[0].values[metric], "no source");
	fixture_compute(&fixture);
	assert_null(first(&fixture));
	fixture_close(&fixture);
}

static void a_failure_comes_before_everything(void **state)
{
	(void)state;
	struct fixture fixture = {.record = single(10, 5)};
	set_value(&fixture.record->stages.items[0], METRIC_THROTTLED, 0.7, NULL);
	fixture.record->stages.items[0].row.status = STATUS_ERROR;
	fixture.record->stages.items[0].row.exit_code = 3;
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "failed");
	assert_non_null(strstr(first(&fixture)->what, "exit status 3"));
	fixture_close(&fixture);
}

static void failed_attempts_cost_what_the_notes_say(void **state)
{
	(void)state;
	struct fixture fixture = {.record = single(10, 6)};
	fixture.record->stages.items[0].row.attempts = 2;
	sample_event(fixture.record, 1, "note", "attempt 1 failed");
	fixture.record->events.items[0].at_ns = 3000000001;
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "retried");
	assert_int_equal(first(&fixture)->severity, FINDING_FIX);
	assert_near(first(&fixture)->gain_s, 3, 1e-6);
	assert_near(first(&fixture)->gain_share, 0.3, 1e-6);
	fixture_close(&fixture);
}

static struct run_record *pipeline_of(size_t count, const double *walls, const double *cpus, const char *const *needs)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	struct run_record *record = sample_run("pipeline");
	double at = 0;
	for (size_t i = 0; i < count; i++) {
		struct stage_record *stage = sample_stage(record, names[i], (int)i, 0, at, walls[i], cpus[i]);
		stage->row.needs = mem_strdup(needs[i]);
		at += walls[i];
	}
	return record;
}

static void a_dominant_stage_is_named_unless_its_cause_is(void **state)
{
	(void)state;
	const double walls[] = {1, 8, 1}, cpus[] = {0.5, 40, 0.5};
	const char *const needs[] = {"", "a", "b"};
	struct fixture fixture = {.record = pipeline_of(3, walls, cpus, needs)};
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "dominant-stage");
	assert_string_equal(first(&fixture)->stage, "b");
	assert_near(first(&fixture)->gain_s, 4, 1e-6);
	fixture_close(&fixture);
	fixture.record = pipeline_of(3, walls, cpus, needs);
	set_value(&fixture.record->stages.items[1], METRIC_THROTTLED, 40, NULL);
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "throttled");
	assert_null(find(&fixture, "dominant-stage"));
	fixture_close(&fixture);
}

static void independent_stages_should_run_side_by_side_where_cores_allow(void **state)
{
	(void)state;
	const double walls[] = {4, 4, 4}, idle[] = {2, 2, 2}, full[] = {32, 32, 32};
	const char *const free_needs[] = {"", "", ""}, *const chain[] = {"", "a", "b"};
	struct fixture fixture = {.record = pipeline_of(3, walls, idle, free_needs)};
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "serial-stages");
	assert_int_equal(first(&fixture)->severity, FINDING_FIX);
	assert_near(first(&fixture)->gain_s, 8, 1e-6);
	assert_non_null(strstr(first(&fixture)->advice, "--jobs 3"));
	fixture_close(&fixture);
	fixture.record = pipeline_of(3, walls, full, free_needs);
	fixture_compute(&fixture);
	assert_null(find(&fixture, "serial-stages"));
	fixture_close(&fixture);
	fixture.record = pipeline_of(3, walls, idle, chain);
	fixture_compute(&fixture);
	assert_null(find(&fixture, "serial-stages"));
	fixture_close(&fixture);
}

static void unused_cores_are_noted_where_nothing_says_why(void **state)
{
	(void)state;
	struct fixture fixture = {.record = single(10, 6)};
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "cores-unused");
	assert_int_equal(first(&fixture)->severity, FINDING_NOTE);
	fixture_close(&fixture);
	fixture.record = single(10, 9.9);
	fixture_compute(&fixture);
	assert_non_null(find(&fixture, "one-core"));
	assert_null(find(&fixture, "cores-unused"));
	fixture_close(&fixture);
}

static void a_file_that_two_stages_read_is_named_in_the_second(void **state)
{
	(void)state;
	const double walls[] = {4, 4}, cpus[] = {12, 12};
	const char *const needs[] = {"", "a"};
	struct fixture fixture = {.record = pipeline_of(2, walls, cpus, needs)};
	for (size_t i = 0; i < 2; i++) {
		struct artifact input = {false, mem_strdup("/data/table.csv"), true, 1000000000};
		vec_push(&fixture.record->stages.items[i].artifacts, input);
		set_value(&fixture.record->stages.items[i], METRIC_IO_READ, 1.1e9, NULL);
	}
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "same-input");
	assert_string_equal(first(&fixture)->stage, "b");
	assert_near(first(&fixture)->gain_s, 1, 1e-6);
	fixture_close(&fixture);
}

/* Eight cores' work in ten seconds, with a memory series by `shape` over the stage's time, 0 to 1. */
static void open_with_memory(struct fixture *fixture, double (*shape)(double at))
{
	fixture->record = single(10, 60);
	report_compute(fixture->record, &fixture->report);
	struct series *series = vec_add(&fixture->report.stages.items[0].series.items);
	series->name = mem_strdup("memory_anon");
	series->unit = UNIT_BYTES;
	for (int i = 0; i < REPORT_BUCKETS; i++) {
		double value = shape((double)i / REPORT_BUCKETS);
		struct series_bucket bucket = {(uint64_t)i * 166666666ull, value, value, value, i % 3 ? 1 : 0};
		vec_push(&series->buckets, bucket);
	}
	findings_compute(&fixture->report);
}

static double rising(double at)
{
	return at > 0.97 ? 0 : 100 * MIB + at * GIB;
}

static double level(double at)
{
	return at < 0.3 ? at * 3 * GIB : 0.9 * GIB;
}

static double creeping(double at)
{
	return GIB + at * 10 * MIB;
}

static void memory_that_rises_to_the_end_is_found_and_a_plateau_is_not(void **state)
{
	(void)state;
	struct fixture fixture = {0};
	open_with_memory(&fixture, rising);
	assert_string_equal(first(&fixture)->rule->id, "memory-growth");
	assert_int_equal(first(&fixture)->severity, FINDING_LOOK);
	fixture_close(&fixture);
	open_with_memory(&fixture, level);
	assert_null(first(&fixture));
	fixture_close(&fixture);
	open_with_memory(&fixture, creeping);
	assert_null(first(&fixture));
	fixture_close(&fixture);
}

static void interpreters_started_again_and_again_are_counted(void **state)
{
	(void)state;
	struct fixture fixture = {.record = single(10, 6)};
	struct process_list processes = {0};
	for (int i = 0; i < 60; i++) {
		struct process_row row = {.pid = i,
					  .start_ns = (uint64_t)i * 100000000,
					  .end_ns = (uint64_t)i * 100000000 + (i == 7 ? 50000000 : 100000000),
					  .command =
						  mem_strdup(i % 2 ? "/usr/bin/python3.11 -m step" : "python3 -c 1")};
		vec_push(&processes.items, row);
	}
	report_compute(fixture.record, &fixture.report);
	census_compute(&processes, &fixture.report.stages.items[0].census);
	findings_compute(&fixture.report);
	assert_string_equal(fixture.report.stages.items[0].census.programs.items[0].name, "python");
	assert_string_equal(first(&fixture)->rule->id, "interpreter-starts");
	assert_near(first(&fixture)->gain_s, 59 * 0.05, 1e-6);
	process_list_fini(&processes);
	fixture_close(&fixture);
}

static void what_was_asked_for_in_vain_is_noted(void **state)
{
	(void)state;
	const double walls[] = {4, 4}, cpus[] = {20, 20};
	const char *const needs[] = {"", "a"};
	struct fixture fixture = {.record = pipeline_of(2, walls, cpus, needs)};
	fixture.record->row.jobs = 4;
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "requested-resources");
	assert_int_equal(first(&fixture)->severity, FINDING_NOTE);
	fixture_close(&fixture);
	fixture.record = single(10, 60);
	host_fact(fixture.record, "memory_limit_bytes", "17179869184");
	set_value(&fixture.record->stages.items[0], METRIC_MEMORY_PEAK, 5e8, NULL);
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "requested-resources");
	fixture_close(&fixture);
}

static void the_limit_of_the_control_group_counts_before_the_machines_memory(void **state)
{
	(void)state;
	struct fixture fixture = {.record = single(10, 60)};
	host_fact(fixture.record, "memory_limit_bytes", "1073741824");
	set_value(&fixture.record->stages.items[0], METRIC_RSS_PROCESS_PEAK, 0.95 * GIB, NULL);
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "memory-limit");
	fixture_close(&fixture);
}

static void a_small_gain_is_no_fix_and_a_tiny_one_nothing(void **state)
{
	(void)state;
	const double walls[] = {1, 20}, cpus[] = {0.7, 120}, tiny[] = {1, 200}, tiny_cpus[] = {0.7, 1200};
	const char *const needs[] = {"", "a"};
	struct fixture fixture = {.record = pipeline_of(2, walls, cpus, needs)};
	set_value(&fixture.record->stages.items[0], METRIC_THROTTLED, 3, NULL);
	fixture_compute(&fixture);
	assert_string_equal(first(&fixture)->rule->id, "throttled");
	assert_int_equal(first(&fixture)->severity, FINDING_LOOK);
	fixture_close(&fixture);
	fixture.record = pipeline_of(2, tiny, tiny_cpus, needs);
	set_value(&fixture.record->stages.items[0], METRIC_THROTTLED, 3, NULL);
	fixture_compute(&fixture);
	assert_null(find(&fixture, "throttled"));
	fixture_close(&fixture);
}

static void the_few_that_make_most_of_the_gain_are_marked(void **state)
{
	(void)state;
	const double walls[] = {10, 2, 1, 7}, cpus[] = {5, 1, 0.5, 30};
	const char *const needs[] = {"", "a", "b", "c"};
	struct fixture fixture = {.record = pipeline_of(4, walls, cpus, needs)};
	for (size_t i = 0; i < 3; i++)
		set_value(&fixture.record->stages.items[i], METRIC_THROTTLED, walls[i] * 2, NULL);
	fixture_compute(&fixture);
	const struct finding_list *list = &fixture.report.findings;
	assert_true(list->items.len >= 3);
	assert_string_equal(list->items.items[0].stage, "a");
	assert_string_equal(list->items.items[1].stage, "b");
	assert_true(list->items.items[0].vital);
	assert_true(list->items.items[1].vital); /* 10 of 13 is less than 80 % */
	assert_false(list->items.items[2].vital);
	fixture_close(&fixture);
}

static void the_formats_show_them(void **state)
{
	(void)state;
	const double walls[] = {4, 4, 4}, cpus[] = {2, 2, 2};
	const char *const needs[] = {"", "", ""};
	struct fixture fixture = {.record = pipeline_of(3, walls, cpus, needs)};
	fixture_compute(&fixture);
	static const char *const marks[][2] = {
		{"term", "What to fix first"}, {"md", "## What to Fix First"}, {"json", "\"id\": \"serial-stages\""}};
	struct render_options options = {.columns = 80, .unicode = true};
	for (size_t i = 0; i < 3; i++) {
		struct str out = {0};
		struct err err;
		assert_int_equal(renderer_find(marks[i][0])->render(&fixture.report, &options, &out, &err), 0);
		assert_non_null(strstr(str_text(&out), marks[i][1]));
		str_fini(&out);
	}
	fixture_close(&fixture);
}

static void the_documentation_is_the_table(void **state)
{
	(void)state;
	struct str made = {0};
	struct err err;
	const char *samples = getenv("PITOT_TEST_SAMPLES");
	findings_doc_markdown(&made);
	if (samples) {
		char *path = file_join(samples, "findings.md");
		assert_int_equal(file_write_atomic(path, made.text, made.len, &err), 0);
		free(path);
	}
	char *kept = NULL;
	size_t size;
	if (file_read("docs/findings.md", 1 << 20, &kept, &size, &err) != 0)
		fail_msg("%s", err.text);
	if (strcmp(kept, str_text(&made)) != 0)
		fail_msg("docs/findings.md is not what the rules say; PITOT_TEST_SAMPLES=docs writes it anew");
	free(kept);
	str_fini(&made);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_rule_fires_on_its_numbers_and_not_on_others),
	cmocka_unit_test(every_rule_has_a_test_and_its_documentation),
	cmocka_unit_test(a_run_without_numbers_says_nothing),
	cmocka_unit_test(a_failure_comes_before_everything),
	cmocka_unit_test(failed_attempts_cost_what_the_notes_say),
	cmocka_unit_test(a_dominant_stage_is_named_unless_its_cause_is),
	cmocka_unit_test(independent_stages_should_run_side_by_side_where_cores_allow),
	cmocka_unit_test(unused_cores_are_noted_where_nothing_says_why),
	cmocka_unit_test(a_file_that_two_stages_read_is_named_in_the_second),
	cmocka_unit_test(memory_that_rises_to_the_end_is_found_and_a_plateau_is_not),
	cmocka_unit_test(interpreters_started_again_and_again_are_counted),
	cmocka_unit_test(what_was_asked_for_in_vain_is_noted),
	cmocka_unit_test(the_limit_of_the_control_group_counts_before_the_machines_memory),
	cmocka_unit_test(a_small_gain_is_no_fix_and_a_tiny_one_nothing),
	cmocka_unit_test(the_few_that_make_most_of_the_gain_are_marked),
	cmocka_unit_test(the_formats_show_them),
	cmocka_unit_test(the_documentation_is_the_table),
};

UNIT_MAIN(tests)
