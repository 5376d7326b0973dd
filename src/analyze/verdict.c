/*
 * verdict.c - one function per rule, tried in the order of the table; the first that holds decides.
 *
 *	gpu-bound            GPU at least 60 % busy on average while less than 80 % of one core was
 *	cpu-starved          stopped by a CPU quota for at least 25 % of the time it wanted to run
 *	cpu-bound            at least 75 % of all cores busy
 *	cpu-starved          in the run queue for at least 25 % of the time it wanted to run, and 10 % of all time
 *	cpu-bound, one core  between 75 % and 125 % of one core, with more than one available
 *	cpu-bound            more than that: several cores, not all
 *	memory-bound         memory pressure for at least 15 % of the time, or 100 major faults a second, swap in use
 *	io-bound             I/O pressure for at least 20 % of the time, or 20 MB/s to and from devices, or 100 major
 *	                     faults a second (files read through mappings)
 *	wait-bound           less than 25 % of one core
 *	mixed                what is left
 *
 * The order matters. A program with more threads than cores waits in the run queue by its own making: it uses all
 * cores, so that is asked before starvation. Pressure (PSI), where there is no control group,
 * and the GPU are machine-wide and may come from somebody else, so pressure is only asked of stages that left a core
 * idle, and the evidence says whose it is. What is not known
 * is NaN, and no comparison with NaN holds: a rule without its numbers never fires.
 */
#include "analyze/verdict.h"
#include "base/str.h"

#include <math.h>

static const double shortest_s = 0.02; /* below this, start-up noise is all there is */
static const double gpu_busy_percent = 60, gpu_cpu_below = 0.8;
static const double starved_share = 0.25, starved_of_wall = 0.1;
static const double cores_busy_share = 0.75, one_core_busy = 0.75, one_core_at_most = 1.25;
static const double memory_pressure_share = 0.15, io_pressure_share = 0.2;
static const double device_bytes_per_s = 20e6;
static const double major_faults_per_s = 100, major_faults_least = 100;
static const double idle_busy = 0.25;
static const double worth_saying = 0.05; /* secondary evidence below this share is left out */

struct facts {
	double wall, cores;
	double busy;                         /* cores' worth of CPU time: cpu time / wall */
	double queue;                        /* share of the time it wanted to run that it spent in the run queue */
	double queue_of_wall;                /* the same, of the wall time */
	double throttled;                    /* the same, stopped by a quota */
	double memory_pressure, io_pressure; /* share of the wall time */
	bool own_pressure;                   /* the stage's own, from its control group; else the machine's */
	double faults, faults_per_s, swap;
	double device_per_s;
	double gpu;
	double switches_per_s; /* voluntary */
};

static double known(const struct metric_value *values, int metric)
{
	return values[metric].state == METRIC_KNOWN ? values[metric].value : NAN;
}

