/*
 * err.h - one list of error codes, and the words that go with a failure.
 *
 * A function that can fail returns 0 or one of these negative codes and, through its last parameter, a message that
 * says what failed, on what, why, and what to do next. "Not available here" is a code of its own: it is an answer about
 * the machine, never a zero that looks like a measurement. The message buffer is fixed so that reporting a failure
 * cannot fail.
 */
#ifndef PITOT_BASE_ERR_H
#define PITOT_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

/* name, exit status of the command line, what it means */
#define ERR_LIST(X)                                                                                                    \
	X(INTERNAL, 70, "internal error")                                                                              \
	X(USAGE, 64, "wrong usage")                                                                                    \
	X(INPUT, 65, "bad input")                                                                                      \
	X(UNAVAILABLE, 69, "not available here")                                                                       \
	X(IO, 69, "input or output failed")                                                                            \
	X(INTERRUPTED, 1, "interrupted")

enum err_ordinal {
#define ERR_ORDINAL(name, exit_status, words) ERR_ORDINAL_##name,
	ERR_LIST(ERR_ORDINAL)
#undef ERR_ORDINAL
};

enum err_code {
#define ERR_CODE(name, exit_status, words) ERR_##name = -(ERR_ORDINAL_##name + 1),
	ERR_LIST(ERR_CODE)
#undef ERR_CODE
};

struct err {
	int code;
	char text[1024];
};

/* Both return `code`, so that a failing function ends with `return err_set(err, ERR_INPUT, ...)`. `err` may be NULL. */
int err_set(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with ": <words for errno>" appended. */
int err_set_errno(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts "<context>: " in front of the message that is already there; returns the code that is already there. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *err_name(int code);
int err_exit_status(int code);

#endif
