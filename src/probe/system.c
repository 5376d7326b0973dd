/*
 * system.c - the whole machine: busy and stolen CPU time, load, available memory, swap in use.
 *
 * Busy is user + nice + system + irq + softirq. Guest time is already inside user and nice, so it is not added; idle
 * and iowait are not busy; steal belongs to the hypervisor and has its own channel.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "probe/kernel_file.h"
#include "probe/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct system_state {
	int stat, loadavg, meminfo;
	double ticks_per_s;
	double busy_s, steal_s; /* largest seen: the kernel's sums may step back when a core goes offline */
};

static const int system_channels[] = {CHANNEL_SYSTEM_CPU,       CHANNEL_SYSTEM_STEAL, CHANNEL_SYSTEM_LOAD,
				      CHANNEL_SYSTEM_AVAILABLE, CHANNEL_SYSTEM_SWAP,  -1};

static void system_close(void *opaque)
{
	struct system_state *state = opaque;
	kernel_close(state->stat);
	kernel_close(state->loadavg);
	kernel_close(state->meminfo);
	free(state);
}

static int open_one(const char *name, int *fd, struct err *err)
{
	*fd = kernel_open("%s/%s", file_procfs(), name);
	if (*fd >= 0)
		return 0;
	return err_set(err, ERR_IO, "cannot open %s/%s: %s (is /proc mounted?)", file_procfs(), name, strerror(-*fd));
}

static int system_open(void **out, char *source, struct err *err)
{
	struct system_state *state = mem_alloc(sizeof(*state));
	state->stat = state->loadavg = state->meminfo = -1;
	state->ticks_per_s = (double)sysconf(_SC_CLK_TCK);
	int code = open_one("stat", &state->stat, err);
	if (!code)
		code = open_one("loadavg", &state->loadavg, err);
	if (!code)
		code = open_one("meminfo", &state->meminfo, err);
	if (code) {
		system_close(state);
		return code;
	}
	snprintf(source, METRIC_SOURCE_SIZE, "/proc/stat, /proc/loadavg, /proc/meminfo, whole machine");
	*out = state;
	return 0;
}

static void fill_counter(struct probe_frame *frame, int channel, double *largest, double value)
{
	if (value > *largest)
		*largest = value;
	frame->value[channel] = *largest;
	frame->known[channel] = true;
}

static void fill_gauge(struct probe_frame *frame, int channel, double value)
{
	frame->value[channel] = value;
	frame->known[channel] = true;
}

static void read_stat(struct system_state *state, struct probe_frame *frame)
{
	char text[512];
	unsigned long long user, nice, kernel, idle, iowait, irq, softirq, steal;
	if (kernel_pread(state->stat, text, sizeof(text)) <= 0 ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &kernel, &idle, &iowait, &irq,
		   &softirq, &steal) != 8)
		return;
	double busy = (double)(user + nice + kernel + irq + softirq);
	fill_counter(frame, CHANNEL_SYSTEM_CPU, &state->busy_s, busy / state->ticks_per_s);
	fill_counter(frame, CHANNEL_SYSTEM_STEAL, &state->steal_s, (double)steal / state->ticks_per_s);
}

static void read_meminfo(const struct system_state *state, struct probe_frame *frame)
{
	char text[4096];
	uint64_t available, total, unused;
	if (kernel_pread(state->meminfo, text, sizeof(text)) <= 0)
		return;
	if (kernel_find_u64(text, "MemAvailable:", NULL, &available))
		fill_gauge(frame, CHANNEL_SYSTEM_AVAILABLE, (double)available * 1024);
	if (kernel_find_u64(text, "SwapTotal:", NULL, &total) && kernel_find_u64(text, "SwapFree:", NULL, &unused))
		fill_gauge(frame, CHANNEL_SYSTEM_SWAP, total > unused ? (double)(total - unused) * 1024 : 0);
}

static void system_read(void *opaque, struct probe_frame *frame)
{
	struct system_state *state = opaque;
	read_stat(state, frame);
	char text[128];
	double load;
	if (kernel_pread(state->loadavg, text, sizeof(text)) > 0 && sscanf(text, "%lf", &load) == 1)
		fill_gauge(frame, CHANNEL_SYSTEM_LOAD, load);
	read_meminfo(state, frame);
}

const struct probe probe_system = {
	.name = "system",
	.what = "load, memory, swap and CPU use of the whole machine",
	.channels = system_channels,
	.least_interval_ns = NS_PER_S / 2, /* totals are exact at the edges; the curve needs no more */
	.open = system_open,
	.read = system_read,
	.close = system_close,
	.fix = "sudo mount -t proc proc /proc",
};
