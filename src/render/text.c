/* text.c - see text.h. */
#include "render/text.h"
#include "base/mem.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* What pitot itself prints beyond ASCII. */
static const struct {
	const char *text, *ascii;
} spellings[] = {
	{"µ", "u"}, {"≥", ">="}, {"…", ".."}, {"–", "-"}, {"—", "-"}, {"·", "-"},
	{"×", "x"}, {"±", "+-"}, {"✓", "+"},  {"✗", "x"}, {"▶", ">"}, {"■", "#"},
};

static uint32_t code_point(const char *bytes, size_t length)
{
	static const unsigned char mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	uint32_t point = (unsigned char)bytes[0] & mask[length];
	for (size_t i = 1; i < length; i++)
		point = point << 6 | ((unsigned char)bytes[i] & 0x3F);
	return point;
}

/* C1 controls (U+009B is CSI), marks that turn the writing direction, line separators, invisible fillers. */
static bool is_unsafe(uint32_t point)
{
	return (point >= 0x80 && point <= 0x9F) || point == 0x61C || (point >= 0x200B && point <= 0x200F) ||
	       (point >= 0x2028 && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF ||
	       (point >= 0xFFF9 && point <= 0xFFFB) || (point >= 0xE0000 && point <= 0xE0FFF);
}

static void append_ascii(struct str *out, const char *bytes, size_t length)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		if (strlen(spellings[i].text) == length && memcmp(spellings[i].text, bytes, length) == 0) {
			str_append(out, spellings[i].ascii);
			return;
		}
	str_append_char(out, '?');
}

/* One character at `bytes`; how many bytes it took. */
static size_t append_character(struct str *out, const char *bytes, size_t count, bool unicode)
{
	size_t length = str_utf8_length(bytes, count);
	unsigned char byte = (unsigned char)bytes[0];
	if (length == 1 && (byte == '\n' || byte == '\t' || byte == '\r'))
		str_append_char(out, ' ');
	else if (length == 1 && byte < 0x20)
		str_appendf(out, "^%c", byte + '@');
	else if (length == 1 && byte == 0x7F)
		str_append(out, "^?");
	else if (length == 1)
		str_append_char(out, (char)byte);
	else if (length == 0 || is_unsafe(code_point(bytes, length)))
		str_append(out, unicode ? REPLACEMENT : "?");
	else if (unicode)
		str_append_bytes(out, bytes, length);
	else
		append_ascii(out, bytes, length);
	return length ? length : 1;
}

void text_append_clean(struct str *out, const char *text, bool unicode)
{
	size_t count = strlen(text);
	for (size_t at = 0; at < count;)
		at += append_character(out, text + at, count - at, unicode);
}

char *text_clean(const char *text, bool unicode)
{
	struct str out = {0};
	text_append_clean(&out, text ? text : "", unicode);
	return str_take(&out);
}

/* Bytes of a whole CSI or OSC sequence at `text`, or 0: a sequence that is cut short is shown, not swallowed. */
static size_t escape_length(const char *text, size_t count)
{
	if (count < 2 || text[0] != '\033')
		return 0;
	if (text[1] == '[') {
		size_t at = 2;
		while (at < count && text[at] >= 0x20 && text[at] <= 0x3F)
			at++;
		return at < count && text[at] >= 0x40 && text[at] <= 0x7E ? at + 1 : 0;
	}
	if (text[1] != ']')
		return 0;
	for (size_t at = 2; at < count; at++) {
		if (text[at] == '\007')
			return at + 1;
		if (text[at] == '\033' && at + 1 < count && text[at + 1] == '\\')
			return at + 2;
	}
	return 0;
}

/* Where the part begins that a terminal would have left on the line; *length is cut to it. */
static const char *after_returns(const char *line, size_t *length)
{
	while (*length && line[*length - 1] == '\r')
		(*length)--;
	const char *last = memrchr(line, '\r', *length);
	if (!last)
		return line;
	*length -= (size_t)(last + 1 - line);
	return last + 1;
}

void text_append_log_line(struct str *out, const char *line, size_t length, bool unicode)
{
	struct str clean = {0};
	line = after_returns(line, &length);
	for (size_t at = 0; at < length;) {
		size_t escape = escape_length(line + at, length - at);
		if (escape) {
			at += escape;
		} else if (line[at] == '\t') {
			size_t to_stop = 8 - str_columns(str_text(&clean)) % 8;
			str_append_bytes(&clean, "        ", to_stop);
			at++;
		} else {
			at += append_character(&clean, line + at, length - at, unicode);
		}
	}
	str_append(out, str_text(&clean));
	str_fini(&clean);
}

size_t text_fitting_bytes(const char *text, int width)
{
	size_t count = strlen(text), at = 0, columns = 0;
	while (at < count) {
		char one[5] = {0};
		size_t length = str_utf8_length(text + at, count - at);
		length = length ? length : 1;
		memcpy(one, text + at, length);
		columns += str_columns(one);
		if (columns > (size_t)(width > 0 ? width : 0))
			break;
		at += length;
	}
	return at;
}

static void pad(struct str *out, size_t columns)
{
	while (columns-- > 0)
		str_append_char(out, ' ');
}

void text_append_cell(struct str *out, const char *text, int width, bool right, bool unicode)
{
	size_t room = width > 0 ? (size_t)width : 0, columns = str_columns(text);
	const char *ellipsis = unicode ? "…" : "..";
	if (columns <= room) {
		pad(out, right ? room - columns : 0);
		str_append(out, text);
		pad(out, right ? 0 : room - columns);
		return;
	}
	size_t mark = str_columns(ellipsis);
	if (mark > room)
		mark = 0;
	struct str cut = {0};
	str_append_bytes(&cut, text, text_fitting_bytes(text, (int)(room - mark)));
	str_append(&cut, mark ? ellipsis : "");
	str_append(out, str_text(&cut));
	/* A wide character that did not fit leaves a column over. */
	pad(out, room - str_columns(str_text(&cut)));
	str_fini(&cut);
}

const char *text_tail(const char *text, size_t lines)
{
	size_t length = strlen(text);
	while (length && text[length - 1] == '\n')
		length--;
	while (length && lines) {
		const char *end = memrchr(text, '\n', length);
		if (!end)
			return text;
		if (--lines == 0)
			return end + 1;
		length = (size_t)(end - text);
	}
	return length ? text + length : text;
}
