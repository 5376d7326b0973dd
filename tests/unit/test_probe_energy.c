/* test_probe_energy.c - energy counters: wrap-around, nested and mirrored domains, permissions; powercap and perf. */
#include "base/clock.h"
#include "probe/energy.h"
#include "probe/perf_event.h"
#include "probe/table.h"
#include "tree.h"

#include <sys/wait.h>

struct fixture {
	struct tree sys, proc;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	tree_init(&fixture->sys);
	tree_init(&fixture->proc);
	setenv("PITOT_SYSFS", fixture->sys.root, 1);
	setenv("PITOT_PROCFS", fixture->proc.root, 1);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	tree_fini(&fixture->sys);
	tree_fini(&fixture->proc);
	free(fixture);
	return 0;
}

static void set_energy(const struct fixture *fixture, const char *zone, const char *microjoules)
{
	char path[128];
	snprintf(path, sizeof(path), "class/powercap/%s/energy_uj", zone);
	tree_write(&fixture->sys, path, microjoules);
}

static void add_zone(const struct fixture *fixture, const char *zone, const char *name, const char *microjoules)
{
	char path[128];
	snprintf(path, sizeof(path), "class/powercap/%s/name", zone);
	tree_write(&fixture->sys, path, name);
	snprintf(path, sizeof(path), "class/powercap/%s/max_energy_range_uj", zone);
	tree_write(&fixture->sys, path, "262143328850\n");
	set_energy(fixture, zone, microjoules);
}

struct opened {
	const struct probe *probe;
	void *state;
	char source[METRIC_SOURCE_SIZE];
};

static struct opened open_probe(const struct probe *probe)
{
	struct opened opened = {.probe = probe};
	struct err err = {0};
	if (probe->open(&opened.state, opened.source, &err))
		fail_msg("%s", err.text);
	return opened;
}

static void assert_joules(const struct opened *opened, int channel, double joules)
{
	struct probe_frame frame = {0};
	opened->probe->read(opened->state, &frame);
	assert_true(frame.known[channel]);
	assert_float_equal(frame.value[channel], joules, 1e-6);
}

static void wrap_around_continues_the_count(void **state)
{
	(void)state;
	struct energy_counter counter = {.range = 1000};
	energy_counter_advance(&counter, 950);
	energy_counter_advance(&counter, 990);
	assert_int_equal(counter.total, 40);
	energy_counter_advance(&counter, 20);
	assert_int_equal(counter.total, 40 + 10 + 20);
}

static void a_counter_set_back_adds_nothing_and_goes_on(void **state)
{
	(void)state;
	struct energy_counter counter = {.range = 1000};
	energy_counter_advance(&counter, 300);
	energy_counter_advance(&counter, 5);
	assert_int_equal(counter.total, 0);
	energy_counter_advance(&counter, 25);
	assert_int_equal(counter.total, 20);
}

static void without_a_known_range_a_step_back_is_not_guessed(void **state)
{
	(void)state;
	struct energy_counter counter = {0};
	energy_counter_advance(&counter, 990);
	energy_counter_advance(&counter, 10);
	energy_counter_advance(&counter, 30);
	assert_int_equal(counter.total, 20);
}

static void power_is_integrated_by_trapezoids(void **state)
{
	(void)state;
	struct power_integral integral = {0};
	power_integral_advance(&integral, 100, 1 * NS_PER_S);
	assert_float_equal(integral.joules, 0, 0);
	power_integral_advance(&integral, 200, 3 * NS_PER_S);
	assert_float_equal(integral.joules, 300, 1e-9);
	power_integral_advance(&integral, 50, 3 * NS_PER_S);
	assert_float_equal(integral.joules, 300, 1e-9);
}

