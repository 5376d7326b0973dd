/*
 * expr_window.c - kernels that look at other rows: windows over the rows before, statistics of the column, statistics per group.
 *
 * A window remembers as many values as it is wide, so it goes over chunk borders as if there were none. A narrow window is added
 * up anew for every row; a wide one slides, and is added up anew once per width, so that rounding errors cannot pile up.
 */
#include "table/expr_eval.h"
#include "table/lanes.h"

#include <math.h>
#include <string.h>

enum { WINDOW_NARROW = 32 };
enum { WINDOW_MEAN, WINDOW_SD, WINDOW_SUM, WINDOW_MIN, WINDOW_MAX };

static int window_reserve(struct expr_call *call, double **buffer, size_t *room, size_t want)
{
	if (want <= *room)
		return 0;
	double *fresh = memory_resize(call->run->memory, *buffer, *room * sizeof(double), want * sizeof(double));
	if (!fresh)
		return expr_no_memory(want * sizeof(double), call->err);
	*buffer = fresh;
	*room = want;
	return 0;
}

/* The values that are remembered and the new ones, in one row; `*before` is how many are remembered. `keep` of them are
 * remembered for the next time. */
static const double *window_join(struct expr_call *call, size_t keep, size_t *before)
{
	struct expr_state *state = expr_state_of(call->run, call->node);
	size_t rows = call->run->rows;
	if (window_reserve(call, &state->carry, &state->carry_room, keep ? keep : 1) ||
	    window_reserve(call, &state->joined, &state->joined_room, keep + rows + 1))
		return NULL;
	size_t held = state->carry_count;
	memcpy(state->joined, state->carry, held * sizeof(double));
	memcpy(state->joined + held, call->args[0]->numbers, rows * sizeof(double));
	size_t all = held + rows;
	state->carry_count = all < keep ? all : keep;
	memcpy(state->carry, state->joined + all - state->carry_count, state->carry_count * sizeof(double));
	*before = held;
	return state->joined;
}

static double window_value(const double *values, size_t count, int variant, bool sample)
{
	double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
	size_t there = 0;
	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		there++;
		sum += values[i];
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	if (!there)
		return NAN;
	switch (variant) {
	case WINDOW_SUM:
		return sum;
	case WINDOW_MIN:
		return least;
	case WINDOW_MAX:
		return most;
	case WINDOW_MEAN:
		return sum / (double)there;
	default:
		if (there == 1 || least == most)
			return 0;
		sum /= (double)there;
		for (size_t i = 0; i < count; i++)
			squares += isnan(values[i]) ? 0 : (values[i] - sum) * (values[i] - sum);
		return sqrt(squares / (double)(there - sample));
	}
}

/* A wide window that slides: sums around a centre near its values, made anew once per width. */
struct window_slide {
	double centre, sum, squares;
	size_t there;
};

static void window_start(struct window_slide *slide, const double *values, size_t count)
{
	double mean = window_value(values, count, WINDOW_MEAN, false);
	*slide = (struct window_slide){.centre = isnan(mean) ? 0 : mean};
	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		double apart = values[i] - slide->centre;
		slide->sum += apart;
		slide->squares += apart * apart;
		slide->there++;
	}
}

static void window_move(struct window_slide *slide, double in, double out)
{
	if (!isnan(in)) {
		double apart = in - slide->centre;
		slide->sum += apart;
		slide->squares += apart * apart;
		slide->there++;
	}
	if (!isnan(out)) {
		double apart = out - slide->centre;
		slide->sum -= apart;
		slide->squares -= apart * apart;
		slide->there--;
	}
}

static double window_slide_value(const struct window_slide *slide, int variant, bool sample)
{
	double there = (double)slide->there;
	if (!slide->there)
		return NAN;
	if (variant == WINDOW_SUM)
		return slide->sum + slide->centre * there;
	if (variant == WINDOW_MEAN)
		return slide->sum / there + slide->centre;
	double squares = slide->squares - slide->sum * slide->sum / there;
	return slide->there > 1 && squares > 0 ? sqrt(squares / (there - sample)) : 0;
}

static void window_wide(const double *joined, size_t before, size_t rows, size_t width, int variant, bool sample,
			double *out)
{
	struct window_slide slide = {0};
	size_t left = 0;
	for (size_t row = 0; row < rows; row++) {
		size_t end = before + row + 1, begin = end > width ? end - width : 0;
		if (left == 0 || end <= width) {
			window_start(&slide, joined + begin, end - begin);
			left = end < width ? 0 : width;
		} else {
			window_move(&slide, joined[end - 1], joined[begin - 1]);
			left--;
		}
		out[row] = window_slide_value(&slide, variant, sample);
	}
}

