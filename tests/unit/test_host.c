/* test_host.c - the machine's facts, on trees and on the real machine; the limits of cgroup v1 and v2. */
#include "probe/host.h"
#include "probe/host_limits.h"
#include "tree.h"

#include <sched.h>
#include <sys/utsname.h>

struct fixture {
	struct tree proc, sys;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	tree_init(&fixture->proc);
	tree_init(&fixture->sys);
	setenv("PITOT_PROCFS", fixture->proc.root, 1);
	setenv("PITOT_SYSFS", fixture->sys.root, 1);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	tree_fini(&fixture->proc);
	tree_fini(&fixture->sys);
	free(fixture);
	return 0;
}

static const char *fact(const struct host_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->facts.len; i++)
		if (strcmp(facts->facts.items[i].key, key) == 0)
			return facts->facts.items[i].value;
	return NULL;
}

static void assert_fact(const struct host_facts *facts, const char *key, const char *value)
{
	const char *got = fact(facts, key);
	if (!got || strcmp(got, value) != 0)
		fail_msg("%s is '%s', not '%s'", key, got ? got : "left out", value);
}

/* Two packages of two cores with two threads each. */
static void write_machine(const struct fixture *fixture)
{
	static const char *const siblings[] = {"0,4\n", "1,5\n", "2,6\n", "3,7\n", "0,4\n", "1,5\n", "2,6\n", "3,7\n"};
	tree_write(&fixture->proc, "cpuinfo",
		   "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Test CPU @ 3.00GHz\n"
		   "flags\t\t: fpu sse hypervisor avx\n\nprocessor\t: 1\n");
	tree_write(&fixture->proc, "meminfo", "MemTotal:       16384000 kB\nSwapTotal:       2048 kB\n");
	tree_write(&fixture->proc, "sys/kernel/random/boot_id", "0123-4567\n");
	tree_write(&fixture->sys, "devices/system/cpu/online", "0-7\n");
	for (int cpu = 0; cpu < 8; cpu++) {
		char path[96];
		snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
		tree_write(&fixture->sys, path, siblings[cpu]);
	}
	tree_write(&fixture->sys, "devices/system/node/online", "0-1\n");
	tree_write(&fixture->sys, "devices/system/cpu/smt/active", "1\n");
	tree_write(&fixture->sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
	tree_write(&fixture->sys, "devices/system/cpu/intel_pstate/no_turbo", "1\n");
	tree_write(&fixture->sys, "devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	tree_write(&fixture->sys, "kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	tree_write(&fixture->sys, "class/dmi/id/sys_vendor", "QEMU\n");
	tree_write(&fixture->sys, "class/dmi/id/product_name", "Standard PC\n");
}

static void a_full_tree_gives_every_fact(void **state)
{
	struct fixture *fixture = *state;
	struct host_facts facts;
	write_machine(fixture);
	host_facts_read(&facts);
	assert_fact(&facts, "cpu_model", "Test CPU @ 3.00GHz");
	assert_fact(&facts, "cpus", "8");
	assert_fact(&facts, "cores_physical", "4");
	assert_fact(&facts, "numa_nodes", "2");
	assert_fact(&facts, "smt", "on");
	assert_fact(&facts, "governor", "performance");
	assert_fact(&facts, "turbo", "off");
	assert_fact(&facts, "memory_bytes", "16777216000");
	assert_fact(&facts, "swap_bytes", "2097152");
	assert_fact(&facts, "virtualization", "QEMU Standard PC");
	assert_fact(&facts, "clocksource", "tsc");
	assert_fact(&facts, "transparent_hugepage", "madvise");
	assert_fact(&facts, "boot_id", "0123-4567");
	host_facts_fini(&facts);
}

static void what_the_machine_does_not_tell_is_left_out(void **state)
{
	(void)state;
	struct host_facts facts;
	host_facts_read(&facts);
	static const char *const keys[] = {
		"cpu_model",   "memory_bytes", "governor",       "turbo",          "smt",       "numa_nodes",
		"clocksource", "boot_id",      "virtualization", "cores_physical", "cpu_limit", "memory_limit_bytes"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_null(fact(&facts, keys[i]));
	for (size_t i = 0; i < facts.facts.len; i++)
		assert_true(facts.facts.items[i].value[0] != '\0');
	assert_int_equal(strlen(facts.fingerprint), 16);
	host_facts_fini(&facts);
}

static void the_real_machine_matches_what_libc_says(void **state)
{
	(void)state;
	unsetenv("PITOT_PROCFS");
	unsetenv("PITOT_SYSFS");
	struct host_facts facts;
	struct utsname names;
	char text[32];
	cpu_set_t allowed;
	uname(&names);
	host_facts_read(&facts);
	assert_fact(&facts, "kernel", names.release);
	assert_fact(&facts, "hostname", names.nodename);
	assert_fact(&facts, "architecture", names.machine);
	snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	assert_fact(&facts, "cpus", text);
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	snprintf(text, sizeof(text), "%d", CPU_COUNT(&allowed));
	assert_fact(&facts, "cpus_allowed", text);
	double pages = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	assert_float_equal(strtod(fact(&facts, "memory_bytes"), NULL), pages, 1e6);
	assert_non_null(fact(&facts, "os"));
	assert_null(strchr(fact(&facts, "os"), '"'));
	host_facts_fini(&facts);
}

static void read_fingerprint(char *out)
{
	struct host_facts facts;
	host_facts_read(&facts);
	strcpy(out, facts.fingerprint);
	host_facts_fini(&facts);
}

static void the_fingerprint_changes_with_what_decides_speed_and_with_nothing_else(void **state)
{
	struct fixture *fixture = *state;
	char first[17], again[17];
	write_machine(fixture);
	read_fingerprint(first);
	tree_write(&fixture->proc, "sys/kernel/random/boot_id", "another boot\n");
	tree_write(&fixture->proc, "meminfo", "MemTotal:       16385000 kB\nSwapTotal:       0 kB\n");
	read_fingerprint(again);
	assert_string_equal(first, again);
	tree_write(&fixture->proc, "meminfo", "MemTotal:       32768000 kB\nSwapTotal:       0 kB\n");
	read_fingerprint(again);
	assert_string_not_equal(first, again);
	write_machine(fixture);
	tree_write(&fixture->sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
	read_fingerprint(again);
	assert_string_not_equal(first, again);
}

static void a_processor_without_hypervisor_flag_is_not_virtual(void **state)
{
	struct fixture *fixture = *state;
	struct host_facts facts;
	tree_write(&fixture->proc, "cpuinfo", "processor\t: 0\nmodel name\t: X\nflags\t\t: fpu sse\n");
	host_facts_read(&facts);
	assert_fact(&facts, "virtualization", "none");
	host_facts_fini(&facts);
}

static void an_arm_processor_is_named_by_its_numbers(void **state)
{
	struct fixture *fixture = *state;
	struct host_facts facts;
	tree_write(&fixture->proc, "cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
	host_facts_read(&facts);
	assert_fact(&facts, "cpu_model", "implementer 0x41 part 0xd0c");
	assert_null(fact(&facts, "virtualization"));
	host_facts_fini(&facts);
}

static void mount(const struct fixture *fixture, const char *format)
{
	char text[512];
	snprintf(text, sizeof(text), format, fixture->sys.root);
	tree_write(&fixture->proc, "self/mountinfo", text);
}

static void limits_of_v2_are_the_tightest_on_the_way_up(void **state)
{
	struct fixture *fixture = *state;
	double cores;
	uint64_t bytes;
	mount(fixture,
	      "20 1 8:1 / / rw - ext4 /dev/sda rw\n31 23 0:28 / %s/cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
	tree_write(&fixture->proc, "self/cgroup", "0::/slice/job\n");
	tree_write(&fixture->sys, "cg/slice/job/cpu.max", "max 100000\n");
	tree_write(&fixture->sys, "cg/slice/cpu.max", "150000 100000\n");
	tree_write(&fixture->sys, "cg/slice/job/memory.max", "2000000\n");
	tree_write(&fixture->sys, "cg/slice/memory.max", "1000000\n");
	assert_true(host_cpu_limit(&cores));
	assert_float_equal(cores, 1.5, 1e-9);
	assert_true(host_memory_limit(&bytes));
	assert_int_equal(bytes, 1000000);
	tree_write(&fixture->sys, "cg/slice/cpu.max", "max 100000\n");
	assert_false(host_cpu_limit(&cores));
}

static void limits_of_v1_come_from_each_controllers_own_hierarchy(void **state)
{
	struct fixture *fixture = *state;
	double cores;
	uint64_t bytes;
	char text[512];
	snprintf(text, sizeof(text),
		 "32 31 0:29 / %s/cpu rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 /docker/ab %s/memory rw - cgroup "
		 "cgroup rw,memory\n",
		 fixture->sys.root, fixture->sys.root);
	tree_write(&fixture->proc, "self/mountinfo", text);
	tree_write(&fixture->proc, "self/cgroup", "5:cpuset:/x\n4:memory:/docker/ab\n1:cpu,cpuacct:/docker/ab\n0::/\n");
	tree_write(&fixture->sys, "cpu/docker/ab/cpu.cfs_quota_us", "50000\n");
	tree_write(&fixture->sys, "cpu/docker/ab/cpu.cfs_period_us", "100000\n");
	/* The mount starts at the own group. */
	tree_write(&fixture->sys, "memory/memory.limit_in_bytes", "4096000\n");
	assert_true(host_cpu_limit(&cores));
	assert_float_equal(cores, 0.5, 1e-9);
	assert_true(host_memory_limit(&bytes));
	assert_int_equal(bytes, 4096000);
	tree_write(&fixture->sys, "cpu/docker/ab/cpu.cfs_quota_us", "-1\n");
	tree_write(&fixture->sys, "memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_false(host_cpu_limit(&cores));
	assert_false(host_memory_limit(&bytes));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(a_full_tree_gives_every_fact),
	TEST(what_the_machine_does_not_tell_is_left_out),
	TEST(the_real_machine_matches_what_libc_says),
	TEST(the_fingerprint_changes_with_what_decides_speed_and_with_nothing_else),
	TEST(a_processor_without_hypervisor_flag_is_not_virtual),
	TEST(an_arm_processor_is_named_by_its_numbers),
	TEST(limits_of_v2_are_the_tightest_on_the_way_up),
	TEST(limits_of_v1_come_from_each_controllers_own_hierarchy),
};

UNIT_MAIN(tests)
