/* overlay_json.c - configuration copies in JSON. Key order and whole numbers are kept; layout becomes two blanks per
 * level. */
#include "config/overlay_format.h"

#include <jansson.h>
#include <string.h>

static const char *type_words(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "is a map";
	case JSON_ARRAY:
		return "is a list";
	case JSON_STRING:
		return "is a text, neither a map nor a list";
	case JSON_NULL:
		return "is null, neither a map nor a list";
	case JSON_TRUE:
	case JSON_FALSE:
		return "is true or false, neither a map nor a list";
	default:
		return "is a number, neither a map nor a list";
	}
}

/* json_string, json_integer and json_null are names of base/json.c too, and that is what a call would be linked with:
 * so texts, whole numbers and null are made by other calls of the library's. */
static json_t *make_text(const char *text)
{
	return json_stringn(text, strlen(text));
}

static json_t *make_number(const char *text)
{
	int64_t integer;
	double number;
	if (overlay_type_of(text) == OVERLAY_INTEGER && str_to_int64(text, &integer))
		return json_pack("I", (json_int_t)integer);
	return str_to_double(text, &number) ? json_real(number) : make_text(text);
}

static json_t *make_value(const struct overlay_setting *setting)
{
	switch (overlay_setting_type(setting)) {
	case OVERLAY_NULL:
		return json_pack("n");
	case OVERLAY_BOOL:
		return json_boolean(setting->value[0] == 't' || setting->value[0] == 'T');
	case OVERLAY_INTEGER:
	case OVERLAY_NUMBER:
		return make_number(setting->value);
	default:
		return make_text(setting->value);
	}
}

/* The child, borrowed; NULL where it is not there. `*is_container`: it could have had one. */
static json_t *child_of(json_t *parent, const char *step, bool *is_container)
{
	size_t index;
	*is_container = json_is_object(parent) || json_is_array(parent);
	if (json_is_object(parent))
		return json_object_get(parent, step);
	return json_is_array(parent) && pointer_index(step, &index) ? json_array_get(parent, index) : NULL;
}

/* `value` is taken over. */
static bool put_child(json_t *parent, const char *step, json_t *value)
{
	size_t index;
	if (json_is_object(parent))
		return json_object_set_new(parent, step, value) == 0;
	if (json_is_array(parent) && pointer_index(step, &index))
		return json_array_set_new(parent, index, value) == 0;
	json_decref(value);
	return false;
}

static int apply_setting(const struct overlay_work *work, json_t *root, const struct overlay_setting *setting)
{
	struct pointer pointer;
	pointer_init(&pointer, setting->pointer);
	json_t *at = root;
	int code = 0;
	for (size_t i = 0; i < pointer.steps.len && !code; i++) {
		const char *step = pointer.steps.items[i];
		bool is_last = i + 1 == pointer.steps.len, is_container;
		json_t *child = child_of(at, step, &is_container);
		if (!is_container)
			code = overlay_fail(work, setting->line, "set", setting->pointer, &pointer, i, type_words(at));
		else if (json_is_array(at) && !child)
			code = overlay_fail(work, setting->line, "set", setting->pointer, &pointer, i + 1,
					    "is not in the list");
		else if ((is_last || !child) && !put_child(at, step, is_last ? make_value(setting) : json_object()))
			code = overlay_fail(work, setting->line, "set", setting->pointer, &pointer, i + 1,
					    "cannot be set (is it valid UTF-8?)");
		if (!code && !is_last)
			at = child_of(at, step, &is_container);
	}
	pointer_fini(&pointer);
	return code;
}

static void make_absolute(const struct overlay_work *work, json_t *value)
{
	if (!json_is_string(value) || !overlay_is_relative(json_string_value(value)))
		return;
	char *path = overlay_absolute(work, json_string_value(value));
	json_string_set(value, path);
	free(path);
}

static int absolute_children(const struct overlay_work *work, json_t *parent, const char *text,
			     const struct pointer *steps)
{
	const char *key;
	size_t index;
	json_t *child;
	bool nested = false;
	json_object_foreach(parent, key, child)
	{
		nested |= json_is_object(child) || json_is_array(child);
		make_absolute(work, child);
	}
	json_array_foreach(parent, index, child)
	{
		nested |= json_is_object(child) || json_is_array(child);
		make_absolute(work, child);
	}
	if (nested)
		return overlay_fail(work, work->overlay->line, "make absolute", text, steps, steps->steps.len,
				    "holds maps or lists of its own; name each of them");
	return 0;
}

static int apply_absolute(const struct overlay_work *work, json_t *root, const char *text)
{
	struct pointer pointer;
	pointer_init(&pointer, text);
	json_t *at = root;
	size_t depth = 0;
	bool is_container;
	for (; depth < pointer.steps.len && at; depth++)
		at = child_of(at, pointer.steps.items[depth], &is_container);
	int code = 0;
	if (!at)
		code = overlay_fail(work, work->overlay->line, "make absolute", text, &pointer, depth,
				    "does not exist");
	else if (json_is_string(at))
		make_absolute(work, at);
	else if (json_is_object(at) || json_is_array(at))
		code = absolute_children(work, at, text, &pointer);
	else
		code = overlay_fail(work, work->overlay->line, "make absolute", text, &pointer, depth,
				    "is not a text, nor a map or list of texts");
	pointer_fini(&pointer);
	return code;
}

static int append_json(const char *bytes, size_t size, void *out)
{
	str_append_bytes(out, bytes, size);
	return 0;
}

static int rewrite(const struct overlay_work *work, const char *text, size_t size, struct str *out)
{
	json_error_t problem;
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
	if (!root)
		return err_set(work->err, ERR_INPUT, "%s:%d: not valid JSON: %s", work->overlay->file, problem.line,
			       problem.text);
	int code = 0;
	for (size_t i = 0; i < work->overlay->set.len && !code; i++)
		code = apply_setting(work, root, &work->overlay->set.items[i]);
	for (size_t i = 0; i < work->overlay->absolute.len && !code; i++)
		code = apply_absolute(work, root, work->overlay->absolute.items[i]);
	if (!code && json_dump_callback(root, append_json, out, JSON_INDENT(2)) != 0)
		code = err_set(work->err, ERR_INTERNAL, "cannot write the copy of '%s' as JSON", work->overlay->file);
	str_append(out, "\n");
	json_decref(root);
	return code;
}

static const char *const endings[] = {".json", NULL};
const struct overlay_format overlay_json = {endings, rewrite};
