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

struct date_parts {
	int year, month, day;
};

/* Whether every directive of the format is one of those above. */
int date_check_format(const char *format, struct err *err);

/* A format that is nothing but %Y, %y, %m, %d and characters, all of them as wide as can be. */
enum { DATE_MOST_ITEMS = 16 };
struct date_item {
	char directive; /* 0: `literal` */
	char literal;
	unsigned char width;
};
struct date_shape {
	struct date_item items[DATE_MOST_ITEMS];
	size_t count, length;
};

/* False where the format is of another kind. */
bool date_shape_of(const char *format, struct date_shape *out);
/* The fast way for most texts; where it says no, date_parse has the last word. */
bool date_parse_shape(const char *text, size_t length, const struct date_shape *shape, double *days);
bool date_parse(const char *text, size_t length, const char *format, double *days);
/* Days, with the time of day as a fraction, to year, month, day; between -1e8 and 1e8. */
void date_split(double days, struct date_parts *out);
/* "2003-01-31", with "T12:34:56" where there is a time of day; the length. `size` at least 40. */
size_t date_write(double days, char *out, size_t size);

#endif
