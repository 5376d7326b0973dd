/*
 * onnx_tensor.c - a TensorProto where it lies: its shape and type, and where its values are.
 *
 * Fields: 1 dims, 2 data_type, 4 float_data, 5 int32_data, 7 int64_data, 8 name, 9 raw_data, 10 double_data, 11 uint64_data,
 * 13 external_data, 14 data_location. Values that lie in the file as the machine has them (raw, packed floats) are pointed at;
 * the others are decoded, which takes at most eight times their size in the file.
 */
#include "base/file.h"
#include "base/str.h"
#include "model/infer.h"
#include "model/onnx_load.h"
#include "model/wire_walk.h"
#include "onnx.pb-c.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tensor_fields {
	struct shape shape;
	int64_t type;
	const unsigned char *raw;
	size_t raw_size;
	bool has_raw, external;
	uint32_t typed;               /* number of the field with typed data, 0: none */
	VEC(struct walk_field) parts; /* of typed data */
	char *location;
	int64_t offset, length;
};

int onnx_spend(struct onnx_load *load, size_t bytes)
{
	if (bytes > load->budget)
		return err_set(load->err, ERR_INPUT, "the file describes far more than it holds");
	load->budget -= bytes;
	return 0;
}

bool onnx_element(int64_t type, enum element *out)
{
	static const enum element elements[] = {
		[1] = ELEMENT_F32,  [2] = ELEMENT_U8,   [3] = ELEMENT_I8,   [4] = ELEMENT_U16,  [5] = ELEMENT_I16,
		[6] = ELEMENT_I32,  [7] = ELEMENT_I64,  [9] = ELEMENT_BOOL, [10] = ELEMENT_F16, [11] = ELEMENT_F64,
		[12] = ELEMENT_U32, [13] = ELEMENT_U64, [16] = ELEMENT_BF16};
	if (type < 1 || type > 16 || type == 8 || type == 14 || type == 15)
		return false;
	*out = elements[type];
	return true;
}

static bool add_dim(struct tensor_fields *fields, uint64_t value)
{
	if (fields->shape.rank >= SHAPE_MAX_RANK || value > (uint64_t)INFER_MAX_DIM)
		return false;
	fields->shape.dims[fields->shape.rank++] = (int64_t)value;
	return true;
}

static bool add_dims(struct tensor_fields *fields, const struct walk_field *field)
{
	uint64_t value;
	if (field->type == WALK_VARINT)
		return add_dim(fields, field->value);
	struct walk packed = {field->bytes, field->bytes + field->size};
	while (packed.at < packed.end)
		if (!walk_varint(&packed, &value) || !add_dim(fields, value))
			return false;
	return true;
}

static bool add_external(struct tensor_fields *fields, const struct walk_field *field)
{
	Onnx__Entry *entry = field->type == WALK_BYTES ? onnx__entry__unpack(NULL, field->size, field->bytes) : NULL;
	if (!entry)
		return false;
	const char *key = entry->key ? entry->key : "", *value = entry->value ? entry->value : "";
	bool sound = true;
	if (strcmp(key, "location") == 0) {
		free(fields->location);
		fields->location = mem_strdup(value);
	} else if (strcmp(key, "offset") == 0) {
		sound = str_to_int64(value, &fields->offset) && fields->offset >= 0;
	} else if (strcmp(key, "length") == 0) {
		sound = str_to_int64(value, &fields->length) && fields->length >= 0;
	}
	onnx__entry__free_unpacked(entry, NULL);
	return sound;
}

static bool take_field(struct tensor_fields *fields, const struct walk_field *field)
{
	switch (field->number) {
	case 1:
		return add_dims(fields, field);
	case 2:
		fields->type = (int64_t)field->value;
		return field->type == WALK_VARINT;
	case 4:
	case 5:
	case 7:
	case 10:
	case 11:
		if (fields->typed && fields->typed != field->number)
			return false;
		fields->typed = field->number;
		vec_push(&fields->parts, *field);
		return true;
	case 9:
		fields->has_raw = true;
		fields->raw = field->bytes;
		fields->raw_size = field->size;
		return field->type == WALK_BYTES;
	case 13:
		return add_external(fields, field);
	case 14:
		fields->external = field->value == 1;
		return true;
	default:
		return true;
	}
}

