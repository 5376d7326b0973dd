/* telemetry.c - see telemetry.h. */
#include "table/telemetry.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct telemetry {
	struct probe_set *probes;
	uint64_t start_ns;
	struct rusage usage;
	struct probe_frame frame;
	uint64_t read_bytes, write_bytes, device_read_bytes, device_write_bytes;
	bool has_io, peak_is_own;
};

/* A number after `key` in one of this process's small files; false where it is not there. */
static bool read_number(const char *file, const char *key, uint64_t *out)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/self/%s", file);
	if (file_read_small(path, text, sizeof(text)) < 0)
		return false;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)) == 0) {
			*out = strtoull(line + strlen(key), NULL, 10);
			return true;
		}
	}
	return false;
}

uint64_t telemetry_rss(void)
{
	uint64_t kib;
	return read_number("status", "VmRSS:", &kib) ? kib * 1024 : 0;
}

uint64_t telemetry_rss_peak(void)
{
	uint64_t kib;
	return read_number("status", "VmHWM:", &kib) ? kib * 1024 : 0;
}

static bool set_peak_back(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool done = write(fd, "5", 1) == 1;
	close(fd);
	return done;
}

static bool read_io(struct telemetry *telemetry)
{
	return read_number("io", "rchar:", &telemetry->read_bytes) &&
	       read_number("io", "wchar:", &telemetry->write_bytes) &&
	       read_number("io", "read_bytes:", &telemetry->device_read_bytes) &&
	       read_number("io", "write_bytes:", &telemetry->device_write_bytes);
}

