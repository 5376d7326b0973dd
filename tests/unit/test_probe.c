/* test_probe.c - the probes of the whole machine, and the set that chooses between probes. */
#include "base/clock.h"
#include "probe/probe.h"
#include "probe/table.h"
#include "tree.h"

#include <math.h>

struct fixture {
	struct tree proc, sys;
};

static const char meminfo[] = "MemTotal:       16000000 kB\nMemFree:         100 kB\nMemAvailable:    8000000 kB\n"
			      "SwapTotal:       2000 kB\nSwapFree:         500 kB\n";

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	tree_init(&fixture->proc);
	tree_init(&fixture->sys);
	setenv("PITOT_PROCFS", fixture->proc.root, 1);
	setenv("PITOT_SYSFS", fixture->sys.root, 1);
	setenv("PITOT_NVML", "libpitot-no-such-library.so", 1);
	setenv("PATH", fixture->sys.root, 1);
	tree_write(&fixture->proc, "stat",
		   "cpu  1000 200 300 50000 7000 40 60 500 900 100\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
	tree_write(&fixture->proc, "loadavg", "1.50 0.70 0.30 2/345 6789\n");
	tree_write(&fixture->proc, "meminfo", meminfo);
	tree_write(&fixture->proc, "pressure/cpu",
		   "some avg10=1.00 avg60=0.00 avg300=0.00 total=1500000\n"
		   "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	tree_write(&fixture->proc, "pressure/io",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n"
		   "full avg10=0.00 avg60=0.00 avg300=0.00 total=1250000\n");
	tree_write(&fixture->proc, "pressure/memory",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\n"
		   "full avg10=0.00 avg60=0.00 avg300=0.00 total=30\n");
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

static void read_edge(struct probe_set *set, struct probe_frame *frame)
{
	probe_set_read(set, clock_mono_ns(), true, frame);
}

static void busy_time_leaves_out_idle_iowait_and_steal_and_counts_guests_once(void **state)
{
	(void)state;
	struct probe_frame frame;
	struct probe_set *set = probe_set_open(true);
	read_edge(set, &frame);
	double ticks = (double)sysconf(_SC_CLK_TCK);
	assert_true(frame.known[CHANNEL_SYSTEM_CPU]);
	assert_float_equal(frame.value[CHANNEL_SYSTEM_CPU], (1000 + 200 + 300 + 40 + 60) / ticks, 1e-9);
	assert_float_equal(frame.value[CHANNEL_SYSTEM_STEAL], 500 / ticks, 1e-9);
	probe_set_close(set);
}

static void busy_time_never_steps_back(void **state)
{
	struct fixture *fixture = *state;
	struct probe_frame before, after;
	struct probe_set *set = probe_set_open(true);
	read_edge(set, &before);
	tree_write(&fixture->proc, "stat", "cpu  900 200 300 50000 7000 40 60 400 900 100\n");
	read_edge(set, &after);
	assert_float_equal(after.value[CHANNEL_SYSTEM_CPU], before.value[CHANNEL_SYSTEM_CPU], 0);
	assert_float_equal(after.value[CHANNEL_SYSTEM_STEAL], before.value[CHANNEL_SYSTEM_STEAL], 0);
	probe_set_close(set);
}

static void memory_and_load_are_levels_in_bytes_and_runnable_tasks(void **state)
{
	(void)state;
	struct probe_frame frame;
	struct probe_set *set = probe_set_open(true);
	read_edge(set, &frame);
	assert_float_equal(frame.value[CHANNEL_SYSTEM_LOAD], 1.5, 1e-9);
	assert_float_equal(frame.value[CHANNEL_SYSTEM_AVAILABLE], 8000000.0 * 1024, 0);
	assert_float_equal(frame.value[CHANNEL_SYSTEM_SWAP], 1500.0 * 1024, 0);
	probe_set_close(set);
}

static void a_reading_that_fails_is_unknown_and_not_zero(void **state)
{
	struct fixture *fixture = *state;
	struct probe_frame frame;
	struct probe_set *set = probe_set_open(true);
	tree_write(&fixture->proc, "stat", "");
	tree_write(&fixture->proc, "loadavg", "garbage");
	tree_write(&fixture->proc, "meminfo", "MemTotal: 1 kB\nSwapTotal: 5 kB\n");
	tree_write(&fixture->proc, "pressure/io", "some avg10=0.00\nfull avg10=0.00 total=12\n");
	read_edge(set, &frame);
	assert_false(frame.known[CHANNEL_SYSTEM_CPU]);
	assert_false(frame.known[CHANNEL_SYSTEM_STEAL]);
	assert_false(frame.known[CHANNEL_SYSTEM_LOAD]);
	assert_false(frame.known[CHANNEL_SYSTEM_AVAILABLE]);
	assert_false(frame.known[CHANNEL_SYSTEM_SWAP]);
	assert_false(frame.known[CHANNEL_PSI_IO]);
	assert_true(frame.known[CHANNEL_PSI_IO_FULL]);
	probe_set_close(set);
}

static void pressure_totals_are_seconds(void **state)
{
	(void)state;
	struct probe_frame frame;
	struct probe_set *set = probe_set_open(true);
	read_edge(set, &frame);
	assert_float_equal(frame.value[CHANNEL_PSI_CPU], 1.5, 1e-12);
	assert_float_equal(frame.value[CHANNEL_PSI_IO], 2.5, 1e-12);
	assert_float_equal(frame.value[CHANNEL_PSI_IO_FULL], 1.25, 1e-12);
	assert_float_equal(frame.value[CHANNEL_PSI_MEMORY], 70e-6, 1e-12);
	assert_float_equal(frame.value[CHANNEL_PSI_MEMORY_FULL], 30e-6, 1e-12);
	probe_set_close(set);
}

static void missing_pressure_files_say_how_to_switch_them_on(void **state)
{
	struct fixture *fixture = *state;
	unlink(tree_path(&fixture->proc, "pressure/memory"));
	struct probe_set *set = probe_set_open(true);
	assert_null(probe_set_source(set, CHANNEL_PSI_CPU));
	assert_non_null(strstr(probe_set_reason(set, CHANNEL_PSI_CPU), "psi=1"));
	assert_non_null(strstr(probe_psi.fix, "psi=1"));
	probe_set_close(set);
}

static void a_pressure_file_that_opens_but_fails_to_read_is_refused(void **state)
{
	struct fixture *fixture = *state;
	unlink(tree_path(&fixture->proc, "pressure/cpu"));
	assert_int_equal(mkdir(tree_path(&fixture->proc, "pressure/cpu"), 0755), 0);
	struct probe_set *set = probe_set_open(true);
	assert_null(probe_set_source(set, CHANNEL_PSI_CPU));
	assert_non_null(strstr(probe_set_reason(set, CHANNEL_PSI_CPU), "pressure/cpu: Is a directory"));
	probe_set_close(set);
}

static void every_channel_has_a_source_or_a_reason(void **state)
{
	struct fixture *fixture = *state;
	unlink(tree_path(&fixture->proc, "stat"));
	struct probe_set *set = probe_set_open(true);
	for (int channel = 0; channel < CHANNEL_COUNT; channel++) {
		assert_true(probe_set_source(set, channel) || probe_set_reason(set, channel)[0]);
		assert_true(strlen(probe_set_reason(set, channel)) < METRIC_REASON_SIZE);
	}
	assert_non_null(strstr(probe_set_reason(set, CHANNEL_SYSTEM_LOAD), "/stat: No such file"));
	probe_set_close(set);
}

static void a_machine_without_gpu_names_every_candidate_once(void **state)
{
	struct fixture *fixture = *state;
	char want[256];
	snprintf(want, sizeof(want),
		 "no GPU: libpitot-no-such-library.so not found; nvidia-smi not on PATH; "
		 "no amdgpu device in %s/class/drm",
		 fixture->sys.root);
	struct probe_set *set = probe_set_open(true);
	assert_string_equal(probe_set_reason(set, CHANNEL_GPU_UTIL), want);
	assert_string_equal(probe_set_reason(set, CHANNEL_GPU_ENERGY), want);
	probe_set_close(set);
}

static void gpu_channels_say_that_sampling_is_switched_off(void **state)
{
	(void)state;
	struct probe_set *set = probe_set_open(false);
	assert_string_equal(probe_set_reason(set, CHANNEL_GPU_UTIL), "GPU sampling is switched off");
	assert_non_null(probe_set_source(set, CHANNEL_SYSTEM_CPU));
	probe_set_close(set);
}

static void a_probe_that_is_not_due_is_unknown_except_at_an_edge(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "class/powercap/intel-rapl:0/name", "package-0\n");
	tree_write(&fixture->sys, "class/powercap/intel-rapl:0/energy_uj", "1000000\n");
	struct probe_frame frame;
	struct probe_set *set = probe_set_open(false);
	uint64_t begin_ns = 50 * NS_PER_S;
	probe_set_read(set, begin_ns, false, &frame);
	assert_true(frame.known[CHANNEL_ENERGY_PACKAGE]);
	probe_set_read(set, begin_ns + NS_PER_S / 2, false, &frame);
	assert_false(frame.known[CHANNEL_ENERGY_PACKAGE]);
	assert_true(frame.known[CHANNEL_SYSTEM_CPU]);
	probe_set_read(set, begin_ns + NS_PER_S / 2 + 1, true, &frame);
	assert_true(frame.known[CHANNEL_ENERGY_PACKAGE]);
	probe_set_read(set, begin_ns + 2 * NS_PER_S, false, &frame);
	assert_true(frame.known[CHANNEL_ENERGY_PACKAGE]);
	probe_set_close(set);
}