/* The least or the most of a wide window: the window's own position is remembered and looked for anew when it has left. */
static void window_extreme(const double *joined, size_t before, size_t rows, size_t width, int variant, double *out)
{
	size_t best = SIZE_MAX;
	for (size_t row = 0; row < rows; row++) {
		size_t end = before + row + 1, begin = end > width ? end - width : 0;
		size_t from = best == SIZE_MAX || best < begin ? begin : end - 1;
		best = from == begin ? SIZE_MAX : best;
		for (size_t i = from; i < end; i++) {
			if (isnan(joined[i]))
				continue;
			bool better = best == SIZE_MAX ||
				      (variant == WINDOW_MIN ? joined[i] <= joined[best] : joined[i] >= joined[best]);
			best = better ? i : best;
		}
		out[row] = best == SIZE_MAX ? (double)NAN : joined[best];
	}
}

/*
 * Narrow windows that are full and in which nothing is missing, four rows side by side: each row's own sum is added up in the same
 * order as window_value does it, so the result is the same. The number of rows that this was done for.
 */
LANES_INLINE size_t window_narrow_body(const double *first, size_t rows, size_t width, int variant, bool sample,
				       double *out)
{
	size_t row = 0;
	double count = (double)width, freedom = (double)(width - sample);
	for (; row + 4 <= rows; row += 4) {
		lanes sum = {0}, squares = {0}, least = LANES_LOAD(first + row), most = least;
		for (size_t i = 0; i < width; i++) {
			lanes four = LANES_LOAD(first + row + i);
			sum += four;
			least = LANES_PICK(four < least, four, least);
			most = LANES_PICK(four > most, four, most);
		}
		lanes mean = sum / count;
		for (size_t i = 0; variant == WINDOW_SD && i < width; i++) {
			lanes apart = LANES_LOAD(first + row + i) - mean;
			squares += apart * apart;
		}
		squares /= freedom;
		for (int lane = 0; variant == WINDOW_SD && lane < 4; lane++)
			squares[lane] = least[lane] == most[lane] ? 0 : sqrt(squares[lane]);
		LANES_STORE(out + row, variant == WINDOW_MEAN  ? mean
				       : variant == WINDOW_SD  ? squares
				       : variant == WINDOW_SUM ? sum
				       : variant == WINDOW_MIN ? least
							       : most);
	}
	return row;
}

static size_t window_narrow_plain(const double *first, size_t rows, size_t width, int variant, bool sample, double *out)
{
	return window_narrow_body(first, rows, width, variant, sample, out);
}

LANES_WIDE static size_t window_narrow_wide(const double *first, size_t rows, size_t width, int variant, bool sample,
					    double *out)
{
	return window_narrow_body(first, rows, width, variant, sample, out);
}

static void window_narrow(const double *joined, size_t before, size_t rows, size_t width, int variant, bool sample,
			  double *out)
{
	struct moments moments;
	bool whole = width > 1 && moments_of_first(joined, before + rows, &moments); /* nothing is missing */
	for (size_t row = 0; row < rows;) {
		size_t end = before + row + 1, count = end < width ? end : width;
		if (whole && count == width) { /* the first that is full; what is left over of four is done below */
			row += (lanes_are_wide() ? window_narrow_wide : window_narrow_plain)(
				joined + end - width, rows - row, width, variant, sample, out + row);
			whole = false;
			continue;
		}
		out[row++] = window_value(joined + end - count, count, variant, sample);
	}
}

static int window_rolling(struct expr_call *call)
{
	size_t width = (size_t)call->arg_nodes[1]->number, rows = call->run->rows, before;
	int variant = call->node->function->variant;
	bool sample = call->run->sd == RECIPE_SD_SAMPLE;
	const double *joined = window_join(call, width, &before);
	double *out = call->out->numbers;
	if (!joined)
		return ERR_UNAVAILABLE;
	if (width > WINDOW_NARROW && variant <= WINDOW_SUM)
		window_wide(joined, before, rows, width, variant, sample, out);
	else if (width > WINDOW_NARROW)
		window_extreme(joined, before, rows, width, variant, out);
	else
		window_narrow(joined, before, rows, width, variant, sample, out);
	return 0;
}

static int window_lag(struct expr_call *call)
{
	bool difference = call->node->function->variant;
	size_t width = difference ? 1 : (size_t)call->arg_nodes[1]->number, before;
	const double *joined = window_join(call, width, &before);
	if (!joined)
		return ERR_UNAVAILABLE;
	for (size_t row = 0; row < call->run->rows; row++) {
		size_t at = before + row;
		double earlier = at >= width ? joined[at - width] : (double)NAN;
		call->out->numbers[row] = difference ? joined[at] - earlier : earlier;
	}
	return 0;
}

enum { STATISTIC_ZSCORE, STATISTIC_MEAN, STATISTIC_SD, STATISTIC_MIN, STATISTIC_MAX, STATISTIC_COUNT };

static double window_statistic(const struct moments *moments, int variant, double value)
{
	if (variant == STATISTIC_COUNT)
		return (double)moments->count;
	if (!moments->count)
		return NAN;
	double sd = moments_sd(moments, false);
	switch (variant) {
	case STATISTIC_ZSCORE:
		return isnan(value) ? (double)NAN : sd > 0 ? (value - moments->mean) / sd : 0;
	case STATISTIC_MEAN:
		return moments->mean;
	case STATISTIC_SD:
		return sd;
	case STATISTIC_MIN:
		return moments->min;
	default:
		return moments->max;
	}
}

