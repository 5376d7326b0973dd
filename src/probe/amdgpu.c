/*
 * amdgpu.c - AMD GPUs through sysfs: busy percent, video memory in use and in all, and energy from the hwmon counter or, where
 * there is none, from its power reading × time. Figures of the whole device, other processes included.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "probe/gpu.h"
#include "probe/kernel_file.h"
#include "probe/table.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct card_files {
	int busy, memory, energy; /* energy: microjoules or microwatts, by the device's kind */
};

struct amdgpu {
	VEC(struct card_files) files;
	VEC(struct gpu_device) devices; /* in the same order */
};

static void amdgpu_close(void *opaque)
{
	struct amdgpu *amdgpu = opaque;
	for (size_t i = 0; i < amdgpu->files.len; i++) {
		kernel_close(amdgpu->files.items[i].busy);
		kernel_close(amdgpu->files.items[i].memory);
		kernel_close(amdgpu->files.items[i].energy);
	}
	vec_fini(&amdgpu->files);
	vec_fini(&amdgpu->devices);
	free(amdgpu);
}

/* "card0", but not its outputs ("card0-DP-1"). */
static int is_card(const struct dirent *entry)
{
	return str_starts(entry->d_name, "card") && entry->d_name[4] &&
	       entry->d_name[4 + strspn(entry->d_name + 4, "0123456789")] == '\0';
}

static int is_hwmon(const struct dirent *entry)
{
	return str_starts(entry->d_name, "hwmon");
}

/* The descriptor, if it is there and gives a number now; else -1. */
static int open_number(const char *folder, const char *name)
{
	uint64_t number;
	int fd = kernel_open("%s/%s", folder, name);
	if (kernel_pread_u64(fd, &number))
		return fd;
	kernel_close(fd);
	return -1;
}

static int open_energy(const char *folder, enum gpu_energy *kind)
{
	static const struct {
		const char *name;
		enum gpu_energy kind;
	} ways[] = {
		{"energy1_input", GPU_ENERGY_COUNTER},
		{"power1_average", GPU_ENERGY_POWER},
		{"power1_input", GPU_ENERGY_POWER},
	};
	struct dirent **monitors = NULL;
	char *hwmon = mem_printf("%s/hwmon", folder);
	int count = scandir(hwmon, &monitors, is_hwmon, alphasort), fd = -1;
	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		for (int i = 0; i < count && fd < 0; i++) {
			char *monitor = mem_printf("%s/%s", hwmon, monitors[i]->d_name);
			fd = open_number(monitor, ways[way].name);
			*kind = fd >= 0 ? ways[way].kind : GPU_NO_ENERGY;
			free(monitor);
		}
		if (fd >= 0)
			break;
	}
	for (int i = 0; i < count; i++)
		free(monitors[i]);
	free(monitors);
	free(hwmon);
	return fd;
}

static void add_card(struct amdgpu *amdgpu, const char *card)
{
	char vendor[32];
	uint64_t total = 0;
	char *folder = mem_printf("%s/class/drm/%s/device", file_sysfs(), card);
	if (kernel_text(vendor, sizeof(vendor), "%s/vendor", folder) && strcmp(vendor, "0x1002") == 0) {
		struct card_files *files = vec_add(&amdgpu->files);
		struct gpu_device *device = vec_add(&amdgpu->devices);
		files->busy = open_number(folder, "gpu_busy_percent");
		files->memory = open_number(folder, "mem_info_vram_used");
		files->energy = open_energy(folder, &device->energy);
		device->has_util = files->busy >= 0;
		device->has_memory = files->memory >= 0;
		/* What is soldered on does not change. */
		device->has_memory_total = kernel_u64(&total, "%s/mem_info_vram_total", folder) && total > 0;
		device->memory_total_bytes = (double)total;
		if (!kernel_text(device->name, sizeof(device->name), "%s/product_name", folder) || !device->name[0])
			snprintf(device->name, sizeof(device->name), "AMD GPU");
	}
	free(folder);
}

static void read_device(const struct card_files *files, struct gpu_device *device)
{
	uint64_t number;
	device->util_percent = kernel_pread_u64(files->busy, &number) ? (double)number : NAN;
	device->memory_bytes = kernel_pread_u64(files->memory, &number) ? (double)number : NAN;
	device->energy_j = NAN;
	if (!kernel_pread_u64(files->energy, &number))
		return;
	if (device->energy == GPU_ENERGY_COUNTER) {
		energy_counter_advance(&device->counter, number);
		device->energy_j = (double)device->counter.total / 1e6;
	} else {
		power_integral_advance(&device->integral, (double)number / 1e6, clock_mono_ns());
		device->energy_j = device->integral.joules;
	}
}

static void read_all(struct amdgpu *amdgpu)
{
	for (size_t i = 0; i < amdgpu->devices.len; i++)
		read_device(&amdgpu->files.items[i], &amdgpu->devices.items[i]);
}

static const char *amdgpu_lacks(const void *opaque, int channel)
{
	const struct amdgpu *amdgpu = opaque;
	return gpu_lacks(amdgpu->devices.items, amdgpu->devices.len, channel);
}

static bool serves_nothing(const struct amdgpu *amdgpu)
{
	for (const int *channel = gpu_channels; *channel >= 0; channel++)
		if (!amdgpu_lacks(amdgpu, *channel))
			return false;
	return true;
}

static int amdgpu_open(void **out, char *source, struct err *err)
{
	struct amdgpu *amdgpu = mem_alloc(sizeof(*amdgpu));
	struct dirent **cards = NULL;
	char *folder = mem_printf("%s/class/drm", file_sysfs());
	int count = scandir(folder, &cards, is_card, alphasort), code = 0;
	for (int i = 0; i < count; i++) {
		add_card(amdgpu, cards[i]->d_name);
		free(cards[i]);
	}
	free(cards);
	if (!amdgpu->devices.len)
		code = err_set(err, ERR_UNAVAILABLE, "no amdgpu device in %s", folder);
	else if (serves_nothing(amdgpu))
		code = err_set(err, ERR_IO, "the AMD device in %s gives no figures (load the amdgpu driver)", folder);
	free(folder);
	if (code) {
		amdgpu_close(amdgpu);
		return code;
	}
	read_all(amdgpu);
	gpu_source(amdgpu->devices.items, amdgpu->devices.len, "amdgpu", source);
	*out = amdgpu;
	return 0;
}

static void amdgpu_read(void *opaque, struct probe_frame *frame)
{
	struct amdgpu *amdgpu = opaque;
	read_all(amdgpu);
	gpu_fill(amdgpu->devices.items, amdgpu->devices.len, frame);
}

const struct probe probe_amdgpu = {
	.name = "amdgpu",
	.what = "AMD GPU use, memory and energy",
	.is_gpu = true,
	.channels = gpu_channels,
	.open = amdgpu_open,
	.lacks = amdgpu_lacks,
	.read = amdgpu_read,
	.close = amdgpu_close,
	.fix = "sudo modprobe amdgpu",
};
