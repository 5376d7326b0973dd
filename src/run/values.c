/*
 * values.c - what was collected about a stage, as metric values with their provenance.
 *
 * The rule for each number: the kernel's own total or high-water mark where there is one (exact); else what the samples
 * saw (sampled, often a lower bound); else null with the reason. Two exact sources are compared, and a disagreement is
 * reported rather than hidden.
 */
#include "run/live.h"

#include <math.h>
#include <stdio.h>

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double wall_s(const struct live *live)
{
	return (double)(live->end_ns - live->start_ns) / 1e9;
}

static bool group_has_cpu(const struct live *live)
{
	return live->group_start.has_cpu && live->group_end.has_cpu;
}

static double group_cpu_s(const struct live *live)
{
	return live->group_end.cpu_s - live->group_start.cpu_s;
}

static double waited_cpu_s(const struct live *live)
{
	return seconds(&live->usage.ru_utime) + seconds(&live->usage.ru_stime);
}

/* Two sources of the same CPU time are further apart than their ticks explain. */
static bool far_apart(double a_s, double b_s)
{
	return fabs(a_s - b_s) >= 0.03 && fabs(a_s - b_s) >= 0.02 * fmax(a_s, b_s);
}

/* Processes whose parents ignore SIGCHLD vanish without a wait: what travels through waits is then not all. */
static bool some_not_waited_for(const struct live *live)
{
	/* Exit records may miss a tick of each process, never the other way round. */
	double all = group_has_cpu(live) ? group_cpu_s(live) : live->records_cpu_s;
	return live->survivors_left || (all > waited_cpu_s(live) && far_apart(all, waited_cpu_s(live)));
}

static void cpu_values(struct live *live, struct metric_value *values)
{
	double user = seconds(&live->usage.ru_utime), system = seconds(&live->usage.ru_stime), total = user + system;
	const char *source = "wait4 rusage";
	if (group_has_cpu(live)) {
		total = group_cpu_s(live);
		source = "cgroup cpu.stat";
		if (live->group_start.has_split && live->group_end.has_split) {
			user = live->group_end.cpu_user_s - live->group_start.cpu_user_s;
			system = live->group_end.cpu_system_s - live->group_start.cpu_system_s;
		}
	}
	metric_set(&values[METRIC_CPU_TIME], total, METHOD_EXACT, "%s", source);
	metric_set(&values[METRIC_CPU_USER], user, METHOD_EXACT, "%s", source);
	metric_set(&values[METRIC_CPU_SYSTEM], system, METHOD_EXACT, "%s", source);
	bool partial = some_not_waited_for(live) && !group_has_cpu(live);
	values[METRIC_CPU_TIME].lower_bound = values[METRIC_CPU_USER].lower_bound = partial;
	values[METRIC_CPU_SYSTEM].lower_bound = partial;
	double percent = wall_s(live) > 0 ? 100 * total / wall_s(live) : 0;
	metric_set(&values[METRIC_CPU_PERCENT_AVG], percent, METHOD_EXACT, "%s over wall time", source);
	metric_set(&values[METRIC_CPU_PERCENT_MAX], live->cpu_max > percent ? live->cpu_max : percent, METHOD_SAMPLED,
		   "%zu samples of %s", live->samples, group_has_cpu(live) ? "cgroup cpu.stat" : "/proc/PID/stat");
}

char *live_disagreement(const struct live *live)
{
	double group = group_cpu_s(live), waited = waited_cpu_s(live);
	bool differs = group_has_cpu(live) ? far_apart(group, waited) : some_not_waited_for(live);
	if (live->survivors_left || !differs)
		return NULL;
	return mem_printf(
		"CPU time: %s %.3f s, waited-for processes %.3f s; the difference is of processes "
		"that nobody waited for (parents that ignore SIGCHLD) or of work outside the stage's processes",
		group_has_cpu(live) ? "the cgroup counted" : "exit records add up to",
		group_has_cpu(live) ? group : live->records_cpu_s, waited);
}

