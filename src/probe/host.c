/*
 * host.c - see host.h.
 *
 * Every fact is read by a function of its own that answers false where the machine does not tell; those facts are left
 * out. The order of the table is the order in which people read them. A fact marked as deciding goes into the
 * fingerprint.
 */
#include "probe/host.h"
#include "base/file.h"
#include "base/str.h"
#include "probe/host_limits.h"
#include "probe/kernel_file.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

enum { FACT_SIZE = 256 };

static bool set_number(char *out, uint64_t number)
{
	snprintf(out, FACT_SIZE, "%" PRIu64, number);
	return true;
}

static bool set_text(char *out, const char *text)
{
	snprintf(out, FACT_SIZE, "%.*s", FACT_SIZE - 1, text);
	return text[0] != '\0';
}

static bool read_hostname(char *out)
{
	struct utsname names;
	return uname(&names) == 0 && set_text(out, names.nodename);
}

static bool read_kernel(char *out)
{
	struct utsname names;
	return uname(&names) == 0 && set_text(out, names.release);
}

static bool read_architecture(char *out)
{
	struct utsname names;
	return uname(&names) == 0 && set_text(out, names.machine);
}

static bool read_os(char *out)
{
	char text[4096];
	if (!kernel_text(text, sizeof(text), "/etc/os-release") &&
	    !kernel_text(text, sizeof(text), "/usr/lib/os-release"))
		return false;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!str_starts(line, "PRETTY_NAME="))
			continue;
		char *name = line + strlen("PRETTY_NAME=");
		name += strspn(name, "\"'");
		name[strcspn(name, "\"'")] = '\0';
		return set_text(out, name);
	}
	return false;
}

/* The value of the first "key : value" line. */
static bool cpuinfo_value(const char *key, char *out)
{
	char text[8192];
	if (!kernel_text(text, sizeof(text), "%s/cpuinfo", file_procfs()))
		return false;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *value = strchr(line, ':');
		size_t length = strlen(key);
		if (!value || !str_starts(line, key) || line[length + strspn(line + length, " \t")] != ':')
			continue;
		return set_text(out, value + 1 + strspn(value + 1, " \t"));
	}
	return false;
}

static bool read_cpu_model(char *out)
{
	if (cpuinfo_value("model name", out))
		return true;
	/* Arm names its cores by numbers only. */
	char implementer[FACT_SIZE], part[FACT_SIZE];
	if (!cpuinfo_value("CPU implementer", implementer) || !cpuinfo_value("CPU part", part))
		return false;
	snprintf(out, FACT_SIZE, "implementer %.32s part %.32s", implementer, part);
	return true;
}

static bool online_list(char *out, size_t size)
{
	return kernel_text(out, size, "%s/devices/system/cpu/online", file_sysfs());
}

static bool read_cpus(char *out)
{
	char text[4096];
	uint64_t count = 0;
	int first, last;
	if (online_list(text, sizeof(text)))
		for (const char *at = text; kernel_list_next(&at, &first, &last);)
			count += (uint64_t)(last - first) + 1;
	if (count == 0) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);
		count = online > 0 ? (uint64_t)online : 0;
	}
	return count > 0 && set_number(out, count);
}

static bool read_cpus_allowed(char *out)
{
	/* The kernel refuses a mask that is smaller than its own. */
	for (int room = 1024; room <= 1 << 20; room *= 2) {
		cpu_set_t *allowed = CPU_ALLOC(room);
		size_t size = CPU_ALLOC_SIZE(room);
		int count = allowed && sched_getaffinity(0, size, allowed) == 0 ? CPU_COUNT_S(size, allowed) : 0;
		CPU_FREE(allowed);
		if (count > 0)
			return set_number(out, (uint64_t)count);
	}
	return false;
}

