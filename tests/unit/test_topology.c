/* test_topology.c - cores and caches from recorded trees: a plain machine, two sockets, hybrid ones, and rubbish. */
#include "model/topology.h"
#include "tree.h"

static int setup(void **state)
{
	struct tree *sys = calloc(1, sizeof(*sys));
	tree_init(sys);
	setenv("PITOT_SYSFS", sys->root, 1);
	*state = sys;
	return 0;
}

static int teardown(void **state)
{
	struct tree *sys = *state;
	tree_fini(sys);
	free(sys);
	return 0;
}

static void cpu_write(const struct tree *sys, int cpu, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/%s", cpu, name);
	tree_write(sys, path, text);
}

static void write_cache(const struct tree *sys, int cpu, int index, const char *level, const char *type,
			const char *size, const char *sharing)
{
	static const char *const names[] = {
		"level", "type", "size", "shared_cpu_list", "coherency_line_size", "ways_of_associativity"};
	const char *texts[] = {level, type, size, sharing, "64\n", "8\n"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), "cache/index%d/%s", index, names[i]);
		cpu_write(sys, cpu, name, texts[i]);
	}
}

/* L1 and L2 of the core `siblings`, and an L3 for `package`. */
static void write_cpu(const struct tree *sys, int cpu, const char *siblings, const char *package_id,
		      const char *package, const char *l2)
{
	cpu_write(sys, cpu, "topology/thread_siblings_list", siblings);
	cpu_write(sys, cpu, "topology/physical_package_id", package_id);
	write_cache(sys, cpu, 0, "1\n", "Data\n", "32K\n", siblings);
	write_cache(sys, cpu, 1, "1\n", "Instruction\n", "64K\n", siblings);
	write_cache(sys, cpu, 2, "2\n", "Unified\n", l2, siblings);
	write_cache(sys, cpu, 3, "3\n", "Unified\n", "32M\n", package);
}

/* Two sockets of two cores with two threads each; threads of a core are 4 apart. */
static void write_two_sockets(const struct tree *sys)
{
	static const char *const siblings[] = {"0,4\n", "1,5\n", "2,6\n", "3,7\n"};
	tree_write(sys, "devices/system/cpu/online", "0-7\n");
	tree_write(sys, "devices/system/node/online", "0-1\n");
	tree_write(sys, "devices/system/node/node0/cpulist", "0-1,4-5\n");
	tree_write(sys, "devices/system/node/node1/cpulist", "2-3,6-7\n");
	for (int cpu = 0; cpu < 8; cpu++)
		write_cpu(sys, cpu, siblings[cpu % 4], cpu % 4 < 2 ? "0\n" : "1\n",
			  cpu % 4 < 2 ? "0-1,4-5\n" : "2-3,6-7\n", "1024K\n");
}

static const struct topology_cache *cache_of(const struct topology *topology, int level, const char *type)
{
	for (size_t i = 0; i < topology->caches.len; i++)
		if (topology->caches.items[i].level == level && strcmp(topology->caches.items[i].type, type) == 0)
			return &topology->caches.items[i];
	fail_msg("no level-%d %s cache", level, type);
	return NULL;
}

static void two_sockets_with_threads_are_counted(void **state)
{
	struct topology topology;
	write_two_sockets(*state);
	topology_read(NULL, &topology);
	assert_int_equal(topology.cpus.len, 8);
	assert_int_equal(topology.cores, 4);
	assert_int_equal(topology.packages, 2);
	assert_int_equal(topology.nodes, 2);
	assert_int_equal(topology.kinds.len, 1);
	assert_string_equal(topology.kinds.items[0].name, "");
	assert_int_equal(topology.caches.len, 4);
	const struct topology_cache *l1 = cache_of(&topology, 1, "Data"), *l3 = cache_of(&topology, 3, "Unified");
	assert_int_equal(l1->bytes, 32 << 10);
	assert_int_equal(l1->instances, 4);
	assert_int_equal(l1->shared_by, 2);
	assert_int_equal(l1->line_bytes, 64);
	assert_int_equal(l3->bytes, 32 << 20);
	assert_int_equal(l3->instances, 2);
	assert_int_equal(l3->shared_by, 4);
	const struct topology_cpu *cpu = topology_find(&topology, 6);
	assert_int_equal(cpu->package, 1);
	assert_int_equal(cpu->node, 1);
	assert_int_equal(cpu->core, 2);
	/* The instruction cache is not taken for the data cache of its level. */
	assert_int_equal(cpu->cache_bytes[1], 32 << 10);
	assert_int_equal(cpu->cache_owner[3], 2);
	assert_int_equal(topology_last_level(cpu), 3);
	topology_fini(&topology);
}

static void a_team_has_one_cpu_of_each_core_that_is_allowed(void **state)
{
	struct topology topology;
	struct topology_ids allowed = {0}, team;
	int cpus[] = {4, 5, 1, 7};
	write_two_sockets(*state);
	for (size_t i = 0; i < 4; i++)
		vec_push(&allowed.items, cpus[i]);
	topology_read(&allowed, &topology);
	topology_team(&topology, 100, &team);
	/* Core 0 by its thread 4, core 1 by its first allowed thread, core 3 by its thread 7. */
	assert_int_equal(team.items.len, 3);
	assert_int_equal(team.items.items[0], 1);
	assert_int_equal(team.items.items[1], 4);
	assert_int_equal(team.items.items[2], 7);
	vec_fini(&team.items);
	topology_team(&topology, 2, &team);
	assert_int_equal(team.items.len, 2);
	vec_fini(&team.items);
	vec_fini(&allowed.items);
	topology_fini(&topology);
}

