/*
 * test_probe_gpu.c - GPUs: NVIDIA by a stub of its library and by a script in place of its program, AMD by a tree.
 */
#include "base/clock.h"
#include "probe/gpu.h"
#include "probe/table.h"
#include "tree.h"

#include <libgen.h>
#include <math.h>
#include <signal.h>

struct fixture {
	struct tree sys;
	char path[4096]; /* PATH before the test */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char self[PATH_MAX] = "", stub[PATH_MAX + 32];
	tree_init(&fixture->sys);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(stub, sizeof(stub), "%s/libnvml-stub.so", dirname(self));
	setenv("PITOT_NVML", stub, 1);
	setenv("PITOT_SYSFS", fixture->sys.root, 1);
	setenv("NVML_STUB", tree_path(&fixture->sys, "nvml"), 1);
	snprintf(fixture->path, sizeof(fixture->path), "%s", getenv("PATH"));
	setenv("PATH", fixture->sys.root, 1);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	setenv("PATH", fixture->path, 1);
	tree_fini(&fixture->sys);
	free(fixture);
	return 0;
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

static struct probe_frame read_probe(const struct opened *opened)
{
	struct probe_frame frame = {0};
	opened->probe->read(opened->state, &frame);
	return frame;
}

static int open_error(const struct probe *probe, struct err *err)
{
	void *state;
	char source[METRIC_SOURCE_SIZE];
	*err = (struct err){0};
	return probe->open(&state, source, err);
}

static void nvml_averages_use_and_sums_memory_and_energy(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "nvml",
		   "count=2\nname.0=NVIDIA A100\nname.1=NVIDIA A100\nutil.0=40\nutil.1=100\n"
		   "memory.0=1000\nmemory.1=500\nenergy.0=7000\nenergy.1=100\n");
	struct opened nvml = open_probe(&probe_nvml);
	assert_string_equal(nvml.source, "nvml, 2 × NVIDIA A100, whole device");
	tree_write(&fixture->sys, "nvml",
		   "count=2\nutil.0=20\nutil.1=90\nmemory.0=3000\nmemory.1=500\n"
		   "energy.0=9500\nenergy.1=1100\n");
	struct probe_frame frame = read_probe(&nvml);
	assert_true(frame.known[CHANNEL_GPU_UTIL] && frame.known[CHANNEL_GPU_MEMORY] &&
		    frame.known[CHANNEL_GPU_ENERGY]);
	assert_float_equal(frame.value[CHANNEL_GPU_UTIL], 55, 1e-9);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY], 3500, 0);
	assert_float_equal(frame.value[CHANNEL_GPU_ENERGY], 2.5 + 1, 1e-9);
	nvml.probe->close(nvml.state);
}

static void memory_is_as_full_as_on_the_fullest_device(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "nvml",
		   "count=3\nmemory.0=100\ntotal.0=1000\nmemory.1=970\ntotal.1=1000\nmemory.2=2000\ntotal.2=8000\n");
	struct opened nvml = open_probe(&probe_nvml);
	struct probe_frame frame = read_probe(&nvml);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY], 3070, 0);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY_FULL], 97, 1e-9);
	/* One that cannot be read might be the fullest. */
	tree_write(&fixture->sys, "nvml", "count=3\nmemory.0=100\ntotal.0=1000\nmemory.1=970\ntotal.1=1000\n");
	assert_false(read_probe(&nvml).known[CHANNEL_GPU_MEMORY_FULL]);
	nvml.probe->close(nvml.state);
	tree_write(&fixture->sys, "nvml", "count=2\nmemory.0=1\nmemory.1=1\ntotal.1=0\n");
	nvml = open_probe(&probe_nvml);
	assert_false(read_probe(&nvml).known[CHANNEL_GPU_MEMORY_FULL]);
	assert_string_equal(nvml.probe->lacks(nvml.state, CHANNEL_GPU_MEMORY_FULL),
			    "not every GPU tells how much memory it has");
	nvml.probe->close(nvml.state);
}

