/* channel.c - see channel.h. Part of libpitot too: no allocation, no printing, nothing but libc. */
#include "wire/channel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool channel_set_text(struct channel_record *record, const char *text)
{
	size_t length = strnlen(text, CHANNEL_TEXT_SIZE);
	bool whole = length < CHANNEL_TEXT_SIZE;
	if (!whole) {
		length = CHANNEL_TEXT_SIZE - 1;
		while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
			length--;
	}
	memcpy(record->text, text, length);
	record->text[length] = '\0';
	return whole;
}

static size_t escape(const char *text, char *out)
{
	static const char digits[] = "0123456789ABCDEF";
	char *at = out;
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte > ' ' && byte < 0x7F && byte != '%') {
			*at++ = (char)byte;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	return (size_t)(at - out);
}

/* The decimal sign may be a comma or several bytes: whatever is no part of a number in the C locale must be it. */
size_t channel_copy_number(const char *printed, char *out, size_t size)
{
	size_t length = 0;
	bool in_sign = false;
	for (; *printed && length + 1 < size; printed++) {
		bool plain = strchr("0123456789+-e", *printed) != NULL;
		if (plain)
			out[length++] = *printed;
		else if (!in_sign)
			out[length++] = '.';
		in_sign = !plain;
	}
	out[length] = '\0';
	return length;
}

static size_t format_value(double value, char *out, size_t size)
{
	char printed[64];
	snprintf(printed, sizeof(printed), "%.17g", value);
	return channel_copy_number(printed, out, size);
}

size_t channel_format(const struct channel_record *record, char *out)
{
	bool metric = record->kind == CHANNEL_METRIC;
	if (!record->text[0] || (metric && !isfinite(record->value)))
		return 0;
	int head = snprintf(out, CHANNEL_LINE_SIZE, "%c %" PRIu64 " %" PRId64 " ", record->kind, record->mono_ns,
			    record->pid);
	size_t length = (size_t)head;
	length += escape(record->text, out + length);
	if (metric) {
		out[length++] = ' ';
		length += format_value(record->value, out + length, CHANNEL_LINE_SIZE - 1 - length);
	}
	out[length++] = '\n';
	out[length] = '\0';
	return length;
}

/* The parser works on a terminated copy and cuts it into fields at single spaces. */
static char *next_field(char **at)
{
	char *field = *at;
	if (!field || !*field)
		return NULL;
	char *space = strchr(field, ' ');
	if (space)
		*space = '\0';
	*at = space ? space + 1 : NULL;
	return *field ? field : NULL;
}

static bool parse_unsigned(const char *field, uint64_t most, uint64_t *out)
{
	uint64_t value = 0;
	if (!field || !*field)
		return false;
	for (; *field; field++) {
		unsigned digit = (unsigned)(unsigned char)*field - '0';
		if (digit > 9 || value > (most - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static bool unescape(const char *field, char *out)
{
	size_t length = 0;
	if (!field)
		return false;
	for (; *field; field++) {
		int byte = (unsigned char)*field;
		if (byte == '%') {
			int high = hex_digit(field[1]);
			int low = high < 0 ? -1 : hex_digit(field[2]);
			byte = low < 0 ? 0 : high << 4 | low;
			field += 2;
		}
		if (byte == 0 || length + 1 >= CHANNEL_TEXT_SIZE)
			return false;
		out[length++] = (char)byte;
	}
	out[length] = '\0';
	return length > 0;
}

static bool parse_value(const char *field, double *out)
{
	if (!field || strspn(field, "0123456789+-e.") != strlen(field))
		return false;
	char *end;
	*out = strtod(field, &end);
	return end != field && *end == '\0' && isfinite(*out);
}

bool channel_parse(const char *line, size_t length, struct channel_record *out)
{
	char copy[CHANNEL_LINE_SIZE];
	if (length >= sizeof(copy) || memchr(line, '\0', length))
		return false;
	memcpy(copy, line, length);
	copy[length] = '\0';
	char *at = copy;
	const char *kind = next_field(&at);
	if (!kind || (strcmp(kind, "M") != 0 && strcmp(kind, "K") != 0))
		return false;
	*out = (struct channel_record){.kind = kind[0] == 'M' ? CHANNEL_METRIC : CHANNEL_MARK};
	uint64_t pid;
	if (!parse_unsigned(next_field(&at), UINT64_MAX, &out->mono_ns))
		return false;
	if (!parse_unsigned(next_field(&at), INT32_MAX, &pid))
		return false;
	out->pid = (int64_t)pid;
	if (!unescape(next_field(&at), out->text))
		return false;
	if (out->kind == CHANNEL_METRIC && !parse_value(next_field(&at), &out->value))
		return false;
	return at == NULL;
}
