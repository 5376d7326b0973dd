/* shape.c - shapes and element types: see shape.h. */
#include "model/shape.h"
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	size_t bytes;
} elements[] = {
#define ELEMENT_ROW(id, name, bytes) [ELEMENT_##id] = {name, bytes},
	ELEMENT_LIST(ELEMENT_ROW)
#undef ELEMENT_ROW
};

const char *element_name(enum element element)
{
	return elements[element].name;
}

size_t element_bytes(enum element element)
{
	return elements[element].bytes;
}

bool element_is_float(enum element element)
{
	return element == ELEMENT_F32 || element == ELEMENT_F64 || element == ELEMENT_F16 || element == ELEMENT_BF16;
}

struct shape shape_of(size_t rank, const int64_t *dims)
{
	struct shape shape = {.rank = rank};
	assert(rank <= SHAPE_MAX_RANK);
	for (size_t i = 0; i < rank; i++)
		shape.dims[i] = dims[i];
	return shape;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
	return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0])) == 0;
}

bool count_multiply(int64_t a, int64_t b, int64_t *out)
{
	return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

bool count_add_product(int64_t *total, int64_t a, int64_t b)
{
	int64_t product, sum;
	if (!count_multiply(a, b, &product) || __builtin_add_overflow(*total, product, &sum))
		return false;
	*total = sum;
	return true;
}

bool shape_product(const struct shape *shape, size_t from, size_t to, int64_t *out)
{
	int64_t product = 1;
	for (size_t i = from; i < to; i++)
		if (!count_multiply(product, shape->dims[i], &product))
			return false;
	*out = product;
	return true;
}

int64_t shape_elements(const struct shape *shape)
{
	int64_t count;
	return shape_product(shape, 0, shape->rank, &count) ? count : -1;
}

bool shape_axis(const struct shape *shape, int64_t axis, size_t *out)
{
	int64_t rank = (int64_t)shape->rank;
	if (axis < -rank || axis >= rank)
		return false;
	*out = (size_t)(axis < 0 ? axis + rank : axis);
	return true;
}

bool shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out)
{
	struct shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
	for (size_t back = 1; back <= result.rank; back++) {
		int64_t x = back <= a->rank ? a->dims[a->rank - back] : 1;
		int64_t y = back <= b->rank ? b->dims[b->rank - back] : 1;
		if (x != y && x != 1 && y != 1)
			return false;
		result.dims[result.rank - back] = x == 1 ? y : x;
	}
	*out = result;
	return true;
}

const char *shape_text(const struct shape *shape, char *out)
{
	size_t used = 0;
	if (shape->rank == 0)
		snprintf(out, SHAPE_TEXT_SIZE, "scalar");
	for (size_t i = 0; i < shape->rank; i++)
		used += (size_t)snprintf(out + used, SHAPE_TEXT_SIZE - used, "%s%lld", i ? "×" : "",
					 (long long)shape->dims[i]);
	return out;
}
