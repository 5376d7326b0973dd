/* expr.c - see expr.h: the nodes, and the reader of expressions (recursive descent over the text, one function per strength). */
#include "table/expr.h"

#include "base/str.h"
#include "table/expr_eval.h"
#include "table/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void expr_set_fini(struct expr_set *set)
{
	for (size_t i = 0; i < set->nodes.len; i++)
		free(set->nodes.items[i].text);
	vec_fini(&set->nodes);
	map_fini(&set->index);
}

static uint64_t expr_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
	return hash;
}

static uint64_t expr_hash(const struct expr_node *node)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ (uint64_t)node->op ^ (uint64_t)node->type << 8;
	hash = expr_hash_bytes(hash, &node->function, sizeof(node->function));
	hash = expr_hash_bytes(hash, &node->number, sizeof(node->number));
	hash = expr_hash_bytes(hash, &node->leaf, sizeof(node->leaf));
	hash = expr_hash_bytes(hash, node->args, node->count * sizeof(uint32_t));
	return node->text ? expr_hash_bytes(hash, node->text, strlen(node->text)) : hash;
}

static bool expr_same(const struct expr_node *a, const struct expr_node *b)
{
	if (a->op != b->op || a->function != b->function || a->count != b->count || a->leaf != b->leaf ||
	    a->type != b->type || memcmp(&a->number, &b->number, sizeof(double)) != 0)
		return false;
	if ((a->text == NULL) != (b->text == NULL) || (a->text && strcmp(a->text, b->text) != 0))
		return false;
	return memcmp(a->args, b->args, a->count * sizeof(uint32_t)) == 0;
}

/* The cell that a node is a function of, with nothing else but constants: then so many texts have so many results, whatever the row. */
static size_t expr_cell_of(const struct expr_set *set, const struct expr_node *node)
{
	size_t cell = EXPR_CONSTANT;
	if (node->op == EXPR_CELL)
		return node->leaf;
	if (node->op == EXPR_SERIES || node->ordered || node->windowed)
		return EXPR_NO_CELL;
	for (unsigned i = 0; i < node->count; i++) {
		size_t other = set->nodes.items[node->args[i]].cell;
		if (other != EXPR_CONSTANT && cell != EXPR_CONSTANT && cell != other)
			return EXPR_NO_CELL;
		cell = other == EXPR_CONSTANT ? cell : other;
	}
	return cell;
}

uint32_t expr_add(struct expr_set *set, const struct expr_node *node)
{
	uint64_t key = expr_hash(node);
	void *known = map_get(&set->index, key);
	if (known && expr_same(&set->nodes.items[(uintptr_t)known - 1], node))
		return (uint32_t)((uintptr_t)known - 1);
	struct expr_node added = *node;
	added.text = mem_strdup(node->text);
	for (unsigned i = 0; i < node->count; i++) {
		const struct expr_node *arg = &set->nodes.items[node->args[i]];
		added.ordered |= arg->ordered;
		added.windowed |= arg->windowed;
		added.from_target |= arg->from_target;
	}
	if (node->function) {
		added.ordered |= node->function->ordered;
		added.windowed |= node->function->windowed;
		if (node->function->forgets_target)
			added.from_target = false;
	}
	added.cell = expr_cell_of(set, &added);
	vec_push(&set->nodes, added);
	map_put(&set->index, key, (void *)(uintptr_t)set->nodes.len);
	return (uint32_t)(set->nodes.len - 1);
}

const struct expr_function *expr_function_find(const char *name)
{
	const struct expr_function *tables[] = {expr_number_functions, expr_text_functions, expr_window_functions};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct expr_function *function = tables[i]; function->name; function++)
			if (strcmp(function->name, name) == 0)
				return function;
	return NULL;
}

