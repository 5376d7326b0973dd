/* memory_statements.h - the statements that memory.c writes with, one per kind of row; part of writer.h's list. */
#ifndef PITOT_STORE_MEMORY_STATEMENTS_H
#define PITOT_STORE_MEMORY_STATEMENTS_H

/* clang-format off */
#define MEMORY_STATEMENT_LIST(X)                                                                                       \
	X(MEMORY_PROCESS, "INSERT INTO memory_process (process_id, mode, period_bytes, calls, allocated_bytes, frees,"   \
	                  " freed_bytes, peak_bytes, peak_variance, peak_slack_bytes, peak_at_ns, leaked_bytes,"       \
	                  " leaked_variance, discarded_bytes, unknown_frees, lost, truncated, unmatched, agent_bytes," \
	                  " python_seen, allocator, step_ns, snapshots, note)"                                         \
	                  " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")          \
	X(MEMORY_SITE, "INSERT INTO memory_site (process_id, thread_id, stack_id, kind, peak_bytes, peak_blocks,"      \
	               " peak_samples, peak_variance, leaked_bytes, leaked_blocks, leaked_samples, leaked_variance,"   \
	               " allocated_bytes, calls, samples, allocated_variance, temporary_bytes, temporary_calls,"       \
	               " temporary_samples, temporary_variance, sizes, lifetimes)"                                     \
	               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                   \
	X(MEMORY_BUCKET, "INSERT OR REPLACE INTO memory_bucket (process_id, what, low, calls) VALUES (?, ?, ?, ?)")    \
	X(MEMORY_POINT, "INSERT OR REPLACE INTO memory_point (process_id, at_ns, live_bytes, high_bytes)"              \
	                " VALUES (?, ?, ?, ?)")                                                                        \
	X(MEMORY_GROWTH, "INSERT OR REPLACE INTO memory_growth (site_id, points, last_bytes, sum_x, sum_y, sum_xx,"    \
	                 " sum_xy, sum_yy) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")                                           \
	X(MEMORY_CHUNK_GROWTH, "INSERT OR REPLACE INTO memory_chunk_growth (site_id, chunks, points, last_bytes, sum_x,"  \
	                       " sum_y, sum_xx, sum_xy, sum_yy) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")                     \
	X(MEMORY_RESIDENT, "INSERT INTO memory_resident (process_id, at_ns, cause, live_bytes, python_bytes,"          \
	                   " arena_bytes, rss_bytes, break_bytes, anonymous_bytes, stack_bytes, file_bytes,"           \
	                   " file_dirty_bytes, shared_bytes, agent_bytes, swap_bytes, malloc_arena_bytes,"             \
	                   " malloc_mapped_bytes, malloc_used_bytes, malloc_free_bytes)"                               \
	                   " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                        \
	X(MEMORY_LOOK, "INSERT INTO memory_look (process_id, at_ns, live_bytes, period_bytes, looks, cost_ns, absent)" \
	               " VALUES (?, ?, ?, ?, ?, ?, ?)")                                                                \
	X(MEMORY_TYPE, "INSERT INTO memory_type (process_id, kind, name, bytes, blocks, samples, variance)"            \
	               " VALUES (?, ?, ?, ?, ?, ?, ?)")
/* clang-format on */

#endif
