/*
 * sample_run.h - run records made by hand, for the tests of reports and renderers.
 *
 * Text is allocated the way store_load does it, so run_record_free frees a sample. A stage's pointer is good until the
 * next stage is added.
 */
#ifndef PITOT_TESTS_SAMPLE_RUN_H
#define PITOT_TESTS_SAMPLE_RUN_H

#include "analyze/report.h"
#include "base/mem.h"

static inline void sample_pair(struct name_value *pair, const char *name, const char *value, const char *source)
{
	*pair = (struct name_value){mem_strdup(name), mem_strdup(value), mem_strdup(source)};
}

static inline struct run_record *sample_run(const char *name)
{
	struct run_record *record = mem_alloc(sizeof(*record));
	record->path = mem_strdup("sample.pitot");
	record->row = (struct run_row){.name = mem_strdup(name),
				       .uuid = mem_strdup("0123456789abcdef0123456789abcdef"),
				       .started_utc_ns = 1769862896ull * 1000000000ull,
				       .status = STATUS_OK,
				       .argv_json = mem_strdup("[\"pitot\", \"run\", \"pipeline.yaml\"]"),
				       .cwd = mem_strdup("/home/me/churn"),
				       .config_path = mem_strdup("/home/me/churn/pipeline.yaml"),
				       .git_commit = mem_strdup("3fa2b1c0d4e5f60718293a4b5c6d7e8f90a1b2c3+dirty"),
				       .pitot_version = mem_strdup("0.1.0"),
				       .fingerprint = mem_strdup("00112233aabbccdd"),
				       .interval_ns = 100000000,
				       .repeat = 1,
				       .jobs = 1};
	sample_pair(vec_add(&record->host), "hostname", "build7", NULL);
	sample_pair(vec_add(&record->host), "cpus", "8", NULL);
	sample_pair(vec_add(&record->host), "cpu_model", "AMD EPYC 7543", NULL);
	sample_pair(vec_add(&record->host), "memory_bytes", "33500000000", NULL);
	sample_pair(vec_add(&record->host), "kernel", "6.1.0", NULL);
	return record;
}

/* A stage of repetition `repetition` that ran from `start_s` for `wall_s` seconds with `cpu_s` of CPU time. */
static inline struct stage_record *sample_stage(struct run_record *record, const char *name, int position,
						int repetition, double start_s, double wall_s, double cpu_s)
{
	struct stage_record *stage = vec_add(&record->stages);
	stage->row = (struct stage_row){.id = (int64_t)record->stages.len,
					.repetition = repetition,
					.position = position,
					.name = mem_strdup(name),
					.command = mem_printf("python3 %s.py", name),
					.status = STATUS_OK,
					.attempts = 1,
					.start_ns = (uint64_t)(start_s * 1e9) + 1,
					.end_ns = (uint64_t)((start_s + wall_s) * 1e9) + 1,
					.tier = mem_strdup("cgroup v2")};
	metric_set(&stage->values[METRIC_WALL], wall_s, METHOD_EXACT, "monotonic clock");
	metric_set(&stage->values[METRIC_CPU_TIME], cpu_s, METHOD_EXACT, "cgroup cpu.stat");
	metric_set(&stage->values[METRIC_CPU_PERCENT_AVG], 100 * cpu_s / wall_s, METHOD_EXACT, "cgroup cpu.stat");
	if (stage->row.end_ns > record->row.wall_ns)
		record->row.wall_ns = stage->row.end_ns;
	return stage;
}

/* One that never ran. */
static inline struct stage_record *sample_unrun(struct run_record *record, const char *name, int position,
						enum stage_status status, const char *reason)
{
	struct stage_record *stage = vec_add(&record->stages);
	stage->row = (struct stage_row){.id = (int64_t)record->stages.len,
					.position = position,
					.name = mem_strdup(name),
					.command = mem_strdup(""),
					.status = status,
					.reason = mem_strdup(reason),
					.exit_code = -1};
	return stage;
}

