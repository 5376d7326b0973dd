/* feature_file.c - see feature_file.h: the table of formats, and the file that they write into. */
#include "table/feature_file.h"
#include "base/file.h"
#include "base/mem.h"
#include "table/feature_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct feature_format *const formats[] = {&feature_csv, &feature_npy, &feature_arrow};

enum { ROWS_AT_ONCE = 8192 }; /* bounds what lies in memory, whatever the caller hands over */

static const struct feature_format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

const char *feature_format_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	if (!dot)
		return feature_csv.name;
	const struct feature_format *format = find_format(dot + 1);
	if (strcmp(dot, ".feather") == 0 || strcmp(dot, ".ipc") == 0)
		format = &feature_arrow;
	return format ? format->name : NULL;
}

static int flush(struct feature_file *file, struct err *err)
{
	if (!file->failed && file_write_all(file->fd, str_text(&file->out), file->out.len) != 0)
		file->failed = err_set_errno(err, ERR_IO, "cannot write the features to '%s'", file->path);
	file->written += file->out.len;
	str_clear(&file->out);
	return file->failed;
}

static void copy_shape(struct feature_file *file, const struct feature_shape *shape)
{
	char **names = mem_alloc((shape->columns ? shape->columns : 1) * sizeof(*names));
	for (size_t i = 0; i < shape->columns; i++)
		names[i] = mem_strdup(shape->names[i]);
	file->shape = *shape;
	file->shape.names = (const char *const *)names;
}

static void feature_file_free(struct feature_file *file)
{
	for (size_t i = 0; i < file->shape.columns; i++)
		free((void *)file->shape.names[i]);
	free((void *)file->shape.names);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->part_path);
	str_fini(&file->out);
	vec_fini(&file->batches);
	free(file);
}

int feature_file_open(const char *path, const char *format, const struct feature_shape *shape,
		      struct feature_file **out, struct err *err)
{
	const struct feature_format *found = find_format(format);
	if (!found)
		return err_set(err, ERR_USAGE, "unknown format '%s' of the features; there are csv, npy and arrow",
			       format);
	struct feature_file *file = mem_alloc(sizeof(*file));
	file->format = found;
	file->path = mem_strdup(path);
	file->part_path = mem_printf("%s.part", path);
	copy_shape(file, shape);
	file->fd = open(file->part_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (file->fd < 0) {
		int code = err_set_errno(err, ERR_IO, "cannot write the features to '%s'", path);
		feature_file_free(file);
		return code;
	}
	found->begin(file);
	*out = file;
	return 0;
}

/* The rows from `from` on, `rows` of them. */
static void cut(const struct feature_rows *block, size_t from, size_t rows, const struct feature_shape *shape,
		const double **numbers, struct feature_group *groups, struct feature_rows *out)
{
	for (size_t i = 0; i < shape->numbers; i++)
		numbers[i] = block->numbers[i] ? block->numbers[i] + from : NULL;
	for (size_t i = 0; i < block->group_count; i++) {
		groups[i] = block->groups[i];
		groups[i].codes += from;
	}
	*out = (struct feature_rows){.rows = rows,
				     .numbers = numbers,
				     .groups = groups,
				     .group_count = block->group_count,
				     .target = block->target ? block->target + from : NULL};
}

static bool is_stopped(struct feature_file *file, struct err *err)
{
	if (!file->failed && file->shape.stop && atomic_load(file->shape.stop))
		file->failed = err_set(err, ERR_INTERRUPTED, "interrupted while the features were written to '%s'",
				       file->path);
	return file->failed != 0;
}

int feature_file_add(struct feature_file *file, const struct feature_rows *block, struct err *err)
{
	if (file->failed)
		return err_set(err, file->failed, "cannot write the features to '%s'", file->path);
	const double **numbers = mem_alloc((file->shape.numbers + 1) * sizeof(*numbers));
	struct feature_group *groups = mem_alloc((block->group_count + 1) * sizeof(*groups));
	for (size_t from = 0; from < block->rows && !is_stopped(file, err); from += ROWS_AT_ONCE) {
		struct feature_rows part;
		size_t rows = block->rows - from < ROWS_AT_ONCE ? block->rows - from : ROWS_AT_ONCE;
		cut(block, from, rows, &file->shape, numbers, groups, &part);
		file->format->add(file, &part);
		file->rows += rows;
		flush(file, err);
	}
	free(numbers);
	free(groups);
	return file->failed;
}

static int write_head(struct feature_file *file, struct err *err)
{
	struct str head = {0};
	int code = 0;
	if (!file->format->head)
		return 0;
	file->format->head(file, &head);
	if (pwrite(file->fd, head.text, head.len, 0) != (ssize_t)head.len)
		code = err_set_errno(err, ERR_IO, "cannot write the features to '%s'", file->path);
	str_fini(&head);
	return code;
}

int feature_file_close(struct feature_file *file, struct err *err)
{
	if (file->failed) {
		int code = err_set(err, file->failed, "cannot write the features to '%s'", file->path);
		feature_file_abandon(file);
		return code;
	}
	file->format->end(file);
	int code = flush(file, err);
	code = code ? code : write_head(file, err);
	if (!code && rename(file->part_path, file->path) != 0)
		code = err_set_errno(err, ERR_IO, "cannot write the features to '%s'", file->path);
	if (code)
		unlink(file->part_path);
	feature_file_free(file);
	return code;
}

void feature_file_abandon(struct feature_file *file)
{
	if (!file)
		return;
	unlink(file->part_path);
	feature_file_free(file);
}
