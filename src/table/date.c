/* date.c - see date.h. The calendar is the Gregorian one, before 1582 too. */
#include "table/date.h"

#include <endian.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct date_fields {
	int year, month, day, day_of_year, hour, minute;
	double second;
};

/* Days before each month, of a common year and of a leap year. */
static const uint16_t date_before[2][13] = {{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
					    {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366}};

static bool date_is_leap(int year)
{
	return year % 4 == 0 && (year % 25 != 0 || year % 16 == 0);
}

/* Days of 1 January; 400 years are added first, so that everything is positive. */
static int32_t date_year_days(int year)
{
	enum { BEFORE_1970 = 865259 };
	uint32_t y = (uint32_t)(year + 399);
	return (int32_t)(365 * y + y / 4 - y / 100 + y / 400) - BEFORE_1970;
}

/* Days of a civil date; false where there is none, in a month from 1 to 12. */
static bool date_make(int year, int month, int day, double *days)
{
	const uint16_t *before = date_before[date_is_leap(year)];
	if (day < 1 || day > before[month] - before[month - 1])
		return false;
	*days = (double)(date_year_days(year) + before[month - 1] + day - 1);
	return true;
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

/* Two digits from `at` on, as they lie in one of the words; false where they do not lie in either. */
static bool date_place_pair(const struct date_shape *shape, size_t at, struct date_pair *out)
{
	size_t wide = shape->wide, second = shape->length - wide;
	bool first = at + 2 <= wide;
	if (!first && at < second)
		return false;
	*out = (struct date_pair){.word = !first, .shift = (unsigned char)(8 * (first ? at : at - second))};
	return true;
}

/* What a word must be: digits are at most 9 after the template is taken away, all else is 0; `slack` makes the top bit tell. */
static void date_place_bytes(struct date_shape *shape, const char *pattern)
{
	for (int word = 0; word < 2; word++) {
		const char *from = pattern + (word ? shape->length - shape->wide : 0);
		for (size_t i = 0; i < shape->wide; i++) {
			uint64_t byte = (unsigned char)from[i], digit = byte == '%';
			shape->pattern[word] |= (digit ? '0' : byte) << 8 * i;
			shape->slack[word] |= (digit ? 0x76ull : 0x7full) << 8 * i;
		}
	}
}

bool date_shape_of(const char *format, struct date_shape *out)
{
	char pattern[DATE_MOST_BYTES + 4];
	size_t places[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX}; /* year, month, day */
	*out = (struct date_shape){0};
	for (const char *at = format; *at; at++) {
		bool directive = *at == '%';
		at += directive;
		if (directive && (!*at || !strchr("Yymd", *at)))
			return false;
		if (*at == ' ' || *at == '%') /* any number of blanks; the pattern's own mark */
			return false;
		size_t width = !directive ? 1 : *at == 'Y' ? 4 : 2;
		if (out->length + width > DATE_MOST_BYTES)
			return false;
		if (directive) {
			places[*at == 'm' ? 1 : *at == 'd' ? 2 : 0] = out->length;
			out->long_year = *at == 'Y' || (*at != 'y' && out->long_year);
		}
		memset(pattern + out->length, directive ? '%' : *at, width);
		out->length += width;
	}
	if (out->length < 4)
		return false;
	out->wide = out->length < 8 ? 4 : 8;
	date_place_bytes(out, pattern);
	out->has_year = places[0] != SIZE_MAX;
	out->has_month = places[1] != SIZE_MAX;
	out->has_day = places[2] != SIZE_MAX;
	return (!out->has_year || (date_place_pair(out, places[0], &out->year) &&
				   (!out->long_year || date_place_pair(out, places[0] + 2, &out->year_rest)))) &&
	       (!out->has_month || date_place_pair(out, places[1], &out->month)) &&
	       (!out->has_day || date_place_pair(out, places[2], &out->day));
}

static int date_pair_value(const uint64_t *words, struct date_pair pair)
{
	uint64_t two = words[pair.word] >> pair.shift;
	return (int)((two & 15) * 10 + (two >> 8 & 15));
}

/* The text as two words that overlap where it is shorter than both, minus the template; false where it is not of that shape. */
static bool date_take_words(const char *text, const struct date_shape *shape, uint64_t *words)
{
	const char *second = text + shape->length - shape->wide;
	if (shape->wide == 8) {
		memcpy(&words[0], text, 8);
		memcpy(&words[1], second, 8);
	} else {
		uint32_t halves[2];
		memcpy(&halves[0], text, 4);
		memcpy(&halves[1], second, 4);
		words[0] = htole64(le32toh(halves[0]));
		words[1] = htole64(le32toh(halves[1]));
	}
	words[0] = le64toh(words[0]) ^ shape->pattern[0];
	words[1] = le64toh(words[1]) ^ shape->pattern[1];
	const uint64_t top = 0x8080808080808080ull, low = ~top;
	uint64_t odd =
		(((words[0] & low) + shape->slack[0]) | words[0]) | (((words[1] & low) + shape->slack[1]) | words[1]);
	return !(odd & top);
}

bool date_parse_shape(const char *text, size_t length, const struct date_shape *shape, double *days)
{
	uint64_t words[2];
	int year = 1970, month = 1, day = 1;
	if (length != shape->length || !date_take_words(text, shape, words))
		return false;
	if (shape->has_year)
		year = date_pair_value(words, shape->year);
	if (shape->has_year && shape->long_year)
		year = 100 * year + date_pair_value(words, shape->year_rest);
	else if (shape->has_year)
		year += year < 69 ? 2000 : 1900;
	if (shape->has_month)
		month = date_pair_value(words, shape->month);
	if (shape->has_day)
		day = date_pair_value(words, shape->day);
	return month >= 1 && month <= 12 && date_make(year, month, day, days);
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
	double whole;
	if (at != end || !date_make(fields.year, fields.month, fields.day, &whole))
		return false;
	if (fields.day_of_year > 365 + date_is_leap(fields.year))
		return false;
	if (fields.day_of_year)
		whole = date_year_days(fields.year) + fields.day_of_year - 1;
	double seconds = fields.hour * 3600.0 + fields.minute * 60.0 + fields.second;
	*days = seconds != 0 ? whole + seconds / 86400.0 : whole;
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
