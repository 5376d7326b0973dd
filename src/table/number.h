/*
 * number.h - text to double, correctly rounded, many times faster than strtod.
 *
 * Up to 19 digits are read as one whole number w and a power of ten: small ones are exact in one multiplication or division, the rest
 * goes through the 128-bit product of w and a table of powers of five, which decides the rounding except in rare cases; those, and
 * longer numbers, are left to strtod. The result is bit for bit that of strtod in the C locale.
 */
#ifndef PITOT_TABLE_NUMBER_H
#define PITOT_TABLE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False where the text, without blanks at its ends, is not wholly a decimal number ("1", "-.5", "1e-3"); names of infinities and
 * NaNs, hexadecimal and digit separators are no numbers. What overflows is infinite. */
bool number_parse(const char *text, size_t length, double *out);

/* The most common cell, nothing but a few digits: what number_parse says of it, or false where it is not that. */
static inline bool number_parse_whole(const char *text, size_t length, double *out)
{
	uint64_t digits = 0;
	if (!length || length > 15) /* so many are exact in a double */
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned char)text[i] - '0';
		if (digit > 9)
			return false;
		digits = digits * 10 + digit;
	}
	*out = (double)digits;
	return true;
}

/* The 128 most significant bits of 5^q for q from NUMBER_POWER_LEAST on: high half, low half. */
enum { NUMBER_POWER_LEAST = -342, NUMBER_POWER_MOST = 308 };
extern const uint64_t number_powers[2 * (NUMBER_POWER_MOST - NUMBER_POWER_LEAST + 1)];

#endif
