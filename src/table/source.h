/*
 * source.h - the bytes of an input: a file, a pipe or standard input; plain, gzip or zstd, told by their first bytes.
 *
 * Several gzip members or zstd frames in one file are read on as one text. A compressed input that ends early is an error, never
 * a shorter table. What the decoders need (a zstd window of 8 MiB at most under a memory limit, else 128 MiB) is charged to the account.
 */
#ifndef PITOT_TABLE_SOURCE_H
#define PITOT_TABLE_SOURCE_H

#include "table/csv.h"

#include <sys/types.h>

struct source;

/* `name` is what messages call it. */
int source_open(const char *path, const char *name, struct memory *memory, csv_watch_fn *watch, void *watch_context,
		struct source **out, struct err *err);
/* Fills `into` as far as there is input: the number of bytes (less than `size` only at the end), or an error. */
ssize_t source_read(struct source *source, char *into, size_t size, struct err *err);
void source_close(struct source *source);

uint64_t source_file_size(const struct source *source);  /* 0: unknown */
uint64_t source_file_bytes(const struct source *source); /* read so far */

#endif
