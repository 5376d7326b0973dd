/*
 * code.h - what the programs for the code profiler share: work that the compiler can neither drop nor fold together,
 * and the CPU time of a function as the calling thread's own clock has it.
 *
 * A profiler is held against the time that was really used in the very run, not against what the program was meant to
 * use: every piece of work is timed with CLOCK_THREAD_CPUTIME_ID by its caller.
 */
#ifndef PITOT_TESTS_ACCURACY_CODE_H
#define PITOT_TESTS_ACCURACY_CODE_H

#include "truth.h"

#include <stdint.h>

/* A function of its own in the symbol table, with a frame of its own on the stack. */
#ifdef __clang__
#define CODE_FUNCTION __attribute__((noinline))
#else
#define CODE_FUNCTION __attribute__((noinline, noipa))
#endif

/* No tail call may replace the frame of the function that ends with it. */
#define CODE_KEEP_FRAME() __asm__ volatile("" ::: "memory")

/* Whatever it took to make the value, it was not for nothing. */
#define CODE_USE(value) __asm__ volatile("" : : "r"(value) : "memory")

static inline uint64_t code_mix(uint64_t state)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^ (state << 17);
}

static inline double code_cpu_s(void)
{
	return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

/* Of the whole process, all its threads, until now. */
static inline void truth_cpu(void)
{
	truth("cpu_s", clock_s(CLOCK_PROCESS_CPUTIME_ID));
}

/* Turns of code_mix in a millisecond on a machine of today, roughly: the caller measures how long they took. */
#define CODE_STEPS_PER_MS 400000

#endif
