/* drift.c - see drift.h. */
#include "stats/drift.h"
#include "stats/order.h"

#include <math.h>

double drift_ks(const double *sorted_early, size_t n_early, const double *sorted_late, size_t n_late)
{
	double most = 0;
	size_t i = 0, j = 0;
	if (!n_early || !n_late)
		return NAN;
	while (i < n_early && j < n_late) {
		double value = sorted_early[i] < sorted_late[j] ? sorted_early[i] : sorted_late[j];
		while (i < n_early && sorted_early[i] <= value)
			i++;
		while (j < n_late && sorted_late[j] <= value)
			j++;
		most = fmax(most, fabs((double)i / (double)n_early - (double)j / (double)n_late));
	}
	return most;
}

double drift_l1(const uint64_t *early, const uint64_t *late, size_t categories)
{
	double sum = 0, total_early = 0, total_late = 0;
	for (size_t i = 0; i < categories; i++) {
		total_early += (double)early[i];
		total_late += (double)late[i];
	}
	if (total_early <= 0 || total_late <= 0)
		return NAN;
	for (size_t i = 0; i < categories; i++)
		sum += fabs((double)early[i] / total_early - (double)late[i] / total_late);
	return sum;
}

void drift_fences(const double *sorted, size_t n, struct fences *out)
{
	double first = order_quantile(sorted, n, 0.25), third = order_quantile(sorted, n, 0.75);
	out->low = first - 1.5 * (third - first);
	out->high = third + 1.5 * (third - first);
}
