/*
 * vec.h - a growable array of any type.
 *
 *	VEC(int) numbers = {0};
 *	vec_push(&numbers, 7);
 *	for (size_t i = 0; i < numbers.len; i++) use(numbers.items[i]);
 *	vec_fini(&numbers);
 *
 * The items are plain memory: what they own is freed by whoever owns the vector, before vec_fini.
 */
#ifndef PITOT_BASE_VEC_H
#define PITOT_BASE_VEC_H

#include "base/mem.h"

#include <stdlib.h>

#define VEC(type)                                                                                                      \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t len;                                                                                            \
		size_t cap;                                                                                            \
	}

#define vec_reserve(vec, want)                                                                                         \
	((vec)->items = vec_grow((vec)->items, &(vec)->cap, (vec)->len, (size_t)(want), sizeof(*(vec)->items)))

#define vec_push(vec, item) (vec_reserve(vec, (vec)->len + 1), (vec)->items[(vec)->len++] = (item))

/* A zeroed new last item, as a pointer. */
#define vec_add(vec) (vec_reserve(vec, (vec)->len + 1), &(vec)->items[(vec)->len++])

#define vec_last(vec) (&(vec)->items[(vec)->len - 1])

#define vec_fini(vec) (free((vec)->items), (vec)->items = NULL, (vec)->len = (vec)->cap = 0)

/* Room for `want` items; what lies beyond `len` is zeroed, so that vec_add can promise it. */
void *vec_grow(void *items, size_t *cap, size_t len, size_t want, size_t item_size);

#endif
