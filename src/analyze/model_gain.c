/* model_gain.c - shares, gains, Amdahl's law and exponents of profiled models: see model_gain.h. */
#include "analyze/model_gain.h"
#include "base/str.h"
#include "stats/dist.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
	const struct model_share *x = a, *y = b;
	return x->time_s > y->time_s ? -1 : x->time_s < y->time_s ? 1 : x->op < y->op ? -1 : 1;
}

static int by_gain_first(const void *a, const void *b)
{
	const struct model_share *x = a, *y = b;
	double gain_x = isnan(x->gain_s) ? -1 : x->gain_s, gain_y = isnan(y->gain_s) ? -1 : y->gain_s;
	return gain_x > gain_y ? -1 : gain_x < gain_y ? 1 : by_time(a, b);
}

void model_shares_of(const struct model_row *row, enum model_phase phase, bool by_gain, struct model_shares *out)
{
	double running = 0;
	*out = (struct model_shares){0};
	for (size_t i = 0; i < row->ops.len; i++) {
		const struct model_time *time = &row->ops.items[i].time[phase];
		if (!time->runs)
			continue;
		double efficiency = time->efficiency;
		bool known = efficiency > 0 && efficiency <= 1;
		out->total_s += time->median_s;
		vec_push(&out->items, ((struct model_share){.op = i,
							    .time_s = time->median_s,
							    .gain_s = known ? time->median_s * (1 - efficiency)
								      : efficiency > 1 ? 0
										       : NAN}));
	}
	if (out->items.len)
		qsort(out->items.items, out->items.len, sizeof(struct model_share), by_gain ? by_gain_first : by_time);
	for (size_t i = 0; i < out->items.len; i++) {
		struct model_share *share = &out->items.items[i];
		share->share = out->total_s > 0 ? share->time_s / out->total_s : NAN;
		running += share->share;
		share->running = running;
	}
}

size_t model_shares_reach(const struct model_shares *shares, double share)
{
	size_t count = 0;
	while (count < shares->items.len && (count == 0 || shares->items.items[count - 1].running < share))
		count++;
	return count;
}

/* Whether `part` is one of the parts of a path that dots divide. */
static bool has_part(const char *path, const char *part)
{
	size_t length = strlen(part);
	for (const char *at = path; *at;) {
		size_t here = strcspn(at, ".");
		if (here == length && strncmp(at, part, length) == 0)
			return true;
		at += here + (at[here] == '.');
	}
	return false;
}

static bool meets(const struct model_row *row, const struct model_op_row *op, const char *what)
{
	const char *layer = row->layers.items[op->layer].path;
	size_t length = strlen(what);
	bool inside = strncmp(layer, what, length) == 0 && (layer[length] == '.' || !layer[length]);
	return strcmp(op->kind, what) == 0 || strcmp(op->type, what) == 0 || strcmp(op->name, what) == 0 ||
	       (*layer && inside) || has_part(layer, what) || has_part(op->name, what);
}

int model_whatif(const struct model_row *row, const char *text, struct model_whatif *out, struct err *err)
{
	const char *equal = strrchr(text, '=');
	char number[32];
	size_t length = equal ? strlen(equal + 1) : 0;
	*out = (struct model_whatif){.factor = INFINITY};
	if (!equal || equal == text || (size_t)(equal - text) >= sizeof(out->what) || !length ||
	    length >= sizeof(number))
		return err_set(err, ERR_USAGE, "'%s': expected PART=2x or PART=0", text);
	snprintf(out->what, sizeof(out->what), "%.*s", (int)(equal - text), text);
	snprintf(number, sizeof(number), "%.*s", (int)(length - (equal[length] == 'x')), equal + 1);
	if (strcmp(equal + 1, "0") != 0 &&
	    (equal[length] != 'x' || !str_to_double(number, &out->factor) || out->factor <= 0))
		return err_set(err, ERR_USAGE, "'%s': expected PART=2x or PART=0", text);
	for (size_t i = 0; i < row->ops.len; i++) {
		const struct model_op_row *op = &row->ops.items[i];
		double time_s = op->time[MODEL_FORWARD].runs ? op->time[MODEL_FORWARD].median_s : 0;
		out->old_s += time_s;
		if (meets(row, op, out->what)) {
			out->part_s += time_s;
			out->ops++;
		}
	}
	if (!row->time[MODEL_FORWARD].runs)
		return err_set(err, ERR_INPUT, "the model was only counted: there is no time to predict from");
	if (!out->ops)
		return err_set(err, ERR_INPUT, "no operator, kind or layer of %s is called '%s'", row->name, out->what);
	/* What is in no operator stays as it is. */
	double rest = row->time[MODEL_FORWARD].median_s - out->old_s;
	out->old_s += rest > 0 ? rest : 0;
	out->ceiling_s = out->old_s - out->part_s;
	out->new_s = out->ceiling_s + (isinf(out->factor) ? 0 : out->part_s / out->factor);
	return 0;
}

bool model_fit_power(const double *variable, const double *quantity, size_t count, struct model_fit *out)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0, n = 0;
	for (size_t i = 0; i < count; i++)
		if (variable[i] > 0 && quantity[i] > 0) {
			mean_x += log(variable[i]);
			mean_y += log(quantity[i]);
			n++;
		}
	if (n < 3)
		return false;
	mean_x /= n;
	mean_y /= n;
	for (size_t i = 0; i < count; i++)
		if (variable[i] > 0 && quantity[i] > 0) {
			double x = log(variable[i]) - mean_x, y = log(quantity[i]) - mean_y;
			xx += x * x;
			xy += x * y;
			yy += y * y;
		}
	if (!(xx > 0))
		return false;
	double residual = fmax(0, yy - xy * xy / xx);
	out->exponent = xy / xx;
	out->r2 = yy > 0 ? 1 - residual / yy : 1;
	double half = dist_t_quantile(0.975, n - 2) * sqrt(residual / (n - 2) / xx);
	out->low = out->exponent - half;
	out->high = out->exponent + half;
	out->points = (int64_t)n;
	return true;
}
