/* expr_memo.c - see expr_memo.h. */
#include "table/expr_memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MEMO_TRIAL = 4096,     /* rows before a column is judged */
	MEMO_PART = 16,        /* of a memory limit: one in so many bytes */
	MEMO_VALUE_BYTES = 192 /* that a text takes with its results, about */
};

struct memo_column {
	size_t cell; /* input column */
	bool on;
	bool ending; /* its texts hardly repeat, or there was no memory for them */
	bool coded;  /* `codes` are those of these rows */
	struct dictionary texts;
	uint32_t *codes;
	size_t room;
	uint64_t rows;
};

/* Results by code of the column's text, for the first `known` of them. */
struct memo_node {
	struct memo_column *column;
	size_t known, room;
	double *numbers;
	bool *unparsed; /* a text that is there, but no number or date */
	bool any_unparsed;
	uint32_t *results;        /* of a text: code in `values`, or COLUMN_MISSING */
	struct dictionary values; /* the resulting texts */
	uint32_t *row_codes;      /* of these rows, in `values` */
	size_t row_room;
};

struct expr_memo {
	const struct expr_set *set;
	struct memory *memory;
	struct memo_column *columns;
	size_t column_count;
	struct memo_node **nodes; /* by node; NULL: not remembered */
	struct expr_run fresh;    /* computes the results of new texts */
	const struct span **cells;
	struct span *texts; /* the new texts */
	size_t text_room;
};

/* Whether a column has anything to remember: a lone number is parsed faster than it is looked up. */
static bool memo_is_worth(const struct expr_set *set, const struct expr_node *node)
{
	if (node->cell >= EXPR_NO_CELL || (node->op != EXPR_CALL && node->op != EXPR_FILL))
		return false;
	return node->op == EXPR_FILL || strcmp(node->function->name, "number") != 0 ||
	       set->nodes.items[node->args[0]].op != EXPR_CELL;
}

static void memo_add_columns(struct expr_memo *memo, const bool *remembered, size_t input_columns, size_t memos)
{
	const struct memory *memory = memo->memory;
	size_t cap = EXPR_MEMO_CAP;
	if (memory && memory->budget) {
		size_t share = memory->budget / MEMO_PART / (memos * memo->column_count) / MEMO_VALUE_BYTES;
		cap = share < cap ? share : cap;
	}
	size_t *places = mem_alloc(input_columns * sizeof(*places));
	for (size_t cell = 0, at = 0; cell < input_columns; cell++) {
		if (!remembered[cell])
			continue;
		places[cell] = at;
		memo->columns[at] = (struct memo_column){.cell = cell, .on = true};
		dictionary_init(&memo->columns[at++].texts, memo->memory, cap);
	}
	for (size_t i = 0; i < memo->set->nodes.len; i++) {
		const struct expr_node *node = &memo->set->nodes.items[i];
		if (node->op == EXPR_CELL || node->cell >= EXPR_NO_CELL || !remembered[node->cell])
			continue;
		memo->nodes[i] = mem_alloc(sizeof(struct memo_node));
		memo->nodes[i]->column = &memo->columns[places[node->cell]];
		dictionary_init(&memo->nodes[i]->values, memo->memory, cap);
	}
	free(places);
}

struct expr_memo *expr_memo_new(const struct expr_set *set, size_t input_columns, struct memory *memory, size_t memos)
{
	bool *remembered = mem_alloc(input_columns + 1);
	struct expr_memo *memo = NULL;
	size_t count = 0;
	for (size_t i = 0; i < set->nodes.len; i++)
		if (memo_is_worth(set, &set->nodes.items[i])) {
			count += !remembered[set->nodes.items[i].cell];
			remembered[set->nodes.items[i].cell] = true;
		}
	if (count) {
		memo = mem_alloc(sizeof(*memo));
		*memo = (struct expr_memo){.set = set, .memory = memory, .column_count = count};
		memo->columns = mem_alloc(count * sizeof(*memo->columns));
		memo->nodes = mem_alloc(set->nodes.len * sizeof(*memo->nodes));
		memo->cells = mem_alloc(input_columns * sizeof(*memo->cells));
		memo_add_columns(memo, remembered, input_columns, memos);
		expr_run_init(&memo->fresh, set, memory);
		memo->fresh.cells = memo->cells;
	}
	free(remembered);
	return memo;
}

