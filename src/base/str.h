/*
 * str.h - a growable byte string, and the small questions about text that several modules ask.
 *
 * `text` is always terminated once anything was appended; str_text() gives "" for an untouched one.
 */
#ifndef PITOT_BASE_STR_H
#define PITOT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
	char *text;
	size_t len;
	size_t cap;
};

void str_append(struct str *str, const char *text);
void str_append_bytes(struct str *str, const char *bytes, size_t count);
void str_append_char(struct str *str, char byte);
void str_appendf(struct str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *str_text(const struct str *str);
char *str_take(struct str *str); /* hands the text over; the string is empty again */
void str_clear(struct str *str);
void str_fini(struct str *str);

bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* Length of the valid UTF-8 sequence at `bytes` (1 to 4), or 0 where there is none within `count`. */
size_t str_utf8_length(const char *bytes, size_t count);
/* A copy in which every byte that is not part of valid UTF-8 has become U+FFFD. Owned by the caller. */
char *str_utf8_clean(const char *bytes, size_t count);
/* Columns that the text takes on a terminal: one per code point, two for the wide East Asian ranges. */
size_t str_columns(const char *text);

/* The candidate that `word` was probably meant to be, or NULL: at most a third of its letters wrong. */
const char *str_suggest(const char *word, const char *const *candidates, size_t count);

/* Whole-text numbers: false on anything that is not wholly a number, and on overflow. */
bool str_to_int64(const char *text, int64_t *out);
bool str_to_double(const char *text, double *out);
/* "250ms", "1.5s", "2m", "1h", "90" (seconds) to nanoseconds. */
bool str_to_duration_ns(const char *text, uint64_t *out);

#endif
