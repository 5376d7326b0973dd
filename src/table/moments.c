/* moments.c - see moments.h. */
#include "table/moments.h"

#include "table/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct moments_pass {
	double sum, least, most;
};

/* Four sums side by side: neither the latency of one addition nor the order of a vectoriser decides. */
LANES_INLINE void moments_pass_body(const double *numbers, size_t count, struct moments_pass *out)
{
	lanes sums = {0}, least = {numbers[0], numbers[0], numbers[0], numbers[0]}, most = least;
	size_t i = 0;
	for (; i + 4 <= count; i += 4) {
		lanes four = LANES_LOAD(numbers + i);
		sums += four;
		least = LANES_PICK(four < least, four, least);
		most = LANES_PICK(four > most, four, most);
	}
	*out = (struct moments_pass){0, least[0], most[0]};
	for (; i < count; i++) {
		sums[0] += numbers[i];
		out->least = numbers[i] < out->least ? numbers[i] : out->least;
		out->most = numbers[i] > out->most ? numbers[i] : out->most;
	}
	for (int lane = 1; lane < 4; lane++) {
		out->least = least[lane] < out->least ? least[lane] : out->least;
		out->most = most[lane] > out->most ? most[lane] : out->most;
	}
	out->sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void moments_pass_plain(const double *numbers, size_t count, struct moments_pass *out)
{
	moments_pass_body(numbers, count, out);
}

LANES_WIDE static void moments_pass_wide(const double *numbers, size_t count, struct moments_pass *out)
{
	moments_pass_body(numbers, count, out);
}

LANES_INLINE double moments_squares_body(const double *numbers, size_t count, double mean)
{
	lanes squares = {0};
	size_t i = 0;
	for (; i + 4 <= count; i += 4) {
		lanes apart = LANES_LOAD(numbers + i) - mean;
		squares += apart * apart;
	}
	for (; i < count; i++)
		squares[0] += (numbers[i] - mean) * (numbers[i] - mean);
	return (squares[0] + squares[1]) + (squares[2] + squares[3]);
}

static double moments_squares_plain(const double *numbers, size_t count, double mean)
{
	return moments_squares_body(numbers, count, mean);
}

LANES_WIDE static double moments_squares_wide(const double *numbers, size_t count, double mean)
{
	return moments_squares_body(numbers, count, mean);
}

static void moments_of_some(const double *numbers, size_t count, struct moments *out)
{
	double total = 0;
	for (size_t i = 0; i < count; i++) {
		if (isnan(numbers[i]))
			continue;
		out->min = out->count ? fmin(out->min, numbers[i]) : numbers[i];
		out->max = out->count ? fmax(out->max, numbers[i]) : numbers[i];
		out->count++;
		total += numbers[i];
	}
	out->mean = out->count ? total / (double)out->count : 0;
}

bool moments_of_first(const double *numbers, size_t count, struct moments *out)
{
	struct moments_pass pass = {0};
	*out = (struct moments){0};
	if (!count)
		return true;
	(lanes_are_wide() ? moments_pass_wide : moments_pass_plain)(numbers, count, &pass);
	if (isnan(pass.sum))
		moments_of_some(numbers, count, out);
	else
		*out = (struct moments){count, pass.sum / (double)count, 0, pass.least, pass.most};
	return !isnan(pass.sum);
}

void moments_of(const double *numbers, size_t count, struct moments *out)
{
	bool all = moments_of_first(numbers, count, out);
	if (all && count)
		out->m2 = (lanes_are_wide() ? moments_squares_wide : moments_squares_plain)(numbers, count, out->mean);
	for (size_t i = 0; !all && i < count; i++)
		if (!isnan(numbers[i]))
			out->m2 += (numbers[i] - out->mean) * (numbers[i] - out->mean);
}

void moments_merge(struct moments *into, const struct moments *more)
{
	if (!more->count)
		return;
	if (!into->count) {
		*into = *more;
		return;
	}
	double left = (double)into->count, right = (double)more->count, all = left + right;
	double apart = more->mean - into->mean;
	into->mean += apart * (right / all);
	into->m2 += more->m2 + apart * apart * (left * right / all);
	into->min = fmin(into->min, more->min);
	into->max = fmax(into->max, more->max);
	into->count += more->count;
}

void moments_add(struct moments *into, double number)
{
	if (isnan(number))
		return;
	into->count++;
	double apart = number - into->mean;
	into->mean += apart / (double)into->count;
	into->m2 += apart * (number - into->mean);
	into->min = into->count == 1 || number < into->min ? number : into->min;
	into->max = into->count == 1 || number > into->max ? number : into->max;
}

double moments_sd(const struct moments *moments, bool sample)
{
	uint64_t freedom = moments->count - (sample ? 1 : 0);
	if (moments->count < 2 || moments->m2 <= 0 || moments->min == moments->max)
		return 0;
	return sqrt(moments->m2 / (double)freedom);
}

void sketch_init(struct sketch *sketch, size_t columns, struct memory *memory)
{
	size_t most = SKETCH_ROOM;
	while (most > SKETCH_FIRST && most * columns > (size_t)SKETCH_ROOM * 1024)
		most /= 2;
	*sketch = (struct sketch){.memory = memory, .most = most, .stride = 1};
}

/* Room for one more: a larger buffer, or every other number of the one there is. False where there is none at all. */
static bool sketch_make_room(struct sketch *sketch)
{
	size_t room = sketch->room ? sketch->room * 2 : SKETCH_FIRST;
	double *grown = NULL;
	if (room <= sketch->most)
		grown = memory_resize(sketch->memory, sketch->numbers, sketch->room * sizeof(double),
				      room * sizeof(double));
	if (grown) {
		sketch->numbers = grown;
		sketch->room = room;
		return true;
	}
	for (size_t i = 0; i < sketch->count / 2; i++)
		sketch->numbers[i] = sketch->numbers[i * 2];
	sketch->count /= 2;
	sketch->stride *= 2;
	return sketch->room > 0;
}

void sketch_add(struct sketch *sketch, const double *numbers, size_t count)
{
	size_t at = 0;
	while (sketch->skip < count - at) {
		at += sketch->skip;
		sketch->skip = 0;
		if (isnan(numbers[at])) { /* the next that is there is taken in its place */
			at++;
			continue;
		}
		if (sketch->count == sketch->room && !sketch_make_room(sketch))
			return;
		sketch->numbers[sketch->count++] = numbers[at++];
		sketch->skip = sketch->stride - 1;
	}
	sketch->skip -= count - at;
}

/* Moves what is below the pivot, or not above it, to the front; how many there are. No branch depends on a number: of a random
 * half of them each would be foreseen wrongly. */
static size_t moments_part(double *numbers, size_t count, double pivot, bool with_pivot)
{
	size_t front = 0;
	for (size_t i = 0; i < count; i++) {
		double number = numbers[i];
		numbers[i] = numbers[front];
		numbers[front] = number;
		front += with_pivot ? number <= pivot : number < pivot;
	}
	return front;
}

static double moments_middle(double a, double b, double c)
{
	double least = a < b ? a : b, most = a < b ? b : a;
	return c < least ? least : c > most ? most : c;
}

/* Puts the k-th smallest at its place, none larger before it. */
static double moments_select(double *numbers, size_t count, size_t k)
{
	size_t low = 0, high = count;
	while (high - low > 1) {
		double pivot = moments_middle(numbers[low], numbers[low + (high - low) / 2], numbers[high - 1]);
		size_t below = low + moments_part(numbers + low, high - low, pivot, false);
		if (k < below) {
			high = below;
			continue;
		}
		size_t not_above = below + moments_part(numbers + below, high - below, pivot, true);
		if (k < not_above)
			return pivot;
		low = not_above;
	}
	return numbers[k];
}

static double moments_largest(const double *numbers, size_t count)
{
	double most[4] = {numbers[0], numbers[0], numbers[0], numbers[0]};
	size_t i = 0;
	for (; i + 4 <= count; i += 4)
		for (int lane = 0; lane < 4; lane++)
			most[lane] = numbers[i + (size_t)lane] > most[lane] ? numbers[i + (size_t)lane] : most[lane];
	for (; i < count; i++)
		most[0] = numbers[i] > most[0] ? numbers[i] : most[0];
	for (int lane = 1; lane < 4; lane++)
		most[0] = most[lane] > most[0] ? most[lane] : most[0];
	return most[0];
}

double moments_median(const double *numbers, size_t count, double *scratch)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		scratch[kept] = numbers[i];
		kept += !isnan(numbers[i]);
	}
	if (!kept)
		return NAN;
	double upper = moments_select(scratch, kept, kept / 2);
	if (kept % 2)
		return upper;
	double lower = moments_largest(scratch, kept / 2);
	return lower + (upper - lower) / 2;
}

double sketch_median(const struct sketch *sketch, double *scratch)
{
	return sketch->numbers ? moments_median(sketch->numbers, sketch->count, scratch) : NAN;
}

void sketch_fini(struct sketch *sketch)
{
	memory_give(sketch->memory, sketch->numbers, sketch->room * sizeof(double));
	*sketch = (struct sketch){0};
}
