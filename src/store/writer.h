/*
 * writer.h - what the parts of the writing side share. Internal to store/.
 *
 * store.c owns the file: making it, committing, ending. rows.c and, for the code profile, profile.c know the tables: one
 * statement per kind of row, prepared at its first use and kept.
 */
#ifndef PITOT_STORE_WRITER_H
#define PITOT_STORE_WRITER_H

#include "store/memory_statements.h"
#include "store/span_statements.h"
#include "store/sql.h"
#include "store/store.h"

/* clang-format off */
#define STATEMENT_LIST(X)                                                                                              \
	X(RUN, "INSERT INTO run (id, name, uuid, started_utc_ns, wall_ns, status, argv_json, cwd, config_path,"        \
	       " config_text, git_commit, pitot_version, fingerprint, interval_ns, repeat, warmup, jobs, owner_pid,"   \
	       " owner_start, boot_id) VALUES (1, ?, ?, ?, NULL, 'interrupted', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") \
	X(RUN_END, "UPDATE run SET status = ?, wall_ns = ?")                                                           \
	X(PARAM, "INSERT INTO param (name, value, source) VALUES (?, ?, ?)"                                            \
	         " ON CONFLICT (name) DO UPDATE SET value = excluded.value, source = excluded.source")                 \
	X(HOST, "INSERT INTO host (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value") \
	X(GATE, "INSERT INTO gate (name, max_value) VALUES (?, ?)"                                                     \
	        " ON CONFLICT (name) DO UPDATE SET max_value = excluded.max_value")                                    \
	X(STAGE_BEGIN, "INSERT INTO stage (repetition, warmup, position, name, command, status, attempts, start_ns, tier," \
	               " needs) VALUES (?, ?, ?, ?, ?, 'interrupted', ?, ?, ?, ?)")                                    \
	X(STAGE_END, "UPDATE stage SET status = ?, reason = ?, attempts = ?, exit_code = ?, term_signal = ?,"          \
	             " start_ns = ?, end_ns = ?, tier = ? WHERE id = ?")                                               \
	X(METRIC, "INSERT OR REPLACE INTO metric (stage_id, name, unit, value, method, source, coverage, lower_bound," \
	          " reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")                                                       \
	X(PROCESS, "INSERT INTO process (stage_id, pid, ppid, start_ns, end_ns, command, ended, exit_code, term_signal," \
	           " cpu_user_s, cpu_system_s, rss_peak_bytes, io_read_bytes, io_write_bytes, io_device_read_bytes,"   \
	           " io_device_write_bytes, page_faults_minor, page_faults_major, context_switches_voluntary,"         \
	           " context_switches_forced, source)"                                                                 \
	           " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                          \
	X(SERIES, "INSERT INTO series (id, name, unit) VALUES (?, ?, ?)")                                              \
	X(SAMPLE, "INSERT OR REPLACE INTO sample (stage_id, at_ns, series_id, value) VALUES (?, ?, ?, ?)")             \
	X(LOG, "INSERT OR REPLACE INTO log (stage_id, text, dropped_lines) VALUES (?, ?, ?)")                          \
	X(ARTIFACT, "INSERT INTO artifact (stage_id, direction, path, present, bytes) VALUES (?, ?, ?, ?, ?)")         \
	X(QUALITY, "INSERT INTO quality (name, value, source, reason) VALUES (?, ?, ?, ?) ON CONFLICT (name)"          \
	           " DO UPDATE SET value = excluded.value, source = excluded.source, reason = excluded.reason")        \
	X(EVENT, "INSERT INTO event (stage_id, at_ns, kind, text) VALUES (?, ?, ?, ?)")                                \
	X(PROFILE_PROCESS, "INSERT INTO profile_process (stage_id, pid, ppid, start_ns, end_ns, executable, python, clock," \
	                   " ending, note, period_ns, cpu_ns, samples, weight_ns, lost, truncated, unmatched, busy,"   \
	                   " handler_ns, start_cost_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") \
	X(PROFILE_THREAD, "INSERT INTO profile_thread (process_id, tid, is_main, name, entry, creator_stack_id, start_ns," \
	                  " end_ns, cpu_ns, weight_ns, samples, truncated, unmatched, busy, handler_ns)"               \
	                  " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                     \
	X(FRAME, "INSERT INTO frame (id, kind, function, module, file, line, first_line, inlined)"                     \
	         " VALUES (?, ?, ?, ?, ?, ?, ?, ?)")                                                                   \
	X(STACK, "INSERT INTO stack (id, parent_id, frame_id) VALUES (?, ?, ?)")                                       \
	X(TASK, "INSERT INTO task (id, name) VALUES (?, ?)")                                                           \
	X(CPU_SAMPLE, "INSERT INTO cpu_sample (thread_id, at_ns, stack_id, weight_ns, flags, task_id)"                 \
	              " VALUES (?, ?, ?, ?, ?, ?)")                                                                    \
	X(SOURCE_LINE, "INSERT OR REPLACE INTO source_line (file, line, text) VALUES (?, ?, ?)")                       \
	X(PROFILE_GAP, "INSERT INTO profile_gap (stage_id, pid, command, reason, cpu_s) VALUES (?, ?, ?, ?, ?)")       \
	MEMORY_STATEMENT_LIST(X)                                                                                       \
	SPAN_STATEMENT_LIST(X)                                                                                         \
	X(LIMIT_TRIAL, "INSERT INTO limit_trial (chunk_asked, memory_limit_bytes, compute_limit, chunk_rows, rows,"    \
	               " latency_s, rows_per_s, chunk_latency_s, memory_peak_bytes, r2, rmse, pareto, failure)"        \
	               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                              \
	X(BEGIN, "BEGIN IMMEDIATE")                                                                                    \
	X(COMMIT, "COMMIT")
/* clang-format on */

enum statement_id {
#define STATEMENT_ID(id, sql) STATEMENT_##id,
	STATEMENT_LIST(STATEMENT_ID)
#undef STATEMENT_ID
		STATEMENT_COUNT
};

struct store {
	char *path;
	sqlite3 *db;
	struct err failure; /* code 0 while all is well; else the first failure, which every later call repeats */
	bool stage_begun;
	sqlite3_stmt *statements[STATEMENT_COUNT];
	VEC(const char *) series;    /* series id = index + 1; the names are static text of the callers */
	struct profile_ids *profile; /* profile.c: which frames, stacks and tasks the file has; NULL: none yet */
};

/* The statement, ready to be filled; .statement NULL where it cannot be prepared. */
struct sql_row writer_row(struct store *store, enum statement_id id);
/* Executes what was filled. A failure that will come again (no space, I/O) makes the store a failed one. */
int writer_step(struct store *store, struct sql_row *row, struct err *err);
/* Repeats the first failure into `err`; 0 where there was none. */
int writer_failed(const struct store *store, struct err *err);

/* The run's own row. */
int writer_run(struct store *store, const struct run_row *run, struct err *err);
int writer_run_end(struct store *store, enum stage_status status, uint64_t wall_ns, struct err *err);

void profile_ids_free(struct profile_ids *ids);

#endif
