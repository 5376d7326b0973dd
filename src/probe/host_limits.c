/*
 * host_limits.c - see host_limits.h.
 *
 * The own cgroup's path is in self/cgroup, where that hierarchy is mounted in self/mountinfo. A mount can start below
 * the hierarchy's root (containers without a cgroup namespace): that part of the path is taken off. A limit binds also
 * where an ancestor has it, so every level is asked and the smallest answer counts.
 */
#include "probe/host_limits.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "probe/kernel_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 4 << 20 };

/* Whether `name` is one of the comma-separated words. */
static bool list_has(const char *list, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = list; (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

static char *read_own(const char *name)
{
	char *path = mem_printf("%s/self/%s", file_procfs(), name);
	char *text = NULL;
	size_t size;
	if (file_read(path, MOST_TEXT, &text, &size, NULL) != 0)
		text = mem_strdup("");
	free(path);
	return text;
}

/* "4:memory:/group" or "0::/group": the path in the hierarchy of the v1 controller, or of v2 for NULL. Owned; NULL:
 * none. */
static char *own_group(const char *controller)
{
	char *text = read_own("cgroup"), *rest = text, *found = NULL;
	for (char *line; !found && (line = strsep(&rest, "\n"));) {
		char *at = line;
		const char *id = strsep(&at, ":"), *controllers = strsep(&at, ":");
		if (!at)
			continue;
		if (controller ? list_has(controllers, controller) : strcmp(id, "0") == 0 && !controllers[0])
			found = mem_strdup(at);
	}
	free(text);
	return found;
}

/* Whether the part of a mountinfo line behind " - " ("cgroup cgroup rw,memory") is the hierarchy that is wanted. */
static bool is_hierarchy(const char *tail, const char *controller)
{
	char type[32], options[256];
	if (sscanf(tail, "%31s %*s %255s", type, options) != 2)
		return false;
	return controller ? strcmp(type, "cgroup") == 0 && list_has(options, controller) : strcmp(type, "cgroup2") == 0;
}

/* Where the hierarchy is mounted and which of its folders that is. */
static bool find_mount(const char *controller, char *root, char *point)
{
	char *text = read_own("mountinfo"), *rest = text;
	bool found = false;
	for (char *line; !found && (line = strsep(&rest, "\n"));) {
		const char *tail = strstr(line, " - ");
		found = tail && is_hierarchy(tail + 3, controller) &&
			sscanf(line, "%*s %*s %*s %1023s %1023s", root, point) == 2;
	}
	free(text);
	return found;
}

/* The folder of the own cgroup; *top is how much of it is the mount point. Owned; NULL: none. */
static char *own_folder(const char *controller, size_t *top)
{
	char root[1024], point[1024], *folder = NULL;
	char *group = own_group(controller);
	if (group && find_mount(controller, root, point)) {
		const char *below = group;
		if (strcmp(root, "/") != 0 && str_starts(group, root))
			below += strlen(root);
		folder = mem_printf("%s%s", point, strcmp(below, "/") == 0 ? "" : below);
		*top = strlen(point);
	}
	free(group);
	return folder;
}

/* Asks `read_limit` in the own folder and all above it; the smallest answer. */
static bool smallest(const char *controller, bool (*read_limit)(const char *folder, double *out), double *out)
{
	size_t top = 0;
	char *folder = own_folder(controller, &top);
	bool found = false;
	while (folder) {
		double limit;
		if (read_limit(folder, &limit) && (!found || limit < *out)) {
			*out = limit;
			found = true;
		}
		char *slash = strrchr(folder, '/');
		if (!slash || (size_t)(slash - folder) < top)
			break;
		*slash = '\0';
	}
	free(folder);
	return found;
}

static bool cpu_v2(const char *folder, double *cores)
{
	char text[64];
	double quota, period; /* "max 100000" is no limit and no number */
	if (!kernel_text(text, sizeof(text), "%s/cpu.max", folder) || sscanf(text, "%lf %lf", &quota, &period) != 2 ||
	    period <= 0)
		return false;
	*cores = quota / period;
	return true;
}

static bool cpu_v1(const char *folder, double *cores)
{
	uint64_t quota, period; /* -1 is no limit and not unsigned */
	if (!kernel_u64(&quota, "%s/cpu.cfs_quota_us", folder) ||
	    !kernel_u64(&period, "%s/cpu.cfs_period_us", folder) || period == 0)
		return false;
	*cores = (double)quota / (double)period;
	return true;
}

static bool memory_v2(const char *folder, double *bytes)
{
	uint64_t limit;
	if (!kernel_u64(&limit, "%s/memory.max", folder))
		return false;
	*bytes = (double)limit;
	return true;
}

static bool memory_v1(const char *folder, double *bytes)
{
	/* "No limit" is the largest page-aligned number there. */
	static const uint64_t unlimited = 1ull << 62;
	uint64_t limit;
	if (!kernel_u64(&limit, "%s/memory.limit_in_bytes", folder) || limit >= unlimited)
		return false;
	*bytes = (double)limit;
	return true;
}

bool host_cpu_limit(double *cores)
{
	return smallest("cpu", cpu_v1, cores) || smallest(NULL, cpu_v2, cores);
}

bool host_memory_limit(uint64_t *bytes)
{
	double limit = 0;
	if (!smallest("memory", memory_v1, &limit) && !smallest(NULL, memory_v2, &limit))
		return false;
	*bytes = (uint64_t)limit;
	return true;
}
