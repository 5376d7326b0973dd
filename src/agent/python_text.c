/*
 * python_text.c - str objects as UTF-8.
 *
 * A str keeps its characters behind its head (compact) in 1, 2 or 4 bytes each, ASCII ones right behind the shorter head.
 * Names and paths of code objects are always compact. 3.6 to 3.11 know others too, made by old C extensions: their text is
 * left empty.
 */
#include "agent/python.h"

enum { LENGTH_MOST = 1 << 28 };

struct text_view {
	uintptr_t characters;
	size_t length;
	unsigned width; /* bytes of a character */
	bool is_ascii;
};

static bool text_view(uintptr_t text, struct text_view *view)
{
	if (!python_is(text, python.type_text, python.at.text_wide))
		return false;
	uint32_t state = (uint32_t)python_int(text + python.at.text_state) >> python.text_shift;
	view->width = state & 7;
	view->is_ascii = state >> 4 & 1;
	view->length = python_word(text + python.at.text_length);
	view->characters = text + (view->is_ascii ? python.at.text_ascii : python.at.text_wide);
	bool is_compact = state >> 3 & 1;
	return is_compact && (view->width == 1 || view->width == 2 || view->width == 4) && view->length < LENGTH_MOST;
}

static uint32_t character(const struct text_view *view, size_t index)
{
	const unsigned char *at = (const unsigned char *)view->characters + index * view->width;
	if (view->width == 1)
		return *at;
	return view->width == 2 ? *(const uint16_t *)at : *(const uint32_t *)at;
}

/* Number of bytes; a lone surrogate or what is no character becomes "?". */
static unsigned encode(uint32_t c, char out[4])
{
	if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
	out[0] = (char)(first[more] | c >> 6 * more);
	for (unsigned i = 1; i <= more; i++)
		out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
	return more + 1;
}

size_t python_text(uintptr_t text, char *out, size_t most)
{
	struct text_view view;
	size_t used = 0;
	if (!text_view(text, &view))
		return 0;
	size_t length = view.length < most ? view.length : most;
	if (!python_span(view.characters, length * view.width))
		return 0;
	if (view.is_ascii) {
		memcpy(out, (const char *)view.characters, length);
		return length;
	}
	for (size_t i = 0; i < length; i++) {
		char bytes[4];
		unsigned count = encode(character(&view, i), bytes);
		if (used + count > most)
			break;
		memcpy(out + used, bytes, count);
		used += count;
	}
	return used;
}

/* The last 16 bytes: where texts that come from one place differ. A shorter text is preceded by its own head, so the read stays
 * inside the object; what is not text is shifted out. Runs twice per frame of every sample, hence without text_view. */
uint64_t python_text_print(uintptr_t text, bool readable)
{
	if (readable ? python_word(text + python.at.object_type) != python.type_text
		     : !python_is(text, python.type_text, python.at.text_ascii))
		return 0;
	uint32_t state = (uint32_t)python_int(text + python.at.text_state) >> python.text_shift;
	size_t length = python_word(text + python.at.text_length), bytes = length * (state & 7);
	uintptr_t end = text + (state & 16 ? python.at.text_ascii : python.at.text_wide) + bytes;
	uint64_t last, before;
	bool near = readable && text / PYTHON_PAGE == (end - 1) / PYTHON_PAGE;
	if (!(state & 8) || length >= LENGTH_MOST || !(near || python_span(end - 16, 16)))
		return 0;
	memcpy(&last, (const char *)end - 8, 8);
	memcpy(&before, (const char *)end - 16, 8);
	if (bytes < 16) {
		before = bytes > 8 ? before >> (128 - 8 * bytes) : 0;
		if (bytes < 8)
			last = bytes ? last >> (64 - 8 * bytes) : 0;
	}
	return ((last ^ before << 7 ^ before >> 57) + ((uint64_t)bytes << 48) + text) | 1;
}

bool python_text_is(uintptr_t text, const char *ascii)
{
	struct text_view view;
	size_t length = strlen(ascii);
	return text_view(text, &view) && view.is_ascii && view.length == length &&
	       python_span(view.characters, length) && memcmp((const char *)view.characters, ascii, length) == 0;
}
