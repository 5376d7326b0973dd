/*
 * code_words.h - the code profile in words: what the renderers for people share.
 */
#ifndef PITOT_RENDER_CODE_WORDS_H
#define PITOT_RENDER_CODE_WORDS_H

#include "analyze/report.h"
#include "base/str.h"

/* "load.py:41", "pandas/__init__.py:3", "libc.so.6"; nothing where no place is known. */
void code_words_place(const struct code_row *row, struct str *out);
/* A module's or file's name; "_json.so" of "_json.cpython-311-x86_64-linux-gnu.so". */
void code_words_module(const struct code_row *row, struct str *out);
/* "12.3 %" */
void code_words_percent(double share, struct str *out);
/* "±1.2", in points: half of the 95 % interval. */
void code_words_interval(const struct code_share *share, struct str *out);

/* "3.00 s of CPU time in 2 997 samples; Python 31 %, native 68 %" */
void code_words_summary(const struct code_report *code, struct str *out);
/* "main → load → parse_row", the middle left out where there is no room; nothing where there is no such path. */
void code_words_path(const struct code_report *code, size_t most_columns, bool unicode, struct str *out);
/* The quality of the sampling, in one sentence. */
void code_words_quality(const struct code_quality *quality, struct str *out);
/* "12.3 % of the CPU time is not covered: busybox (statically linked), …"; nothing where all is. */
void code_words_gaps(const struct code_quality *quality, struct str *out);
/* "pool worker for train.py:7", "entry blas_thread_server", "main thread" */
void code_words_thread(const struct code_thread *thread, struct str *out);

/* Stages with a part in the CPU time that is worth a section of its own; the others have a line at most. */
bool code_words_matters(const struct report *report, const struct report_stage *stage);

#endif
