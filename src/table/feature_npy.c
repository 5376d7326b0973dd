/*
 * feature_npy.c - the feature matrix as NumPy's own format, version 1.0: little-endian doubles, row after row.
 *
 *	"\x93NUMPY" 1 0 | length of the header, 2 bytes | the header: a Python dict, spaces, "\n" | rows × columns × 8 bytes
 *
 * The header says how many rows there are, so it is written again at the end, with the same length.
 */
#include "table/feature_format.h"

#include <endian.h>
#include <math.h>
#include <string.h>

enum { HEAD_BYTES = 128, DICT_BYTES = HEAD_BYTES - 10 };

static void npy_head(const struct feature_file *file, struct str *out)
{
	char length[2] = {(char)DICT_BYTES, 0};
	str_append_bytes(out, "\x93NUMPY\x01\x00", 8);
	str_append_bytes(out, length, 2);
	str_appendf(out, "{'descr': '<f8', 'fortran_order': False, 'shape': (%llu, %zu), }",
		    (unsigned long long)file->rows, file->shape.columns);
	while (out->len < HEAD_BYTES - 1)
		str_append_char(out, ' ');
	str_append_char(out, '\n');
}

static void npy_begin(struct feature_file *file)
{
	npy_head(file, &file->out);
}

static void put_double(unsigned char *at, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	bits = htole64(bits);
	memcpy(at, &bits, sizeof(bits));
}

static void npy_add(struct feature_file *file, const struct feature_rows *block)
{
	size_t columns = file->shape.columns, row_bytes = columns * 8;
	unsigned char *row = mem_alloc(row_bytes ? row_bytes : 1);
	for (size_t r = 0; r < block->rows; r++) {
		memset(row, 0, row_bytes);
		for (size_t i = 0; i < file->shape.numbers; i++)
			put_double(row + 8 * i, block->numbers[i] ? block->numbers[i][r] : NAN);
		for (size_t i = 0; i < block->group_count; i++) {
			const struct feature_group *group = &block->groups[i];
			if (group->codes[r] < group->count)
				put_double(row + 8 * (group->first + group->codes[r]), 1);
		}
		if (file->shape.has_target)
			put_double(row + 8 * (columns - 1), block->target[r]);
		str_append_bytes(&file->out, (const char *)row, row_bytes);
	}
	free(row);
}

static void npy_end(struct feature_file *file)
{
	(void)file;
}

const struct feature_format feature_npy = {
	.name = "npy", .begin = npy_begin, .add = npy_add, .end = npy_end, .head = npy_head};
