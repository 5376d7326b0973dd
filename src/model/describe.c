/*
 * describe.c - reads the text format: lines, options, names and repeats; the operators themselves are in describe_ops.c.
 *
 * The text is cut into lines of words once; running through them builds the graph, a repeat runs through its part again. The
 * number of operators is bounded, because repeats within repeats multiply.
 */
#include "model/describe.h"
#include "base/file.h"
#include "base/str.h"
#include "model/describe_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MOST = 1 << 20, OPERATORS_MOST = 100000, DEPTH_MOST = 8, WORDS_MOST = 64 };

int describe_bad(struct describe *describe, const struct describe_line *line, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return err_set(describe->build.err, ERR_INPUT, "%s:%zu: %s", describe->name, line->number, text);
}

static void line_fini(struct describe_line *line)
{
	free(line->text);
}

/* Cuts at blanks, in place; a '#' that begins a word begins a comment. */
static int cut_words(struct describe *describe, struct describe_line *line)
{
	for (char *at = line->text; *at;) {
		at += strspn(at, " \t\r");
		if (!*at || *at == '#')
			break;
		if (line->count == WORDS_MOST)
			return describe_bad(describe, line, "more than %d words", WORDS_MOST);
		line->words[line->count++] = at;
		at += strcspn(at, " \t\r");
		if (*at)
			*at++ = '\0';
	}
	return 0;
}

/* name = operator …, and "of a b" at the end. */
static int cut_line(struct describe *describe, struct describe_line *line)
{
	int code = cut_words(describe, line);
	if (code || !line->count)
		return code;
	if (line->count >= 2 && strcmp(line->words[1], "=") == 0) {
		if (line->count < 3)
			return describe_bad(describe, line, "nothing after '='");
		line->name = line->words[0];
		line->first = 2;
	}
	line->end = line->of = line->count;
	for (size_t i = line->first + 1; i < line->count; i++)
		if (strcmp(line->words[i], "of") == 0) {
			line->end = i;
			line->of = i + 1;
			if (line->of == line->count)
				return describe_bad(describe, line, "nothing after 'of'");
			break;
		}
	return 0;
}

/* A whole number, $option, or a product of them. */
int describe_number(struct describe *describe, const struct describe_line *line, const char *text, int64_t *out)
{
	char *copy = mem_strdup(text), *rest = copy;
	int64_t product = 1, value;
	enum dim_id id;
	int code = 0;
	for (char *part = strsep(&rest, "*"); part && !code; part = strsep(&rest, "*")) {
		if (part[0] == '$' && dim_find(part + 1, &id) && describe->sizes.value[id] > 0)
			value = describe->sizes.value[id];
		else if (part[0] == '$')
			code = describe_bad(describe, line, "no option declares '%s'", part);
		else if (!str_to_int64(part, &value))
			code = describe_bad(describe, line, "'%s' is no whole number", text);
		if (!code && __builtin_mul_overflow(product, value, &product))
			code = describe_bad(describe, line, "'%s' is too large", text);
	}
	free(copy);
	if (!code)
		*out = product;
	return code;
}

/* From the innermost scope outwards. */
int describe_find(struct describe *describe, const struct describe_line *line, const char *name, size_t *out)
{
	char *scope = mem_strdup(str_text(&describe->build.scope));
	size_t found = NAMES_NONE;
	for (;;) {
		char *path = *scope ? mem_printf("%s.%s", scope, name) : mem_strdup(name);
		found = names_get(&describe->values, path);
		free(path);
		char *dot = strrchr(scope, '.');
		if (found != NAMES_NONE || !*scope)
			break;
		*(dot ? dot : scope) = '\0';
	}
	free(scope);
	if (found == NAMES_NONE)
		return describe_bad(describe, line, "nothing before this line is called '%s'", name);
	*out = found;
	return 0;
}

