/* shell_quote.c - see shell_quote.h. */
#include "config/shell_quote.h"

#include <ctype.h>
#include <string.h>

static struct shell_frame *top(struct shell_state *state)
{
	return &state->frames[state->depth];
}

static void push(struct shell_state *state, enum shell_frame_kind kind)
{
	state->in_word = kind != SHELL_COMMAND && kind != SHELL_BACKQUOTE;
	if (state->depth + 1 == SHELL_MAX_DEPTH) {
		state->uncertain = true;
		return;
	}
	state->frames[++state->depth] = (struct shell_frame){.kind = kind};
}

static void pop(struct shell_state *state)
{
	if (state->depth > 0)
		state->depth--;
	state->in_word = true;
}

static bool inside(const struct shell_state *state, enum shell_frame_kind kind)
{
	for (int i = 0; i <= state->depth; i++)
		if (state->frames[i].kind == kind)
			return true;
	return false;
}

/* Whether the ${ … } on top stands within double quotes, where shells disagree about quotes inside it. */
static bool brace_is_in_double(const struct shell_state *state)
{
	int at = state->depth;
	while (at > 0 && state->frames[at].kind == SHELL_BRACE)
		at--;
	return state->frames[at].kind == SHELL_DOUBLE;
}

static bool ends_word(char byte)
{
	return byte == '\0' || strchr(" \t\n;&|()<>", byte) != NULL;
}

/* The word after "<<", without its quotes; the bytes stepped over. */
static size_t read_delimiter(struct shell_state *state, const char *text)
{
	size_t at = 2, length = 0;
	state->uncertain |= state->heredoc_pending || state->depth > 0;
	state->heredoc_tabs = text[at] == '-';
	at += state->heredoc_tabs;
	while (text[at] == ' ' || text[at] == '\t')
		at++;
	for (char quote = 0; text[at] && (quote || !ends_word(text[at])); at++) {
		char byte = text[at];
		if (byte == '\'' || byte == '"') {
			state->uncertain |= quote && quote != byte;
			quote = quote ? 0 : byte;
			continue;
		}
		if (byte == '\\' && text[at + 1])
			byte = text[++at];
		state->uncertain |= byte == '$' || byte == '`' || byte == '\n' || length + 1 == SHELL_DELIMITER_SIZE;
		if (length + 1 < SHELL_DELIMITER_SIZE)
			state->heredoc_end[length++] = byte;
	}
	state->heredoc_end[length] = '\0';
	state->heredoc_pending = true;
	state->in_word = false;
	return at;
}

static size_t step_heredoc(struct shell_state *state, const char *text)
{
	if (state->heredoc_line_start) {
		size_t tabs = state->heredoc_tabs ? strspn(text, "\t") : 0, length = strlen(state->heredoc_end);
		const char *line = text + tabs;
		state->heredoc_line_start = false;
		if (strncmp(line, state->heredoc_end, length) == 0 && (line[length] == '\n' || !line[length])) {
			state->heredoc_open = state->in_word = false;
			return tabs + length ? tabs + length : 1;
		}
	}
	if (text[0] == '\\' && text[1] && text[1] != '\n')
		return 2;
	state->uncertain |= text[0] == '\\';
	state->heredoc_line_start = text[0] == '\n';
	return 1;
}

/* What "$" opens, in all frames but single quotes. */
static size_t step_dollar(struct shell_state *state, const char *text)
{
	/* $$ is a whole of its own: in $$( the parenthesis opens no command. */
	if (text[1] == '$') {
		state->in_word = true;
		return 2;
	}
	if (text[1] == '(' && text[2] == '(') {
		push(state, SHELL_ARITHMETIC);
		return 3;
	}
	if (text[1] == '(') {
		push(state, SHELL_COMMAND);
		return 2;
	}
	if (text[1] == '{') {
		push(state, SHELL_BRACE);
		return 2;
	}
	/* In some shells $'…' has backslash escapes and $[…] is arithmetic, in others both are a dollar sign and then
	 * the rest. */
	if ((text[1] == '\'' && top(state)->kind != SHELL_DOUBLE) || text[1] == '[')
		state->uncertain = true;
	state->in_word = true;
	return 1;
}

static size_t step_parenthesis(struct shell_state *state, const char *text)
{
	struct shell_frame *frame = top(state);
	state->in_word = false;
	/* Some shells evaluate (( … )) as arithmetic, and then run $( … ) even out of single quotes. */
	if (text[0] == '(' && text[1] == '(' && frame->kind != SHELL_ARITHMETIC) {
		push(state, SHELL_ARITHMETIC);
		return 2;
	}
	if (text[0] == '(') {
		frame->parentheses++;
		return 1;
	}
	if (frame->parentheses > 0) {
		frame->parentheses--;
		return 1;
	}
	if (frame->kind == SHELL_ARITHMETIC) {
		bool closed = text[1] == ')';
		state->uncertain |= !closed;
		pop(state);
		return closed ? 2 : 1;
	}
	if (frame->kind == SHELL_COMMAND && state->depth > 0)
		pop(state);
	return 1;
}

static size_t step_command(struct shell_state *state, const char *text)
{
	char byte = text[0];
	if (byte == '#' && !state->in_word) {
		state->in_comment = true;
		return 1;
	}
	if (byte == '(' || byte == ')')
		return step_parenthesis(state, text);
	if (strncmp(text, "<<<", 3) == 0) {
		state->uncertain = true;
		return 3;
	}
	if (strncmp(text, "<<", 2) == 0)
		return read_delimiter(state, text);
	/* The ")" of a case pattern cannot be told from the end of $( … ) without parsing the whole language. */
	if (!state->in_word && state->depth > 0 && strncmp(text, "case", 4) == 0 && ends_word(text[4]))
		state->uncertain = true;
	if (byte == '\n' && state->heredoc_pending) {
		state->heredoc_pending = false;
		state->heredoc_open = state->heredoc_line_start = true;
	}
	state->in_word = !ends_word(byte);
	return 1;
}