static void nvml_falls_back_to_power_and_says_so(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "nvml", "count=1\nname.0=Tesla K80\nutil.0=1\nmemory.0=1\npower.0=150000\n");
	struct opened nvml = open_probe(&probe_nvml);
	assert_string_equal(nvml.source, "nvml, Tesla K80, whole device; energy = power × time");
	struct probe_frame before = read_probe(&nvml);
	uint64_t begin_ns = clock_mono_ns();
	while (clock_mono_ns() - begin_ns < NS_PER_S / 50)
		;
	struct probe_frame after = read_probe(&nvml);
	double joules = after.value[CHANNEL_GPU_ENERGY] - before.value[CHANNEL_GPU_ENERGY];
	double seconds = (double)(clock_mono_ns() - begin_ns) / 1e9;
	assert_true(joules >= 150 * 0.02 && joules <= 150 * (seconds + 0.05));
	nvml.probe->close(nvml.state);
}

static void nvml_reading_that_fails_on_one_device_is_unknown(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "nvml", "count=2\nutil.0=1\nutil.1=1\nmemory.0=5\nmemory.1=5\n");
	struct opened nvml = open_probe(&probe_nvml);
	tree_write(&fixture->sys, "nvml", "count=2\nutil.0=1\nmemory.0=5\nmemory.1=6\n");
	struct probe_frame frame = read_probe(&nvml);
	assert_false(frame.known[CHANNEL_GPU_UTIL]);
	assert_true(frame.known[CHANNEL_GPU_MEMORY]);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY], 11, 0);
	nvml.probe->close(nvml.state);
}

static void nvml_names_what_the_devices_do_not_tell(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "nvml", "count=2\nutil.0=1\nmemory.0=5\nmemory.1=5\nenergy.0=4\n");
	struct probe_set *set = probe_set_open(true);
	assert_string_equal(probe_set_source(set, CHANNEL_GPU_MEMORY), "nvml, 2 × NVIDIA GPU, whole device");
	assert_string_equal(probe_set_reason(set, CHANNEL_GPU_UTIL), "not every GPU tells its utilisation");
	assert_string_equal(probe_set_reason(set, CHANNEL_GPU_ENERGY), "not every GPU tells its energy or power");
	probe_set_close(set);
}

static void nvml_that_cannot_start_gives_the_librarys_words(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	tree_write(&fixture->sys, "nvml", "init=9\n");
	assert_int_equal(open_error(&probe_nvml, &err), ERR_IO);
	assert_non_null(strstr(err.text, "Driver Not Loaded"));
	tree_write(&fixture->sys, "nvml", "count=0\n");
	assert_int_equal(open_error(&probe_nvml, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "no NVIDIA device"));
}

static void nvml_is_shut_down_at_close(void **state)
{
	struct fixture *fixture = *state;
	char text[256], mark[128];
	snprintf(mark, sizeof(mark), "%s/shut", fixture->sys.root);
	snprintf(text, sizeof(text), "count=1\nutil.0=1\nshutdown=%s\n", mark);
	tree_write(&fixture->sys, "nvml", text);
	struct opened nvml = open_probe(&probe_nvml);
	assert_int_not_equal(access(mark, F_OK), 0);
	nvml.probe->close(nvml.state);
	assert_int_equal(access(mark, F_OK), 0);
}