static void nested_domains_and_psys_are_not_added(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl:0", "package-0\n", "1000000\n");
	add_zone(fixture, "intel-rapl:0:0", "core\n", "600000000\n");
	add_zone(fixture, "intel-rapl:0:1", "uncore\n", "700000000\n");
	add_zone(fixture, "intel-rapl:0:2", "dram\n", "800000000\n");
	add_zone(fixture, "intel-rapl:1", "package-1\n", "90000000\n");
	add_zone(fixture, "intel-rapl:1:0", "dram\n", "120000000\n");
	add_zone(fixture, "intel-rapl:2", "psys\n", "5000000000\n");
	struct opened rapl = open_probe(&probe_rapl);
	assert_string_equal(rapl.source, "rapl package-0 + package-1, whole machine");
	set_energy(fixture, "intel-rapl:0", "3000000\n");
	set_energy(fixture, "intel-rapl:0:0", "999000000\n");
	set_energy(fixture, "intel-rapl:0:1", "999000000\n");
	set_energy(fixture, "intel-rapl:0:2", "801000000\n");
	set_energy(fixture, "intel-rapl:1", "95000000\n");
	set_energy(fixture, "intel-rapl:1:0", "120500000\n");
	set_energy(fixture, "intel-rapl:2", "9000000000\n");
	assert_joules(&rapl, CHANNEL_ENERGY_PACKAGE, 2 + 5);
	assert_joules(&rapl, CHANNEL_ENERGY_DRAM, 1 + 0.5);
	probe_rapl.close(rapl.state);
}

static void a_wrapped_package_goes_on(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl:0", "package-0\n", "262143000000\n");
	struct opened rapl = open_probe(&probe_rapl);
	set_energy(fixture, "intel-rapl:0", "1000000\n");
	assert_joules(&rapl, CHANNEL_ENERGY_PACKAGE, 0.328850 + 1);
	probe_rapl.close(rapl.state);
}

static void the_memory_mapped_mirror_of_a_package_is_counted_once(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl-mmio:0", "package-0\n", "77000000\n");
	add_zone(fixture, "intel-rapl:0", "package-0\n", "1000000\n");
	struct opened rapl = open_probe(&probe_rapl);
	assert_string_equal(rapl.source, "rapl package-0, whole machine");
	set_energy(fixture, "intel-rapl:0", "4000000\n");
	set_energy(fixture, "intel-rapl-mmio:0", "99000000\n");
	assert_joules(&rapl, CHANNEL_ENERGY_PACKAGE, 3);
	probe_rapl.close(rapl.state);
}

static void dies_that_mirror_each_other_are_counted_once(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl:0", "package-0-die-0\n", "50000000\n");
	add_zone(fixture, "intel-rapl:1", "package-0-die-1\n", "50000400\n");
	struct opened rapl = open_probe(&probe_rapl);
	assert_non_null(strstr(rapl.source, "mirrored counters once"));
	set_energy(fixture, "intel-rapl:0", "118000000\n");
	set_energy(fixture, "intel-rapl:1", "118000900\n");
	assert_joules(&rapl, CHANNEL_ENERGY_PACKAGE, 68);
	probe_rapl.close(rapl.state);
}

static void dies_that_only_start_alike_are_both_counted_from_the_start(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl:0", "package-0-die-0\n", "50000000\n");
	add_zone(fixture, "intel-rapl:1", "package-0-die-1\n", "50000000\n");
	struct opened rapl = open_probe(&probe_rapl);
	set_energy(fixture, "intel-rapl:0", "60000000\n");
	set_energy(fixture, "intel-rapl:1", "53000000\n");
	assert_joules(&rapl, CHANNEL_ENERGY_PACKAGE, 10 + 3);
	/* Once told apart they stay apart, also where the counts meet again. */
	set_energy(fixture, "intel-rapl:1", "60000000\n");
	assert_joules(&rapl, CHANNEL_ENERGY_PACKAGE, 10 + 10);
	probe_rapl.close(rapl.state);
}

static void a_failed_read_is_unknown_and_the_next_one_covers_the_gap(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl:0", "package-0\n", "1000000\n");
	struct opened rapl = open_probe(&probe_rapl);
	struct probe_frame frame = {0};
	set_energy(fixture, "intel-rapl:0", "");
	rapl.probe->read(rapl.state, &frame);
	assert_false(frame.known[CHANNEL_ENERGY_PACKAGE]);
	set_energy(fixture, "intel-rapl:0", "9000000\n");
	assert_joules(&rapl, CHANNEL_ENERGY_PACKAGE, 8);
	probe_rapl.close(rapl.state);
}

