/*
 * arch.h - the architectures that pitot knows by name, and the sizes that can be chosen.
 *
 * `mlp`, `cnn` and `transformer` take sizes; the presets are the published models, exactly, and take the batch, where it makes
 * sense the sequence length and the image size, and nothing else: a resnet50 of another width is not ResNet-50.
 * Weights are synthetic and seeded: the speed of a dense model does not depend on them.
 */
#ifndef PITOT_MODEL_ARCH_H
#define PITOT_MODEL_ARCH_H

#include "model/graph.h"

/* id, option, what it is */
#define DIM_LIST(X)                                                                                                    \
	X(BATCH, "batch", "examples at a time")                                                                        \
	X(SEQ, "seq", "tokens in a sequence")                                                                          \
	X(WIDTH, "width", "features or channels of a layer")                                                           \
	X(DEPTH, "depth", "how many layers")                                                                           \
	X(HEADS, "heads", "heads of attention")                                                                        \
	X(KV_HEADS, "kv-heads", "heads of keys and values")                                                            \
	X(FF, "ff", "features inside a feed-forward layer")                                                            \
	X(IMAGE, "image", "height and width of an image")                                                              \
	X(CHANNELS, "channels", "channels of an image")                                                                \
	X(PATCH, "patch", "height and width of a patch")                                                               \
	X(CLASSES, "classes", "outputs of a classifier")                                                               \
	X(VOCAB, "vocab", "different tokens")

enum dim_id {
#define DIM_ID(id, name, help) DIM_##id,
	DIM_LIST(DIM_ID)
#undef DIM_ID
		DIM_COUNT
};

/* 0: not chosen. */
struct sizes {
	int64_t value[DIM_COUNT];
};

const char *dim_name(enum dim_id id);
const char *dim_help(enum dim_id id);
bool dim_find(const char *name, enum dim_id *out);

/* "batch=32 width=512": what is chosen; owned by the caller. */
char *sizes_text(const struct sizes *sizes);

struct build;

struct arch {
	const char *name;
	const char *summary;   /* one line: layers, input, where it is from */
	struct sizes defaults; /* 0: this architecture does not have it */
	unsigned fixed;        /* bit of a size: it cannot be changed */
	bool preset;
	void (*build)(struct build *build, const struct sizes *sizes);
};

extern const struct arch *const arch_table[]; /* ends with NULL */
const struct arch *arch_find(const char *name);
/* The name that was probably meant, or NULL. */
const char *arch_suggest(const char *name);

/* ERR_USAGE where a size was chosen that it does not have or that does not fit; *graph is then untouched. */
int arch_make(const struct arch *arch, const struct sizes *sizes, struct graph *graph, struct err *err);

#endif
