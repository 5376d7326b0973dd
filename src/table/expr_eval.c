/* expr_eval.c - see expr_eval.h: the run, its buffers, and the order of computing. */
#include "table/expr_eval.h"

#include "table/dictionary.h"
#include "table/expr_memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPR_ARENA_PART = 32 << 10 };

void expr_run_init(struct expr_run *run, const struct expr_set *set, struct memory *memory)
{
	*run = (struct expr_run){.set = set, .memory = memory};
	run->values = mem_alloc((set->nodes.len + 1) * sizeof(struct expr_value));
	run->states = mem_alloc((set->nodes.len + 1) * sizeof(struct expr_state *));
}

static void expr_state_free(struct expr_run *run, struct expr_state *state)
{
	if (!state)
		return;
	memory_give(run->memory, state->carry, state->carry_room * sizeof(double));
	memory_give(run->memory, state->joined, state->joined_room * sizeof(double));
	memory_give(run->memory, state->groups, state->group_count * sizeof(struct moments));
	free(state);
}

static void expr_arena_free(struct expr_run *run, struct expr_arena_part *part)
{
	while (part) {
		struct expr_arena_part *next = part->next;
		memory_give(run->memory, part, sizeof(*part) + part->size);
		part = next;
	}
}

void expr_run_fini(struct expr_run *run)
{
	for (size_t i = 0; run->values && i < run->set->nodes.len; i++) {
		struct expr_value *value = &run->values[i];
		memory_give(run->memory, value->own_numbers, value->number_room * sizeof(double));
		memory_give(run->memory, value->own_texts, value->text_room * sizeof(struct span));
		expr_state_free(run, run->states[i]);
	}
	expr_arena_free(run, run->arena);
	free(run->values);
	free(run->states);
	*run = (struct expr_run){0};
}

void expr_run_begin(struct expr_run *run, size_t rows)
{
	run->rows = rows;
	if (run->memo)
		expr_memo_begin(run->memo);
	for (size_t i = 0; i < run->set->nodes.len; i++)
		run->values[i].ready = false;
	if (run->arena) { /* the newest part is the largest; it is kept */
		expr_arena_free(run, run->arena->next);
		run->arena->next = NULL;
		run->arena->used = 0;
	}
}

void expr_bind_numbers(struct expr_run *run, uint32_t node, const double *numbers)
{
	struct expr_value *value = &run->values[node];
	value->numbers = (double *)(uintptr_t)numbers; /* never written through: kernels write to what a value owns */
	value->ready = true;
}

void expr_bind_codes(struct expr_run *run, uint32_t node, const uint32_t *codes, const struct dictionary *values)
{
	struct expr_value *value = &run->values[node];
	value->codes = codes;
	value->values = values;
	value->texts = NULL;
	value->ready = true;
}

int expr_no_memory(size_t bytes, struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE, "%zu bytes more would exceed the memory limit; choose smaller chunks",
		       bytes);
}

double *expr_own_numbers(struct expr_run *run, struct expr_value *value, struct err *err)
{
	if (value->number_room < run->rows || !value->own_numbers) {
		size_t room = run->rows + 1;
		memory_give(run->memory, value->own_numbers, value->number_room * sizeof(double));
		value->own_numbers = memory_take(run->memory, room * sizeof(double));
		value->number_room = value->own_numbers ? room : 0;
		if (!value->own_numbers)
			expr_no_memory(room * sizeof(double), err);
	}
	value->numbers = value->own_numbers;
	return value->own_numbers;
}

struct span *expr_own_texts(struct expr_run *run, struct expr_value *value, struct err *err)
{
	if (value->text_room < run->rows || !value->own_texts) {
		size_t room = run->rows + 1;
		memory_give(run->memory, value->own_texts, value->text_room * sizeof(struct span));
		value->own_texts = memory_take(run->memory, room * sizeof(struct span));
		value->text_room = value->own_texts ? room : 0;
		if (!value->own_texts)
			expr_no_memory(room * sizeof(struct span), err);
	}
	value->texts = value->own_texts;
	return value->own_texts;
}

char *expr_arena_take(struct expr_run *run, size_t bytes, struct err *err)
{
	struct expr_arena_part *part = run->arena;
	if (!part || part->size - part->used < bytes) {
		size_t size = part ? part->size * 2 : EXPR_ARENA_PART;
		size = size < bytes ? bytes : size;
		part = memory_take(run->memory, sizeof(*part) + size);
		if (!part) {
			expr_no_memory(size, err);
			return NULL;
		}
		part->size = size;
		part->next = run->arena;
		run->arena = part;
	}
	part->used += bytes;
	return part->bytes + part->used - bytes;
}

struct expr_state *expr_state_of(struct expr_run *run, const struct expr_node *node)
{
	struct expr_state **state = &run->states[node - run->set->nodes.items];
	if (!*state)
		*state = mem_alloc(sizeof(**state));
	return *state;
}

