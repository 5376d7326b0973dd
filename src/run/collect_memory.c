/*
 * collect_memory.c - the memory profile of one wire file as rows of the run file.
 *
 * The sites come with their mirrors added already (wire_memory.h). What is left is to find their rows of stacks and threads,
 * to add up what the process as a whole is told of, and to keep all sums within what a run file may say: a file that was
 * damaged on the way must not make the whole run unreadable.
 */
#include "base/clock.h"
#include "base/str.h"
#include "run/collect_inside.h"
#include "store/memory.h"

#include <string.h>

static const enum memory_kind kinds[WIRE_MEMORY_KINDS] = {
	[WIRE_HEAP_MALLOC] = MEMORY_MALLOC,
	[WIRE_HEAP_NEW] = MEMORY_NEW,
	[WIRE_HEAP_PYTHON_RAW] = MEMORY_PYTHON,
	[WIRE_HEAP_PYTHON_MEM] = MEMORY_PYTHON,
	[WIRE_HEAP_PYTHON_OBJECT] = MEMORY_PYTHON,
	[WIRE_MAP_ANONYMOUS] = MEMORY_ANONYMOUS,
	[WIRE_MAP_BREAK] = MEMORY_ANONYMOUS,
	[WIRE_MAP_SHARED] = MEMORY_SHARED,
	[WIRE_MAP_FILE] = MEMORY_FILE,
	[WIRE_MAP_RESERVED] = MEMORY_RESERVED,
	[WIRE_MAP_ARENA] = MEMORY_ARENA,
	[WIRE_MAP_ALLOCATOR] = MEMORY_ALLOCATOR,
};

struct memory_storing {
	struct collect *collect;
	const struct wire_file *file;
	const struct memory_owner *owner;
	struct memory_process row;
	uint64_t sizes[WIRE_SIZE_BUCKETS], lifetimes[WIRE_LIFETIME_BUCKETS];
};

static void add_totals(struct memory_storing *storing)
{
	const struct read_memory *memory = storing->file->memory;
	struct memory_process *row = &storing->row;
	uint64_t freed = 0;
	row->calls = memory->orphan_calls;
	row->allocated_bytes = memory->orphan_bytes;
	row->frees = memory->orphan_frees;
	for (size_t i = 0; i < storing->file->threads.len; i++) {
		const struct read_thread *thread = &storing->file->threads.items[i];
		row->calls += thread->allocated_calls;
		row->allocated_bytes += thread->allocated_bytes;
		row->frees += thread->freed_calls;
		freed += thread->freed_bytes;
	}
	row->freed_bytes = row->exact && freed <= INT64_MAX ? (int64_t)freed : -1;
}

/* What is live in the kinds that count, and how sure that and the peak are. */
static void add_sites(struct memory_storing *storing)
{
	const struct read_memory *memory = storing->file->memory;
	for (size_t i = 0; i < memory->sites.len; i++) {
		const struct read_site *site = &memory->sites.items[i];
		for (size_t k = 0; k < WIRE_SIZE_BUCKETS; k++)
			storing->sizes[k] += site->sizes[k];
		for (size_t k = 0; k < WIRE_LIFETIME_BUCKETS; k++)
			storing->lifetimes[k] += site->lifetimes[k];
		if (!memory_kind_is_counted(kinds[site->kind]))
			continue;
		storing->row.leaked_bytes += site->live.bytes;
		storing->row.leaked_variance += site->live.variance;
		storing->row.peak_variance += site->peak.variance;
	}
}

static char *note_of(const struct read_memory *memory)
{
	if (memory->allocator_kind == WIRE_ALLOCATOR_PROGRAM)
		return mem_strdup("the program has a malloc of its own: only what that asks of the C library is seen");
	if (memory->python_domains == WIRE_DOMAINS_PASSED)
		return mem_strdup(
			"Python's small blocks are not counted, only what it asks of malloc and mmap: its allocators "
			"are not those of CPython 3.6 to 3.13, or others were put in their place");
	return NULL;
}

/* What watching took: the most that was resident of it when that was asked, else what was mapped. */
static uint64_t agent_bytes(const struct wire_file *file)
{
	uint64_t most = 0;
	for (size_t i = 0; i < file->residents.len; i++) {
		uint64_t bytes = file->residents.items[i].agent_bytes;
		if (bytes <= INT64_MAX && bytes > most)
			most = bytes;
	}
	return most ? most : file->memory->own_bytes;
}

