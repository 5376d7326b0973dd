/* topology.c - see topology.h. */
#include "model/topology.h"
#include "base/file.h"
#include "base/str.h"
#include "probe/kernel_file.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static bool list_has(const char *list, int cpu)
{
	int first, last;
	for (const char *at = list; kernel_list_next(&at, &first, &last);)
		if (cpu >= first && cpu <= last)
			return true;
	return false;
}

static unsigned list_count(const char *list)
{
	unsigned count = 0;
	int first, last;
	for (const char *at = list; kernel_list_next(&at, &first, &last);)
		count += last >= first && last < TOPOLOGY_MOST_CPUS ? (unsigned)(last - first) + 1 : 0;
	return count;
}

/* The first number of a list like "0,4"; `fallback` where there is none. */
static int list_first(const char *list, int fallback)
{
	int first, last;
	return kernel_list_next(&list, &first, &last) ? first : fallback;
}

/* "32K", "1024K", "32M", "512". */
static uint64_t parse_size(const char *text)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	return errno || end == text || text[0] == '-' || number > UINT64_MAX >> shift ? 0 : number << shift;
}

static struct topology_cache *find_cache(struct topology *topology, const struct topology_cache *like)
{
	for (size_t i = 0; i < topology->caches.len; i++) {
		struct topology_cache *cache = &topology->caches.items[i];
		if (cache->level == like->level && strcmp(cache->type, like->type) == 0 &&
		    cache->bytes == like->bytes && cache->ways == like->ways && cache->shared_by == like->shared_by)
			return cache;
	}
	vec_push(&topology->caches, *like);
	return vec_last(&topology->caches);
}

/* False where there is no such index. */
static bool read_cache(struct topology *topology, struct topology_cpu *cpu, int index)
{
	char size[32] = "", sharing[4096] = "";
	uint64_t level, line = 0, ways = 0;
	struct topology_cache cache = {0};
	char folder[64];
	snprintf(folder, sizeof(folder), "devices/system/cpu/cpu%d/cache/index%d", cpu->cpu, index);
	if (!kernel_u64(&level, "%s/%s/level", file_sysfs(), folder))
		return false;
	kernel_text(cache.type, sizeof(cache.type), "%s/%s/type", file_sysfs(), folder);
	kernel_text(size, sizeof(size), "%s/%s/size", file_sysfs(), folder);
	kernel_text(sharing, sizeof(sharing), "%s/%s/shared_cpu_list", file_sysfs(), folder);
	kernel_u64(&line, "%s/%s/coherency_line_size", file_sysfs(), folder);
	kernel_u64(&ways, "%s/%s/ways_of_associativity", file_sysfs(), folder);
	cache.bytes = parse_size(size);
	if (level < 1 || level > TOPOLOGY_LEVELS || !cache.bytes)
		return true;
	cache.level = (int)level;
	cache.line_bytes = line < 65536 ? (unsigned)line : 0;
	cache.ways = ways < 65536 ? (unsigned)ways : 0;
	cache.shared_by = list_count(sharing);
	int owner = list_first(sharing, cpu->cpu);
	if (owner == cpu->cpu)
		find_cache(topology, &cache)->instances++;
	if (strcmp(cache.type, "Instruction") != 0) {
		cpu->cache_bytes[level] = cache.bytes;
		cpu->cache_owner[level] = owner;
	}
	return true;
}

static int kind_of(struct topology *topology, const char *name)
{
	for (size_t i = 0; i < topology->kinds.len; i++)
		if (strcmp(topology->kinds.items[i].name, name) == 0)
			return (int)i;
	struct topology_kind *kind = vec_add(&topology->kinds);
	snprintf(kind->name, sizeof(kind->name), "%s", name);
	return (int)topology->kinds.len - 1;
}

/* Intel's hybrid processors have a counter unit per kind of core, which lists its CPUs. */
static void read_kind(struct topology *topology, struct topology_cpu *cpu)
{
	static const char *const units[] = {"core", "atom", "lowpower"};
	char text[4096], name[16] = "";
	uint64_t capacity;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && !name[0]; i++)
		if (kernel_text(text, sizeof(text), "%s/devices/cpu_%s/cpus", file_sysfs(), units[i]) &&
		    list_has(text, cpu->cpu))
			snprintf(name, sizeof(name), "%s", units[i]);
	if (kernel_u64(&capacity, "%s/devices/system/cpu/cpu%d/cpu_capacity", file_sysfs(), cpu->cpu) &&
	    capacity < 65536) {
		cpu->capacity = (unsigned)capacity;
		if (!name[0] && capacity != 1024)
			snprintf(name, sizeof(name), "capacity %u", (unsigned)capacity);
	}
	cpu->kind = kind_of(topology, name);
}

static int read_id(const char *name, int cpu)
{
	uint64_t id;
	return kernel_u64(&id, "%s/devices/system/cpu/cpu%d/topology/%s", file_sysfs(), cpu, name) && id < 65536
		       ? (int)id
		       : -1;
}

static int read_node(int cpu)
{
	char nodes[1024], list[4096];
	int first, last;
	if (!kernel_text(nodes, sizeof(nodes), "%s/devices/system/node/online", file_sysfs()))
		return -1;
	for (const char *at = nodes; kernel_list_next(&at, &first, &last);)
		for (int node = first; node <= last && node < 4096; node++)
			if (kernel_text(list, sizeof(list), "%s/devices/system/node/node%d/cpulist", file_sysfs(),
					node) &&
			    list_has(list, cpu))
				return node;
	return -1;
}

