/*
 * opt.h - command-line options as data.
 *
 * One const table per command drives parsing, the short usage, the shell completions and the test that the manual page
 * names every option. The values land in the command's own struct, at the offset that the row names:
 *
 *	kind           field                      written as
 *	OPT_FLAG       bool                       --name
 *	OPT_NEGATED    bool, set to false         --no-name
 *	OPT_TEXT       const char *               --name VALUE  --name=VALUE
 *	OPT_MAYBE      const char *               --name (gives "")  --name=VALUE
 *	OPT_INTEGER    int64_t                    --name N
 *	OPT_NUMBER     double                     --name X
 *	OPT_DURATION   uint64_t (nanoseconds)     --name 250ms
 *	OPT_CHOICE     const char *               --name one|of|these
 *	OPT_LIST       struct opt_texts           --name VALUE, as often as wanted
 *
 * Long options may not be shortened: a script must not break because an option was added. Text is borrowed from argv.
 */
#ifndef PITOT_BASE_OPT_H
#define PITOT_BASE_OPT_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum opt_kind {
	OPT_FLAG,
	OPT_NEGATED,
	OPT_TEXT,
	OPT_MAYBE,
	OPT_INTEGER,
	OPT_NUMBER,
	OPT_DURATION,
	OPT_CHOICE,
	OPT_LIST
};

struct opt_texts {
	const char **items;
	size_t len;
	size_t cap;
};

struct opt {
	const char *name; /* without the dashes; the table ends with a row whose name is NULL */
	char letter;      /* or 0 */
	enum opt_kind kind;
	size_t offset;
	const char *value; /* what the usage calls the value; for OPT_CHOICE the choices, "a|b|c" */
	const char *help;  /* a few words */
};

/* What an unknown long option means to the command: it may keep it (return 0) or refuse it (an error code). `value` is
 * NULL where none was given with "="; `next` is the following word, and *took_next says whether it was used. */
typedef int opt_unknown_fn(void *context, const char *name, const char *value, const char *next, bool *took_next);

struct opt_parser {
	const struct opt *options;
	void *into;
	opt_unknown_fn *unknown; /* or NULL */
	void *unknown_context;
	bool stop_at_word; /* the first word that is no option ends the options (for `pitot COMMAND …`) */
};

/* Words that are no options go to `rest`, in order; all after "--" too, and `*dashes` says where in `rest` that began
 * (SIZE_MAX where there was none). */
int opt_parse(const struct opt_parser *parser, int argc, char **argv, struct opt_texts *rest, size_t *dashes,
	      struct err *err);

/* "unknown option --jbos; did you mean --jobs?" */
int opt_unknown_error(const struct opt *options, const char *name, struct err *err);
/* The option that was probably meant, or NULL. */
const char *opt_suggest(const struct opt *options, const char *name);

/* Appends one line per option. */
void opt_describe(const struct opt *options, struct str *out);
bool opt_takes_value(const struct opt *option);

#endif