static size_t step_quote(struct shell_state *state, char quote)
{
	struct shell_frame *frame = top(state);
	bool doubtful = frame->kind == SHELL_ARITHMETIC || (frame->kind == SHELL_BRACE && brace_is_in_double(state));
	state->uncertain |= doubtful;
	if (frame->kind == SHELL_DOUBLE && quote == '"')
		pop(state);
	else if (frame->kind == SHELL_DOUBLE || (doubtful && quote == '\''))
		return 1;
	else
		push(state, quote == '"' ? SHELL_DOUBLE : SHELL_SINGLE);
	return 1;
}

/* Backquotes end at the first one that has no backslash, whatever quotes lie between. */
static size_t step_backquote(struct shell_state *state)
{
	state->in_comment = false;
	if (!inside(state, SHELL_BACKQUOTE)) {
		push(state, SHELL_BACKQUOTE);
		return 1;
	}
	while (top(state)->kind != SHELL_BACKQUOTE)
		pop(state);
	pop(state);
	return 1;
}

static size_t step_single(struct shell_state *state, const char *text)
{
	if (text[0] == '\\' && inside(state, SHELL_BACKQUOTE))
		state->uncertain = true;
	if (text[0] == '\'')
		pop(state);
	return 1;
}

/* A continued line is one line to the shell: it may put two halves of a token together, such as "$" and "(". */
static size_t step_continuation(struct shell_state *state)
{
	bool is_split = state->before && strchr("$(<)", state->before);
	state->uncertain |= is_split || (state->depth > 0 && state->in_word);
	return 2;
}

static size_t step_backslash(struct shell_state *state, const char *text)
{
	if (text[1] == '\n')
		return step_continuation(state);
	state->uncertain |= text[1] == '`' && inside(state, SHELL_BACKQUOTE);
	state->in_word = true;
	return text[1] ? 2 : 1;
}

static size_t step(struct shell_state *state, const char *text)
{
	enum shell_frame_kind kind = top(state)->kind;
	if (state->heredoc_open)
		return step_heredoc(state, text);
	if (text[0] == '`' && (kind != SHELL_SINGLE || inside(state, SHELL_BACKQUOTE)) &&
	    (!state->in_comment || inside(state, SHELL_BACKQUOTE)))
		return step_backquote(state);
	if (state->in_comment && text[0] != '\n') {
		state->uncertain |= text[0] == '\\' && inside(state, SHELL_BACKQUOTE);
		return 1;
	}
	state->in_comment = false;
	if (kind == SHELL_SINGLE)
		return step_single(state, text);
	if (text[0] == '\\')
		return step_backslash(state, text);
	if (text[0] == '\'' || text[0] == '"')
		return step_quote(state, text[0]);
	if (text[0] == '$')
		return step_dollar(state, text);
	if (kind == SHELL_BRACE && text[0] == '}')
		pop(state);
	else if (kind == SHELL_ARITHMETIC && (text[0] == '(' || text[0] == ')'))
		return step_parenthesis(state, text);
	else if (kind == SHELL_COMMAND || kind == SHELL_BACKQUOTE)
		return step_command(state, text);
	return 1;
}

size_t shell_step(struct shell_state *state, const char *text)
{
	size_t bytes = step(state, text);
	if (strncmp(text, "\\\n", 2) != 0)
		state->before = text[bytes - 1];
	return bytes;
}

static bool is_whole_number(const char *value)
{
	value += *value == '-';
	return *value && strspn(value, "0123456789") == strlen(value);
}

static bool is_harmless(const char *value)
{
	for (; *value; value++)
		if (!isalnum((unsigned char)*value) && !strchr("_./:,+@%-", *value))
			return false;
	return true;
}

static void append_escaped(struct str *out, const char *value, enum shell_frame_kind kind)
{
	for (; *value; value++) {
		if (kind == SHELL_DOUBLE && strchr("\\\"$`", *value))
			str_append_char(out, '\\');
		if (kind != SHELL_DOUBLE && *value == '\'')
			str_append(out, "'\\''");
		else
			str_append_char(out, *value);
	}
}

bool shell_insert(const struct shell_state *state, const char *value, struct str *out, const char **reason)
{
	enum shell_frame_kind kind = state->frames[state->depth].kind;
	bool bare =
		state->heredoc_open || state->uncertain || inside(state, SHELL_BRACE) || inside(state, SHELL_BACKQUOTE);
	bool unquoted = kind == SHELL_COMMAND || kind == SHELL_BACKQUOTE;
	if (inside(state, SHELL_ARITHMETIC)) {
		*reason = "only a whole number can stand within $(( … ))";
		if (!is_whole_number(value))
			return false;
		str_append(out, value);
	} else if (bare) {
		*reason = "within ${…}, backquotes or a here-document, and after $'…', <<< or a nested case, no "
			  "quoting is safe for it; pass it through env: and use \"$NAME\"";
		if (!is_harmless(value) || (!*value && unquoted && !state->heredoc_open))
			return false;
		str_append(out, value);
	} else {
		str_append(out, unquoted ? "'" : "");
		append_escaped(out, value, kind);
		str_append(out, unquoted ? "'" : "");
	}
	return true;
}
