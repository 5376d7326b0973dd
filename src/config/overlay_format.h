/*
 * overlay_format.h - the formats in which a configuration copy can be written: one file and one row each.
 */
#ifndef PITOT_CONFIG_OVERLAY_FORMAT_H
#define PITOT_CONFIG_OVERLAY_FORMAT_H

#include "base/str.h"
#include "config/pipeline.h"
#include "config/pointer.h"

/* What a format works on, and where its messages point. */
struct overlay_work {
	const struct overlay_spec *overlay;
	const char *pipeline_path;
	const char *dir; /* of the original: relative paths are relative to it */
	struct err *err;
};

struct overlay_format {
	const char *const *endings; /* ends with NULL */
	/* The original's text in, the copy's text out. */
	int (*rewrite)(const struct overlay_work *work, const char *text, size_t size, struct str *out);
};

extern const struct overlay_format overlay_json, overlay_yaml;

/* By the file name's ending; NULL where none fits. */
const struct overlay_format *overlay_format_find(const char *path);

/* What the text of a plain YAML scalar is. */
enum overlay_type { OVERLAY_TEXT, OVERLAY_NULL, OVERLAY_BOOL, OVERLAY_INTEGER, OVERLAY_NUMBER };
enum overlay_type overlay_type_of(const char *text);
enum overlay_type overlay_setting_type(const struct overlay_setting *setting);

/* Whether `absolute` changes this text: not what is absolute already, "", "~/…" or a URL. */
bool overlay_is_relative(const char *path);
/* Owned by the caller. */
char *overlay_absolute(const struct overlay_work *work, const char *path);

/* "<pipeline>:<line>: cannot <verb> <pointer> in '<file>': <first steps of pointer> <words>". */
int overlay_fail(const struct overlay_work *work, int line, const char *verb, const char *pointer,
		 const struct pointer *steps, size_t upto, const char *words);

#endif