static void the_real_machine_gives_growing_counters(void **state)
{
	(void)state;
	unsetenv("PITOT_PROCFS");
	unsetenv("PITOT_SYSFS");
	struct probe_frame before, after;
	struct probe_set *set = probe_set_open(false);
	read_edge(set, &before);
	assert_true(before.known[CHANNEL_SYSTEM_CPU] && before.value[CHANNEL_SYSTEM_CPU] > 0);
	assert_true(before.known[CHANNEL_SYSTEM_AVAILABLE] && before.value[CHANNEL_SYSTEM_AVAILABLE] > 1e6);
	/* A tenth of a second of work is ten of the kernel's ticks: the machine's busy time must have seen it. */
	for (uint64_t begin = clock_thread_cpu_ns(); clock_thread_cpu_ns() - begin < NS_PER_S / 10;)
		;
	read_edge(set, &after);
	assert_true(after.value[CHANNEL_SYSTEM_CPU] - before.value[CHANNEL_SYSTEM_CPU] > 0.05);
	probe_set_close(set);
}

static void closing_nothing_is_fine(void **state)
{
	(void)state;
	probe_set_close(NULL);
}

static void the_table_describes_every_channel(void **state)
{
	(void)state;
	for (int channel = 0; channel < CHANNEL_COUNT; channel++) {
		bool served = false;
		for (const struct probe *const *probe = probe_table; *probe; probe++)
			for (const int *own = (*probe)->channels; *own >= 0; own++)
				served = served || *own == channel;
		assert_true(served);
		assert_true(probe_channels[channel].metric < METRIC_COUNT ||
			    probe_channels[channel].extreme < METRIC_COUNT);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(busy_time_leaves_out_idle_iowait_and_steal_and_counts_guests_once),
	TEST(busy_time_never_steps_back),
	TEST(memory_and_load_are_levels_in_bytes_and_runnable_tasks),
	TEST(a_reading_that_fails_is_unknown_and_not_zero),
	TEST(pressure_totals_are_seconds),
	TEST(missing_pressure_files_say_how_to_switch_them_on),
	TEST(a_pressure_file_that_opens_but_fails_to_read_is_refused),
	TEST(every_channel_has_a_source_or_a_reason),
	TEST(a_machine_without_gpu_names_every_candidate_once),
	TEST(gpu_channels_say_that_sampling_is_switched_off),
	TEST(a_probe_that_is_not_due_is_unknown_except_at_an_edge),
	TEST(the_real_machine_gives_growing_counters),
	TEST(closing_nothing_is_fine),
	TEST(the_table_describes_every_channel),
};

UNIT_MAIN(tests)
