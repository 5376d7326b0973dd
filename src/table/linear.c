/* linear.c - see linear.h: the online model, and how good predictions are. */
#include "table/linear.h"

#include "table/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINEAR_TILE = 256 /* rows whose gains are worked out together */ };

void linear_score_add(struct linear_score *score, double target, double prediction)
{
	double error = prediction - target;
	score->rows++;
	score->squares += error * error;
	score->absolutes += fabs(error);
	moments_add(&score->target, target);
}

LANES_INLINE void linear_errors_body(const double *target, const double *predictions, size_t rows, double *squares,
				     double *absolutes)
{
	lanes square = {0}, absolute = {0};
	size_t row = 0;
	for (; row + 4 <= rows; row += 4) {
		lanes error = LANES_LOAD(predictions + row) - LANES_LOAD(target + row);
		square += error * error;
		absolute += LANES_PICK(error < 0, -error, error);
	}
	for (; row < rows; row++) {
		double error = predictions[row] - target[row];
		square[0] += error * error;
		absolute[0] += fabs(error);
	}
	*squares = (square[0] + square[1]) + (square[2] + square[3]);
	*absolutes = (absolute[0] + absolute[1]) + (absolute[2] + absolute[3]);
}

static void linear_errors_plain(const double *target, const double *predictions, size_t rows, double *squares,
				double *absolutes)
{
	linear_errors_body(target, predictions, rows, squares, absolutes);
}

LANES_WIDE static void linear_errors_wide(const double *target, const double *predictions, size_t rows, double *squares,
					  double *absolutes)
{
	linear_errors_body(target, predictions, rows, squares, absolutes);
}

void linear_score_add_rows(struct linear_score *score, const double *target, const double *predictions, size_t rows)
{
	struct moments moments;
	double squares = 0, absolutes = 0;
	moments_of(target, rows, &moments);
	if (moments.count < rows) { /* some are missing */
		for (size_t row = 0; row < rows; row++)
			if (!isnan(target[row]))
				linear_score_add(score, target[row], predictions[row]);
		return;
	}
	(lanes_are_wide() ? linear_errors_wide : linear_errors_plain)(target, predictions, rows, &squares, &absolutes);
	score->rows += rows;
	score->squares += squares;
	score->absolutes += absolutes;
	moments_merge(&score->target, &moments);
}

double linear_score_r2(const struct linear_score *score)
{
	return score->target.m2 > 0 ? 1 - score->squares / score->target.m2 : 0;
}

void linear_online_init(struct linear_online *model, size_t columns, double rate, struct memory *memory)
{
	*model = (struct linear_online){.memory = memory, .columns = columns, .rate = rate};
	model->numbers = mem_alloc((columns + 1) * sizeof(double));
	model->texts = mem_alloc((columns + 1) * sizeof(double *));
	model->text_rooms = mem_alloc((columns + 1) * sizeof(size_t));
}

void linear_online_fini(struct linear_online *model)
{
	for (size_t i = 0; i < model->columns && model->texts; i++)
		memory_give(model->memory, model->texts[i], model->text_rooms[i] * sizeof(double));
	free(model->numbers);
	free(model->texts);
	free(model->text_rooms);
	*model = (struct linear_online){0};
}

/* What goes into the model of a matrix: plain arrays, so that the loops over rows have nothing to decide. */
struct linear_inputs {
	size_t number_count, text_count;
	const double **numbers;
	double *weights; /* of the numbers */
	size_t *number_columns;
	const uint32_t **codes;
	double **text_weights; /* [0]: of all values beyond the dictionary; then by code */
	uint32_t *text_most;
	double intercept;
};

static int linear_reserve_text(struct linear_online *model, size_t column, size_t values, struct err *err)
{
	size_t want = values + 1, room = model->text_rooms[column];
	if (want <= room)
		return 0;
	want += want / 2;
	double *weights =
		memory_resize(model->memory, model->texts[column], room * sizeof(double), want * sizeof(double));
	if (!weights)
		return err_set(err, ERR_UNAVAILABLE, "no memory within the limit for %zu weights of the model", want);
	memset(weights + room, 0, (want - room) * sizeof(double));
	model->texts[column] = weights;
	model->text_rooms[column] = want;
	return 0;
}

static void linear_inputs_fini(struct linear_inputs *in)
{
	free(in->numbers);
	free(in->weights);
	free(in->number_columns);
	free(in->codes);
	free(in->text_weights);
	free(in->text_most);
}

static int linear_inputs_init(struct linear_inputs *in, struct linear_online *model, const struct matrix *matrix,
			      const size_t *columns, struct err *err)
{
	size_t count = matrix->count + 1;
	*in = (struct linear_inputs){.numbers = mem_alloc(count * sizeof(double *)),
				     .weights = mem_alloc(count * sizeof(double)),
				     .number_columns = mem_alloc(count * sizeof(size_t)),
				     .codes = mem_alloc(count * sizeof(uint32_t *)),
				     .text_weights = mem_alloc(count * sizeof(double *)),
				     .text_most = mem_alloc(count * sizeof(uint32_t)),
				     .intercept = model->intercept};
	for (size_t i = 0; i < matrix->count; i++) {
		const struct matrix_block *block = &matrix->blocks[i];
		if (!block->model_input)
			continue;
		if (block->numbers) {
			in->numbers[in->number_count] = block->numbers;
			in->weights[in->number_count] = model->numbers[columns[i]];
			in->number_columns[in->number_count++] = columns[i];
			continue;
		}
		size_t values = dictionary_count(block->column->values);
		int code = linear_reserve_text(model, columns[i], values, err);
		if (code)
			return code;
		in->codes[in->text_count] = block->column->codes;
		in->text_weights[in->text_count] = model->texts[columns[i]];
		in->text_most[in->text_count++] = (uint32_t)values;
	}
	return 0;
}

