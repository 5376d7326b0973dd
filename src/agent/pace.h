/*
 * pace.h - how long the sampling period of a thread is, stretch by stretch: never for long what was asked for, on the whole
 * exactly that. Pure: no clock is read and none is set here.
 */
#ifndef PITOT_AGENT_PACE_H
#define PITOT_AGENT_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint64_t period_ns; /* of the stretch that runs */
	uint64_t seen;      /* samples before it */
	int64_t drift_ns;   /* how much later the last of them came than at the rate that was asked for */
	unsigned length;    /* samples of it; 0: it waits for its first sample, which comes at a random time */
	bool late;          /* its last sample is to come too late, that of the next one too early */
};

void pace_begin(struct pace *pace, uint64_t first_ns);
/* The stretch is over: the next one. */
void pace_next(struct pace *pace, uint64_t asked_ns, uint64_t random);

#endif
