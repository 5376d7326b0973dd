/* str.c - see str.h. */
#include "base/str.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void reserve(struct str *str, size_t more)
{
	size_t want = str->len + more + 1;
	if (want <= str->cap)
		return;
	size_t cap = str->cap ? str->cap : 64;
	while (cap < want)
		cap *= 2;
	str->text = mem_resize(str->text, cap);
	str->cap = cap;
}

void str_append_bytes(struct str *str, const char *bytes, size_t count)
{
	reserve(str, count);
	if (count)
		memcpy(str->text + str->len, bytes, count);
	str->len += count;
	str->text[str->len] = '\0';
}

void str_append(struct str *str, const char *text)
{
	str_append_bytes(str, text, strlen(text));
}

void str_append_char(struct str *str, char byte)
{
	str_append_bytes(str, &byte, 1);
}

void str_appendf(struct str *str, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	reserve(str, (size_t)length);
	vsnprintf(str->text + str->len, (size_t)length + 1, format, again);
	va_end(again);
	str->len += (size_t)length;
}

const char *str_text(const struct str *str)
{
	return str->text ? str->text : "";
}

char *str_take(struct str *str)
{
	char *text = str->text ? str->text : mem_strdup("");
	*str = (struct str){0};
	return text;
}

void str_clear(struct str *str)
{
	str->len = 0;
	if (str->text)
		str->text[0] = '\0';
}

void str_fini(struct str *str)
{
	free(str->text);
	*str = (struct str){0};
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);
	return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xC0) == 0x80;
}

size_t str_utf8_length(const char *bytes, size_t count)
{
	const unsigned char *b = (const unsigned char *)bytes;
	if (count == 0)
		return 0;
	if (b[0] < 0x80)
		return 1;
	size_t length = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
	if (b[0] < 0xC2 || b[0] > 0xF4 || count < length)
		return 0;
	for (size_t i = 1; i < length; i++)
		if (!is_continuation(b[i]))
			return 0;
	/* Overlong forms, surrogates and values beyond U+10FFFF show in the second byte alone. */
	bool bad = (b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xED && b[1] > 0x9F) || (b[0] == 0xF0 && b[1] < 0x90) ||
		   (b[0] == 0xF4 && b[1] > 0x8F);
	return bad ? 0 : length;
}

char *str_utf8_clean(const char *bytes, size_t count)
{
	struct str out = {0};
	for (size_t at = 0; at < count;) {
		size_t length = str_utf8_length(bytes + at, count - at);
		if (length)
			str_append_bytes(&out, bytes + at, length);
		else
			str_append(&out, "\xEF\xBF\xBD");
		at += length ? length : 1;
	}
	return str_take(&out);
}

static uint32_t decode(const char *bytes, size_t length)
{
	static const unsigned char mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	uint32_t point = (unsigned char)bytes[0] & mask[length];
	for (size_t i = 1; i < length; i++)
		point = point << 6 | ((unsigned char)bytes[i] & 0x3F);
	return point;
}

static size_t point_columns(uint32_t point)
{
	bool combining = (point >= 0x300 && point <= 0x36F) || point == 0x200B || point == 0x200D ||
			 (point >= 0xFE00 && point <= 0xFE0F);
	bool wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
		    (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
		    (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
		    (point >= 0x1F300 && point <= 0x1FAFF) || (point >= 0x20000 && point <= 0x3FFFD);
	return combining ? 0 : wide ? 2 : 1;
}

size_t str_columns(const char *text)
{
	size_t columns = 0, count = strlen(text);
	for (size_t at = 0; at < count;) {
		size_t length = str_utf8_length(text + at, count - at);
		columns += length ? point_columns(decode(text + at, length)) : 1;
		at += length ? length : 1;
	}
	return columns;
}

enum { SUGGEST_MAX = 64 };

/* Damerau-Levenshtein with adjacent swaps: the slips people make when typing. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b);
	if (m > SUGGEST_MAX || n > SUGGEST_MAX)
		return SUGGEST_MAX;
	size_t row[3][SUGGEST_MAX + 1];
	for (size_t j = 0; j <= n; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *now = row[i % 3], *up = row[(i - 1) % 3], *up2 = row[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
			best = up[j] + 1 < best ? up[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[m % 3][n];
}

const char *str_suggest(const char *word, const char *const *candidates, size_t count)
{
	size_t length = strlen(word);
	if (length > SUGGEST_MAX)
		return NULL; /* nobody mistypes a name that long into one of ours */
	size_t limit = length / 3 ? length / 3 : 1, best_distance = limit + 1;
	const char *best = NULL;
	for (size_t i = 0; i < count; i++) {
		size_t distance = edit_distance(word, candidates[i]);
		if (distance < best_distance) {
			best_distance = distance;
			best = candidates[i];
		}
	}
	return best;
}

bool str_to_int64(const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return false;
	*out = value;
	return true;
}

bool str_to_double(const char *text, double *out)
{
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || *end || !isfinite(value))
		return false;
	*out = value;
	return true;
}

bool str_to_duration_ns(const char *text, uint64_t *out)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {{"ns", 1},     {"us", 1e3},   {"ms", 1e6},    {"s", 1e9}, {"m", 60e9},
		     {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"", 1e9}};
	char *end;
	double value = strtod(text, &end);
	if (end == text || !isfinite(value) || value < 0)
		return false;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		double ns = value * units[i].ns;
		if (ns > 9.2e18)
			return false;
		*out = (uint64_t)llround(ns);
		return true;
	}
	return false;
}
