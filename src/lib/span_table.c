/*
 * span_table.c - the library's calls as a table, for programs that were compiled with PITOT_HEADER_ONLY and find the library while
 * they run. New calls are only ever added at its end.
 */
#include "pitot.h"

const struct pitot_calls_ pitot_table_ = {
	.bytes = sizeof(struct pitot_calls_),
	.span_begin_to = pitot_span_begin_to_,
	.span_end = pitot_span_end_,
	.work = pitot_work_,
	.counter = pitot_counter_,
	.gauge = pitot_gauge_,
	.chunk_begin = pitot_chunk_begin_,
	.chunk_end = pitot_chunk_end_,
	.snapshot = pitot_snapshot_,
	.mark = pitot_mark,
	.metric = pitot_metric,
};