static int expr_eval_constant(struct expr_run *run, const struct expr_node *node, struct expr_value *value,
			      struct err *err)
{
	if (node->op == EXPR_NUMBER) {
		double *out = expr_own_numbers(run, value, err);
		for (size_t i = 0; out && i < run->rows; i++)
			out[i] = node->number;
		return out ? 0 : ERR_UNAVAILABLE;
	}
	struct span *out = expr_own_texts(run, value, err), text = {node->text, (uint32_t)strlen(node->text)};
	for (size_t i = 0; out && i < run->rows; i++)
		out[i] = text;
	return out ? 0 : ERR_UNAVAILABLE;
}

/* The cells as they are in the block, unless some of them are words for "missing". */
static int expr_eval_cells(struct expr_run *run, const struct expr_node *node, struct expr_value *value,
			   struct err *err)
{
	const struct span *cells = run->cells[node->leaf];
	value->texts = (struct span *)(uintptr_t)cells;
	if (!run->missing_count)
		return 0;
	struct span *out = expr_own_texts(run, value, err);
	for (size_t i = 0; out && i < run->rows; i++) {
		out[i] = cells[i];
		for (size_t word = 0; word < run->missing_count; word++)
			if (strlen(run->missing[word]) == cells[i].length &&
			    memcmp(run->missing[word], cells[i].text, cells[i].length) == 0)
				out[i].length = 0;
	}
	return out ? 0 : ERR_UNAVAILABLE;
}

/* Where nothing is missing, the filled column is the column. */
static int expr_eval_fill(struct expr_run *run, const struct expr_node *node, struct expr_value *value, struct err *err)
{
	const struct expr_value *from = &run->values[node->args[0]];
	size_t first = 0;
	if (node->op == EXPR_ZERO) {
		double *out = expr_own_numbers(run, value, err);
		for (size_t i = 0; out && i < run->rows; i++)
			out[i] = isnan(from->numbers[i]) ? 0 : from->numbers[i];
		return out ? 0 : ERR_UNAVAILABLE;
	}
	while (first < run->rows && from->texts[first].length)
		first++;
	if (first == run->rows) {
		value->texts = from->texts;
		return 0;
	}
	struct span *out = expr_own_texts(run, value, err), text = {node->text, (uint32_t)strlen(node->text)};
	for (size_t i = 0; out && i < run->rows; i++)
		out[i] = from->texts[i].length ? from->texts[i] : text;
	return out ? 0 : ERR_UNAVAILABLE;
}

/* Texts of a bound column, for a kernel that reads them. */
static int expr_look_up(struct expr_run *run, struct expr_value *value, struct err *err)
{
	struct span *out = expr_own_texts(run, value, err);
	for (size_t i = 0; out && i < run->rows; i++)
		out[i] = dictionary_text(value->values, value->codes[i]);
	return out ? 0 : ERR_UNAVAILABLE;
}

static int expr_eval_call(struct expr_run *run, const struct expr_node *node, struct expr_value *value, struct err *err)
{
	struct expr_call call = {.run = run, .node = node, .out = value, .err = err};
	for (unsigned i = 0; i < node->count; i++) {
		call.args[i] = &run->values[node->args[i]];
		call.arg_nodes[i] = &run->set->nodes.items[node->args[i]];
	}
	bool room = node->type == COLUMN_TEXT ? expr_own_texts(run, value, err) != NULL
					      : expr_own_numbers(run, value, err) != NULL;
	return room ? node->function->kernel(&call) : ERR_UNAVAILABLE;
}

bool expr_is_inline(const struct expr_node *node, unsigned argument)
{
	return node->op == EXPR_CALL && strchr("NTW", node->function->arguments[argument]);
}

int expr_eval(struct expr_run *run, uint32_t number, struct err *err)
{
	const struct expr_node *node = &run->set->nodes.items[number];
	struct expr_value *value = &run->values[number];
	int code = 0;
	if (value->ready || (run->memo && expr_memo_eval(run->memo, run, number)))
		return 0;
	for (unsigned i = 0; i < node->count && !code; i++) {
		if (expr_is_inline(node, i))
			continue;
		struct expr_value *arg = &run->values[node->args[i]];
		code = expr_eval(run, node->args[i], err);
		bool key = node->op == EXPR_CALL && node->function->arguments[i] == 'k';
		if (!code && run->set->nodes.items[node->args[i]].type == COLUMN_TEXT && !arg->texts && !key)
			code = expr_look_up(run, arg, err);
	}
	if (code)
		return code;
	value->unparsed = 0;
	value->codes = NULL;
	switch (node->op) {
	case EXPR_CELL:
		code = expr_eval_cells(run, node, value, err);
		break;
	case EXPR_SERIES:
		return err_set(err, ERR_INTERNAL, "a column was used before it was there");
	case EXPR_NUMBER:
	case EXPR_TEXT:
		code = expr_eval_constant(run, node, value, err);
		break;
	case EXPR_FILL:
	case EXPR_ZERO:
		code = expr_eval_fill(run, node, value, err);
		break;
	case EXPR_CALL:
		code = expr_eval_call(run, node, value, err);
		break;
	}
	value->ready = !code;
	return code;
}
