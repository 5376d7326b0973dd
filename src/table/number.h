/*
 * number.h - text to double, correctly rounded, many times faster than strtod.
 *
 * Up to 19 digits are read as one whole number w and a power of ten: small ones are exact in one multiplication or division, the rest
 * goes through the 128-bit product of w and a table of powers of five, which decides the rounding except in rare cases; those, and
 * longer numbers, are left to strtod. The result is bit for bit that of strtod in the C locale.
 */
#ifndef PITOT_TABLE_NUMBER_H
#define PITOT_TABLE_NUMBER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* False where the text, without blanks at its ends, is not wholly a decimal number ("1", "-.5", "1e-3"); names of infinities and
 * NaNs, hexadecimal and digit separators are no numbers. What overflows is infinite. */
bool number_parse(const char *text, size_t length, double *out);

/* Four to eight digits at once: the first four and the last four, which may overlap, make eight with zeros in front. */
static inline bool number_parse_eight(const char *text, size_t length, double *out)
{
	uint32_t first, last;
	memcpy(&first, text, sizeof(first));
	memcpy(&last, text + length - 4, sizeof(last));
	uint64_t digits = (uint64_t)(le32toh(first) ^ 0x30303030u) << 8 * (8 - length) |
			  (uint64_t)(le32toh(last) ^ 0x30303030u) << 32;
	if ((digits | ((digits & 0x7f7f7f7f7f7f7f7full) + 0x7676767676767676ull)) & 0x8080808080808080ull)
		return false;
	digits = digits * 2561 >> 8; /* pairs, then fours, then all */
	digits = (digits & 0x00ff00ff00ff00ffull) * 6553601 >> 16;
	digits = (digits & 0x0000ffff0000ffffull) * 42949672960001ull >> 32;
	*out = (double)digits;
	return true;
}

/* The most common cell, nothing but a few digits: what number_parse says of it, or false where it is not that. */
static inline bool number_parse_whole(const char *text, size_t length, double *out)
{
	uint64_t digits = 0;
	if (length >= 4 && length <= 8)
		return number_parse_eight(text, length, out);
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