static inline size_t linear_place(const struct linear_inputs *in, size_t text, size_t row)
{
	uint32_t code = in->codes[text][row];
	return code < in->text_most[text] ? (size_t)code + 1 : 0;
}

static double linear_predict(const struct linear_inputs *in, size_t row)
{
	double sum = in->intercept;
	for (size_t i = 0; i < in->number_count; i++)
		sum += in->weights[i] * in->numbers[i][row];
	for (size_t i = 0; i < in->text_count; i++)
		sum += in->text_weights[i][linear_place(in, i, row)];
	return sum;
}

/* Four rows side by side, each added up in the order of linear_predict. */
LANES_INLINE void linear_predict_body(const struct linear_inputs *in, size_t rows, double *out)
{
	size_t row = 0;
	for (; row + 4 <= rows; row += 4) {
		lanes sum = {in->intercept, in->intercept, in->intercept, in->intercept};
		for (size_t i = 0; i < in->number_count; i++)
			sum += in->weights[i] * LANES_LOAD(in->numbers[i] + row);
		for (size_t i = 0; i < in->text_count; i++) {
			const double *weights = in->text_weights[i];
			lanes four = {weights[linear_place(in, i, row)], weights[linear_place(in, i, row + 1)],
				      weights[linear_place(in, i, row + 2)], weights[linear_place(in, i, row + 3)]};
			sum += four;
		}
		LANES_STORE(out + row, sum);
	}
	for (; row < rows; row++)
		out[row] = linear_predict(in, row);
}

static void linear_predict_plain(const struct linear_inputs *in, size_t rows, double *out)
{
	linear_predict_body(in, rows, out);
}

LANES_WIDE static void linear_predict_wide(const struct linear_inputs *in, size_t rows, double *out)
{
	linear_predict_body(in, rows, out);
}

/* How far a row's error moves the weights: nothing of it depends on them, so it is known before the row's turn. */
LANES_INLINE void linear_gain_body(const struct linear_inputs *in, size_t first, size_t rows, double rate, double *out)
{
	double least = 2 + (double)in->text_count;
	for (size_t row = 0; row < rows; row++)
		out[row] = least;
	for (size_t i = 0; i < in->number_count; i++) {
		const double *numbers = in->numbers[i] + first;
		size_t row = 0;
		for (; row + 4 <= rows; row += 4) {
			lanes four = LANES_LOAD(numbers + row);
			LANES_STORE(out + row, LANES_LOAD(out + row) + four * four);
		}
		for (; row < rows; row++)
			out[row] += numbers[row] * numbers[row];
	}
	for (size_t row = 0; row < rows; row++)
		out[row] = rate / out[row];
}

static void linear_gain_plain(const struct linear_inputs *in, size_t first, size_t rows, double rate, double *out)
{
	linear_gain_body(in, first, rows, rate, out);
}

LANES_WIDE static void linear_gain_wide(const struct linear_inputs *in, size_t first, size_t rows, double rate,
					double *out)
{
	linear_gain_body(in, first, rows, rate, out);
}

/* A row can begin when the one before it has moved the weights; three sums side by side make that wait as short as it gets. */
static void linear_learn(struct linear_inputs *in, size_t row, double target, double gain)
{
	double even = 0, odd = in->intercept, texts = 0, *weights = in->weights;
	size_t numbers = in->number_count, i = 0;
	for (; i + 2 <= numbers; i += 2) {
		even += weights[i] * in->numbers[i][row];
		odd += weights[i + 1] * in->numbers[i + 1][row];
	}
	if (i < numbers)
		even += weights[i] * in->numbers[i][row];
	for (i = 0; i < in->text_count; i++)
		texts += in->text_weights[i][linear_place(in, i, row)];
	double step = (target - (even + odd + texts)) * gain;
	in->intercept += step;
	for (i = 0; i < numbers; i++)
		weights[i] += step * in->numbers[i][row];
	for (i = 0; i < in->text_count; i++)
		in->text_weights[i][linear_place(in, i, row)] += step;
}

static void linear_learn_rows(struct linear_inputs *in, const double *target, size_t rows, double rate)
{
	double gains[LINEAR_TILE];
	for (size_t first = 0; first < rows; first += LINEAR_TILE) {
		size_t count = rows - first < LINEAR_TILE ? rows - first : LINEAR_TILE;
		(lanes_are_wide() ? linear_gain_wide : linear_gain_plain)(in, first, count, rate, gains);
		for (size_t i = 0; i < count; i++)
			if (!isnan(target[first + i]))
				linear_learn(in, first + i, target[first + i], gains[i]);
	}
}

int linear_online_chunk(struct linear_online *model, const struct matrix *matrix, const size_t *columns,
			const double *target, double *predictions, bool *predicted, struct err *err)
{
	struct linear_inputs in;
	int code = linear_inputs_init(&in, model, matrix, columns, err);
	*predicted = model->started;
	if (code)
		goto out;
	if (model->started) {
		(lanes_are_wide() ? linear_predict_wide : linear_predict_plain)(&in, matrix->rows, predictions);
		linear_score_add_rows(&model->score, target, predictions, matrix->rows);
	}
	if (!model->started) {
		struct moments moments;
		moments_of(target, matrix->rows, &moments);
		in.intercept = moments.mean;
		model->started = moments.count > 0;
	}
	linear_learn_rows(&in, target, matrix->rows, model->rate);
	model->intercept = in.intercept;
	for (size_t i = 0; i < in.number_count; i++)
		model->numbers[in.number_columns[i]] = in.weights[i];
out:
	linear_inputs_fini(&in);
	return code;
}
