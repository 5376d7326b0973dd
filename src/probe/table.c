/* table.c - which channels and which probes there are. */
#include "probe/table.h"

#include <stddef.h>

/* clang-format off */
const struct probe_channel_info probe_channels[CHANNEL_COUNT] = {
#define CHANNEL_ROW(id, kind_, series_, unit_, metric_, extreme_) \
	[CHANNEL_##id] = {PROBE_##kind_, series_, UNIT_##unit_, METRIC_##metric_, METRIC_##extreme_},
	PROBE_CHANNELS(CHANNEL_ROW)
#undef CHANNEL_ROW
};

const struct probe *const probe_table[] = {
	&probe_system,
	&probe_psi,
	&probe_rapl,
	&probe_rapl_perf, /* after powercap: the same counters by another way */
	&probe_nvml,
	&probe_nvidia_smi, /* after NVML: costs a process */
	&probe_amdgpu,
	NULL,
};
/* clang-format on */
