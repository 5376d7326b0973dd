/*
 * metric.h - the registry: every number that pitot knows, in one table.
 *
 * Reports, CSV columns, charts, comparisons and gates are driven by this table, so a new metric is a new row and
 * nothing else. A value says where it comes from: method, source and coverage; what could not be measured is a value
 * with `state` METRIC_ABSENT and a reason, never 0.
 */
#ifndef PITOT_BASE_METRIC_H
#define PITOT_BASE_METRIC_H

#include <stdbool.h>

enum metric_unit { UNIT_SECONDS, UNIT_BYTES, UNIT_COUNT, UNIT_PERCENT, UNIT_JOULES, UNIT_WATTS, UNIT_RATIO };

/* Which way is good. */
enum metric_direction { LOWER_IS_BETTER, HIGHER_IS_BETTER, NEITHER_IS_BETTER };

/* How the number behaves when the same program runs again: decides which test compares two runs. */
enum metric_noise {
	NOISE_TIME,  /* varies with the machine's mood; needs repetitions */
	NOISE_LEVEL, /* varies a little: memory, threads */
	NOISE_COUNT, /* does not vary: any difference is real */
};

/* How the stages' values make the run's value. */
enum metric_total { TOTAL_SUM, TOTAL_MAX, TOTAL_MIN, TOTAL_TIME_MEAN, TOTAL_OWN /* measured for the run itself */ };