static void memory_values(struct live *live, struct metric_value *values)
{
	struct metric_value *peak = &values[METRIC_MEMORY_PEAK];
	double largest = (double)live->usage.ru_maxrss * 1024;
	if (live->waited)
		metric_set(&values[METRIC_RSS_PROCESS_PEAK], largest, METHOD_EXACT, "wait4 ru_maxrss");
	else
		metric_set(&values[METRIC_RSS_PROCESS_PEAK], tree_rss_peak(live->tree), METHOD_SAMPLED,
			   "/proc/PID/status VmHWM");
	largest = fmax(values[METRIC_RSS_PROCESS_PEAK].value, tree_rss_peak(live->tree));
	if (live->group_end.has_peak) {
		metric_set(peak, live->group_end.peak_bytes, METHOD_EXACT, "cgroup %s, page cache included",
			   cgroup_peak_source(live->cgroup));
	} else if (live->group_end.has_memory) {
		metric_set(peak, fmax(live->memory_max, largest), METHOD_SAMPLED, "cgroup memory.current, %zu samples",
			   live->samples);
		peak->lower_bound = true;
	} else {
		bool from_samples = live->rss_sum_max > largest;
		metric_set(peak, fmax(live->rss_sum_max, largest), METHOD_SAMPLED, "%s",
			   from_samples ? "sum of RSS at a sample; shared pages count more than once"
					: "largest single process (wait4 ru_maxrss)");
		peak->lower_bound = !from_samples;
	}
	if (live->anon_max > 0 && live->samples > 0)
		metric_set(&values[METRIC_MEMORY_ANON_PEAK], live->anon_max, METHOD_SAMPLED,
			   "cgroup memory.stat anonymous + shared, %zu samples", live->samples);
	else
		metric_set_absent(&values[METRIC_MEMORY_ANON_PEAK], "%s",
				  !live->cgroup                ? live->shared->cgroup_reason
				  : live->group_end.has_memory ? "the stage ended before the first sample"
							       : "the control group has no memory controller");
	if (live->samples > 0)
		metric_set(&values[METRIC_RSS_SUM_PEAK], live->rss_sum_max, METHOD_SAMPLED,
			   "/proc/PID/stat, %zu samples", live->samples);
	else
		metric_set_absent(&values[METRIC_RSS_SUM_PEAK], "the stage ended before the first sample");
	if (live->pss_max > 0)
		metric_set(&values[METRIC_PSS_PEAK], live->pss_max, METHOD_SAMPLED,
			   "/proc/PID/smaps_rollup, every 10th sample");
	else
		metric_set_absent(&values[METRIC_PSS_PEAK], "not asked for (--pss), or the stage ended too soon");
}

static void process_values(struct live *live, struct metric_value *values)
{
	struct metric_value *count = &values[METRIC_PROCESSES];
	if (live->shared->exits) {
		bool lost = exits_losses(live->shared->exits) != live->losses_start;
		metric_set(count, (double)live->records, METHOD_EXACT, "exit records%s",
			   lost ? ", some lost by the kernel" : "");
		count->lower_bound = lost;
	} else {
		double seen = fmax((double)tree_count(live->tree), (double)live->waited);
		metric_set(count, seen, METHOD_SAMPLED, "wait4 and samples; shorter-lived children are not seen");
		count->lower_bound = true;
	}
	const struct {
		int metric, value;
	} peaks[] = {{METRIC_PROCESSES_PEAK, live->processes_max},
		     {METRIC_THREADS_PEAK, live->threads_max},
		     {METRIC_OPEN_FILES_PEAK, live->files_max}};
	for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
		if (peaks[i].value > 0)
			metric_set(&values[peaks[i].metric], peaks[i].value, METHOD_SAMPLED, "/proc, %zu samples",
				   live->samples);
		else
			metric_set_absent(&values[peaks[i].metric], "%s",
					  live->samples ? "the kernel does not say (descriptor counts need Linux 6.2)"
							: "the stage ended before the first sample");
	}
}

static void io_values(struct live *live, struct metric_value *values)
{
	const struct warden_io *io = &live->io;
	const struct {
		int metric;
		uint64_t value;
	} rows[] = {{METRIC_IO_READ, io->read_chars},        {METRIC_IO_WRITE, io->write_chars},
		    {METRIC_IO_READ_CALLS, io->read_calls},  {METRIC_IO_WRITE_CALLS, io->write_calls},
		    {METRIC_IO_DEVICE_READ, io->read_bytes}, {METRIC_IO_DEVICE_WRITE, io->write_bytes}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct metric_value *value = &values[rows[i].metric];
		if (io->known)
			metric_set(value, (double)rows[i].value, METHOD_EXACT,
				   "/proc/PID/io of all waited-for processes");
		else
			metric_set_absent(value, "/proc/self/io cannot be read (kernel without task I/O accounting)");
		value->lower_bound = some_not_waited_for(live);
	}
}

