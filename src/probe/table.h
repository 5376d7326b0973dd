/*
 * table.h - the probes by name, for the table and for the files that define them. A new probe is a new file, a line
 * here and a row in table.c.
 */
#ifndef PITOT_PROBE_TABLE_H
#define PITOT_PROBE_TABLE_H

#include "probe/probe.h"

extern const struct probe probe_system;
extern const struct probe probe_psi;
extern const struct probe probe_rapl;
extern const struct probe probe_rapl_perf;
extern const struct probe probe_nvml;
extern const struct probe probe_nvidia_smi;
extern const struct probe probe_amdgpu;

#endif
