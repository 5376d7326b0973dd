/* metric.c - see metric.h. */
#include "base/metric.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct metric metrics[METRIC_COUNT] = {
#define METRIC_ROW(id, name, unit, direction, noise, total, meaning) \
	[METRIC_##id] = {name, UNIT_##unit, direction##_IS_BETTER, NOISE_##noise, TOTAL_##total, meaning},
	METRIC_LIST(METRIC_ROW)
#undef METRIC_ROW
};
/* clang-format on */

int metric_find(const char *name)
{
	for (int id = 0; id < METRIC_COUNT; id++)
		if (strcmp(metrics[id].name, name) == 0)
			return id;
	return -1;
}

const char *metric_unit_name(enum metric_unit unit)
{
	static const char *const names[] = {"s", "bytes", "count", "percent", "J", "W", "ratio"};
	return names[unit];
}

const char *metric_method_name(enum metric_method method)
{
	static const char *const names[] = {"exact", "sampled", "estimated"};
	return names[method];
}

const char *metric_direction_name(enum metric_direction direction)
{
	static const char *const names[] = {"lower", "higher", "neither"};
	return names[direction];
}

const char *metric_noise_name(enum metric_noise noise)
{
	static const char *const names[] = {"time", "level", "count"};
	return names[noise];
}

const char *metric_total_name(enum metric_total total)
{
	static const char *const names[] = {"sum", "max", "min", "mean by time", "measured for the run"};
	return names[total];
}

void metric_set(struct metric_value *value, double number, enum metric_method method, const char *source, ...)
{
	*value = (struct metric_value){.state = METRIC_KNOWN, .method = method, .value = number, .coverage = 1};
	va_list args;
	va_start(args, source);
	vsnprintf(value->source, sizeof(value->source), source, args);
	va_end(args);
}

void metric_set_absent(struct metric_value *value, const char *reason, ...)
{
	*value = (struct metric_value){.state = METRIC_ABSENT};
	va_list args;
	va_start(args, reason);
	vsnprintf(value->reason, sizeof(value->reason), reason, args);
	va_end(args);
}
