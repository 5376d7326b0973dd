/* pick.c - see pick.h. */
#include "table/pick.h"

#include "table/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PICK_BLOCK = 256 /* rows whose distances are held at a time: 14 columns of them fit the first cache */ };

static size_t pick_bytes(size_t count)
{
	return (3 * count * count + 4 * count + count * PICK_BLOCK) * sizeof(double);
}

int pick_init(struct pick *pick, size_t count, bool has_target, struct memory *memory, struct err *err)
{
	*pick = (struct pick){.memory = memory, .count = count, .has_target = has_target};
	if (!count)
		return 0;
	double *all = memory_take(memory, pick_bytes(count));
	pick->chunk = calloc(count, sizeof(struct moments));
	pick->dropped = calloc(count, sizeof(bool));
	if (!all || !pick->chunk || !pick->dropped) {
		memory_give(memory, all, pick_bytes(count));
		free(pick->chunk);
		free(pick->dropped);
		*pick = (struct pick){0};
		return err_set(err, ERR_UNAVAILABLE, "no memory to compare %zu number columns", count);
	}
	pick->products = all;
	pick->chunk_products = all + count * count;
	pick->scratch = all + 2 * count * count;
	pick->means = all + 3 * count * count;
	pick->shifts = pick->means + count;
	pick->least = pick->shifts + count;
	pick->most = pick->least + count;
	pick->block = pick->most + count;
	return 0;
}

void pick_fini(struct pick *pick)
{
	memory_give(pick->memory, pick->products, pick->products ? pick_bytes(pick->count) : 0);
	free(pick->chunk);
	free(pick->dropped);
	*pick = (struct pick){0};
}

void pick_forget(struct pick *pick)
{
	pick->rows = 0;
}

/* Distances from the chunk's means of `rows` rows, padded with zeros to a multiple of four. */
static void pick_centre(struct pick *pick, const double *const *columns, size_t from, size_t rows)
{
	for (size_t i = 0; i < pick->count; i++) {
		const double *in = columns[i] + from;
		double *out = pick->block + i * PICK_BLOCK, mean = pick->chunk[i].mean;
		for (size_t row = 0; row < rows; row++)
			out[row] = in[row] - mean;
		if (pick->shifts[i] != 0) /* something is missing */
			for (size_t row = 0; row < rows; row++)
				out[row] = isnan(out[row]) ? 0 : out[row];
		if (rows % 4)
			memset(out + rows, 0, (4 - rows % 4) * sizeof(double));
	}
}

/* Adds the products of column `i` with `some` columns from `j` on; a load of the first serves them all. */
#define PICK_DOTS(some)                                                                                                \
	do {                                                                                                           \
		lanes sums[some] = {{0}};                                                                              \
		for (size_t row = 0; row < rows; row += 4) {                                                           \
			lanes a = LANES_LOAD(block + i * PICK_BLOCK + row);                                            \
			for (size_t k = 0; k < (some); k++)                                                            \
				sums[k] += a * LANES_LOAD(block + (j + k) * PICK_BLOCK + row);                         \
		}                                                                                                      \
		for (size_t k = 0; k < (some); k++)                                                                    \
			products[i * count + j + k] += (sums[k][0] + sums[k][2]) + (sums[k][1] + sums[k][3]);          \
	} while (0)

LANES_INLINE void pick_dots_body(const double *block, size_t count, size_t rows, double *products)
{
	for (size_t i = 0; i < count; i++) {
		size_t j = i;
		for (; j + 4 <= count; j += 4)
			PICK_DOTS(4);
		for (; j < count; j++)
			PICK_DOTS(1);
	}
}

static void pick_dots_plain(const double *block, size_t count, size_t rows, double *products)
{
	pick_dots_body(block, count, rows, products);
}

LANES_WIDE static void pick_dots_wide(const double *block, size_t count, size_t rows, double *products)
{
	pick_dots_body(block, count, rows, products);
}

static void pick_multiply(struct pick *pick, const double *const *columns, size_t rows)
{
	size_t count = pick->count;
	memset(pick->chunk_products, 0, count * count * sizeof(double));
	for (size_t from = 0; from < rows; from += PICK_BLOCK) {
		size_t some = rows - from < PICK_BLOCK ? rows - from : PICK_BLOCK;
		pick_centre(pick, columns, from, some);
		(lanes_are_wide() ? pick_dots_wide : pick_dots_plain)(pick->block, count, some, pick->chunk_products);
	}
}

