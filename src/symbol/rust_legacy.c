/*
 * rust_legacy.c - the first scheme of Rust's names: those of C++ with a hash as the last part, and escapes inside.
 *
 *	_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE
 *	core::ptr::drop_in_place<alloc::string::String>
 */
#include "symbol/demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_DIGITS = 16 };

static const struct escape {
	const char *name, *text;
} escapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"}, {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};

static bool is_hash(const char *text, size_t length)
{
	if (length != HASH_DIGITS + 1 || text[0] != 'h')
		return false;
	for (size_t i = 1; i < length; i++)
		if (!isxdigit((unsigned char)text[i]) || isupper((unsigned char)text[i]))
			return false;
	return true;
}

/* The next "<length><text>"; false at the end and where the length lies. */
static bool next_part(const char **at, const char *end, const char **part, size_t *length)
{
	size_t count = 0;
	const char *p = *at;
	while (p < end && isdigit((unsigned char)*p) && count < 100000)
		count = count * 10 + (size_t)(*p++ - '0');
	if (p == *at || count == 0 || count > (size_t)(end - p))
		return false;
	*part = p;
	*length = count;
	*at = p + count;
	return true;
}

static bool append_code_point(struct str *out, const char *hex, size_t length)
{
	char digits[8] = "";
	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, hex, length);
	char *end;
	unsigned long point = strtoul(digits, &end, 16);
	if (*end || point < 0x20 || point > 0x7E)
		return false;
	str_append_char(out, (char)point);
	return true;
}

/* "$LT$" and the like. The bytes used; 0: no escape that is known. */
static size_t append_escape(struct str *out, const char *text, size_t length)
{
	const char *close = length > 1 ? memchr(text + 1, '$', length - 1) : NULL;
	if (!close)
		return 0;
	const char *name = text + 1;
	size_t bytes = (size_t)(close - name);
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		if (bytes == strlen(escapes[i].name) && memcmp(name, escapes[i].name, bytes) == 0) {
			str_append(out, escapes[i].text);
			return bytes + 2;
		}
	return bytes > 1 && name[0] == 'u' && append_code_point(out, name + 1, bytes - 1) ? bytes + 2 : 0;
}

static void append_part(struct str *out, const char *part, size_t length)
{
	size_t at = length > 1 && part[0] == '_' && part[1] == '$' ? 1 : 0;
	while (at < length) {
		size_t used = part[at] == '$' ? append_escape(out, part + at, length - at) : 0;
		if (used) {
			at += used;
		} else if (part[at] == '.' && at + 1 < length && part[at + 1] == '.') {
			str_append(out, "::");
			at += 2;
		} else {
			str_append_char(out, part[at++]);
		}
	}
}

bool rust_legacy_name(const char *symbol, size_t length, struct str *out)
{
	if (length < 4 || memcmp(symbol, "_ZN", 3) != 0)
		return false;
	const char *at = symbol + 3, *end = symbol + length, *part = NULL;
	size_t bytes = 0, parts = 0;
	while (next_part(&at, end, &part, &bytes))
		parts++;
	if (parts < 2 || at >= end || *at != 'E' || !is_hash(part, bytes))
		return false;
	at = symbol + 3;
	str_clear(out);
	for (size_t i = 0; i + 1 < parts && next_part(&at, end, &part, &bytes); i++) {
		if (i)
			str_append(out, "::");
		append_part(out, part, bytes);
	}
	return out->len > 0;
}
