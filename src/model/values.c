/* values.c - reads or makes the values of a tensor: see values.h. */
#include "model/values.h"
#include "stats/rng.h"

#include <string.h>

static float from_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
	uint32_t bits;
	float value;
	if (exponent == 0) { /* zero and the subnormal: fraction × 2^-24 */
		value = (float)fraction / 16777216.0F;
		return sign ? -value : value;
	}
	bits = exponent == 31 ? sign | 0x7f800000 | fraction << 13 : sign | (exponent + 112) << 23 | fraction << 13;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static float from_bfloat(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The files are little endian, as every machine that this runs on. */
#define LOAD(type)                                                                                                     \
	({                                                                                                             \
		type loaded;                                                                                           \
		memcpy(&loaded, at, sizeof(loaded));                                                                   \
		loaded;                                                                                                \
	})

static double load_double(enum element element, const unsigned char *at)
{
	switch (element) {
	case ELEMENT_F32:
		return (double)LOAD(float);
	case ELEMENT_F64:
		return LOAD(double);
	case ELEMENT_F16:
		return (double)from_half(LOAD(uint16_t));
	case ELEMENT_BF16:
		return (double)from_bfloat(LOAD(uint16_t));
	case ELEMENT_I64:
		return (double)LOAD(int64_t);
	case ELEMENT_I32:
		return LOAD(int32_t);
	case ELEMENT_I16:
		return LOAD(int16_t);
	case ELEMENT_I8:
		return LOAD(int8_t);
	case ELEMENT_U64:
		return (double)LOAD(uint64_t);
	case ELEMENT_U32:
		return LOAD(uint32_t);
	case ELEMENT_U16:
		return LOAD(uint16_t);
	case ELEMENT_U8:
	case ELEMENT_BOOL:
	case ELEMENT_COUNT:
		break;
	}
	return *at;
}

/* A conversion that C leaves undefined outside the range becomes the nearest number. */
static int64_t whole(double value)
{
	if (!(value > -9.2e18))
		return INT64_MIN;
	return value < 9.2e18 ? (int64_t)value : INT64_MAX;
}

static uint64_t name_seed(const struct graph_tensor *tensor, uint64_t seed)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ seed; /* FNV-1a */
	for (const char *at = tensor->name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ULL;
	return hash;
}

double values_element(const struct graph_tensor *tensor, int64_t index)
{
	if (tensor->source != TENSOR_BYTES)
		return tensor->fill;
	return load_double(tensor->element, tensor->bytes + (size_t)index * element_bytes(tensor->element));
}

static double draw(const struct graph_tensor *tensor, struct rng *rng)
{
	if (tensor->source == TENSOR_NORMAL)
		return tensor->fill * rng_normal(rng);
	return (double)rng_below(rng, tensor->fill >= 1 ? (uint64_t)tensor->fill : 1);
}

void values_read_float(const struct graph_tensor *tensor, uint64_t seed, float *out)
{
	int64_t count = shape_elements(&tensor->shape);
	struct rng rng;
	if (tensor->source == TENSOR_BYTES && tensor->element == ELEMENT_F32) {
		memcpy(out, tensor->bytes, (size_t)count * sizeof(*out));
		return;
	}
	rng_init(&rng, name_seed(tensor, seed));
	for (int64_t i = 0; i < count; i++) {
		bool drawn = tensor->source == TENSOR_NORMAL || tensor->source == TENSOR_IDS;
		out[i] = (float)(drawn ? draw(tensor, &rng) : values_element(tensor, i));
	}
}

void values_read_int(const struct graph_tensor *tensor, uint64_t seed, int64_t *out)
{
	int64_t count = shape_elements(&tensor->shape);
	struct rng rng;
	if (tensor->source == TENSOR_BYTES && tensor->element == ELEMENT_I64) {
		memcpy(out, tensor->bytes, (size_t)count * sizeof(*out));
		return;
	}
	rng_init(&rng, name_seed(tensor, seed));
	for (int64_t i = 0; i < count; i++) {
		bool drawn = tensor->source == TENSOR_NORMAL || tensor->source == TENSOR_IDS;
		out[i] = whole(drawn ? draw(tensor, &rng) : values_element(tensor, i));
	}
}
