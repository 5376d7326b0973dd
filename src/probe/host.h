/*
 * host.h - what machine this is: the facts that make two runs comparable or not.
 */
#ifndef PITOT_PROBE_HOST_H
#define PITOT_PROBE_HOST_H

#include "base/vec.h"

struct host_fact {
	const char
		*key; /* static: "cpu_model", "cpus", "memory_bytes", "kernel", "os", "hostname", "virtualization", … */
	char *value; /* owned */
};

struct host_facts {
	VEC(struct host_fact) facts;
	char fingerprint[17]; /* hash of the facts that decide speed: cpu model, cpus, memory, kernel release, governor
			       */
};

void host_facts_read(struct host_facts *out);
void host_facts_fini(struct host_facts *facts);

#endif