static bool store_totals(struct memory_storing *storing)
{
	const struct read_memory *memory = storing->file->memory;
	struct collect *collect = storing->collect;
	storing->row = (struct memory_process){
		.process_id = storing->owner->process_id,
		.exact = memory->period_bytes == 0,
		.period_bytes = memory->period_bytes,
		.peak_bytes = memory->peak_bytes,
		.peak_slack_bytes = storing->file->threads.len > 1 ? memory->peak_slack_bytes : 0,
		.peak_at_ns = collect_since_start(collect, memory->peak_mono_ns),
		.step_ns = memory->course_step_ns,
		.discarded_bytes = memory->discarded_bytes,
		.unknown_frees = memory->unknown_frees,
		.lost = memory->lost_calls + memory->missed_calls,
		.truncated = memory->truncated,
		.unmatched = memory->unmatched,
		.agent_bytes = agent_bytes(storing->file),
		.python_seen = memory->python_domains == WIRE_DOMAINS_SEEN,
		.allocator = memory->allocator[0] ? str_utf8_clean(memory->allocator, strlen(memory->allocator)) : NULL,
		.snapshots = memory->turns[WIRE_TURN_SNAPSHOT].count,
		.note = note_of(memory)};
	add_totals(storing);
	add_sites(storing);
	bool stored =
		collect_stored(collect, store_memory_process(collect->options->store, &storing->row, collect->err));
	free(storing->row.allocator);
	free(storing->row.note);
	return stored;
}

/* Whether the sums over all that is stored of the run still fit a signed number with this. */
static bool add_amounts(struct collect *collect, const struct memory_amount *amounts, int count)
{
	uint64_t bytes = collect->memory_bytes, counts = collect->memory_counts;
	for (int i = 0; i < count; i++) {
		if (amounts[i].bytes > INT64_MAX / 8 || amounts[i].count > INT64_MAX / 8)
			return false;
		bytes += amounts[i].bytes;
		counts += amounts[i].count;
	}
	if (bytes > INT64_MAX || counts > INT64_MAX)
		return false;
	collect->memory_bytes = bytes;
	collect->memory_counts = counts;
	return true;
}

/* "[0,12,3]": up to the last bucket that has any; NULL: none has. */
static char *bucket_text(const uint64_t *calls, size_t count)
{
	struct str text = {0};
	while (count && calls[count - 1] == 0)
		count--;
	if (!count)
		return NULL;
	for (size_t i = 0; i < count; i++)
		str_appendf(&text, "%c%llu", i ? ',' : '[', (unsigned long long)calls[i]);
	str_append_char(&text, ']');
	return str_take(&text);
}

/* How it went on from turn to turn, of the kinds of which there are enough. */
static bool store_growths(struct memory_storing *storing, const struct read_site *site, int64_t site_id)
{
	static const enum memory_turn turn_kinds[WIRE_TURN_KINDS] = {
		[WIRE_TURN_SNAPSHOT] = MEMORY_PER_SNAPSHOT, [WIRE_TURN_CHUNK] = MEMORY_PER_CHUNK};
	struct collect *collect = storing->collect;
	for (int i = 0; i < WIRE_TURN_KINDS; i++) {
		const struct read_turns *turns = &storing->file->memory->turns[i];
		const struct wire_growth *sums = &site->growth[i];
		struct memory_growth growth = {.site_id = site_id,
					       .points = turns->points,
					       .last_bytes = sums->last_y,
					       .sum_x = turns->sum_x,
					       .sum_y = sums->sum_y,
					       .sum_xx = turns->sum_xx,
					       .sum_xy = sums->sum_xy,
					       .sum_yy = sums->sum_yy,
					       .turns = turns->count};
		if (growth.points < 2 || growth.sum_y <= 0)
			continue;
		if (!collect_stored(collect,
				    store_memory_growth(collect->options->store, turn_kinds[i], &growth, collect->err)))
			return false;
	}
	return true;
}

static struct memory_amount amount_of(const struct read_amount *amount)
{
	return (struct memory_amount){amount->bytes, amount->calls, amount->samples, amount->variance};
}

