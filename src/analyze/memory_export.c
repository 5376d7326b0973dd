/* memory_export.c - see memory_export.h. */
#include "analyze/memory_export.h"
#include "analyze/memory_peak.h"

#include <math.h>

/* What go tool pprof calls them; blocks that are in use are those of the peak. */
static const struct code_value_type types[] = {
	{"alloc_objects", "count"},     {"alloc_space", "bytes"},     {"inuse_objects", "count"},
	{"inuse_space", "bytes"},       {"leaked_objects", "count"},  {"leaked_space", "bytes"},
	{"temporary_objects", "count"}, {"temporary_space", "bytes"},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };
static const enum memory_weight order[TYPES / 2] = {MEMORY_BY_ALLOCATED, MEMORY_BY_PEAK, MEMORY_BY_LEAKED,
						    MEMORY_BY_TEMPORARY};

static void fill_numbers(const struct memory_choice *choice, const struct memory_view *view, int64_t *out)
{
	for (size_t i = 0; i < view->sites.len; i++) {
		const struct memory_site *site = &choice->memory->sites.items[view->sites.items[i]];
		for (size_t k = 0; k < TYPES / 2; k++) {
			struct memory_sum sum = memory_site_sum(choice, site, order[k]);
			out[i * TYPES + 2 * k] = llround(sum.count);
			out[i * TYPES + 2 * k + 1] = llround(sum.bytes);
		}
	}
}

static size_t usual_type(enum memory_weight weight)
{
	size_t usual = 0;
	for (size_t k = 0; k < TYPES / 2; k++)
		usual = order[k] == weight ? 2 * k + 1 : usual;
	return usual;
}

void memory_export_open(const struct profile_data *profile, const struct memory_data *memory,
			const struct code_select *select, enum memory_weight weight, bool all_sites,
			struct memory_export *out)
{
	static const char *const words[MEMORY_WEIGHT_COUNT] = {[MEMORY_BY_PEAK] = "at the peak",
							       [MEMORY_BY_LEAKED] = "never given back",
							       [MEMORY_BY_ALLOCATED] = "allocated in all",
							       [MEMORY_BY_TEMPORARY] = "given back at once"};
	struct code_select chosen = *select;
	*out = (struct memory_export){.measure = {.words = words[weight]}};
	out->parts = memory_peak_parts(profile, memory, select);
	struct memory_choice choice = memory_choose(profile, memory, out->parts);
	memory_view_open(&choice, all_sites ? MEMORY_WEIGHT_COUNT : weight, &out->view);
	out->numbers = mem_alloc((out->view.sites.len * TYPES + 1) * sizeof(*out->numbers));
	fill_numbers(&choice, &out->view, out->numbers);
	out->measure.types = types;
	out->measure.type_count = TYPES;
	out->measure.usual = usual_type(weight);
	out->measure.numbers = out->numbers;
	for (size_t i = 0; i < memory->processes.len; i++)
		if (memory->processes.items[i].period_bytes > out->measure.period)
			out->measure.period = memory->processes.items[i].period_bytes;
	chosen.measure = &out->measure;
	chosen.graft_workers = false;
	chosen.from_ns = chosen.to_ns = 0;
	code_tree_build(&out->view.profile, &chosen, &out->tree);
}

void memory_export_close(struct memory_export *export)
{
	code_tree_fini(&export->tree);
	memory_view_close(&export->view);
	free(export->numbers);
	free(export->parts);
}