static inline void sample_more(struct stage_record *stage, double scale)
{
	static const struct {
		int metric;
		double value;
		enum metric_method method;
		const char *source;
	} values[] = {
		{METRIC_CPU_USER, 0.9, METHOD_EXACT, "cgroup cpu.stat"},
		{METRIC_CPU_SYSTEM, 0.1, METHOD_EXACT, "cgroup cpu.stat"},
		{METRIC_CPU_PERCENT_MAX, 101, METHOD_SAMPLED, "cgroup cpu.stat"},
		{METRIC_RUN_QUEUE_WAIT, 0.01, METHOD_SAMPLED, "/proc/PID/schedstat"},
		{METRIC_PROCESSES, 3, METHOD_EXACT, "exit records"},
		{METRIC_PROCESSES_PEAK, 2, METHOD_SAMPLED, "/proc"},
		{METRIC_THREADS_PEAK, 9, METHOD_SAMPLED, "/proc"},
		{METRIC_MEMORY_PEAK, 3.1e8, METHOD_EXACT, "cgroup memory.peak"},
		{METRIC_MEMORY_ANON_PEAK, 2.6e8, METHOD_SAMPLED, "cgroup memory.stat"},
		{METRIC_RSS_PROCESS_PEAK, 2.2e8, METHOD_EXACT, "wait4"},
		{METRIC_IO_READ, 4.2e6, METHOD_EXACT, "/proc/PID/io"},
		{METRIC_IO_WRITE, 1.1e6, METHOD_EXACT, "/proc/PID/io"},
		{METRIC_IO_DEVICE_READ, 1e6, METHOD_EXACT, "cgroup io.stat"},
		{METRIC_IO_DEVICE_WRITE, 4096, METHOD_EXACT, "cgroup io.stat"},
		{METRIC_CONTEXT_SWITCHES, 1200, METHOD_EXACT, "wait4"},
		{METRIC_PAGE_FAULTS_MINOR, 41000, METHOD_EXACT, "wait4"},
		{METRIC_PAGE_FAULTS_MAJOR, 2, METHOD_EXACT, "wait4"},
		{METRIC_PRESSURE_IO, 0.02, METHOD_EXACT, "/proc/pressure/io"},
		{METRIC_ENERGY, 45, METHOD_ESTIMATED, "45 W fallback"},
	};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		metric_set(&stage->values[values[i].metric], values[i].value * scale, values[i].method, "%s",
			   values[i].source);
	stage->values[METRIC_PROCESSES].value = 3;
	for (int metric = METRIC_INSTRUCTIONS; metric <= METRIC_BRANCH_MISSES; metric++)
		metric_set_absent(&stage->values[metric], "no hardware counters on this machine (a virtual machine)");
	for (int metric = METRIC_GPU_UTIL_AVG; metric <= METRIC_GPU_ENERGY; metric++)
		metric_set_absent(&stage->values[metric], "no GPU found");
}

static inline void sample_series(struct report_stage *stage, const char *name, enum metric_unit unit, double top)
{
	struct series *series = vec_add(&stage->series.items);
	series->name = mem_strdup(name);
	series->unit = unit;
	for (int i = 0; i < REPORT_BUCKETS; i++) {
		double value = top * (i % 20) / 20;
		struct series_bucket bucket = {(uint64_t)i * 1000000000ull, value * 0.9, value, value * 1.05,
					       i % 7 ? 3 : 0};
		vec_push(&series->buckets, bucket);
	}
}

static inline void sample_event(struct run_record *record, int64_t stage_id, const char *kind, const char *text)
{
	struct event_row event = {stage_id, 1500000000, mem_strdup(kind), mem_strdup(text)};
	vec_push(&record->events, event);
}

static inline void sample_quality(struct run_record *record, const char *name, double value, const char *reason)
{
	struct quality_row quality = {mem_strdup(name), reason == NULL, value,
				      reason ? NULL : mem_strdup("runs/grade-7.json"), mem_strdup(reason)};
	vec_push(&record->quality, quality);
}

