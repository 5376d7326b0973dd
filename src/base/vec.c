/* vec.c - see vec.h. */
#include "base/vec.h"

#include <string.h>

void *vec_grow(void *items, size_t *cap, size_t len, size_t want, size_t item_size)
{
	if (want > *cap) {
		size_t new_cap = *cap ? *cap : 8;
		while (new_cap < want)
			new_cap *= 2;
		items = mem_resize(items, new_cap * item_size);
		*cap = new_cap;
	}
	if (want > len)
		memset((char *)items + len * item_size, 0, (want - len) * item_size);
	return items;
}