/* A core is counted at the first of its threads. */
static bool read_cores(char *out)
{
	char online[4096], siblings[256];
	uint64_t cores = 0;
	int first, last, lowest, ignored;
	if (!online_list(online, sizeof(online)))
		return false;
	for (const char *at = online; kernel_list_next(&at, &first, &last);) {
		for (int cpu = first; cpu <= last; cpu++) {
			const char *list = siblings;
			if (!kernel_text(siblings, sizeof(siblings),
					 "%s/devices/system/cpu/cpu%d/topology/thread_siblings_list", file_sysfs(),
					 cpu) ||
			    !kernel_list_next(&list, &lowest, &ignored))
				return false;
			cores += lowest == cpu;
		}
	}
	return cores > 0 && set_number(out, cores);
}

static bool read_numa_nodes(char *out)
{
	char text[1024];
	uint64_t count = 0;
	int first, last;
	if (!kernel_text(text, sizeof(text), "%s/devices/system/node/online", file_sysfs()))
		return false;
	for (const char *at = text; kernel_list_next(&at, &first, &last);)
		count += (uint64_t)(last - first) + 1;
	return count > 0 && set_number(out, count);
}

static bool meminfo_bytes(const char *key, char *out)
{
	char text[4096];
	uint64_t kib;
	return kernel_text(text, sizeof(text), "%s/meminfo", file_procfs()) && kernel_find_u64(text, key, NULL, &kib) &&
	       set_number(out, kib * 1024);
}

static bool read_memory(char *out)
{
	return meminfo_bytes("MemTotal:", out);
}

static bool read_swap(char *out)
{
	return meminfo_bytes("SwapTotal:", out);
}

static bool read_governor(char *out)
{
	return kernel_text(out, FACT_SIZE, "%s/devices/system/cpu/cpu0/cpufreq/scaling_governor", file_sysfs()) &&
	       out[0];
}

static bool read_turbo(char *out)
{
	uint64_t flag;
	if (kernel_u64(&flag, "%s/devices/system/cpu/intel_pstate/no_turbo", file_sysfs()))
		return set_text(out, flag ? "off" : "on");
	return kernel_u64(&flag, "%s/devices/system/cpu/cpufreq/boost", file_sysfs()) &&
	       set_text(out, flag ? "on" : "off");
}

static bool read_smt(char *out)
{
	uint64_t flag;
	return kernel_u64(&flag, "%s/devices/system/cpu/smt/active", file_sysfs()) &&
	       set_text(out, flag ? "on" : "off");
}

static bool has_hypervisor_flag(bool *told)
{
	char flags[8192];
	*told = kernel_text(flags, sizeof(flags), "%s/cpuinfo", file_procfs()) && strstr(flags, "\nflags");
	return *told && strstr(flags, " hypervisor");
}

/* Who made the (virtual) machine, where the firmware says so. */
static bool read_virtualization(char *out)
{
	bool told;
	bool is_guest = has_hypervisor_flag(&told);
	char vendor[64] = "", product[64] = "";
	kernel_text(vendor, sizeof(vendor), "%s/class/dmi/id/sys_vendor", file_sysfs());
	kernel_text(product, sizeof(product), "%s/class/dmi/id/product_name", file_sysfs());
	/* Without the flag (other architectures) only a product that calls itself virtual is taken for one. */
	if (!told && !strstr(product, "KVM") && !strstr(product, "Virtual"))
		return false;
	if (told && !is_guest)
		return set_text(out, "none");
	if (!vendor[0] && !product[0])
		return set_text(out, "unnamed hypervisor");
	snprintf(out, FACT_SIZE, "%s%s%s", vendor, vendor[0] && product[0] ? " " : "", product);
	return true;
}

static bool read_container(char *out)
{
	static const char *const kinds[] = {"kubepods", "docker", "libpod", "lxc", "containerd"};
	char text[4096];
	if (kernel_text(text, sizeof(text), "/run/systemd/container") && set_text(out, text))
		return true;
	if (access("/run/.containerenv", F_OK) == 0)
		return set_text(out, "podman");
	if (access("/.dockerenv", F_OK) == 0)
		return set_text(out, "docker");
	if (!kernel_text(text, sizeof(text), "%s/self/cgroup", file_procfs()))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(text, kinds[i]))
			return set_text(out, kinds[i]);
	return false;
}

