/*
 * test_memory_many.c - a memory profile of very many sites: the report's work grows with the sites as they do, whatever the
 * number of events was that they stand for.
 */
#include "unit.h"

#include "analyze/memory_report.h"
#include "base/mem.h"

#include <stdio.h>
#include <time.h>

enum { FEW = 50000, MANY = 200000, FUNCTIONS = 1000, DEPTH = 6 };

/* Stacks of DEPTH frames that share their beginnings, each site one of its own; a billion calls each. */
static void make(size_t sites, struct profile_data *profile, struct memory_data *memory)
{
	vec_push(&profile->processes, ((struct profile_process){.id = 1,
								.stage_id = 1,
								.pid = 1,
								.end_ns = 1000,
								.executable = mem_strdup("/bin/many"),
								.end = mem_strdup("exit")}));
	vec_push(&profile->threads,
		 ((struct profile_thread){
			 .id = 1, .process_id = 1, .tid = 1, .is_main = true, .name = mem_strdup("many")}));
	for (int i = 0; i < FUNCTIONS; i++)
		vec_push(&profile->frames, ((struct profile_frame){.id = i + 1,
								   .kind = FRAME_NATIVE,
								   .function = mem_printf("function_%d", i),
								   .file = mem_printf("/src/%d.c", i / 10),
								   .line = i + 1}));
	for (size_t i = 0; i < sites; i++) {
		int64_t parent = 0;
		for (int depth = 0; depth < DEPTH; depth++) {
			bool shared = depth < DEPTH - 2;
			vec_push(&profile->stacks,
				 ((struct profile_stack){
					 .id = (int64_t)profile->stacks.len + 1,
					 .parent = parent,
					 .frame_id = 1 + (int64_t)((shared ? i / 97 : i) * 31 + (size_t)depth) %
								 FUNCTIONS}));
			parent = (int64_t)profile->stacks.len;
		}
		vec_push(&memory->sites,
			 ((struct memory_site){
				 .id = (int64_t)i + 1,
				 .process_id = 1,
				 .thread_id = 1,
				 .stack_id = parent,
				 .kind = MEMORY_MALLOC,
				 .amounts = {{i + 1, 1, 0, 0}, {0}, {1000000000, 1000000000, 0, 0}, {0}}}));
	}
	vec_push(&memory->processes, ((struct memory_process){.process_id = 1,
							      .exact = true,
							      .calls = sites * 1000000000,
							      .peak_bytes = sites * (sites + 1) / 2,
							      .peak_at_ns = 500,
							      .freed_bytes = -1}));
}

static void drop(struct profile_data *profile, struct memory_data *memory)
{
	profile_data_free(profile);
	memory_data_free(memory);
}

/* Processor time of one report; the least of three, because others use the machine as well. */
static double cost_of(size_t sites)
{
	double best = 1e9;
	struct profile_data *profile = mem_alloc(sizeof(*profile));
	struct memory_data *memory = mem_alloc(sizeof(*memory));
	struct stage_record record = {.row = {.id = 1, .end_ns = 1000}};
	const struct stage_record *records[] = {&record};
	make(sites, profile, memory);
	for (int i = 0; i < 3; i++) {
		struct timespec before, after;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
		struct memory_report *report =
			memory_report_new(profile, memory, &(struct code_stage){records, 1}, &(struct code_request){0});
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
		assert_int_equal(report->sites.len, sites);
		assert_true(report->peak.bytes == (double)sites * (double)(sites + 1) / 2);
		assert_true(report->tables[MEMORY_BY_PEAK].all.bytes == report->peak.bytes);
		assert_true(report->tables[MEMORY_BY_PEAK].functions.items.len <= FUNCTIONS);
		memory_report_free(report);
		double took = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
		best = took < best ? took : best;
	}
	drop(profile, memory);
	return best;
}

static void four_times_the_sites_cost_about_four_times_as_much(void **state)
{
	(void)state;
	double few = cost_of(FEW), many = cost_of(MANY);
	printf("%d sites: %.0f ms, %d sites: %.0f ms of CPU time\n", FEW, 1e3 * few, MANY, 1e3 * many);
	/* Sorting adds a little, caches that no longer hold it some more; a quadratic step would make it 16. */
	assert_true(many < 10 * few);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(four_times_the_sites_cost_about_four_times_as_much),
};

UNIT_MAIN(tests)
