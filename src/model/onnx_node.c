/* onnx_node.c - one node of an ONNX graph: attributes, inputs, and the operator that it becomes: see onnx_load.h. */
#include "base/str.h"
#include "model/infer.h"
#include "model/onnx_load.h"
#include "model/values.h"
#include "onnx.pb-c.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 200, LAYERS_MOST = 16 };

int onnx_bad(const struct onnx_site *site, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	char *name = onnx_clean_name(site->node->name && *site->node->name ? site->node->name
				     : site->node->n_output                ? site->node->output[0]
									   : "");
	char *type = onnx_clean_name(site->node->op_type);
	int code = err_set(site->load->err, ERR_INPUT, "operator '%s' (%s): %s", name, type, text);
	free(name);
	free(type);
	return code;
}

char *onnx_clean_name(const char *name)
{
	size_t size = name ? strlen(name) : 0;
	char *clean = str_utf8_clean(name ? name : "", size < NAME_MOST ? size : NAME_MOST);
	for (char *at = clean; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return clean;
}

const Onnx__Attribute *onnx_attribute(const struct onnx_site *site, const char *name)
{
	for (size_t i = 0; i < site->node->n_attribute; i++)
		if (site->node->attribute[i]->name && strcmp(site->node->attribute[i]->name, name) == 0)
			return site->node->attribute[i];
	return NULL;
}

int64_t onnx_int(const struct onnx_site *site, const char *name, int64_t otherwise)
{
	const Onnx__Attribute *attribute = onnx_attribute(site, name);
	return attribute && attribute->has_i ? attribute->i : otherwise;
}

double onnx_float(const struct onnx_site *site, const char *name, double otherwise)
{
	const Onnx__Attribute *attribute = onnx_attribute(site, name);
	return attribute && attribute->has_f ? (double)attribute->f : otherwise;
}

const char *onnx_text(const struct onnx_site *site, const char *name, char *out, size_t size)
{
	const Onnx__Attribute *attribute = onnx_attribute(site, name);
	size_t length = attribute && attribute->has_s ? attribute->s.len : 0;
	snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1),
		 length ? (const char *)attribute->s.data : "");
	return out;
}

size_t onnx_ints(const struct onnx_site *site, const char *name, int64_t *out, size_t most)
{
	const Onnx__Attribute *attribute = onnx_attribute(site, name);
	size_t count = attribute ? attribute->n_ints : 0;
	for (size_t i = 0; i < count && i < most; i++)
		out[i] = attribute->ints[i];
	return count;
}

size_t onnx_in(const struct onnx_site *site, size_t index)
{
	if (index >= site->node->n_input || !*site->node->input[index])
		return GRAPH_NONE;
	return names_get(&site->load->values, site->node->input[index]);
}

const struct shape *onnx_shape(const struct onnx_site *site, size_t index)
{
	size_t tensor = onnx_in(site, index);
	const struct graph_tensor *found = tensor == GRAPH_NONE ? NULL : &site->load->graph->tensors.items[tensor];
	return found && found->shaped ? &found->shape : NULL;
}

bool onnx_is_constant(const struct graph_tensor *tensor)
{
	bool given = tensor->source == TENSOR_BYTES || tensor->source == TENSOR_FILLED;
	return tensor->shaped && given && tensor->role != TENSOR_ACTIVATION && tensor->role != TENSOR_INPUT;
}

int64_t onnx_constant(const struct onnx_site *site, size_t index, int64_t *out, size_t most)
{
	size_t tensor = onnx_in(site, index);
	if (tensor == GRAPH_NONE || !onnx_is_constant(&site->load->graph->tensors.items[tensor]))
		return -1;
	const struct graph_tensor *found = &site->load->graph->tensors.items[tensor];
	int64_t count = shape_elements(&found->shape);
	if (count < 0 || (size_t)count > most)
		return -1;
	values_read_int(found, 0, out);
	return count;
}

int64_t onnx_list(const struct onnx_site *site, const char *attribute, size_t input, int64_t *out, size_t most)
{
	if (onnx_in(site, input) != GRAPH_NONE)
		return onnx_constant(site, input, out, most);
	size_t count = onnx_ints(site, attribute, out, most);
	return count <= most ? (int64_t)count : -1;
}

void onnx_is_weight(const struct onnx_site *site, size_t index, enum tensor_role role)
{
	size_t tensor = onnx_in(site, index);
	if (tensor == GRAPH_NONE)
		return;
	struct graph_tensor *found = &site->load->graph->tensors.items[tensor];
	/* External data that is not there makes a synthetic weight; it is one all the same. */
	if (found->role == TENSOR_CONSTANT && element_is_float(found->element))
		found->role = role;
}

/* "/layer1/layer1.0/conv1/Conv" is the operator "layer1.0.conv1.Conv": PyTorch repeats the way. */
static void append_part(struct str *path, const char *part, size_t length, size_t *last)
{
	size_t before = path->len - *last;
	bool repeats = path->len && length > before + 1 && strncmp(part, str_text(path) + *last, before) == 0 &&
		       part[before] == '.';
	if (repeats) {
		path->len = *last;
		path->text[path->len] = '\0';
	} else if (path->len) {
		str_append_char(path, '.');
		*last = path->len;
	}
	str_append_bytes(path, part, length);
}

static char *op_path(const char *clean)
{
	struct str path = {0};
	size_t last = 0, parts = 0;
	if (!strchr(clean, '/'))
		return mem_strdup(clean);
	for (const char *at = clean; *at && parts < LAYERS_MOST;) {
		size_t length = strcspn(at, "/");
		if (length) {
			append_part(&path, at, length, &last);
			parts++;
		}
		at += length + (at[length] == '/');
	}
	return str_take(&path);
}

