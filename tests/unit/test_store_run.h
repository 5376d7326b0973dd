/*
 * test_store_run.h - a run with something in every table, and a folder to put it in. For the tests of the store and for
 * the generator of the fuzzer's seed.
 */
#ifndef PITOT_TESTS_STORE_RUN_H
#define PITOT_TESTS_STORE_RUN_H

#include "base/file.h"
#include "base/mem.h"
#include "sample_memory.h"
#include "store/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull

/* A fresh folder below $TMPDIR or /tmp; owned by the caller. */
static inline char *run_folder_new(void)
{
	const char *root = getenv("TMPDIR");
	char *dir = mem_printf("%s/pitot-test-XXXXXX", root && root[0] ? root : "/tmp");
	if (!mkdtemp(dir))
		abort();
	return dir;
}

static inline void run_folder_free(char *dir)
{
	DIR *stream = opendir(dir);
	for (struct dirent *item; stream && (item = readdir(stream));) {
		char *path = file_join(dir, item->d_name);
		unlink(path);
		free(path);
	}
	if (stream)
		closedir(stream);
	rmdir(dir);
	free(dir);
}

static inline struct run_row run_row_sample(void)
{
	return (struct run_row){.name = "churn",
				.uuid = "0123456789abcdef0123456789abcdef",
				.started_utc_ns = 1769862896000000000ull,
				.argv_json = "[\"pitot\",\"run\"]",
				.cwd = "/data/churn",
				.config_path = "/data/churn/pipeline.yaml",
				.config_text = "name: churn\n",
				.git_commit = "deadbeef+dirty",
				.pitot_version = "9.9",
				.fingerprint = "00ff00ff00ff00ff",
				.interval_ns = 100 * MS,
				.repeat = 1,
				.warmup = 0,
				.jobs = 2};
}

static inline struct stage_row stage_row_sample(int position, char *name, uint64_t start_ns)
{
	return (struct stage_row){.position = position,
				  .name = name,
				  .command = "python3 step.py",
				  .attempts = 1,
				  .exit_code = -1,
				  .start_ns = start_ns,
				  .tier = "cgroup v2",
				  .needs = position ? "load" : NULL};
}

/* The first code that is not 0, without doing what comes after it. */
#define RUN_TRY(call)                                                                                                  \
	do {                                                                                                           \
		int code_ = (call);                                                                                    \
		if (code_)                                                                                             \
			return code_;                                                                                  \
	} while (0)

static inline int run_fill_processes(struct store *store, int64_t stage_id, struct err *err)
{
	struct process_row waited = {.stage_id = stage_id,
				     .pid = 100,
				     .ppid = 1,
				     .start_ns = 11 * MS,
				     .end_ns = 900 * MS,
				     .command = "python3 step.py",
				     .ended = true,
				     .cpu_user_s = 0.5,
				     .cpu_system_s = 0.25,
				     .rss_peak_bytes = 1 << 20,
				     .io_read_bytes = 1,
				     .io_write_bytes = 2,
				     .io_device_read_bytes = 3,
				     .io_device_write_bytes = 4,
				     .page_faults_minor = 5,
				     .page_faults_major = 6,
				     .context_switches_voluntary = 7,
				     .context_switches_forced = 8,
				     .source = PROCESS_WAITED};
	struct process_row sampled = {.stage_id = stage_id,
				      .pid = 101,
				      .ppid = 100,
				      .start_ns = 20 * MS,
				      .command = "sort",
				      .exit_code = -1,
				      .term_signal = 9,
				      .cpu_user_s = 2,
				      .source = PROCESS_SAMPLED};
	RUN_TRY(store_process(store, &waited, err));
	return store_process(store, &sampled, err);
}

static inline int run_fill_series(struct store *store, int64_t stage_id, struct err *err)
{
	for (uint64_t tick = 0; tick < 10; tick++) {
		uint64_t at_ns = (10 + tick * 100) * MS;
		RUN_TRY(store_sample(store, stage_id, "cpu_percent", UNIT_PERCENT, at_ns, (double)tick * 10, err));
		RUN_TRY(store_sample(store, stage_id, "rss", UNIT_BYTES, at_ns, 4096.0, err));
	}
	return 0;
}

