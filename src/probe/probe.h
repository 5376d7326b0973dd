/*
 * probe.h - machine-wide sources, one file each, one table.
 *
 * A probe is opened once per run, read at every stage's edges and at every tick, and closed at the end. `open` answers
 * ERR_UNAVAILABLE with the reason when the source is not there, and ERR_IO when it is there but out of reach, which is
 * when `fix` helps: that reason is what reports show in place of a number. A probe keeps its descriptors open and never
 * forks per reading.
 *
 * Readings come in channels. A counter only ever grows (the probe hides wrap-around and resets); a stage's share is the
 * difference between its edges. A gauge is a level; a stage keeps its mean and its extremes.
 *
 * All roots are settable (PITOT_PROCFS, PITOT_SYSFS, PITOT_NVML for the library), so tests run on recorded trees.
 */
#ifndef PITOT_PROBE_PROBE_H
#define PITOT_PROBE_PROBE_H

#include "base/err.h"
#include "base/metric.h"

#include <stdbool.h>
#include <stdint.h>

/* channel, kind, name of its time series, unit, metric of the difference or mean, metric of the extreme (or COUNT for
 * none). For counters the series shows the rate per second. */
#define PROBE_CHANNELS(X)                                                                                              \
	X(SYSTEM_CPU, COUNTER, "system_cpu", SECONDS, SYSTEM_CPU_PERCENT, COUNT)                                       \
	X(SYSTEM_STEAL, COUNTER, "system_steal", SECONDS, STEAL, COUNT)                                                \
	X(SYSTEM_LOAD, GAUGE, "system_load", RATIO, LOAD_AVG, COUNT)                                                   \
	X(SYSTEM_AVAILABLE, GAUGE, "system_available", BYTES, COUNT, SYSTEM_AVAILABLE_MIN)                             \
	X(SYSTEM_SWAP, GAUGE, "system_swap", BYTES, COUNT, SYSTEM_SWAP_PEAK)                                           \
	X(PSI_CPU, COUNTER, "pressure_cpu", SECONDS, PRESSURE_CPU, COUNT)                                              \
	X(PSI_IO, COUNTER, "pressure_io", SECONDS, PRESSURE_IO, COUNT)                                                 \
	X(PSI_IO_FULL, COUNTER, "pressure_io_full", SECONDS, PRESSURE_IO_FULL, COUNT)                                  \
	X(PSI_MEMORY, COUNTER, "pressure_memory", SECONDS, PRESSURE_MEMORY, COUNT)                                     \
	X(PSI_MEMORY_FULL, COUNTER, "pressure_memory_full", SECONDS, PRESSURE_MEMORY_FULL, COUNT)                      \
	X(ENERGY_PACKAGE, COUNTER, "power", JOULES, ENERGY, COUNT)                                                     \
	X(ENERGY_DRAM, COUNTER, "power_dram", JOULES, ENERGY_DRAM, COUNT)                                              \
	X(GPU_UTIL, GAUGE, "gpu_util", PERCENT, GPU_UTIL_AVG, GPU_UTIL_MAX)                                            \
	X(GPU_MEMORY, GAUGE, "gpu_memory", BYTES, COUNT, GPU_MEMORY_PEAK)                                              \
	X(GPU_MEMORY_FULL, GAUGE, "gpu_memory_full", PERCENT, COUNT, GPU_MEMORY_PERCENT_MAX)                           \
	X(GPU_ENERGY, COUNTER, "gpu_power", JOULES, GPU_ENERGY, COUNT)

enum probe_channel {
#define PROBE_CHANNEL_ID(id, kind, series, unit, metric, extreme) CHANNEL_##id,
	PROBE_CHANNELS(PROBE_CHANNEL_ID)
#undef PROBE_CHANNEL_ID
		CHANNEL_COUNT
};

enum probe_kind { PROBE_COUNTER, PROBE_GAUGE };

struct probe_channel_info {
	enum probe_kind kind;
	const char *series;
	enum metric_unit unit;
	int metric;  /* METRIC_COUNT: none */
	int extreme; /* METRIC_COUNT: none */
};

extern const struct probe_channel_info probe_channels[CHANNEL_COUNT];

/* What one reading of all probes gave. A channel nobody filled has `known` false. */
struct probe_frame {
	double value[CHANNEL_COUNT];
	bool known[CHANNEL_COUNT];
};

struct probe {
	const char *name;           /* "rapl" */
	const char *what;           /* "CPU and memory energy" */
	bool is_gpu;                /* left out by --no-gpu-sampling */
	uint64_t least_interval_ns; /* not read more often than this, except at stage edges; 0: every tick */
	const int *channels;        /* ends with -1 */
	/* `source` (METRIC_SOURCE_SIZE) gets what a value's provenance says, e.g. "rapl package-0 + package-1". */
	int (*open)(void **state, char *source, struct err *err);
	/* Why an opened probe does not serve one of its channels ("no DRAM domain"); NULL where it does. NULL instead
	 * of a function: it serves all of them. */
	const char *(*lacks)(const void *state, int channel);
	/* Fills its channels; a failing read leaves them unknown. */
	void (*read)(void *state, struct probe_frame *frame);
	void (*close)(void *state);
	/* What would make it available, as a command where there is one. Static text. */
	const char *fix;
};

/* In the order in which doctor lists them; ends with NULL. Where two probes serve the same channel (NVML and
 * nvidia-smi, RAPL by powercap and by perf), the first that opens wins and the later one is not opened at all. */
extern const struct probe *const probe_table[];

/* All probes of a run. */
struct probe_set;

/* Never fails: a probe that cannot be opened leaves its reason. */
struct probe_set *probe_set_open(bool with_gpu);
/* `edge`: read everything, also what was read a moment ago. Elsewhere a probe that is not due leaves its channels
 * unknown in this frame: an old level or count is not a reading. */
void probe_set_read(struct probe_set *set, uint64_t now_ns, bool edge, struct probe_frame *frame);
/* Where the channel's values come from; NULL where nothing serves it. */
const char *probe_set_source(const struct probe_set *set, enum probe_channel channel);
/* Why nothing serves it; for a channel that is served, the words for "but no reading came". Never NULL. */
const char *probe_set_reason(const struct probe_set *set, enum probe_channel channel);
void probe_set_close(struct probe_set *set);

#endif
