/* json.c - see json.h. */
#include "base/json.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void new_line(struct json *json)
{
	if (!json->pretty)
		return;
	str_append_char(json->out, '\n');
	for (int i = 0; i < json->depth; i++)
		str_append(json->out, "  ");
}

static void quote(struct str *out, const char *text)
{
	size_t count = strlen(text);
	str_append_char(out, '"');
	for (size_t at = 0; at < count;) {
		size_t length = str_utf8_length(text + at, count - at);
		unsigned char byte = (unsigned char)text[at];
		if (length == 0)
			str_append(out, "\\ufffd");
		else if (byte == '"' || byte == '\\')
			str_appendf(out, "\\%c", byte);
		else if (byte == '\n')
			str_append(out, "\\n");
		else if (byte == '\t')
			str_append(out, "\\t");
		else if (byte < 0x20 || byte == 0x7F)
			str_appendf(out, "\\u%04x", byte);
		else
			str_append_bytes(out, text + at, length);
		at += length ? length : 1;
	}
	str_append_char(out, '"');
}

static void start_item(struct json *json, const char *key)
{
	if (json->has_item)
		str_append_char(json->out, ',');
	if (json->depth > 0)
		new_line(json);
	if (key) {
		quote(json->out, key);
		str_append(json->out, json->pretty ? ": " : ":");
	}
	json->has_item = true;
}

static void begin(struct json *json, const char *key, char bracket)
{
	start_item(json, key);
	str_append_char(json->out, bracket);
	json->depth++;
	json->has_item = false;
}

static void end(struct json *json, char bracket)
{
	json->depth--;
	if (json->has_item)
		new_line(json);
	str_append_char(json->out, bracket);
	json->has_item = true;
	if (json->depth == 0 && json->pretty)
		str_append_char(json->out, '\n');
}

void json_object_begin(struct json *json, const char *key)
{
	begin(json, key, '{');
}

void json_object_end(struct json *json)
{
	end(json, '}');
}

void json_array_begin(struct json *json, const char *key)
{
	begin(json, key, '[');
}

void json_array_end(struct json *json)
{
	end(json, ']');
}

void json_put_string(struct json *json, const char *key, const char *text)
{
	if (!text) {
		json_put_null(json, key);
		return;
	}
	start_item(json, key);
	quote(json->out, text);
}

void json_format_number(double value, char *out, size_t size)
{
	if (value == floor(value) && fabs(value) < 1e15) {
		snprintf(out, size, "%.0f", value == 0 ? 0.0 : value);
		return;
	}
	/* %g leaves trailing zeros out, so 15 digits give the fewest wherever 15 are enough; subnormal numbers have fewer. */
	for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
		snprintf(out, size, "%.*g", digits, value);
		if (strtod(out, NULL) == value)
			return;
	}
}

void json_put_number(struct json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_put_null(json, key);
		return;
	}
	char digits[40];
	json_format_number(value, digits, sizeof(digits));
	start_item(json, key);
	str_append(json->out, digits);
}

void json_put_integer(struct json *json, const char *key, int64_t value)
{
	start_item(json, key);
	str_appendf(json->out, "%" PRId64, value);
}

void json_put_thousandths(struct json *json, const char *key, uint64_t value)
{
	start_item(json, key);
	str_appendf(json->out, "%" PRIu64 ".%03" PRIu64, value / 1000, value % 1000);
}

void json_put_bool(struct json *json, const char *key, bool value)
{
	start_item(json, key);
	str_append(json->out, value ? "true" : "false");
}

void json_put_null(struct json *json, const char *key)
{
	start_item(json, key);
	str_append(json->out, "null");
}

void json_put_json(struct json *json, const char *key, const char *text)
{
	start_item(json, key);
	str_append(json->out, text);
}
