/*
 * span_words.h - what the renderers of operators and chunks say in the same words.
 */
#ifndef PITOT_RENDER_SPAN_WORDS_H
#define PITOT_RENDER_SPAN_WORDS_H

#include "analyze/report.h"
#include "base/str.h"

/* "+12 %"; "" where the interval holds 0 or there is none. */
void span_words_trend(const struct interval *trend, struct str *out);
/* "12.3 k/s", "1.4 MiB/s"; "" where not known. */
void span_words_rate(double per_s, bool bytes, struct str *out);
/* "p50 4.2 ms, p90 5 ms", as many as are known. */
void span_words_percentiles(const struct span_percentiles *percentiles, struct str *out);
/* "40 chunks, 4000 rows (12.3 k/s), …"; "" where there are no chunks. */
void span_words_chunks(const struct span_report *spans, struct str *out);
/* How many spans there were, how many are on the time axis, what is missing. */
void span_words_quality(const struct span_report *spans, struct str *out);
/* "rows 4000, hits 12 (in 3 calls); queue 0 to 9, mean 4.5"; "" where there are none. */
/* Why there are no counts, or not of all operators; NULL: there are. */
const char *span_words_no_counts(const struct span_report *spans);
/* What the counts are of; nothing where none were asked for. */
void span_words_counts(const struct span_report *spans, struct str *out);
void span_words_named(const struct span_report *spans, struct str *out);
/* The time that stands for "usual": of a chunk, else of a call. */
double span_words_usual(const struct operator_line *line);

bool span_words_any(const struct report *report);

#endif
