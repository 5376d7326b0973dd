/* exec_state.h - what exec.c, exec_train.c and exec_measure.c share: the inside of struct exec. */
#ifndef PITOT_MODEL_EXEC_STATE_H
#define PITOT_MODEL_EXEC_STATE_H

#include "model/account.h"
#include "model/exec_plan.h"

enum exec_block {
	EXEC_WEIGHTS,
	EXEC_PACKED,
	EXEC_STATE,
	EXEC_INPUTS,
	EXEC_ARENA,
	EXEC_GRADIENTS,
	EXEC_OPTIMIZER,
	EXEC_SCRATCH,
	EXEC_COLUMNS,
	EXEC_LOAD, /* given back once all weights are packed */
	EXEC_BLOCKS
};

struct exec {
	struct plan plan;
	struct compute compute;
	struct account account;
	uint64_t resident_before;
	float *blocks[EXEC_BLOCKS];
	size_t block_floats[EXEC_BLOCKS];
	float **values, **gradients; /* of every tensor; NULL where it has none */
	float *copied;               /* what exec_tensor gave of a packed weight */
	int64_t *labels;
	size_t label_count;
	double loss;
	uint64_t updates;
};

/* exec_train.c; nothing without training. */
void exec_train_start(struct exec *exec);
void exec_train_loss(struct exec *exec);
void exec_train_update(struct exec *exec);

#endif
