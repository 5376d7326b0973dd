/*
 * quality_sample.c - see quality.h: an even sample of a stream's rows, in order.
 *
 * A row is kept where its number is a multiple of `stride`. When the sample is full, every second of its rows is dropped and the
 * stride doubled: what is left is exactly what the new stride would have kept. Codes of text mean something else in another
 * chunk's dictionary, so text is kept as a hash, cut to the 53 bits that a double holds: two values share one with a chance of
 * 10^-8 at most among all that a sample can hold.
 */
#include "base/mem.h"
#include "table/quality_view.h"

#include <endian.h>
#include <math.h>
#include <string.h>

struct sample_column {
	char *name;
	enum column_kind kind;
	double *values;
	uint64_t missing, unparsed, counted;
	bool has_values; /* false: a text column whose dictionary was given up */
};

struct quality_sample {
	struct sample_column *columns;
	size_t count, rows, cap;
	uint64_t rows_seen, stride;
};

struct quality_sample *quality_sample_new(void)
{
	struct quality_sample *sample = mem_alloc(sizeof(*sample));
	sample->stride = 1;
	return sample;
}

static size_t raw_columns(const struct frame *frame)
{
	size_t count = 0;
	for (size_t i = 0; i < frame->count; i++)
		count += !frame->columns[i].derived;
	return count;
}

static void learn_columns(struct quality_sample *sample, const struct frame *frame)
{
	sample->count = raw_columns(frame);
	size_t row_bytes = sizeof(double) * (sample->count ? sample->count : 1);
	sample->cap = QUALITY_BYTES / row_bytes;
	sample->cap = sample->cap < QUALITY_LEAST_ROWS ? QUALITY_LEAST_ROWS : sample->cap & ~(size_t)1;
	sample->columns = mem_alloc((sample->count + 1) * sizeof(*sample->columns));
	for (size_t i = 0, at = 0; i < frame->count; i++) {
		if (frame->columns[i].derived)
			continue;
		struct sample_column *column = &sample->columns[at++];
		column->name = mem_strdup(frame->columns[i].name);
		column->kind = frame->columns[i].kind;
		column->values = mem_alloc(sample->cap * sizeof(double));
		column->has_values = true;
	}
}

/* Eight bytes at a time; the last eight may overlap those before. */
static double hash_text(struct span text)
{
	const uint64_t odd = 0x9e3779b97f4a7c15ull;
	uint64_t hash = 0xcbf29ce484222325ull ^ text.length, word = 0;
	for (uint32_t at = 0; at < text.length; at += 8) {
		uint32_t left = text.length - at;
		if (text.length >= 8)
			memcpy(&word, text.text + (left < 8 ? text.length - 8 : at), 8);
		else
			memcpy(&word, text.text, text.length);
		hash = (hash ^ le64toh(word)) * odd;
		hash ^= hash >> 29;
	}
	hash = (hash ^ hash >> 32) * odd;
	return (double)(hash >> 11);
}

static double cell_value(const struct column *column, size_t row)
{
	if (column->kind != COLUMN_TEXT)
		return column->numbers[row];
	if (column->codes[row] == COLUMN_MISSING)
		return NAN;
	return hash_text(dictionary_text(column->values, column->codes[row]));
}

static void halve(struct quality_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		for (size_t row = 0; 2 * row < sample->rows; row++)
			sample->columns[i].values[row] = sample->columns[i].values[2 * row];
	sample->rows = (sample->rows + 1) / 2;
	sample->stride *= 2;
}

/* Every stride-th row of the chunk from `row` on, as many as there is room for, column by column; the row after them. */
static size_t take_rows(struct quality_sample *sample, const struct frame *frame, size_t row)
{
	size_t at = 0, room = sample->cap - sample->rows, stride = (size_t)sample->stride;
	size_t count = (frame->rows - row + stride - 1) / stride;
	count = count < room ? count : room;
	for (size_t i = 0; i < frame->count && at < sample->count; i++) {
		const struct column *column = &frame->columns[i];
		if (column->derived)
			continue;
		struct sample_column *into = &sample->columns[at++];
		double *out = into->values + sample->rows;
		if (column->kind == COLUMN_TEXT && !column->codes)
			into->has_values = false;
		for (size_t k = 0; k < count; k++)
			out[k] = into->has_values ? cell_value(column, row + k * stride) : NAN;
	}
	sample->rows += count;
	return row + count * stride;
}

void quality_sample_add(struct quality_sample *sample, const struct frame *frame)
{
	size_t at = 0;
	if (!sample->columns)
		learn_columns(sample, frame);
	for (size_t i = 0; i < frame->count && at < sample->count; i++) {
		const struct column *column = &frame->columns[i];
		if (column->derived)
			continue;
		sample->columns[at].missing += column->missing;
		sample->columns[at].unparsed += column->unparsed;
		sample->columns[at++].counted += column->kind == COLUMN_TEXT && !column->codes ? 0 : frame->rows;
	}
	for (size_t row = 0; row < frame->rows;) {
		uint64_t ahead = (sample->rows_seen + row) % sample->stride;
		row += ahead ? (size_t)(sample->stride - ahead) : 0;
		if (row >= frame->rows)
			break;
		if (sample->rows < sample->cap)
			row = take_rows(sample, frame, row);
		else
			halve(sample); /* and look again whether this row is one of those that are left */
	}
	sample->rows_seen += frame->rows;
}

void quality_sample_end(struct quality_sample *sample, const char *target, struct quality *out)
{
	struct quality_view view = {.rows = sample->rows, .rows_seen = sample->rows_seen, .count = sample->count};
	view.sources = mem_alloc((sample->count + 1) * sizeof(*view.sources));
	for (size_t i = 0; i < sample->count; i++) {
		const struct sample_column *column = &sample->columns[i];
		view.sources[i] = (struct quality_source){.name = column->name,
							  .kind = column->kind,
							  .numbers = column->has_values ? column->values : NULL,
							  .missing = column->missing,
							  .unparsed = column->unparsed,
							  .counted = column->counted};
	}
	if (out)
		quality_measure(&view, target, out);
	free(view.sources);
	for (size_t i = 0; i < sample->count; i++) {
		free(sample->columns[i].name);
		free(sample->columns[i].values);
	}
	free(sample->columns);
	free(sample);
}
