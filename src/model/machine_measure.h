/*
 * machine_measure.h - measures the machine: takes seconds and every core that it may use.
 */
#ifndef PITOT_MODEL_MACHINE_MEASURE_H
#define PITOT_MODEL_MACHINE_MEASURE_H

#include "model/machine.h"

struct machine_request {
	enum machine_effort effort;
	const struct topology *topology;
	const struct host_facts *host;
	/* Told before each step; `share` of the time that all of it should take, 0 to 1. May be NULL. */
	void (*progress)(void *context, const char *what, double share);
	void *context;
};

/* ERR_UNAVAILABLE where not even one thread can be put on a CPU. */
int machine_measure(const struct machine_request *request, struct machine *out, struct err *err);

/* How many threads "all" means: cores that are allowed, no more than the CPU quota. */
size_t machine_team_size(const struct topology *topology);

#endif
