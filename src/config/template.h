/*
 * template.h - command lines with {NAME} in them, and how a line becomes words where no shell does it.
 *
 * A value never becomes code: for a shell it is inserted according to the quotes around {NAME} (shell_quote.h), and
 * without a shell it is inserted after the line has been split, so it always stays within its word. A {NAME} that is no
 * parameter stays as it is.
 *
 * The rule for words: blanks separate them; '…' keeps everything, "…" keeps everything but \" and \\, and outside of
 * quotes \ keeps the byte after it. Nothing else is special: no variables, no patterns, no pipes.
 */
#ifndef PITOT_CONFIG_TEMPLATE_H
#define PITOT_CONFIG_TEMPLATE_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct template_value {
	const char *name, *value;
};

struct template_values {
	VEC(struct template_value) items;
};

/* The words end with NULL; owned by the caller. */
struct word_list {
	VEC(char *) items;
};

/* A script for sh -c. Owned by the caller. */
int template_script(const char *text, const struct template_values *values, char **out, struct err *err);
int template_words(const char *text, const struct template_values *values, struct word_list *out, struct err *err);
/* As a person reads it: inserted as it is. Owned by the caller. */
char *template_plain(const char *text, const struct template_values *values);
bool template_mentions(const char *text, const char *name);

void word_list_fini(struct word_list *list);

#endif
