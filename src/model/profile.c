/* profile.c - from a name to a graph, and from a graph to the rows that are shown: see profile.h. */
#include "model/profile.h"
#include "base/file.h"
#include "base/str.h"
#include "model/count.h"
#include "model/describe.h"
#include "model/memory.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static int unknown_name(const char *name, struct err *err)
{
	const char *meant = arch_suggest(name);
	return err_set(err, ERR_INPUT, "'%s' is no file and no architecture%s%s%s (pitot model --list shows them)",
		       name, meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

int profile_make(const struct model_source *source, struct graph *graph, const char **kind, struct err *err)
{
	const struct arch *arch = arch_find(source->name);
	if (arch) {
		*kind = arch->preset ? "preset" : "architecture";
		return arch_make(arch, &source->sizes, graph, err);
	}
	if (access(source->name, F_OK) != 0)
		return unknown_name(source->name, err);
	if (!str_ends(source->name, ".onnx")) {
		*kind = "text";
		return describe_load(source->name, &source->sizes, graph, err);
	}
	*kind = "onnx";
	for (int i = 0; i < DIM_COUNT; i++)
		if (source->sizes.value[i] && i != DIM_BATCH && i != DIM_SEQ)
			return err_set(err, ERR_USAGE,
				       "an ONNX file has its sizes; it takes --batch, --seq and --dim only");
	struct onnx_options options = {.batch = source->sizes.value[DIM_BATCH],
				       .seq = source->sizes.value[DIM_SEQ],
				       .dims = source->dims,
				       .dim_count = source->dim_count};
	return onnx_load(source->name, &options, graph, err);
}

static char *shape_of_tensor(const struct graph_tensor *tensor)
{
	char text[SHAPE_TEXT_SIZE];
	return tensor && tensor->shaped ? mem_strdup(shape_text(&tensor->shape, text)) : NULL;
}

/* An activation is told by its function, everything else by its kind. */
static const char *kind_words(const struct graph_op *op)
{
	if (op->kind == OP_UNARY)
		return unary_name(op->attributes.unary.fn);
	if (op->kind == OP_BINARY)
		return binary_name(op->attributes.binary.fn);
	return op_kind_name(op->kind);
}

static void fill_ops(const struct graph *graph, const struct count *count, struct model_row *row)
{
	for (size_t i = 0; i < graph->ops.len; i++) {
		const struct graph_op *op = &graph->ops.items[i];
		/* A table is not what flows through. */
		size_t x = op->kind == OP_EMBEDDING ? 1 : 0;
		vec_push(&row->ops, ((struct model_op_row){.layer = (int64_t)op->layer,
							   .name = mem_strdup(op->name),
							   .type = mem_strdup(op->type),
							   .kind = mem_strdup(kind_words(op)),
							   .input = shape_of_tensor(graph_input(graph, op, x)),
							   .output = shape_of_tensor(graph_output(graph, op, 0)),
							   .unknown = mem_strdup(op->unknown),
							   .fused_into = -1,
							   .work = count->ops.items[i]}));
	}
}

static void fill_layers(const struct graph *graph, const struct count *count, struct model_row *row)
{
	for (size_t i = 0; i < graph->layers.len; i++) {
		const struct graph_layer *layer = &graph->layers.items[i];
		vec_push(&row->layers,
			 ((struct model_layer_row){.path = mem_strdup(layer->path),
						   .parent = layer->parent == GRAPH_NONE ? -1 : (int64_t)layer->parent,
						   .work = count->layers.items[i],
						   .time_s = {NAN, NAN}}));
	}
}

int profile_count(const struct model_source *source, struct graph *graph, const char *kind, struct model_row *row,
		  struct err *err)
{
	struct count count;
	struct memory memory;
	int code = count_graph(graph, &count, err);
	if (code)
		return code;
	code = memory_graph(graph, &memory, err);
	if (code) {
		count_fini(&count);
		return code;
	}
	model_row_init(row);
	row->name = mem_strdup(graph->name);
	row->source = mem_strdup(kind);
	row->path = arch_find(source->name) ? NULL : mem_strdup(source->name);
	row->sizes = mem_strdup(graph->sizes ? graph->sizes : "");
	row->input = mem_strdup("none");
	row->work = count.total;
	row->weights_kept_bytes = memory.weight_bytes;
	row->gradient_bytes = memory.gradient_bytes;
	row->inference_bytes = memory.inference_bytes;
	row->inference_op = memory.inference_op == GRAPH_NONE ? -1 : (int64_t)memory.inference_op;
	row->saved_bytes = memory.saved_bytes;
	row->training_bytes = memory.training_bytes;
	row->training_op = memory.training_op == GRAPH_NONE ? -1 : (int64_t)memory.training_op;
	fill_layers(graph, &count, row);
	fill_ops(graph, &count, row);
	for (size_t i = 0; i < graph->notes.len; i++)
		vec_push(&row->notes, mem_strdup(graph->notes.items[i]));
	if (memory.unshaped)
		vec_push(&row->notes,
			 mem_printf("%zu values have no known shape and are left out of the memory", memory.unshaped));
	count_fini(&count);
	return 0;
}

void profile_sum_layers(struct model_row *row)
{
	for (int phase = 0; phase < MODEL_PHASES; phase++)
		for (size_t i = 0; i < row->ops.len; i++) {
			if (!row->ops.items[i].time[phase].runs)
				continue;
			for (int64_t layer = row->ops.items[i].layer; layer >= 0;
			     layer = row->layers.items[layer].parent) {
				double *sum = &row->layers.items[layer].time_s[phase];
				*sum = (isnan(*sum) ? 0 : *sum) + row->ops.items[i].time[phase].median_s;
			}
		}
}
