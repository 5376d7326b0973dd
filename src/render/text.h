/*
 * text.h - text that came from elsewhere, made fit to print: safe for a terminal, of known width, wrapped.
 *
 * A stage's name, command or log may hold anything. Nothing of it may reach a terminal as a control sequence, turn the
 * direction of writing, or be wider than the place it is given.
 */
#ifndef PITOT_RENDER_TEXT_H
#define PITOT_RENDER_TEXT_H

#include "base/str.h"

/* Control characters and bad bytes become visible marks, line ends and tabs become spaces; without `unicode`, what is
 * not ASCII is spelled with it or becomes '?'. */
void text_append_clean(struct str *out, const char *text, bool unicode);
char *text_clean(const char *text, bool unicode); /* owned by the caller; NULL gives "" */

/* One line of a log, `length` bytes: colour and cursor sequences taken out, of a line that was overwritten with
 * carriage returns what was left standing, tabs to columns of eight, the rest as text_append_clean. */
void text_append_log_line(struct str *out, const char *line, size_t length, bool unicode);

/* Exactly `width` columns: cut with an ellipsis or filled with spaces, on the left where `right` aligned. The text must
 * be clean. */
void text_append_cell(struct str *out, const char *text, int width, bool right, bool unicode);
/* How many bytes of clean text fit `width` columns. */
size_t text_fitting_bytes(const char *text, int width);

/* The start of the last `lines` lines of `text`. */
const char *text_tail(const char *text, size_t lines);

#endif
