/*
 * nvml_stub.c - stands in for NVIDIA's management library, for tests on machines without a GPU.
 *
 * NVML_STUB names a file of lines "key=value", read at every call, so that a test can change what the devices say:
 *
 *	init=0            error number of nvmlInit_v2
 *	count=2           devices
 *	name.0=…          of the device 0
 *	util.0=35         percent
 *	memory.0=1048576  bytes in use
 *	total.0=4194304   bytes in all; 80 GiB where it is missing
 *	energy.0=5000     millijoules
 *	power.0=80000     milliwatts
 *	shutdown=FILE     created by nvmlShutdown
 *
 * A key that is missing makes its call answer "not supported".
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_SUPPORTED = 3 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int error);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy);
int nvmlDeviceGetPowerUsage(void *device, unsigned *power);

static bool find(const char *key, char *value, size_t size)
{
	const char *path = getenv("NVML_STUB");
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[256];
	bool found = false;
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *equals = strchr(line, '=');
		if (!equals)
			continue;
		*equals = '\0';
		equals[1 + strcspn(equals + 1, "\n")] = '\0';
		found = strcmp(line, key) == 0;
		if (found)
			snprintf(value, size, "%s", equals + 1);
	}
	if (file)
		fclose(file);
	return found;
}

/* The devices' handles are their indices plus one. */
static int find_number(const char *what, void *device, unsigned long long *out)
{
	char key[64], value[256];
	snprintf(key, sizeof(key), "%s.%u", what, (unsigned)(uintptr_t)device - 1);
	if (!find(key, value, sizeof(value)))
		return NOT_SUPPORTED;
	*out = strtoull(value, NULL, 10);
	return SUCCESS;
}

EXPORT int nvmlInit_v2(void)
{
	char value[256];
	return find("init", value, sizeof(value)) ? atoi(value) : SUCCESS;
}

EXPORT int nvmlShutdown(void)
{
	char value[256];
	FILE *file = find("shutdown", value, sizeof(value)) ? fopen(value, "we") : NULL;
	if (file)
		fclose(file);
	return SUCCESS;
}

EXPORT const char *nvmlErrorString(int error)
{
	return error == 9 ? "Driver Not Loaded" : "Some Error";
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
	char value[256];
	if (!find("count", value, sizeof(value)))
		return NOT_SUPPORTED;
	*count = (unsigned)atoi(value);
	return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = (void *)(uintptr_t)(index + 1);
	return SUCCESS;
}

EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
	char key[64];
	snprintf(key, sizeof(key), "name.%u", (unsigned)(uintptr_t)device - 1);
	return find(key, name, size) ? SUCCESS : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates)
{
	unsigned long long value;
	int error = find_number("util", device, &value);
	if (error)
		return error;
	rates[0] = (unsigned)value;
	rates[1] = 99; /* of the memory bus: not what is wanted */
	return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
	if (find_number("total", device, &memory[0]) != SUCCESS)
		memory[0] = 80ull << 30;
	memory[1] = 1;
	return find_number("memory", device, &memory[2]);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy)
{
	return find_number("energy", device, energy);
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *power)
{
	unsigned long long value;
	int error = find_number("power", device, &value);
	if (!error)
		*power = (unsigned)value;
	return error;
}