/* Little endian, as many bytes as the element has. */
static void push_value(struct str *out, uint64_t value, size_t bytes)
{
	str_append_bytes(out, (const char *)&value, bytes);
}

/* Numbers that the file has as varints, or floats that come one by one. */
static bool decode(const struct tensor_fields *fields, enum element element, struct str *out)
{
	bool fixed = fields->typed == 4 || fields->typed == 10;
	size_t width = fields->typed == 4 ? 4 : 8;
	for (size_t i = 0; i < fields->parts.len; i++) {
		const struct walk_field *part = &fields->parts.items[i];
		uint64_t value;
		if (part->type == WALK_VARINT) {
			push_value(out, part->value, element_bytes(element));
			continue;
		}
		struct walk packed = {part->bytes, part->bytes + part->size};
		if (fixed) {
			if (part->size % width)
				return false;
			str_append_bytes(out, (const char *)part->bytes, part->size);
			continue;
		}
		while (packed.at < packed.end) {
			if (!walk_varint(&packed, &value))
				return false;
			push_value(out, value, element_bytes(element));
		}
	}
	return true;
}

/* The type of data must be the one that the format puts there. */
static bool typed_fits(uint32_t typed, enum element element)
{
	if (typed == 4)
		return element == ELEMENT_F32;
	if (typed == 10)
		return element == ELEMENT_F64;
	if (typed == 7)
		return element == ELEMENT_I64;
	if (typed == 11)
		return element == ELEMENT_U64 || element == ELEMENT_U32;
	return element != ELEMENT_F32 && element_bytes(element) <= 4;
}

/* Inside the model's folder, also after all links are followed. NULL: no such file. */
static char *resolve(struct onnx_load *load, const char *location, int *code)
{
	char *joined = file_join(load->folder, location);
	char *folder = realpath(load->folder, NULL), *path = realpath(joined, NULL);
	size_t length = folder ? strlen(folder) : 0;
	bool steps_out = location[0] == '/' || strcmp(location, "..") == 0 || str_starts(location, "../") ||
			 strstr(location, "/../") || str_ends(location, "/..");
	if (steps_out ||
	    (path && folder && (strncmp(path, folder, length) != 0 || (path[length] != '/' && length > 1))))
		*code = err_set(load->err, ERR_INPUT, "external data '%s' lies outside the model's folder", location);
	free(joined);
	free(folder);
	if (*code || !path) {
		free(path);
		return NULL;
	}
	return path;
}

/* Mapped once per file; borrowed from the graph. */
static const struct graph_file *map_external(struct onnx_load *load, const char *path)
{
	struct stat status;
	size_t known = names_get(&load->files, path);
	if (known != NAMES_NONE)
		return &load->graph->files.items[known];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *map = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
		map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return NULL;
	vec_push(&load->graph->files, ((struct graph_file){map, (size_t)status.st_size}));
	char *key = mem_strdup(path);
	vec_push(&load->texts, key);
	names_put(&load->files, key, load->graph->files.len - 1);
	return vec_last(&load->graph->files);
}

static int use_external(struct onnx_load *load, const struct tensor_fields *fields, int64_t bytes,
			struct graph_tensor *tensor)
{
	int code = 0;
	int64_t length = fields->length >= 0 ? fields->length : bytes;
	if (!fields->location)
		return err_set(load->err, ERR_INPUT, "tensor '%s' has external data without a location", tensor->name);
	char *path = load->folder ? resolve(load, fields->location, &code) : NULL;
	const struct graph_file *file = path ? map_external(load, path) : NULL;
	if (!code && length != bytes)
		code = err_set(load->err, ERR_INPUT,
			       "tensor '%s' needs %lld bytes of external data, the file says %lld", tensor->name,
			       (long long)bytes, (long long)length);
	if (!code && file && (fields->offset > (int64_t)file->size || bytes > (int64_t)file->size - fields->offset))
		code = err_set(load->err, ERR_INPUT, "tensor '%s' lies behind the end of '%s'", tensor->name,
			       fields->location);
	if (!code && file) {
		tensor->source = TENSOR_BYTES;
		tensor->bytes = file->map + fields->offset;
	} else if (!code) {
		char *clean = onnx_clean_name(fields->location);
		tensor->source = TENSOR_NORMAL;
		tensor->fill = 0.02;
		if (load->graph->notes.len < 8)
			graph_note(load->graph, "external data '%s' is not there: its weights are synthetic", clean);
		free(clean);
	}
	free(path);
	return code;
}

