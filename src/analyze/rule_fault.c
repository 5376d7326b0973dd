/* rule_fault.c - page faults: memory that is handed back and taken again, and files read through mappings page by page. */
#include "analyze/rule.h"

#include <math.h>

static const double page_bytes = 4096;
static const double storm_per_s = 50000;      /* at a µs and more each, at least 5 % of the time */
static const double storm_again = 8;          /* times that the peak memory was faulted in: once is unavoidable */
static const double storm_per_process = 2e4;  /* starting a process faults some 500 to 3000 pages: another rule's */
static const double storm_system_share = 0.2; /* of the CPU time */
static const double major_per_s = 100, major_least = 100;
static const double major_s = 1e-4; /* one read of a solid state disk */

static void examine_storm(const struct evidence *evidence, struct finding_list *out)
{
	double faults = evidence_number(evidence, METRIC_PAGE_FAULTS_MINOR);
	double processes = evidence_number(evidence, METRIC_PROCESSES);
	double peak = evidence_number(evidence, METRIC_RSS_PROCESS_PEAK);
	double again = faults * page_bytes / peak;
	if (!(faults / evidence->alone >= storm_per_s && again >= storm_again) ||
	    !(faults / processes >= storm_per_process) || !(evidence->system >= storm_system_share * evidence->cpu))
		return;
	struct finding *finding = finding_add(out, &rule_page_fault_storm, evidence, FINDING_FIX);
	finding_say(finding,
		    "%.0f page faults a second: it took %.0f times its peak memory from the kernel, piece by piece.",
		    faults / evidence->wall, again);
	finding_advise(finding,
		       "Reuse large buffers instead of allocating them anew in each turn (out= in numpy, a buffer "
		       "outside the loop), or keep freed memory (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_).");
	finding_cite(finding, evidence, METRIC_PAGE_FAULTS_MINOR);
	finding_cite(finding, evidence, METRIC_RSS_PROCESS_PEAK);
	finding_cite(finding, evidence, METRIC_CPU_SYSTEM);
	finding_predict(finding, evidence, evidence->system * (1 - 1 / again) * fmin(evidence->wall / evidence->cpu, 1),
			"each page is taken once, and the kernel's time falls with the faults");
}

const struct finding_rule rule_page_fault_storm = {
	.id = "page-fault-storm",
	.title = "Memory taken again and again",
	.fires = "at least 50 000 minor page faults a second (of the time it was not kept from a core), eight times "
		 "the stage's peak memory or more, not from "
		 "starting "
		 "processes, with a fifth of the CPU time in the kernel",
	.why = "each fault enters the kernel and clears a page, for memory that was just handed back",
	.todo = "reuse buffers; let the allocator keep what is freed",
	.depth = 3,
	.examine = examine_storm,
};

static void examine_major(const struct evidence *evidence, struct finding_list *out)
{
	double faults = evidence_number(evidence, METRIC_PAGE_FAULTS_MAJOR);
	/* A new page of a mapped file counts as one, too, though nothing is read for it. */
	double read = evidence_number(evidence, METRIC_IO_DEVICE_READ);
	faults = fmin(faults, read / page_bytes);
	if (!(faults >= major_least && faults / evidence->wall >= major_per_s))
		return;
	struct finding *finding = finding_add(out, &rule_major_faults, evidence, FINDING_LOOK);
	finding_say(finding, "%.0f page faults a second waited for storage.", faults / evidence->wall);
	finding_advise(finding, "Read mapped files in order or ahead of time (madvise WILLNEED or SEQUENTIAL, or plain "
				"reads of larger blocks), and keep what is used often in memory.");
	finding_cite(finding, evidence, METRIC_PAGE_FAULTS_MAJOR);
	finding_cite(finding, evidence, METRIC_IO_DEVICE_READ);
	finding_cite(finding, evidence, METRIC_PRESSURE_IO_FULL);
	finding_predict(finding, evidence, fmin(faults * major_s, evidence->wall * 0.9),
			"each costs %.0f µs, and reading ahead hides them", 1e6 * major_s);
}

const struct finding_rule rule_major_faults = {
	.id = "major-faults",
	.title = "Page faults that wait for storage",
	.fires = "at least 100 major page faults a second (100 in all), for which a page each was read from storage",
	.why = "each stops a thread for one read of one or a few pages",
	.todo = "read ahead or in order, or with plain reads of large blocks",
	.depth = 3,
	.examine = examine_major,
};
