/*
 * host.h - what machine this is: the facts that make two runs comparable or not.
 */
#ifndef PITOT_PROBE_HOST_H
#define PITOT_PROBE_HOST_H

#include "base/vec.h"

struct host_fact {
	/* static: "cpu_model", "cpus", "memory_bytes", "kernel", "os", "hostname", "virtualization", … */
	const char *key;
	char *value; /* owned */
};

struct host_facts {
	VEC(struct host_fact) facts; /* what the machine does not tell is left out */
	/* Hash of the facts that decide speed: CPU model, CPUs there and allowed, CPU quota, SMT, turbo, governor,
	 * memory (to the GiB), architecture, kernel release. */
	char fingerprint[17];
};

void host_facts_read(struct host_facts *out);
void host_facts_fini(struct host_facts *facts);

#endif
