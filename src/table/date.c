/* date.c - see date.h. The calendar is the Gregorian one, before 1582 too. */
#include "table/date.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct date_fields {
	int year, month, day, day_of_year, hour, minute;
	double second;
};

/* Days of a civil date; years begin in March, so that the leap day comes last. */
static int64_t date_days(int year, int month, int day)
{
	int64_t y = month <= 2 ? (int64_t)year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/*
 * Years begin in March here too. Dividing by the length of a year or of a month is a multiplication that is exact in this range
 * (C. Neri, L. Schneider, "Euclidean affine functions and their application to calendar algorithms", 2023); eras of 400 years are
 * added first, so that everything is positive.
 */
void date_split(double days, struct date_parts *out)
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

static bool date_is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int date_month_days(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return days[month - 1] + (month == 2 && date_is_leap(year));
}

/* At most `most` digits; -1 where there is none. */
static int date_take_number(const char **at, const char *end, int most)
{
	int value = 0, count = 0;
	for (; *at < end && count < most && (unsigned char)(**at - '0') < 10; (*at)++, count++)
		value = value * 10 + (**at - '0');
	return count ? value : -1;
}

static int date_take_month(const char **at, const char *end)
{
	static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
					    "july",    "august",   "september", "october", "november", "december"};
	size_t left = (size_t)(end - *at);
	for (int month = 0; month < 12; month++) {
		size_t same = 0, length = strlen(names[month]);
		while (same < left && same < length && ((*at)[same] | 0x20) == names[month][same])
			same++;
		if (same < 3)
			continue;
		*at += same == length ? same : 3;
		return month + 1;
	}
	return -1;
}

static bool date_take_second(const char **at, const char *end, double *out)
{
	int whole = date_take_number(at, end, 2);
	double scale = 1;
	*out = whole;
	if (whole >= 0 && *at < end && **at == '.')
		for ((*at)++; *at < end && (unsigned char)(**at - '0') < 10; (*at)++) {
			scale /= 10;
			*out += (**at - '0') * scale;
		}
	return whole >= 0 && whole <= 60;
}

static bool date_take(char directive, const char **at, const char *end, struct date_fields *out)
{
	switch (directive) {
	case 'Y': {
		const char *first = *at;
		out->year = date_take_number(at, end, 4);
		return *at - first == 4;
	}
	case 'y':
		out->year = date_take_number(at, end, 2);
		if (out->year < 0)
			return false;
		out->year += out->year < 69 ? 2000 : 1900;
		return true;
	case 'm':
		out->month = date_take_number(at, end, 2);
		return out->month >= 1 && out->month <= 12;
	case 'd':
		out->day = date_take_number(at, end, 2);
		return out->day >= 1 && out->day <= 31;
	case 'j':
		out->day_of_year = date_take_number(at, end, 3);
		return out->day_of_year >= 1 && out->day_of_year <= 366;
	case 'b':
	case 'B':
		out->month = date_take_month(at, end);
		return out->month >= 1;
	case 'H':
		out->hour = date_take_number(at, end, 2);
		return out->hour >= 0 && out->hour <= 23;
	case 'M':
		out->minute = date_take_number(at, end, 2);
		return out->minute >= 0 && out->minute <= 59;
	case 'S':
		return date_take_second(at, end, &out->second);
	default:
		return *at < end && *(*at)++ == directive;
	}
}

int date_check_format(const char *format, struct err *err)
{
	bool any = false;
	for (const char *at = format; *at; at++) {
		if (*at != '%')
			continue;
		at++;
		if (!*at || !strchr("YymdjbBHMS%", *at))
			return err_set(err, ERR_INPUT,
				       "'%%%.1s' is no part of a date (%%Y %%y %%m %%d %%j %%b %%H %%M %%S)", at);
		any = true;
	}
	return any ? 0 : err_set(err, ERR_INPUT, "'%s' is no date format: nothing like %%Y in it", format);
}

bool date_shape_of(const char *format, struct date_shape *out)
{
	*out = (struct date_shape){0};
	for (const char *at = format; *at; at++, out->count++) {
		if (out->count == DATE_MOST_ITEMS)
			return false;
		struct date_item *item = &out->items[out->count];
		bool directive = *at == '%';
		at += directive;
		if (directive && (!*at || !strchr("Yymd", *at)))
			return false;
		item->directive = directive ? *at : 0;
		item->literal = *at;
		item->width = item->directive == 'Y' ? 4 : item->directive ? 2 : 1;
		if (*at == ' ') /* any number of blanks */
			return false;
		out->length += item->width;
	}
	return true;
}

/* False also where the text is a date, but not as wide as can be: date_parse decides then. */
static bool date_take_shape(const char *at, const struct date_shape *shape, struct date_fields *out)
{
	for (size_t i = 0; i < shape->count; i++) {
		const struct date_item *item = &shape->items[i];
		int value = 0;
		if (!item->directive) {
			if (*at++ != item->literal)
				return false;
			continue;
		}
		for (unsigned digit = 0; digit < item->width; digit++, at++) {
			if ((unsigned char)(*at - '0') > 9)
				return false;
			value = value * 10 + (*at - '0');
		}
		if (item->directive == 'm')
			out->month = value;
		else if (item->directive == 'd')
			out->day = value;
		else
			out->year = item->directive == 'Y' ? value : value + (value < 69 ? 2000 : 1900);
	}
	return out->month >= 1 && out->month <= 12 && out->day >= 1;
}

bool date_parse_shape(const char *text, size_t length, const struct date_shape *shape, double *days)
{
	struct date_fields fields = {.year = 1970, .month = 1, .day = 1};
	if (length != shape->length || !date_take_shape(text, shape, &fields) ||
	    fields.day > date_month_days(fields.year, fields.month))
		return false;
	*days = (double)date_days(fields.year, fields.month, fields.day);
	return true;
}

bool date_parse(const char *text, size_t length, const char *format, double *days)
{
	struct date_fields fields = {.year = 1970, .month = 1, .day = 1};
	const char *at = text, *end = text + length;
	for (; *format; format++) {
		if (*format == ' ') {
			while (at < end && *at == ' ')
				at++;
		} else if (*format == '%') {
			if (!date_take(*++format, &at, end, &fields))
				return false;
		} else if (at == end || *at++ != *format) {
			return false;
		}
	}
	if (at != end || fields.day > date_month_days(fields.year, fields.month))
		return false;
	if (fields.day_of_year > 365 + date_is_leap(fields.year))
		return false;
	int64_t whole = fields.day_of_year ? date_days(fields.year, 1, 1) + fields.day_of_year - 1
					   : date_days(fields.year, fields.month, fields.day);
	double seconds = fields.hour * 3600.0 + fields.minute * 60.0 + fields.second;
	*days = seconds != 0 ? (double)whole + seconds / 86400.0 : (double)whole;
	return true;
}

size_t date_write(double days, char *out, size_t size)
{
	struct date_parts parts;
	if (!(days > -1e8 && days < 1e8)) {
		out[0] = 0;
		return 0;
	}
	int64_t seconds = (int64_t)llround((days - floor(days)) * 86400.0);
	date_split(floor(days) + (double)(seconds / 86400), &parts);
	seconds %= 86400;
	int length = snprintf(out, size, "%04d-%02d-%02d", parts.year, parts.month, parts.day);
	if (seconds)
		length += snprintf(out + length, size - (size_t)length, "T%02d:%02d:%02d", (int)(seconds / 3600),
				   (int)(seconds / 60 % 60), (int)(seconds % 60));
	return (size_t)length;
}
