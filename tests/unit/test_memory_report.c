/*
 * test_memory_report.c - what a memory profile with known sums says: by line, function and thread, at the peak of all
 * processes, with intervals where it was sampled; what grows; and what resident memory is.
 */
#include "unit.h"

#include "analyze/memory_report.h"
#include "sample_memory.h"
#include "stats/rng.h"

#include <math.h>
#include <string.h>

struct fixture {
	struct profile_data *profile;
	struct memory_data *memory;
	struct stage_record first, second;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->profile = sample_profile_new();
	f->memory = sample_memory_new();
	f->first.row = (struct stage_row){.id = 1, .name = "train", .end_ns = 2000000000};
	f->second.row = (struct stage_row){.id = 2, .name = "sort", .end_ns = 2000000000};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	profile_data_free(f->profile);
	memory_data_free(f->memory);
	free(f);
	return 0;
}

static struct memory_report *report_of(struct fixture *f, const struct stage_record *record,
				       const struct code_request *request)
{
	const struct stage_record *records[] = {record};
	struct code_stage stage = {records, 1};
	return memory_report_new(f->profile, f->memory, &stage, request);
}

static const struct memory_row *find(const struct memory_rows *rows, const char *function)
{
	for (size_t i = 0; i < rows->items.len; i++)
		if (rows->items.items[i].place.function && strcmp(rows->items.items[i].place.function, function) == 0)
			return &rows->items.items[i];
	return NULL;
}

static void assert_bytes(const struct memory_estimate *estimate, double bytes, double count)
{
	assert_true(fabs(estimate->bytes - bytes) < 1e-6);
	assert_true(fabs(estimate->count - count) < 1e-6);
}

static void exact_sites_are_told_to_the_byte(void **state)
{
	struct fixture *f = *state;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	assert_non_null(report);
	assert_true(report->allocated_bytes == 16500 && report->calls == 156);
	assert_bytes(&report->peak, 10000, 46);
	assert_true(report->peak.low == 10000 && report->peak.high == 10000);
	assert_true(fabs(report->peak_at_s - 0.5) < 1e-9);
	const struct memory_table *peak = &report->tables[MEMORY_BY_PEAK];
	const struct memory_row *load = find(&peak->lines, "load");
	assert_non_null(load);
	assert_bytes(&load->self, 4000, 40);
	assert_true(load->self.low == 4000 && load->self.high == 4000 && fabs(load->self.share - 0.4) < 1e-9);
	assert_bytes(&find(&report->tables[MEMORY_BY_LEAKED].lines, "load")->self, 1000, 10);
	assert_bytes(&find(&report->tables[MEMORY_BY_ALLOCATED].lines, "load")->self, 10000, 100);
	assert_bytes(&find(&report->tables[MEMORY_BY_TEMPORARY].lines, "load")->self, 5000, 50);
	assert_bytes(&find(&report->tables[MEMORY_BY_TEMPORARY].lines, "train")->self, 500, 50);
	assert_null(find(&report->tables[MEMORY_BY_LEAKED].lines, "train"));
	assert_bytes(&report->tables[MEMORY_BY_ALLOCATED].all, 16500, 156);
	memory_report_free(report);
}

static void threads_and_kinds_add_up_to_the_whole(void **state)
{
	struct fixture *f = *state;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++) {
		const struct memory_table *table = &report->tables[i];
		double threads = 0, kinds = 0, lines = 0, functions = 0;
		for (size_t k = 0; k < table->threads.len; k++)
			threads += table->threads.items[k].amount.bytes;
		for (int k = 0; k < MEMORY_KIND_COUNT; k++)
			kinds += table->kinds[k].bytes;
		for (size_t k = 0; k < table->lines.items.len; k++)
			lines += table->lines.items.items[k].self.bytes;
		for (size_t k = 0; k < table->functions.items.len; k++)
			functions += table->functions.items.items[k].self.bytes;
		assert_true(threads == table->all.bytes && kinds == table->all.bytes);
		assert_true(lines == table->all.bytes && functions == table->all.bytes);
	}
	/* The site whose thread is not known is the main thread's. */
	assert_true(report->tables[MEMORY_BY_TEMPORARY].threads.items[0].thread->tid ==
		    f->profile->threads.items[0].tid);
	memory_report_free(report);
}