static void a_missing_library_is_a_missing_driver_only_where_a_device_is(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	setenv("PITOT_NVML", "libpitot-no-such-library.so", 1);
	assert_int_equal(open_error(&probe_nvml, &err), ERR_UNAVAILABLE);
	assert_string_equal(err.text, "libpitot-no-such-library.so not found");
	/* The sound part of the card is of the same vendor and is not a GPU. */
	tree_write(&fixture->sys, "bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
	tree_write(&fixture->sys, "bus/pci/devices/0000:01:00.1/class", "0x040300\n");
	assert_int_equal(open_error(&probe_nvml, &err), ERR_UNAVAILABLE);
	tree_write(&fixture->sys, "bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
	tree_write(&fixture->sys, "bus/pci/devices/0000:01:00.0/class", "0x030200\n");
	assert_int_equal(open_error(&probe_nvml, &err), ERR_IO);
	assert_non_null(strstr(err.text, "install its driver"));
}

static void a_library_that_is_not_nvml_is_refused_by_name(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	tree_write(&fixture->sys, "libbad.so", "not a library");
	setenv("PITOT_NVML", tree_path(&fixture->sys, "libbad.so"), 1);
	assert_int_equal(open_error(&probe_nvml, &err), ERR_IO);
	assert_non_null(strstr(err.text, "cannot load"));
	setenv("PITOT_NVML", "libm.so.6", 1);
	assert_int_equal(open_error(&probe_nvml, &err), ERR_IO);
	assert_non_null(strstr(err.text, "has no nvml"));
}

/* A program that prints the lines, notes its arguments and process id, and then passes on what a FIFO gives it. */
static void make_program(const struct fixture *fixture, const char *lines)
{
	char text[1024];
	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho \"$*\" > '%s/arguments'\necho $$ > '%s/pid'\nprintf '%s'\nexec /bin/cat '%s/fifo'\n",
		 fixture->sys.root, fixture->sys.root, lines, fixture->sys.root);
	tree_write(&fixture->sys, "nvidia-smi", text);
	chmod(tree_path(&fixture->sys, "nvidia-smi"), 0755);
	mkfifo(tree_path(&fixture->sys, "fifo"), 0600);
}

static bool await(const struct opened *opened, bool (*reached)(const struct probe_frame *))
{
	for (uint64_t begin_ns = clock_mono_ns(); clock_mono_ns() - begin_ns < 10 * NS_PER_S;) {
		struct probe_frame frame = read_probe(opened);
		if (reached(&frame))
			return true;
		usleep(1000);
	}
	return false;
}

static bool is_eighty_percent(const struct probe_frame *frame)
{
	return frame->known[CHANNEL_GPU_UTIL] && frame->value[CHANNEL_GPU_UTIL] == 80;
}

static bool is_unknown(const struct probe_frame *frame)
{
	for (const int *channel = gpu_channels; *channel >= 0; channel++)
		if (frame->known[*channel])
			return false;
	return true;
}

static pid_t program_pid(const struct fixture *fixture)
{
	FILE *file = fopen(tree_path(&fixture->sys, "pid"), "re");
	int pid = 0;
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
}

static void nvidia_smi_is_one_child_whose_lines_are_followed_and_which_ends_at_close(void **state)
{
	struct fixture *fixture = *state;
	make_program(fixture, "0, 2, 35, 1024, 4096, 80.50\\n1, 2, 45, 1, 4, 19.50\\n");
	struct opened smi = open_probe(&probe_nvidia_smi);
	assert_string_equal(smi.source, "nvidia-smi, 2 × NVIDIA GPU, whole device; energy = power × time");
	struct probe_frame frame = read_probe(&smi);
	assert_float_equal(frame.value[CHANNEL_GPU_UTIL], 40, 1e-9);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY], 1025.0 * 1024 * 1024, 0);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY_FULL], 25, 1e-9);
	assert_true(frame.known[CHANNEL_GPU_ENERGY]);
	int fifo = open(tree_path(&fixture->sys, "fifo"), O_RDWR | O_CLOEXEC);
	pid_t pid = program_pid(fixture);
	/* In pieces that do not end where lines end. */
	assert_int_equal(write(fifo, "0, 2, 70, 10", 12), 12);
	assert_int_equal(write(fifo, "24, 4096, 80.50\n1, 2, 90, 1, 4, 19.50\n", 38), 38);
	assert_true(await(&smi, is_eighty_percent));
	assert_int_equal(program_pid(fixture), pid);
	smi.probe->close(smi.state);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	close(fifo);
}

