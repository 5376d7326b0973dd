/*
 * date.h - days since 1970-01-01 from and to text, by the formats of strptime that tables use.
 *
 *	%Y  four digits      %y  two digits: 69 to 99 are 19xx, 00 to 68 are 20xx
 *	%m  month            %d  day            %j  day of the year
 *	%b  month by name, at least its first three letters, English     %B  the same
 *	%H %M %S             hour, minute, second with a fraction where there is one
 *	%%  a per cent sign
 * Numbers may lack leading zeros where something else follows them. A blank matches any number of blanks; all else matches itself.
 * What is left out counts as the first: %Y alone is 1 January. The whole text must match, and the date must exist.
 */
#ifndef PITOT_TABLE_DATE_H
#define PITOT_TABLE_DATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct date_parts {
	int year, month, day;
};

/* Whether every directive of the format is one of those above. */
int date_check_format(const char *format, struct err *err);

/* A format that is nothing but %Y, %y, %m, %d and characters, all of them as wide as can be: such a text is two words of `wide`
 * bytes, its first and its last, and its digits lie at known places of them. */
enum { DATE_MOST_BYTES = 16 };
struct date_pair {
	unsigned char word, shift;
};
struct date_shape {
	size_t length, wide;
	uint64_t pattern[2], slack[2];
	bool has_year, long_year, has_month, has_day;
	struct date_pair year, year_rest, month, day;
};

/* False where the format is of another kind. */
bool date_shape_of(const char *format, struct date_shape *out);
/* The fast way for most texts; where it says no, date_parse has the last word. */
bool date_parse_shape(const char *text, size_t length, const struct date_shape *shape, double *days);
bool date_parse(const char *text, size_t length, const char *format, double *days);
/*
 * Days, with the time of day as a fraction, to year, month, day; between -1e8 and 1e8. Years begin in March, so that the leap day comes
 * last. Dividing by the length of a year or of a month is a multiplication that is exact in this range (C. Neri, L. Schneider,
 * "Euclidean affine functions and their application to calendar algorithms", 2023); eras of 400 years are added first, so that
 * everything is positive. Here, so that a loop that wants one part computes no other.
 */
static inline void date_split(double days, struct date_parts *out)
{
	enum { ERAS = 685, ERA_DAYS = 146097, ERA_YEARS = 400, EPOCH = 719468 };
	int64_t whole = (int64_t)days;
	whole -= (double)whole > days;
	uint32_t four = 4 * (uint32_t)(whole + EPOCH + (int64_t)ERAS * ERA_DAYS) + 3;
	uint32_t century = four / ERA_DAYS, of_century = four % ERA_DAYS / 4;
	uint64_t product = 2939745ull * (4 * of_century + 3);
	uint32_t year = (uint32_t)(product >> 32), of_year = (uint32_t)product / 2939745 / 4;
	uint32_t month = 2141 * of_year + 197913;
	bool next = of_year >= 306; /* January or February */
	out->day = (int)((month & 0xffff) / 2141) + 1;
	out->month = (int)(month >> 16) - (next ? 12 : 0);
	out->year = (int)(100 * century + year) - ERAS * ERA_YEARS + next;
}
/* "2003-01-31", with "T12:34:56" where there is a time of day; the length. `size` at least 40. */
size_t date_write(double days, char *out, size_t size);

#endif
