/*
 * onnx_load.h - what the parts of the ONNX reader share; only onnx*.c include it.
 *
 *	onnx.c         the model and its graph: inputs, initialisers, the order of nodes
 *	onnx_tensor.c  tensors: types, values in the file, values in other files
 *	onnx_node.c    one node: its attributes, its inputs, the operator that it becomes
 *	onnx_layers.c, onnx_points.c, onnx_moves.c   one function per type of node
 *	onnx_fold.c    arithmetic on shapes
 */
#ifndef PITOT_MODEL_ONNX_LOAD_H
#define PITOT_MODEL_ONNX_LOAD_H

#include "base/names.h"
#include "model/onnx.h"

/* Of onnx.pb-c.h, which is made from onnx.proto. */
typedef struct Onnx__Node Onnx__Node;
typedef struct Onnx__Attribute Onnx__Attribute;

/* A constant with more elements is not looked into. */
enum { ONNX_FOLD_MOST = 1 << 16 };

struct onnx_load {
	struct graph *graph;
	const struct onnx_options *options;
	const char *folder; /* or NULL */
	struct err *err;
	int64_t opset;
	size_t budget;       /* bytes of names and folded constants that may still be made: in proportion to the file */
	struct names values; /* a value's name in the file → tensor */
	struct names op_names; /* names that operators have */
	struct names files;    /* path of external data → file of the graph */
	VEC(char *) texts;     /* names that the tables borrow */
	bool batch_replaced;   /* the file fixes another batch than was asked for */
};

/* One node while it becomes an operator. */
struct onnx_site {
	struct onnx_load *load;
	const Onnx__Node *node;
};

/* Tensors. `hold` copies the values because `bytes` does not live on. Sets *out to the tensor. */
int onnx_tensor(struct onnx_load *load, const unsigned char *bytes, size_t size, const char *name, bool hold,
		enum tensor_role role, size_t *out);
bool onnx_element(int64_t type, enum element *out);
/* Uses up some of the budget; ERR_INPUT where it is spent. */
int onnx_spend(struct onnx_load *load, size_t bytes);
/* For people: no control characters, UTF-8, not endless. Owned by the caller. */
char *onnx_clean_name(const char *name);

/* Attributes. */
const Onnx__Attribute *onnx_attribute(const struct onnx_site *site, const char *name);
int64_t onnx_int(const struct onnx_site *site, const char *name, int64_t otherwise);
double onnx_float(const struct onnx_site *site, const char *name, double otherwise);
const char *onnx_text(const struct onnx_site *site, const char *name, char *out,
		      size_t size); /* "" where there is none */
/* Fills in at most `most`; how many there are, 0 where there are none. */
size_t onnx_ints(const struct onnx_site *site, const char *name, int64_t *out, size_t most);

/* Inputs. */
size_t onnx_in(const struct onnx_site *site, size_t index); /* GRAPH_NONE where it is absent */
/* NULL where it is absent or has no shape. */
const struct shape *onnx_shape(const struct onnx_site *site, size_t index);
/* Its values, where they are known while reading; at most `most`. -1: not known. */
int64_t onnx_constant(const struct onnx_site *site, size_t index, int64_t *out, size_t most);
bool onnx_is_constant(const struct graph_tensor *tensor);
/* A list of whole numbers that older files have as an attribute, newer ones as an input. -1: not known. */
int64_t onnx_list(const struct onnx_site *site, const char *attribute, size_t input, int64_t *out, size_t most);
/* It is in a place where a layer has its weights. */
void onnx_is_weight(const struct onnx_site *site, size_t index, enum tensor_role role);

/* The operator that the node becomes: all inputs up to `inputs`, attributes, and the first output's shape where it is given. */
struct onnx_op {
	enum op_kind kind;
	size_t inputs;  /* how many of the node's inputs it reads */
	size_t outputs; /* how many of the node's outputs it has; 0: one */
	union op_attributes attributes;
	const struct shape *given;     /* or NULL */
	const struct shape *all_given; /* of each output, or NULL */
	const enum element *element;   /* of the outputs; NULL: the first input's */
};
int onnx_emit(const struct onnx_site *site, const struct onnx_op *op);
/* The same, not counted, for the reason. */
int onnx_emit_unknown(const struct onnx_site *site, const char *reason);
int onnx_bad(const struct onnx_site *site, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One row per type of node; `fold` where it can be computed while reading. Both may be NULL. */
typedef int onnx_convert_fn(const struct onnx_site *site);
struct onnx_type {
	const char *name;
	onnx_convert_fn *convert;
};
extern const struct onnx_type onnx_layer_types[], onnx_point_types[], onnx_move_types[]; /* end with a NULL name */

int onnx_node(struct onnx_load *load, const Onnx__Node *node);

/* Whether the node was computed: its outputs are constants then. */
int onnx_fold(const struct onnx_site *site, bool *done);
/* A constant of whole numbers as the value `name`. */
int onnx_add_constant(struct onnx_load *load, const char *name, enum element element, const struct shape *shape,
		      const double *values);

#endif
