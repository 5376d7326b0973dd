/*
 * crew.h - the threads that turn blocks of the input into pieces: rows cleaned as far as that needs nothing but the row.
 *
 *	cut (one at a time, in order) -> work (side by side) -> crew_next hands them out in order
 *
 * With one thread all of it happens inside crew_next. The caller of crew_next works too when it would have to wait. The number
 * of pieces is fixed, so memory is; a piece is handed back by asking for the next one.
 *
 * Texts become codes in a dictionary of the piece, which stays from one block to the next; whoever takes the rows translates them
 * to codes of the whole table, in the order of the rows, so that those do not depend on which thread did what.
 */
#ifndef PITOT_TABLE_CREW_H
#define PITOT_TABLE_CREW_H

#include "probe/pmu_thread.h"
#include "table/dictionary.h"
#include "table/expr_memo.h"
#include "table/plan.h"

enum piece_state { PIECE_FREE, PIECE_WORKED_ON, PIECE_READY };

/* A text slot's rows as codes. */
struct piece_texts {
	const uint32_t *codes;           /* of `values`, COLUMN_OTHER (see the text itself), COLUMN_MISSING */
	const struct dictionary *values; /* the piece's own, or that of what it remembers */
	uint32_t *own_codes;
	size_t room;
	struct dictionary own_values;
	/* The taker's: */
	uint32_t *translation; /* code of `translated` to code of the table + 1 */
	size_t translation_room;
	const struct dictionary *translated;
};

struct piece {
	enum piece_state state; /* under the crew's lock */
	bool end;               /* no more rows: the input ended before this */
	int code;               /* of a failure, with `err` */
	struct err err;
	struct csv_block *block;
	struct expr_run run;
	const struct span **cells; /* by input column */
	bool *wanted;              /* by input column: the cells of these rows are needed */
	size_t rows;
	uint64_t bytes;
	uint64_t read_ns, clean_ns, derive_ns;
	struct pmu_tally read_counts, clean_counts, derive_counts; /* of the thread that did it */
	const double **numbers;                                    /* by slot */
	struct piece_texts *texts;                                 /* by slot */
	struct expr_memo *memo;
	/* The taker's: */
	size_t taken;
};

struct crew;

/* `first` is a block that is cut and split already, or NULL; the crew owns it from now on. `given_up` is a flag per slot: texts
 * that nobody needs coded any more. `pmu` counts the caller's thread, or is NULL: then the others are not counted either. */
int crew_start(const struct plan *plan, struct csv *csv, struct csv_block *first, unsigned threads,
	       struct memory *memory, const atomic_bool *given_up, struct pmu_thread *pmu, struct crew **out,
	       struct err *err);
/* The next piece, which has rows; NULL at the end (*code 0) or after a failure. The one before it is handed back. */
struct piece *crew_next(struct crew *crew, int *code, struct err *err);
/* Waits for the threads. */
void crew_stop(struct crew *crew);

#endif
