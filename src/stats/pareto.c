/* pareto.c - see pareto.h. Every pair is looked at: tables of settings have tens of rows. */
#include "stats/pareto.h"

#include <math.h>

static bool is_known(const double *row, size_t objectives)
{
	for (size_t k = 0; k < objectives; k++)
		if (isnan(row[k]))
			return false;
	return true;
}

static bool beats(const double *row, const double *other, const bool *higher_is_better, size_t objectives)
{
	bool better = false;
	for (size_t k = 0; k < objectives; k++) {
		double gain = higher_is_better[k] ? row[k] - other[k] : other[k] - row[k];
		if (gain < 0)
			return false;
		better = better || gain > 0;
	}
	return better;
}

void pareto_front(const double *values, size_t count, const bool *higher_is_better, size_t objectives, bool *front)
{
	for (size_t i = 0; i < count; i++) {
		front[i] = is_known(values + i * objectives, objectives);
		for (size_t j = 0; j < count && front[i]; j++)
			front[i] =
				!is_known(values + j * objectives, objectives) ||
				!beats(values + j * objectives, values + i * objectives, higher_is_better, objectives);
	}
}
