/*
 * feature_arrow.c - the feature matrix as an Arrow IPC file (Feather version 2), without compression.
 *
 *	"ARROW1\0\0" | schema message | record batch message … | end of stream | footer | i32 its size | "ARROW1"
 *	message: 0xFFFFFFFF | i32 size of the metadata | metadata (a FlatBuffer, padded to 8) | body
 *
 * Numbers and the target are float64, indicators uint8; no column has nulls: a number that is missing is NaN. The numbers of
 * slots and of the unions' members are those of Arrow's Message.fbs, Schema.fbs and File.fbs, metadata version 5.
 */
#include "table/feature_format.h"
#include "table/flat.h"

#include <endian.h>
#include <math.h>
#include <string.h>

enum { METADATA_V5 = 4, HEADER_SCHEMA = 1, HEADER_BATCH = 3, TYPE_INT = 2, TYPE_FLOAT = 3, PRECISION_DOUBLE = 2 };
enum { ALIGN = 64 };

struct arrow_node {
	int64_t length, nulls;
};

struct arrow_buffer {
	int64_t offset, length;
};

struct arrow_block {
	int64_t offset;
	int32_t head_bytes;
	int32_t unused;
	int64_t body_bytes;
};

static size_t padded(size_t size, size_t align)
{
	return (size + align - 1) / align * align;
}

static void put_zeros(struct str *out, size_t count)
{
	static const char zeros[ALIGN];
	str_append_bytes(out, zeros, count);
}

static void put_i32(struct str *out, uint32_t value)
{
	uint32_t little = htole32(value);
	str_append_bytes(out, (const char *)&little, sizeof(little));
}

static bool is_number(const struct feature_shape *shape, size_t column)
{
	return column < shape->numbers || (shape->has_target && column == shape->columns - 1);
}

static flat_ref make_field(struct flat *flat, const char *name, bool number)
{
	flat_ref name_ref = flat_text(flat, name), children = flat_refs(flat, NULL, 0);
	flat_table_begin(flat);
	if (number)
		flat_put_int(flat, 0, PRECISION_DOUBLE, 2);
	else
		flat_put_int(flat, 0, 8, 4); /* bits; not signed */
	flat_ref type = flat_table_end(flat);
	flat_table_begin(flat);
	flat_put_ref(flat, 0, name_ref);
	flat_put_int(flat, 2, number ? TYPE_FLOAT : TYPE_INT, 1);
	flat_put_ref(flat, 3, type);
	flat_put_ref(flat, 5, children);
	return flat_table_end(flat);
}

static flat_ref make_schema(struct flat *flat, const struct feature_shape *shape)
{
	flat_ref *fields = mem_alloc((shape->columns + 1) * sizeof(*fields));
	for (size_t i = 0; i < shape->columns; i++)
		fields[i] = make_field(flat, shape->names[i], is_number(shape, i));
	flat_ref list = flat_refs(flat, fields, shape->columns);
	free(fields);
	flat_table_begin(flat);
	flat_put_ref(flat, 1, list);
	return flat_table_end(flat);
}

/* The message's head into the file; its size with the 8 bytes before it. */
static size_t put_message(struct str *out, struct flat *flat, int header_type, flat_ref header, size_t body_bytes)
{
	flat_table_begin(flat);
	flat_put_int(flat, 3, (int64_t)body_bytes, 8);
	flat_put_ref(flat, 2, header);
	flat_put_int(flat, 0, METADATA_V5, 2);
	flat_put_int(flat, 1, header_type, 1);
	const unsigned char *bytes = flat_finish(flat, flat_table_end(flat));
	put_i32(out, UINT32_MAX);
	put_i32(out, (uint32_t)flat->len);
	str_append_bytes(out, (const char *)bytes, flat->len);
	return 8 + flat->len;
}

static void arrow_begin(struct feature_file *file)
{
	struct flat flat = {0};
	str_append_bytes(&file->out, "ARROW1\0\0", 8);
	put_message(&file->out, &flat, HEADER_SCHEMA, make_schema(&flat, &file->shape), 0);
	flat_fini(&flat);
}

static size_t column_bytes(const struct feature_shape *shape, size_t column, size_t rows)
{
	return rows * (is_number(shape, column) ? sizeof(double) : 1);
}

