/*
 * measure_memory.c - see measure.h: bandwidth of the caches and of memory.
 *
 * A cache is measured with a working set that does not fit the level above it and fits it well; among those the sweep over
 * working sets says which one. Memory is measured by STREAM's rule: each array at least four times the last-level caches
 * that the threads have. All kernels walk over the same number of bytes, so those with fewer arrays have longer ones.
 */
#include "base/file.h"
#include "model/measure.h"
#include "model/stream.h"
#include "probe/host_limits.h"
#include "probe/kernel_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAD = 17 * 8, /* doubles: arrays that begin at the same place of a page get in each other's way */
	HUGE = 2 << 20,
	SMALLEST = 8 << 10,
	STREAM_RULE = 4, /* each array is so many times the caches */
	ARRAYS = 3,
};

static const uint64_t UNTOLD_CACHE = 32 << 20; /* what is taken for the last level where the machine does not tell */

/* One block of memory per member, made and touched by the member itself. */
struct blocks {
	size_t bytes; /* that kernels walk over, per member */
	VEC(void *) items;
	/* What runs now. */
	stream_fn *fn;
	size_t count, arrays;
};

static volatile double sink;

static size_t block_room(const struct blocks *blocks)
{
	return (blocks->bytes + ARRAYS * (PAD + STREAM_STEP) * sizeof(double) + HUGE - 1) / HUGE * HUGE;
}

static void touch_block(void *opaque, size_t member)
{
	struct blocks *blocks = opaque;
	size_t room = block_room(blocks);
	if (blocks->items.items[member])
		return;
	/* A whole huge page more, so that the block can begin at one. */
	char *map = mmap(NULL, room + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return;
	size_t before = (HUGE - (uintptr_t)map % HUGE) % HUGE;
	void *block = map + before;
	if (before)
		munmap(map, before);
	munmap(map + before + room, HUGE - before);
	madvise(block, room, MADV_HUGEPAGE);
	double *values = blocks->items.items[member] = block;
	for (size_t i = 0; i < room / sizeof(double); i++)
		values[i] = 1.0;
}

static void run_stream(void *opaque, size_t member, uint64_t passes)
{
	struct blocks *blocks = opaque;
	const double *x = blocks->items.items[member];
	size_t stride = blocks->count + PAD;
	if (!x)
		return;
	double *to = (double *)blocks->items.items[member] + (blocks->arrays - 1) * stride, total = 0;
	for (uint64_t i = 0; i < passes; i++)
		total += blocks->fn(to, x, x + stride, blocks->count);
	sink = total;
}

static void blocks_init(struct blocks *blocks, size_t bytes, size_t members)
{
	*blocks = (struct blocks){.bytes = bytes};
	for (size_t i = 0; i < members; i++)
		vec_push(&blocks->items, NULL);
}

static void blocks_fini(struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->items.len; i++)
		if (blocks->items.items[i])
			munmap(blocks->items.items[i], block_room(blocks));
	vec_fini(&blocks->items);
}

/* The load that walks over `bytes` of each member's block with one kernel. */
static struct measure_load stream_load(struct blocks *blocks, enum stream_kernel kernel, bool non_temporal,
				       size_t bytes)
{
	blocks->arrays = (size_t)(stream_bytes(kernel, 1) / sizeof(double));
	blocks->fn = stream_find(kernel, non_temporal);
	blocks->count = bytes / sizeof(double) / blocks->arrays / STREAM_STEP * STREAM_STEP;
	return (struct measure_load){.work = {.prepare = touch_block, .run = run_stream, .context = blocks},
				     .amount = stream_bytes(kernel, blocks->count),
				     .members = (unsigned)blocks->items.len};
}

static bool blocks_whole(const struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->items.len; i++)
		if (!blocks->items.items[i])
			return false;
	return true;
}

static const struct topology_cpu *member_cpu(const struct measure *measure, size_t member)
{
	return topology_find(measure->request->topology, measure->team.items.items[member]);
}