static inline void sample_self(struct run_record *record)
{
	metric_set(&record->values[METRIC_SELF_CPU], 0.12, METHOD_EXACT, "getrusage");
	metric_set(&record->values[METRIC_SELF_MEMORY_PEAK], 9.5e6, METHOD_EXACT, "getrusage");
	metric_set(&record->values[METRIC_SELF_WALL], 0.031, METHOD_EXACT, "monotonic clock");
	metric_set(&record->values[METRIC_SELF_INTERVAL], 0.1, METHOD_EXACT, "setting");
}

/* A pipeline with everything a report can have: a failure with a log, manual and skipped stages, wide names, pipes. */
static inline struct run_record *sample_pipeline(void)
{
	struct run_record *record = sample_run("churn");
	sample_pair(vec_add(&record->params), "dataset", "coco128", "pipeline.yaml");
	sample_pair(vec_add(&record->params), "train_epochs", "50", "--train-epochs");
	sample_more(sample_stage(record, "fetch-dataset", 0, 0, 0.1, 8.2, 1.0), 1);
	sample_unrun(record, "label-targets", 1, STATUS_MANUAL, "needs a person at a screen");
	sample_more(sample_stage(record, "generate|dataset", 2, 0, 8.4, 41.7, 38.0), 5);
	sample_more(sample_stage(record, "訓練データの前処理と検証を行うとても長い名前", 3, 0, 50.2, 12.5, 60.1), 9);
	struct stage_record *train = sample_stage(record, "train", 4, 0, 63, 302.1, 299.5);
	sample_more(train, 33);
	int64_t train_id = train->row.id;
	train->row.needs = mem_strdup("fetch-dataset,generate|dataset");
	train->processes = 3;
	struct artifact model = {true, mem_strdup("/home/me/churn/model.bin"), true, 123456789};
	vec_push(&train->artifacts, model);
	struct artifact missing = {true, mem_strdup("/home/me/churn/extra.bin"), false, 0};
	vec_push(&train->artifacts, missing);
	struct stage_record *eval = sample_stage(record, "eval", 5, 0, 366, 4.4, 2.2);
	sample_more(eval, 2);
	eval->row.status = STATUS_ERROR;
	eval->row.exit_code = 3;
	eval->log = mem_strdup(
		"loading model\n\033[31mTraceback\033[0m (most recent call last):\n\033]0;owned\007"
		"  10%\r 50%\r100%\nbad bytes \xff\xfe and a fence ```` here\n\tindented\nValueError: x < 0\n");
	eval->log_dropped_lines = 12;
	sample_unrun(record, "review", 6, STATUS_SKIPPED, "eval failed");
	record->row.status = STATUS_ERROR;
	sample_self(record);
	sample_quality(record, "run_grade_0_100", 72.5, NULL);
	sample_quality(record, "precision_proxy", 0.85, NULL);
	sample_quality(record, "recall_proxy", 0.78, NULL);
	sample_quality(record, "miss_rate_proxy", 0, "no file matches runs/grade-*.json");
	sample_event(record, train_id, "warning", "CPU time of cgroup (299.5 s) and wait4 (280.0 s) disagree by 6.5 %");
	sample_event(record, 0, "note", "the sampling interval was raised to 200 ms to stay within its budget");
	return record;
}

/* `pitot run --repeat 5 -- CMD`. */
static inline struct run_record *sample_command(int repeat)
{
	struct run_record *record = sample_run("make");
	free(record->row.config_path);
	record->row.config_path = NULL;
	record->row.repeat = repeat;
	for (int i = 0; i < repeat; i++)
		sample_more(sample_stage(record, "make", 0, i, i * 20, 12.3 + 0.1 * i, 11.9), 4);
	for (size_t i = 0; i < record->stages.len; i++) {
		free(record->stages.items[i].row.command);
		record->stages.items[i].row.command = mem_strdup("make -j4 all");
	}
	sample_self(record);
	return record;
}

#endif
