/*
 * sample_memory.h - a small memory profile with known sums on top of sample_profile.h, for every test that needs one.
 *
 *	process 1, exact     site                    peak     leaked   allocated   temporary
 *	  1 malloc           train.py:9 load()       4000/40  1000/10  10000/100   5000/50
 *	  2 malloc           fma_step(), worker      6000/6   0        6000/6      0
 *	  3 python           train.py:5 train()      0        0        500/50      500/50
 *	  peak 10000 at 500 ms; load() grows by 100 bytes per snapshot
 *	process 2, sampled every 1000 bytes
 *	  4 malloc           compare()               2000/2   2000/2   4000/4      0         variances 250000, 1000000
 *	  peak 2000 at 1.2 s
 *
 * At 500 ms process 2 has nothing live, at 1.2 s process 1 has 1000 bytes: the peak of both is process 1's.
 */
#ifndef PITOT_TESTS_SAMPLE_MEMORY_H
#define PITOT_TESTS_SAMPLE_MEMORY_H

#include "sample_profile.h"
#include "store/memory.h"

static inline void sample_memory_sites(struct memory_data *data)
{
	static const struct memory_site sites[] = {
		{.process_id = 1,
		 .thread_id = 1,
		 .stack_id = STACK_LOAD,
		 .kind = MEMORY_MALLOC,
		 .amounts = {{4000, 40, 0, 0}, {1000, 10, 0, 0}, {10000, 100, 0, 0}, {5000, 50, 0, 0}}},
		{.process_id = 1,
		 .thread_id = 2,
		 .stack_id = STACK_WORKER_FMA,
		 .kind = MEMORY_MALLOC,
		 .amounts = {{6000, 6, 0, 0}, {0}, {6000, 6, 0, 0}, {0}}},
		{.process_id = 1,
		 .stack_id = STACK_TRAIN,
		 .kind = MEMORY_PYTHON,
		 .amounts = {{0}, {0}, {500, 50, 0, 0}, {500, 50, 0, 0}}},
		{.process_id = 2,
		 .thread_id = 3,
		 .stack_id = STACK_COMPARE,
		 .kind = MEMORY_MALLOC,
		 .amounts = {{2000, 2, 1, 250000}, {2000, 2, 1, 250000}, {4000, 4, 4, 1000000}, {0}}},
	};
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		struct memory_site *site = vec_add(&data->sites);
		*site = sites[i];
		site->id = (int64_t)i + 1;
	}
}

static inline void sample_memory_processes(struct memory_data *data)
{
	vec_push(&data->processes, ((struct memory_process){.process_id = 1,
							    .exact = true,
							    .calls = 156,
							    .allocated_bytes = 16500,
							    .frees = 146,
							    .freed_bytes = 15500,
							    .peak_bytes = 10000,
							    .peak_at_ns = 500000000,
							    .leaked_bytes = 1000,
							    .python_seen = true,
							    .step_ns = 100000000,
							    .snapshots = 10}));
	vec_push(&data->processes, ((struct memory_process){.process_id = 2,
							    .period_bytes = 1000,
							    .calls = 40,
							    .allocated_bytes = 4100,
							    .frees = 20,
							    .freed_bytes = -1,
							    .peak_bytes = 2000,
							    .peak_variance = 250000,
							    .peak_at_ns = 1200000000,
							    .leaked_bytes = 2000,
							    .leaked_variance = 250000,
							    .lost = 1,
							    .step_ns = 100000000,
							    .allocator = mem_strdup("/usr/lib/libjemalloc.so.2"),
							    .note = mem_strdup("it ran out of room")}));
}

static inline void sample_memory_times(struct memory_data *data)
{
	vec_push(&data->points, ((struct memory_point){1, 100000000, 1000, 2000}));
	vec_push(&data->points, ((struct memory_point){1, 500000000, 10000, 10000}));
	vec_push(&data->points, ((struct memory_point){1, 1000000000, 1000, 9000}));
	vec_push(&data->points, ((struct memory_point){2, 1200000000, 2000, 2000}));
	/* y = 100 (x + 1) for x = 0 to 9 */
	vec_push(&data->growths[MEMORY_PER_SNAPSHOT],
		 ((struct memory_growth){1, 10, 1000, 45, 5500, 285, 33000, 3850000, 10}));
	vec_push(&data->buckets, ((struct memory_bucket){1, MEMORY_BY_LIFETIME, 1024, 146}));
	vec_push(&data->buckets, ((struct memory_bucket){1, MEMORY_BY_SIZE, 64, 150}));
	vec_push(&data->buckets, ((struct memory_bucket){1, MEMORY_BY_SIZE, 512, 6}));
	vec_push(&data->residents, ((struct memory_resident){.process_id = 1,
							     .at_ns = 1900000000,
							     .cause = MEMORY_AT_END,
							     .live_bytes = 1000,
							     .python_bytes = 200,
							     .arena_bytes = 1000,
							     .rss_bytes = 10000,
							     .break_bytes = 3000,
							     .anonymous_bytes = 2500,
							     .stack_bytes = 500,
							     .file_bytes = 3000,
							     .file_dirty_bytes = 500,
							     .shared_bytes = 400,
							     .agent_bytes = 100,
							     .swap_bytes = -1,
							     .malloc_arena_bytes = 3000,
							     .malloc_used_bytes = 1000,
							     .malloc_free_bytes = 2000}));
}

/* Process 1 was looked at, process 2 was not. */
static inline void sample_memory_types(struct memory_data *data)
{
	vec_push(&data->looks, ((struct memory_look){.process_id = 1,
						     .at_ns = 480000000,
						     .live_bytes = 9000,
						     .period_bytes = 100,
						     .looks = 7,
						     .cost_ns = 1000}));
	vec_push(&data->looks,
		 ((struct memory_look){.process_id = 2, .at_ns = -1, .absent = mem_strdup("no interpreter")}));
	vec_push(&data->types,
		 ((struct memory_type){1, MEMORY_TYPE_NAMED, mem_strdup("Row"), {6000, 125, 60, 600000}}));
	vec_push(&data->types, ((struct memory_type){1, MEMORY_TYPE_UNKNOWN, NULL, {2000, 10, 20, 200000}}));
}

static inline struct memory_data *sample_memory_new(void)
{
	struct memory_data *data = mem_alloc(sizeof(*data));
	sample_memory_processes(data);
	sample_memory_sites(data);
	sample_memory_times(data);
	sample_memory_types(data);
	return data;
}

/* After sample_profile_store. */
static inline int sample_memory_store(struct store *store, struct memory_data *data, struct err *err)
{
	int code = 0;
#define STORE_ALL(list, function)                                                                                      \
	for (size_t i = 0; i < data->list.len && !code; i++)                                                           \
	code = function(store, &data->list.items[i], err)
	STORE_ALL(processes, store_memory_process);
	STORE_ALL(sites, store_memory_site);
	STORE_ALL(buckets, store_memory_bucket);
	STORE_ALL(points, store_memory_point);
	for (int turn = 0; turn < MEMORY_TURN_COUNT; turn++)
		for (size_t i = 0; i < data->growths[turn].len && !code; i++)
			code = store_memory_growth(store, (enum memory_turn)turn, &data->growths[turn].items[i], err);
	STORE_ALL(residents, store_memory_resident);
	STORE_ALL(looks, store_memory_look);
	STORE_ALL(types, store_memory_type);
#undef STORE_ALL
	return code;
}

#endif
