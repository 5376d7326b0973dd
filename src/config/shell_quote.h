/*
 * shell_quote.h - follows the quoting of a shell script byte by byte, so that a value can be put in as literal text.
 *
 * shell_step walks over the script; wherever it stands, shell_insert writes a value in the form that the shell reads
 * back as exactly that text at this place: a single-quoted word outside quotes, escaped for double quotes within them,
 * escaped for single quotes within those. The invariant is that a value never becomes code. Where that cannot be
 * promised by quoting, the value itself must be harmless, or it is refused:
 *
 *	place                                      what is accepted
 *	$(( … )), (( … ))                          a whole number
 *	${ … }, backquotes, here-documents,        letters, digits and _ . / : , + @ % -
 *	after $'…' or `case` within $( … )
 *
 * Caveat: only the script's own shell is followed. Text that the script hands to another one (eval, sh -c, ssh) is
 * parsed again there.
 */
#ifndef PITOT_CONFIG_SHELL_QUOTE_H
#define PITOT_CONFIG_SHELL_QUOTE_H

#include "base/str.h"

enum { SHELL_MAX_DEPTH = 32, SHELL_DELIMITER_SIZE = 64 };

enum shell_frame_kind {
	SHELL_COMMAND, /* the script itself, and $( … ) */
	SHELL_SINGLE,
	SHELL_DOUBLE,
	SHELL_BRACE,
	SHELL_ARITHMETIC,
	SHELL_BACKQUOTE,
};

struct shell_frame {
	enum shell_frame_kind kind;
	int parentheses; /* open ones of its own */
};

/* Zeroed, it stands at the beginning of a script. */
struct shell_state {
	struct shell_frame frames[SHELL_MAX_DEPTH]; /* [0] is the script itself */
	int depth;
	bool in_word; /* the byte before belongs to the same word: a '#' here is no comment */
	bool in_comment;
	char before;    /* the last byte stepped over, continued lines left out */
	bool uncertain; /* shells may disagree about where we are */
	bool heredoc_pending, heredoc_open, heredoc_tabs, heredoc_line_start;
	char heredoc_end[SHELL_DELIMITER_SIZE];
};

/* Steps over what stands at `text` (terminated, not empty); the number of bytes, at least 1. */
size_t shell_step(struct shell_state *state, const char *text);
/* Appends `value` as literal text; false, with the reason, where it cannot be put at this place. */
bool shell_insert(const struct shell_state *state, const char *value, struct str *out, const char **reason);

#endif