static void memo_give_node(struct expr_memo *memo, struct memo_node *node)
{
	memory_give(memo->memory, node->numbers, node->room * sizeof(*node->numbers));
	memory_give(memo->memory, node->unparsed, node->numbers ? node->room * sizeof(*node->unparsed) : 0);
	memory_give(memo->memory, node->results, node->room * sizeof(*node->results));
	memory_give(memo->memory, node->row_codes, node->row_room * sizeof(*node->row_codes));
	dictionary_fini(&node->values);
	*node = (struct memo_node){.column = node->column, .values = node->values};
}

static void memo_let_go(struct expr_memo *memo, struct memo_column *column)
{
	for (size_t i = 0; i < memo->set->nodes.len; i++)
		if (memo->nodes[i] && memo->nodes[i]->column == column)
			memo_give_node(memo, memo->nodes[i]);
	memory_give(memo->memory, column->codes, column->room * sizeof(*column->codes));
	dictionary_fini(&column->texts);
	*column = (struct memo_column){.cell = column->cell, .texts = column->texts};
}

void expr_memo_free(struct expr_memo *memo)
{
	if (!memo)
		return;
	for (size_t i = 0; i < memo->column_count; i++)
		if (memo->columns[i].on)
			memo_let_go(memo, &memo->columns[i]);
	for (size_t i = 0; i < memo->set->nodes.len; i++)
		free(memo->nodes[i]);
	memory_give(memo->memory, memo->texts, memo->text_room * sizeof(*memo->texts));
	expr_run_fini(&memo->fresh);
	free(memo->columns);
	free(memo->nodes);
	free(memo->cells);
	free(memo);
}

void expr_memo_begin(struct expr_memo *memo)
{
	for (size_t i = 0; i < memo->column_count; i++) {
		memo->columns[i].coded = false;
		if (memo->columns[i].ending)
			memo_let_go(memo, &memo->columns[i]);
	}
}

/* Room for `want` items, not keeping what was there; false where the account refuses it. */
static bool memo_reserve(struct expr_memo *memo, void **buffer, size_t *room, size_t want, size_t item)
{
	if (want <= *room)
		return true;
	memory_give(memo->memory, *buffer, *room * item);
	size_t grown = want + want / 4;
	*buffer = memory_take(memo->memory, grown * item);
	*room = *buffer ? grown : 0;
	return *buffer != NULL;
}

/* The codes of these rows' cells; false where the column is not remembered (any more). */
static bool memo_code(struct expr_memo *memo, const struct expr_run *run, struct memo_column *column)
{
	size_t before = column->texts.count, rows = run->rows;
	if (!column->on || column->coded)
		return column->on;
	bool got = memo_reserve(memo, (void **)&column->codes, &column->room, rows, sizeof(uint32_t));
	if (got)
		dictionary_intern_cells(&column->texts, run->cells[column->cell], rows, column->codes);
	if (!got || column->texts.refused) {
		memo_let_go(memo, column);
		return false;
	}
	column->coded = true;
	column->rows += rows;
	column->ending = column->rows >= MEMO_TRIAL && (column->texts.count - before) * 8 > rows * 7;
	return true;
}

/* Keeps the results of `known` codes. */
static bool memo_grow_node(struct expr_memo *memo, struct memo_node *node, bool text, size_t want)
{
	if (want <= node->room)
		return true;
	size_t room = want + want / 2, item = text ? sizeof(uint32_t) : sizeof(double);
	void *results = memory_take(memo->memory, room * item);
	bool *unparsed = text ? NULL : memory_take(memo->memory, room * sizeof(bool));
	if (!results || (!text && !unparsed)) {
		memory_give(memo->memory, results, room * item);
		return false;
	}
	void *old = text ? (void *)node->results : (void *)node->numbers;
	if (node->known)
		memcpy(results, old, node->known * item);
	if (node->known && !text)
		memcpy(unparsed, node->unparsed, node->known * sizeof(bool));
	memory_give(memo->memory, old, node->room * item);
	memory_give(memo->memory, node->unparsed, node->room * sizeof(bool));
	node->results = text ? results : NULL;
	node->numbers = text ? NULL : results;
	node->unparsed = unparsed;
	node->room = room;
	return true;
}

