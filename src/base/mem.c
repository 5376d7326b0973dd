/* mem.c - see mem.h. */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where this thread goes when memory runs out; NULL: nowhere. */
static _Thread_local jmp_buf *landing;

bool mem_try(void (*work)(void *context), void *context)
{
	jmp_buf here, *outer = landing;
	bool done = false;
	if (setjmp(here) == 0) {
		landing = &here;
		work(context);
		done = true;
	}
	landing = outer;
	return done;
}

static void *checked(void *block)
{
	static const char words[] = "pitot: out of memory\n";
	if (!block && landing)
		longjmp(*landing, 1);
	if (!block) {
		/* Nothing sensible is left to do if even this write fails. */
		ssize_t ignored = write(STDERR_FILENO, words, sizeof(words) - 1);
		(void)ignored;
		_exit(70);
	}
	return block;
}

void *mem_alloc(size_t bytes)
{
	return checked(calloc(1, bytes ? bytes : 1));
}

void *mem_resize(void *old, size_t bytes)
{
	return checked(realloc(old, bytes ? bytes : 1));
}

char *mem_strdup(const char *text)
{
	return text ? checked(strdup(text)) : NULL;
}

char *mem_strndup(const char *text, size_t length)
{
	char *copy = mem_alloc(length + 1);
	memcpy(copy, text, length);
	return copy;
}

char *mem_printf(const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = mem_alloc((size_t)length + 1);
	vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	return text;
}