static void usage_values(struct live *live, struct metric_value *values)
{
	const struct rusage *usage = &live->usage;
	const struct {
		int metric;
		long value;
	} rows[] = {{METRIC_CONTEXT_SWITCHES, usage->ru_nvcsw + usage->ru_nivcsw},
		    {METRIC_CONTEXT_SWITCHES_VOLUNTARY, usage->ru_nvcsw},
		    {METRIC_CONTEXT_SWITCHES_FORCED, usage->ru_nivcsw},
		    {METRIC_PAGE_FAULTS_MINOR, usage->ru_minflt},
		    {METRIC_PAGE_FAULTS_MAJOR, usage->ru_majflt}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		metric_set(&values[rows[i].metric], (double)rows[i].value, METHOD_EXACT, "wait4 rusage");
		values[rows[i].metric].lower_bound = some_not_waited_for(live);
	}
	if (live->shared->exits) {
		metric_set(&values[METRIC_RUN_QUEUE_WAIT], live->records_run_wait_s, METHOD_EXACT,
			   "exit records, CPU delay");
		values[METRIC_RUN_QUEUE_WAIT].lower_bound = live->records_without_usage > 0;
	} else if (live->samples > 0) {
		metric_set(&values[METRIC_RUN_QUEUE_WAIT], live->sampled_run_wait_s, METHOD_SAMPLED,
			   "/proc/PID/schedstat of main threads");
		values[METRIC_RUN_QUEUE_WAIT].lower_bound = true;
	} else {
		metric_set_absent(&values[METRIC_RUN_QUEUE_WAIT], "the stage ended before the first sample");
	}
	if (live->throttled_known)
		metric_set(&values[METRIC_THROTTLED], live->throttled_end_s - live->throttled_start_s, METHOD_EXACT,
			   "cpu.stat of the group with the quota");
	else
		metric_set(&values[METRIC_THROTTLED], 0, METHOD_EXACT, "no CPU quota is set");
}

static void set_gauge(struct live *live, int channel, struct metric_value *values, const char *source)
{
	const struct probe_channel_info *about = &probe_channels[channel];
	const struct gauge *gauge = &live->gauges[channel];
	if (about->metric != METRIC_COUNT)
		metric_set(&values[about->metric], gauge->sum / (double)gauge->count, METHOD_SAMPLED, "%s", source);
	if (about->extreme != METRIC_COUNT)
		metric_set(&values[about->extreme],
			   metrics[about->extreme].total == TOTAL_MIN ? gauge->min : gauge->max, METHOD_SAMPLED, "%s",
			   source);
}

/* A stage may say that its GPU is of no interest. */
static void gpu_values(const struct live *live, struct metric_value *values)
{
	static const int gpu[] = {METRIC_GPU_UTIL_AVG, METRIC_GPU_UTIL_MAX, METRIC_GPU_MEMORY_PEAK,
				  METRIC_GPU_MEMORY_PERCENT_MAX, METRIC_GPU_ENERGY};
	if (live->spec->profile.gpu != 0)
		return;
	for (size_t i = 0; i < sizeof(gpu) / sizeof(gpu[0]); i++)
		metric_set_absent(&values[gpu[i]], "GPU sampling is switched off for this stage");
}

static void channel_values(struct live *live, struct metric_value *values)
{
	const struct probe_set *probes = live->shared->probes;
	for (int channel = 0; channel < CHANNEL_COUNT; channel++) {
		const struct probe_channel_info *about = &probe_channels[channel];
		const char *source = probe_set_source(probes, (enum probe_channel)channel);
		bool counter = about->kind == PROBE_COUNTER;
		if (source && counter && live->frame_start.known[channel] && live->frame_last.known[channel]) {
			double delta = live->frame_last.value[channel] - live->frame_start.value[channel];
			metric_set(&values[about->metric], delta, METHOD_EXACT, "%s", source);
		} else if (source && !counter && live->gauges[channel].count) {
			set_gauge(live, channel, values, source);
		} else {
			const char *reason = source ? "the stage ended before the first reading"
						    : probe_set_reason(probes, (enum probe_channel)channel);
			if (about->metric != METRIC_COUNT)
				metric_set_absent(&values[about->metric], "%s", reason);
			if (about->extreme != METRIC_COUNT)
				metric_set_absent(&values[about->extreme], "%s", reason);
		}
	}
	struct metric_value *busy = &values[METRIC_SYSTEM_CPU_PERCENT];
	if (busy->state == METRIC_KNOWN)
		busy->value = wall_s(live) > 0 ? 100 * busy->value / wall_s(live) : 0;
}

