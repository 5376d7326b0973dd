/* profile.c - the `profile` map: how deep to look, for the pipeline and for single stages. */
#include "base/clock.h"
#include "base/str.h"
#include "config/load.h"

#include <string.h>

void profile_unset(struct profile_settings *profile)
{
	*profile = (struct profile_settings){.pss = -1,
					     .gpu = -1,
					     .pmu = -1,
					     .watts = -1,
					     .cpu_hz = -1,
					     .memory_period = -1,
					     .memory_types = -1,
					     .span_counters = -1};
}

static int read_interval(struct load *load, void *into, const struct node *value)
{
	uint64_t interval_ns = 0;
	int code = load_duration(load, value, "interval", &interval_ns);
	if (!code && (interval_ns < NS_PER_S / 1000 || interval_ns > 3600 * NS_PER_S))
		code = load_fail(load, value->line, "'interval' must lie between 1ms and 1h");
	if (!code)
		((struct profile_settings *)into)->interval_ns = interval_ns;
	return code;
}

static int read_pss(struct load *load, void *into, const struct node *value)
{
	return load_bool(load, value, "pss", &((struct profile_settings *)into)->pss);
}

static int read_gpu(struct load *load, void *into, const struct node *value)
{
	struct profile_settings *profile = into;
	if (profile->gpu >= 0)
		return load_fail(load, value->line, "'gpu' and 'enable_gpu_sampling' mean the same; keep one of them");
	return load_bool(load, value, "gpu", &profile->gpu);
}

static int read_pmu(struct load *load, void *into, const struct node *value)
{
	return load_bool(load, value, "pmu", &((struct profile_settings *)into)->pmu);
}

static int read_watts(struct load *load, void *into, const struct node *value)
{
	double watts = 0;
	int code = load_number(load, value, "watts", &watts);
	if (!code && watts < 0)
		code = load_fail(load, value->line, "'watts' must not be negative (0 turns the energy estimate off)");
	if (!code)
		((struct profile_settings *)into)->watts = watts;
	return code;
}

static int read_cpu(struct load *load, void *into, const struct node *value)
{
	struct profile_settings *profile = into;
	char *text = NULL;
	int64_t hz = 0;
	int code = load_text(load, value, "cpu", &text);
	int truth = code ? -1 : load_truth(text);
	if (truth >= 0)
		profile->cpu_hz = truth ? PROFILE_CPU_HZ : 0;
	else if (!code && str_to_int64(text, &hz) && hz >= 1 && hz <= PROFILE_CPU_HZ_MOST)
		profile->cpu_hz = (int)hz;
	else if (!code)
		code = load_fail(load, value->line,
				 "'cpu' must be true, false or samples per second from 1 to %d, not '%.60s'",
				 PROFILE_CPU_HZ_MOST, text);
	free(text);
	return code;
}

static int read_memory(struct load *load, void *into, const struct node *value)
{
	struct profile_settings *profile = into;
	char *text = NULL;
	int64_t bytes = 0;
	int code = load_text(load, value, "memory", &text);
	int truth = code ? -1 : load_truth(text);
	if (truth >= 0)
		profile->memory_period = truth ? PROFILE_MEMORY : 0;
	else if (!code && strcmp(text, "exact") == 0)
		profile->memory_period = PROFILE_MEMORY_EXACT;
	else if (!code && str_to_int64(text, &bytes) && bytes >= PROFILE_MEMORY_LEAST && bytes <= PROFILE_MEMORY_MOST)
		profile->memory_period = bytes;
	else if (!code)
		code = load_fail(load, value->line,
				 "'memory' must be true, false, exact or the mean number of bytes between two samples, "
				 "%d to %d, not '%.60s'",
				 PROFILE_MEMORY_LEAST, PROFILE_MEMORY_MOST, text);
	free(text);
	return code;
}

static int read_memory_types(struct load *load, void *into, const struct node *value)
{
	return load_bool(load, value, "memory_types", &((struct profile_settings *)into)->memory_types);
}

static int read_span_counters(struct load *load, void *into, const struct node *value)
{
	return load_bool(load, value, "span_counters", &((struct profile_settings *)into)->span_counters);
}

static int read_jobs(struct load *load, void *into, const struct node *value)
{
	(void)into;
	return load_integer(load, value, "jobs", 1, 1024, &load->pipeline->jobs);
}

static int refuse_jobs(struct load *load, void *into, const struct node *value)
{
	(void)into;
	return load_fail(load, value->line, "'jobs' belongs to the pipeline's own profile:, not to a stage's");
}

#define COMMON_KEYS                                                                                                    \
	{"interval", read_interval}, {"pss", read_pss}, {"gpu", read_gpu}, {"enable_gpu_sampling", read_gpu},          \
		{"pmu", read_pmu}, {"cpu", read_cpu}, {"memory", read_memory}, {"memory_types", read_memory_types},    \
		{"span_counters", read_span_counters},                                                                 \
	{                                                                                                              \
		"watts", read_watts                                                                                    \
	}

static const struct load_key pipeline_keys[] = {COMMON_KEYS, {"jobs", read_jobs}};
static const struct load_key stage_keys[] = {COMMON_KEYS, {"jobs", refuse_jobs}};

enum { KEY_COUNT = sizeof(pipeline_keys) / sizeof(pipeline_keys[0]) };

int load_profile(struct load *load, void *into, const struct node *node)
{
	(void)into;
	if (node_is_null(node))
		return 0;
	return load_map(load, node, "profile", pipeline_keys, KEY_COUNT, &load->pipeline->profile);
}

int load_stage_profile(struct load *load, void *into, const struct node *node)
{
	return load_map(load, node, "a stage's profile", stage_keys, KEY_COUNT, &((struct stage_spec *)into)->profile);
}
