/* test_export_pprof.c - the pprof file, unpacked again: sums, inlined frames, labels, ids that exist. */
#include "export_case.h"
#include "unit.h"

#include "pprof.pb-c.h"

#include <zlib.h>

static Pprof__Profile *unpacked(struct profile_data *profile)
{
	enum { GZIP = 16, MOST = 64 << 20 };
	size_t size;
	char *packed = export_case_text(profile, "pprof", (struct code_select){0}, &size);
	unsigned char *bytes = mem_alloc(MOST);
	z_stream stream = {
		.next_in = (unsigned char *)packed, .avail_in = (uInt)size, .next_out = bytes, .avail_out = MOST};
	assert_int_equal(inflateInit2(&stream, MAX_WBITS + GZIP), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	Pprof__Profile *it = pprof__profile__unpack(NULL, stream.total_out, bytes);
	assert_non_null(it);
	free(bytes);
	free(packed);
	return it;
}

static const Pprof__Location *location_at(const Pprof__Profile *profile, uint64_t id)
{
	for (size_t i = 0; i < profile->n_location; i++)
		if (profile->location[i]->id == id)
			return profile->location[i];
	fail_msg("no location %d", (int)id);
	return NULL;
}

static const char *function_name(const Pprof__Profile *profile, uint64_t id)
{
	for (size_t i = 0; i < profile->n_function; i++)
		if (profile->function[i]->id == id)
			return profile->string_table[profile->function[i]->name];
	fail_msg("no function %d", (int)id);
	return NULL;
}

static const char *label(const Pprof__Profile *profile, const Pprof__Sample *sample, const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++)
		if (strcmp(profile->string_table[sample->label[i]->key], key) == 0)
			return profile->string_table[sample->label[i]->str];
	return "";
}

static void values_add_up_and_say_what_they_are(void **state)
{
	(void)state;
	Pprof__Profile *it = unpacked(sample_profile_new());
	int64_t samples = 0, ns = 0;
	for (size_t i = 0; i < it->n_sample; i++) {
		assert_int_equal(it->sample[i]->n_value, 2);
		samples += it->sample[i]->value[0];
		ns += it->sample[i]->value[1];
	}
	assert_int_equal(samples, 400);
	assert_int_equal(ns, 4000000000);
	assert_string_equal(it->string_table[0], "");
	assert_string_equal(it->string_table[it->sample_type[0]->type], "samples");
	assert_string_equal(it->string_table[it->sample_type[1]->type], "cpu");
	assert_string_equal(it->string_table[it->sample_type[1]->unit], "nanoseconds");
	assert_string_equal(it->string_table[it->period_type->type], "cpu");
	assert_int_equal(it->period, SAMPLE_STEP_NS);
	assert_int_equal(it->time_nanos, 1769862896ll * 1000000000ll);
	assert_int_equal(it->duration_nanos, 2000000001);
	pprof__profile__free_unpacked(it, NULL);
}

static void an_inlined_function_shares_the_location_of_its_caller(void **state)
{
	(void)state;
	Pprof__Profile *it = unpacked(export_one_sample());
	assert_int_equal(it->n_sample, 1);
	assert_int_equal(it->sample[0]->n_location_id, 5);
	const Pprof__Location *leaf = location_at(it, it->sample[0]->location_id[0]);
	assert_int_equal(leaf->n_line, 2);
	assert_string_equal(function_name(it, leaf->line[0]->function_id), "fma_step");
	assert_int_equal(leaf->line[0]->line, 12);
	assert_string_equal(function_name(it, leaf->line[1]->function_id), "kernel_loop");
	assert_int_equal(leaf->line[1]->line, 40);
	const Pprof__Location *outer = location_at(it, it->sample[0]->location_id[2]);
	assert_string_equal(function_name(it, outer->line[0]->function_id), "train (train.py)");
	assert_int_equal(outer->mapping_id, 0);
	pprof__profile__free_unpacked(it, NULL);
}

static void samples_carry_stage_process_thread_and_task(void **state)
{
	(void)state;
	Pprof__Profile *it = unpacked(sample_profile_new());
	size_t tasks = 0, workers = 0, sorting = 0;
	for (size_t i = 0; i < it->n_sample; i++) {
		tasks += strcmp(label(it, it->sample[i], "task"), "fetch-1") == 0;
		workers += strcmp(label(it, it->sample[i], "thread"), "worker-101") == 0;
		sorting += strcmp(label(it, it->sample[i], "stage"), "sort") == 0 &&
			   strcmp(label(it, it->sample[i], "process"), "sort-200") == 0;
	}
	assert_int_equal(tasks, 1);
	assert_int_equal(workers, 1);
	assert_int_equal(sorting, 3);
	pprof__profile__free_unpacked(it, NULL);
}

/* What pprof itself checks when it opens a file. */
static void check_references(const Pprof__Profile *it)
{
	for (size_t i = 0; i < it->n_sample; i++) {
		assert_true(it->sample[i]->n_location_id > 0);
		for (size_t j = 0; j < it->sample[i]->n_location_id; j++)
			location_at(it, it->sample[i]->location_id[j]);
	}
	for (size_t i = 0; i < it->n_location; i++) {
		assert_true(it->location[i]->mapping_id <= it->n_mapping);
		assert_true(it->location[i]->n_line > 0);
		for (size_t j = 0; j < it->location[i]->n_line; j++)
			function_name(it, it->location[i]->line[j]->function_id);
	}
	for (size_t i = 0; i < it->n_string_table; i++)
		for (const char *at = it->string_table[i]; *at; at++)
			assert_true((unsigned char)*at >= 0x20);
}

static void every_number_points_somewhere(void **state)
{
	(void)state;
	struct profile_data *profiles[] = {sample_profile_new(), export_hostile(), export_one_sample(),
					   export_recursion(100000), export_no_samples()};
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		Pprof__Profile *it = unpacked(profiles[i]);
		check_references(it);
		pprof__profile__free_unpacked(it, NULL);
	}
}

static void the_same_profile_gives_the_same_bytes(void **state)
{
	(void)state;
	size_t sizes[2];
	char *texts[2];
	for (int i = 0; i < 2; i++)
		texts[i] = export_case_text(sample_profile_new(), "pprof", (struct code_select){0}, &sizes[i]);
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(texts[0], texts[1], sizes[0]);
	free(texts[0]);
	free(texts[1]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(values_add_up_and_say_what_they_are),
	cmocka_unit_test(an_inlined_function_shares_the_location_of_its_caller),
	cmocka_unit_test(samples_carry_stage_process_thread_and_task),
	cmocka_unit_test(every_number_points_somewhere),
	cmocka_unit_test(the_same_profile_gives_the_same_bytes),
};

UNIT_MAIN(tests)
