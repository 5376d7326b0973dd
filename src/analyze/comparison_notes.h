/*
 * comparison_notes.h - what makes a comparison less trustworthy than its numbers look: a noisy host, a slow start, drift.
 */
#ifndef PITOT_ANALYZE_COMPARISON_NOTES_H
#define PITOT_ANALYZE_COMPARISON_NOTES_H

#include "analyze/comparison.h"

/* Appends to comparison->notes. */
void comparison_find_notes(struct comparison *comparison);
void comparison_note(struct comparison *comparison, size_t subject, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
