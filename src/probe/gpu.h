/*
 * gpu.h - what the GPU probes have in common: several devices make one channel.
 *
 * Utilisation is the mean over the devices, memory and energy are sums. How full the memory is, is asked of the fullest
 * device: one that runs out is not helped by what another has left. A channel needs every device: a sum that leaves one out
 * would look like a measurement.
 */
#ifndef PITOT_PROBE_GPU_H
#define PITOT_PROBE_GPU_H

#include "probe/energy.h"
#include "probe/probe.h"

#include <stddef.h>

enum gpu_energy { GPU_NO_ENERGY, GPU_ENERGY_COUNTER, GPU_ENERGY_POWER /* power × time */ };

struct gpu_device {
	char name[64];
	/* What it gives at all; decided at open. */
	bool has_util, has_memory, has_memory_total;
	enum gpu_energy energy;
	/* The last reading; NAN where it failed. */
	double util_percent, memory_bytes, memory_total_bytes, energy_j;
	struct energy_counter counter;
	struct power_integral integral;
};

/* The channels of every GPU probe; ends with -1. */
extern const int gpu_channels[];

void gpu_fill(const struct gpu_device *devices, size_t count, struct probe_frame *frame);
/* For struct probe's lacks; NULL where the devices serve the channel. */
const char *gpu_lacks(const struct gpu_device *devices, size_t count, int channel);
/* "nvml, 2 × NVIDIA A100, whole device; energy = power × time" */
void gpu_source(const struct gpu_device *devices, size_t count, const char *by, char *source);
/* Whether a GPU of this PCI vendor is on the bus: tells a missing driver from a missing device. */
bool gpu_on_bus(const char *vendor);

#endif