static bool store_site(struct memory_storing *storing, const struct read_site *site)
{
	struct collect *collect = storing->collect;
	const struct memory_owner *owner = storing->owner;
	struct memory_site row = {.process_id = owner->process_id,
				  .thread_id = site->thread != WIRE_NOWHERE ? owner->threads[site->thread] : 0,
				  .stack_id = site->node != WIRE_NOWHERE ? owner->stacks[site->node] : 0,
				  .kind = kinds[site->kind],
				  .amounts = {[MEMORY_BY_PEAK] = amount_of(&site->peak),
					      [MEMORY_BY_LEAKED] = amount_of(&site->live),
					      [MEMORY_BY_ALLOCATED] = amount_of(&site->allocated),
					      [MEMORY_BY_TEMPORARY] = amount_of(&site->temporary)}};
	if (!add_amounts(collect, row.amounts, MEMORY_WEIGHT_COUNT)) {
		collect_remark(collect, storing->file->summary.stage_id, true,
			       "a process's memory profile is damaged: what makes no sense was left out");
		return true;
	}
	row.sizes = bucket_text(site->sizes, WIRE_SIZE_BUCKETS);
	row.lifetimes = bucket_text(site->lifetimes, WIRE_LIFETIME_BUCKETS);
	bool well = collect_stored(collect, store_memory_site(collect->options->store, &row, collect->err)) &&
		    store_growths(storing, site, row.id);
	free(row.sizes);
	free(row.lifetimes);
	return well;
}

static bool store_buckets(struct memory_storing *storing, enum memory_histogram what, const uint64_t *calls,
			  size_t count)
{
	struct collect *collect = storing->collect;
	bool well = true;
	for (size_t i = 0; i < count && well; i++) {
		/* wire_size_bucket: from 17, 33, …; wire_lifetime_bucket: each four times the one before. */
		uint64_t low = i == 0 ? 0 : what == MEMORY_BY_SIZE ? (16ull << (i - 1)) + 1 : 1024ull << (2 * (i - 1));
		struct memory_bucket bucket = {storing->owner->process_id, what, low, calls[i]};
		if (calls[i])
			well = collect_stored(collect,
					      store_memory_bucket(collect->options->store, &bucket, collect->err));
	}
	return well;
}

static bool store_course(struct memory_storing *storing)
{
	struct collect *collect = storing->collect;
	const struct read_memory *memory = storing->file->memory;
	bool well = true;
	for (size_t i = 0; i < memory->course.len && well; i++) {
		const struct read_moment *moment = &memory->course.items[i];
		struct memory_point point = {storing->owner->process_id, collect_since_start(collect, moment->mono_ns),
					     moment->last, moment->most};
		well = collect_stored(collect, store_memory_point(collect->options->store, &point, collect->err));
	}
	return well;
}

static int64_t known(uint64_t bytes)
{
	return bytes <= INT64_MAX ? (int64_t)bytes : -1;
}

static bool store_resident(struct memory_storing *storing, const struct wire_resident *resident)
{
	static const enum memory_cause causes[] = {[WIRE_RESIDENT_END] = MEMORY_AT_END,
						   [WIRE_RESIDENT_GROWTH] = MEMORY_AT_GROWTH,
						   [WIRE_RESIDENT_SNAPSHOT] = MEMORY_AT_SNAPSHOT};
	struct collect *collect = storing->collect;
	if (resident->cause < WIRE_RESIDENT_END || resident->cause > WIRE_RESIDENT_SNAPSHOT)
		return true;
	struct memory_resident row = {.process_id = storing->owner->process_id,
				      .at_ns = collect_since_start(collect, resident->mono_ns),
				      .cause = causes[resident->cause],
				      .live_bytes = resident->live_bytes > 0 ? resident->live_bytes : 0};
#define COPY_PART(name) row.name = known(resident->name);
	COPY_PART(python_bytes)
	COPY_PART(arena_bytes)
	COPY_PART(rss_bytes)
	COPY_PART(break_bytes)
	COPY_PART(anonymous_bytes)
	COPY_PART(stack_bytes)
	COPY_PART(file_bytes)
	COPY_PART(file_dirty_bytes)
	COPY_PART(shared_bytes)
	COPY_PART(agent_bytes)
	COPY_PART(swap_bytes)
	COPY_PART(malloc_arena_bytes)
	COPY_PART(malloc_mapped_bytes)
	COPY_PART(malloc_used_bytes)
	COPY_PART(malloc_free_bytes)
#undef COPY_PART
	return collect_stored(collect, store_memory_resident(collect->options->store, &row, collect->err));
}

