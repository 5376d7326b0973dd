/*
 * test_wire_memory.c - the memory profile of wire files: mirrors are added to the sites that they mirror, the part in the peak
 * follows from whether a site changed since, and nothing that is wrong in a file gets out of it.
 */
#include "unit.h"

#include "run/wire_read.h"
#include "test_store_run.h"
#include "wire_make_memory.h"

struct fixture {
	char *dir, *path;
	struct wire_make make;
	wire_id node, main, worker, site;
	struct wire_memory *memory;
	struct wire_file *file;
	struct err err;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->dir = run_folder_new();
	f->path = file_join(f->dir, "100-1.wire");
	wire_make_begin(&f->make, 100, 1);
	wire_make_thread(&f->make, 100, "main")->allocated_calls = 3;
	wire_make_thread(&f->make, 101, "worker");
	f->main = f->make.owners[0];
	f->worker = f->make.owners[1];
	f->node = wire_make_node(&f->make, 0, WIRE_NODE_NATIVE, 0x1234);
	f->memory = wire_make_memory(&f->make, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	free(f->make.bytes);
	wire_file_free(f->file);
	run_folder_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static const struct read_memory *read_file(struct fixture *f)
{
	if (wire_make_write(&f->make, f->path, &f->err) != 0 || wire_read(f->path, &f->file, &f->err) != 0)
		fail_msg("%s", f->err.text);
	return f->file->memory;
}

static struct wire_site *add_site(struct fixture *f)
{
	struct wire_site *site = wire_make_site(&f->make, f->node, f->main, WIRE_HEAP_MALLOC, &f->site);
	site->allocated_bytes = 1000;
	site->allocated_calls = 10;
	site->live_bytes = 600;
	site->live_calls = 6;
	site->temporary_bytes = 100;
	site->temporary_calls = 1;
	return site;
}

static void a_file_without_the_record_has_no_memory(void **state)
{
	struct fixture *f = *state;
	((struct wire_record *)f->memory)->kind = WIRE_TASK;
	assert_null(read_file(f));
}

static void mirrors_are_added_to_what_they_mirror(void **state)
{
	struct fixture *f = *state;
	wire_id id;
	add_site(f);
	struct wire_site *mirror = wire_make_site(&f->make, f->node, f->main, WIRE_HEAP_MALLOC, &id);
	mirror->principal = f->site;
	mirror->live_bytes = -200;
	mirror->live_calls = -2;
	mirror->lifetimes[3] = 2;
	const struct read_memory *memory = read_file(f);
	assert_int_equal(memory->sites.len, 1);
	const struct read_site *site = &memory->sites.items[0];
	assert_int_equal(site->allocated.bytes, 1000);
	assert_int_equal(site->live.bytes, 400);
	assert_int_equal(site->live.calls, 4);
	assert_int_equal(site->temporary.bytes, 100);
	assert_int_equal(site->lifetimes[3], 2);
	assert_int_equal(site->thread, 0);
	assert_int_equal(site->node, 0);
	assert_int_equal(f->file->threads.items[0].allocated_calls, 3);
}

static void the_peak_is_what_was_live_then(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 2; i++) {
		struct wire_site *site = add_site(f);
		site->peak_bytes = 900;
		site->peak_calls = 9;
		site->peak_number = i == 0 ? 7 : 6; /* the second did not change since the peak */
	}
	f->memory->peak_number = 7;
	f->memory->peak_bytes = 1500;
	const struct read_memory *memory = read_file(f);
	assert_int_equal(memory->peak_bytes, 1500);
	assert_int_equal(memory->sites.items[0].peak.bytes, 900);
	assert_int_equal(memory->sites.items[1].peak.bytes, 600);
}

static void while_the_peak_rises_it_is_what_is_live_now(void **state)
{
	struct fixture *f = *state;
	struct wire_site *site = add_site(f);
	site->peak_bytes = 900;
	site->peak_number = 7;
	f->memory->peak_number = 7;
	f->memory->is_rising = 1;
	assert_int_equal(read_file(f)->sites.items[0].peak.bytes, 600);
}

static void sampled_counts_lose_their_unit_and_have_a_variance(void **state)
{
	struct fixture *f = *state;
	f->memory->period_bytes = 1000;
	f->memory->call_unit = 256;
	struct wire_site *site = add_site(f);
	site->allocated_calls = 256 * 10 + 127;
	site->samples = 4;
	site->variance = 2.5;
	const struct read_site *read = &read_file(f)->sites.items[0];
	assert_int_equal(read->allocated.calls, 10);
	assert_true(read->allocated.variance == 2.5e6);
	assert_int_equal(read->allocated.samples, 4);
	/* A tenth of the bytes was given back at once: a tenth of the variance. */
	assert_true(read->temporary.variance == 2.5e5);
}

static void the_course_is_told_step_by_step(void **state)
{
	struct fixture *f = *state;
	f->memory->course_start_ns = 5000;
	f->memory->course_step_ns = 100;
	f->memory->course[0].most = 11;
	f->memory->course[0].last = 6;
	f->memory->course[3].most = 21;
	f->memory->course[3].last = 1;
	const struct read_memory *memory = read_file(f);
	assert_int_equal(memory->course.len, 2);
	assert_int_equal(memory->course.items[0].most, 10);
	assert_int_equal(memory->course.items[0].last, 5);
	assert_int_equal(memory->course.items[1].mono_ns, 5300);
	assert_int_equal(memory->course.items[1].most, 20);
	assert_int_equal(memory->course.items[1].last, 0);
}

static void what_a_kill_tore_is_never_negative(void **state)
{
	struct fixture *f = *state;
	struct wire_site *site = add_site(f);
	site->live_bytes = INT64_MIN;
	site->live_calls = -1;
	site->peak_bytes = -5;
	site->variance = site->live_variance = 0.0 / 0.0;
	site->growth[WIRE_TURN_CHUNK].sum_y = -1.0 / 0.0;
	f->memory->live_bytes = -1;
	f->memory->peak_bytes = INT64_MIN;
	f->memory->call_unit = 0;
	f->memory->course_start_ns = UINT64_MAX - 10;
	f->memory->course_step_ns = UINT64_MAX / 2;
	f->memory->course[1].most = UINT64_MAX;
	f->memory->course[511].last = UINT64_MAX;
	const struct read_memory *memory = read_file(f);
	const struct read_site *read = &memory->sites.items[0];
	assert_true(memory->live_bytes == 0 && memory->peak_bytes == 0);
	assert_true(read->live.bytes == 0 && read->live.calls == 0 && read->peak.bytes == 0);
	assert_true(read->allocated.variance == 0 && read->growth[WIRE_TURN_CHUNK].sum_y == 0);
}

static void sites_that_point_nowhere_are_dropped_or_stand_without(void **state)
{
	struct fixture *f = *state;
	wire_id id;
	add_site(f)->node = 0xFFFFFF;
	wire_make_site(&f->make, f->node, f->main, 0, &id);                 /* no kind */
	wire_make_site(&f->make, f->node, f->main, WIRE_MEMORY_KINDS, &id); /* no kind either */
	wire_make_site(&f->make, f->node, f->main, WIRE_HEAP_NEW, &id)->principal = 0xFFFFFF;
	struct wire_site *loop = wire_make_site(&f->make, f->node, f->main, WIRE_HEAP_NEW, &id);
	loop->principal = id;
	add_site(f)->thread = f->node;
	const struct read_memory *memory = read_file(f);
	assert_int_equal(memory->sites.len, 2);
	assert_int_equal(memory->sites.items[0].node, WIRE_NOWHERE);
	assert_int_equal(memory->sites.items[1].thread, WIRE_NOWHERE);
	assert_int_equal(f->file->dropped.records, 4);
}

#define ON_A_FILE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_FILE(a_file_without_the_record_has_no_memory),
	ON_A_FILE(mirrors_are_added_to_what_they_mirror),
	ON_A_FILE(the_peak_is_what_was_live_then),
	ON_A_FILE(while_the_peak_rises_it_is_what_is_live_now),
	ON_A_FILE(sampled_counts_lose_their_unit_and_have_a_variance),
	ON_A_FILE(the_course_is_told_step_by_step),
	ON_A_FILE(what_a_kill_tore_is_never_negative),
	ON_A_FILE(sites_that_point_nowhere_are_dropped_or_stand_without),
};

UNIT_MAIN(tests)
