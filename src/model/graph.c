/* graph.c - building and checking a graph: see graph.h. */
#include "model/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

void graph_init(struct graph *graph, const char *name)
{
	*graph = (struct graph){.name = mem_strdup(name), .batch = 1};
	vec_push(&graph->layers, ((struct graph_layer){.path = mem_strdup(""), .parent = GRAPH_NONE}));
	names_put(&graph->layer_paths, graph->layers.items[0].path, 0);
}

void graph_fini(struct graph *graph)
{
	for (size_t i = 0; i < graph->tensors.len; i++)
		free(graph->tensors.items[i].name);
	for (size_t i = 0; i < graph->ops.len; i++) {
		struct graph_op *op = &graph->ops.items[i];
		free(op->name);
		free(op->type);
		free(op->unknown);
		vec_fini(&op->inputs);
		vec_fini(&op->outputs);
	}
	for (size_t i = 0; i < graph->layers.len; i++)
		free(graph->layers.items[i].path);
	for (size_t i = 0; i < graph->blobs.len; i++)
		free(graph->blobs.items[i]);
	for (size_t i = 0; i < graph->files.len; i++)
		if (graph->files.items[i].map)
			munmap(graph->files.items[i].map, graph->files.items[i].size);
	for (size_t i = 0; i < graph->notes.len; i++)
		free(graph->notes.items[i]);
	vec_fini(&graph->tensors);
	vec_fini(&graph->ops);
	vec_fini(&graph->layers);
	vec_fini(&graph->blobs);
	vec_fini(&graph->files);
	vec_fini(&graph->notes);
	names_fini(&graph->layer_paths);
	free(graph->sizes);
	graph->sizes = NULL;
	free(graph->name);
	graph->name = NULL;
}

void graph_note(struct graph *graph, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	vec_push(&graph->notes, mem_strdup(text));
}

size_t graph_layer(struct graph *graph, const char *path)
{
	size_t known = names_get(&graph->layer_paths, path);
	if (known != NAMES_NONE)
		return known;
	const char *dot = strrchr(path, '.');
	char *above = mem_strndup(path, dot ? (size_t)(dot - path) : 0);
	size_t parent = graph_layer(graph, above);
	free(above);
	vec_push(&graph->layers, ((struct graph_layer){.path = mem_strdup(path), .parent = parent}));
	names_put(&graph->layer_paths, vec_last(&graph->layers)->path, graph->layers.len - 1);
	return graph->layers.len - 1;
}

size_t graph_add_tensor(struct graph *graph, const char *name, enum tensor_role role, enum element element,
			const struct shape *shape)
{
	struct graph_tensor tensor = {.name = mem_strdup(name),
				      .role = role,
				      .element = element,
				      .shaped = shape != NULL,
				      .producer = GRAPH_NONE};
	if (shape)
		tensor.shape = *shape;
	vec_push(&graph->tensors, tensor);
	return graph->tensors.len - 1;
}

size_t graph_add_op(struct graph *graph, enum op_kind kind, const char *name, size_t layer)
{
	struct graph_op *op = vec_add(&graph->ops);
	op->kind = kind;
	op->name = mem_strdup(name);
	op->type = mem_strdup(op_kind_name(kind));
	op->layer = layer;
	return graph->ops.len - 1;
}

void graph_op_reads(struct graph *graph, size_t op, size_t tensor)
{
	vec_push(&graph->ops.items[op].inputs, tensor);
}

size_t graph_op_writes(struct graph *graph, size_t op, const char *name, enum element element)
{
	size_t tensor = graph_add_tensor(graph, name, TENSOR_ACTIVATION, element, NULL);
	graph->tensors.items[tensor].producer = op;
	vec_push(&graph->ops.items[op].outputs, tensor);
	return tensor;
}

const struct graph_tensor *graph_input(const struct graph *graph, const struct graph_op *op, size_t index)
{
	if (index >= op->inputs.len || op->inputs.items[index] == GRAPH_NONE)
		return NULL;
	return &graph->tensors.items[op->inputs.items[index]];
}

const struct graph_tensor *graph_output(const struct graph *graph, const struct graph_op *op, size_t index)
{
	if (index >= op->outputs.len || op->outputs.items[index] == GRAPH_NONE)
		return NULL;
	return &graph->tensors.items[op->outputs.items[index]];
}

int64_t tensor_bytes(const struct graph_tensor *tensor)
{
	int64_t bytes;
	if (!tensor->shaped)
		return -1;
	return count_multiply(shape_elements(&tensor->shape), (int64_t)element_bytes(tensor->element), &bytes) ? bytes
													       : -1;
}

static int check_op(const struct graph *graph, size_t index, struct err *err)
{
	const struct graph_op *op = &graph->ops.items[index];
	for (size_t i = 0; i < op->inputs.len; i++) {
		const struct graph_tensor *read = graph_input(graph, op, i);
		if (!read)
			continue;
		if (read->role == TENSOR_ACTIVATION && (read->producer == GRAPH_NONE || read->producer >= index))
			return err_set(err, ERR_INPUT, "operator '%s' reads '%s' before anything writes it", op->name,
				       read->name);
	}
	for (size_t i = 0; i < op->outputs.len; i++) {
		const struct graph_tensor *written = graph_output(graph, op, i);
		if (written && (written->role != TENSOR_ACTIVATION || written->producer != index))
			return err_set(err, ERR_INPUT, "operator '%s' writes '%s', which is not its to write", op->name,
				       written->name);
	}
	return 0;
}

int graph_finish(const struct graph *graph, struct err *err)
{
	for (size_t i = 0; i < graph->tensors.len; i++) {
		const struct graph_tensor *tensor = &graph->tensors.items[i];
		if (tensor->shaped && tensor_bytes(tensor) < 0)
			return err_set(err, ERR_INPUT, "tensor '%s' claims more bytes than a number holds",
				       tensor->name);
	}
	for (size_t i = 0; i < graph->ops.len; i++) {
		int code = check_op(graph, i, err);
		if (code)
			return code;
	}
	return 0;
}