/* Why there are no types; NULL: there are. */
static const char *types_absent(const struct read_types *types, bool python_seen)
{
	if (types->is_seen && types->items.len)
		return NULL;
	if (!python_seen || types->state == WIRE_TYPES_WAITING)
		return "no CPython whose allocators could be seen";
	if (types->state == WIRE_TYPES_ODD)
		return "this CPython lays its objects out otherwise (free-threaded, or built for debugging)";
	return "no block of an object was seen that could be looked at";
}

static bool store_types(struct memory_storing *storing)
{
	static const enum memory_type_kind type_kinds[] = {[WIRE_TYPE_NAMED] = MEMORY_TYPE_NAMED,
							   [WIRE_TYPE_OTHER] = MEMORY_TYPE_OTHER,
							   [WIRE_TYPE_UNKNOWN] = MEMORY_TYPE_UNKNOWN};
	const struct read_types *types = storing->file->types;
	struct collect *collect = storing->collect;
	if (!types)
		return true;
	const char *absent = types_absent(types, storing->row.python_seen);
	struct memory_look look = {.process_id = storing->owner->process_id,
				   .at_ns = absent ? -1 : (int64_t)collect_since_start(collect, types->mono_ns),
				   .live_bytes = types->live_bytes,
				   .period_bytes = types->period_bytes,
				   .looks = types->looks,
				   .cost_ns = types->cost_ns,
				   .absent = (char *)absent};
	bool well = collect_stored(collect, store_memory_look(collect->options->store, &look, collect->err));
	for (size_t i = 0; i < types->items.len && well && !absent; i++) {
		const struct read_type *type = &types->items.items[i];
		struct memory_type row = {.process_id = look.process_id,
					  .kind = type_kinds[type->kind],
					  .name = type->name,
					  .amount = {type->amount.bytes, type->amount.calls, type->amount.samples,
						     type->amount.variance}};
		if (add_amounts(collect, &row.amount, 1))
			well = collect_stored(collect, store_memory_type(collect->options->store, &row, collect->err));
	}
	return well;
}

/* What a person should hear, once per stage and kind. */
static void remark_on(const struct memory_storing *storing)
{
	const struct read_memory *memory = storing->file->memory;
	int64_t stage = storing->file->summary.stage_id;
	if (memory->allocator_kind == WIRE_ALLOCATOR_PROGRAM)
		collect_remark(storing->collect, stage, true,
			       "a program has a malloc of its own: only what that asks of the C library is seen");
	if (storing->row.lost > storing->row.calls / 100)
		collect_remark(storing->collect, stage, true,
			       "there was no room for more than 1 %% of the allocations: totals are right, places are "
			       "missing");
}

bool memory_store_all(struct collect *collect, const struct wire_file *file, const struct memory_owner *owner)
{
	struct memory_storing storing = {.collect = collect, .file = file, .owner = owner};
	if (!file->memory)
		return true;
	bool well = store_totals(&storing);
	for (size_t i = 0; i < file->memory->sites.len && well; i++)
		well = store_site(&storing, &file->memory->sites.items[i]);
	well = well && store_buckets(&storing, MEMORY_BY_SIZE, storing.sizes, WIRE_SIZE_BUCKETS) &&
	       store_buckets(&storing, MEMORY_BY_LIFETIME, storing.lifetimes, WIRE_LIFETIME_BUCKETS) &&
	       store_course(&storing);
	for (size_t i = 0; i < file->residents.len && well; i++)
		well = store_resident(&storing, &file->residents.items[i]);
	well = well && store_types(&storing);
	remark_on(&storing);
	struct stage_sum *sum = collect_stage_of(collect, file->summary.stage_id);
	if (sum) {
		sum->memory_images++;
		sum->memory_calls += storing.row.calls;
		sum->memory_bytes += storing.row.allocated_bytes;
		sum->memory_sampled = sum->memory_sampled || !storing.row.exact;
		if (storing.row.peak_bytes > sum->memory_peak)
			sum->memory_peak = storing.row.peak_bytes;
	}
	return well;
}
