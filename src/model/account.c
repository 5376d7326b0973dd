/* account.c - see account.h. Blocks are mappings of their own: zeroed without being touched, and gone when given back. */
#include "model/account.h"
#include "base/file.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { HUGE_FROM = 4 << 20 };

/* The number behind `key` in a file of /proc; 0 where it is not there. */
static uint64_t proc_number(const char *name, const char *key)
{
	char path[256], line[256];
	uint64_t number = 0;
	snprintf(path, sizeof(path), "%s/%s", file_procfs(), name);
	FILE *file = fopen(path, "re");
	while (file && !number && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			number = strtoull(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return number;
}

/* The number in a file of /sys; `none` where there is no number ("max"). */
static uint64_t sys_number(const char *name, uint64_t none)
{
	char path[256], line[64], *end = line;
	uint64_t number = none;
	snprintf(path, sizeof(path), "%s/%s", file_sysfs(), name);
	FILE *file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		number = strtoull(line, &end, 10);
	if (file)
		fclose(file);
	return end == line ? none : number;
}

/* What a container may still take: inside one its own control group is the root of the hierarchy, version 2 or 1. */
static uint64_t group_available(void)
{
	static const char *const files[][2] = {
		{"fs/cgroup/memory.max", "fs/cgroup/memory.current"},
		{"fs/cgroup/memory/memory.limit_in_bytes", "fs/cgroup/memory/memory.usage_in_bytes"}};
	uint64_t available = UINT64_MAX;
	for (size_t i = 0; i < 2; i++) {
		uint64_t most = sys_number(files[i][0], UINT64_MAX), used = sys_number(files[i][1], 0);
		uint64_t left = most == UINT64_MAX ? most : most > used ? most - used : 0;
		available = left < available ? left : available;
	}
	return available;
}

uint64_t account_available(void)
{
	uint64_t available = proc_number("meminfo", "MemAvailable:") * 1024;
	struct rlimit limit;
	available = available ? available : UINT64_MAX;
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < available)
		available = limit.rlim_cur;
	uint64_t group = group_available();
	return group < available ? group : available;
}

uint64_t account_resident(void)
{
	return proc_number("self/status", "VmRSS:") * 1024;
}

int account_take(struct account *account, size_t floats, float **out, struct err *err)
{
	uint64_t bytes;
	*out = NULL;
	if (floats == 0)
		return 0;
	if (__builtin_mul_overflow((uint64_t)floats, sizeof(float), &bytes) || bytes > SIZE_MAX / 2 ||
	    (account->most && (bytes > account->most || account->held > account->most - bytes)))
		return err_set(err, ERR_UNAVAILABLE, "%zu numbers more would take the model beyond %.1f MiB", floats,
			       (double)account->most / (1 << 20));
	void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return err_set_errno(err, ERR_UNAVAILABLE, "cannot allocate %.1f MiB for the model",
				     (double)bytes / (1 << 20));
	if (bytes >= HUGE_FROM)
		madvise(block, bytes, MADV_HUGEPAGE);
	account->held += bytes;
	account->peak = account->held > account->peak ? account->held : account->peak;
	*out = block;
	return 0;
}

void account_give(struct account *account, float *block, size_t floats)
{
	if (!block)
		return;
	munmap(block, floats * sizeof(float));
	account->held -= floats * sizeof(float);
}