static void callers_have_what_they_call_in_their_total(void **state)
{
	struct fixture *f = *state;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){.view = CODE_PYTHON});
	const struct memory_row *load = find(&report->tables[MEMORY_BY_ALLOCATED].functions, "load");
	assert_bytes(&load->total, 10000, 100);
	assert_true(report->view == CODE_PYTHON);
	/* What the worker allocated has no Python frame: it counts for the whole, not for a function. */
	assert_null(find(&report->tables[MEMORY_BY_ALLOCATED].functions, "fma_step"));
	assert_bytes(&report->tables[MEMORY_BY_ALLOCATED].all, 16500, 156);
	memory_report_free(report);
}

static void sampled_sites_have_an_interval_that_is_wider_above(void **state)
{
	struct fixture *f = *state;
	struct memory_report *report = report_of(f, &f->second, &(struct code_request){0});
	const struct memory_estimate *self = &find(&report->tables[MEMORY_BY_ALLOCATED].lines, "compare")->self;
	/* Four samples with a variance of 1e6 and a period of 1000: Wilson's interval for a count, times the period. */
	double z = 2.575829303548901, middle = 4000 + 1000 * z * z / 2, half = z * sqrt(1e6 + 1e6 * z * z / 4);
	assert_bytes(self, 4000, 4);
	assert_true(fabs(self->low - (middle - half)) < 1e-6 && fabs(self->high - (middle + half)) < 1e-6);
	assert_true(self->high - 4000 > 4000 - self->low && self->low > 0);
	assert_true(report->peak.low < 2000 && report->peak.high > 2000);
	assert_int_equal(report->quality.sampled, 1);
	assert_int_equal(report->quality.lost, 1);
	assert_string_equal(report->quality.notes.items.items[0].text, "it ran out of room");
	memory_report_free(report);
}

/* Both in one stage: at process 1's peak process 2 has not begun. */
static void the_peak_of_all_is_not_the_sum_of_the_peaks(void **state)
{
	struct fixture *f = *state;
	f->profile->processes.items[1].stage_id = 1;
	f->profile->processes.items[1].start_ns = 1100000000;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	assert_true(report->peak.bytes == 10000);
	assert_int_equal(report->peak_processes, 1);
	assert_false(report->quality.scaled);
	assert_null(find(&report->tables[MEMORY_BY_PEAK].lines, "compare"));
	assert_non_null(find(&report->tables[MEMORY_BY_ALLOCATED].lines, "compare"));
	memory_report_free(report);
}

/* Process 2 has its 2000 while process 1 still has 9000 of its 10000: together 11000, process 1's sites in proportion. */
static void processes_that_are_past_their_peak_count_in_proportion(void **state)
{
	struct fixture *f = *state;
	f->profile->processes.items[1].stage_id = 1;
	f->memory->points.items[3].at_ns = 1000000000;
	f->memory->processes.items[1].peak_at_ns = 1050000000;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	assert_true(report->peak.bytes == 11000);
	assert_int_equal(report->peak_processes, 2);
	assert_true(report->quality.scaled);
	assert_bytes(&find(&report->tables[MEMORY_BY_PEAK].lines, "load")->self, 3600, 36);
	assert_bytes(&find(&report->tables[MEMORY_BY_PEAK].lines, "compare")->self, 2000, 2);
	memory_report_free(report);
}

static void one_process_can_be_asked_for(void **state)
{
	struct fixture *f = *state;
	f->profile->processes.items[1].stage_id = 1;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){.pid = 200});
	assert_true(report->cut);
	assert_int_equal(report->processes.len, 1);
	assert_true(report->allocated_bytes == 4100 && report->peak.bytes == 2000);
	memory_report_free(report);
	report = report_of(f, &f->first, &(struct code_request){.pid = 77});
	assert_null(report);
}

