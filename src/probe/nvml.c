/*
 * nvml.c - NVIDIA GPUs through their management library, loaded at run time; never a process per reading.
 *
 * The declarations below follow the library's stable public interface, so that no header is needed to build. Only what
 * is used is declared. PITOT_NVML names another library in place of libnvidia-ml.so.1.
 *
 * Energy is the device's own counter (millijoules since the driver was loaded); older devices have none, there it is
 * power × time, and the source says so. All figures are of the whole device, other processes included.
 */
#include "base/clock.h"
#include "base/vec.h"
#include "probe/gpu.h"
#include "probe/table.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvml_device *nvml_device;

enum { NVML_SUCCESS = 0 };

struct nvml_utilization {
	unsigned gpu, memory; /* percent */
};

struct nvml_memory {
	unsigned long long total, free, used; /* bytes */
};

/* field, symbol, arguments; all return 0 or an error number, except the one for words */
#define NVML_CALLS(X)                                                                                                  \
	X(init, "nvmlInit_v2", (void))                                                                                 \
	X(shutdown, "nvmlShutdown", (void))                                                                            \
	X(count, "nvmlDeviceGetCount_v2", (unsigned *count))                                                           \
	X(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, nvml_device *device))                              \
	X(name, "nvmlDeviceGetName", (nvml_device device, char *name, unsigned size))                                  \
	X(utilization, "nvmlDeviceGetUtilizationRates", (nvml_device device, struct nvml_utilization * rates))         \
	X(memory, "nvmlDeviceGetMemoryInfo", (nvml_device device, struct nvml_memory * memory))                        \
	X(energy_mj, "nvmlDeviceGetTotalEnergyConsumption", (nvml_device device, unsigned long long *energy))          \
	X(power_mw, "nvmlDeviceGetPowerUsage", (nvml_device device, unsigned *power))

struct nvml {
	void *library;
	bool started;
	const char *(*words)(int error);
#define NVML_FIELD(field, symbol, arguments) int(*field) arguments;
	NVML_CALLS(NVML_FIELD)
#undef NVML_FIELD
	VEC(nvml_device) handles;
	VEC(struct gpu_device) devices; /* in the same order */
};

static void nvml_close(void *opaque)
{
	struct nvml *nvml = opaque;
	if (nvml->started)
		nvml->shutdown();
	if (nvml->library)
		dlclose(nvml->library);
	vec_fini(&nvml->handles);
	vec_fini(&nvml->devices);
	free(nvml);
}

static const char *library_name(void)
{
	const char *moved = getenv("PITOT_NVML");
	return moved && moved[0] ? moved : "libnvidia-ml.so.1";
}

static int load(struct nvml *nvml, struct err *err)
{
	nvml->library = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library) {
		const char *why = dlerror();
		bool missing = why && strstr(why, "No such file");
		/* Without a device the missing library is as it should be; with one, the driver is missing. */
		if (missing && !gpu_on_bus("0x10de"))
			return err_set(err, ERR_UNAVAILABLE, "%s not found", library_name());
		return err_set(err, ERR_IO, "cannot load %s: %s", library_name(),
			       missing ? "not found, though there is an NVIDIA device (install its driver)" : why);
	}
	const char *absent = NULL;
#define NVML_LOAD(field, symbol, arguments)                                                                            \
	if (!(*(void **)&nvml->field = dlsym(nvml->library, symbol)))                                                  \
		absent = symbol;
	NVML_CALLS(NVML_LOAD)
#undef NVML_LOAD
	*(void **)&nvml->words = dlsym(nvml->library, "nvmlErrorString");
	if (absent)
		return err_set(err, ERR_IO, "%s has no %s: the driver is too old", library_name(), absent);
	return 0;
}

static int refuse(const struct nvml *nvml, const char *what, int error, struct err *err)
{
	return err_set(err, ERR_IO, "NVML: %s: %s (error %d; is the NVIDIA driver loaded?)", what,
		       nvml->words ? nvml->words(error) : "failed", error);
}