/* Of every column: no nulls, hence an empty bitmap, and its values. */
static flat_ref make_batch(struct flat *flat, const struct feature_shape *shape, size_t rows, size_t *body_bytes)
{
	struct arrow_node *nodes = mem_alloc((shape->columns + 1) * sizeof(*nodes));
	struct arrow_buffer *buffers = mem_alloc((2 * shape->columns + 1) * sizeof(*buffers));
	size_t offset = 0;
	for (size_t i = 0; i < shape->columns; i++) {
		size_t size = column_bytes(shape, i, rows);
		nodes[i].length = (int64_t)htole64(rows);
		buffers[2 * i].offset = buffers[2 * i + 1].offset = (int64_t)htole64(offset);
		buffers[2 * i + 1].length = (int64_t)htole64(size);
		offset += padded(size, ALIGN);
	}
	flat_ref buffer_list = flat_structs(flat, buffers, 2 * shape->columns, sizeof(*buffers));
	flat_ref node_list = flat_structs(flat, nodes, shape->columns, sizeof(*nodes));
	free(nodes);
	free(buffers);
	*body_bytes = offset;
	flat_table_begin(flat);
	flat_put_int(flat, 0, (int64_t)rows, 8);
	flat_put_ref(flat, 1, node_list);
	flat_put_ref(flat, 2, buffer_list);
	return flat_table_end(flat);
}

static void put_doubles(struct str *out, const double *values, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		double value = values ? values[i] : NAN;
		uint64_t bits;
		memcpy(&bits, &value, sizeof(bits));
		bits = htole64(bits);
		str_append_bytes(out, (const char *)&bits, sizeof(bits));
	}
	put_zeros(out, padded(rows * 8, ALIGN) - rows * 8);
}

static void put_group(struct str *out, const struct feature_group *group, size_t rows)
{
	for (size_t i = 0; i < group->count; i++) {
		for (size_t row = 0; row < rows; row++)
			str_append_char(out, group->codes[row] == i);
		put_zeros(out, padded(rows, ALIGN) - rows);
	}
}

static void arrow_add(struct feature_file *file, const struct feature_rows *rows)
{
	struct flat flat = {0};
	size_t body_bytes;
	flat_ref batch = make_batch(&flat, &file->shape, rows->rows, &body_bytes);
	struct feature_batch at = {.offset = file->written + file->out.len, .body_bytes = body_bytes};
	at.head_bytes = (uint32_t)put_message(&file->out, &flat, HEADER_BATCH, batch, body_bytes);
	flat_fini(&flat);
	vec_push(&file->batches, at);
	for (size_t i = 0; i < file->shape.numbers; i++)
		put_doubles(&file->out, rows->numbers[i], rows->rows);
	for (size_t i = 0; i < rows->group_count; i++)
		put_group(&file->out, &rows->groups[i], rows->rows);
	if (file->shape.has_target)
		put_doubles(&file->out, rows->target, rows->rows);
}

static void arrow_end(struct feature_file *file)
{
	struct flat flat = {0};
	struct arrow_block *blocks = mem_alloc((file->batches.len + 1) * sizeof(*blocks));
	for (size_t i = 0; i < file->batches.len; i++) {
		blocks[i].offset = (int64_t)htole64(file->batches.items[i].offset);
		blocks[i].head_bytes = (int32_t)htole32(file->batches.items[i].head_bytes);
		blocks[i].body_bytes = (int64_t)htole64(file->batches.items[i].body_bytes);
	}
	put_i32(&file->out, UINT32_MAX);
	put_i32(&file->out, 0);
	flat_ref schema = make_schema(&flat, &file->shape);
	flat_ref dictionaries = flat_structs(&flat, NULL, 0, sizeof(*blocks));
	flat_ref batches = flat_structs(&flat, blocks, file->batches.len, sizeof(*blocks));
	free(blocks);
	flat_table_begin(&flat);
	flat_put_ref(&flat, 1, schema);
	flat_put_ref(&flat, 2, dictionaries);
	flat_put_ref(&flat, 3, batches);
	flat_put_int(&flat, 0, METADATA_V5, 2);
	const unsigned char *footer = flat_finish(&flat, flat_table_end(&flat));
	str_append_bytes(&file->out, (const char *)footer, flat.len);
	put_i32(&file->out, (uint32_t)flat.len);
	str_append_bytes(&file->out, "ARROW1", 6);
	flat_fini(&flat);
}

const struct feature_format feature_arrow = {.name = "arrow", .begin = arrow_begin, .add = arrow_add, .end = arrow_end};
