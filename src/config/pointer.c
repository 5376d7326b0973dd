/* pointer.c - see pointer.h. */
#include "config/pointer.h"
#include "base/str.h"

#include <string.h>

const char *pointer_problem(const char *text)
{
	if (text[0] && text[0] != '/')
		return "it must begin with '/', as in /train/epochs";
	for (const char *at = text; *at; at++)
		if (*at == '~' && at[1] != '0' && at[1] != '1')
			return "'~' must be written ~0, and '/' within a key ~1";
	return NULL;
}

static char *unescape(const char *text, size_t length)
{
	struct str out = {0};
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '~' && i + 1 < length)
			str_append_char(&out, text[++i] == '1' ? '/' : '~');
		else
			str_append_char(&out, text[i]);
	}
	return str_take(&out);
}

void pointer_init(struct pointer *pointer, const char *text)
{
	*pointer = (struct pointer){0};
	while (*text == '/') {
		size_t length = strcspn(++text, "/");
		vec_push(&pointer->steps, unescape(text, length));
		text += length;
	}
}

void pointer_fini(struct pointer *pointer)
{
	for (size_t i = 0; i < pointer->steps.len; i++)
		free(pointer->steps.items[i]);
	vec_fini(&pointer->steps);
}

bool pointer_index(const char *step, size_t *out)
{
	size_t digits = strspn(step, "0123456789");
	if (digits == 0 || digits > 9 || step[digits] || (step[0] == '0' && digits > 1))
		return false;
	*out = (size_t)strtoul(step, NULL, 10);
	return true;
}