int describe_call(struct describe *describe, const struct describe_line *line, const char *name, size_t tensor)
{
	const char *scope = str_text(&describe->build.scope);
	char *path = *scope ? mem_printf("%s.%s", scope, name) : mem_strdup(name);
	bool twice = names_get(&describe->values, path) != NAMES_NONE;
	vec_push(&describe->texts, path);
	if (twice)
		return describe_bad(describe, line, "'%s' is called so already", path);
	names_put(&describe->values, path, tensor);
	describe->last = tensor;
	return 0;
}

static int run_option(struct describe *describe, const struct describe_line *line)
{
	enum dim_id id;
	int64_t value;
	if (line->count != 3 || !dim_find(line->words[1], &id) || id == DIM_BATCH ||
	    !str_to_int64(line->words[2], &value) || value < 1)
		return describe_bad(describe, line,
				    "expected 'option NAME NUMBER', NAME a size such as width, depth, seq");
	if (describe->sizes.value[id])
		return describe_bad(describe, line, "option '%s' is declared twice", line->words[1]);
	describe->declared[id] = true;
	describe->sizes.value[id] = describe->asked->value[id] ? describe->asked->value[id] : value;
	return 0;
}

static int run_input(struct describe *describe, const struct describe_line *line)
{
	struct shape shape = {.rank = 1, .dims = {describe->sizes.value[DIM_BATCH]}};
	int64_t below = 0;
	int code = 0;
	if (line->count < 3)
		return describe_bad(describe, line, "expected 'input NAME SIZE …'");
	for (size_t i = 2; i < line->count && !code; i++) {
		if (strcmp(line->words[i], "below") == 0 && i + 2 == line->count) {
			code = describe_number(describe, line, line->words[i + 1], &below);
			if (!code && below < 1)
				code = describe_bad(describe, line, "expected a number of at least 1 after 'below'");
			break;
		}
		if (shape.rank == SHAPE_MAX_RANK)
			return describe_bad(describe, line, "more than %d dimensions", SHAPE_MAX_RANK);
		code = describe_number(describe, line, line->words[i], &shape.dims[shape.rank]);
		shape.rank += !code;
	}
	if (code)
		return code;
	size_t tensor = build_input(&describe->build, line->words[1], &shape, below);
	if (describe->build.code)
		return err_prefix(describe->build.err, "%s:%zu", describe->name, line->number);
	return describe_call(describe, line, line->words[1], tensor);
}

static int run_lines(struct describe *describe, size_t from, size_t to, size_t depth);

/* The line of the `end` that belongs to the repeat at `from`. */
static size_t find_end(const struct describe *describe, size_t from)
{
	size_t open = 1;
	for (size_t i = from + 1; i < describe->lines.len; i++) {
		const struct describe_line *line = &describe->lines.items[i];
		if (line->count && strcmp(line->words[0], "repeat") == 0)
			open++;
		if (line->count && strcmp(line->words[0], "end") == 0 && --open == 0)
			return i;
	}
	return SIZE_MAX;
}

static int run_repeat(struct describe *describe, size_t at, size_t depth, size_t *end)
{
	const struct describe_line *line = &describe->lines.items[at];
	int64_t times;
	if (line->count != 4 || strcmp(line->words[2], "as") != 0)
		return describe_bad(describe, line, "expected 'repeat NUMBER as NAME'");
	int code = describe_number(describe, line, line->words[1], &times);
	if (code)
		return code;
	*end = find_end(describe, at);
	if (*end == SIZE_MAX || depth >= DEPTH_MOST)
		return describe_bad(describe, line,
				    *end == SIZE_MAX ? "no 'end' for it" : "too many repeats within repeats");
	for (int64_t i = 0; i < times && !code; i++) {
		size_t mark = build_enter(&describe->build, "%s.%lld", line->words[3], (long long)i);
		code = run_lines(describe, at + 1, *end, depth + 1);
		build_leave(&describe->build, mark);
	}
	return code;
}

static int run_output(struct describe *describe, const struct describe_line *line)
{
	size_t tensor;
	int code = line->count < 2 ? describe_bad(describe, line, "expected 'output NAME …'") : 0;
	for (size_t i = 1; i < line->count && !code; i++) {
		code = describe_find(describe, line, line->words[i], &tensor);
		if (!code) {
			describe->build.graph->tensors.items[tensor].output = true;
			describe->has_output = true;
		}
	}
	return code;
}

