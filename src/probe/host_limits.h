/*
 * host_limits.h - what the own cgroup allows: the tightest CPU quota and memory limit on the way up to the root, in
 * cgroup v2 or v1.
 */
#ifndef PITOT_PROBE_HOST_LIMITS_H
#define PITOT_PROBE_HOST_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* Cores; false where there is no limit or it cannot be read. */
bool host_cpu_limit(double *cores);
bool host_memory_limit(uint64_t *bytes);

#endif