static int expr_check_argument(const struct expr_function *function, const struct expr_node *node, char wanted,
			       unsigned number, struct err *err)
{
	static const struct {
		char letter;
		const char *words;
	} kinds[] = {
		{'n', "a number"},          {'t', "a text"},           {'d', "a date"},          {'k', "a text column"},
		{'N', "a number as it is"}, {'T', "a text in quotes"}, {'W', "a number of rows"}};
	bool fits = true;
	switch (wanted) {
	case 'n':
		fits = node->type == COLUMN_NUMBER;
		break;
	case 'd':
		fits = node->type == COLUMN_DATE;
		break;
	case 't':
		fits = node->type == COLUMN_TEXT;
		break;
	case 'k':
		fits = node->type == COLUMN_TEXT && node->op != EXPR_TEXT && !node->ordered;
		break;
	case 'N':
		fits = node->op == EXPR_NUMBER;
		break;
	case 'T':
		fits = node->op == EXPR_TEXT;
		break;
	case 'W':
		fits = node->op == EXPR_NUMBER && node->number >= 1 && node->number <= EXPR_MOST_WINDOW &&
		       node->number == (double)(long)node->number;
		break;
	default:
		break;
	}
	if (fits)
		return 0;
	const char *words = "";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].letter == wanted)
			words = kinds[i].words;
	return err_set(err, ERR_INPUT, "%s: argument %u must be %s, not a %s", function->shape, number, words,
		       column_kind_name(node->type));
}

/* Dates may be subtracted, and moved by a number of days. */
static bool expr_date_arithmetic(const struct expr_function *function, const struct expr_node *a,
				 const struct expr_node *b, enum column_kind *type)
{
	bool plus = strcmp(function->name, "+") == 0, minus = strcmp(function->name, "-") == 0;
	if ((!plus && !minus) || a->type != COLUMN_DATE)
		return false;
	if (minus && b->type == COLUMN_DATE)
		*type = COLUMN_NUMBER;
	else if (b->type == COLUMN_NUMBER)
		*type = COLUMN_DATE;
	else
		return false;
	return true;
}

static int expr_check_call(struct expr_set *set, const struct expr_function *function, const uint32_t *args,
			   unsigned count, enum column_kind *type, struct err *err)
{
	const struct expr_node *nodes = set->nodes.items, *any = NULL;
	if (count != strlen(function->arguments))
		return err_set(err, ERR_INPUT, "%s takes %zu argument%s, not %u", function->shape,
			       strlen(function->arguments), strlen(function->arguments) == 1 ? "" : "s", count);
	*type = function->result == 't' ? COLUMN_TEXT : function->result == 'd' ? COLUMN_DATE : COLUMN_NUMBER;
	if (count == 2 && expr_date_arithmetic(function, &nodes[args[0]], &nodes[args[1]], type))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		const struct expr_node *node = &nodes[args[i]];
		int code = expr_check_argument(function, node, function->arguments[i], i + 1, err);
		if (code)
			return code;
		if (function->arguments[i] != 'a')
			continue;
		if (any && any->type != node->type)
			return err_set(err, ERR_INPUT, "%s: a %s and a %s do not go together", function->shape,
				       column_kind_name(any->type), column_kind_name(node->type));
		any = node;
	}
	if (function->result == 'a' && any)
		*type = any->type;
	return 0;
}

int expr_call(struct expr_set *set, const char *name, const uint32_t *args, unsigned count, uint32_t *out,
	      struct err *err)
{
	struct expr_node node = {.op = EXPR_CALL, .function = expr_function_find(name), .count = count};
	if (!node.function)
		return err_set(err, ERR_INPUT, "there is no function '%s'", name);
	if (set->nodes.len >= EXPR_MOST_NODES + 4 * (size_t)CSV_MOST_COLUMNS)
		return err_set(err, ERR_INPUT, "the expressions are too many (%d parts at most)", EXPR_MOST_NODES);
	int code = expr_check_call(set, node.function, args, count, &node.type, err);
	if (code)
		return code;
	memcpy(node.args, args, count * sizeof(uint32_t));
	*out = expr_add(set, &node);
	return 0;
}

struct expr_reader {
	struct expr_set *set;
	const struct expr_scope *scope;
	const char *text, *at;
	int depth;
	struct err *err;
};

