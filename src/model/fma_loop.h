/*
 * fma_loop.h - loops that do nothing but multiply and add in registers, one per instruction set and precision.
 *
 * Enough independent chains to fill every unit (at least twelve: latency four on two units needs eight), held in registers;
 * tests/system/test_machine.py looks at the machine code. Where there is a fused instruction it counts as two operations;
 * SSE2 and scalar code have none, so half of their chains multiply and half add. The values stay finite, and their sum is
 * returned so that nothing can be left out.
 */
#ifndef PITOT_MODEL_FMA_LOOP_H
#define PITOT_MODEL_FMA_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct fma_loop {
	const char *isa;       /* "scalar", "sse2", "avx2", "avx512", "neon"; in order of width */
	const char *precision; /* "fp32", "fp64" */
	const char *source;    /* what is executed, for people */
	double flops;          /* of one round */
	bool (*available)(void);
	double (*run)(uint64_t rounds);
};

/* Ends with a row whose isa is NULL. All that this build has; `available` says whether this CPU can run it. */
extern const struct fma_loop fma_loops[];

/* A chain of `count` additions, each waiting for the one before: one cycle each on every CPU of these architectures.
 * False where there is no such chain for this architecture. */
bool fma_chain_run(uint64_t count);
enum { FMA_CHAIN_STEP = 200 }; /* `count` is rounded up to a multiple of it */

#endif
