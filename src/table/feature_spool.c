/* feature_spool.c - see feature_spool.h. */
#include "table/feature_spool.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "table/feature_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 18 };

struct spool_column {
	char *name;
	bool text;
	VEC(char *) categories;
	/* While the feature file is written: where its columns begin, SIZE_MAX: not in it; and what its codes become. */
	size_t first;
	uint32_t *places;
	size_t width;
	void *values; /* of the chunk that is read back */
	size_t capacity;
	bool present;
};

struct feature_spool {
	char *path, *spool_path;
	int fd;
	struct str out;
	VEC(struct spool_column) columns;
	bool has_target;
	uint64_t chunks;
};

int feature_spool_open(const char *path, struct feature_spool **out, struct err *err)
{
	struct feature_spool *spool = mem_alloc(sizeof(*spool));
	spool->path = mem_strdup(path);
	spool->spool_path = mem_printf("%s.spool", path);
	spool->fd = open(spool->spool_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (spool->fd < 0) {
		int code = err_set_errno(err, ERR_IO, "cannot write '%s'", spool->spool_path);
		feature_spool_abandon(spool);
		return code;
	}
	*out = spool;
	return 0;
}

void feature_spool_abandon(struct feature_spool *spool)
{
	if (!spool)
		return;
	for (size_t i = 0; i < spool->columns.len; i++) {
		struct spool_column *column = &spool->columns.items[i];
		for (size_t k = 0; k < column->categories.len; k++)
			free(column->categories.items[k]);
		vec_fini(&column->categories);
		free(column->name);
		free(column->places);
		free(column->values);
	}
	vec_fini(&spool->columns);
	if (spool->fd >= 0) {
		close(spool->fd);
		unlink(spool->spool_path);
	}
	str_fini(&spool->out);
	free(spool->path);
	free(spool->spool_path);
	free(spool);
}

static int flush(struct feature_spool *spool, struct err *err)
{
	if (file_write_all(spool->fd, str_text(&spool->out), spool->out.len) != 0)
		return err_set_errno(err, ERR_IO, "cannot write '%s'", spool->spool_path);
	str_clear(&spool->out);
	return 0;
}

static void put_u64(struct str *out, uint64_t value)
{
	str_append_bytes(out, (const char *)&value, sizeof(value));
}

/* Mostly the columns are those of the chunk before, in the same places: the search begins there. */
static size_t find_column(struct feature_spool *spool, const struct matrix_block *block, size_t hint)
{
	bool text = block->codes != NULL;
	for (size_t i = 0; i < spool->columns.len; i++) {
		size_t at = (hint + i) % spool->columns.len;
		if (spool->columns.items[at].text == text &&
		    strcmp(spool->columns.items[at].name, block->column->name) == 0)
			return at;
	}
	struct spool_column *column = vec_add(&spool->columns);
	column->name = mem_strdup(block->column->name);
	column->text = text;
	return spool->columns.len - 1;
}

static uint32_t find_category(struct spool_column *column, struct span text)
{
	for (size_t i = 0; i < column->categories.len; i++)
		if (strlen(column->categories.items[i]) == text.length &&
		    memcmp(column->categories.items[i], text.text, text.length) == 0)
			return (uint32_t)i;
	vec_push(&column->categories, mem_strndup(text.text, text.length));
	return (uint32_t)column->categories.len - 1;
}

static void put_codes(struct feature_spool *spool, struct spool_column *column, const struct matrix_block *block,
		      size_t rows)
{
	uint32_t *global = mem_alloc((block->width + 1) * sizeof(*global));
	for (size_t i = 0; i < block->width; i++)
		global[i] = find_category(column, dictionary_text(block->column->values, block->order[i]));
	for (size_t row = 0; row < rows; row++) {
		uint32_t code = block->codes[row] < block->width ? global[block->codes[row]] : UINT32_MAX;
		str_append_bytes(&spool->out, (const char *)&code, sizeof(code));
	}
	free(global);
}

int feature_spool_add(struct feature_spool *spool, const struct matrix *matrix, const double *target, struct err *err)
{
	if (!spool->chunks++)
		spool->has_target = target != NULL;
	put_u64(&spool->out, matrix->rows);
	put_u64(&spool->out, matrix->count);
	for (size_t i = 0; i < matrix->count; i++) {
		const struct matrix_block *block = &matrix->blocks[i];
		size_t at = find_column(spool, block, i);
		put_u64(&spool->out, at);
		if (block->codes)
			put_codes(spool, &spool->columns.items[at], block, matrix->rows);
		else
			str_append_bytes(&spool->out, (const char *)block->numbers, matrix->rows * sizeof(double));
	}
	if (spool->has_target)
		str_append_bytes(&spool->out, (const char *)target, matrix->rows * sizeof(double));
	return spool->out.len >= FLUSH_BYTES ? flush(spool, err) : 0;
}

/* ---- making the feature file ---- */

struct plan {
	VEC(char *) names;
	size_t numbers;
	const char **wanted; /* sorted; NULL: all */
	size_t wanted_count;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void plan_wanted(char *const *names, size_t count, struct plan *plan)
{
	if (!names)
		return;
	plan->wanted = mem_alloc((count + 1) * sizeof(*plan->wanted));
	plan->wanted_count = count;
	for (size_t i = 0; i < count; i++)
		plan->wanted[i] = names[i];
	qsort(plan->wanted, count, sizeof(*plan->wanted), compare_names);
}

static bool is_wanted(const struct plan *plan, const char *name)
{
	return !plan->wanted || bsearch(&name, plan->wanted, plan->wanted_count, sizeof(*plan->wanted), compare_names);
}

static void plan_numbers(struct feature_spool *spool, struct plan *plan)
{
	for (size_t i = 0; i < spool->columns.len; i++) {
		struct spool_column *column = &spool->columns.items[i];
		column->first = SIZE_MAX;
		if (column->text || !is_wanted(plan, column->name))
			continue;
		column->first = plan->names.len;
		vec_push(&plan->names, mem_strdup(column->name));
	}
	plan->numbers = plan->names.len;
}

static void plan_categories(struct feature_spool *spool, struct plan *plan)
{
	for (size_t i = 0; i < spool->columns.len; i++) {
		struct spool_column *column = &spool->columns.items[i];
		if (!column->text)
			continue;
		column->first = plan->names.len;
		column->places = mem_alloc((column->categories.len + 1) * sizeof(*column->places));
		for (size_t k = 0; k < column->categories.len; k++) {
			char *name = mem_printf("%s__%s", column->name, column->categories.items[k]);
			bool wanted = is_wanted(plan, name);
			column->places[k] = wanted ? (uint32_t)column->width++ : UINT32_MAX;
			if (wanted)
				vec_push(&plan->names, name);
			else
				free(name);
		}
	}
}

static int read_whole(FILE *file, void *into, size_t size, struct err *err)
{
	if (size && fread(into, 1, size, file) != size)
		return err_set(err, ERR_IO, "cannot read the spool of the features back");
	return 0;
}

static void *make_room(struct spool_column *column, size_t size)
{
	if (size > column->capacity) {
		column->values = mem_resize(column->values, size);
		column->capacity = size;
	}
	return column->values;
}

/* The number of rows; 0 at the end. */
static int read_chunk(struct feature_spool *spool, FILE *file, struct spool_column *target, uint64_t *rows,
		      struct err *err)
{
	uint64_t head[2], at;
	int code = 0;
	*rows = 0;
	if (fread(head, 1, sizeof(head), file) != sizeof(head))
		return 0;
	for (size_t i = 0; i < spool->columns.len; i++)
		spool->columns.items[i].present = false;
	for (uint64_t i = 0; i < head[1] && !code; i++) {
		code = read_whole(file, &at, sizeof(at), err);
		if (!code && at >= spool->columns.len)
			code = err_set(err, ERR_INTERNAL, "the spool of the features is damaged");
		if (code)
			break;
		struct spool_column *column = &spool->columns.items[at];
		size_t size = head[0] * (column->text ? sizeof(uint32_t) : sizeof(double));
		code = read_whole(file, make_room(column, size), size, err);
		column->present = true;
	}
	if (!code && spool->has_target)
		code = read_whole(file, make_room(target, head[0] * sizeof(double)), head[0] * sizeof(double), err);
	*rows = head[0];
	return code;
}

/* Codes over all categories become codes over those that are written. */
static void place_codes(struct spool_column *column, uint64_t rows)
{
	uint32_t *codes = make_room(column, rows * sizeof(*codes));
	for (uint64_t row = 0; row < rows; row++)
		codes[row] = column->present && codes[row] < column->categories.len ? column->places[codes[row]]
										    : UINT32_MAX;
}

static int copy_chunks(struct feature_spool *spool, FILE *file, struct feature_file *into, struct err *err)
{
	const double **numbers = mem_alloc((spool->columns.len + 1) * sizeof(*numbers));
	struct feature_group *groups = mem_alloc((spool->columns.len + 1) * sizeof(*groups));
	struct spool_column target = {0};
	struct feature_rows part = {.numbers = numbers, .groups = groups};
	uint64_t rows = 0;
	int code = read_chunk(spool, file, &target, &rows, err);
	while (!code && rows) {
		size_t number = 0;
		part.rows = rows;
		part.group_count = 0;
		part.target = target.values;
		for (size_t i = 0; i < spool->columns.len; i++) {
			struct spool_column *column = &spool->columns.items[i];
			if (!column->text && column->first != SIZE_MAX)
				numbers[number++] = column->present ? column->values : NULL;
			if (!column->text || !column->width)
				continue;
			place_codes(column, rows);
			groups[part.group_count++] =
				(struct feature_group){column->first, column->width, column->values};
		}
		code = feature_file_add(into, &part, err);
		code = code ? code : read_chunk(spool, file, &target, &rows, err);
	}
	free(target.values);
	free(numbers);
	free(groups);
	return code;
}

static int write_file(struct feature_spool *spool, const char *format, const struct plan *plan, const atomic_int *stop,
		      struct err *err)
{
	struct feature_shape shape = {.names = (const char *const *)plan->names.items,
				      .columns = plan->names.len,
				      .numbers = plan->numbers,
				      .has_target = spool->has_target,
				      .stop = stop};
	struct feature_file *into = NULL;
	FILE *file = fopen(spool->spool_path, "rb");
	if (!file)
		return err_set_errno(err, ERR_IO, "cannot read '%s'", spool->spool_path);
	int code = feature_file_open(spool->path, format, &shape, &into, err);
	code = code ? code : copy_chunks(spool, file, into, err);
	if (!code)
		code = feature_file_close(into, err);
	else
		feature_file_abandon(into);
	fclose(file);
	return code;
}

int feature_spool_close(struct feature_spool *spool, const char *format, char *const *names, size_t count,
			const atomic_int *stop, struct err *err)
{
	struct plan plan = {0};
	int code = flush(spool, err);
	plan_wanted(names, count, &plan);
	plan_numbers(spool, &plan);
	plan_categories(spool, &plan);
	if (spool->has_target)
		vec_push(&plan.names, mem_strdup(FEATURE_TARGET));
	if (!code)
		code = write_file(spool, format, &plan, stop, err);
	for (size_t i = 0; i < plan.names.len; i++)
		free(plan.names.items[i]);
	vec_fini(&plan.names);
	free(plan.wanted);
	feature_spool_abandon(spool);
	return code;
}

/* ---- batch ---- */

int feature_write_matrix(const char *path, const char *format, const struct matrix *matrix, const double *target,
			 const atomic_int *stop, struct err *err)
{
	const double **numbers = mem_alloc((matrix->count + 1) * sizeof(*numbers));
	struct feature_group *groups = mem_alloc((matrix->count + 1) * sizeof(*groups));
	struct feature_rows rows = {.rows = matrix->rows, .numbers = numbers, .groups = groups, .target = target};
	struct feature_shape shape = {
		.columns = matrix->width + (target != NULL), .has_target = target != NULL, .stop = stop};
	char **names = mem_alloc((matrix->width + 2) * sizeof(*names));
	struct feature_file *file = NULL;
	for (size_t i = 0; i < matrix->count; i++) {
		const struct matrix_block *block = &matrix->blocks[i];
		if (block->codes)
			groups[rows.group_count++] = (struct feature_group){block->first, block->width, block->codes};
		else
			numbers[shape.numbers++] = block->numbers;
	}
	for (size_t i = 0; i < matrix->width; i++) {
		struct str name = {0};
		matrix_name(matrix, i, &name);
		names[i] = str_take(&name);
	}
	names[matrix->width] = target ? mem_strdup(FEATURE_TARGET) : NULL;
	shape.names = (const char *const *)names;
	int code = feature_file_open(path, format, &shape, &file, err);
	code = code ? code : feature_file_add(file, &rows, err);
	if (!code)
		code = feature_file_close(file, err);
	else
		feature_file_abandon(file);
	for (size_t i = 0; i <= matrix->width; i++)
		free(names[i]);
	free(names);
	free(numbers);
	free(groups);
	return code;
}
