/*
 * machine_measure.c - see machine_measure.h: the plan, and what may have disturbed it.
 */
#include "model/machine_measure.h"
#include "base/clock.h"
#include "base/file.h"
#include "model/measure.h"
#include "probe/host_limits.h"
#include "probe/kernel_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct measure_plan plans[] = {
	[MACHINE_QUICK] = {.budget_s = 2.5,
			   .repeats = 7,
			   .repeat_s = 0.0015,
			   .memory_repeats = MEASURE_LEAST,
			   .sweep_factor = 2,
			   .sizes = (const size_t[]){256, 512, 0}},
	[MACHINE_NORMAL] = {.budget_s = 12,
			    .repeats = 15,
			    .repeat_s = 0.004,
			    .memory_repeats = 9,
			    .sweep_factor = 1.41421356,
			    .all_kernels = true,
			    .sizes = (const size_t[]){256, 512, 1024, 0}},
	[MACHINE_THOROUGH] = {.budget_s = 90,
			      .repeats = 31,
			      .repeat_s = 0.02,
			      .memory_repeats = 31,
			      .sweep_factor = 1.41421356,
			      .all_kernels = true,
			      .sizes = (const size_t[]){128, 256, 512, 1024, 1536, 2048, 3072, 0}},
};

static const double WARM_UP_S = 0.1; /* longer than a core takes to change its frequency */

/* What the machine did meanwhile; NaN where it does not tell. */
struct census {
	double busy_s, steal_s; /* of all CPUs together */
	double own_s;           /* of this process */
};

static void take_census(struct census *out)
{
	char text[512];
	unsigned long long user, nice, kernel, idle, iowait, irq, softirq, steal;
	double tick = (double)sysconf(_SC_CLK_TCK);
	struct rusage own;
	*out = (struct census){.busy_s = NAN, .steal_s = NAN};
	getrusage(RUSAGE_SELF, &own);
	out->own_s = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
		     (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6;
	if (!kernel_text(text, sizeof(text), "%s/stat", file_procfs()) ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &kernel, &idle, &iowait, &irq,
		   &softirq, &steal) != 8)
		return;
	out->busy_s = (double)(user + nice + kernel + irq + softirq) / tick;
	out->steal_s = (double)steal / tick;
}

static const char *fact(const struct measure *measure, const char *key)
{
	const struct host_facts *host = measure->request->host;
	for (size_t i = 0; i < host->facts.len; i++)
		if (strcmp(host->facts.items[i].key, key) == 0)
			return host->facts.items[i].value;
	return NULL;
}

static void note_disturbance(struct measure *measure, const struct census *before)
{
	struct machine *machine = measure->machine;
	struct census after;
	take_census(&after);
	double wall_s = machine->took_s, cores_s = wall_s * (double)measure->request->topology->cpus.len;
	double steal = after.steal_s - before->steal_s;
	double others = after.busy_s - before->busy_s - (after.own_s - before->own_s);
	if (isnan(steal))
		machine_note(machine, "not known whether others disturbed it: %s/stat cannot be read", file_procfs());
	if (steal > 0.01 * cores_s)
		machine_note(machine,
			     "the hypervisor gave %.1f %% of the core time to others (steal): rates are low and "
			     "vary; measure again when it is quiet",
			     100 * steal / cores_s);
	if (others > 0.05 * cores_s)
		machine_note(machine,
			     "other processes used %.0f %% of the core time meanwhile: rates are low and vary; "
			     "measure again with --fresh when it is quiet",
			     100 * others / cores_s);
}