static void a_line_that_grows_is_told_with_its_slope(void **state)
{
	struct fixture *f = *state;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	assert_int_equal(report->trends.len, 1);
	const struct memory_trend *trend = &report->trends.items[0];
	assert_true(trend->grows && fabs(trend->bytes - 100) < 1e-6);
	assert_true(fabs(trend->low - 100) < 1e-3 && fabs(trend->high - 100) < 1e-3);
	assert_string_equal(trend->place.function, "load");
	memory_report_free(report);
}

static void set_growth(struct memory_growth *growth, const double *y, size_t count)
{
	*growth = (struct memory_growth){.site_id = 1, .points = count, .last_bytes = y[count - 1]};
	for (size_t i = 0; i < count; i++) {
		double x = (double)i;
		growth->sum_x += x;
		growth->sum_y += y[i];
		growth->sum_xx += x * x;
		growth->sum_xy += x * y[i];
		growth->sum_yy += y[i] * y[i];
	}
}

static void noise_and_a_cache_that_fills_once_are_no_leaks(void **state)
{
	struct fixture *f = *state;
	static const double noise[] = {900, 1100, 1000, 950, 1050, 1000, 1100, 980, 1020, 1010};
	static const double cache[] = {0, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 5000};
	static const double few[] = {0, 5000};
	set_growth(&f->memory->growths[MEMORY_PER_SNAPSHOT].items[0], noise, 10);
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	assert_true(report->trends.len == 0 || !report->trends.items[0].grows);
	memory_report_free(report);
	set_growth(&f->memory->growths[MEMORY_PER_SNAPSHOT].items[0], cache, 10);
	report = report_of(f, &f->first, &(struct code_request){0});
	assert_true(report->trends.len == 1 && !report->trends.items[0].grows);
	memory_report_free(report);
	set_growth(&f->memory->growths[MEMORY_PER_SNAPSHOT].items[0], few, 2);
	report = report_of(f, &f->first, &(struct code_request){0});
	assert_int_equal(report->trends.len, 0);
	memory_report_free(report);
}

/* ---- sampled: which blocks were seen stays with the line from turn to turn */

enum { TURNS = 60, BLOCK = 300000, PERIOD = 524288, TRIALS = 200, HELD = 100 };

/* Live bytes as a sampling agent has them: of a site that keeps one block more at each turn, or always has `HELD` and replaces one. */
static void sample_turns(struct rng *rng, bool leaks, double *y)
{
	double p = 1 - exp(-(double)BLOCK / PERIOD), worth = BLOCK / p;
	bool seen[HELD];
	double live = 0;
	for (int i = 0; i < HELD; i++) {
		seen[i] = !leaks && rng_uniform(rng) < p;
		live += seen[i] ? worth : 0;
	}
	for (int turn = 0; turn < TURNS; turn++) {
		size_t place = leaks ? 0 : rng_below(rng, HELD);
		live -= !leaks && seen[place] ? worth : 0;
		seen[place] = rng_uniform(rng) < p;
		live += seen[place] ? worth : 0;
		y[turn] = live;
	}
}

/* The line's trend; bytes 0: it has none. */
static struct memory_trend sampled_trend(struct fixture *f, struct rng *rng, bool leaks)
{
	double y[TURNS], p = 1 - exp(-(double)BLOCK / PERIOD), worth = BLOCK / p;
	sample_turns(rng, leaks, y);
	struct memory_amount *all = &f->memory->sites.items[0].amounts[MEMORY_BY_ALLOCATED];
	*all = (struct memory_amount){(uint64_t)(30 * worth), 30, 30, 30 * (1 - p) * worth * worth};
	struct memory_growth *growth = &f->memory->growths[MEMORY_PER_SNAPSHOT].items[0];
	set_growth(growth, y, TURNS);
	growth->turns = TURNS;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	struct memory_trend trend = {0};
	if (report->trends.len)
		trend = report->trends.items[0];
	memory_report_free(report);
	return trend;
}