/* The sum of what is known; NaN where neither is. */
static double sum_known(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static struct facts gather(const struct metric_value *values, double cores)
{
	double wall = known(values, METRIC_WALL), cpu = known(values, METRIC_CPU_TIME);
	double queue = known(values, METRIC_RUN_QUEUE_WAIT), throttled = known(values, METRIC_THROTTLED);
	double faults = known(values, METRIC_PAGE_FAULTS_MAJOR);
	double device = sum_known(known(values, METRIC_IO_DEVICE_READ), known(values, METRIC_IO_DEVICE_WRITE));
	return (struct facts){
		.wall = wall,
		.cores = cores,
		.busy = cpu / wall,
		.queue = queue / (cpu + queue),
		.queue_of_wall = queue / wall,
		.throttled = throttled / (cpu + throttled),
		.memory_pressure = known(values, METRIC_PRESSURE_MEMORY) / wall,
		.io_pressure = known(values, METRIC_PRESSURE_IO) / wall,
		.own_pressure = str_starts(values[METRIC_PRESSURE_IO].source, "cgroup"),
		.faults = faults,
		.faults_per_s = faults / wall,
		.swap = known(values, METRIC_SYSTEM_SWAP_PEAK),
		.device_per_s = device / wall,
		.gpu = known(values, METRIC_GPU_UTIL_AVG),
		.switches_per_s = known(values, METRIC_CONTEXT_SWITCHES_VOLUNTARY) / wall,
	};
}

/* "12 %", "1.4 %": one digit where it still says something. */
static void say_share(struct str *out, double share)
{
	double percent = share * 100;
	str_appendf(out, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
}

static void say_busy(struct str *out, const struct facts *f)
{
	if (f->busy > one_core_at_most && f->cores > 1) {
		str_appendf(out, "%.1f of %.0f cores busy", f->busy, f->cores);
		return;
	}
	say_share(out, f->busy);
	str_append(out, f->cores == 1 ? " of the only core busy" : " of one core busy");
	if (f->busy >= one_core_busy && f->cores > 1)
		str_appendf(out, ", %.0f available", f->cores);
}

static void say_pressure(struct str *out, const char *kind, double share, bool own)
{
	str_appendf(out, ", %s pressure ", kind);
	say_share(out, share);
	str_append(out, own ? " of the time" : " of the time (whole machine)");
}

/* What else is worth knowing beside the number that decided. */
static void say_rest(struct str *out, const struct facts *f)
{
	if (f->throttled >= worth_saying) {
		str_append(out, ", throttled ");
		say_share(out, f->throttled);
		str_append(out, " of its running time");
	}
	if (f->queue >= worth_saying) {
		str_append(out, ", in the run queue ");
		say_share(out, f->queue);
		str_append(out, " of its running time");
	}
	if (f->io_pressure >= worth_saying)
		say_pressure(out, "I/O", f->io_pressure, f->own_pressure);
	if (f->memory_pressure >= worth_saying)
		say_pressure(out, "memory", f->memory_pressure, f->own_pressure);
}

static bool is_gpu(const struct facts *f, struct str *out)
{
	if (!(f->gpu >= gpu_busy_percent && f->busy < gpu_cpu_below))
		return false;
	str_appendf(out, "GPU %.0f %% busy on average (whole device), ", f->gpu);
	say_busy(out, f);
	return true;
}

static bool is_throttled(const struct facts *f, struct str *out)
{
	if (!(f->throttled >= starved_share))
		return false;
	str_append(out, "stopped by its CPU quota ");
	say_share(out, f->throttled);
	str_append(out, " of the time it wanted to run, ");
	say_busy(out, f);
	return true;
}

static bool is_all_cores(const struct facts *f, struct str *out)
{
	if (!(f->busy >= cores_busy_share * f->cores))
		return false;
	say_busy(out, f);
	say_rest(out, f);
	return true;
}

static bool is_queued(const struct facts *f, struct str *out)
{
	if (!(f->queue >= starved_share && f->queue_of_wall >= starved_of_wall))
		return false;
	str_append(out, "ready but without a core ");
	say_share(out, f->queue);
	str_append(out, " of the time it wanted to run, ");
	say_busy(out, f);
	return true;
}

static bool is_one_core(const struct facts *f, struct str *out)
{
	if (!(f->busy >= one_core_busy && f->busy <= one_core_at_most && f->cores > 1))
		return false;
	say_busy(out, f);
	say_rest(out, f);
	return true;
}

static bool is_some_cores(const struct facts *f, struct str *out)
{
	if (!(f->busy >= one_core_busy))
		return false;
	say_busy(out, f);
	say_rest(out, f);
	return true;
}

static bool many_faults(const struct facts *f)
{
	return f->faults_per_s >= major_faults_per_s && f->faults >= major_faults_least;
}

static void say_faults(struct str *out, const struct facts *f)
{
	str_appendf(out, ", %.0f major faults a second", f->faults_per_s);
}

static bool is_memory(const struct facts *f, struct str *out)
{
	bool pressed = f->memory_pressure >= memory_pressure_share, swapping = many_faults(f) && f->swap > 0;
	if (!pressed && !swapping)
		return false;
	say_busy(out, f);
	if (pressed)
		say_pressure(out, "memory", f->memory_pressure, f->own_pressure);
	if (many_faults(f))
		say_faults(out, f);
	if (f->swap > 0)
		str_appendf(out, ", %.0f MiB of swap in use", f->swap / 1048576);
	return true;
}

static bool is_io(const struct facts *f, struct str *out)
{
	bool pressed = f->io_pressure >= io_pressure_share, moving = f->device_per_s >= device_bytes_per_s;
	if (!pressed && !moving && !many_faults(f))
		return false;
	say_busy(out, f);
	if (pressed)
		say_pressure(out, "I/O", f->io_pressure, f->own_pressure);
	if (moving)
		str_appendf(out, ", %.0f MB/s to and from devices", f->device_per_s / 1e6);
	if (many_faults(f))
		say_faults(out, f);
	return true;
}

static bool is_waiting(const struct facts *f, struct str *out)
{
	if (!(f->busy < idle_busy))
		return false;
	say_busy(out, f);
	if (!isnan(f->switches_per_s))
		str_appendf(out, ", gave up its core %.0f times a second", f->switches_per_s);
	say_rest(out, f);
	return true;
}

static bool is_mixed(const struct facts *f, struct str *out)
{
	say_busy(out, f);
	say_rest(out, f);
	return true;
}

static const struct {
	enum verdict verdict;
	bool (*holds)(const struct facts *facts, struct str *evidence);
} rules[] = {
	{VERDICT_GPU, is_gpu},
	{VERDICT_CPU_STARVED, is_throttled},
	{VERDICT_CPU, is_all_cores},
	{VERDICT_CPU_STARVED, is_queued},
	{VERDICT_CPU_ONE_CORE, is_one_core},
	{VERDICT_CPU, is_some_cores},
	{VERDICT_MEMORY, is_memory},
	{VERDICT_IO, is_io},
	{VERDICT_WAIT, is_waiting},
	{VERDICT_MIXED, is_mixed},
};

static const char *why_none(const struct facts *f)
{
	if (isnan(f->wall))
		return "its elapsed time is not known";
	if (f->wall < shortest_s)
		return "too short to say: below 20 ms";
	return isnan(f->busy) ? "its CPU time is not known" : NULL;
}

enum verdict verdict_decide(const struct metric_value *values, double cores, char **evidence)
{
	struct facts facts = gather(values, cores);
	const char *none = why_none(&facts);
	struct str text = {0};
	enum verdict verdict = VERDICT_NONE;
	if (none)
		str_append(&text, none);
	for (size_t i = 0; !none && i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (!rules[i].holds(&facts, &text))
			continue;
		verdict = rules[i].verdict;
		break;
	}
	*evidence = str_take(&text);
	return verdict;
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {
#define VERDICT_NAME(id, name, meaning) name,
		VERDICT_LIST(VERDICT_NAME)
#undef VERDICT_NAME
	};
	return names[verdict];
}

const char *verdict_meaning(enum verdict verdict)
{
	static const char *const meanings[] = {
#define VERDICT_MEANING(id, name, meaning) meaning,
		VERDICT_LIST(VERDICT_MEANING)
#undef VERDICT_MEANING
	};
	return meanings[verdict];
}
