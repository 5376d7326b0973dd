/* markup.c - see markup.h. */
#include "render/markup.h"
#include "render/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* An underscore between letters starts no emphasis, and names are full of them. */
static bool needs_escape(const char *text, size_t at)
{
	if (text[at] == '_')
		return at == 0 || !isalnum((unsigned char)text[at - 1]) || !isalnum((unsigned char)text[at + 1]);
	return strchr("\\`*[]<>|~&#$", text[at]) != NULL;
}

void markup_markdown(struct str *out, const char *text)
{
	char *clean = text_clean(text, true);
	for (size_t i = 0; clean[i]; i++) {
		if (needs_escape(clean, i))
			str_append_char(out, '\\');
		str_append_char(out, clean[i]);
	}
	free(clean);
}

/* The two last code points of the first plane are UTF-8 like any other, but no XML document may have them. */
static bool is_noncharacter(const char *bytes)
{
	return strncmp(bytes, "\xEF\xBF\xBE", 3) == 0 || strncmp(bytes, "\xEF\xBF\xBF", 3) == 0;
}

void markup_xml(struct str *out, const char *text)
{
	char *clean = text_clean(text, true);
	for (size_t i = 0; clean[i]; i++) {
		const char *name = clean[i] == '&'    ? "&amp;"
				   : clean[i] == '<'  ? "&lt;"
				   : clean[i] == '>'  ? "&gt;"
				   : clean[i] == '"'  ? "&quot;"
				   : clean[i] == '\'' ? "&#39;"
						      : NULL;
		if (is_noncharacter(clean + i)) {
			str_append(out, "\xEF\xBF\xBD");
			i += 2;
		} else if (name) {
			str_append(out, name);
		} else {
			str_append_char(out, clean[i]);
		}
	}
	free(clean);
}
