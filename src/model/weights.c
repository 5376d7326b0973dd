/* weights.c - see weights.h. */
#include "model/weights.h"
#include "model/values.h"

#include <math.h>
#include <string.h>

const double weight_percentiles[WEIGHT_PERCENTILES] = {0.001, 0.01, 0.05, 0.5, 0.95, 0.99, 0.999};

enum { HALF = 1 << 16 };

/* A float as a number whose order is that of the floats. */
static uint32_t key_of(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

static float value_of(uint32_t key)
{
	uint32_t bits = key & 0x80000000U ? key & 0x7fffffffU : ~key;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* What is being looked at: one tensor, or all of them. */
struct crowd {
	const struct graph_tensor *const *tensors;
	size_t count;
	struct weight_row *row;
	double near_zero, sum, squares;
	uint64_t *upper;                     /* by the upper half of the key */
	uint64_t *lower[WEIGHT_PERCENTILES]; /* by the lower half, of those in the percentile's upper half */
	uint32_t half[WEIGHT_PERCENTILES];
	uint64_t before[WEIGHT_PERCENTILES]; /* values in smaller halves */
};

static void each(struct crowd *crowd, void (*look)(struct crowd *crowd, double value))
{
	for (size_t i = 0; i < crowd->count; i++) {
		int64_t count = shape_elements(&crowd->tensors[i]->shape);
		for (int64_t k = 0; k < count; k++)
			look(crowd, values_element(crowd->tensors[i], k));
	}
}

static void look_first(struct crowd *crowd, double value)
{
	struct weight_row *row = crowd->row;
	row->count++;
	if (!isfinite(value)) {
		row->not_finite++;
		return;
	}
	row->zeros += value == 0;
	row->near_zeros += fabs(value) < crowd->near_zero;
	row->min = isnan(row->min) || value < row->min ? value : row->min;
	row->max = isnan(row->max) || value > row->max ? value : row->max;
	crowd->sum += value;
	crowd->squares += value * value;
	crowd->upper[key_of((float)value) >> 16]++;
}

static void look_again(struct crowd *crowd, double value)
{
	struct weight_row *row = crowd->row;
	double largest = fmax(fabs(row->min), fabs(row->max)), step = largest / 127;
	if (!isfinite(value))
		return;
	uint32_t key = key_of((float)value);
	for (int i = 0; i < WEIGHT_PERCENTILES; i++)
		if (key >> 16 == crowd->half[i])
			crowd->lower[i][key & (HALF - 1)]++;
	double place = row->sd > 0 ? (value - row->mean) / row->sd / 4 : 0;
	int bin = (int)floor((fmin(fmax(place, -1), 1) + 1) / 2 * WEIGHT_BINS);
	row->bins[bin < WEIGHT_BINS ? bin : WEIGHT_BINS - 1]++;
	double error = step > 0 ? value - step * nearbyint(value / step) : 0;
	row->int8_noise += error * error;
}

/* The smallest value with at least that share of all at or below it. */
static uint64_t rank_of(const struct crowd *crowd, int percentile)
{
	double finite = (double)(crowd->row->count - crowd->row->not_finite);
	double rank = ceil(weight_percentiles[percentile] * finite);
	return rank < 1 ? 1 : (uint64_t)rank;
}

static void find_halves(struct crowd *crowd)
{
	for (int i = 0; i < WEIGHT_PERCENTILES; i++) {
		uint64_t seen = 0, rank = rank_of(crowd, i);
		uint32_t half = 0;
		while (half < HALF - 1 && seen + crowd->upper[half] < rank)
			seen += crowd->upper[half++];
		crowd->half[i] = half;
		crowd->before[i] = seen;
	}
}

static void find_values(struct crowd *crowd)
{
	for (int i = 0; i < WEIGHT_PERCENTILES; i++) {
		uint64_t seen = crowd->before[i], rank = rank_of(crowd, i);
		uint32_t low = 0;
		while (low < HALF - 1 && seen + crowd->lower[i][low] < rank)
			seen += crowd->lower[i][low++];
		crowd->row->percentile[i] = (double)value_of(crowd->half[i] << 16 | low);
	}
}

static void look_at(const struct graph_tensor *const *tensors, size_t count, double near_zero, struct weight_row *row)
{
	struct crowd crowd = {.tensors = tensors, .count = count, .row = row, .near_zero = near_zero};
	crowd.upper = mem_alloc(HALF * sizeof(uint64_t));
	for (int i = 0; i < WEIGHT_PERCENTILES; i++) {
		crowd.lower[i] = mem_alloc(HALF * sizeof(uint64_t));
		row->percentile[i] = NAN;
	}
	row->min = row->max = row->mean = row->sd = NAN;
	each(&crowd, look_first);
	double finite = (double)(row->count - row->not_finite);
	if (finite > 0) {
		row->mean = crowd.sum / finite;
		row->sd = sqrt(fmax(0, crowd.squares / finite - row->mean * row->mean));
		find_halves(&crowd);
		each(&crowd, look_again);
		find_values(&crowd);
		row->int8_noise = crowd.squares > 0 ? sqrt(row->int8_noise / crowd.squares) : 0;
	}
	free(crowd.upper);
	for (int i = 0; i < WEIGHT_PERCENTILES; i++)
		free(crowd.lower[i]);
}

int weights_of(const struct graph *graph, double near_zero, struct weight_rows *out, struct err *err)
{
	VEC(const struct graph_tensor *) found = {0};
	char text[SHAPE_TEXT_SIZE];
	double worst = 0;
	for (size_t i = 0; i < graph->tensors.len; i++) {
		const struct graph_tensor *tensor = &graph->tensors.items[i];
		if (tensor->role == TENSOR_WEIGHT && tensor->source == TENSOR_BYTES && tensor->shaped)
			vec_push(&found, tensor);
	}
	if (!found.len) {
		vec_fini(&found);
		return err_set(err, ERR_INPUT, "%s has no weights with values in it", graph->name);
	}
	*out = (struct weight_rows){.near_zero = near_zero};
	struct weight_row *all = vec_add(&out->items);
	all->name = mem_strdup(graph->name);
	look_at(found.items, found.len, near_zero, all);
	for (size_t i = 0; i < found.len; i++) {
		struct weight_row *row = vec_add(&out->items);
		row->name = mem_strdup(found.items[i]->name);
		row->shape = mem_strdup(shape_text(&found.items[i]->shape, text));
		look_at(&found.items[i], 1, near_zero, row);
		/* Each tensor has a scale of its own: the model has the worst of them. */
		worst = fmax(worst, row->int8_noise);
	}
	out->items.items[0].int8_noise = worst;
	vec_fini(&found);
	return 0;
}

void weight_rows_fini(struct weight_rows *rows)
{
	for (size_t i = 0; i < rows->items.len; i++) {
		free(rows->items.items[i].name);
		free(rows->items.items[i].shape);
	}
	vec_fini(&rows->items);
}