#define METRIC_LIST(X)                                                                                                 \
	X(WALL, "wall_s", SECONDS, LOWER, TIME, OWN, "elapsed time")                                                   \
	X(CPU_USER, "cpu_user_s", SECONDS, LOWER, TIME, SUM, "CPU time in user mode, whole process tree")              \
	X(CPU_SYSTEM, "cpu_system_s", SECONDS, LOWER, TIME, SUM, "CPU time in the kernel, whole process tree")         \
	X(CPU_TIME, "cpu_time_s", SECONDS, LOWER, TIME, SUM, "CPU time, user and kernel, whole process tree")          \
	X(CPU_PERCENT_AVG, "cpu_percent_avg", PERCENT, NEITHER, TIME, TIME_MEAN,                                       \
	  "CPU time over elapsed time; 100 is one core")                                                               \
	X(CPU_PERCENT_MAX, "cpu_percent_max", PERCENT, NEITHER, TIME, MAX,                                             \
	  "largest CPU use between two samples; 100 is one core")                                                      \
	X(RUN_QUEUE_WAIT, "run_queue_wait_s", SECONDS, LOWER, TIME, SUM,                                               \
	  "time that threads were ready to run but had no core")                                                       \
	X(THROTTLED, "throttled_s", SECONDS, LOWER, TIME, SUM, "time stopped by a CPU quota")                          \
	X(PROCESSES, "processes", COUNT, LOWER, COUNT, SUM, "processes that ran")                                      \
	X(PROCESSES_PEAK, "processes_peak", COUNT, LOWER, LEVEL, MAX, "most processes alive at a sample")              \
	X(THREADS_PEAK, "threads_peak", COUNT, LOWER, LEVEL, MAX, "most threads alive at a sample")                    \
	X(OPEN_FILES_PEAK, "open_files_peak", COUNT, LOWER, LEVEL, MAX, "most open descriptors at a sample")           \
	X(MEMORY_PEAK, "memory_peak_bytes", BYTES, LOWER, LEVEL, MAX,                                                  \
	  "peak memory of the whole process tree, page cache included where it comes from a cgroup")                   \
	X(MEMORY_ANON_PEAK, "memory_anon_peak_bytes", BYTES, LOWER, LEVEL, MAX,                                        \
	  "peak of anonymous and shared memory of the whole process tree, page cache left out")                        \
	X(RSS_PROCESS_PEAK, "rss_process_peak_bytes", BYTES, LOWER, LEVEL, MAX,                                        \
	  "largest resident set that any single process reached")                                                      \
	X(RSS_SUM_PEAK, "rss_sum_peak_bytes", BYTES, LOWER, LEVEL, MAX,                                                \
	  "largest sum of resident sets; pages shared by processes count once for each")                               \
	X(PSS_PEAK, "pss_peak_bytes", BYTES, LOWER, LEVEL, MAX,                                                        \
	  "largest sum of proportional set sizes; shared pages count once in all")                                     \
	X(IO_READ, "io_read_bytes", BYTES, LOWER, COUNT, SUM, "bytes asked for by read calls, cache hits included")    \
	X(IO_WRITE, "io_write_bytes", BYTES, LOWER, COUNT, SUM, "bytes handed over by write calls")                    \
	X(IO_READ_CALLS, "io_read_calls", COUNT, LOWER, LEVEL, SUM, "read system calls")                               \
	X(IO_WRITE_CALLS, "io_write_calls", COUNT, LOWER, LEVEL, SUM, "write system calls")                            \
	X(IO_DEVICE_READ, "io_device_read_bytes", BYTES, LOWER, LEVEL, SUM, "bytes fetched from storage devices")      \
	X(IO_DEVICE_WRITE, "io_device_write_bytes", BYTES, LOWER, LEVEL, SUM, "bytes sent towards storage devices")    \
	X(CONTEXT_SWITCHES, "context_switches", COUNT, LOWER, LEVEL, SUM, "context switches of both kinds")            \
	X(CONTEXT_SWITCHES_VOLUNTARY, "context_switches_voluntary", COUNT, LOWER, LEVEL, SUM,                          \
	  "times that a thread gave up its core to wait")                                                              \
	X(CONTEXT_SWITCHES_FORCED, "context_switches_forced", COUNT, LOWER, LEVEL, SUM,                                \
	  "times that a thread was taken off its core")                                                                \
	X(PAGE_FAULTS_MINOR, "page_faults_minor", COUNT, LOWER, LEVEL, SUM, "page faults served from memory")          \
	X(PAGE_FAULTS_MAJOR, "page_faults_major", COUNT, LOWER, LEVEL, SUM, "page faults that waited for storage")     \
	X(PRESSURE_CPU, "pressure_cpu_some_s", SECONDS, LOWER, TIME, SUM, "time in which something waited for a core") \
	X(PRESSURE_IO, "pressure_io_some_s", SECONDS, LOWER, TIME, SUM, "time in which something waited for storage")  \
	X(PRESSURE_IO_FULL, "pressure_io_full_s", SECONDS, LOWER, TIME, SUM,                                           \
	  "time in which everything waited for storage")                                                               \
	X(PRESSURE_MEMORY, "pressure_memory_some_s", SECONDS, LOWER, TIME, SUM,                                        \
	  "time in which something waited for memory")                                                                 \
	X(PRESSURE_MEMORY_FULL, "pressure_memory_full_s", SECONDS, LOWER, TIME, SUM,                                   \
	  "time in which everything waited for memory")                                                                \
	X(INSTRUCTIONS, "instructions", COUNT, LOWER, COUNT, SUM, "instructions retired")                              \
	X(CYCLES, "cycles", COUNT, LOWER, TIME, SUM, "core cycles")                                                    \
	X(CACHE_REFERENCES, "cache_references", COUNT, LOWER, LEVEL, SUM, "last-level cache accesses")                 \
	X(CACHE_MISSES, "cache_misses", COUNT, LOWER, LEVEL, SUM, "last-level cache misses")                           \
	X(BRANCH_MISSES, "branch_misses", COUNT, LOWER, LEVEL, SUM, "mispredicted branches")                           \
	X(ENERGY, "energy_j", JOULES, LOWER, TIME, SUM, "energy of the CPU packages while it ran, whole machine")      \
	X(ENERGY_DRAM, "energy_dram_j", JOULES, LOWER, TIME, SUM, "energy of the memory while it ran, whole machine")  \
	X(GPU_UTIL_AVG, "gpu_util_percent_avg", PERCENT, HIGHER, TIME, TIME_MEAN, "mean GPU utilisation")              \
	X(GPU_UTIL_MAX, "gpu_util_percent_max", PERCENT, HIGHER, TIME, MAX, "largest GPU utilisation")                 \
	X(GPU_MEMORY_PEAK, "gpu_memory_peak_bytes", BYTES, LOWER, LEVEL, MAX, "most GPU memory in use")                \
	X(GPU_MEMORY_PERCENT_MAX, "gpu_memory_percent_max", PERCENT, LOWER, LEVEL, MAX,                                \
	  "memory in use of the fullest GPU, as a part of what it has")                                                \
	X(GPU_ENERGY, "gpu_energy_j", JOULES, LOWER, TIME, SUM, "energy of the GPUs while it ran")                     \
	X(LOAD_AVG, "system_load_avg", RATIO, NEITHER, TIME, TIME_MEAN, "mean of the machine's one-minute load")       \
	X(SYSTEM_CPU_PERCENT, "system_cpu_percent_avg", PERCENT, NEITHER, TIME, TIME_MEAN,                             \
	  "CPU use of the whole machine; 100 is one core")                                                             \
	X(SYSTEM_AVAILABLE_MIN, "system_available_min_bytes", BYTES, HIGHER, LEVEL, MIN,                               \
	  "least memory that the machine had available")                                                               \
	X(SYSTEM_SWAP_PEAK, "system_swap_peak_bytes", BYTES, LOWER, LEVEL, MAX, "most swap in use on the machine")     \
	X(STEAL, "system_steal_s", SECONDS, LOWER, TIME, SUM, "core time that the hypervisor gave to others")          \
	X(OUTPUT, "output_bytes", BYTES, NEITHER, COUNT, SUM, "bytes that the stage printed")                          \
	X(SAMPLES, "samples", COUNT, NEITHER, LEVEL, SUM, "samples taken for the time series")                         \
	X(PROFILE_SAMPLES, "profile_samples", COUNT, NEITHER, LEVEL, SUM, "samples of the code profile")               \
	X(PROFILE_COVERAGE, "profile_coverage", RATIO, NEITHER, LEVEL, TIME_MEAN,                                      \
	  "CPU time that the code profile accounts for, as a part of all")                                             \
	X(PROFILE_UNCOVERED, "profile_uncovered", RATIO, NEITHER, LEVEL, TIME_MEAN,                                    \
	  "CPU time of processes that had no agent, as a part of all")                                                 \
	X(HEAP_PEAK, "heap_peak_bytes", BYTES, LOWER, LEVEL, MAX, "most that one process had allocated at once")       \
	X(HEAP_ALLOCATED, "heap_allocated_bytes", BYTES, LOWER, LEVEL, SUM, "bytes allocated on the heap in all")      \
	X(HEAP_CALLS, "heap_allocations", COUNT, LOWER, LEVEL, SUM, "allocations on the heap")                         \
	X(PROFILE_OVERHEAD, "profile_overhead", RATIO, NEITHER, LEVEL, TIME_MEAN,                                      \
	  "CPU time that the agents' sampling took, as a part of all")                                                 \
	X(SELF_CPU, "self_cpu_s", SECONDS, LOWER, TIME, OWN, "CPU time that pitot itself used")                        \
	X(SELF_WALL, "self_wall_s", SECONDS, LOWER, TIME, OWN,                                                         \
	  "elapsed time in which no stage ran: pitot's start, the gaps between stages, its end")                       \
	X(SELF_MEMORY_PEAK, "self_memory_peak_bytes", BYTES, LOWER, LEVEL, OWN, "pitot's own largest resident set")    \
	X(SELF_INTERVAL, "self_interval_s", SECONDS, NEITHER, LEVEL, OWN,                                              \
	  "time between samples at the end, after any automatic slow-down")

