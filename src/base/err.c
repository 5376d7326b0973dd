/* err.c - see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *words;
	int exit_status;
} codes[] = {
#define ERR_ROW(name, status, what) {.words = what, .exit_status = status},
	ERR_LIST(ERR_ROW)
#undef ERR_ROW
};

enum { CODE_COUNT = sizeof(codes) / sizeof(codes[0]) };

static void set_text(struct err *err, int code, const char *format, va_list args)
{
	err->code = code;
	vsnprintf(err->text, sizeof(err->text), format, args);
}

int err_set(struct err *err, int code, const char *format, ...)
{
	if (!err)
		return code;
	va_list args;
	va_start(args, format);
	set_text(err, code, format, args);
	va_end(args);
	return code;
}

int err_set_errno(struct err *err, int code, const char *format, ...)
{
	int saved = errno;
	if (!err)
		return code;
	va_list args;
	va_start(args, format);
	set_text(err, code, format, args);
	va_end(args);
	size_t length = strlen(err->text);
	snprintf(err->text + length, sizeof(err->text) - length, ": %s", strerror(saved));
	return code;
}

int err_prefix(struct err *err, const char *format, ...)
{
	if (!err)
		return ERR_INTERNAL;
	char before[sizeof(err->text)];
	memcpy(before, err->text, sizeof(before));
	va_list args;
	va_start(args, format);
	set_text(err, err->code, format, args);
	va_end(args);
	size_t length = strlen(err->text);
	snprintf(err->text + length, sizeof(err->text) - length, ": %s", before);
	return err->code;
}

static int ordinal(int code)
{
	int at = -code - 1;
	return at >= 0 && at < CODE_COUNT ? at : ERR_ORDINAL_INTERNAL;
}

const char *err_name(int code)
{
	return codes[ordinal(code)].words;
}

int err_exit_status(int code)
{
	return code == 0 ? 0 : codes[ordinal(code)].exit_status;
}