static void a_package_without_memory_domain_says_so(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl:0", "package-0\n", "1000000\n");
	struct probe_set *set = probe_set_open(false);
	assert_non_null(probe_set_source(set, CHANNEL_ENERGY_PACKAGE));
	assert_null(probe_set_source(set, CHANNEL_ENERGY_DRAM));
	assert_string_equal(probe_set_reason(set, CHANNEL_ENERGY_DRAM), "RAPL has no DRAM domain on this machine");
	probe_set_close(set);
}

static void a_psys_alone_is_no_package(void **state)
{
	struct fixture *fixture = *state;
	struct err err = {0};
	void *rapl;
	char source[METRIC_SOURCE_SIZE];
	add_zone(fixture, "intel-rapl:0", "psys\n", "1000000\n");
	assert_int_equal(probe_rapl.open(&rapl, source, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "no RAPL package"));
}

/* The "power" PMU of these trees is the kernel's own CPU clock: nanoseconds that CPU 0 existed, taken for nanojoules.
 */
static void make_power_pmu(const struct fixture *fixture, const char *cpumask, const char *config)
{
	tree_write(&fixture->sys, "bus/event_source/devices/power/type", "1\n");
	tree_write(&fixture->sys, "bus/event_source/devices/power/cpumask", cpumask);
	tree_write(&fixture->sys, "bus/event_source/devices/power/events/energy-pkg", config);
	tree_write(&fixture->sys, "bus/event_source/devices/power/events/energy-pkg.scale", "1.0e-9\n");
	tree_write(&fixture->proc, "sys/kernel/perf_event_paranoid", "2\n");
}

/* What opening says to a user without rights, told through the exit status: 0 as expected. */
static int refused_as_plain_user(void)
{
	struct err err = {0};
	void *rapl;
	char source[METRIC_SOURCE_SIZE];
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return 1;
	if (probe_rapl.open(&rapl, source, &err) != ERR_IO)
		return 2;
	if (!strstr(err.text, "intel-rapl:1/energy_uj: Permission denied (root only since Linux 5.10"))
		return 3;
	/* Paranoid as the tree's file says it is; whether the kernel refuses is its own matter. */
	if (probe_rapl_perf.open(&rapl, source, &err) == 0)
		return 0;
	if (err.code != ERR_IO || !strstr(err.text, "permission denied (perf_event_paranoid is 2)"))
		return 4;
	return 0;
}

static void one_unreadable_package_makes_the_sum_unavailable_with_the_reason(void **state)
{
	struct fixture *fixture = *state;
	add_zone(fixture, "intel-rapl:0", "package-0\n", "1000000\n");
	add_zone(fixture, "intel-rapl:1", "package-1\n", "9000000\n");
	chmod(tree_path(&fixture->sys, "class/powercap/intel-rapl:1/energy_uj"), 0);
	make_power_pmu(fixture, "0\n", "event=0x00\n");
	pid_t child = fork();
	if (child == 0)
		_exit(refused_as_plain_user());
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_non_null(strstr(probe_rapl.fix, "chmod a+r"));
}

