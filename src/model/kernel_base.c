/* kernel_base.c - the kernels with four lanes, which every CPU of the compiler's target runs, and the choice among the sets. */
#include "model/kernel.h"
#define SIMD_LANES 4
#include "model/kernel_all.h"

#include <stdlib.h>

static bool always(void)
{
	return true;
}

KERNEL_SET(base, always);

size_t kernel_list(const struct kernel_set *out[3])
{
	static const struct kernel_set *const all[] = {&kernel_set_base, &kernel_set_avx2, &kernel_set_avx512};
	size_t count = 0;
	for (size_t i = 0; i < 3; i++)
		if (all[i]->available())
			out[count++] = all[i];
	return count;
}

const struct kernel_set *kernel_choose(const char *isa)
{
	const struct kernel_set *sets[3];
	size_t count = kernel_list(sets);
	for (size_t i = 0; isa && i < count; i++)
		if (strcmp(sets[i]->isa, isa) == 0)
			return sets[i];
	return isa ? NULL : sets[count - 1];
}
