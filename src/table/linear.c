/* linear.c - see linear.h: the online model, and how good predictions are. */
#include "table/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void linear_score_add(struct linear_score *score, double target, double prediction)
{
	double error = prediction - target;
	score->rows++;
	score->squares += error * error;
	score->absolutes += fabs(error);
	moments_add(&score->target, target);
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

static double linear_predict(const struct linear_inputs *in, size_t row)
{
	double sum = in->intercept;
	for (size_t i = 0; i < in->number_count; i++)
		sum += in->weights[i] * in->numbers[i][row];
	for (size_t i = 0; i < in->text_count; i++) {
		uint32_t code = in->codes[i][row];
		sum += in->text_weights[i][code < in->text_most[i] ? code + 1 : 0];
	}
	return sum;
}

static void linear_learn(struct linear_inputs *in, size_t row, double target, double rate)
{
	double length = 1 + (double)in->text_count, error = target - linear_predict(in, row);
	for (size_t i = 0; i < in->number_count; i++)
		length += in->numbers[i][row] * in->numbers[i][row];
	double step = rate * error / (1 + length);
	in->intercept += step;
	for (size_t i = 0; i < in->number_count; i++)
		in->weights[i] += step * in->numbers[i][row];
	for (size_t i = 0; i < in->text_count; i++) {
		uint32_t code = in->codes[i][row];
		in->text_weights[i][code < in->text_most[i] ? code + 1 : 0] += step;
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
	for (size_t row = 0; model->started && row < matrix->rows; row++) {
		predictions[row] = linear_predict(&in, row);
		if (!isnan(target[row]))
			linear_score_add(&model->score, target[row], predictions[row]);
	}
	if (!model->started) {
		struct moments moments;
		moments_of(target, matrix->rows, &moments);
		in.intercept = moments.mean;
		model->started = moments.count > 0;
	}
	for (size_t row = 0; row < matrix->rows; row++)
		if (!isnan(target[row]))
			linear_learn(&in, row, target[row], model->rate);
	model->intercept = in.intercept;
	for (size_t i = 0; i < in.number_count; i++)
		model->numbers[in.number_columns[i]] = in.weights[i];
out:
	linear_inputs_fini(&in);
	return code;
}