static void read_device(struct nvml *nvml, size_t i)
{
	nvml_device handle = nvml->handles.items[i];
	struct gpu_device *device = &nvml->devices.items[i];
	struct nvml_utilization rates;
	struct nvml_memory memory;
	unsigned long long energy_mj;
	unsigned power_mw;
	device->util_percent = device->memory_bytes = device->memory_total_bytes = device->energy_j = NAN;
	if (device->has_util && nvml->utilization(handle, &rates) == NVML_SUCCESS)
		device->util_percent = rates.gpu;
	if (device->has_memory && nvml->memory(handle, &memory) == NVML_SUCCESS) {
		device->memory_bytes = (double)memory.used;
		device->memory_total_bytes = (double)memory.total;
	}
	if (device->energy == GPU_ENERGY_COUNTER && nvml->energy_mj(handle, &energy_mj) == NVML_SUCCESS) {
		energy_counter_advance(&device->counter, energy_mj);
		device->energy_j = (double)device->counter.total / 1e3;
	}
	if (device->energy == GPU_ENERGY_POWER && nvml->power_mw(handle, &power_mw) == NVML_SUCCESS) {
		power_integral_advance(&device->integral, power_mw / 1e3, clock_mono_ns());
		device->energy_j = device->integral.joules;
	}
}

static void examine_device(struct nvml *nvml, nvml_device handle)
{
	struct nvml_utilization rates;
	struct nvml_memory memory;
	unsigned long long energy_mj;
	unsigned power_mw;
	vec_push(&nvml->handles, handle);
	struct gpu_device *device = vec_add(&nvml->devices);
	if (nvml->name(handle, device->name, sizeof(device->name)) != NVML_SUCCESS)
		snprintf(device->name, sizeof(device->name), "NVIDIA GPU");
	device->has_util = nvml->utilization(handle, &rates) == NVML_SUCCESS;
	device->has_memory = nvml->memory(handle, &memory) == NVML_SUCCESS;
	device->has_memory_total = device->has_memory && memory.total > 0;
	if (nvml->energy_mj(handle, &energy_mj) == NVML_SUCCESS)
		device->energy = GPU_ENERGY_COUNTER;
	else if (nvml->power_mw(handle, &power_mw) == NVML_SUCCESS)
		device->energy = GPU_ENERGY_POWER;
	read_device(nvml, nvml->devices.len - 1);
}

static int start(struct nvml *nvml, struct err *err)
{
	unsigned count = 0;
	int error = nvml->init();
	if (error != NVML_SUCCESS)
		return refuse(nvml, "cannot start", error, err);
	nvml->started = true;
	error = nvml->count(&count);
	if (error != NVML_SUCCESS)
		return refuse(nvml, "cannot count the devices", error, err);
	for (unsigned i = 0; i < count; i++) {
		nvml_device handle;
		error = nvml->handle(i, &handle);
		if (error != NVML_SUCCESS)
			return refuse(nvml, "cannot open a device", error, err);
		examine_device(nvml, handle);
	}
	return count ? 0 : err_set(err, ERR_UNAVAILABLE, "NVML found no NVIDIA device");
}

static int nvml_open(void **out, char *source, struct err *err)
{
	struct nvml *nvml = mem_alloc(sizeof(*nvml));
	int code = load(nvml, err);
	if (!code)
		code = start(nvml, err);
	if (code) {
		nvml_close(nvml);
		return code;
	}
	gpu_source(nvml->devices.items, nvml->devices.len, "nvml", source);
	*out = nvml;
	return 0;
}

static const char *nvml_lacks(const void *opaque, int channel)
{
	const struct nvml *nvml = opaque;
	return gpu_lacks(nvml->devices.items, nvml->devices.len, channel);
}

static void nvml_read(void *opaque, struct probe_frame *frame)
{
	struct nvml *nvml = opaque;
	for (size_t i = 0; i < nvml->devices.len; i++)
		read_device(nvml, i);
	gpu_fill(nvml->devices.items, nvml->devices.len, frame);
}

const struct probe probe_nvml = {
	.name = "nvml",
	.what = "NVIDIA GPU use, memory and energy",
	.is_gpu = true,
	.channels = gpu_channels,
	.open = nvml_open,
	.lacks = nvml_lacks,
	.read = nvml_read,
	.close = nvml_close,
	.fix = "sudo modprobe nvidia || { sudo apt-get install nvidia-driver && sudo reboot; }",
};