static int window_column(struct expr_call *call)
{
	struct expr_state *state = expr_state_of(call->run, call->node);
	const double *in = call->args[0]->numbers;
	double *out = call->out->numbers;
	struct moments moments;
	moments_of(in, call->run->rows, &moments);
	if (call->run->per_chunk)
		state->moments = moments;
	else
		moments_merge(&state->moments, &moments);
	int variant = call->node->function->variant;
	double sd = moments_sd(&state->moments, false), mean = state->moments.mean;
	if (variant == STATISTIC_ZSCORE && sd > 0) {
		for (size_t i = 0; i < call->run->rows; i++)
			out[i] = (in[i] - mean) / sd;
		return 0;
	}
	for (size_t i = 0; i < call->run->rows; i++)
		out[i] = window_statistic(&state->moments, variant, in[i]);
	return 0;
}

static int window_group_room(struct expr_call *call, struct expr_state *state, size_t want)
{
	if (want <= state->group_count)
		return 0;
	size_t count = want + want / 2;
	struct moments *groups = memory_take(call->run->memory, count * sizeof(*groups));
	if (!groups)
		return expr_no_memory(count * sizeof(*groups), call->err);
	/* The last place is that of all the texts beyond the dictionary: it stays last. */
	if (state->group_count) {
		memcpy(groups, state->groups, (state->group_count - 1) * sizeof(*groups));
		groups[count - 1] = state->groups[state->group_count - 1];
	}
	memory_give(call->run->memory, state->groups, state->group_count * sizeof(*groups));
	state->groups = groups;
	state->group_count = count;
	return 0;
}

static int window_group(struct expr_call *call)
{
	struct expr_state *state = expr_state_of(call->run, call->node);
	bool counts = call->node->function->variant == STATISTIC_COUNT;
	const struct expr_value *key = call->args[counts ? 0 : 1];
	const double *in = counts ? NULL : call->args[0]->numbers;
	int code = window_group_room(call, state, dictionary_count(key->values) + 2);
	if (code)
		return code;
	if (call->run->per_chunk)
		memset(state->groups, 0, state->group_count * sizeof(*state->groups));
	size_t other = state->group_count - 1;
	for (size_t i = 0; i < call->run->rows; i++)
		moments_add(&state->groups[key->codes[i] < other ? key->codes[i] : other], counts ? 1 : in[i]);
	for (size_t i = 0; i < call->run->rows; i++) {
		const struct moments *group = &state->groups[key->codes[i] < other ? key->codes[i] : other];
		call->out->numbers[i] = window_statistic(group, call->node->function->variant, 0);
	}
	return 0;
}

#define WINDOWED .ordered = true, .windowed = true

const struct expr_function expr_window_functions[] = {
	{"rolling_mean", "nW", 'n', window_rolling, WINDOW_MEAN, WINDOWED, .shape = "rolling_mean(x, rows)"},
	{"rolling_sd", "nW", 'n', window_rolling, WINDOW_SD, WINDOWED, .shape = "rolling_sd(x, rows)"},
	{"rolling_sum", "nW", 'n', window_rolling, WINDOW_SUM, WINDOWED, .shape = "rolling_sum(x, rows)"},
	{"rolling_min", "nW", 'n', window_rolling, WINDOW_MIN, WINDOWED, .shape = "rolling_min(x, rows)"},
	{"rolling_max", "nW", 'n', window_rolling, WINDOW_MAX, WINDOWED, .shape = "rolling_max(x, rows)"},
	{"lag", "nW", 'n', window_lag, 0, WINDOWED, .forgets_target = true, .shape = "lag(x, rows)"},
	{"diff", "n", 'n', window_lag, 1, WINDOWED, .shape = "diff(x)"},
	{"zscore", "n", 'n', window_column, STATISTIC_ZSCORE, WINDOWED, .shape = "zscore(x)"},
	{"column_mean", "n", 'n', window_column, STATISTIC_MEAN, WINDOWED, .shape = "column_mean(x)"},
	{"column_sd", "n", 'n', window_column, STATISTIC_SD, WINDOWED, .shape = "column_sd(x)"},
	{"column_min", "n", 'n', window_column, STATISTIC_MIN, WINDOWED, .shape = "column_min(x)"},
	{"column_max", "n", 'n', window_column, STATISTIC_MAX, WINDOWED, .shape = "column_max(x)"},
	{"group_mean", "nk", 'n', window_group, STATISTIC_MEAN, WINDOWED, .shape = "group_mean(x, key)"},
	{"group_sd", "nk", 'n', window_group, STATISTIC_SD, WINDOWED, .shape = "group_sd(x, key)"},
	{"group_min", "nk", 'n', window_group, STATISTIC_MIN, WINDOWED, .shape = "group_min(x, key)"},
	{"group_max", "nk", 'n', window_group, STATISTIC_MAX, WINDOWED, .shape = "group_max(x, key)"},
	{"group_count", "k", 'n', window_group, STATISTIC_COUNT, WINDOWED, .shape = "group_count(key)"},
	{0},
};
