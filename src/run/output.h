/*
 * output.h - what a stage prints: the last lines kept, metric lines noticed, bytes passed on where wanted.
 *
 * Memory is bounded whatever the stage prints: 400 lines, 512 KiB. Lines of any length and bytes of any kind are taken;
 * they are cleaned when they are stored, not here.
 *
 * Passing on: where the receiver (a pager, a slow terminal) does not keep up, reading stops until it does, so the stage
 * feels it as it would without pitot; sampling goes on. Where the receiver is gone, the stage's pipe is closed and the
 * stage gets SIGPIPE, as it would without pitot.
 */
#ifndef PITOT_RUN_OUTPUT_H
#define PITOT_RUN_OUTPUT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { OUTPUT_LINES = 400, OUTPUT_BYTES = 512 * 1024 };

typedef void output_metric_fn(void *context, const char *name, double value);

struct output_log {
	struct str tail;
	uint64_t bytes;         /* printed in all */
	uint64_t dropped_lines; /* printed but no longer kept */
	struct str line;        /* the beginning of a line that has not ended, as far as it could be a metric */
	bool line_too_long;
	output_metric_fn *metric;
	void *context;
};

void output_log_init(struct output_log *log, output_metric_fn *metric, void *context);
void output_log_add(struct output_log *log, const char *bytes, size_t count);
/* After the last byte: a last line without newline counts too. Trims to the limits. */
void output_log_end(struct output_log *log);
void output_log_fini(struct output_log *log);

enum stream_state { STREAM_READING, STREAM_BLOCKED /* wait until `pass_to` is writable */, STREAM_ENDED };

struct stream {
	int fd;      /* our end of the pipe; -1 once ended */
	int pass_to; /* or -1 */
	struct str backlog;
};

/* Reads what is there, at most about 1 MiB, so that one noisy stage cannot starve the loop. */
enum stream_state stream_pump(struct stream *stream, struct output_log *log);
void stream_end(struct stream *stream);

#endif
