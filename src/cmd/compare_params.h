/*
 * compare_params.h - the parameters of `pitot compare`: from the options to values, and all combinations of them.
 */
#ifndef PITOT_CMD_COMPARE_PARAMS_H
#define PITOT_CMD_COMPARE_PARAMS_H

#include "cmd/compare.h"

/* hyperfine's way of writing, `--parameter-scan NAME FROM TO [STEP]` and `--parameter-list NAME a,b`, into one word each,
 * NAME=FROM:TO:STEP and NAME=a,b, which is what the option table knows. New words are owned by `owned`; `*out` by the
 * caller. */
struct compare_words {
	VEC(char *) items;
};
void compare_fold_words(int argc, char **argv, struct compare_words *out, struct compare_words *owned);

/* Fills plan->parameters; 0 or an exit status, the message is out. */
int compare_parameters(const struct compare_args *args, struct compare_plan *plan);
/* How many combinations there are, 1 where there is no parameter; and one of them, borrowed from the plan. */
size_t compare_combinations(const struct compare_plan *plan);
void compare_combination(const struct compare_plan *plan, size_t number, struct template_values *out);

#endif
