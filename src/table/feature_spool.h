/*
 * feature_spool.h - the engine's matrices as one feature file: a batch's at once, a stream's by way of a spool.
 *
 * In a stream the columns are known only at its end: categories appear, columns are dropped by selection and come back. So every
 * chunk goes to a spool file beside the feature file, with categories numbered over the whole stream, and the feature file is
 * made from that at the end. Its columns are those that the engine ends with; where statistics are each chunk's own, all that
 * any chunk had. A number that a chunk did not have is missing there, a category 0. What the spool holds in memory is the
 * names of columns and categories.
 *
 *	spool: chunk …;  chunk: u64 rows | u64 parts | part … | target, rows doubles
 *	part:  u64 column | rows doubles, or rows u32 codes
 */
#ifndef PITOT_TABLE_FEATURE_SPOOL_H
#define PITOT_TABLE_FEATURE_SPOOL_H

#include "table/engine.h"

/* The name of the last column. */
#define FEATURE_TARGET "__target__"

/* All rows of a batch. Where `stop` is set meanwhile, here and below, there is no file, and the answer is ERR_INTERRUPTED. */
int feature_write_matrix(const char *path, const char *format, const struct matrix *matrix, const double *target,
			 const atomic_int *stop, struct err *err);

struct feature_spool;

/* `path` is that of the feature file. */
int feature_spool_open(const char *path, struct feature_spool **out, struct err *err);
int feature_spool_add(struct feature_spool *spool, const struct matrix *matrix, const double *target, struct err *err);
/* `names`: the dense columns to write, or NULL: all. Frees the spool and removes its file in any case. */
int feature_spool_close(struct feature_spool *spool, const char *format, char *const *names, size_t count,
			const atomic_int *stop, struct err *err);
void feature_spool_abandon(struct feature_spool *spool); /* NULL is allowed */

#endif
