/* work.c - sums of work and what follows from them: see work.h. */
#include "base/work.h"

#include <math.h>

#define WORK_LIMIT ((int64_t)1 << 60)

bool work_add(struct work *to, const struct work *from)
{
	bool fits = true;
#define WORK_SUM(name)                                                                                                 \
	fits = fits && !__builtin_add_overflow(to->name, from->name, &to->name) && to->name <= WORK_LIMIT;
	WORK_LIST(WORK_SUM)
#undef WORK_SUM
	return fits;
}

int64_t work_flops(const struct work *work)
{
	return 2 * work->causal_macs + work->point_ops;
}

int64_t work_backward_flops(const struct work *work)
{
	return 2 * work->needed_backward_macs + 2 * work->point_ops;
}

int64_t work_bytes(const struct work *work)
{
	return work->weight_bytes + work->read_bytes + work->written_bytes;
}

double work_intensity(const struct work *work)
{
	int64_t bytes = work_bytes(work);
	return bytes > 0 ? (double)work_flops(work) / (double)bytes : NAN;
}
