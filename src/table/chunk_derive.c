/*
 * chunk_derive.c - see chunk.h: sorting a chunk, and its columns that are computed in order.
 *
 * Sorting is stable, and what is missing comes last. Keys that are few whole numbers, such as years, are counted instead of compared.
 */
#include "table/chunk.h"

#include <math.h>
#include <string.h>

enum { CHUNK_MOST_KEYS = 4096 };

static bool chunk_after(double a, double b)
{
	return a > b || (isnan(a) && !isnan(b));
}

static bool chunk_is_sorted(const double *keys, size_t rows)
{
	for (size_t row = 1; row < rows; row++)
		if (chunk_after(keys[row - 1], keys[row]))
			return false;
	return true;
}

/* False where the keys are not few whole numbers. */
static bool chunk_order_by_counting(const double *keys, size_t rows, uint32_t *order)
{
	uint32_t starts[CHUNK_MOST_KEYS + 1] = {0};
	double least = keys[0], most = keys[0];
	bool whole = true;
	for (size_t row = 0; row < rows; row++) {
		least = keys[row] < least ? keys[row] : least;
		most = keys[row] > most ? keys[row] : most;
		whole &= keys[row] == floor(keys[row]); /* not where it is missing */
	}
	if (!whole || !(most - least < CHUNK_MOST_KEYS))
		return false;
	for (size_t row = 0; row < rows; row++)
		starts[(size_t)(keys[row] - least) + 1]++;
	for (size_t i = 0; i < CHUNK_MOST_KEYS; i++)
		starts[i + 1] += starts[i];
	for (size_t row = 0; row < rows; row++)
		order[starts[(size_t)(keys[row] - least)]++] = (uint32_t)row;
	return true;
}

static void chunk_order_by_merging(const double *keys, size_t rows, uint32_t *order, uint32_t *other)
{
	uint32_t *from = order, *to = other;
	for (size_t row = 0; row < rows; row++)
		from[row] = (uint32_t)row;
	for (size_t width = 1; width < rows; width *= 2) {
		for (size_t begin = 0; begin < rows; begin += 2 * width) {
			size_t middle = begin + width < rows ? begin + width : rows;
			size_t end = middle + width < rows ? middle + width : rows;
			size_t a = begin, b = middle;
			for (size_t out = begin; out < end; out++) {
				bool left = a < middle && (b >= end || !chunk_after(keys[from[a]], keys[from[b]]));
				to[out] = left ? from[a++] : from[b++];
			}
		}
		uint32_t *keep = from;
		from = to;
		to = keep;
	}
	if (from != order)
		memcpy(order, from, rows * sizeof(*order));
}

static void chunk_permute(struct chunk *chunk)
{
	const uint32_t *order = chunk->order;
	for (size_t i = 0; i < chunk->plan->slots.len; i++) {
		if (chunk->plan->slots.items[i].text) {
			if (chunk->given_up[i])
				continue;
			uint32_t *from = chunk->codes[i];
			for (size_t row = 0; row < chunk->rows; row++)
				chunk->code_scratch[row] = from[order[row]];
			chunk->codes[i] = chunk->code_scratch;
			chunk->code_scratch = from;
		} else {
			double *from = chunk->numbers[i];
			for (size_t row = 0; row < chunk->rows; row++)
				chunk->scratch[row] = from[order[row]];
			chunk->numbers[i] = chunk->scratch;
			chunk->scratch = from;
		}
	}
}

static void chunk_bind(struct chunk *chunk)
{
	expr_run_begin(&chunk->run, chunk->rows);
	for (size_t i = 0; i < chunk->plan->slots.len; i++) {
		const struct plan_slot *slot = &chunk->plan->slots.items[i];
		if (slot->text)
			expr_bind_codes(&chunk->run, slot->node, chunk->codes[i], &chunk->values[i]);
		else
			expr_bind_numbers(&chunk->run, slot->series != EXPR_NONE ? slot->series : slot->node,
					  chunk->numbers[i]);
	}
}

static int chunk_sort(struct chunk *chunk, struct err *err)
{
	if (chunk->plan->sort == EXPR_NONE || !chunk->rows)
		return 0;
	int code = expr_eval(&chunk->run, chunk->plan->sort, err);
	if (code)
		return code;
	const double *keys = chunk->run.values[chunk->plan->sort].numbers;
	if (chunk_is_sorted(keys, chunk->rows))
		return 0;
	if (!chunk_order_by_counting(keys, chunk->rows, chunk->order))
		chunk_order_by_merging(keys, chunk->rows, chunk->order, chunk->code_scratch);
	chunk_permute(chunk);
	chunk_bind(chunk);
	return 0;
}

/* A number that is too large for a double is missing: one of them would spoil every mean it goes into. */
static void chunk_drop_infinite(double *numbers, size_t rows)
{
	for (size_t row = 0; row < rows; row++)
		numbers[row] = isinf(numbers[row]) ? (double)NAN : numbers[row];
}

int chunk_derive(struct chunk *chunk, struct err *err)
{
	chunk_bind(chunk);
	int code = chunk_sort(chunk, err);
	chunk->frame.rows = chunk->rows;
	for (size_t i = 0; i < chunk->plan->columns.len && !code; i++) {
		const struct plan_column *from = &chunk->plan->columns.items[i];
		struct column *column = &chunk->frame.columns[i];
		if (from->slot == PLAN_NONE) {
			code = expr_eval(&chunk->run, from->node, err);
			column->numbers = chunk->run.values[from->node].numbers;
			if (!code)
				chunk_drop_infinite(column->numbers, chunk->rows);
			continue;
		}
		column->missing = chunk->missing[from->slot];
		column->unparsed = chunk->unparsed[from->slot];
		if (from->kind == COLUMN_TEXT) {
			column->codes = chunk->given_up[from->slot] ? NULL : chunk->codes[from->slot];
			column->values = &chunk->values[from->slot];
		} else {
			column->numbers = chunk->numbers[from->slot];
			if (from->derived)
				chunk_drop_infinite(column->numbers, chunk->rows);
		}
	}
	return code;
}
