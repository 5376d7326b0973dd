/*
 * onnx.c - an ONNX model and its graph: see onnx.h.
 *
 * ModelProto: 7 graph, 8 opset_import. GraphProto: 1 node, 5 initializer, 11 input, 12 output, 15 sparse_initializer. Both are
 * walked where they lie; nodes and inputs are unpacked one by one, and of an initialiser nothing but its place is kept.
 */
#include "model/onnx.h"
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

enum { DEFAULT_SEQ = 128, NODES_MOST = 1 << 20 };

struct onnx_file {
	struct walk graph;
	bool has_graph;
	VEC(Onnx__Node *) nodes; /* owned */
};

static int damaged(struct onnx_load *load, const char *what)
{
	return err_set(load->err, ERR_INPUT, "not an ONNX model, or a damaged one: %s", what);
}

static int read_opset(struct onnx_load *load, const struct walk_field *field)
{
	Onnx__OperatorSet *set = onnx__operator_set__unpack(NULL, field->size, field->bytes);
	if (!set)
		return damaged(load, "its operator set cannot be read");
	if (!set->domain || !*set->domain || strcmp(set->domain, "ai.onnx") == 0)
		load->opset = set->version;
	onnx__operator_set__free_unpacked(set, NULL);
	return 0;
}

static int read_model(struct onnx_load *load, struct walk walk, struct onnx_file *file)
{
	struct walk_field field;
	int more, code = 0;
	while (!code && (more = walk_next(&walk, &field)) > 0) {
		if (field.number == 7 && field.type == WALK_BYTES) {
			file->graph = (struct walk){field.bytes, field.bytes + field.size};
			file->has_graph = true;
		} else if (field.number == 8 && field.type == WALK_BYTES)
			code = read_opset(load, &field);
	}
	if (!code && more < 0)
		return damaged(load, "it ends in the middle or is something else");
	if (!code && !file->has_graph)
		return damaged(load, "it holds no graph");
	return code;
}

/* The tensor's name is its field 8; it is wanted before the rest. */
static int read_initializer(struct onnx_load *load, const struct walk_field *field)
{
	struct walk walk = {field->bytes, field->bytes + field->size};
	struct walk_field part;
	char *name = NULL;
	size_t tensor;
	int more;
	while ((more = walk_next(&walk, &part)) > 0)
		if (part.number == 8 && part.type == WALK_BYTES) {
			free(name);
			name = mem_strndup((const char *)part.bytes, part.size);
		}
	if (more < 0 || !name) {
		free(name);
		return damaged(load, "an initialiser cannot be read");
	}
	vec_push(&load->texts, name);
	if (names_get(&load->values, name) != NAMES_NONE)
		return damaged(load, "two initialisers have one name");
	int code = onnx_tensor(load, field->bytes, field->size, name, false, TENSOR_CONSTANT, &tensor);
	if (!code)
		names_put(&load->values, name, tensor);
	return code;
}

