/* flow.c - see flow.h. */
#include "render/flow.h"
#include "base/mem.h"
#include "render/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void style_append(struct str *out, enum style style, bool color, const char *text)
{
	static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m"};
	bool styled = color && style != STYLE_PLAIN && *text;
	str_append(out, styled ? codes[style] : "");
	str_append(out, text);
	str_append(out, styled ? "\033[0m" : "");
}

static void put_spaces(struct flow *flow, int count)
{
	for (int i = 0; i < count; i++)
		str_append_char(flow->out, ' ');
	flow->column += count > 0 ? count : 0;
}

static void new_line(struct flow *flow)
{
	str_append_char(flow->out, '\n');
	flow->column = 0;
	flow->space = false;
	put_spaces(flow, flow->indent);
}

void flow_begin(struct flow *flow, int indent)
{
	/* Half of a narrow terminal is the most that may go to the margin. */
	flow->indent = indent < flow->columns / 2 ? indent : flow->columns / 2;
	flow->column = 0;
	flow->space = false;
	put_spaces(flow, flow->indent);
}

void flow_tab(struct flow *flow, int column)
{
	flow->indent = column < flow->columns / 2 ? column : flow->columns / 2;
	if (flow->column > flow->indent || (flow->space && flow->column == flow->indent))
		new_line(flow);
	put_spaces(flow, flow->indent - flow->column);
	flow->space = false;
}

/* A word wider than a whole line is broken where it has to be. */
static void put_long(struct flow *flow, enum style style, const char *word)
{
	while (*word) {
		size_t bytes = text_fitting_bytes(word, flow->columns - flow->column);
		if (bytes == 0 && flow->column > flow->indent) {
			new_line(flow);
			continue;
		}
		/* Not even one wide character fits: let it, rather than loop. */
		bytes = bytes ? bytes : strlen(word);
		char *piece = mem_strndup(word, bytes);
		style_append(flow->out, style, flow->color, piece);
		flow->column += (int)str_columns(piece);
		free(piece);
		word += bytes;
	}
}

/* `word` is clean. */
static void put_word(struct flow *flow, enum style style, const char *word)
{
	int width = (int)str_columns(word);
	if (*word == '\0')
		return;
	if (flow->space && flow->column + 1 + width > flow->columns)
		new_line(flow);
	else if (flow->space)
		put_spaces(flow, 1);
	put_long(flow, style, word);
	flow->space = true;
}

void flow_word(struct flow *flow, enum style style, const char *text)
{
	char *clean = text_clean(text, flow->unicode);
	put_word(flow, style, clean);
	free(clean);
}

static bool is_unit(const char *word, size_t length)
{
	static const char *const units[] = {"%",   "ns",  "µs",  "us",  "ms", "s",  "B", "KiB", "MiB",
					    "GiB", "TiB", "PiB", "EiB", "J",  "kJ", "W", "MB/s"};
	while (length && strchr(",.;:)", word[length - 1]))
		length--;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == length && memcmp(units[i], word, length) == 0)
			return true;
	return false;
}

/* Length of the first word; a number and its unit, "98 %", are one. */
static size_t word_length(const char *text)
{
	size_t length = strcspn(text, " ");
	if (length == 0 || text[length] != ' ' || !isdigit((unsigned char)text[length - 1]))
		return length;
	size_t next = strcspn(text + length + 1, " ");
	return is_unit(text + length + 1, next) ? length + 1 + next : length;
}

void flow_text(struct flow *flow, enum style style, const char *text)
{
	char *clean = text_clean(text, flow->unicode);
	for (const char *at = clean; *at;) {
		size_t length = word_length(at);
		char *word = mem_strndup(at, length);
		put_word(flow, style, word);
		free(word);
		at += length;
		at += strspn(at, " ");
	}
	free(clean);
}

void flow_end(struct flow *flow)
{
	str_append_char(flow->out, '\n');
	flow->column = 0;
	flow->space = false;
}