static void a_hybrid_processor_has_two_kinds_and_begins_with_the_fast_one(void **state)
{
	const struct tree *sys = *state;
	struct topology topology;
	struct topology_ids team;
	tree_write(sys, "devices/system/cpu/online", "0-5\n");
	tree_write(sys, "devices/cpu_atom/cpus", "0-3\n");
	tree_write(sys, "devices/cpu_core/cpus", "4-5\n");
	for (int cpu = 0; cpu < 4; cpu++) {
		char self[8];
		snprintf(self, sizeof(self), "%d\n", cpu);
		write_cpu(sys, cpu, self, "0\n", "0-5\n", "2048K\n");
		cpu_write(sys, cpu, "cpufreq/cpuinfo_max_freq", "3900000\n");
		cpu_write(sys, cpu, "cpu_capacity", "600\n");
	}
	for (int cpu = 4; cpu < 6; cpu++) {
		write_cpu(sys, cpu, "4-5\n", "0\n", "0-5\n", "1280K\n");
		cpu_write(sys, cpu, "cpufreq/cpuinfo_max_freq", "5200000\n");
		cpu_write(sys, cpu, "cpu_capacity", "1024\n");
	}
	topology_read(NULL, &topology);
	assert_int_equal(topology.kinds.len, 2);
	assert_string_equal(topology.kinds.items[0].name, "atom");
	assert_int_equal(topology.kinds.items[0].cores, 4);
	assert_string_equal(topology.kinds.items[1].name, "core");
	assert_int_equal(topology.kinds.items[1].cpus, 2);
	assert_int_equal(topology.kinds.items[1].cores, 1);
	assert_int_equal(topology.cores, 5);
	topology_team(&topology, 100, &team);
	assert_int_equal(team.items.len, 5);
	assert_int_equal(team.items.items[0], 4);
	assert_int_equal(topology_find(&topology, 4)->cache_bytes[2], 1280 << 10);
	assert_int_equal(topology_find(&topology, 4)->most_hz, 5200000000);
	assert_int_equal(topology_find(&topology, 0)->cache_bytes[2], 2048 << 10);
	vec_fini(&team.items);
	topology_fini(&topology);
}

static void arms_big_and_little_cores_are_told_by_capacity(void **state)
{
	const struct tree *sys = *state;
	struct topology topology;
	struct topology_ids team;
	tree_write(sys, "devices/system/cpu/online", "0-1\n");
	cpu_write(sys, 0, "cpu_capacity", "446\n");
	cpu_write(sys, 1, "cpu_capacity", "1024\n");
	topology_read(NULL, &topology);
	assert_int_equal(topology.kinds.len, 2);
	assert_string_equal(topology.kinds.items[0].name, "capacity 446");
	topology_team(&topology, 1, &team);
	assert_int_equal(team.items.items[0], 1);
	vec_fini(&team.items);
	topology_fini(&topology);
}

static void without_sysfs_the_allowed_cpus_stand_alone_and_nothing_is_made_up(void **state)
{
	(void)state;
	struct topology topology;
	struct topology_ids allowed;
	topology_allowed(&allowed);
	assert_true(allowed.items.len > 0);
	topology_read(&allowed, &topology);
	assert_int_equal(topology.cpus.len, allowed.items.len);
	assert_int_equal(topology.cores, allowed.items.len);
	assert_int_equal(topology.packages, 0);
	assert_int_equal(topology.nodes, 0);
	assert_int_equal(topology.caches.len, 0);
	assert_int_equal(topology_last_level(&topology.cpus.items[0]), 0);
	vec_fini(&allowed.items);
	topology_fini(&topology);
}

static void rubbish_in_the_tree_is_left_out(void **state)
{
	static const char *const sizes[] = {"", "K\n", "-1K\n", "99999999999999999999M\n", "0K\n", "x\n"};
	static const char *const lists[] = {"", ",\n", "0-999999999\n", "5-2\n", "a-b\n", "-\n"};
	const struct tree *sys = *state;
	tree_write(sys, "devices/system/cpu/online", "0\n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct topology topology;
		write_cache(sys, 0, 0, "1\n", "Data\n", sizes[i], "0\n");
		write_cache(sys, 0, 1, i % 2 ? "77\n" : "0\n", "Unified\n", "1M\n", lists[i]);
		write_cache(sys, 0, 2, "2\n", "A type with a very long name indeed\n", "1M\n", lists[i]);
		cpu_write(sys, 0, "topology/thread_siblings_list", lists[i]);
		cpu_write(sys, 0, "topology/physical_package_id", "-1\n");
		cpu_write(sys, 0, "cpu_capacity", "18446744073709551615\n");
		topology_read(NULL, &topology);
		assert_int_equal(topology.cpus.len, 1);
		assert_int_equal(topology.cpus.items[0].cache_bytes[1], 0);
		assert_int_equal(topology.cpus.items[0].cache_bytes[2], 1 << 20);
		assert_int_equal(topology.packages, 0);
		assert_int_equal(topology.cpus.items[0].capacity, 0);
		topology_fini(&topology);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(two_sockets_with_threads_are_counted),
	TEST(a_team_has_one_cpu_of_each_core_that_is_allowed),
	TEST(a_hybrid_processor_has_two_kinds_and_begins_with_the_fast_one),
	TEST(arms_big_and_little_cores_are_told_by_capacity),
	TEST(without_sysfs_the_allowed_cpus_stand_alone_and_nothing_is_made_up),
	TEST(rubbish_in_the_tree_is_left_out),
};

UNIT_MAIN(tests)
