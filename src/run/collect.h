/*
 * collect.h - after the last stage: the wire files that agents left become rows of the run file.
 *
 *	wire files ── wire_read (trusts nothing) ── symbol, jit, python_line ── frames, stacks, samples ── store
 *
 * Every process image with an agent becomes a row, samples or not. CPU time that no sample stands for (before the agent
 * began, after a thread's last sample) is added as samples of its own, so that the weights of an image add up to its CPU time.
 * A process that the stage is known to have had, but that left no wire file, becomes a gap with the reason. Damaged files
 * are told of and passed over; what they hold up to the damage is kept.
 */
#ifndef PITOT_RUN_COLLECT_H
#define PITOT_RUN_COLLECT_H

#include "base/err.h"
#include "base/metric.h"
#include "store/store.h"

/* A stage whose processes were to have an agent. */
struct collect_stage {
	int64_t id;
	double cpu_s;     /* of all its processes; < 0: not known */
	bool has_record;  /* of every process, with CPU time of its own */
	bool memory_only; /* its CPU time was not to be sampled */
};

struct collect_options {
	const char *dir;            /* with the wire files */
	uint64_t run_start_mono_ns; /* times in the run file count from there */
	struct store *store;
	const struct collect_stage *stages;
	size_t stage_count;
	void *context;
	void (*note)(void *context, const char *text); /* a line for the person; may be NULL */
};

/* Fails only where the store does; everything else is a note or an event in the run file. */
int collect_profiles(const struct collect_options *options, struct err *err);

#endif
