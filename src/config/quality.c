/*
 * quality.c - see quality.h. One function per way of reading; the CSV reader is in csv.c.
 *
 * A regular expression is applied line by line (CR ends a line too: progress bars), and the last match in the file
 * counts. Only the first 16 KiB of a line are looked at: glibc's matcher wants memory in proportion to the text, and a
 * log line is shorter than that.
 */
#include "config/quality.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "config/csv.h"
#include "config/pointer.h"

#include <ctype.h>
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_LIMIT = 64 << 20, LINE_LIMIT = 16 << 10, MAX_GROUPS = 100 };

/* File times tick with the kernel's timer, not with the clock: a file made at the start may look a little older. */
static const uint64_t tolerance_ns = NS_PER_S / 100;

static void fail(struct quality_result *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct quality_result *out, const char *format, ...)
{
	va_list args;
	char words[512];
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	free(out->reason);
	out->reason = str_utf8_clean(words, strlen(words));
}

static void succeed(struct quality_result *out, double value)
{
	if (!isfinite(value)) {
		fail(out, "the value in '%s' is not a finite number", out->file);
		return;
	}
	out->known = true;
	out->value = value;
}

static uint64_t modified_ns(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * NS_PER_S + (uint64_t)status->st_mtim.tv_nsec;
}

/* The newest regular file, or NULL; what is no regular file could block or never end. */
static char *newest_match(const char *pattern, uint64_t *newest_ns)
{
	struct stat status;
	char *newest = NULL;
	/* A name with brackets in it is a name first. */
	if (stat(pattern, &status) == 0 && S_ISREG(status.st_mode)) {
		*newest_ns = modified_ns(&status);
		return mem_strdup(pattern);
	}
	glob_t matches = {0};
	if (glob(pattern, 0, NULL, &matches) == 0) {
		for (size_t i = 0; i < matches.gl_pathc; i++) {
			if (stat(matches.gl_pathv[i], &status) != 0 || !S_ISREG(status.st_mode))
				continue;
			if (newest && modified_ns(&status) < *newest_ns)
				continue;
			free(newest);
			newest = mem_strdup(matches.gl_pathv[i]);
			*newest_ns = modified_ns(&status);
		}
	}
	globfree(&matches);
	return newest;
}

static void fail_missing_key(const json_t *object, const char *step, const char *pointer, struct quality_result *out)
{
	VEC(const char *) keys = {0};
	const char *key;
	json_t *child;
	json_object_foreach((json_t *)object, key, child) vec_push(&keys, key);
	const char *suggestion = str_suggest(step, keys.items, keys.len);
	if (suggestion)
		fail(out, "'%s' has no %s; did you mean '%s'?", out->file, pointer, suggestion);
	else
		fail(out, "'%s' has no %s", out->file, pointer);
	vec_fini(&keys);
}

static const json_t *find_value(const json_t *root, const char *text, struct quality_result *out)
{
	struct pointer pointer;
	pointer_init(&pointer, text);
	const json_t *at = root;
	for (size_t i = 0; i < pointer.steps.len && at; i++) {
		const char *step = pointer.steps.items[i];
		const json_t *parent = at;
		size_t index;
		at = json_is_object(parent)                                 ? json_object_get(parent, step)
		     : json_is_array(parent) && pointer_index(step, &index) ? json_array_get(parent, index)
									    : NULL;
		if (!at)
			fail_missing_key(parent, step, text, out);
	}
	pointer_fini(&pointer);
	return at;
}

static void extract_pointer(const struct quality_spec *spec, const char *text, size_t size, struct quality_result *out)
{
	json_error_t problem;
	double number;
	json_t *root = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
	if (!root) {
		fail(out, "'%s' is not valid JSON: line %d: %s", out->file, problem.line, problem.text);
		return;
	}
	const json_t *value = find_value(root, spec->expression, out);
	if (value && json_is_number(value))
		succeed(out, json_number_value(value));
	else if (value && json_is_boolean(value))
		succeed(out, json_is_true(value));
	else if (value && json_is_string(value) && str_to_double(json_string_value(value), &number))
		succeed(out, number);
	else if (value)
		fail(out, "%s in '%s' is %s, not a number", spec->expression, out->file,
		     json_is_object(value)   ? "a map"
		     : json_is_array(value)  ? "a list"
		     : json_is_string(value) ? "a text"
					     : "null");
	json_decref(root);
}

