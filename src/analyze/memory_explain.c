/* memory_explain.c - see memory_explain.h. */
#include "analyze/memory_explain.h"

#include <math.h>

static const double end_counts_for = 0.9;
/* malloc's heads and rounding: of any block, and of one that is large enough for pages of its own. */
static const double head_most = 32, page_most = 4096 + 16, large_least = 128 << 10;

static const struct {
	const char *key, *words;
} parts[EXPLAINED_COUNT] = {
#define MEMORY_EXPLAINED_TEXT(id, key, words) [EXPLAINED_##id] = {key, words},
	MEMORY_EXPLAINED(MEMORY_EXPLAINED_TEXT)
#undef MEMORY_EXPLAINED_TEXT
};

const char *memory_explained_key(enum memory_explained part)
{
	return parts[part].key;
}

const char *memory_explained_words(enum memory_explained part)
{
	return parts[part].words;
}

static double known(int64_t bytes)
{
	return bytes > 0 ? (double)bytes : 0;
}

/* Takes up to `wanted` off what is left. */
static double take(double *left, double wanted)
{
	double taken = fmin(fmax(wanted, 0), *left);
	*left -= taken;
	return taken;
}

/* What malloc has in use and nobody is known to have asked for. More than heads and rounding can be, it is blocks: unseen ones where
 * all were counted, else those by which the estimate is too low. */
static void explain_rest(const struct memory_blocks *blocks, double rest, double live, double *left, double *bytes)
{
	double most = head_most * blocks->count + page_most * fmin(blocks->count, live / large_least);
	bytes[EXPLAINED_OVERHEAD] = take(left, fmin(rest, most));
	if (blocks->exact)
		bytes[EXPLAINED_UNSEEN] = take(left, rest - most);
	else
		bytes[EXPLAINED_HEAP] += take(left, rest - most);
}

void memory_explain(const struct memory_resident *resident, const struct memory_blocks *blocks,
		    struct memory_explanation *out)
{
	double live = known(resident->live_bytes), python = known(resident->python_bytes);
	double left = known(resident->rss_bytes);
	*out = (struct memory_explanation){.process_id = resident->process_id,
					   .at_ns = resident->at_ns,
					   .cause = resident->cause,
					   .rss_bytes = left,
					   .allocated_bytes = live};
	double *bytes = out->parts;
	bytes[EXPLAINED_FILES] = take(&left, known(resident->file_bytes) + known(resident->file_dirty_bytes));
	bytes[EXPLAINED_SHARED] = take(&left, known(resident->shared_bytes));
	bytes[EXPLAINED_STACK] = take(&left, known(resident->stack_bytes));
	bytes[EXPLAINED_AGENT] = take(&left, known(resident->agent_bytes));
	/* What is left is private memory without a file. The heap comes first: it is what was asked for. */
	bytes[EXPLAINED_HEAP] = take(&left, live);
	if (resident->python_bytes >= 0)
		bytes[EXPLAINED_PYTHON_FREE] = take(&left, known(resident->arena_bytes) - python);
	bytes[EXPLAINED_FREE] = take(&left, known(resident->malloc_free_bytes));
	out->untouched_bytes = live - bytes[EXPLAINED_HEAP];
	if (resident->malloc_used_bytes >= 0)
		explain_rest(blocks,
			     known(resident->malloc_used_bytes) + known(resident->malloc_mapped_bytes) -
				     (live - python),
			     live, &left, bytes);
	bytes[EXPLAINED_UNEXPLAINED] = left;
	out->coverage = out->rss_bytes > 0 ? 1 - left / out->rss_bytes : 0;
}

/* Readings at the end count for less. */
static double rank_of(const struct memory_resident *resident)
{
	return (double)resident->rss_bytes * (resident->cause == MEMORY_AT_END ? end_counts_for : 1);
}

static struct memory_blocks blocks_of(const struct memory_data *memory, int64_t process_id)
{
	struct memory_blocks blocks = {.count = 0};
	for (size_t i = 0; i < memory->processes.len; i++)
		if (memory->processes.items[i].process_id == process_id)
			blocks.exact = memory->processes.items[i].exact;
	for (size_t i = 0; i < memory->sites.len; i++)
		if (memory->sites.items[i].process_id == process_id)
			blocks.count += (double)memory->sites.items[i].amounts[MEMORY_BY_PEAK].count;
	return blocks;
}

bool memory_explain_largest(const struct memory_data *memory, const bool *wanted, struct memory_explanation *out)
{
	const struct memory_resident *best = NULL;
	for (size_t i = 0; i < memory->residents.len; i++) {
		const struct memory_resident *resident = &memory->residents.items[i];
		if (wanted[resident->process_id - 1] && resident->rss_bytes > 0 &&
		    (!best || rank_of(resident) > rank_of(best)))
			best = resident;
	}
	if (!best)
		return false;
	struct memory_blocks blocks = blocks_of(memory, best->process_id);
	memory_explain(best, &blocks, out);
	return true;
}
