/*
 * dataset.h - real examples for a model's input: MNIST images (IDX), CIFAR-10 (binary), or the bytes of a text.
 *
 *	IDX        big endian: 00 00 08 03, examples, rows, columns, then a byte per pixel
 *	CIFAR-10   records of 3073 bytes: a label, 32×32 red, green and blue
 *	text       any other file: a byte is a token
 *
 * Which it is, the content says. A claim that the file does not fulfil is an error; nothing is allocated by a claim.
 */
#ifndef PITOT_MODEL_DATASET_H
#define PITOT_MODEL_DATASET_H

#include "model/graph.h"

enum dataset_kind { DATASET_IDX, DATASET_CIFAR10, DATASET_TEXT };

struct dataset {
	enum dataset_kind kind;
	char *words;          /* "MNIST images of 28×28 from 't10k-images'"; owned */
	unsigned char *bytes; /* the file; owned */
	size_t size;
	size_t first, stride; /* where the first example begins, and how far apart they are */
	size_t count;         /* examples; of text 1 */
	int64_t channels, rows, columns;
};

int dataset_load(const char *path, struct dataset *out, struct err *err);
/* The same from memory, which it takes over. */
int dataset_parse(unsigned char *bytes, size_t size, const char *name, struct dataset *out, struct err *err);
void dataset_fini(struct dataset *dataset);

/* As many examples as the tensor's batch, from the first on and around again. Smaller images lie in the middle of larger ones;
 * pixels are from 0 to 1. ERR_INPUT where they do not fit. */
int dataset_fill(const struct dataset *dataset, const struct graph_tensor *tensor, float *out, struct err *err);

#endif
