/* dataset.c - see dataset.h. */
#include "model/dataset.h"
#include "base/file.h"

#include <string.h>

enum { FILE_MOST = 1 << 28, CIFAR_RECORD = 3073, IDX_HEAD = 16 };

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int parse_idx(struct dataset *out, const char *name, struct err *err)
{
	uint64_t examples = big_endian(out->bytes + 4), rows = big_endian(out->bytes + 8),
		 columns = big_endian(out->bytes + 12);
	if (rows < 1 || rows > 4096 || columns < 1 || columns > 4096 || examples < 1)
		return err_set(err, ERR_INPUT, "'%s' claims %llu images of %llu×%llu", name,
			       (unsigned long long)examples, (unsigned long long)rows, (unsigned long long)columns);
	if (examples * rows * columns != out->size - IDX_HEAD)
		return err_set(err, ERR_INPUT, "'%s' claims %llu images of %llu×%llu, which is not what it holds", name,
			       (unsigned long long)examples, (unsigned long long)rows, (unsigned long long)columns);
	out->kind = DATASET_IDX;
	out->first = IDX_HEAD;
	out->stride = (size_t)(rows * columns);
	out->count = (size_t)examples;
	out->channels = 1;
	out->rows = (int64_t)rows;
	out->columns = (int64_t)columns;
	out->words = mem_printf("images of %llu×%llu from '%s' (IDX)", (unsigned long long)rows,
				(unsigned long long)columns, name);
	return 0;
}

/* Every record begins with a label from 0 to 9. */
static bool is_cifar(const struct dataset *data)
{
	if (!data->size || data->size % CIFAR_RECORD)
		return false;
	for (size_t at = 0; at < data->size; at += CIFAR_RECORD)
		if (data->bytes[at] > 9)
			return false;
	return true;
}

int dataset_parse(unsigned char *bytes, size_t size, const char *name, struct dataset *out, struct err *err)
{
	static const unsigned char idx_images[] = {0, 0, 8, 3}, idx_any[] = {0, 0, 8};
	int code = 0;
	*out = (struct dataset){.bytes = bytes, .size = size};
	if (size >= IDX_HEAD && memcmp(bytes, idx_images, 4) == 0)
		code = parse_idx(out, name, err);
	else if (size >= 4 && memcmp(bytes, idx_any, 3) == 0)
		code = err_set(err, ERR_INPUT, "'%s' is an IDX file, but not one of images (labels?)", name);
	else if (is_cifar(out)) {
		out->kind = DATASET_CIFAR10;
		out->first = 1;
		out->stride = CIFAR_RECORD;
		out->count = size / CIFAR_RECORD;
		out->channels = 3;
		out->rows = out->columns = 32;
		out->words = mem_printf("images of 3×32×32 from '%s' (CIFAR-10)", name);
	} else if (size) {
		out->kind = DATASET_TEXT;
		out->count = 1;
		out->words = mem_printf("the bytes of '%s' as tokens", name);
	} else
		code = err_set(err, ERR_INPUT, "'%s' is empty", name);
	if (code)
		dataset_fini(out);
	return code;
}

int dataset_load(const char *path, struct dataset *out, struct err *err)
{
	char *bytes;
	size_t size;
	int code = file_read(path, FILE_MOST, &bytes, &size, err);
	return code ? code : dataset_parse((unsigned char *)bytes, size, path, out, err);
}

void dataset_fini(struct dataset *dataset)
{
	free(dataset->words);
	free(dataset->bytes);
	*dataset = (struct dataset){0};
}

/* One image into the middle of `rows`×`columns`. */
static void put_image(const struct dataset *data, size_t example, int64_t rows, int64_t columns, float *out)
{
	const unsigned char *from = data->bytes + data->first + example * data->stride;
	int64_t top = (rows - data->rows) / 2, left = (columns - data->columns) / 2;
	memset(out, 0, (size_t)(data->channels * rows * columns) * sizeof(*out));
	for (int64_t channel = 0; channel < data->channels; channel++)
		for (int64_t row = 0; row < data->rows; row++)
			for (int64_t column = 0; column < data->columns; column++)
				out[(channel * rows + top + row) * columns + left + column] = (float)*from++ / 255.0F;
}

static int fill_images(const struct dataset *data, const struct shape *shape, float *out, struct err *err)
{
	int64_t own = data->channels * data->rows * data->columns, each;
	char text[SHAPE_TEXT_SIZE];
	bool flat = shape->rank == 2 && shape->dims[1] == own;
	bool image = shape->rank == 4 && shape->dims[1] == data->channels && shape->dims[2] >= data->rows &&
		     shape->dims[3] >= data->columns;
	if (!flat && !image)
		return err_set(err, ERR_INPUT, "the model takes %s, which images of %lld×%lld×%lld do not fit",
			       shape_text(shape, text), (long long)data->channels, (long long)data->rows,
			       (long long)data->columns);
	int64_t rows = flat ? data->rows : shape->dims[2], columns = flat ? data->columns : shape->dims[3];
	each = data->channels * rows * columns;
	for (int64_t i = 0; i < shape->dims[0]; i++)
		put_image(data, (size_t)i % data->count, rows, columns, out + i * each);
	return 0;
}

int dataset_fill(const struct dataset *data, const struct graph_tensor *tensor, float *out, struct err *err)
{
	if (data->kind != DATASET_TEXT)
		return fill_images(data, &tensor->shape, out, err);
	if (element_is_float(tensor->element) || tensor->source != TENSOR_IDS)
		return err_set(err, ERR_INPUT, "the model takes no tokens, so a text is no input for it");
	int64_t count = shape_elements(&tensor->shape), below = tensor->fill >= 1 ? (int64_t)tensor->fill : 1;
	for (int64_t i = 0; i < count; i++)
		out[i] = (float)(data->bytes[(size_t)i % data->size] % below);
	return 0;
}
