/* jit_name.c - see jit_name.h. */
#include "symbol/jit_name.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

static bool skip_prefix(const char **text, size_t *bytes, const char *prefix)
{
	size_t length = strlen(prefix);
	if (*bytes < length || memcmp(*text, prefix, length) != 0)
		return false;
	*text += length;
	*bytes -= length;
	return true;
}

/* Takes ":<digits>" off the end; -1 where there is none. */
static int take_number(const char *text, size_t *bytes)
{
	size_t at = *bytes;
	long value = 0, weight = 1;
	for (; at > 0 && isdigit((unsigned char)text[at - 1]); at--) {
		if (weight > INT_MAX / 10)
			return -1;
		value += (text[at - 1] - '0') * weight;
		weight *= 10;
	}
	if (at == *bytes || at == 0 || text[at - 1] != ':' || value > INT_MAX)
		return -1;
	*bytes = at - 1;
	return (int)value;
}

/* The file's path may contain colons, a function's name does not: "<lambda>", "Class.method", "<genexpr>". */
static void split_python(const char *text, size_t bytes, struct jit_name *out)
{
	const char *colon = memchr(text, ':', bytes);
	out->python = true;
	out->function = text;
	out->function_bytes = colon ? (size_t)(colon - text) : bytes;
	if (colon && colon + 1 < text + bytes) {
		out->file = colon + 1;
		out->file_bytes = (size_t)(text + bytes - out->file);
	}
}

static const char *find_text(const char *text, size_t bytes, const char *wanted)
{
	return memmem(text, bytes, wanted, strlen(wanted));
}

/* Both names ("get size") and paths may have blanks: a path is known by how it begins, else it is the last word. */
static const char *find_file(const char *text, size_t bytes)
{
	static const char *const beginnings[] = {" /", " file:", " node:", " http:", " https:", " webpack:"};
	const char *first = NULL;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		const char *found = find_text(text, bytes, beginnings[i]);
		if (found && (!first || found < first))
			first = found;
	}
	return first ? first : memrchr(text, ' ', bytes);
}

/* "name file:line:column" or "name file:line". */
static void split_place(struct jit_name *out)
{
	size_t bytes = out->function_bytes;
	int last = take_number(out->function, &bytes);
	int before = last >= 0 ? take_number(out->function, &bytes) : -1;
	const char *blank = last >= 0 ? find_file(out->function, bytes) : NULL;
	if (!blank || blank + 1 >= out->function + bytes)
		return;
	out->line = before >= 0 ? before : last;
	out->file = blank + 1;
	out->file_bytes = (size_t)(out->function + bytes - out->file);
	out->function_bytes = (size_t)(blank - out->function);
	skip_prefix(&out->file, &out->file_bytes, "file://");
}

static bool is_script_kind(const char **text, size_t *bytes)
{
	static const char *const kinds[] = {"LazyCompile:", "Function:", "JS:", "Script:", "Eval:", "Callback:"};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (skip_prefix(text, bytes, kinds[i]))
			return true;
	return false;
}

void jit_name_split(const char *text, size_t bytes, struct jit_name *out)
{
	*out = (struct jit_name){.function = text, .function_bytes = bytes};
	if (skip_prefix(&text, &bytes, "py::")) {
		split_python(text, bytes, out);
		return;
	}
	if (!is_script_kind(&text, &bytes))
		return;
	while (bytes > 0 && strchr("~^+*", text[0]) && text[0])
		text++, bytes--;
	out->function = text;
	out->function_bytes = bytes;
	split_place(out);
	static const char anonymous[] = "(anonymous)";
	if (out->function_bytes == 0) {
		out->function = anonymous;
		out->function_bytes = sizeof(anonymous) - 1;
	}
}