static void growth_of_sampled_sites_lies_within_its_interval(void **state)
{
	struct rng rng;
	int within = 0, told = 0;
	rng_init(&rng, 20240);
	for (int i = 0; i < TRIALS; i++) {
		struct memory_trend trend = sampled_trend(*state, &rng, true);
		within += trend.low <= BLOCK && BLOCK <= trend.high;
		told += trend.grows;
	}
	assert_in_range(within, TRIALS * 95 / 100, TRIALS);
	assert_in_range(told, TRIALS * 95 / 100, TRIALS);
}

static void sampled_blocks_that_are_replaced_slowly_are_no_leak(void **state)
{
	struct rng rng;
	int told = 0;
	rng_init(&rng, 20241);
	for (int i = 0; i < TRIALS; i++)
		told += sampled_trend(*state, &rng, false).grows;
	assert_in_range(told, 0, TRIALS * 5 / 100);
}

static void chunks_and_snapshots_are_kept_apart(void **state)
{
	struct fixture *f = *state;
	/* Looked at three times in 21 chunks: y = 50 x + 10 */
	vec_push(&f->memory->growths[MEMORY_PER_CHUNK],
		 ((struct memory_growth){1, 3, 1010, 30, 1530, 500, 25300, 1280300, 21}));
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	assert_int_equal(report->trends.len, 2);
	const struct memory_trend *chunk = &report->trends.items[0], *snapshot = &report->trends.items[1];
	assert_true(chunk->per == MEMORY_PER_CHUNK && chunk->grows && fabs(chunk->bytes - 50) < 1e-6);
	assert_true(chunk->turns == 21 && chunk->points == 3);
	assert_true(snapshot->per == MEMORY_PER_SNAPSHOT && snapshot->grows && fabs(snapshot->bytes - 100) < 1e-6);
	memory_report_free(report);
}

static void objects_are_those_of_the_process_that_was_looked_at(void **state)
{
	struct fixture *f = *state;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	const struct memory_types *types = &report->types;
	assert_true(types->look == &f->memory->looks.items[0] && types->peak_bytes == 10000 &&
		    types->all_bytes == 8000);
	assert_int_equal(types->rows.len, 2);
	const struct memory_type_row *row = &types->rows.items[0];
	assert_string_equal(row->type->name, "Row");
	assert_true(row->bytes == 6000 && row->share == 0.75);
	/* estimate + period z^2/2 +- z sqrt(V + period^2 z^2/4) */
	double z = 2.576, middle = 6000 + 100 * z * z / 2, half = z * sqrt(600000 + 10000 * z * z / 4);
	assert_true(fabs(row->low - (middle - half)) < 1 && fabs(row->high - (middle + half)) < 1);
	memory_report_free(report);
}

static void where_nobody_asked_for_types_there_are_none(void **state)
{
	struct fixture *f = *state;
	free(f->memory->looks.items[1].absent);
	f->memory->looks.len = 0;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	assert_true(!report->types.look && report->types.rows.len == 0);
	memory_report_free(report);
}

static void resident_memory_adds_up(void **state)
{
	struct fixture *f = *state;
	struct memory_report *report = report_of(f, &f->first, &(struct code_request){0});
	const struct memory_explanation *explained = &report->explanation;
	double sum = 0;
	for (int i = 0; i < EXPLAINED_COUNT; i++)
		sum += explained->parts[i];
	assert_true(explained->rss_bytes == 10000 && sum == 10000);
	assert_true(explained->parts[EXPLAINED_HEAP] == 1000 && explained->parts[EXPLAINED_FREE] == 2000);
	assert_true(explained->parts[EXPLAINED_PYTHON_FREE] == 800 && explained->parts[EXPLAINED_FILES] == 3500);
	/* malloc has 1000 in blocks, of which 800 were asked for (the other 200 lie in Python's arenas). */
	assert_true(explained->parts[EXPLAINED_OVERHEAD] == 200);
	assert_true(fabs(explained->coverage - 0.85) < 1e-9);
	memory_report_free(report);
}