/* Products around the chunk's means to products around all means. */
static void pick_merge(struct pick *pick, size_t rows)
{
	size_t count = pick->count;
	double before = pick->rows, more = (double)rows, all = before + more;
	double weight = before * more / all;
	for (size_t i = 0; i < count; i++) {
		pick->shifts[i] = before > 0 ? pick->chunk[i].mean - pick->means[i] : 0;
		pick->means[i] = before > 0 ? pick->means[i] + pick->shifts[i] * (more / all) : pick->chunk[i].mean;
		bool first = before == 0;
		pick->least[i] = first || pick->chunk[i].min < pick->least[i] ? pick->chunk[i].min : pick->least[i];
		pick->most[i] = first || pick->chunk[i].max > pick->most[i] ? pick->chunk[i].max : pick->most[i];
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = i; j < count; j++) {
			double *product = &pick->products[i * count + j];
			*product = (before > 0 ? *product : 0) + pick->chunk_products[i * count + j] +
				   pick->shifts[i] * pick->shifts[j] * weight;
		}
	pick->rows = all;
}

void pick_add(struct pick *pick, const double *const *columns, size_t rows)
{
	if (!rows || !pick->count)
		return;
	for (size_t i = 0; i < pick->count; i++) {
		moments_of_first(columns[i], rows, &pick->chunk[i]); /* the squares are among the products */
		pick->shifts[i] = pick->chunk[i].count < rows;
	}
	pick_multiply(pick, columns, rows);
	for (size_t i = 0; i < pick->count; i++)
		pick->chunk[i].m2 = pick->chunk_products[i * pick->count + i];
	pick_merge(pick, rows);
}

static bool pick_varies(const struct pick *pick, size_t i)
{
	return pick->least[i] < pick->most[i] && pick->products[i * pick->count + i] > 0;
}

static double pick_correlation(const struct pick *pick, size_t i, size_t j)
{
	size_t count = pick->count;
	double both = pick->products[i < j ? i * count + j : j * count + i];
	double square = sqrt(pick->products[i * count + i]) * sqrt(pick->products[j * count + j]);
	return square > 0 ? fabs(both / square) : 0;
}

/* Each column's strongest partner to its right is kept, so that a round looks at columns, not at pairs. */
static void pick_partner(const double *table, size_t count, const bool *out, size_t i, size_t *partner,
			 double *strength)
{
	*strength = -1;
	*partner = i;
	for (size_t j = i + 1; j < count && !out[i]; j++)
		if (!out[j] && table[i * count + j] > *strength) {
			*strength = table[i * count + j];
			*partner = j;
		}
}

void pick_choose(struct pick *pick, double threshold)
{
	size_t count = pick->count - (pick->count && pick->has_target), target = count;
	double *table = pick->scratch;
	bool *out = calloc(count + 1, sizeof(bool));
	size_t *partners = calloc(count + 1, sizeof(size_t));
	double *strengths = calloc(count + 1, sizeof(double));
	for (size_t i = 0; i < count; i++) {
		pick->dropped[i] = false;
		out[i] = !pick_varies(pick, i);
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count; j++)
			table[i * count + j] = out[i] || out[j] ? 0 : pick_correlation(pick, i, j);
		pick_partner(table, count, out, i, &partners[i], &strengths[i]);
	}
	bool known = pick->has_target && count < pick->count && pick_varies(pick, target);
	for (;;) {
		size_t first = 0;
		for (size_t i = 1; i < count; i++)
			if (strengths[i] > strengths[first])
				first = i;
		if (!count || !(strengths[first] > threshold))
			break;
		size_t second = partners[first];
		double a = known ? pick_correlation(pick, first, target) : 0;
		double b = known ? pick_correlation(pick, second, target) : 0;
		size_t loser = a < b ? first : second;
		pick->dropped[loser] = out[loser] = true;
		strengths[loser] = -1;
		for (size_t i = 0; i < loser; i++)
			if (partners[i] == loser)
				pick_partner(table, count, out, i, &partners[i], &strengths[i]);
	}
	free(out);
	free(partners);
	free(strengths);
}
