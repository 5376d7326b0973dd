/*
 * graph.h - a model as a graph: tensors, operators in an order in which they can run, and layers with names.
 *
 * A graph is made for one batch size and one sequence length: its shapes are plain numbers. Whoever wants another batch makes
 * another graph (arch.h, onnx.h). Invariants of a finished graph (graph_finish checks them):
 *   - operators stand in order: what one reads is a weight, an input, a constant, or written by an earlier one;
 *   - each activation is written by exactly one operator, nothing else is written;
 *   - a tensor has a shape whose bytes fit into an int64_t, or none at all (`shaped` false), and then no operator that touches
 *     it is counted or run.
 *
 * The graph owns its names, attributes and `blobs`. `bytes` of a tensor is borrowed from a blob or from the mapped file of
 * `file`, which the graph owns too; it has no alignment. Read it through values.h, which also makes synthetic values.
 */
#ifndef PITOT_MODEL_GRAPH_H
#define PITOT_MODEL_GRAPH_H

#include "base/err.h"
#include "base/names.h"
#include "base/vec.h"
#include "model/op.h"

#define GRAPH_NONE SIZE_MAX

enum tensor_role {
	TENSOR_WEIGHT,   /* learned: counted as parameters, has a gradient */
	TENSOR_BUFFER,   /* kept with the weights but not learned: a batch norm's mean and variance */
	TENSOR_CONSTANT, /* part of the computation: axes, masks, scales */
	TENSOR_INPUT,
	TENSOR_ACTIVATION, /* written by an operator */
};

/* Where the values of a weight, buffer, constant or input come from. */
enum tensor_source {
	TENSOR_FILLED, /* every element is `fill` */
	TENSOR_NORMAL, /* synthetic, seeded: normal with deviation `fill` */
	TENSOR_IDS,    /* synthetic, seeded: whole numbers from 0 up to, not including, `fill` */
	TENSOR_BYTES,  /* `bytes`, little endian, of the tensor's own element type */
};

struct graph_tensor {
	char *name;
	enum element element;
	bool shaped;
	struct shape shape; /* where shaped */
	enum tensor_role role;
	bool output;     /* a result of the model */
	size_t producer; /* operator, or GRAPH_NONE */
	enum tensor_source source;
	double fill;
	const unsigned char *bytes; /* elements × element_bytes of them */
};

struct graph_op {
	enum op_kind kind;
	char *name;          /* unique in the graph */
	char *type;          /* as its source calls it: "Conv", "conv" */
	size_t layer;        /* into layers */
	VEC(size_t) inputs;  /* tensors; GRAPH_NONE where an optional one is absent */
	VEC(size_t) outputs; /* the same */
	union op_attributes attributes;
	char *unknown; /* why it is neither counted nor run; NULL: it is */
};

/* Layers form a tree by their names: "encoder.0.attention" lies in "encoder.0", that in "encoder", that in the model. */
struct graph_layer {
	char *path;    /* "" for the model itself, layer 0 */
	size_t parent; /* GRAPH_NONE for layer 0 */
};

/* A file that tensors borrow from. */
struct graph_file {
	unsigned char *map; /* NULL: none */
	size_t size;
};

struct graph {
	char *name;
	int64_t batch, sequence; /* what it was made for; sequence 0: it has none */
	char *sizes;             /* the same and all other sizes, "batch=32 width=512"; NULL: none */
	VEC(struct graph_tensor) tensors;
	VEC(struct graph_op) ops;
	VEC(struct graph_layer) layers;
	struct names layer_paths; /* into layers */
	VEC(void *) blobs;
	VEC(struct graph_file) files;
	VEC(char *) notes; /* what a reader should know: assumptions, what was folded away; owned */
};

void graph_init(struct graph *graph, const char *name);
void graph_fini(struct graph *graph);
void graph_note(struct graph *graph, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The layer of that path, made with all above it where it is new. */
size_t graph_layer(struct graph *graph, const char *path);

/* All copy the name. `shape` NULL: not known yet. */
size_t graph_add_tensor(struct graph *graph, const char *name, enum tensor_role role, enum element element,
			const struct shape *shape);
/* Returns the operator's index; inputs and outputs are then pushed by graph_op_reads and graph_op_writes. */
size_t graph_add_op(struct graph *graph, enum op_kind kind, const char *name, size_t layer);
void graph_op_reads(struct graph *graph, size_t op, size_t tensor);
/* A new activation of that name, without a shape; its index. */
size_t graph_op_writes(struct graph *graph, size_t op, const char *name, enum element element);

/* The tensor that the operator reads or writes there; NULL where it is absent. */
const struct graph_tensor *graph_input(const struct graph *graph, const struct graph_op *op, size_t index);
const struct graph_tensor *graph_output(const struct graph *graph, const struct graph_op *op, size_t index);
/* Elements × bytes, -1 without a shape. */
int64_t tensor_bytes(const struct graph_tensor *tensor);

/* Checks the invariants. ERR_INPUT with the operator and the reason. */
int graph_finish(const struct graph *graph, struct err *err);

#endif
