/* number.c - see number.h. */
#include "table/number.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MOST_DIGITS = 19, NUMBER_SHORT = 64 };

struct number_parts {
	uint64_t digits;
	int count; /* of significant digits */
	int64_t exponent;
	bool negative;
};

static bool number_is_digit(char byte)
{
	return (unsigned char)(byte - '0') < 10;
}

/* The decimal number of [text, end): false where it is none. */
static bool number_take_apart(const char *text, const char *end, struct number_parts *out)
{
	uint64_t digits = 0;
	int64_t exponent = 0;
	const char *at = text;
	out->negative = *at == '-';
	at += *at == '-' || *at == '+';
	const char *first = at;
	for (; at < end && number_is_digit(*at); at++)
		digits = digits * 10 + (uint64_t)(*at - '0');
	int64_t count = at - first;
	if (at < end && *at == '.') {
		const char *point = ++at;
		for (; at < end && number_is_digit(*at); at++)
			digits = digits * 10 + (uint64_t)(*at - '0');
		exponent = point - at;
		count -= exponent;
	}
	if (!count)
		return false;
	if (count > NUMBER_MOST_DIGITS) /* zeros in front are not significant */
		for (; first < at && (*first == '0' || *first == '.'); first++)
			count -= *first == '0';
	if (at < end && (*at | 0x20) == 'e') {
		bool minus = ++at < end && *at == '-';
		int64_t written = 0;
		at += at < end && (*at == '-' || *at == '+');
		if (at == end)
			return false;
		for (; at < end && number_is_digit(*at); at++)
			written = written < 100000 ? written * 10 + (*at - '0') : written;
		exponent += minus ? -written : written;
	}
	out->digits = digits;
	out->count = count > 1000 ? 1000 : (int)count;
	out->exponent = exponent;
	return at == end;
}

/* The rounding of digits * 10^exponent; false where it could not be decided. */
static bool number_round(uint64_t digits, int exponent, double *out)
{
	int zeros = __builtin_clzll(digits);
	const uint64_t *power = number_powers + 2 * (exponent - NUMBER_POWER_LEAST);
	digits <<= zeros;
	unsigned __int128 product = (unsigned __int128)digits * power[0];
	uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
	const uint64_t mask = UINT64_MAX >> 55;
	if ((high & mask) == mask) {
		uint64_t more = (uint64_t)((unsigned __int128)digits * power[1] >> 64);
		low += more;
		high += more > low;
	}
	if (low == UINT64_MAX && (exponent < -27 || exponent > 55))
		return false;
	int upper = (int)(high >> 63), shift = upper + 64 - 52 - 3;
	uint64_t mantissa = high >> shift;
	/* floor(exponent * log2(10)), by a fraction that is exact in this range; the offset keeps it positive. */
	int64_t log2 = (((152170 + 65536) * ((int64_t)exponent + 65536)) / 65536) - (152170 + 65536);
	int binary = (int)log2 + 63 + upper - zeros + 1023;
	if (binary <= 0 || binary >= 0x7ff - 1)
		return false;
	/* Halfway between two doubles, and exactly so: to even. */
	if (low <= 1 && exponent >= -4 && exponent <= 23 && (mantissa & 3) == 1 && mantissa << shift == high)
		mantissa &= ~1ull;
	mantissa = (mantissa + (mantissa & 1)) >> 1;
	if (mantissa >= 2ull << 52) {
		mantissa = 1ull << 52;
		binary++;
	}
	uint64_t bits = (mantissa & ~(1ull << 52)) | (uint64_t)binary << 52;
	memcpy(out, &bits, sizeof(bits));
	return true;
}

static double number_by_library(const char *text, size_t length)
{
	char small[NUMBER_SHORT], *copy = length < sizeof(small) ? small : mem_alloc(length + 1);
	memcpy(copy, text, length);
	copy[length] = 0;
	double value = strtod(copy, NULL);
	if (copy != small)
		free(copy);
	return value;
}

bool number_parse(const char *text, size_t length, double *out)
{
	static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
				       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	const char *end = text + length;
	struct number_parts parts;
	double value;
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	while (text < end && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (text == end || !number_take_apart(text, end, &parts))
		return false;
	if (parts.count <= NUMBER_MOST_DIGITS && parts.digits == 0)
		value = 0;
	else if (parts.count > NUMBER_MOST_DIGITS)
		goto library;
	else if (parts.digits < 1ull << 53 && parts.exponent >= -22 && parts.exponent <= 22)
		value = parts.exponent < 0 ? (double)parts.digits / exact[-parts.exponent]
					   : (double)parts.digits * exact[parts.exponent];
	else if (parts.exponent < NUMBER_POWER_LEAST || parts.exponent > NUMBER_POWER_MOST ||
		 !number_round(parts.digits, (int)parts.exponent, &value))
		goto library;
	*out = parts.negative ? -value : value;
	return true;
library:
	*out = number_by_library(text, (size_t)(end - text));
	return true;
}