struct telemetry *telemetry_start(struct probe_set *probes)
{
	struct telemetry *telemetry = mem_alloc(sizeof(*telemetry));
	telemetry->probes = probes;
	telemetry->peak_is_own = set_peak_back();
	telemetry->has_io = read_io(telemetry);
	getrusage(RUSAGE_SELF, &telemetry->usage);
	telemetry->start_ns = clock_mono_ns();
	probe_set_read(probes, telemetry->start_ns, true, &telemetry->frame);
	return telemetry;
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void set_usage(const struct telemetry *telemetry, double wall_s, struct metric_value *values)
{
	const struct rusage *old = &telemetry->usage;
	struct rusage now;
	getrusage(RUSAGE_SELF, &now);
	double user = seconds(&now.ru_utime) - seconds(&old->ru_utime);
	double system = seconds(&now.ru_stime) - seconds(&old->ru_stime);
	metric_set(&values[METRIC_WALL], wall_s, METHOD_EXACT, "monotonic clock");
	metric_set(&values[METRIC_CPU_USER], user, METHOD_EXACT, "getrusage; the split is by timer ticks");
	metric_set(&values[METRIC_CPU_SYSTEM], system, METHOD_EXACT, "getrusage; the split is by timer ticks");
	metric_set(&values[METRIC_CPU_TIME], user + system, METHOD_EXACT, "getrusage");
	if (wall_s > 0)
		metric_set(&values[METRIC_CPU_PERCENT_AVG], 100 * (user + system) / wall_s, METHOD_EXACT,
			   "CPU time over elapsed time");
	metric_set(&values[METRIC_PAGE_FAULTS_MINOR], (double)(now.ru_minflt - old->ru_minflt), METHOD_EXACT,
		   "getrusage");
	metric_set(&values[METRIC_PAGE_FAULTS_MAJOR], (double)(now.ru_majflt - old->ru_majflt), METHOD_EXACT,
		   "getrusage");
	double voluntary = (double)(now.ru_nvcsw - old->ru_nvcsw), forced = (double)(now.ru_nivcsw - old->ru_nivcsw);
	metric_set(&values[METRIC_CONTEXT_SWITCHES_VOLUNTARY], voluntary, METHOD_EXACT, "getrusage");
	metric_set(&values[METRIC_CONTEXT_SWITCHES_FORCED], forced, METHOD_EXACT, "getrusage");
	metric_set(&values[METRIC_CONTEXT_SWITCHES], voluntary + forced, METHOD_EXACT, "getrusage");
}

static void set_memory(const struct telemetry *telemetry, struct metric_value *values)
{
	uint64_t peak = telemetry_rss_peak();
	if (!peak)
		metric_set_absent(&values[METRIC_RSS_PROCESS_PEAK], "/proc/self/status is not readable");
	else
		metric_set(&values[METRIC_RSS_PROCESS_PEAK], (double)peak, METHOD_EXACT, "%s",
			   telemetry->peak_is_own ? "VmHWM, set back before"
						  : "VmHWM since the process began: the kernel does not set it back");
}

static void set_io(struct telemetry *telemetry, struct metric_value *values)
{
	struct telemetry now = {0};
	if (!telemetry->has_io || !read_io(&now))
		return;
	metric_set(&values[METRIC_IO_READ], (double)(now.read_bytes - telemetry->read_bytes), METHOD_EXACT,
		   "/proc/self/io");
	metric_set(&values[METRIC_IO_WRITE], (double)(now.write_bytes - telemetry->write_bytes), METHOD_EXACT,
		   "/proc/self/io");
	metric_set(&values[METRIC_IO_DEVICE_READ], (double)(now.device_read_bytes - telemetry->device_read_bytes),
		   METHOD_EXACT, "/proc/self/io");
	metric_set(&values[METRIC_IO_DEVICE_WRITE], (double)(now.device_write_bytes - telemetry->device_write_bytes),
		   METHOD_EXACT, "/proc/self/io");
}

static bool difference(const struct telemetry *telemetry, const struct probe_frame *now, enum probe_channel channel,
		       double *out)
{
	*out = now->value[channel] - telemetry->frame.value[channel];
	return now->known[channel] && telemetry->frame.known[channel];
}

static void set_machine(const struct telemetry *telemetry, uint64_t now_ns, double wall_s, double watts,
			struct metric_value *values)
{
	struct probe_frame now = {0};
	double grown;
	probe_set_read(telemetry->probes, now_ns, true, &now);
	if (difference(telemetry, &now, CHANNEL_ENERGY_PACKAGE, &grown))
		metric_set(&values[METRIC_ENERGY], grown, METHOD_EXACT, "%s",
			   probe_set_source(telemetry->probes, CHANNEL_ENERGY_PACKAGE));
	else
		metric_set(&values[METRIC_ENERGY], watts * wall_s, METHOD_ESTIMATED, "%.0f W fallback", watts);
	if (difference(telemetry, &now, CHANNEL_ENERGY_DRAM, &grown))
		metric_set(&values[METRIC_ENERGY_DRAM], grown, METHOD_EXACT, "%s",
			   probe_set_source(telemetry->probes, CHANNEL_ENERGY_DRAM));
	if (wall_s > 0 && difference(telemetry, &now, CHANNEL_SYSTEM_CPU, &grown))
		metric_set(&values[METRIC_SYSTEM_CPU_PERCENT], 100 * grown / wall_s, METHOD_EXACT, "%s",
			   probe_set_source(telemetry->probes, CHANNEL_SYSTEM_CPU));
	double before = telemetry->frame.value[CHANNEL_SYSTEM_AVAILABLE], after = now.value[CHANNEL_SYSTEM_AVAILABLE];
	if (now.known[CHANNEL_SYSTEM_AVAILABLE] && telemetry->frame.known[CHANNEL_SYSTEM_AVAILABLE])
		metric_set(&values[METRIC_SYSTEM_AVAILABLE_MIN], before < after ? before : after, METHOD_SAMPLED,
			   "MemAvailable at the beginning and at the end");
}

void telemetry_stop(struct telemetry *telemetry, double watts, struct metric_value values[METRIC_COUNT])
{
	uint64_t now_ns = clock_mono_ns();
	double wall_s = (double)(now_ns - telemetry->start_ns) / 1e9;
	set_usage(telemetry, wall_s, values);
	set_memory(telemetry, values);
	set_io(telemetry, values);
	set_machine(telemetry, now_ns, wall_s, watts, values);
	free(telemetry);
}