static bool may_count_cpus(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
	int fd = perf_event_open_fd(&attr, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void perf_energy_grows_by_count_times_scale(void **state)
{
	struct fixture *fixture = *state;
	if (!may_count_cpus())
		skip();
	make_power_pmu(fixture, "0\n", "event=0x00\n");
	struct opened power = open_probe(&probe_rapl_perf);
	assert_string_equal(power.source, "rapl by perf, 1 package, whole machine");
	struct probe_frame before = {0}, after = {0};
	uint64_t begin_ns = clock_mono_ns();
	power.probe->read(power.state, &before);
	while (clock_mono_ns() - begin_ns < NS_PER_S / 20)
		;
	power.probe->read(power.state, &after);
	double seconds = (double)(clock_mono_ns() - begin_ns) / 1e9;
	double joules = after.value[CHANNEL_ENERGY_PACKAGE] - before.value[CHANNEL_ENERGY_PACKAGE];
	assert_true(before.known[CHANNEL_ENERGY_PACKAGE] && after.known[CHANNEL_ENERGY_PACKAGE]);
	assert_true(joules > 0.04 && joules <= seconds);
	assert_non_null(power.probe->lacks(power.state, CHANNEL_ENERGY_DRAM));
	power.probe->close(power.state);
}

static void perf_energy_counts_an_amd_package_once_whatever_the_mask_says(void **state)
{
	struct fixture *fixture = *state;
	if (!may_count_cpus() || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	make_power_pmu(fixture, "0-1\n", "event=0x00\n");
	tree_write(&fixture->sys, "devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
	tree_write(&fixture->sys, "devices/system/cpu/cpu1/topology/physical_package_id", "0\n");
	tree_write(&fixture->proc, "cpuinfo", "vendor_id\t: GenuineIntel\n");
	struct opened power = open_probe(&probe_rapl_perf);
	assert_string_equal(power.source, "rapl by perf, 2 packages, whole machine");
	power.probe->close(power.state);
	tree_write(&fixture->proc, "cpuinfo", "vendor_id\t: AuthenticAMD\n");
	power = open_probe(&probe_rapl_perf);
	assert_string_equal(power.source, "rapl by perf, 1 package, whole machine");
	power.probe->close(power.state);
}

static void perf_energy_serves_only_where_powercap_does_not(void **state)
{
	struct fixture *fixture = *state;
	if (!may_count_cpus())
		skip();
	make_power_pmu(fixture, "0\n", "event=0x00\n");
	struct probe_set *set = probe_set_open(false);
	assert_true(strstr(probe_set_source(set, CHANNEL_ENERGY_PACKAGE), "by perf") != NULL);
	probe_set_close(set);
	add_zone(fixture, "intel-rapl:0", "package-0\n", "1000000\n");
	set = probe_set_open(false);
	assert_string_equal(probe_set_source(set, CHANNEL_ENERGY_PACKAGE), "rapl package-0, whole machine");
	probe_set_close(set);
}

static void a_power_pmu_without_package_event_or_cpu_says_so(void **state)
{
	struct fixture *fixture = *state;
	struct err err = {0};
	void *power;
	char source[METRIC_SOURCE_SIZE];
	assert_int_equal(probe_rapl_perf.open(&power, source, &err), ERR_UNAVAILABLE);
	assert_string_equal(err.text, "no perf power PMU");
	tree_write(&fixture->sys, "bus/event_source/devices/power/type", "9\n");
	tree_write(&fixture->sys, "bus/event_source/devices/power/events/energy-psys", "event=0x05\n");
	assert_int_equal(probe_rapl_perf.open(&power, source, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "no energy-pkg event"));
	make_power_pmu(fixture, "\n", "event=0x00\n");
	assert_int_equal(probe_rapl_perf.open(&power, source, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "lists no CPU"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(wrap_around_continues_the_count),
	TEST(a_counter_set_back_adds_nothing_and_goes_on),
	TEST(without_a_known_range_a_step_back_is_not_guessed),
	TEST(power_is_integrated_by_trapezoids),
	TEST(nested_domains_and_psys_are_not_added),
	TEST(a_wrapped_package_goes_on),
	TEST(the_memory_mapped_mirror_of_a_package_is_counted_once),
	TEST(dies_that_mirror_each_other_are_counted_once),
	TEST(dies_that_only_start_alike_are_both_counted_from_the_start),
	TEST(a_failed_read_is_unknown_and_the_next_one_covers_the_gap),
	TEST(a_package_without_memory_domain_says_so),
	TEST(a_psys_alone_is_no_package),
	TEST(one_unreadable_package_makes_the_sum_unavailable_with_the_reason),
	TEST(perf_energy_grows_by_count_times_scale),
	TEST(perf_energy_counts_an_amd_package_once_whatever_the_mask_says),
	TEST(perf_energy_serves_only_where_powercap_does_not),
	TEST(a_power_pmu_without_package_event_or_cpu_says_so),
};

UNIT_MAIN(tests)
