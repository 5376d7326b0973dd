/* encode.c - see encode.h. */
#include "table/encode.h"

#include "table/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int encode_init(struct encode *encode, const struct plan *plan, bool alone, struct memory *memory, struct err *err)
{
	size_t columns = plan->columns.len + 1, most = plan->recipe->most_values;
	*encode = (struct encode){.plan = plan, .memory = memory, .alone = alone};
	encode->numbers = mem_alloc(columns * sizeof(double *));
	encode->codes = mem_alloc(columns * sizeof(uint32_t *));
	encode->moments = mem_alloc(columns * sizeof(struct moments));
	encode->sketches = mem_alloc(columns * sizeof(struct sketch));
	encode->orders = mem_alloc(columns * sizeof(uint32_t *));
	encode->matrix.blocks = mem_alloc(columns * sizeof(struct matrix_block));
	encode->columns = mem_alloc(columns * sizeof(size_t));
	for (size_t i = 0; i < plan->columns.len; i++)
		sketch_init(&encode->sketches[i], plan->columns.len, memory);
	encode->identity = memory_take(memory, most * sizeof(uint32_t));
	for (size_t i = 0; i < most && encode->identity; i++)
		encode->identity[i] = (uint32_t)i;
	if (encode->identity)
		return 0;
	encode_fini(encode);
	return err_set(err, ERR_UNAVAILABLE, "no memory within the limit to encode %zu values", most);
}

static void encode_give_rows(struct encode *encode)
{
	for (size_t i = 0; i < encode->plan->columns.len; i++) {
		memory_give(encode->memory, encode->numbers[i], encode->room * sizeof(double));
		memory_give(encode->memory, encode->codes[i], encode->room * sizeof(uint32_t));
		encode->numbers[i] = NULL;
		encode->codes[i] = NULL;
	}
	memory_give(encode->memory, encode->scratch, encode->room * sizeof(double));
	encode->scratch = NULL;
	encode->room = 0;
}

void encode_fini(struct encode *encode)
{
	if (!encode->plan)
		return;
	encode_give_rows(encode);
	for (size_t i = 0; i < encode->plan->columns.len; i++) {
		sketch_fini(&encode->sketches[i]);
		free(encode->orders[i]);
	}
	memory_give(encode->memory, encode->identity, encode->plan->recipe->most_values * sizeof(uint32_t));
	memory_give(encode->memory, encode->places, encode->place_room * sizeof(uint32_t));
	free(encode->numbers);
	free(encode->codes);
	free(encode->moments);
	free(encode->sketches);
	free(encode->orders);
	free(encode->matrix.blocks);
	free(encode->columns);
	*encode = (struct encode){0};
}

size_t encode_row_bytes(const struct plan *plan, bool alone)
{
	size_t bytes = sizeof(double);
	for (size_t i = 0; i < plan->columns.len; i++) {
		const struct plan_column *column = &plan->columns.items[i];
		if (column->encoded)
			bytes += column->kind == COLUMN_NUMBER ? sizeof(double) : alone ? sizeof(uint32_t) : 0;
	}
	return bytes;
}

bool encode_reserve(struct encode *encode, size_t rows)
{
	if (rows <= encode->room)
		return true;
	encode_give_rows(encode);
	encode->room = rows;
	bool got = (encode->scratch = memory_take(encode->memory, rows * sizeof(double))) != NULL;
	for (size_t i = 0; i < encode->plan->columns.len && got; i++) {
		const struct plan_column *column = &encode->plan->columns.items[i];
		if (!column->encoded)
			continue;
		if (column->kind == COLUMN_NUMBER)
			got = (encode->numbers[i] = memory_take(encode->memory, rows * sizeof(double))) != NULL;
		else if (encode->alone)
			got = (encode->codes[i] = memory_take(encode->memory, rows * sizeof(uint32_t))) != NULL;
	}
	if (!got)
		encode_give_rows(encode);
	return got;
}

/* The column without gaps: itself, or a copy in which they are the median. */
static const double *encode_without_gaps(struct encode *encode, size_t number, const double *in, size_t rows, bool gaps)
{
	double *out = encode->numbers[number], median;
	double small[SKETCH_ROOM];
	size_t slot = encode->plan->columns.items[number].slot;
	bool filled = slot != PLAN_NONE && encode->plan->slots.items[slot].filled;
	if (!encode->alone && !filled)
		sketch_add(&encode->sketches[number], in, rows);
	if (!gaps)
		return in;
	median = encode->alone ? moments_median(in, rows, encode->scratch)
			       : sketch_median(&encode->sketches[number], small);
	for (size_t row = 0; row < rows; row++)
		out[row] = !isnan(in[row]) ? in[row] : isnan(median) ? 0 : median;
	return out;
}

static void encode_number(struct encode *encode, const struct frame *frame, size_t number, const struct moments *known)
{
	const double *in = frame->columns[number].numbers;
	double *out = encode->numbers[number];
	size_t rows = frame->rows;
	struct moments chunk = *known;
	bool gaps = chunk.count < rows;
	if (!chunk.count && rows) {
		moments_of(in, rows, &chunk);
		gaps = chunk.count < rows;
	}
	in = encode_without_gaps(encode, number, in, rows, gaps);
	if (gaps)
		moments_of(in, rows, &chunk);
	if (encode->alone)
		encode->moments[number] = chunk;
	else
		moments_merge(&encode->moments[number], &chunk);
	double mean = encode->moments[number].mean, sd = moments_sd(&encode->moments[number], false);
	sd = sd > 0 ? sd : 1;
	for (size_t row = 0; row < rows; row++)
		out[row] = (in[row] - mean) / sd;
	struct matrix_block *block = &encode->matrix.blocks[encode->matrix.count];
	*block = (struct matrix_block){.column = &frame->columns[number],
				       .first = encode->matrix.width,
				       .width = 1,
				       .numbers = out,
				       .mean = mean,
				       .sd = sd};
}

