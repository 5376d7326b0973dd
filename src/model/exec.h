/*
 * exec.h - runs a graph on this CPU: plans its memory, then goes through forward passes or whole training steps.
 *
 *	struct exec *exec;
 *	exec_new(&graph, &(struct exec_options){.threads = 1, .seed = 1}, &exec, &err);
 *	exec_measure(exec, &(struct pitot_timer_options){.budget_s = 2}, &measured, &err);
 *	for (size_t i = 0; i < exec_steps(exec); i++)
 *		exec_step_at(exec, i), &measured.steps[i]
 *
 * A pass is a list of steps. A step does the work of one operator, or of several where running them together pays (a bias and an
 * activation after a product cost nothing extra while the tile is in the cache): `ops` names all of them, so that their FLOPs can
 * be attributed to the step that did them. Views (OP_CLASS_VIEW) take no step. An operator without a kernel makes exec_new answer
 * ERR_UNAVAILABLE and name it; nothing is skipped silently.
 *
 * Memory: activations live in one arena, each at a place that is free from its first use to its last (exec_memory says how much
 * that is, and how much it would be without reuse). All of it is asked for at once, after checking it against the limit: a
 * model that is too big is an error before the first byte, not an end by the kernel.
 *
 * All elements are computed in fp32, whatever type the graph gives them; whole numbers (ids) are exact up to 2^24. In training,
 * batch norms use the statistics of the batch; the loss is the cross entropy over the last dimension of the first output
 * against seeded labels. The graph outlives the exec.
 */
#ifndef PITOT_MODEL_EXEC_H
#define PITOT_MODEL_EXEC_H

#include "base/err.h"
#include "model/graph.h"
#include "pitot.h"

enum exec_optimizer { EXEC_SGD, EXEC_MOMENTUM, EXEC_ADAM };

struct exec_options {
	int threads;   /* 0: 1 */
	bool training; /* forward, loss, backward and update; else forward only */
	enum exec_optimizer optimizer;
	double rate;         /* of learning; 0: 0.01, Adam 0.001 */
	uint64_t seed;       /* of synthetic values and labels */
	uint64_t most_bytes; /* 0: what is available here now */
	bool unfused;        /* one step per operator */
	bool keep;           /* every tensor keeps its place: exec_tensor finds all after a pass */
	bool blas;           /* matrix products by OpenBLAS, not by own kernels */
	const char *isa;     /* "base", "avx2", "avx512"; NULL: the best */
};

enum exec_phase { EXEC_FORWARD, EXEC_LOSS, EXEC_BACKWARD, EXEC_UPDATE };

struct exec_step {
	enum exec_phase phase;
	const size_t *ops; /* into the graph's, the first is the one that was fused into; none for loss and update */
	size_t op_count;
	const char *kernel; /* how: "packed product", "implicit product", "direct", "OpenBLAS" */
	double extra_flops; /* done beyond what the operators need: the scores that the backward pass makes again */
};

struct exec_memory {
	uint64_t weight_bytes;     /* as the kernels hold them: packed, padded */
	uint64_t activation_bytes; /* the arena with places reused, and what recurrent layers keep of their steps */
	uint64_t apart_bytes;      /* the same without reuse */
	uint64_t gradient_bytes;   /* of weights */
	uint64_t optimizer_bytes;
	uint64_t scratch_bytes; /* of the kernels: packed panels, columns */
	uint64_t input_bytes;
	uint64_t peak_bytes;   /* most that was held at one time, by the account of all the above */
	uint64_t kernel_bytes; /* growth of the process's resident set from before exec_new to now, by the kernel */
};

struct exec;

/* ERR_UNAVAILABLE: an operator without a kernel, or more memory than there is. ERR_INPUT: the graph has no shapes. */
int exec_new(const struct graph *graph, const struct exec_options *options, struct exec **out, struct err *err);
void exec_free(struct exec *exec);

size_t exec_steps(const struct exec *exec);
const struct exec_step *exec_step_at(const struct exec *exec, size_t index);
const char *exec_phase_name(enum exec_phase phase);
const char *exec_isa(const struct exec *exec);
void exec_memory(const struct exec *exec, struct exec_memory *out);

/* The values of a tensor: inputs and weights at any time (inputs may be written before a pass), outputs after a pass, others
 * with `keep`. NULL where it has none now. Weights that lie packed are copied out; the pointer is valid until the next call. */
float *exec_tensor(struct exec *exec, size_t tensor);
/* dloss/dtensor of a weight (any tensor with `keep`) after a training pass; NULL where there is none. */
const float *exec_gradient(struct exec *exec, size_t tensor);
double exec_loss(const struct exec *exec); /* of the last training pass; NaN before */
void exec_set_labels(struct exec *exec, const int64_t *labels, size_t count);

/* One pass. `step_ns` has room for exec_steps() times, or is NULL. */
void exec_run(struct exec *exec, double *step_ns);

struct exec_measured {
	struct pitot_timing total;
	struct pitot_timing *steps;  /* exec_steps() of them */
	struct pitot_timing outside; /* of a pass, in no step: what the clock reads between the steps cost */
};

/* Passes under the timer's rules; every step is timed within the same passes. */
int exec_measure(struct exec *exec, const struct pitot_timer_options *options, struct exec_measured *out,
		 struct err *err);
void exec_measured_fini(struct exec_measured *measured);

#endif
