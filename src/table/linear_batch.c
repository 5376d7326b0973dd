/* linear_batch.c - see linear.h: least squares over sparse rows. */
#include "table/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct linear_term {
	size_t place;
	double value;
};

/* Whether a row is held out: decided by the seed and the row's number alone. */
static bool linear_held_out(uint64_t seed, uint64_t row, double part)
{
	uint64_t z = seed + (row + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (double)(z >> 11) * 0x1p-53 < part;
}

/* The row's terms that are not 0, the intercept last: their number. */
static size_t linear_row_terms(const struct matrix *matrix, size_t row, struct linear_term *terms)
{
	size_t count = 0;
	for (size_t i = 0; i < matrix->count; i++) {
		const struct matrix_block *block = &matrix->blocks[i];
		if (!block->model_input)
			continue;
		if (block->numbers)
			terms[count++] = (struct linear_term){block->first, block->numbers[row]};
		else if (block->codes[row] < block->width)
			terms[count++] = (struct linear_term){block->first + block->codes[row], 1};
	}
	terms[count++] = (struct linear_term){matrix->width, 1};
	return count;
}

/* Solves the symmetric system in place (upper triangle); false where it is not positive. */
static bool linear_solve(double *gram, double *right, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		double *row = gram + i * size;
		for (size_t k = 0; k < i; k++) {
			double factor = gram[k * size + i];
			for (size_t j = i; factor != 0 && j < size; j++)
				row[j] -= factor * gram[k * size + j];
			right[i] -= factor * right[k];
		}
		if (!(row[i] > 0))
			return false;
		double root = sqrt(row[i]);
		for (size_t j = i; j < size; j++)
			row[j] /= root;
		right[i] /= root;
	}
	for (size_t i = size; i-- > 0;) {
		for (size_t j = i + 1; j < size; j++)
			right[i] -= gram[i * size + j] * right[j];
		right[i] /= gram[i * size + i];
	}
	return true;
}

static uint64_t linear_sum_rows(const struct matrix *matrix, const double *target, double holdout, uint64_t seed,
				struct linear_term *terms, double *gram, double *right)
{
	size_t size = matrix->width + 1;
	uint64_t learned = 0;
	for (size_t row = 0; row < matrix->rows; row++) {
		if (isnan(target[row]) || linear_held_out(seed, row, holdout))
			continue;
		size_t count = linear_row_terms(matrix, row, terms);
		for (size_t i = 0; i < count; i++) {
			right[terms[i].place] += terms[i].value * target[row];
			double *line = gram + terms[i].place * size;
			for (size_t j = i; j < count; j++)
				line[terms[j].place] += terms[i].value * terms[j].value;
		}
		learned++;
	}
	double trace = 0;
	for (size_t i = 0; i < size; i++)
		trace += gram[i * size + i];
	for (size_t i = 0; i < size; i++) {
		double *own = &gram[i * size + i];
		*own += *own > 0 ? trace / (double)size * LINEAR_RIDGE : 1; /* 1: a column that is no input stays 0 */
	}
	return learned;
}

int linear_batch_fit(struct linear_batch *model, const struct matrix *matrix, const double *target, double holdout,
		     uint64_t seed, double *predictions, struct memory *memory, struct err *err)
{
	size_t size = matrix->width + 1, bytes = size * size * sizeof(double);
	*model = (struct linear_batch){.width = matrix->width};
	if (matrix->width > LINEAR_MOST_WIDTH)
		return err_set(err, ERR_UNAVAILABLE, "no batch model: %zu features, at most %d", matrix->width,
			       LINEAR_MOST_WIDTH);
	double *gram = memory_take(memory, bytes);
	struct linear_term *terms = mem_alloc((matrix->count + 1) * sizeof(*terms));
	int code = 0;
	model->weights = mem_alloc(size * sizeof(double));
	if (!gram) {
		code = err_set(err, ERR_UNAVAILABLE, "no batch model: %zu bytes more would exceed the memory limit",
			       bytes);
		goto out;
	}
	uint64_t learned = linear_sum_rows(matrix, target, holdout, seed, terms, gram, model->weights);
	if (learned < 2 || !linear_solve(gram, model->weights, size)) {
		code = err_set(err, ERR_UNAVAILABLE, "no batch model: %llu rows to learn from are too few",
			       (unsigned long long)learned);
		goto out;
	}
	for (size_t row = 0; row < matrix->rows; row++) {
		predictions[row] = NAN;
		if (isnan(target[row]) || !linear_held_out(seed, row, holdout))
			continue;
		size_t count = linear_row_terms(matrix, row, terms);
		predictions[row] = 0;
		for (size_t i = 0; i < count; i++)
			predictions[row] += terms[i].value * model->weights[terms[i].place];
		linear_score_add(&model->score, target[row], predictions[row]);
	}
out:
	memory_give(memory, gram, bytes);
	free(terms);
	if (code)
		linear_batch_fini(model);
	return code;
}

void linear_batch_fini(struct linear_batch *model)
{
	free(model->weights);
	*model = (struct linear_batch){0};
}