static int expr_read(struct expr_reader *reader, int strength, uint32_t *out);

static int expr_fail(const struct expr_reader *reader, const char *what)
{
	if (!*reader->at)
		return err_set(reader->err, ERR_INPUT, "'%.200s': %s at the end", reader->text, what);
	return err_set(reader->err, ERR_INPUT, "'%.200s': %s at '%.20s'", reader->text, what, reader->at);
}

static void expr_skip_blanks(struct expr_reader *reader)
{
	while (isspace((unsigned char)*reader->at))
		reader->at++;
}

static bool expr_is_word(char byte, bool first)
{
	return isalpha((unsigned char)byte) || byte == '_' || (byte & 0x80) || (!first && isdigit((unsigned char)byte));
}

bool expr_is_name(const char *text)
{
	static const char *const words[] = {"and", "or", "not"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i]) == 0)
			return false;
	for (const char *at = text; *at; at++)
		if (!expr_is_word(*at, at == text))
			return false;
	return *text != 0;
}

static bool expr_take(struct expr_reader *reader, const char *token)
{
	size_t length = strlen(token);
	expr_skip_blanks(reader);
	if (strncmp(reader->at, token, length) != 0)
		return false;
	if (expr_is_word(token[0], true) && expr_is_word(reader->at[length], false))
		return false;
	reader->at += length;
	return true;
}

static int expr_read_text(struct expr_reader *reader, uint32_t *out)
{
	struct str text = {0};
	char quote = *reader->at++;
	while (*reader->at && *reader->at != quote) {
		if (*reader->at == '\\' && reader->at[1])
			reader->at++;
		str_append_char(&text, *reader->at++);
	}
	int code = *reader->at ? 0 : expr_fail(reader, "a text is not closed");
	if (!code) {
		reader->at++;
		*out = expr_add(
			reader->set,
			&(struct expr_node){.op = EXPR_TEXT, .type = COLUMN_TEXT, .text = (char *)str_text(&text)});
	}
	str_fini(&text);
	return code;
}

static int expr_read_number(struct expr_reader *reader, uint32_t *out)
{
	const char *end = reader->at;
	struct expr_node node = {.op = EXPR_NUMBER, .type = COLUMN_NUMBER};
	while (isdigit((unsigned char)*end) || *end == '.' || ((*end | 0x20) == 'e' && end > reader->at) ||
	       ((*end == '-' || *end == '+') && end > reader->at && (end[-1] | 0x20) == 'e'))
		end++;
	if (!number_parse(reader->at, (size_t)(end - reader->at), &node.number))
		return expr_fail(reader, "no number");
	reader->at = end;
	*out = expr_add(reader->set, &node);
	return 0;
}