/* Bytes of all last-level caches that the members have between them. */
static uint64_t last_caches(const struct measure *measure, unsigned members)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < members; i++) {
		const struct topology_cpu *cpu = member_cpu(measure, i);
		int level = topology_last_level(cpu);
		bool counted = level == 0;
		for (unsigned k = 0; k < i && !counted; k++) {
			const struct topology_cpu *other = member_cpu(measure, k);
			counted = topology_last_level(other) == level &&
				  other->cache_owner[level] == cpu->cache_owner[level];
		}
		sum += counted ? 0 : cpu->cache_bytes[level];
	}
	return sum ? sum : UNTOLD_CACHE;
}

static uint64_t memory_left(void)
{
	char text[4096];
	uint64_t kib, limit, left = UINT64_MAX;
	if (kernel_text(text, sizeof(text), "%s/meminfo", file_procfs()) &&
	    kernel_find_u64(text, "MemAvailable:", NULL, &kib))
		left = kib * 1024;
	if (host_memory_limit(&limit) && limit < left)
		left = limit;
	return left;
}

void measure_sweep(struct measure *measure)
{
	struct blocks blocks;
	uint64_t largest = STREAM_RULE * last_caches(measure, 1);
	if (largest > memory_left() / 2)
		largest = memory_left() / 2;
	measure_tell(measure, "working sets");
	blocks_init(&blocks, largest, 1);
	for (double bytes = SMALLEST; bytes <= (double)largest; bytes *= measure->plan->sweep_factor) {
		struct machine_rate rate = {0};
		struct measure_load load = stream_load(&blocks, STREAM_READ, false, (size_t)bytes);
		load.repeats = MEASURE_LEAST + 2;
		load.repeat_s = measure->plan->repeat_s / 4;
		if (measure_values(measure, &load, &rate, NULL) != 0 || !blocks_whole(&blocks))
			break;
		struct machine_point point = {.bytes = blocks.count * sizeof(double), .best = rate.best};
		vec_push(&measure->machine->sweep, point);
	}
	blocks_fini(&blocks);
}

/* Of the working sets that fit the level and not the one above, the fastest. */
static uint64_t working_set(const struct measure *measure, uint64_t above, uint64_t bytes)
{
	uint64_t chosen = 0;
	double best = 0;
	for (size_t i = 0; i < measure->machine->sweep.len; i++) {
		const struct machine_point *point = &measure->machine->sweep.items[i];
		if (point->bytes >= 2 * above && point->bytes <= bytes / 4 * 3 && point->best > best) {
			chosen = point->bytes;
			best = point->best;
		}
	}
	return chosen ? chosen : bytes / 2;
}

/* What each member may walk over so that all of them together stay within a cache that some share; 0: too little. */
static uint64_t member_share(const struct measure *measure, int level, unsigned members, uint64_t above, uint64_t bytes)
{
	unsigned most = 1;
	for (unsigned i = 0; i < members; i++) {
		unsigned sharing = 0;
		for (unsigned k = 0; k < members; k++)
			sharing += member_cpu(measure, k)->cache_owner[level] ==
				   member_cpu(measure, i)->cache_owner[level];
		most = sharing > most ? sharing : most;
	}
	uint64_t chosen = working_set(measure, above, bytes), room = bytes / 4 * 3 / most;
	chosen = chosen < room ? chosen : room;
	return chosen >= above + above / 4 ? chosen : 0;
}

