/*
 * diff_words.h - the sentences and cells of a comparison, for all formats that people read.
 *
 * Every `out` of a cell has FORMAT_SIZE bytes.
 */
#ifndef PITOT_RENDER_DIFF_WORDS_H
#define PITOT_RENDER_DIFF_WORDS_H

#include "render/delta.h"
#include "render/format.h"

/* "Regressed: the run takes 12.8 % longer (98 % interval: +9.1 to +16.0 %)". */
void diff_words_headline(const struct diff *diff, struct str *out);
/* "Gate: 1 of 3 thresholds broken, 1 inconclusive". */
void diff_words_gate(const struct gate *gate, struct str *out);
/* "churn-20260131-123456.pitot, 5 repetitions, commit 3fa2b1c0d4e5". */
void diff_words_side(const struct side *side, struct str *out);
/* "3 regressed, 1 improved, 12 unchanged, 40 inconclusive of 56 metrics". */
void diff_words_counts(const struct diff *diff, struct str *out);
/* "a, b" of the stages with that presence; nothing where there is none. */
void diff_words_stages(const struct diff *diff, enum diff_presence presence, struct str *out);

/* Whether the row is shown: what changed, and always the times of run and stages and the quality. */
bool diff_words_shows(const struct delta *delta, const struct diff_place *place);
/* "Regressed", "Unchanged", …: the title above the rows with that verdict. */
const char *diff_words_title(enum change verdict);

void diff_words_median(const struct diff_row *row, int side, char *out);
void diff_words_change(const struct diff_row *row, char *out);   /* "+12.8 %" */
void diff_words_interval(const struct diff_row *row, char *out); /* "+9.1 to +16.0 %", "exact", "none" */
void diff_words_detectable(const struct diff_row *row, char *out);

/* The gate's numbers: "+12.8 %", "0.02", "1.4 GiB". */
void diff_words_gate_number(const struct gate_check *check, double value, char *out);
/* "+12.8 % (98 % interval: +9.1 % to +16.0 %), limit +5.0 %: the whole interval is beyond the limit". */
void diff_words_check(const struct gate_check *check, struct str *out);

#endif
