/* span_statements.h - the statements that span.c writes with, one per kind of row; part of writer.h's list. */
#ifndef PITOT_STORE_SPAN_STATEMENTS_H
#define PITOT_STORE_SPAN_STATEMENTS_H

/* clang-format off */
#define SPAN_STATEMENT_LIST(X)                                                                                         \
	X(SPAN_PROCESS, "INSERT INTO span_process (stage_id, pid, ppid, start_ns, end_ns, executable, source, clock,"  \
	                " ending, recorded, kept, lost, unbalanced, note)"                                             \
	                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                          \
	X(SPAN_THREAD, "INSERT INTO span_thread (process_id, lane, tid, name, start_ns, end_ns)"                       \
	               " VALUES (?, ?, ?, ?, ?, ?)")                                                                   \
	X(OPERATOR, "INSERT INTO operator (parent_id, process_id, lane, name, path, calls, unended, total_ns, self_ns," \
	            " min_ns, max_ns, kept, kept_ns, flops, bytes)"                                                    \
	            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                           \
	X(OPERATOR_DURATION, "INSERT OR REPLACE INTO operator_duration (operator_id, low_ns, high_ns, calls)"          \
	                     " VALUES (?, ?, ?, ?)")                                                                   \
	X(SPAN_COUNTING, "INSERT OR REPLACE INTO span_counting (process_id, source, reason) VALUES (?, ?, ?)")         \
	X(OPERATOR_COUNT, "INSERT OR REPLACE INTO operator_count (operator_id, calls, instructions, cycles,"           \
	                  " cache_misses, enabled_ns, running_ns) VALUES (?, ?, ?, ?, ?, ?, ?)")                       \
	X(SPAN, "INSERT INTO span (operator_id, thread_id, begin_ns, end_ns) VALUES (?, ?, ?, ?)")                     \
	X(CHUNK, "INSERT INTO chunk (process_id, thread_id, number, begin_ns, end_ns, rows, bytes_in, bytes_out,"      \
	         " rss_bytes, heap_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                      \
	X(CHUNK_PART, "INSERT OR REPLACE INTO chunk_operator (chunk_id, operator_id, calls, total_ns, self_ns)"        \
	              " VALUES (?, ?, ?, ?, ?)")                                                                       \
	X(SPAN_COUNTER, "INSERT INTO span_counter (process_id, name, total, calls) VALUES (?, ?, ?, ?)")               \
	X(SPAN_GAUGE, "INSERT INTO span_gauge (process_id, name, calls, last, min, max, mean)"                         \
	              " VALUES (?, ?, ?, ?, ?, ?, ?)")                                                                 \
	X(SPAN_GAUGE_POINT, "INSERT INTO span_gauge_point (gauge_id, at_ns, value) VALUES (?, ?, ?)")                  \
	X(SPAN_SNAPSHOT, "INSERT INTO span_snapshot (process_id, thread_id, operator_id, at_ns, label, rss_bytes,"     \
	                 " vms_bytes, heap_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
/* clang-format on */

#endif