/* Dots beyond a depth that no model has are no layers. */
static char *layer_of(const char *path)
{
	size_t parts = 0;
	const char *end = strrchr(path, '.');
	char *layer = mem_strndup(path, end ? (size_t)(end - path) : 0);
	for (char *at = layer; *at; at++)
		if (*at == '.' && (++parts >= LAYERS_MOST || at == layer || at[1] == '.' || !at[1]))
			*at = '_';
	return layer;
}

static size_t begin_op(const struct onnx_site *site, enum op_kind kind)
{
	struct onnx_load *load = site->load;
	const char *given = site->node->name && *site->node->name ? site->node->name
			    : site->node->n_output                ? site->node->output[0]
								  : "node";
	char *clean = onnx_clean_name(given), *path = op_path(clean);
	/* From names alone, "Conv_0": everything is the model's. */
	char *layer = strchr(clean, '/') || strchr(clean, '.') ? layer_of(path) : mem_strdup("");
	if (names_get(&load->op_names, path) != NAMES_NONE) {
		char *unique = mem_printf("%s#%zu", path, load->graph->ops.len);
		free(path);
		path = unique;
	}
	size_t op = graph_add_op(load->graph, kind, path, graph_layer(load->graph, layer));
	free(load->graph->ops.items[op].type);
	load->graph->ops.items[op].type = onnx_clean_name(site->node->op_type);
	vec_push(&load->texts, path);
	names_put(&load->op_names, path, op);
	free(layer);
	free(clean);
	return op;
}

/* What the file calls the output is from now on this tensor. */
static int name_output(const struct onnx_site *site, size_t index, size_t tensor)
{
	const char *name = site->node->output[index];
	if (names_get(&site->load->values, name) != NAMES_NONE)
		return onnx_bad(site, "it writes '%s', which is there already",
				site->load->graph->tensors.items[tensor].name);
	char *key = mem_strdup(name);
	vec_push(&site->load->texts, key);
	names_put(&site->load->values, key, tensor);
	return 0;
}

static int write_outputs(const struct onnx_site *site, size_t op, size_t count, const struct onnx_op *what)
{
	struct graph *graph = site->load->graph;
	const struct graph_tensor *first = graph_input(graph, &graph->ops.items[op], 0);
	enum element element = what && what->element ? *what->element : first ? first->element : ELEMENT_F32;
	for (size_t i = 0; i < count; i++) {
		if (!*site->node->output[i]) {
			vec_push(&graph->ops.items[op].outputs, GRAPH_NONE);
			continue;
		}
		char *clean = onnx_clean_name(site->node->output[i]);
		size_t tensor = graph_op_writes(graph, op, clean, element);
		free(clean);
		const struct shape *given = what && what->all_given ? &what->all_given[i]
					    : i == 0 && what        ? what->given
								    : NULL;
		if (given) {
			graph->tensors.items[tensor].shape = *given;
			graph->tensors.items[tensor].shaped = true;
		}
		int code = name_output(site, i, tensor);
		if (code)
			return code;
	}
	return 0;
}

int onnx_emit(const struct onnx_site *site, const struct onnx_op *what)
{
	struct onnx_load *load = site->load;
	size_t op = begin_op(site, what->kind), outputs = what->outputs ? what->outputs : 1;
	load->graph->ops.items[op].attributes = what->attributes;
	for (size_t i = 0; i < what->inputs && i < site->node->n_input; i++)
		graph_op_reads(load->graph, op, onnx_in(site, i));
	int code = write_outputs(site, op, outputs < site->node->n_output ? outputs : site->node->n_output, what);
	if (code)
		return code;
	/* What lies behind (a dropout's mask) is there for whoever asks, without a shape. */
	for (size_t i = outputs; i < site->node->n_output; i++)
		if (*site->node->output[i])
			return onnx_bad(site, "its output %zu is used, which pitot does not compute", i);
	return infer_op(load->graph, op, load->err);
}

int onnx_emit_unknown(const struct onnx_site *site, const char *reason)
{
	struct onnx_load *load = site->load;
	size_t op = begin_op(site, OP_OTHER);
	for (size_t i = 0; i < site->node->n_input; i++)
		graph_op_reads(load->graph, op, onnx_in(site, i));
	load->graph->ops.items[op].unknown = mem_strdup(reason);
	return write_outputs(site, op, site->node->n_output, NULL);
}

static const struct onnx_type *find_type(const char *name)
{
	const struct onnx_type *const tables[] = {onnx_layer_types, onnx_point_types, onnx_move_types};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct onnx_type *type = tables[i]; type->name; type++)
			if (strcmp(type->name, name) == 0)
				return type;
	return NULL;
}

int onnx_node(struct onnx_load *load, const Onnx__Node *node)
{
	static const char *const flow[] = {"If", "Loop", "Scan", "SequenceMap"};
	struct onnx_site site = {.load = load, .node = node};
	const char *type_name = node->op_type ? node->op_type : "";
	bool standard = !node->domain || !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
	bool done = false;
	int code = standard ? onnx_fold(&site, &done) : 0;
	if (code || done)
		return code;
	for (size_t i = 0; i < sizeof(flow) / sizeof(flow[0]); i++)
		if (standard && strcmp(type_name, flow[i]) == 0)
			return onnx_emit_unknown(&site, "control flow: how often it runs depends on the data");
	const struct onnx_type *type = standard ? find_type(type_name) : NULL;
	if (!type) {
		char *clean = onnx_clean_name(type_name);
		char *domain = onnx_clean_name(standard ? NULL : node->domain);
		char *reason = mem_printf("pitot does not know %s%s%s", clean, standard ? "" : " of ", domain);
		code = onnx_emit_unknown(&site, reason);
		free(clean);
		free(domain);
		free(reason);
		return code;
	}
	return type->convert(&site);
}
