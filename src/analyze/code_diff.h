/*
 * code_diff.h - two sides of profiles of code or memory, function by function: tables for a diff (diff.h).
 *
 * Pure. A function is the same on both sides by its name and the name of its file, or of its module where no file is known:
 * lines move, and a checkout lies in another folder. Each repetition that counts gives a function its own seconds and its
 * share, 0 where no sample hit it; the interpreter's own code counts for the Python function that it ran. Only functions that matter become rows: 1 % of the stage's CPU time on a side.
 */
#ifndef PITOT_ANALYZE_CODE_DIFF_H
#define PITOT_ANALYZE_CODE_DIFF_H

#include "analyze/diff.h"
#include "store/memory.h"

struct code_side; /* what is needed of the profiles of one side */

struct code_side *code_side_new(void);
/* The same for memory: bytes by one weight in the place of seconds. */
struct code_side *code_side_new_memory(enum memory_weight weight);
void code_side_free(struct code_side *side);
/* Nothing of the profile is kept. `profile` NULL: the run has none. */
void code_side_add(struct code_side *side, const struct run_record *run, const struct profile_data *profile);
/* `memory` NULL: the run has no memory profile. */
void code_side_add_memory(struct code_side *side, const struct run_record *run, const struct profile_data *profile,
			  const struct memory_data *memory);

/* A table per stage that both sides have a profile of; concludes the diff anew. */
void code_diff_add(struct diff *diff, const struct code_side *a, const struct code_side *b);

#endif
