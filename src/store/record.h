/*
 * record.h - a run as plain structs: what the run file holds, on its way in and on its way out.
 *
 * Writers fill the row structs and hand them to store.h; store_load reads a whole file back into struct run_record,
 * which analyze/ turns into a report. All times are nanoseconds since the run began, all text is owned by the record.
 */
#ifndef PITOT_STORE_RECORD_H
#define PITOT_STORE_RECORD_H

#include "base/metric.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* `interrupted` is also what an open stage says in the file: whatever kills pitot, the file is right. */
#define STATUS_LIST(X)                                                                                                 \
	X(INTERRUPTED, "interrupted")                                                                                  \
	X(OK, "ok")                                                                                                    \
	X(ERROR, "error")                                                                                              \
	X(TIMEOUT, "timeout")                                                                                          \
	X(SKIPPED, "skipped")                                                                                          \
	X(MANUAL, "manual")

enum stage_status {
#define STATUS_ID(id, name) STATUS_##id,
	STATUS_LIST(STATUS_ID)
#undef STATUS_ID
		STATUS_COUNT
};

const char *status_name(enum stage_status status);
int status_find(const char *name); /* -1 where there is none */

struct name_value {
	char *name;
	char *value;
	char *source; /* may be NULL */
};

struct run_row {
	char *name;
	char *uuid; /* 32 hex digits */
	uint64_t started_utc_ns;
	uint64_t wall_ns; /* 0 while open */
	enum stage_status status;
	char *argv_json; /* the command line as a JSON array */
	char *cwd;
	char *config_path; /* NULL for a single command */
	char *config_text;
	char *git_commit; /* of the pipeline's folder; NULL outside git */
	char *pitot_version;
	char *fingerprint; /* of the host */
	uint64_t interval_ns;
	int repeat, warmup, jobs;
	int64_t owner_pid;    /* pitot's own, to tell a live run from a dead one */
	uint64_t owner_start; /* its start time in clock ticks, from /proc/PID/stat */
	char *boot_id;
};

struct artifact {
	bool is_output;
	char *path;
	bool exists;
	uint64_t bytes;
};

struct stage_row {
	int64_t id;     /* set by store_stage_begin */
	int repetition; /* 0-based; warm-ups come first */
	bool warmup;
	int position; /* in the pipeline */
	char *name;
	char *command; /* as a person would type it */
	enum stage_status status;
	char *reason; /* why it is not ok, or why it did not run; NULL */
	int attempts;
	int exit_code;             /* -1: none */
	int term_signal;           /* 0: none */
	uint64_t start_ns, end_ns; /* 0, 0 where it never ran; end 0 while open */
	char *tier;                /* "cgroup v2", "cgroup v1", "processes" */
	char *needs;               /* names, comma-separated */
};

/* Where a process record comes from. */
enum process_source { PROCESS_EXIT_RECORD, PROCESS_WAITED, PROCESS_SAMPLED };
const char *process_source_name(enum process_source source); /* "exit record", "wait4", "sample" */

struct process_row {
	int64_t stage_id;
	int pid, ppid;
	uint64_t start_ns, end_ns; /* end 0: not seen to end */
	char *command;             /* command line, or the short name where that is all there was */
	bool ended;
	int exit_code;   /* -1 unknown */
	int term_signal; /* 0 none */
	double cpu_user_s,
		cpu_system_s; /* its own, children not included, except PROCESS_WAITED: reaped ones included */
	uint64_t rss_peak_bytes;
	uint64_t io_read_bytes, io_write_bytes, io_device_read_bytes, io_device_write_bytes;
	uint64_t page_faults_minor, page_faults_major;
	uint64_t context_switches_voluntary, context_switches_forced;
	enum process_source source;
};

struct quality_row {
	char *name;
	bool known;
	double value;
	char *source; /* file, or "output of stage x" */
	char *reason;
};

/* Something that the reader should know: `kind` is "warning", "note" or "mark". */
struct event_row {
	int64_t stage_id; /* 0: the run */
	uint64_t at_ns;
	char *kind;
	char *text;
};

struct stage_record {
	struct stage_row row;
	struct metric_value values[METRIC_COUNT];
	VEC(struct artifact) artifacts;
	char *log; /* the last lines, "\n" between; NULL where none were kept */
	uint64_t log_dropped_lines;
	size_t processes; /* how many process rows there are */
};

struct run_record {
	char *path;
	struct run_row row;
	bool live; /* the pitot that writes it is still running on this machine */
	VEC(struct name_value) params;
	VEC(struct name_value) host;
	VEC(struct name_value) gates; /* name, limit */
	struct metric_value values[METRIC_COUNT];
	VEC(struct stage_record) stages; /* by repetition, then position */
	VEC(struct quality_row) quality;
	VEC(struct event_row) events;
};

void run_record_free(struct run_record *record);

#endif
