/*
 * memory_words.h - the memory profile in words: what the renderers for people share.
 */
#ifndef PITOT_RENDER_MEMORY_WORDS_H
#define PITOT_RENDER_MEMORY_WORDS_H

#include "analyze/report.h"
#include "base/str.h"

/* "612 MiB ±12.1 MiB"; no interval where the number is exact. */
void memory_words_estimate(const struct memory_estimate *estimate, struct str *out);
/* "peak 812 MiB at 3.20 s in 2 processes; 12.3 GiB allocated in 4.56 M calls; 3.1 MiB never given back" */
void memory_words_summary(const struct memory_report *memory, struct str *out);
/* "load (load.py:41) grows by 3.1 MiB ±0.2 MiB per chunk, over 20 chunks" */
void memory_words_trend(const struct memory_trend *trend, struct str *out);
/* "912 MiB at 3.10 s in python3: 812 MiB allocated by the program, …; 97 % explained"; nothing where it is not known. */
void memory_words_resident(const struct memory_report *memory, struct str *out);
/* "Row 112 MiB ±3.0 MiB (45 %), tuple …, of 248 MiB in Python's objects at 3.05 s, with 98 % of the peak"; why not where there are none;
 * nothing where nobody asked. */
void memory_words_types(const struct memory_report *memory, struct str *out);
/* "half of the calls are for less than 64 B, half of the freed blocks lived for less than 4.10 µs" */
void memory_words_blocks(const struct memory_report *memory, struct str *out);
/* How the numbers were made, in one sentence. */
void memory_words_quality(const struct memory_report *memory, struct str *out);
/* What was not covered; nothing where all was. */
void memory_words_gaps(const struct memory_report *memory, struct str *out);
/* "At the peak", "Never given back", … */
const char *memory_words_weight(enum memory_weight weight);

#endif