/* The stage's own stalls, where its cgroup tells them, instead of the whole machine's. */
static void pressure_values(struct live *live, struct metric_value *values)
{
	const struct cgroup_reading *start = &live->group_start, *end = &live->group_end;
	if (!start->has_pressure || !end->has_pressure)
		return;
	metric_set(&values[METRIC_PRESSURE_CPU], end->cpu_some_s - start->cpu_some_s, METHOD_EXACT,
		   "cgroup cpu.pressure");
	metric_set(&values[METRIC_PRESSURE_IO], end->io_some_s - start->io_some_s, METHOD_EXACT, "cgroup io.pressure");
	metric_set(&values[METRIC_PRESSURE_IO_FULL], end->io_full_s - start->io_full_s, METHOD_EXACT,
		   "cgroup io.pressure");
	metric_set(&values[METRIC_PRESSURE_MEMORY], end->memory_some_s - start->memory_some_s, METHOD_EXACT,
		   "cgroup memory.pressure");
	metric_set(&values[METRIC_PRESSURE_MEMORY_FULL], end->memory_full_s - start->memory_full_s, METHOD_EXACT,
		   "cgroup memory.pressure");
}

static void energy_values(struct live *live, struct metric_value *values)
{
	struct metric_value *energy = &values[METRIC_ENERGY];
	bool own = live->spec->profile.watts >= 0 && live->shared->options->watts < 0;
	double watts = own ? live->spec->profile.watts : live->shared->watts;
	if (energy->state == METRIC_KNOWN) {
		if (live->shared->overlapped) {
			energy->method = METHOD_ESTIMATED;
			snprintf(energy->source + 0, sizeof(energy->source),
				 "whole machine while the stage ran; stages overlap");
		}
	} else if (watts > 0) {
		metric_set(energy, watts * wall_s(live), METHOD_ESTIMATED, "%g W fallback", watts);
	}
}

static void pmu_values(struct live *live, struct metric_value *values)
{
	static const int counted[] = {METRIC_INSTRUCTIONS, METRIC_CYCLES, METRIC_CACHE_REFERENCES, METRIC_CACHE_MISSES,
				      METRIC_BRANCH_MISSES};
	if (live->pmu) {
		pmu_read(live->pmu, values);
		return;
	}
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		metric_set_absent(&values[counted[i]], "%s", live->shared->pmu_reason);
}

/* Known only after the last stage: collect.c sets them. */
static void profile_values(const struct live *live, struct metric_value *values)
{
	static const int of_code[] = {METRIC_PROFILE_SAMPLES, METRIC_PROFILE_COVERAGE, METRIC_PROFILE_UNCOVERED,
				      METRIC_PROFILE_OVERHEAD};
	static const int of_memory[] = {METRIC_HEAP_PEAK, METRIC_HEAP_ALLOCATED, METRIC_HEAP_CALLS};
	for (size_t i = 0; i < sizeof(of_code) / sizeof(of_code[0]) && !live->cpu_hz; i++)
		metric_set_absent(&values[of_code[i]], "not asked for (--cpu)");
	for (size_t i = 0; i < sizeof(of_memory) / sizeof(of_memory[0]); i++)
		metric_set_absent(&values[of_memory[i]], live->memory_period
								 ? "no process of the stage could have an agent"
								 : "not asked for (--memory)");
}

void live_values(struct live *live, struct metric_value *values)
{
	metric_set(&values[METRIC_WALL], wall_s(live), METHOD_EXACT, "monotonic clock, start to last exit");
	cpu_values(live, values);
	memory_values(live, values);
	process_values(live, values);
	io_values(live, values);
	usage_values(live, values);
	channel_values(live, values);
	gpu_values(live, values);
	pressure_values(live, values);
	energy_values(live, values);
	pmu_values(live, values);
	profile_values(live, values);
	if (live->shared->options->inherit)
		metric_set_absent(&values[METRIC_OUTPUT], "the output was not captured (--inherit)");
	else
		metric_set(&values[METRIC_OUTPUT], (double)live->log.bytes, METHOD_EXACT,
			   "bytes read from the stage's pipes");
	metric_set(&values[METRIC_SAMPLES], (double)live->samples, METHOD_EXACT, "pitot");
}
