/*
 * span_log.h - spans and chunks of work that pitot does itself (pitot features), written as those of any program.
 *
 *	log = span_log_open(store, stage_id, "pitot features");
 *	parse = span_log_operator(log, 0, "preprocess");      once; 0: no parent
 *	span_log_chunk_begin(log, 7, now_ns);
 *	span_log_span(log, parse, begin_ns, end_ns);          as they end; children before their parent or after, as it comes
 *	span_log_chunk_end(log, &chunk, now_ns);              rows, bytes and memory of the chunk
 *	code = span_log_close(log, now_ns, &err);             writes it all
 *
 * Times are nanoseconds since the run began. Every span counts; one by one are kept those of a millisecond or more, and of shorter
 * ones the first 512 of an operator and then ever fewer, SPAN_LOG_KEPT at most. Chunks are held in memory until the end
 * (56 bytes, and 32 per operator). For one thread at a time: an engine with several hands in what they did when it joins them, and
 * spans that overlap are fine.
 */
#ifndef PITOT_STORE_SPAN_LOG_H
#define PITOT_STORE_SPAN_LOG_H

#include "store/span.h"

enum { SPAN_LOG_KEPT = 200000 };

struct span_log;

struct span_log *span_log_open(struct store *store, int64_t stage_id, const char *source, uint64_t now_ns);
/* The same name under the same parent again gives the same number, which counts from 1. */
int span_log_operator(struct span_log *log, int parent, const char *name);
void span_log_span(struct span_log *log, int operator_number, uint64_t begin_ns, uint64_t end_ns);
/* Adds to what the operator did; 0 for what is not known. */
void span_log_work(struct span_log *log, int operator_number, double flops, double bytes);
/* Spans that end from now on belong to this chunk too. */
void span_log_chunk_begin(struct span_log *log, int64_t number, uint64_t now_ns);
/* Of `chunk` rows, bytes_in, bytes_out, rss_bytes and heap_bytes are taken (SPAN_UNKNOWN: not known). */
void span_log_chunk_end(struct span_log *log, const struct chunk_row *chunk, uint64_t now_ns);
/* Writes everything and frees the log, also when it fails. */
int span_log_close(struct span_log *log, uint64_t now_ns, struct err *err);

#endif