static int expr_find_name(struct expr_reader *reader, const char *name, uint32_t *out)
{
	*out = reader->scope->find(reader->scope->context, name);
	if (*out != EXPR_NONE)
		return 0;
	const char *meant = str_suggest(name, reader->scope->names, reader->scope->name_count);
	return err_set(reader->err, ERR_INPUT, "'%.200s': there is no column '%s'%s%s%s", reader->text, name,
		       meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static int expr_read_arguments(struct expr_reader *reader, const char *name, uint32_t *out)
{
	uint32_t args[EXPR_MOST_ARGUMENTS];
	unsigned count = 0;
	while (!expr_take(reader, ")")) {
		if (count && !expr_take(reader, ","))
			return expr_fail(reader, "',' or ')' is missing");
		if (count == EXPR_MOST_ARGUMENTS)
			return expr_fail(reader, "too many arguments");
		int code = expr_read(reader, 0, &args[count++]);
		if (code)
			return code;
	}
	int code = expr_call(reader->set, name, args, count, out, reader->err);
	return code ? err_prefix(reader->err, "'%.200s'", reader->text) : 0;
}

static int expr_read_name(struct expr_reader *reader, uint32_t *out)
{
	bool ticks = *reader->at == '`';
	const char *begin = reader->at + ticks, *end = begin;
	while (*end && (ticks ? *end != '`' : expr_is_word(*end, false)))
		end++;
	if (ticks && !*end)
		return expr_fail(reader, "a name is not closed");
	char *name = mem_strndup(begin, (size_t)(end - begin));
	int code;
	reader->at = end + ticks;
	if (!ticks && expr_take(reader, "("))
		code = expr_read_arguments(reader, name, out);
	else
		code = expr_find_name(reader, name, out);
	free(name);
	return code;
}

static int expr_read_part(struct expr_reader *reader, uint32_t *out)
{
	expr_skip_blanks(reader);
	char first = *reader->at;
	if (first == '"' || first == '\'')
		return expr_read_text(reader, out);
	if (isdigit((unsigned char)first) || first == '.')
		return expr_read_number(reader, out);
	if (first == '`' || expr_is_word(first, true))
		return expr_read_name(reader, out);
	if (!expr_take(reader, "("))
		return expr_fail(reader, "something is missing");
	int code = expr_read(reader, 0, out);
	if (!code && !expr_take(reader, ")"))
		return expr_fail(reader, "')' is missing");
	return code;
}

enum { EXPR_STRENGTH_NOT = 3, EXPR_STRENGTH_MINUS = 7, EXPR_STRENGTH_MOST = 9 };

static const struct {
	const char *token;
	int strength;
} expr_operators[] = {{"or", 1}, {"and", 2}, {"==", 4}, {"!=", 4}, {"<=", 4}, {">=", 4}, {"<", 4},
		      {">", 4},  {"+", 5},   {"-", 5},  {"*", 6},  {"/", 6},  {"%", 6},  {"^", 8}};

static int expr_read_before(struct expr_reader *reader, uint32_t *out)
{
	uint32_t args[2];
	bool minus = expr_take(reader, "-");
	if (!minus && !expr_take(reader, "not"))
		return expr_read_part(reader, out);
	int code = expr_read(reader, minus ? EXPR_STRENGTH_MINUS : EXPR_STRENGTH_NOT, &args[1]);
	if (code)
		return code;
	const struct expr_node *node = &reader->set->nodes.items[args[1]];
	if (minus && node->op == EXPR_NUMBER) {
		struct expr_node negative = {.op = EXPR_NUMBER, .type = COLUMN_NUMBER, .number = -node->number};
		*out = expr_add(reader->set, &negative);
		return 0;
	}
	code = expr_call(reader->set, minus ? "negative" : "not", &args[1], 1, out, reader->err);
	return code ? err_prefix(reader->err, "'%.200s'", reader->text) : 0;
}

/* Reads as long as operators are at least as strong as `strength`; stronger ones to the right of one bind first. */
static int expr_read(struct expr_reader *reader, int strength, uint32_t *out)
{
	uint32_t args[2];
	if (++reader->depth > EXPR_MOST_DEPTH)
		return expr_fail(reader, "too deep");
	int code = expr_read_before(reader, &args[0]);
	while (!code) {
		size_t i = 0, count = sizeof(expr_operators) / sizeof(expr_operators[0]);
		const char *before = reader->at;
		while (i < count && !expr_take(reader, expr_operators[i].token))
			i++;
		if (i == count || expr_operators[i].strength < strength) {
			reader->at = before;
			break;
		}
		int next = expr_operators[i].strength;
		code = expr_read(reader, next == 8 ? EXPR_STRENGTH_MINUS : next + 1, &args[1]);
		if (!code && expr_call(reader->set, expr_operators[i].token, args, 2, &args[0], reader->err))
			code = err_prefix(reader->err, "'%.200s'", reader->text);
	}
	*out = args[0];
	reader->depth--;
	return code;
}

int expr_parse(struct expr_set *set, const char *text, const struct expr_scope *scope, uint32_t *out, struct err *err)
{
	struct expr_reader reader = {.set = set, .scope = scope, .text = text, .at = text, .err = err};
	int code = expr_read(&reader, 0, out);
	if (code)
		return code;
	expr_skip_blanks(&reader);
	return *reader.at ? expr_fail(&reader, "something is left over") : 0;
}