/* The last match within one line; false where there is none. */
static bool match_line(const regex_t *regex, const char *line, size_t length, int group, regmatch_t *found)
{
	regmatch_t groups[MAX_GROUPS];
	size_t from = 0;
	bool any = false;
	while (from <= length) {
		groups[0] = (regmatch_t){.rm_so = (regoff_t)from, .rm_eo = (regoff_t)length};
		if (regexec(regex, line, (size_t)group + 1, groups, REG_STARTEND | (from ? REG_NOTBOL : 0)) != 0)
			break;
		if (groups[group].rm_so >= 0) {
			*found = groups[group];
			any = true;
		}
		from = (size_t)groups[0].rm_eo > from ? (size_t)groups[0].rm_eo : from + 1;
	}
	return any;
}

static bool is_line_end(char byte)
{
	return byte == '\n' || byte == '\r';
}

/* From the last line backwards, because the last match counts. */
static void extract_regex(const struct quality_spec *spec, const char *text, size_t size, struct quality_result *out)
{
	regex_t regex;
	if (regcomp(&regex, spec->expression, REG_EXTENDED) != 0) {
		fail(out, "'%s' is no extended regular expression", spec->expression);
		return;
	}
	regmatch_t found;
	const char *line = NULL;
	for (size_t end = size; !line;) {
		size_t start = end;
		while (start > 0 && !is_line_end(text[start - 1]))
			start--;
		size_t length = end - start < LINE_LIMIT ? end - start : LINE_LIMIT;
		if (match_line(&regex, text + start, length, spec->group, &found))
			line = text + start;
		if (start == 0)
			break;
		end = start - 1;
	}
	regfree(&regex);
	if (!line) {
		fail(out, "nothing in '%s' matches '%s'", out->file, spec->expression);
		return;
	}
	double number;
	char *value = mem_strndup(line + found.rm_so, (size_t)(found.rm_eo - found.rm_so));
	if (str_to_double(value, &number))
		succeed(out, number);
	else
		fail(out, "'%.60s', which '%s' matches in '%s', is not a number", value, spec->expression, out->file);
	free(value);
}

static void extract_column(const struct quality_spec *spec, const char *text, size_t size, struct quality_result *out)
{
	struct csv_column column;
	struct err err;
	if (csv_read_column(text, size, spec->expression, &column, &err) != 0) {
		fail(out, "'%s': %s", out->file, err.text);
		return;
	}
	double value = column.last;
	if (strcmp(spec->row, "first") == 0)
		value = column.first;
	else if (strcmp(spec->row, "mean") == 0)
		value = column.sum / (double)column.count;
	else if (strcmp(spec->row, "max") == 0)
		value = column.max;
	else if (strcmp(spec->row, "min") == 0)
		value = column.min;
	succeed(out, value);
}

void quality_extract(const struct quality_spec *spec, uint64_t not_before_utc_ns, struct quality_result *out)
{
	static void (*const ways[])(const struct quality_spec *, const char *, size_t,
				    struct quality_result *) = {[QUALITY_POINTER] = extract_pointer,
								[QUALITY_REGEX] = extract_regex,
								[QUALITY_COLUMN] = extract_column};
	uint64_t newest_ns = 0;
	char *text;
	size_t size;
	struct err err;
	*out = (struct quality_result){0};
	out->file = newest_match(spec->file, &newest_ns);
	if (!out->file)
		fail(out, "no file matches '%s'", spec->file);
	else if (newest_ns + tolerance_ns < not_before_utc_ns)
		fail(out, "newest match '%s' is older than this run", out->file);
	else if (file_read(out->file, FILE_LIMIT, &text, &size, &err) != 0)
		fail(out, "%s", err.text);
	else {
		ways[spec->how](spec, text, size, out);
		free(text);
	}
}

void quality_result_fini(struct quality_result *result)
{
	free(result->file);
	free(result->reason);
	*result = (struct quality_result){0};
}

static bool is_name_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '.' || byte == '-';
}

bool quality_parse_line(const char *line, size_t length, char *name, size_t name_size, double *value)
{
	static const char word[] = "pitot-metric ";
	char digits[64];
	size_t at = sizeof(word) - 1;
	while (length > 0 && isspace((unsigned char)line[length - 1]))
		length--;
	if (length < at || memcmp(line, word, at) != 0)
		return false;
	while (at < length && line[at] == ' ')
		at++;
	size_t name_at = at;
	while (at < length && is_name_byte(line[at]))
		at++;
	size_t name_length = at - name_at;
	if (name_length == 0 || name_length >= name_size || at >= length || line[at] != '=')
		return false;
	size_t count = length - ++at;
	if (count == 0 || count >= sizeof(digits) || isspace((unsigned char)line[at]) || memchr(line + at, '\0', count))
		return false;
	memcpy(digits, line + at, count);
	digits[count] = '\0';
	double number;
	if (!str_to_double(digits, &number))
		return false;
	memcpy(name, line + name_at, name_length);
	name[name_length] = '\0';
	*value = number;
	return true;
}
