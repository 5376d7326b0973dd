/* column.c - see column.h. */
#include "table/column.h"

#include "base/json.h"
#include "table/date.h"

#include <math.h>
#include <string.h>

const char *column_kind_name(enum column_kind kind)
{
	static const char *const names[] = {"number", "date", "text"};
	return names[kind];
}

const struct column *frame_find(const struct frame *frame, const char *name)
{
	for (size_t i = 0; i < frame->count; i++)
		if (strcmp(frame->columns[i].name, name) == 0)
			return &frame->columns[i];
	return NULL;
}

/* Most numbers of tables are whole; finding the fewest digits of one takes a hundred times as long. */
static struct span column_format_whole(int64_t value, char *buffer)
{
	char *end = buffer + COLUMN_FORMAT_SIZE, *at = end;
	uint64_t left = value < 0 ? (uint64_t)-value : (uint64_t)value;
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	return (struct span){at, (uint32_t)(end - at)};
}

struct span column_format(const struct column *column, size_t row, char *buffer)
{
	if (column->kind == COLUMN_TEXT)
		return column->codes ? dictionary_text(column->values, column->codes[row]) : (struct span){"", 0};
	double value = column->numbers[row];
	buffer[0] = 0;
	if (isnan(value))
		return (struct span){buffer, 0};
	if (column->kind == COLUMN_DATE)
		return (struct span){buffer, (uint32_t)date_write(value, buffer, COLUMN_FORMAT_SIZE)};
	if (value == (double)(int64_t)fmax(fmin(value, 1e15), -1e15) && (value != 0 || !signbit(value)))
		return column_format_whole((int64_t)value, buffer);
	json_format_number(value, buffer, COLUMN_FORMAT_SIZE);
	return (struct span){buffer, (uint32_t)strlen(buffer)};
}