enum metric_id {
#define METRIC_ID(id, name, unit, direction, noise, total, meaning) METRIC_##id,
	METRIC_LIST(METRIC_ID)
#undef METRIC_ID
		METRIC_COUNT
};

struct metric {
	const char *name;
	enum metric_unit unit;
	enum metric_direction direction;
	enum metric_noise noise;
	enum metric_total total;
	const char *meaning;
};

extern const struct metric metrics[METRIC_COUNT];

enum metric_method {
	METHOD_EXACT,     /* the kernel's own totals or high-water marks */
	METHOD_SAMPLED,   /* seen at sampling moments; what lies between may be missed */
	METHOD_ESTIMATED, /* computed from an assumption that `source` names */
};

enum metric_state { METRIC_UNSET, METRIC_KNOWN, METRIC_ABSENT };

enum { METRIC_SOURCE_SIZE = 120, METRIC_REASON_SIZE = 200 };

struct metric_value {
	enum metric_state state;
	enum metric_method method;
	double value;
	double coverage;  /* 0 to 1: how much of the stage the value speaks for */
	bool lower_bound; /* the truth may be larger */
	char source[METRIC_SOURCE_SIZE];
	char reason[METRIC_REASON_SIZE]; /* of METRIC_ABSENT */
};

/* -1 where there is no such metric. */
int metric_find(const char *name);
const char *metric_unit_name(enum metric_unit unit);       /* "s", "bytes", "count", "percent", "J", "W", "ratio" */
const char *metric_method_name(enum metric_method method); /* "exact", "sampled", "estimated" */
const char *metric_direction_name(enum metric_direction direction);
const char *metric_noise_name(enum metric_noise noise);
const char *metric_total_name(enum metric_total total);

void metric_set(struct metric_value *value, double number, enum metric_method method, const char *source, ...)
	__attribute__((format(printf, 4, 5)));
void metric_set_absent(struct metric_value *value, const char *reason, ...) __attribute__((format(printf, 2, 3)));

#endif