/* The chunk's own codes, in order of appearance: the number of values, or `most` where there are that many. */
static size_t encode_renumber(struct encode *encode, const struct frame *frame, size_t number, size_t most)
{
	const uint32_t *in = frame->columns[number].codes;
	uint32_t *out = encode->codes[number], *order = encode->orders[number];
	size_t values = dictionary_count(frame->columns[number].values), count = 0;
	memset(encode->places, 0, (values + 1) * sizeof(uint32_t));
	for (size_t row = 0; row < frame->rows; row++) {
		if (in[row] == COLUMN_MISSING) {
			out[row] = COLUMN_MISSING;
			continue;
		}
		uint32_t *place = &encode->places[in[row] < values ? in[row] + 1 : 0];
		if (!*place) {
			if (count + 1 == most)
				return most;
			order[count] = in[row];
			*place = (uint32_t)++count;
		}
		out[row] = *place - 1;
	}
	return count;
}

static int encode_reserve_places(struct encode *encode, size_t number, size_t values, size_t most, struct err *err)
{
	if (!encode->orders[number])
		encode->orders[number] = mem_alloc(most * sizeof(uint32_t));
	if (values + 1 <= encode->place_room)
		return 0;
	size_t room = (values + 1) * 2;
	uint32_t *places = memory_take(encode->memory, room * sizeof(uint32_t));
	if (!places)
		return err_set(err, ERR_UNAVAILABLE, "no memory within the limit to encode %zu values", values);
	memory_give(encode->memory, encode->places, encode->place_room * sizeof(uint32_t));
	encode->places = places;
	encode->place_room = room;
	return 0;
}

/* False where the column has too many values, or none. */
static int encode_text(struct encode *encode, const struct frame *frame, size_t number, bool *encoded, struct err *err)
{
	const struct column *column = &frame->columns[number];
	size_t most = encode->plan->recipe->most_values, count;
	*encoded = false;
	if (!column->codes)
		return 0;
	struct matrix_block block = {.column = column, .first = encode->matrix.width};
	if (encode->alone) {
		int code = encode_reserve_places(encode, number, dictionary_count(column->values), most, err);
		if (code)
			return code;
		count = encode_renumber(encode, frame, number, most);
		block.codes = encode->codes[number];
		block.order = encode->orders[number];
	} else {
		count = dictionary_count(column->values);
		block.codes = column->codes;
		block.order = encode->identity;
	}
	block.width = count;
	*encoded = count > 0 && count < most;
	encode->matrix.blocks[encode->matrix.count] = block;
	return 0;
}

static void encode_keep_block(struct encode *encode, size_t number)
{
	const struct plan_column *column = &encode->plan->columns.items[number];
	struct matrix_block *block = &encode->matrix.blocks[encode->matrix.count];
	block->model_input = !column->from_target || encode->plan->recipe->use_target_derived;
	encode->matrix.width += block->width;
	encode->columns[encode->matrix.count++] = number;
}

int encode_chunk(struct encode *encode, const struct frame *frame, const bool *dropped, const struct moments *chunk,
		 struct err *err)
{
	const struct plan *plan = encode->plan;
	encode->matrix.rows = frame->rows;
	encode->matrix.width = encode->matrix.count = 0;
	for (size_t i = 0; i < plan->columns.len; i++) {
		const struct plan_column *column = &plan->columns.items[i];
		if (column->encoded && column->kind == COLUMN_NUMBER) {
			/* Statistics go on while a column is out: it may come back. */
			encode_number(encode, frame, i, &chunk[i]);
			if (!dropped[i])
				encode_keep_block(encode, i);
		}
	}
	for (size_t i = 0; i < plan->columns.len; i++) {
		bool encoded = false;
		if (!plan->columns.items[i].encoded || plan->columns.items[i].kind != COLUMN_TEXT)
			continue;
		int code = encode_text(encode, frame, i, &encoded, err);
		if (code)
			return code;
		if (encoded)
			encode_keep_block(encode, i);
	}
	return 0;
}

void matrix_name(const struct matrix *matrix, size_t index, struct str *out)
{
	size_t low = 0, high = matrix->count;
	if (index >= matrix->width)
		return;
	while (high - low > 1) { /* the last block that begins at `index` or before */
		size_t middle = low + (high - low) / 2;
		if (matrix->blocks[middle].first <= index)
			low = middle;
		else
			high = middle;
	}
	const struct matrix_block *block = &matrix->blocks[low];
	str_append(out, block->column->name);
	if (block->numbers)
		return;
	struct span value = dictionary_text(block->column->values, block->order[index - block->first]);
	str_append(out, "__");
	str_append_bytes(out, value.text, value.length);
}

void matrix_row(const struct matrix *matrix, size_t row, double *row_out)
{
	memset(row_out, 0, matrix->width * sizeof(double));
	for (size_t i = 0; i < matrix->count; i++) {
		const struct matrix_block *block = &matrix->blocks[i];
		if (block->numbers)
			row_out[block->first] = block->numbers[row];
		else if (block->codes[row] < block->width)
			row_out[block->first + block->codes[row]] = 1;
	}
}
