/*
 * json.h - writes JSON into a string, in order, without building a tree first.
 *
 *	struct json json = {.out = &text, .pretty = true};
 *	json_object_begin(&json, NULL);
 *	json_put_number(&json, "wall_s", 1.5);
 *	json_object_end(&json);
 *
 * `key` is NULL inside arrays and at the top. Text that is not UTF-8 is written with U+FFFD in place of the bad bytes,
 * so that what comes out always parses. Numbers have the fewest digits that read back as the same double; a number that
 * is not finite becomes null.
 */
#ifndef PITOT_BASE_JSON_H
#define PITOT_BASE_JSON_H

#include "base/str.h"

struct json {
	struct str *out;
	bool pretty;
	int depth;
	bool has_item; /* whether the open object or array has an item already */
};

void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);
void json_put_string(struct json *json, const char *key, const char *text); /* NULL text gives null */
void json_put_number(struct json *json, const char *key, double value);
void json_put_integer(struct json *json, const char *key, int64_t value);
/* A thousandth of `value`, all three decimals: nanoseconds where a format counts in microseconds. */
void json_put_thousandths(struct json *json, const char *key, uint64_t value);
void json_put_bool(struct json *json, const char *key, bool value);
void json_put_null(struct json *json, const char *key);
/* `text` is JSON already. */
void json_put_json(struct json *json, const char *key, const char *text);

/* The shortest text that reads back as `value`; `size` at least 32. */
void json_format_number(double value, char *out, size_t size);

#endif
