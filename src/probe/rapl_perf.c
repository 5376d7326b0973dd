/*
 * rapl_perf.c - the same energy counters as rapl.c, through the perf "power" PMU. Comes after powercap in the table, so
 * it serves only where that cannot be read: the two have different permissions.
 *
 * One event per CPU of the PMU's cpumask, which names one CPU per package (or die). AMD counts by package whatever the
 * mask says, and older kernels list a CPU per die there, so on AMD the mask is thinned to one CPU per package.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "probe/kernel_file.h"
#include "probe/perf_event.h"
#include "probe/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct power_event {
	double joules_per_count;
	VEC(int) fds;
};

struct power {
	struct power_event package, dram;
};

static const int power_channels[] = {CHANNEL_ENERGY_PACKAGE, CHANNEL_ENERGY_DRAM, -1};

static void event_close(struct power_event *event)
{
	for (size_t i = 0; i < event->fds.len; i++)
		kernel_close(event->fds.items[i]);
	vec_fini(&event->fds);
}

static void power_close(void *opaque)
{
	struct power *power = opaque;
	event_close(&power->package);
	event_close(&power->dram);
	free(power);
}

static bool is_amd(void)
{
	char text[1024];
	return kernel_text(text, sizeof(text), "%s/cpuinfo", file_procfs()) &&
	       (strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine"));
}

struct cpus {
	VEC(int) ids;
	VEC(uint64_t) packages; /* seen so far */
};

static bool package_is_new(struct cpus *cpus, int cpu)
{
	uint64_t package;
	if (!kernel_u64(&package, "%s/devices/system/cpu/cpu%d/topology/physical_package_id", file_sysfs(), cpu))
		return true;
	for (size_t i = 0; i < cpus->packages.len; i++)
		if (cpus->packages.items[i] == package)
			return false;
	vec_push(&cpus->packages, package);
	return true;
}

static void find_cpus(const char *folder, struct cpus *out)
{
	char text[1024];
	if (!kernel_text(text, sizeof(text), "%s/cpumask", folder))
		return;
	bool by_package = is_amd();
	int first, last;
	for (const char *at = text; kernel_list_next(&at, &first, &last);)
		for (int cpu = first; cpu <= last; cpu++)
			if (!by_package || package_is_new(out, cpu))
				vec_push(&out->ids, cpu);
}

/* "event=0x02" in events/NAME, and the factor in events/NAME.scale. */
static bool event_describe(const char *folder, const char *name, uint64_t *config, double *scale)
{
	char text[64];
	if (!kernel_text(text, sizeof(text), "%s/events/%s", folder, name) || !str_starts(text, "event="))
		return false;
	*config = strtoull(text + strlen("event="), NULL, 0);
	return kernel_text(text, sizeof(text), "%s/events/%s.scale", folder, name) && str_to_double(text, scale) &&
	       *scale > 0;
}

/* 0, or -errno of the first CPU that refused; -ENOENT where the PMU has no such event. */
static int event_open(struct power_event *event, const char *folder, const char *name, const struct cpus *cpus)
{
	uint64_t type, config;
	if (!kernel_u64(&type, "%s/type", folder) || !event_describe(folder, name, &config, &event->joules_per_count))
		return -ENOENT;
	for (size_t i = 0; i < cpus->ids.len; i++) {
		struct perf_event_attr attr = {.type = (uint32_t)type, .config = config};
		int fd = perf_event_open_fd(&attr, -1, cpus->ids.items[i]);
		if (fd < 0) {
			event_close(event);
			return fd;
		}
		vec_push(&event->fds, fd);
	}
	return event->fds.len ? 0 : -ENODEV;
}

static int refuse(const char *folder, int error, struct err *err)
{
	char words[160];
	if (access(folder, F_OK) != 0)
		return err_set(err, ERR_UNAVAILABLE, "no perf power PMU");
	if (error == ENOENT)
		return err_set(err, ERR_UNAVAILABLE, "the perf power PMU has no energy-pkg event");
	if (error == ENODEV)
		return err_set(err, ERR_UNAVAILABLE, "the perf power PMU lists no CPU");
	if (error == EACCES)
		return err_set(err, ERR_IO, "perf energy-pkg: permission denied (perf_event_paranoid is %d)",
			       perf_event_paranoid());
	perf_event_words(error, perf_event_paranoid(), words, sizeof(words));
	return err_set(err, ERR_UNAVAILABLE, "perf energy-pkg: %s", words);
}

static int power_open(void **out, char *source, struct err *err)
{
	struct power *power = mem_alloc(sizeof(*power));
	struct cpus cpus = {0};
	char *folder = mem_printf("%s/bus/event_source/devices/power", file_sysfs());
	find_cpus(folder, &cpus);
	int code = event_open(&power->package, folder, "energy-pkg", &cpus);
	if (code)
		code = refuse(folder, -code, err);
	else
		event_open(&power->dram, folder, "energy-ram", &cpus);
	if (!code)
		snprintf(source, METRIC_SOURCE_SIZE, "rapl by perf, %zu package%s, whole machine",
			 power->package.fds.len, power->package.fds.len == 1 ? "" : "s");
	free(folder);
	vec_fini(&cpus.ids);
	vec_fini(&cpus.packages);
	if (code)
		power_close(power);
	else
		*out = power;
	return code;
}

static const char *power_lacks(const void *opaque, int channel)
{
	const struct power *power = opaque;
	if (channel != CHANNEL_ENERGY_DRAM || power->dram.fds.len)
		return NULL;
	return "the perf power PMU has no energy-ram event";
}

static void event_read(const struct power_event *event, int channel, struct probe_frame *frame)
{
	double joules = 0;
	for (size_t i = 0; i < event->fds.len; i++) {
		uint64_t count;
		if (read(event->fds.items[i], &count, sizeof(count)) != sizeof(count))
			return;
		joules += (double)count * event->joules_per_count;
	}
	frame->value[channel] = joules;
	frame->known[channel] = event->fds.len > 0;
}

static void power_read(void *opaque, struct probe_frame *frame)
{
	struct power *power = opaque;
	event_read(&power->package, CHANNEL_ENERGY_PACKAGE, frame);
	event_read(&power->dram, CHANNEL_ENERGY_DRAM, frame);
}

const struct probe probe_rapl_perf = {
	.name = "rapl_perf",
	.what = "energy of the CPU packages and the memory (perf)",
	.least_interval_ns = NS_PER_S,
	.channels = power_channels,
	.open = power_open,
	.lacks = power_lacks,
	.read = power_read,
	.close = power_close,
	.fix = "sudo sysctl kernel.perf_event_paranoid=0",
};