static void note_host(struct measure *measure)
{
	const char *machine = fact(measure, "virtualization"), *clock = fact(measure, "clocksource");
	const char *governor = fact(measure, "governor");
	double cores;
	if (machine && strcmp(machine, "none") != 0)
		machine_note(measure->machine,
			     "a virtual machine (%s): frequency, caches and memory are shared with "
			     "guests that cannot be seen",
			     machine);
	if (clock && strcmp(clock, "tsc") != 0 && strcmp(clock, "arch_sys_counter") != 0 &&
	    strcmp(clock, "kvm-clock") != 0)
		machine_note(measure->machine, "the clock is %s, which is slow to read", clock);
	if (governor && strcmp(governor, "performance") != 0)
		machine_note(measure->machine, "the frequency governor is %s: a core may not have been at its fastest",
			     governor);
	if (host_cpu_limit(&cores))
		machine_note(measure->machine, "a CPU quota of %.2f cores applies", cores);
	if (measure->request->topology->caches.len == 0)
		machine_note(measure->machine,
			     "the machine tells no cache sizes: memory was measured as if the last cache "
			     "had 32 MiB");
}

/* What varies so much that its best value may be luck. */
static void note_spread(struct measure *measure)
{
	const struct machine_rate *worst = NULL;
	size_t wide = 0, known = 0;
	for (size_t i = 0; i < measure->machine->rates.len; i++) {
		const struct machine_rate *rate = &measure->machine->rates.items[i];
		known += rate->known;
		if (!rate->known || machine_spread(rate) <= 0.1)
			continue;
		wide++;
		if (!worst || machine_spread(rate) > machine_spread(worst))
			worst = rate;
	}
	if (worst)
		machine_note(measure->machine,
			     "%zu of %zu rates vary by more than 10 %% between repetitions, most of all "
			     "%s %s %s with %u thread%s (%.0f %%)",
			     wide, known, machine_kind_name(worst->kind), worst->what, worst->how, worst->threads,
			     worst->threads == 1 ? "" : "s", 100 * machine_spread(worst));
}

static void note_frequency(struct measure *measure)
{
	const struct machine_rate *first = machine_best(measure->machine, MACHINE_FREQUENCY, NULL, NULL, 1);
	double now = measure_frequency_now(measure);
	if (first && fabs(now / first->best - 1) > 0.05)
		machine_note(measure->machine, "the frequency moved from %.2f to %.2f GHz while it was measured",
			     first->best / 1e9, now / 1e9);
}

/* No rates with more threads where the team is one. */
static void measure_all(struct measure *measure)
{
	unsigned team = (unsigned)measure->team.items.len;
	uint64_t warm_ns = clock_mono_ns() + (uint64_t)(WARM_UP_S * 1e9);
	measure_tell(measure, "warming up");
	while (clock_mono_ns() < warm_ns)
		measure_frequency_now(measure);
	measure_frequency(measure, 1);
	if (team > 1)
		measure_frequency(measure, team);
	measure_fma(measure, 1);
	if (team > 1)
		measure_fma(measure, team);
	measure_sweep(measure);
	measure_bandwidth(measure, 1);
	if (team > 1)
		measure_bandwidth(measure, team);
	measure_gemm(measure);
	note_frequency(measure);
}

size_t machine_team_size(const struct topology *topology)
{
	struct topology_ids team;
	double cores;
	topology_team(topology, SIZE_MAX, &team);
	size_t size = team.items.len;
	if (host_cpu_limit(&cores) && cores < (double)size)
		size = cores < 1 ? 1 : (size_t)cores;
	vec_fini(&team.items);
	return size;
}

int machine_measure(const struct machine_request *request, struct machine *out, struct err *err)
{
	struct measure measure = {.request = request, .plan = &plans[request->effort], .machine = out};
	struct census before;
	*out = (struct machine){.effort = request->effort, .measured_utc_ns = clock_utc_ns()};
	snprintf(out->fingerprint, sizeof(out->fingerprint), "%s", request->host->fingerprint);
	topology_team(request->topology, machine_team_size(request->topology), &measure.team);
	out->threads = (unsigned)measure.team.items.len;
	if (out->threads == 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot tell which CPUs this process may run on");
	take_census(&before);
	measure.start_ns = clock_mono_ns();
	measure.deadline_ns = measure.start_ns + (uint64_t)(measure.plan->budget_s * 1e9);
	measure_all(&measure);
	out->took_s = (double)(clock_mono_ns() - measure.start_ns) / 1e9;
	note_host(&measure);
	note_disturbance(&measure, &before);
	note_spread(&measure);
	vec_fini(&measure.team.items);
	return 0;
}