static void nvidia_smi_energy_is_power_times_time_up_to_the_reading(void **state)
{
	struct fixture *fixture = *state;
	make_program(fixture, "0, 1, 35, 1024, 2048, 100\\n");
	struct opened smi = open_probe(&probe_nvidia_smi);
	struct probe_frame before = read_probe(&smi);
	uint64_t begin_ns = clock_mono_ns();
	while (clock_mono_ns() - begin_ns < NS_PER_S / 50)
		;
	struct probe_frame after = read_probe(&smi);
	double seconds = (double)(clock_mono_ns() - begin_ns) / 1e9;
	double joules = after.value[CHANNEL_GPU_ENERGY] - before.value[CHANNEL_GPU_ENERGY];
	assert_true(joules >= 100 * 0.02 && joules <= 100 * (seconds + 0.05));
	smi.probe->close(smi.state);
}

static void nvidia_smi_that_falls_silent_or_ends_is_unknown(void **state)
{
	struct fixture *fixture = *state;
	make_program(fixture, "0, 1, 80, 1024, 2048, 100\\n");
	struct opened silent = open_probe(&probe_nvidia_smi);
	assert_true(await(&silent, is_eighty_percent));
	assert_true(await(&silent, is_unknown));
	silent.probe->close(silent.state);
	struct opened ending = open_probe(&probe_nvidia_smi);
	uint64_t begin_ns = clock_mono_ns();
	kill(program_pid(fixture), SIGKILL);
	assert_true(await(&ending, is_unknown));
	assert_true(clock_mono_ns() - begin_ns < NS_PER_S);
	ending.probe->close(ending.state);
}

static void nvidia_smi_leaves_out_what_the_device_does_not_tell(void **state)
{
	struct fixture *fixture = *state;
	make_program(fixture, "0, 1, [N/A], 1024, [N/A], [Not Supported]\\n");
	struct opened smi = open_probe(&probe_nvidia_smi);
	assert_non_null(smi.probe->lacks(smi.state, CHANNEL_GPU_UTIL));
	assert_non_null(smi.probe->lacks(smi.state, CHANNEL_GPU_ENERGY));
	assert_non_null(smi.probe->lacks(smi.state, CHANNEL_GPU_MEMORY_FULL));
	assert_null(smi.probe->lacks(smi.state, CHANNEL_GPU_MEMORY));
	smi.probe->close(smi.state);
}

static void nvidia_smi_without_driver_gives_the_programs_own_words(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	tree_write(&fixture->sys, "nvidia-smi", "#!/bin/sh\necho 'no driver, no figures' >&2\nexit 9\n");
	assert_int_equal(open_error(&probe_nvidia_smi, &err), ERR_UNAVAILABLE); /* not executable: not there */
	chmod(tree_path(&fixture->sys, "nvidia-smi"), 0755);
	assert_int_equal(open_error(&probe_nvidia_smi, &err), ERR_IO);
	assert_string_equal(err.text, "nvidia-smi gives no figures: no driver, no figures");
}

static void nvidia_smi_is_not_started_where_the_library_serves(void **state)
{
	struct fixture *fixture = *state;
	make_program(fixture, "0, 1, 35, 1024, 2048, 100\\n");
	tree_write(&fixture->sys, "nvml",
		   "count=1\nutil.0=1\nmemory.0=5\n"); /* and no energy, which does not change that */
	struct probe_set *set = probe_set_open(true);
	assert_non_null(strstr(probe_set_source(set, CHANNEL_GPU_UTIL), "nvml"));
	probe_set_close(set);
	assert_int_not_equal(access(tree_path(&fixture->sys, "arguments"), F_OK), 0);
	setenv("PITOT_NVML", "libpitot-no-such-library.so", 1);
	set = probe_set_open(true);
	assert_non_null(strstr(probe_set_source(set, CHANNEL_GPU_UTIL), "nvidia-smi"));
	probe_set_close(set);
	assert_int_equal(access(tree_path(&fixture->sys, "arguments"), F_OK), 0);
}