static bool read_cpu_limit(char *out)
{
	double cores;
	if (!host_cpu_limit(&cores))
		return false;
	snprintf(out, FACT_SIZE, "%.2f", cores);
	return true;
}

static bool read_memory_limit(char *out)
{
	uint64_t bytes;
	return host_memory_limit(&bytes) && set_number(out, bytes);
}

static bool read_boot_id(char *out)
{
	return kernel_text(out, FACT_SIZE, "%s/sys/kernel/random/boot_id", file_procfs()) && out[0];
}

static bool read_clocksource(char *out)
{
	return kernel_text(out, FACT_SIZE, "%s/devices/system/clocksource/clocksource0/current_clocksource",
			   file_sysfs()) &&
	       out[0];
}

/* The chosen one is in brackets: "always [madvise] never". */
static bool read_huge_pages(char *out)
{
	char text[128];
	if (!kernel_text(text, sizeof(text), "%s/kernel/mm/transparent_hugepage/enabled", file_sysfs()))
		return false;
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;
	if (!end)
		return false;
	*end = '\0';
	return set_text(out, begin + 1);
}

static bool read_libc(char *out)
{
#ifdef __GLIBC__
	snprintf(out, FACT_SIZE, "glibc %s", gnu_get_libc_version());
	return true;
#else
	(void)out;
	return false;
#endif
}

static const struct {
	const char *key;
	bool (*read)(char *out); /* FACT_SIZE bytes */
	bool decides;
} fact_table[] = {
	{"hostname", read_hostname, false},
	{"os", read_os, false},
	{"kernel", read_kernel, true},
	{"architecture", read_architecture, true},
	{"libc", read_libc, false},
	{"cpu_model", read_cpu_model, true},
	{"cpus", read_cpus, true},
	{"cpus_allowed", read_cpus_allowed, true},
	{"cores_physical", read_cores, false},
	{"smt", read_smt, true},
	{"numa_nodes", read_numa_nodes, false},
	{"governor", read_governor, true},
	{"turbo", read_turbo, true},
	{"memory_bytes", read_memory, true},
	{"swap_bytes", read_swap, false},
	{"cpu_limit", read_cpu_limit, true},
	{"memory_limit_bytes", read_memory_limit, false},
	{"virtualization", read_virtualization, false},
	{"container", read_container, false},
	{"clocksource", read_clocksource, false},
	{"transparent_hugepage", read_huge_pages, false},
	{"boot_id", read_boot_id, false},
};

static void hash_bytes(uint64_t *hash, const char *text)
{
	do {
		*hash ^= (unsigned char)*text;
		*hash *= 0x100000001b3ull; /* FNV-1a, 64 bits */
	} while (*text++);
}

static void hash_fact(uint64_t *hash, const char *key, const char *value)
{
	char rounded[FACT_SIZE];
	/* What firmware and kernel keep for themselves changes a little from boot to boot; the machine does not. */
	if (strcmp(key, "memory_bytes") == 0) {
		set_number(rounded, (strtoull(value, NULL, 10) + (1ull << 29)) >> 30);
		value = rounded;
	}
	hash_bytes(hash, key);
	hash_bytes(hash, value);
}

void host_facts_read(struct host_facts *out)
{
	*out = (struct host_facts){0};
	uint64_t hash = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < sizeof(fact_table) / sizeof(fact_table[0]); i++) {
		char value[FACT_SIZE] = "";
		if (!fact_table[i].read(value))
			continue;
		struct host_fact fact = {.key = fact_table[i].key, .value = mem_strdup(value)};
		vec_push(&out->facts, fact);
		if (fact_table[i].decides)
			hash_fact(&hash, fact.key, value);
	}
	snprintf(out->fingerprint, sizeof(out->fingerprint), "%016" PRIx64, hash);
}

void host_facts_fini(struct host_facts *facts)
{
	for (size_t i = 0; i < facts->facts.len; i++)
		free(facts->facts.items[i].value);
	vec_fini(&facts->facts);
	facts->fingerprint[0] = '\0';
}