static void read_cpu(struct topology *topology, int id, const struct topology_ids *allowed)
{
	char siblings[4096];
	uint64_t khz;
	struct topology_cpu cpu = {.cpu = id, .core = id, .node = read_node(id)};
	cpu.package = read_id("physical_package_id", id);
	if (kernel_text(siblings, sizeof(siblings), "%s/devices/system/cpu/cpu%d/topology/thread_siblings_list",
			file_sysfs(), id))
		cpu.core = list_first(siblings, id);
	if (kernel_u64(&khz, "%s/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", file_sysfs(), id) && khz < 1e9)
		cpu.most_hz = khz * 1000;
	cpu.allowed = !allowed;
	for (size_t i = 0; allowed && i < allowed->items.len; i++)
		cpu.allowed = cpu.allowed || allowed->items.items[i] == id;
	read_kind(topology, &cpu);
	for (int index = 0; index < 16 && read_cache(topology, &cpu, index); index++)
		;
	vec_push(&topology->cpus, cpu);
}

static bool seen_before(const struct topology *topology, size_t at, size_t offset)
{
	const struct topology_cpu *cpus = topology->cpus.items;
	int id = *(const int *)((const char *)&cpus[at] + offset);
	for (size_t i = 0; i < at; i++)
		if (*(const int *)((const char *)&cpus[i] + offset) == id)
			return true;
	return false;
}

static void count(struct topology *topology)
{
	for (size_t i = 0; i < topology->cpus.len; i++) {
		const struct topology_cpu *cpu = &topology->cpus.items[i];
		bool new_core = !seen_before(topology, i, offsetof(struct topology_cpu, core));
		topology->cores += new_core;
		topology->packages +=
			cpu->package >= 0 && !seen_before(topology, i, offsetof(struct topology_cpu, package));
		topology->nodes += cpu->node >= 0 && !seen_before(topology, i, offsetof(struct topology_cpu, node));
		topology->kinds.items[cpu->kind].cpus++;
		topology->kinds.items[cpu->kind].cores += new_core;
	}
	/* One kind among its like needs no name. */
	if (topology->kinds.len == 1)
		topology->kinds.items[0].name[0] = '\0';
}

void topology_read(const struct topology_ids *allowed, struct topology *out)
{
	char online[4096];
	int first, last;
	*out = (struct topology){0};
	if (kernel_text(online, sizeof(online), "%s/devices/system/cpu/online", file_sysfs()))
		for (const char *at = online; kernel_list_next(&at, &first, &last);)
			for (int cpu = first; cpu <= last && cpu < TOPOLOGY_MOST_CPUS; cpu++)
				read_cpu(out, cpu, allowed);
	bool told = out->cpus.len > 0;
	for (size_t i = 0; !told && allowed && i < allowed->items.len; i++) {
		int cpu = allowed->items.items[i];
		struct topology_cpu bare = {.cpu = cpu, .core = cpu, .package = -1, .node = -1, .allowed = true};
		bare.kind = kind_of(out, "");
		vec_push(&out->cpus, bare);
	}
	count(out);
}

void topology_fini(struct topology *topology)
{
	vec_fini(&topology->cpus);
	vec_fini(&topology->caches);
	vec_fini(&topology->kinds);
}

void topology_allowed(struct topology_ids *out)
{
	*out = (struct topology_ids){0};
	/* The kernel refuses a mask that is smaller than its own. */
	for (int room = 1024; room <= TOPOLOGY_MOST_CPUS && out->items.len == 0; room *= 2) {
		cpu_set_t *mask = CPU_ALLOC(room);
		size_t size = CPU_ALLOC_SIZE(room);
		if (mask && sched_getaffinity(0, size, mask) == 0)
			for (int cpu = 0; cpu < room; cpu++)
				if (CPU_ISSET_S(cpu, size, mask))
					vec_push(&out->items, cpu);
		CPU_FREE(mask);
	}
}

/* Whether `a` is the faster one: by the kernel's capacity, by the order of kinds, by frequency. */
static bool is_faster(const struct topology_cpu *a, const struct topology_cpu *b)
{
	if (a->capacity != b->capacity)
		return a->capacity > b->capacity;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->most_hz > b->most_hz;
}

void topology_team(const struct topology *topology, size_t most, struct topology_ids *out)
{
	*out = (struct topology_ids){0};
	VEC(const struct topology_cpu *) chosen = {0};
	for (size_t i = 0; i < topology->cpus.len; i++) {
		const struct topology_cpu *cpu = &topology->cpus.items[i];
		bool taken = !cpu->allowed;
		for (size_t k = 0; k < chosen.len && !taken; k++)
			taken = chosen.items[k]->core == cpu->core;
		if (taken)
			continue;
		/* Into its place: slower ones move up. */
		vec_push(&chosen, cpu);
		for (size_t k = chosen.len - 1; k > 0 && is_faster(cpu, chosen.items[k - 1]); k--) {
			chosen.items[k] = chosen.items[k - 1];
			chosen.items[k - 1] = cpu;
		}
	}
	for (size_t i = 0; i < chosen.len && i < most; i++)
		vec_push(&out->items, chosen.items[i]->cpu);
	vec_fini(&chosen);
}

const struct topology_cpu *topology_find(const struct topology *topology, int cpu)
{
	for (size_t i = 0; i < topology->cpus.len; i++)
		if (topology->cpus.items[i].cpu == cpu)
			return &topology->cpus.items[i];
	return NULL;
}

int topology_last_level(const struct topology_cpu *cpu)
{
	for (int level = TOPOLOGY_LEVELS; level > 0; level--)
		if (cpu->cache_bytes[level])
			return level;
	return 0;
}