static int use_values(struct onnx_load *load, const struct tensor_fields *fields, bool hold,
		      struct graph_tensor *tensor)
{
	int64_t bytes = tensor_bytes(tensor);
	const unsigned char *from = fields->raw;
	size_t have = fields->raw_size;
	struct str decoded = {0};
	bool packed_floats = (fields->typed == 4 || fields->typed == 10) && fields->parts.len == 1 &&
			     fields->parts.items[0].type == WALK_BYTES;
	if (fields->external)
		return use_external(load, fields, bytes, tensor);
	if (!fields->has_raw && fields->typed && !typed_fits(fields->typed, tensor->element))
		return err_set(load->err, ERR_INPUT, "tensor '%s' has data of another type than %s", tensor->name,
			       element_name(tensor->element));
	if (!fields->has_raw && packed_floats) {
		from = fields->parts.items[0].bytes;
		have = fields->parts.items[0].size;
	} else if (!fields->has_raw) {
		if (!decode(fields, tensor->element, &decoded)) {
			str_fini(&decoded);
			return err_set(load->err, ERR_INPUT, "tensor '%s' has damaged data", tensor->name);
		}
		from = (const unsigned char *)str_text(&decoded);
		have = decoded.len;
	}
	if (bytes < 0 || have != (size_t)bytes) {
		char text[SHAPE_TEXT_SIZE];
		str_fini(&decoded);
		return err_set(load->err, ERR_INPUT, "tensor '%s' is %s of %s, which takes %lld bytes, but has %zu",
			       tensor->name, shape_text(&tensor->shape, text), element_name(tensor->element),
			       (long long)bytes, have);
	}
	if (!fields->has_raw && !packed_floats) {
		void *blob = str_take(&decoded);
		vec_push(&load->graph->blobs, blob);
		from = blob;
	} else if (hold) {
		void *blob = mem_alloc(have ? have : 1);
		memcpy(blob, from, have);
		vec_push(&load->graph->blobs, blob);
		from = blob;
	}
	tensor->source = TENSOR_BYTES;
	tensor->bytes = from;
	return 0;
}

static int read_fields(struct onnx_load *load, struct walk walk, const char *name, struct tensor_fields *fields)
{
	struct walk_field field;
	int more;
	while ((more = walk_next(&walk, &field)) > 0)
		if (!take_field(fields, &field)) {
			more = -1;
			break;
		}
	if (more < 0)
		return err_set(load->err, ERR_INPUT, "tensor '%s' is damaged", name);
	return 0;
}

int onnx_tensor(struct onnx_load *load, const unsigned char *bytes, size_t size, const char *name, bool hold,
		enum tensor_role role, size_t *out)
{
	struct tensor_fields fields = {.length = -1};
	enum element element = ELEMENT_F32;
	char *clean = onnx_clean_name(name);
	int code = read_fields(load, (struct walk){bytes, bytes + size}, clean, &fields);
	if (!code && !onnx_element(fields.type, &element)) {
		/* Text, numbers of four bits: nobody can count with it, but the rest of the model is there. */
		*out = graph_add_tensor(load->graph, clean, TENSOR_CONSTANT, ELEMENT_U8, NULL);
	} else if (!code) {
		*out = graph_add_tensor(load->graph, clean, role, element, &fields.shape);
		code = use_values(load, &fields, hold, &load->graph->tensors.items[*out]);
	}
	vec_fini(&fields.parts);
	free(fields.location);
	free(clean);
	return code;
}
