/*
 * pick.h - which number columns are kept: products of all pairs, kept over chunks, and the choice by them.
 *
 * Among the columns that vary: while the largest absolute correlation of a pair exceeds the threshold, the one of the two that is
 * less correlated with the target is dropped (a tie drops the second), and the rest is looked at again.
 *
 * A chunk's products are around its own means and merged with those before, so that they are exact however large the numbers. A
 * missing number stands at its column's mean: it adds nothing. More than PICK_MOST columns are not compared with each other.
 */
#ifndef PITOT_TABLE_PICK_H
#define PITOT_TABLE_PICK_H

#include "base/err.h"
#include "table/memory.h"
#include "table/moments.h"

enum { PICK_MOST = 1024 };

struct pick {
	struct memory *memory;
	size_t count; /* columns, the target last */
	bool has_target;
	double rows;
	double *means;
	double *products; /* count x count, the upper triangle; sums of products of distances from the means */
	double *chunk_products;
	double *shifts;
	double *block;         /* distances of some rows, a column after the other */
	struct moments *chunk; /* of the last chunk, by column; what is missing is not counted */
	double *least, *most;  /* over all chunks */
	bool *dropped;         /* by column */
	double *scratch;       /* count x count and more, for choosing */
};

int pick_init(struct pick *pick, size_t count, bool has_target, struct memory *memory, struct err *err);
void pick_fini(struct pick *pick);
void pick_forget(struct pick *pick);
/* `columns` has `count` pointers. */
void pick_add(struct pick *pick, const double *const *columns, size_t rows);
void pick_choose(struct pick *pick, double threshold);

#endif