static bool contains(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

/* What a dimension without a number is; 0: nobody knows. */
static int64_t bind_dim(const struct onnx_load *load, const char *name, size_t axis, bool ids)
{
	static const char *const batches[] = {"batch", NULL}, *const sequences[] = {"seq", "length", "token", NULL};
	int64_t batch = load->options->batch ? load->options->batch : 1;
	int64_t seq = load->options->seq ? load->options->seq : DEFAULT_SEQ;
	for (size_t i = 0; i < load->options->dim_count; i++)
		if (name && strcmp(load->options->dims[i].name, name) == 0)
			return load->options->dims[i].value;
	if (name && contains(name, batches))
		return batch;
	if (name && contains(name, sequences))
		return seq;
	return axis == 0 ? batch : axis == 1 && ids ? seq : 0;
}

static int input_shape(struct onnx_load *load, const char *name, const Onnx__Shape *from, bool ids, struct shape *out)
{
	if (from->n_dim > SHAPE_MAX_RANK)
		return err_set(load->err, ERR_INPUT, "input '%s' has %zu dimensions, pitot reads %d at most", name,
			       from->n_dim, SHAPE_MAX_RANK);
	for (size_t i = 0; i < from->n_dim; i++) {
		const Onnx__Dimension *dim = from->dim[i];
		int64_t asked = i == 0 ? load->options->batch : ids && i == 1 ? load->options->seq : 0;
		bool fixed = dim->has_dim_value && dim->dim_value > 0;
		int64_t value = fixed ? dim->dim_value : bind_dim(load, dim->dim_param, i, ids);
		if (fixed && asked && asked != value) {
			load->batch_replaced = true;
			value = asked;
		}
		if (value == 0) {
			char *clean = onnx_clean_name(dim->dim_param && *dim->dim_param ? dim->dim_param : "?");
			err_set(load->err, ERR_INPUT, "dimension %zu of input '%s' has no number: say --dim %s=N", i,
				name, clean);
			free(clean);
			return ERR_INPUT;
		}
		if (value < 1 || value > INFER_MAX_DIM)
			return err_set(load->err, ERR_INPUT, "input '%s' has a dimension of %lld", name,
				       (long long)value);
		out->dims[out->rank++] = value;
	}
	return 0;
}

static int add_input(struct onnx_load *load, const Onnx__ValueInfo *info)
{
	const Onnx__TensorType *type = info->type ? info->type->tensor_type : NULL;
	char *clean = onnx_clean_name(info->name), *key = mem_strdup(info->name ? info->name : "");
	enum element element = ELEMENT_F32;
	struct shape shape = {0};
	int code = 0;
	bool shaped = type && type->shape && onnx_element(type->elem_type, &element);
	vec_push(&load->texts, key);
	if (shaped)
		code = input_shape(load, clean, type->shape, !element_is_float(element), &shape);
	if (!code) {
		size_t tensor = graph_add_tensor(load->graph, clean, TENSOR_INPUT, element, shaped ? &shape : NULL);
		struct graph_tensor *added = &load->graph->tensors.items[tensor];
		added->source = element_is_float(element) ? TENSOR_NORMAL : TENSOR_IDS;
		added->fill = element_is_float(element) ? 1 : 2;
		if (shaped && shape.rank && load->graph->batch == 0)
			load->graph->batch = shape.dims[0];
		if (shaped && shape.rank == 2 && !element_is_float(element))
			load->graph->sequence = shape.dims[1];
		names_put(&load->values, key, tensor);
	}
	free(clean);
	return code;
}

static int read_input(struct onnx_load *load, const struct walk_field *field)
{
	Onnx__ValueInfo *info = onnx__value_info__unpack(NULL, field->size, field->bytes);
	if (!info)
		return damaged(load, "an input cannot be read");
	/* Older files list initialisers among the inputs. */
	bool known = info->name && names_get(&load->values, info->name) != NAMES_NONE;
	int code = known ? 0 : add_input(load, info);
	onnx__value_info__free_unpacked(info, NULL);
	return code;
}

static int read_node(struct onnx_load *load, const struct walk_field *field, struct onnx_file *file)
{
	Onnx__Node *node = file->nodes.len < NODES_MOST ? onnx__node__unpack(NULL, field->size, field->bytes) : NULL;
	if (!node)
		return damaged(load, "an operator cannot be read, or there are more than 2^20");
	vec_push(&file->nodes, node);
	return 0;
}

/* All fields of one number, in their order. */
static int each_field(struct onnx_load *load, struct onnx_file *file, uint32_t number,
		      int (*take)(struct onnx_load *load, const struct walk_field *field, struct onnx_file *file))
{
	struct walk walk = file->graph;
	struct walk_field field;
	int more, code = 0;
	while (!code && (more = walk_next(&walk, &field)) > 0)
		if (field.number == number && field.type == WALK_BYTES)
			code = take(load, &field, file);
	return code ? code : more < 0 ? damaged(load, "its graph ends in the middle") : 0;
}

static int take_initializer(struct onnx_load *load, const struct walk_field *field, struct onnx_file *file)
{
	(void)file;
	return read_initializer(load, field);
}

static int take_input(struct onnx_load *load, const struct walk_field *field, struct onnx_file *file)
{
	(void)file;
	return read_input(load, field);
}

static int take_output(struct onnx_load *load, const struct walk_field *field, struct onnx_file *file)
{
	Onnx__ValueInfo *info = onnx__value_info__unpack(NULL, field->size, field->bytes);
	(void)file;
	if (!info)
		return damaged(load, "an output cannot be read");
	size_t tensor = info->name ? names_get(&load->values, info->name) : NAMES_NONE;
	if (tensor != NAMES_NONE)
		load->graph->tensors.items[tensor].output = true;
	char *clean = onnx_clean_name(info->name);
	onnx__value_info__free_unpacked(info, NULL);
	int code = tensor == NAMES_NONE ? err_set(load->err, ERR_INPUT, "nothing writes the output '%s'", clean) : 0;
	free(clean);
	return code;
}

static int take_sparse(struct onnx_load *load, const struct walk_field *field, struct onnx_file *file)
{
	(void)field;
	(void)file;
	return err_set(load->err, ERR_INPUT, "it has sparse initialisers, which pitot does not read");
}

/* Nodes are converted when all that they read is there; the format wants them in such an order, not every file has it. */
struct order {
	struct names writers;  /* value → node */
	size_t *open;          /* per node: inputs that are still to be written */
	size_t *ready;         /* nodes, in the order in which they can run */
	VEC(size_t) * readers; /* per node: those that wait for it */
	size_t count, done;
};

static int note_writers(struct onnx_load *load, const struct onnx_file *file, struct order *order)
{
	for (size_t i = 0; i < file->nodes.len; i++)
		for (size_t k = 0; k < file->nodes.items[i]->n_output; k++) {
			const char *name = file->nodes.items[i]->output[k];
			if (!*name)
				continue;
			if (names_get(&order->writers, name) != NAMES_NONE ||
			    names_get(&load->values, name) != NAMES_NONE) {
				char *clean = onnx_clean_name(name);
				err_set(load->err, ERR_INPUT, "two operators write '%s'", clean);
				free(clean);
				return ERR_INPUT;
			}
			names_put(&order->writers, name, i);
		}
	return 0;
}

static int note_readers(struct onnx_load *load, const struct onnx_file *file, struct order *order)
{
	for (size_t i = 0; i < file->nodes.len; i++) {
		const Onnx__Node *node = file->nodes.items[i];
		for (size_t k = 0; k < node->n_input; k++) {
			size_t writer = *node->input[k] ? names_get(&order->writers, node->input[k]) : NAMES_NONE;
			if (writer != NAMES_NONE) {
				vec_push(&order->readers[writer], i);
				order->open[i]++;
			} else if (*node->input[k] && names_get(&load->values, node->input[k]) == NAMES_NONE) {
				char *clean = onnx_clean_name(node->input[k]);
				int code = onnx_bad(&(struct onnx_site){load, node}, "nothing writes its input '%s'",
						    clean);
				free(clean);
				return code;
			}
		}
	}
	return 0;
}

static int convert_nodes(struct onnx_load *load, const struct onnx_file *file, struct order *order)
{
	int code = 0;
	for (size_t i = 0; i < file->nodes.len; i++)
		if (!order->open[i])
			order->ready[order->count++] = i;
	for (; !code && order->done < order->count; order->done++) {
		size_t node = order->ready[order->done];
		code = onnx_node(load, file->nodes.items[node]);
		for (size_t i = 0; i < order->readers[node].len; i++)
			if (--order->open[order->readers[node].items[i]] == 0)
				order->ready[order->count++] = order->readers[node].items[i];
	}
	for (size_t i = 0; !code && order->count < file->nodes.len && i < file->nodes.len; i++)
		if (order->open[i])
			code = onnx_bad(&(struct onnx_site){load, file->nodes.items[i]},
					"it needs its own result: the graph has a cycle");
	return code;
}

static int read_nodes(struct onnx_load *load, const struct onnx_file *file)
{
	size_t count = file->nodes.len;
	struct order order = {.open = mem_alloc((count + 1) * sizeof(size_t)),
			      .ready = mem_alloc((count + 1) * sizeof(size_t)),
			      .readers = mem_alloc((count + 1) * sizeof(*order.readers))};
	int code = note_writers(load, file, &order);
	if (!code)
		code = note_readers(load, file, &order);
	if (!code)
		code = convert_nodes(load, file, &order);
	for (size_t i = 0; i < count; i++)
		vec_fini(&order.readers[i]);
	names_fini(&order.writers);
	free(order.open);
	free(order.ready);
	free(order.readers);
	return code;
}

static int read_graph(struct onnx_load *load, struct onnx_file *file)
{
	int code = each_field(load, file, 15, take_sparse);
	if (!code)
		code = each_field(load, file, 5, take_initializer);
	if (!code)
		code = each_field(load, file, 11, take_input);
	if (!code)
		code = each_field(load, file, 1, read_node);
	if (!code && !file->nodes.len)
		code = damaged(load, "it has no operators");
	if (!code)
		code = read_nodes(load, file);
	if (!code)
		code = each_field(load, file, 12, take_output);
	if (code && load->batch_replaced)
		err_prefix(load->err, "with another batch or sequence length than the file fixes");
	if (!code && load->batch_replaced)
		graph_note(load->graph, "the file fixes another batch or sequence length; it was replaced");
	return code;
}

static void load_fini(struct onnx_load *load, struct onnx_file *file)
{
	for (size_t i = 0; i < file->nodes.len; i++)
		onnx__node__free_unpacked(file->nodes.items[i], NULL);
	for (size_t i = 0; i < load->texts.len; i++)
		free(load->texts.items[i]);
	vec_fini(&file->nodes);
	vec_fini(&load->texts);
	names_fini(&load->values);
	names_fini(&load->op_names);
	names_fini(&load->files);
}

int onnx_parse(const unsigned char *bytes, size_t size, const char *folder, const struct onnx_options *options,
	       struct graph *graph, struct err *err)
{
	struct graph made;
	struct onnx_file file = {0};
	struct onnx_load load = {.graph = &made,
				 .options = options,
				 .folder = folder,
				 .err = err,
				 .opset = 13,
				 .budget = ((size_t)1 << 20) + (size < SIZE_MAX / 128 ? 64 * size : SIZE_MAX / 2)};
	graph_init(&made, "model");
	made.batch = 0;
	int code = read_model(&load, (struct walk){bytes, bytes + size}, &file);
	if (!code)
		code = read_graph(&load, &file);
	load_fini(&load, &file);
	if (made.batch == 0)
		made.batch = 1;
	made.sizes = made.sequence ? mem_printf("batch=%lld seq=%lld", (long long)made.batch, (long long)made.sequence)
				   : mem_printf("batch=%lld", (long long)made.batch);
	if (!code)
		code = graph_finish(&made, err);
	if (code)
		graph_fini(&made);
	else
		*graph = made;
	return code;
}

int onnx_load(const char *path, const struct onnx_options *options, struct graph *graph, struct err *err)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *map = MAP_FAILED;
	if (fd < 0)
		return err_set_errno(err, ERR_INPUT, "cannot read '%s'", path);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
		map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return err_set(err, ERR_INPUT, "cannot read '%s': it is empty or no regular file", path);
	const char *base = file_base_name(path);
	char *folder = base == path ? mem_strdup(".") : mem_strndup(path, (size_t)(base - path));
	int code = onnx_parse(map, (size_t)status.st_size, folder, options, graph, err);
	free(folder);
	if (code) {
		munmap(map, (size_t)status.st_size);
		return err_prefix(err, "%s", path);
	}
	vec_push(&graph->files, ((struct graph_file){map, (size_t)status.st_size}));
	free(graph->name);
	graph->name = mem_strndup(base, strlen(base) - (str_ends(base, ".onnx") ? 5 : 0));
	return 0;
}
