/*
 * feature_csv.c - the feature matrix as CSV: names in quotes where RFC 4180 wants them, numbers with as many digits as it takes to
 * read the same double back, indicators as 0 and 1.
 */
#include "base/shortest.h"
#include "table/feature_format.h"

#include <math.h>
#include <string.h>

static void put_name(struct str *out, const char *name)
{
	if (!strpbrk(name, ",\"\r\n")) {
		str_append(out, name);
		return;
	}
	str_append_char(out, '"');
	for (; *name; name++) {
		if (*name == '"')
			str_append_char(out, '"');
		str_append_char(out, *name);
	}
	str_append_char(out, '"');
}

static void csv_begin(struct feature_file *file)
{
	for (size_t i = 0; i < file->shape.columns; i++) {
		if (i)
			str_append_char(&file->out, ',');
		put_name(&file->out, file->shape.names[i]);
	}
	str_append_char(&file->out, '\n');
}

/* What is not finite is missing. */
static void put_number(struct str *out, double value)
{
	char text[SHORTEST_SIZE];
	if (isfinite(value))
		str_append_bytes(out, text, shortest_format(value, text));
}

static void put_group(struct str *out, const struct feature_group *group, size_t row, bool first)
{
	size_t start = out->len + (first ? 0 : 1);
	for (size_t i = 0; i < group->count; i++) {
		if (!first || i)
			str_append_char(out, ',');
		str_append_char(out, '0');
	}
	if (group->codes[row] < group->count)
		out->text[start + 2 * (size_t)group->codes[row]] = '1';
}

static void csv_add(struct feature_file *file, const struct feature_rows *block)
{
	struct str *out = &file->out;
	for (size_t row = 0; row < block->rows; row++) {
		size_t numbers = file->shape.numbers;
		for (size_t i = 0; i < numbers; i++) {
			if (i)
				str_append_char(out, ',');
			put_number(out, block->numbers[i] ? block->numbers[i][row] : NAN);
		}
		for (size_t i = 0; i < block->group_count; i++)
			put_group(out, &block->groups[i], row, !numbers && i == 0);
		if (file->shape.has_target) {
			if (file->shape.columns > 1)
				str_append_char(out, ',');
			put_number(out, block->target[row]);
		}
		str_append_char(out, '\n');
	}
}

static void csv_end(struct feature_file *file)
{
	(void)file;
}

const struct feature_format feature_csv = {.name = "csv", .begin = csv_begin, .add = csv_add, .end = csv_end};