static int run_lines(struct describe *describe, size_t from, size_t to, size_t depth)
{
	int code = 0;
	for (size_t i = from; i < to && !code; i++) {
		const struct describe_line *line = &describe->lines.items[i];
		const char *word = line->count ? line->words[line->first] : NULL;
		if (++describe->steps > OPERATORS_MOST)
			return describe_bad(describe, line, "more than %d operators", OPERATORS_MOST);
		if (!word)
			continue;
		if (strcmp(word, "repeat") == 0)
			code = run_repeat(describe, i, depth, &i);
		else if (strcmp(word, "end") == 0)
			code = describe_bad(describe, line, "'end' without a repeat");
		else if (strcmp(word, "option") == 0)
			code = run_option(describe, line);
		else if (strcmp(word, "input") == 0)
			code = run_input(describe, line);
		else if (strcmp(word, "output") == 0)
			code = run_output(describe, line);
		else
			code = describe_op(describe, line);
	}
	return code;
}

static int check_asked(const struct describe *describe, struct err *err)
{
	for (int i = 0; i < DIM_COUNT; i++)
		if (describe->asked->value[i] && i != DIM_BATCH && !describe->declared[i])
			return err_set(err, ERR_USAGE, "%s declares no option %s", describe->name,
				       dim_name((enum dim_id)i));
	return 0;
}

static int cut_lines(struct describe *describe, const char *text)
{
	int code = 0;
	size_t number = 0;
	while (*text && !code) {
		size_t length = strcspn(text, "\n");
		struct describe_line line = {.number = ++number, .text = mem_strndup(text, length)};
		code = cut_line(describe, &line);
		vec_push(&describe->lines, line);
		text += length + (text[length] == '\n');
	}
	return code;
}

int describe_parse(const char *text, const char *name, const struct sizes *sizes, struct graph *graph, struct err *err)
{
	struct graph made;
	struct describe describe = {.name = name, .asked = sizes, .last = GRAPH_NONE};
	describe.build = (struct build){.graph = &made, .err = err};
	describe.sizes.value[DIM_BATCH] = sizes->value[DIM_BATCH] ? sizes->value[DIM_BATCH] : 1;
	graph_init(&made, "model");
	made.batch = describe.sizes.value[DIM_BATCH];
	int code = cut_lines(&describe, text);
	if (!code)
		code = run_lines(&describe, 0, describe.lines.len, 0);
	if (!code)
		code = check_asked(&describe, err);
	if (!code && !made.ops.len)
		code = err_set(err, ERR_INPUT, "%s: it describes no operator", name);
	if (!code)
		code = build_finish(&describe.build, describe.has_output ? GRAPH_NONE : describe.last);
	made.sequence = describe.sizes.value[DIM_SEQ];
	made.sizes = sizes_text(&describe.sizes);
	for (size_t i = 0; i < describe.lines.len; i++)
		line_fini(&describe.lines.items[i]);
	for (size_t i = 0; i < describe.texts.len; i++)
		free(describe.texts.items[i]);
	vec_fini(&describe.lines);
	vec_fini(&describe.texts);
	names_fini(&describe.values);
	build_fini(&describe.build);
	if (code)
		graph_fini(&made);
	else
		*graph = made;
	return code;
}

int describe_load(const char *path, const struct sizes *sizes, struct graph *graph, struct err *err)
{
	char *text;
	size_t size;
	int code = file_read(path, TEXT_MOST, &text, &size, err);
	if (code)
		return code;
	if (strlen(text) != size)
		code = err_set(err, ERR_INPUT, "'%s' is no text (an ONNX file ends in .onnx)", path);
	else
		code = describe_parse(text, path, sizes, graph, err);
	free(text);
	if (code)
		return code;
	const char *base = file_base_name(path), *dot = strrchr(base, '.');
	free(graph->name);
	graph->name = mem_strndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
	return 0;
}