static bool memo_keep(struct expr_memo *memo, uint32_t number, size_t count)
{
	const struct expr_node *from = &memo->set->nodes.items[number];
	const struct expr_value *value = &memo->fresh.values[number];
	struct memo_node *node = memo->nodes[number];
	bool text = from->type == COLUMN_TEXT;
	if (!memo_grow_node(memo, node, text, node->known + count))
		return false;
	if (text)
		dictionary_intern_rows(&node->values, value->texts, count, node->results + node->known);
	else
		memcpy(node->numbers + node->known, value->numbers, count * sizeof(double));
	if (!text && value->unparsed) { /* the kernels that count these take texts, and make of them what is missing */
		const struct span *texts = memo->fresh.values[from->args[0]].texts;
		node->any_unparsed = true;
		for (size_t i = 0; i < count; i++)
			node->unparsed[node->known + i] = texts[i].length && isnan(value->numbers[i]);
	}
	node->known += count;
	return !node->values.refused;
}

/* Computes the node for the texts that came since it was asked for the last time. */
static bool memo_extend(struct expr_memo *memo, const struct expr_run *run, uint32_t number)
{
	struct memo_node *node = memo->nodes[number];
	const struct dictionary *texts = &node->column->texts;
	size_t count = texts->count - node->known;
	if (!count)
		return true;
	if (!memo_reserve(memo, (void **)&memo->texts, &memo->text_room, count, sizeof(struct span)))
		return false;
	for (size_t i = 0; i < count; i++)
		memo->texts[i] = dictionary_text(texts, (uint32_t)(node->known + i));
	memo->cells[node->column->cell] = memo->texts;
	memo->fresh.missing = run->missing;
	memo->fresh.missing_count = run->missing_count;
	expr_run_begin(&memo->fresh, count);
	return expr_eval(&memo->fresh, number, NULL) == 0 && memo_keep(memo, number, count);
}

static bool memo_hand_out_texts(struct expr_memo *memo, struct memo_node *node, const uint32_t *codes, size_t rows,
				struct expr_value *value)
{
	if (!memo_reserve(memo, (void **)&node->row_codes, &node->row_room, rows, sizeof(uint32_t)))
		return false;
	for (size_t row = 0; row < rows; row++)
		node->row_codes[row] = node->results[codes[row]];
	value->texts = NULL;
	value->codes = node->row_codes;
	value->values = &node->values;
	return true;
}

static bool memo_hand_out_numbers(const struct memo_node *node, const uint32_t *codes, struct expr_run *run,
				  struct expr_value *value)
{
	struct err unheard = {0};
	double *out = expr_own_numbers(run, value, &unheard);
	if (!out)
		return false;
	for (size_t row = 0; row < run->rows; row++)
		out[row] = node->numbers[codes[row]];
	value->unparsed = 0;
	for (size_t row = 0; node->any_unparsed && row < run->rows; row++)
		value->unparsed += node->unparsed[codes[row]];
	return true;
}

bool expr_memo_eval(struct expr_memo *memo, struct expr_run *run, uint32_t number)
{
	struct memo_node *node = memo->nodes[number];
	struct expr_value *value = &run->values[number];
	if (!node || !memo_code(memo, run, node->column))
		return false;
	const uint32_t *codes = node->column->codes;
	value->ready = memo_extend(memo, run, number);
	if (value->ready)
		value->ready = memo->set->nodes.items[number].type == COLUMN_TEXT
				       ? memo_hand_out_texts(memo, node, codes, run->rows, value)
				       : memo_hand_out_numbers(node, codes, run, value);
	if (!value->ready) /* others of its nodes are in use until these rows are done */
		node->column->ending = true;
	return value->ready;
}
