/* overlay.c - see overlay.h. */
#include "config/overlay.h"
#include "base/file.h"
#include "config/overlay_format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_LIMIT = 16 << 20 };

static const struct overlay_format *const formats[] = {&overlay_json, &overlay_yaml};

const struct overlay_format *overlay_format_find(const char *path)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		for (const char *const *ending = formats[i]->endings; *ending; ending++)
			if (str_ends(path, *ending))
				return formats[i];
	return NULL;
}

char *overlay_path(const struct overlay_spec *overlay, size_t at, const char *dir)
{
	if (!dir)
		return mem_printf("<copy of %s>", file_base_name(overlay->file));
	/* The name stays visible, and two files of the same name do not meet. */
	return mem_printf("%s/%zu-%s", dir, at, file_base_name(overlay->file));
}

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static bool is_number(const char *text, bool *is_integer)
{
	text += *text == '-' || *text == '+';
	size_t whole = strspn(text, "0123456789"), part = 0;
	text += whole;
	*is_integer = *text == '\0';
	if (*text == '.') {
		part = strspn(text + 1, "0123456789");
		text += 1 + part;
	}
	if (whole + part == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '-' || *text == '+';
		size_t digits = strspn(text, "0123456789");
		if (digits == 0)
			return false;
		text += digits;
	}
	return *text == '\0';
}

enum overlay_type overlay_type_of(const char *text)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
	static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE"};
	bool is_integer;
	if (is_one_of(text, nulls, 5))
		return OVERLAY_NULL;
	if (is_one_of(text, bools, 6))
		return OVERLAY_BOOL;
	if (is_number(text, &is_integer))
		return is_integer ? OVERLAY_INTEGER : OVERLAY_NUMBER;
	return OVERLAY_TEXT;
}

enum overlay_type overlay_setting_type(const struct overlay_setting *setting)
{
	return setting->quoted ? OVERLAY_TEXT : overlay_type_of(setting->value);
}

bool overlay_is_relative(const char *path)
{
	return path[0] && path[0] != '/' && path[0] != '~' && !strstr(path, "://");
}

char *overlay_absolute(const struct overlay_work *work, const char *path)
{
	while (str_starts(path, "./") && path[2] && path[2] != '/')
		path += 2;
	return strcmp(path, ".") == 0 ? mem_strdup(work->dir) : file_join(work->dir, path);
}

int overlay_fail(const struct overlay_work *work, int line, const char *verb, const char *pointer,
		 const struct pointer *steps, size_t upto, const char *words)
{
	struct str place = {0};
	for (size_t i = 0; i < upto && i < steps->steps.len; i++)
		str_appendf(&place, "/%s", steps->steps.items[i]);
	int code = err_set(work->err, ERR_INPUT, "%s:%d: cannot %s %.100s in '%s': %.100s %s", work->pipeline_path,
			   line, verb, pointer, work->overlay->file, place.len ? place.text : "the document", words);
	str_fini(&place);
	return code;
}

static int write_private(const char *path, const struct str *text, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set_errno(err, ERR_IO, "cannot create configuration copy '%s'", path);
	int code = 0;
	for (size_t done = 0; done < text->len && !code;) {
		ssize_t put = write(fd, text->text + done, text->len - done);
		if (put >= 0)
			done += (size_t)put;
		else if (errno != EINTR)
			code = err_set_errno(err, ERR_IO, "cannot write configuration copy '%s'", path);
	}
	if (close(fd) != 0 && !code)
		code = err_set_errno(err, ERR_IO, "cannot write configuration copy '%s'", path);
	if (code)
		unlink(path);
	return code;
}

static int write_copy(const struct pipeline *pipeline, size_t at, const char *dir, struct err *err)
{
	const struct overlay_spec *overlay = &pipeline->overlays.items[at];
	char *text = NULL, *path = overlay_path(overlay, at, dir);
	char *original_dir = mem_strndup(overlay->file, (size_t)(file_base_name(overlay->file) - overlay->file));
	struct overlay_work work = {overlay, pipeline->path ? pipeline->path : "pipeline", original_dir, err};
	struct str copy = {0};
	size_t size;
	int code = file_read(overlay->file, CONFIG_LIMIT, &text, &size, err);
	if (code)
		err_prefix(err, "%s:%d: config", work.pipeline_path, overlay->line);
	else
		code = overlay_format_find(overlay->file)->rewrite(&work, text, size, &copy);
	if (!code)
		code = write_private(path, &copy, err);
	str_fini(&copy);
	free(original_dir);
	free(path);
	free(text);
	return code;
}

int overlay_write_all(const struct pipeline *pipeline, const char *dir, struct err *err)
{
	int code = 0;
	for (size_t i = 0; i < pipeline->overlays.len && !code; i++)
		code = write_copy(pipeline, i, dir, err);
	return code;
}