static void measure_kernel(struct measure *measure, struct blocks *blocks, struct machine_rate *rate,
			   enum stream_kernel kernel, bool non_temporal)
{
	struct measure_load load = stream_load(blocks, kernel, non_temporal, blocks->bytes);
	bool memory = strcmp(rate->what, "memory") == 0;
	char words[32];
	struct err err;
	rate->non_temporal = non_temporal;
	rate->size = (uint64_t)blocks->count * sizeof(double) * blocks->arrays * blocks->items.len;
	load.repeats = memory ? measure->plan->memory_repeats : measure->plan->repeats;
	load.repeat_s = memory ? 0 : measure->plan->repeat_s;
	snprintf(rate->how, sizeof(rate->how), "%s", stream_name(kernel));
	snprintf(rate->source, sizeof(rate->source), "%s, %zu array%s a thread of %zu KiB%s", stream_isa(),
		 blocks->arrays, blocks->arrays == 1 ? "" : "s", blocks->count * sizeof(double) >> 10,
		 non_temporal            ? ", non-temporal stores"
		 : kernel == STREAM_READ ? ""
					 : ", write-allocate not counted");
	measure_tell(measure, "%s %s, %s", rate->what, rate->how, measure_threads(rate->threads, words, sizeof(words)));
	if (measure_values(measure, &load, rate, &err) != 0)
		measure_absent(measure, rate, "%.*s", MACHINE_TEXT_SIZE - 1, err.text);
	else if (!blocks_whole(blocks))
		measure_absent(measure, rate, "not enough memory for the arrays");
	else
		vec_push(&measure->machine->rates, *rate);
}

static void measure_level(struct measure *measure, const char *name, uint64_t member_bytes, unsigned threads)
{
	bool memory = strcmp(name, "memory") == 0;
	struct blocks blocks;
	blocks_init(&blocks, member_bytes, threads);
	for (int kernel = 0; kernel < STREAM_KERNEL_COUNT; kernel++) {
		bool wanted = measure->plan->all_kernels || kernel == STREAM_READ || kernel == STREAM_TRIAD;
		for (int past = 0; wanted && past < (memory ? 2 : 1); past++) {
			struct machine_rate rate = {.kind = MACHINE_BANDWIDTH, .threads = threads};
			snprintf(rate.what, sizeof(rate.what), "%s", name);
			if (stream_find(kernel, past))
				measure_kernel(measure, &blocks, &rate, kernel, past);
		}
	}
	blocks_fini(&blocks);
}

static void absent_level(struct measure *measure, const char *name, unsigned threads, const char *reason)
{
	struct machine_rate rate = {.kind = MACHINE_BANDWIDTH, .how = "triad", .threads = threads};
	snprintf(rate.what, sizeof(rate.what), "%s", name);
	measure_absent(measure, &rate, "%s", reason);
}

static void measure_memory(struct measure *measure, unsigned threads)
{
	uint64_t bytes = STREAM_RULE * ARRAYS * last_caches(measure, threads), left = memory_left();
	char reason[MACHINE_TEXT_SIZE];
	if (bytes <= left / 5 * 4) {
		measure_level(measure, "memory", bytes / threads + ARRAYS * STREAM_STEP * sizeof(double), threads);
		return;
	}
	snprintf(reason, sizeof(reason),
		 "needs arrays of %llu MiB in all, four times the caches each; %llu MiB are free",
		 (unsigned long long)(bytes >> 20), (unsigned long long)(left >> 20));
	absent_level(measure, "memory", threads, reason);
}

void measure_bandwidth(struct measure *measure, unsigned threads)
{
	const struct topology_cpu *cpu = member_cpu(measure, 0);
	uint64_t above = 0;
	for (int level = 1; level <= 3 || cpu->cache_bytes[level]; level++) {
		char name[8];
		uint64_t bytes = cpu->cache_bytes[level];
		snprintf(name, sizeof(name), "L%d", level);
		uint64_t share = bytes ? member_share(measure, level, threads, above, bytes) : 0;
		if (share)
			measure_level(measure, name, share, threads);
		else
			absent_level(measure, name, threads,
				     bytes ? "a core's share of it is hardly larger than the cache above it"
					   : "the machine does not tell of such a cache");
		above = bytes ? bytes : above;
		if (level == TOPOLOGY_LEVELS)
			break;
	}
	measure_memory(measure, threads);
}
