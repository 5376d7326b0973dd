/* host_number.c - see host_number.h. */
#include "analyze/host_number.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

double host_number(const struct run_record *record, const char *key)
{
	for (size_t i = 0; i < record->host.len; i++) {
		const struct name_value *fact = &record->host.items[i];
		double number;
		if (fact->name && fact->value && strcmp(fact->name, key) == 0)
			return str_to_double(fact->value, &number) && isfinite(number) ? number : NAN;
	}
	return NAN;
}

double host_usable_cores(const struct run_record *record)
{
	double allowed = host_number(record, "cpus_allowed"), there = host_number(record, "cpus");
	double cores = allowed >= 1 ? allowed : there, limit = host_number(record, "cpu_limit");
	return limit > 0 && limit < cores ? fmax(limit, 1) : cores;
}