/* "load": ok, with everything that a stage can have but a log. */
static inline int run_fill_load(struct store *store, struct err *err)
{
	struct stage_row load = stage_row_sample(0, "load", 10 * MS);
	RUN_TRY(store_stage_begin(store, &load, err));
	RUN_TRY(run_fill_series(store, load.id, err));
	RUN_TRY(run_fill_processes(store, load.id, err));
	load.status = STATUS_OK;
	load.exit_code = 0;
	load.end_ns = 1010 * MS;
	RUN_TRY(store_stage_end(store, &load, err));
	struct metric_value values[METRIC_COUNT];
	memset(values, 0, sizeof(values));
	metric_set(&values[METRIC_WALL], 1.0, METHOD_EXACT, "monotonic clock");
	metric_set(&values[METRIC_CPU_TIME], 2.75, METHOD_SAMPLED, "%s", "wait4");
	values[METRIC_CPU_TIME].coverage = 0.5;
	values[METRIC_CPU_TIME].lower_bound = true;
	metric_set_absent(&values[METRIC_ENERGY], "no RAPL here");
	RUN_TRY(store_metrics(store, load.id, values, err));
	RUN_TRY(store_artifact(store, load.id, &(struct artifact){.path = "in.csv", .exists = true, .bytes = 7}, err));
	return store_artifact(store, load.id, &(struct artifact){.path = "out.csv", .is_output = true}, err);
}

/* "train": failed, with a log and a warning. */
static inline int run_fill_train(struct store *store, struct err *err)
{
	struct stage_row train = stage_row_sample(1, "train", 1010 * MS);
	RUN_TRY(store_stage_begin(store, &train, err));
	train.status = STATUS_ERROR;
	train.exit_code = 3;
	train.reason = "exit status 3";
	train.end_ns = 1500 * MS;
	RUN_TRY(store_stage_end(store, &train, err));
	RUN_TRY(store_log(store, train.id, "a\nb", 3, 12, err));
	struct event_row event = {.stage_id = train.id, .at_ns = 1400 * MS, .kind = "warning", .text = "slow disk"};
	return store_event(store, &event, err);
}

static inline int run_fill_profile(struct store *store, struct err *err)
{
	struct profile_data *profile = sample_profile_new();
	struct memory_data *memory = sample_memory_new();
	int code = sample_profile_store(store, profile, err);
	if (!code)
		code = sample_memory_store(store, memory, err);
	profile_data_free(profile);
	memory_data_free(memory);
	return code;
}

/* Non-zero: what failed first. */
static inline int run_fill(struct store *store, struct err *err)
{
	RUN_TRY(store_param(store, "dataset", "coco32", "--set", err));
	RUN_TRY(store_host_fact(store, "cpus", "2", err));
	RUN_TRY(store_gate(store, "max_total_duration_increase_pct", 2.5, err));
	RUN_TRY(run_fill_load(store, err));
	RUN_TRY(run_fill_train(store, err));
	struct metric_value values[METRIC_COUNT];
	memset(values, 0, sizeof(values));
	metric_set(&values[METRIC_SELF_CPU], 0.01, METHOD_EXACT, "getrusage");
	RUN_TRY(store_metrics(store, 0, values, err));
	struct quality_row known = {.name = "precision", .known = true, .value = 0.85, .source = "grade.json"};
	struct quality_row unknown = {.name = "recall", .reason = "no file matches"};
	RUN_TRY(store_quality(store, &known, err));
	RUN_TRY(store_quality(store, &unknown, err));
	return run_fill_profile(store, err);
}

/* A finished run file at `path`; non-zero: what failed. */
static inline int run_write(const char *path, struct err *err)
{
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	int code = store_create(path, &run, &store, err);
	if (code)
		return code;
	code = run_fill(store, err);
	int ended = store_finish(store, STATUS_ERROR, 1600 * MS, code ? NULL : err);
	return code ? code : ended;
}

#endif
