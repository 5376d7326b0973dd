/* gpu.c - see gpu.h. */
#include "probe/gpu.h"
#include "base/file.h"
#include "base/str.h"
#include "probe/kernel_file.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const int gpu_channels[] = {CHANNEL_GPU_UTIL, CHANNEL_GPU_MEMORY, CHANNEL_GPU_MEMORY_FULL, CHANNEL_GPU_ENERGY, -1};

static void fill(struct probe_frame *frame, int channel, double value)
{
	frame->value[channel] = value;
	frame->known[channel] = !isnan(value);
}

void gpu_fill(const struct gpu_device *devices, size_t count, struct probe_frame *frame)
{
	double util = 0, memory = 0, full = 0, energy = 0;
	for (size_t i = 0; i < count; i++) {
		util += devices[i].util_percent / (double)count;
		memory += devices[i].memory_bytes;
		double percent = 100 * devices[i].memory_bytes / devices[i].memory_total_bytes;
		full = isnan(percent) || percent > full ? percent : full; /* a NAN stays */
		energy += devices[i].energy_j;
	}
	if (!gpu_lacks(devices, count, CHANNEL_GPU_UTIL))
		fill(frame, CHANNEL_GPU_UTIL, util);
	if (!gpu_lacks(devices, count, CHANNEL_GPU_MEMORY))
		fill(frame, CHANNEL_GPU_MEMORY, memory);
	if (!gpu_lacks(devices, count, CHANNEL_GPU_MEMORY_FULL))
		fill(frame, CHANNEL_GPU_MEMORY_FULL, full);
	if (!gpu_lacks(devices, count, CHANNEL_GPU_ENERGY))
		fill(frame, CHANNEL_GPU_ENERGY, energy);
}

const char *gpu_lacks(const struct gpu_device *devices, size_t count, int channel)
{
	bool util = true, memory = true, total = true, energy = true;
	for (size_t i = 0; i < count; i++) {
		util = util && devices[i].has_util;
		memory = memory && devices[i].has_memory;
		total = total && devices[i].has_memory && devices[i].has_memory_total;
		energy = energy && devices[i].energy != GPU_NO_ENERGY;
	}
	if (channel == CHANNEL_GPU_UTIL && !util)
		return count == 1 ? "the GPU does not tell its utilisation" : "not every GPU tells its utilisation";
	if (channel == CHANNEL_GPU_MEMORY && !memory)
		return count == 1 ? "the GPU does not tell its memory use" : "not every GPU tells its memory use";
	if (channel == CHANNEL_GPU_MEMORY_FULL && !total)
		return count == 1 ? "the GPU does not tell how much memory it has"
				  : "not every GPU tells how much memory it has";
	if (channel == CHANNEL_GPU_ENERGY && !energy)
		return count == 1 ? "the GPU tells neither energy nor power"
				  : "not every GPU tells its energy or power";
	return NULL;
}

void gpu_source(const struct gpu_device *devices, size_t count, const char *by, char *source)
{
	bool same = true, by_power = false;
	for (size_t i = 0; i < count; i++) {
		same = same && strcmp(devices[i].name, devices[0].name) == 0;
		by_power = by_power || devices[i].energy == GPU_ENERGY_POWER;
	}
	char what[96];
	if (same && count == 1)
		snprintf(what, sizeof(what), "%s", devices[0].name);
	else if (same)
		snprintf(what, sizeof(what), "%zu × %s", count, devices[0].name);
	else
		snprintf(what, sizeof(what), "%zu GPUs", count);
	snprintf(source, METRIC_SOURCE_SIZE, "%s, %.56s, whole device%s", by, what,
		 by_power ? "; energy = power × time" : "");
}

static bool is_gpu_of(const char *device, const char *vendor)
{
	char text[32];
	/* PCI class 0x03: display controllers, compute-only ones included. */
	return kernel_text(text, sizeof(text), "%s/bus/pci/devices/%s/vendor", file_sysfs(), device) &&
	       strcmp(text, vendor) == 0 &&
	       kernel_text(text, sizeof(text), "%s/bus/pci/devices/%s/class", file_sysfs(), device) &&
	       str_starts(text, "0x03");
}

bool gpu_on_bus(const char *vendor)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/bus/pci/devices", file_sysfs());
	DIR *folder = opendir(path);
	bool found = false;
	for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
		found = entry->d_name[0] != '.' && is_gpu_of(entry->d_name, vendor);
	if (folder)
		closedir(folder);
	return found;
}
