/* rule_gpu.c - a GPU that waits for the CPU, and one whose memory is nearly full. GPU figures are of the whole device, so
 * nothing here is a `fix`. */
#include "analyze/rule.h"

#include <math.h>

static const double used_percent = 20;    /* at its busiest: below, the stage is not one that uses the GPU */
static const double idle_percent = 40;    /* on average: below, it idles more than it works */
static const double preparing_busy = 0.6; /* cores' worth: the CPU does something meanwhile */

static const double full_percent = 95;     /* of the fullest device: the next allocation may fail */
static const double small_bytes = 1 << 30; /* an integrated GPU's own part is less, always full, and no limit */

static void examine_memory(const struct evidence *evidence, struct finding_list *out)
{
	double full = evidence_number(evidence, METRIC_GPU_MEMORY_PERCENT_MAX);
	double peak = evidence_number(evidence, METRIC_GPU_MEMORY_PEAK);
	double most = evidence_number(evidence, METRIC_GPU_UTIL_MAX);
	if (!(full >= full_percent && peak >= small_bytes && most >= used_percent))
		return;
	struct finding *finding = finding_add(out, &rule_gpu_memory, evidence, FINDING_LOOK);
	finding_say(finding, "The GPU's memory is nearly full: %.1f %% of it were in use.", full);
	finding_advise(finding, "A larger batch or model will fail for want of memory: smaller batches, gradient "
				"checkpointing, half precision. A framework that reserves all memory when it starts "
				"(TensorFlow does unless it is told to grow) hides how much it needs.");
	finding_cite(finding, evidence, METRIC_GPU_MEMORY_PERCENT_MAX);
	finding_cite(finding, evidence, METRIC_GPU_MEMORY_PEAK);
	finding_cite(finding, evidence, METRIC_GPU_UTIL_MAX);
}

const struct finding_rule rule_gpu_memory = {
	.id = "gpu-memory",
	.title = "GPU memory nearly full",
	.fires = "of the memory of a GPU that is used (20 % or more at its busiest) 95 % or more were in use, and 1 "
		 "GiB or more",
	.why = "the next larger batch fails, or pages move between GPU and machine",
	.todo = "smaller batches, checkpointing, half precision; let the framework grow instead of reserving all",
	.depth = 3,
	.examine = examine_memory,
};

static void examine_idle(const struct evidence *evidence, struct finding_list *out)
{
	double average = evidence_number(evidence, METRIC_GPU_UTIL_AVG);
	double most = evidence_number(evidence, METRIC_GPU_UTIL_MAX);
	if (!(most >= used_percent && average < idle_percent && evidence->wanted >= preparing_busy))
		return;
	struct finding *finding = finding_add(out, &rule_gpu_idle, evidence, FINDING_LOOK);
	finding_say(finding, "The GPU idles %.0f %% of the time while the CPU computes.", 100 - average);
	finding_advise(finding, "Prepare the next batches while the GPU works on this one: more loader workers, pinned "
				"memory, prefetching; or move the preparation to the GPU, or do it once and store it.");
	finding_cite(finding, evidence, METRIC_GPU_UTIL_AVG);
	finding_cite(finding, evidence, METRIC_GPU_UTIL_MAX);
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	double least = fmax(average / 100 * evidence->wall, evidence->cpu / fmax(evidence->cores, 1));
	finding_predict(finding, evidence, evidence->wall - least,
			"preparation and GPU work overlap fully, and preparation uses all cores");
}

const struct finding_rule rule_gpu_idle = {
	.id = "gpu-idle",
	.title = "A GPU that waits for the CPU",
	.fires = "a GPU that is used (20 % or more at its busiest) is busy less than 40 % of the time, while the CPU "
		 "wants 60 % of "
		 "a core or more",
	.why = "the costliest part of the machine waits for data",
	.todo = "prepare batches ahead and side by side, on the GPU, or once and for all",
	.depth = 2,
	.examine = examine_idle,
};
