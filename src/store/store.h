/*
 * store.h - the run file: one SQLite database per run.
 *
 * Writing: store_create, then rows as they happen, store_commit every second or so, store_finish. A stage is inserted
 * with status `interrupted` when it starts and gets its real status when it ends, and everything is in a write-ahead
 * log until store_finish folds it into the one file; so a kill at any moment leaves a file that opens and tells the
 * truth. A failed write (disk full) is returned once and makes every later call a no-op that returns the same error:
 * the pipeline goes on, the caller says at the end what is missing.
 *
 * Reading: store_load gives everything but the series; store_series gives one series, reduced to a number of buckets.
 * A file that is damaged, of another version or not a run at all is an error with words, never a crash.
 *
 * The schema stands in schema.sql and is described in docs/run-file.md. sqlite3.h is included in this folder only.
 */
#ifndef PITOT_STORE_STORE_H
#define PITOT_STORE_STORE_H

#include "base/err.h"
#include "store/record.h"

struct store;

/* `path` must not exist. In `run`, uuid, pitot_version, the owner and boot_id are filled in where they are NULL or 0. */
int store_create(const char *path, const struct run_row *run, struct store **out, struct err *err);
const char *store_path(const struct store *store);

int store_param(struct store *store, const char *name, const char *value, const char *source, struct err *err);
int store_host_fact(struct store *store, const char *key, const char *value, struct err *err);
int store_gate(struct store *store, const char *name, double limit, struct err *err);
int store_stage_begin(struct store *store, struct stage_row *stage, struct err *err); /* sets stage->id */
int store_stage_end(struct store *store, const struct stage_row *stage, struct err *err);
/* stage_id 0: of the run. Values that are METRIC_UNSET are left out. */
int store_metrics(struct store *store, int64_t stage_id, const struct metric_value *values, struct err *err);
int store_process(struct store *store, const struct process_row *process, struct err *err);
/* `series` is a short static name such as "cpu_percent"; `unit` as in the registry. */
int store_sample(struct store *store, int64_t stage_id, const char *series, enum metric_unit unit, uint64_t at_ns,
		 double value, struct err *err);
int store_log(struct store *store, int64_t stage_id, const char *text, size_t size, uint64_t dropped_lines,
	      struct err *err);
int store_artifact(struct store *store, int64_t stage_id, const struct artifact *artifact, struct err *err);
int store_quality(struct store *store, const struct quality_row *quality, struct err *err);
int store_event(struct store *store, const struct event_row *event, struct err *err);
int store_commit(struct store *store, struct err *err);
/* Ends the run: status and wall time, one file, closed and freed - also when it fails. */
int store_finish(struct store *store, enum stage_status status, uint64_t wall_ns, struct err *err);
/* Without finishing, as a kill would: what was not committed is lost. Where no stage has begun, the file is removed. */
void store_abandon(struct store *store);

int store_load(const char *path, struct run_record **out, struct err *err);

struct series_bucket {
	uint64_t at_ns; /* where the slice begins */
	double min, mean, max;
	int count; /* 0: no sample fell into it */
};

struct series {
	int64_t stage_id;
	char *name;
	enum metric_unit unit;
	VEC(struct series_bucket) buckets;
};

struct series_list {
	VEC(struct series) items;
};

/* Every series of a stage, each reduced to `buckets` equal slices of the stage's time. */
int store_series(const char *path, int64_t stage_id, size_t buckets, struct series_list *out, struct err *err);
void series_list_fini(struct series_list *list);

/* Process rows of a stage (0: all), the `limit` with the most CPU time, most first. */
struct process_list {
	VEC(struct process_row) items;
};
int store_processes(const char *path, int64_t stage_id, size_t limit, struct process_list *out, struct err *err);
/* All process rows of a run that is being written, in the order in which they came. */
int store_written_processes(struct store *store, struct process_list *out, struct err *err);
void process_list_fini(struct process_list *list);

#endif