static void memory_that_was_never_touched_is_not_resident(void **state)
{
	struct memory_explanation explained;
	struct memory_resident resident = {.process_id = 1, .live_bytes = 1 << 30, .rss_bytes = 1 << 20};
	(void)state;
	memory_explain(&resident, &(struct memory_blocks){1, true}, &explained);
	assert_true(explained.parts[EXPLAINED_HEAP] == 1 << 20);
	assert_true(explained.untouched_bytes == (1 << 30) - (1 << 20));
	assert_true(explained.coverage == 1);
}

/* A child of fork: malloc has 40 MB of its parent's in use, and one block of 1 MB was asked for since. */
static void more_than_heads_and_rounding_are_blocks_that_were_not_seen(void **state)
{
	struct memory_explanation explained;
	struct memory_resident resident = {.process_id = 1,
					   .live_bytes = 1000000,
					   .rss_bytes = 42000000,
					   .malloc_used_bytes = 40000000,
					   .malloc_mapped_bytes = 1004096};
	(void)state;
	memory_explain(&resident, &(struct memory_blocks){1, true}, &explained);
	assert_true(explained.parts[EXPLAINED_HEAP] == 1000000);
	assert_true(explained.parts[EXPLAINED_OVERHEAD] <= 40000 && explained.parts[EXPLAINED_OVERHEAD] > 0);
	assert_true(explained.parts[EXPLAINED_OVERHEAD] + explained.parts[EXPLAINED_UNSEEN] == 40004096);
	assert_true(explained.parts[EXPLAINED_UNEXPLAINED] == 42000000 - 41004096);
	/* Sampled, what was estimated may be too low: malloc knows what is in use. */
	memory_explain(&resident, &(struct memory_blocks){1, false}, &explained);
	assert_true(explained.parts[EXPLAINED_UNSEEN] == 0 && explained.parts[EXPLAINED_HEAP] > 40000000);
	assert_true(explained.untouched_bytes == 0);
}

static void a_stage_without_watched_processes_has_no_report(void **state)
{
	struct fixture *f = *state;
	struct stage_record other = {.row = {.id = 7, .end_ns = 1}};
	assert_null(report_of(f, &other, &(struct code_request){0}));
}

#define ON_A_SAMPLE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_SAMPLE(exact_sites_are_told_to_the_byte),
	ON_A_SAMPLE(threads_and_kinds_add_up_to_the_whole),
	ON_A_SAMPLE(callers_have_what_they_call_in_their_total),
	ON_A_SAMPLE(sampled_sites_have_an_interval_that_is_wider_above),
	ON_A_SAMPLE(the_peak_of_all_is_not_the_sum_of_the_peaks),
	ON_A_SAMPLE(processes_that_are_past_their_peak_count_in_proportion),
	ON_A_SAMPLE(one_process_can_be_asked_for),
	ON_A_SAMPLE(a_line_that_grows_is_told_with_its_slope),
	ON_A_SAMPLE(noise_and_a_cache_that_fills_once_are_no_leaks),
	ON_A_SAMPLE(growth_of_sampled_sites_lies_within_its_interval),
	ON_A_SAMPLE(sampled_blocks_that_are_replaced_slowly_are_no_leak),
	ON_A_SAMPLE(chunks_and_snapshots_are_kept_apart),
	ON_A_SAMPLE(objects_are_those_of_the_process_that_was_looked_at),
	ON_A_SAMPLE(where_nobody_asked_for_types_there_are_none),
	ON_A_SAMPLE(resident_memory_adds_up),
	ON_A_SAMPLE(memory_that_was_never_touched_is_not_resident),
	ON_A_SAMPLE(more_than_heads_and_rounding_are_blocks_that_were_not_seen),
	ON_A_SAMPLE(a_stage_without_watched_processes_has_no_report),
};

UNIT_MAIN(tests)