static void amdgpu_reads_cards_of_its_vendor_only(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	tree_write(&fixture->sys, "class/drm/card0/device/vendor", "0x8086\n");
	tree_write(&fixture->sys, "class/drm/card0/device/gpu_busy_percent", "99\n");
	tree_write(&fixture->sys, "class/drm/card1-DP-1/device/vendor", "0x1002\n");
	assert_int_equal(open_error(&probe_amdgpu, &err), ERR_UNAVAILABLE);
	tree_write(&fixture->sys, "class/drm/card1/device/vendor", "0x1002\n");
	assert_int_equal(open_error(&probe_amdgpu, &err), ERR_IO);
	tree_write(&fixture->sys, "class/drm/card1/device/gpu_busy_percent", "30\n");
	tree_write(&fixture->sys, "class/drm/card1/device/mem_info_vram_used", "4096\n");
	tree_write(&fixture->sys, "class/drm/card1/device/hwmon/hwmon3/energy1_input", "1000000\n");
	tree_write(&fixture->sys, "class/drm/card1/device/hwmon/hwmon3/power1_average", "5000000\n");
	struct opened amdgpu = open_probe(&probe_amdgpu);
	assert_string_equal(amdgpu.source, "amdgpu, AMD GPU, whole device");
	assert_non_null(amdgpu.probe->lacks(amdgpu.state, CHANNEL_GPU_MEMORY_FULL));
	amdgpu.probe->close(amdgpu.state);
	tree_write(&fixture->sys, "class/drm/card1/device/mem_info_vram_total", "16384\n");
	amdgpu = open_probe(&probe_amdgpu);
	tree_write(&fixture->sys, "class/drm/card1/device/hwmon/hwmon3/energy1_input", "3500000\n");
	struct probe_frame frame = read_probe(&amdgpu);
	assert_float_equal(frame.value[CHANNEL_GPU_UTIL], 30, 0);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY], 4096, 0);
	assert_float_equal(frame.value[CHANNEL_GPU_MEMORY_FULL], 25, 1e-9);
	assert_float_equal(frame.value[CHANNEL_GPU_ENERGY], 2.5, 1e-9);
	amdgpu.probe->close(amdgpu.state);
}

static void amdgpu_without_energy_counter_uses_power_and_says_so(void **state)
{
	struct fixture *fixture = *state;
	tree_write(&fixture->sys, "class/drm/card0/device/vendor", "0x1002\n");
	tree_write(&fixture->sys, "class/drm/card0/device/product_name", "Instinct MI100\n");
	tree_write(&fixture->sys, "class/drm/card0/device/hwmon/hwmon0/power1_average", "90000000\n");
	struct opened amdgpu = open_probe(&probe_amdgpu);
	assert_string_equal(amdgpu.source, "amdgpu, Instinct MI100, whole device; energy = power × time");
	assert_non_null(amdgpu.probe->lacks(amdgpu.state, CHANNEL_GPU_UTIL));
	assert_true(read_probe(&amdgpu).known[CHANNEL_GPU_ENERGY]);
	tree_write(&fixture->sys, "class/drm/card0/device/hwmon/hwmon0/power1_average", "");
	assert_false(read_probe(&amdgpu).known[CHANNEL_GPU_ENERGY]);
	amdgpu.probe->close(amdgpu.state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(nvml_averages_use_and_sums_memory_and_energy),
	TEST(memory_is_as_full_as_on_the_fullest_device),
	TEST(nvml_falls_back_to_power_and_says_so),
	TEST(nvml_reading_that_fails_on_one_device_is_unknown),
	TEST(nvml_names_what_the_devices_do_not_tell),
	TEST(nvml_that_cannot_start_gives_the_librarys_words),
	TEST(nvml_is_shut_down_at_close),
	TEST(a_missing_library_is_a_missing_driver_only_where_a_device_is),
	TEST(a_library_that_is_not_nvml_is_refused_by_name),
	TEST(nvidia_smi_is_one_child_whose_lines_are_followed_and_which_ends_at_close),
	TEST(nvidia_smi_energy_is_power_times_time_up_to_the_reading),
	TEST(nvidia_smi_that_falls_silent_or_ends_is_unknown),
	TEST(nvidia_smi_leaves_out_what_the_device_does_not_tell),
	TEST(nvidia_smi_without_driver_gives_the_programs_own_words),
	TEST(nvidia_smi_is_not_started_where_the_library_serves),
	TEST(amdgpu_reads_cards_of_its_vendor_only),
	TEST(amdgpu_without_energy_counter_uses_power_and_says_so),
};

UNIT_MAIN(tests)
