/* test_span_report.c - what spans say: operators of one path together, percentiles, trends, chunks, CPU time, and the findings
 * that rest on them. */
#include "unit.h"

#include "analyze/report.h"
#include "analyze/rule.h"
#include "sample_run.h"

#include <math.h>
#include <string.h>

enum { MILLI = 1000000 };

static struct span_data *data_new(void)
{
	struct span_data *data = mem_alloc(sizeof(*data));
	struct span_process *process = vec_add(&data->processes);
	*process = (struct span_process){.id = 1, .stage_id = 1, .pid = 100, .end_ns = 4000ull * MILLI};
	process->source = mem_strdup("test");
	struct span_thread *thread = vec_add(&data->threads);
	*thread = (struct span_thread){.id = 1, .process_id = 1, .tid = 101, .end_ns = 4000ull * MILLI};
	return data;
}

static int64_t add_operator(struct span_data *data, int64_t parent, const char *name, uint64_t total_ns, uint64_t calls)
{
	struct operator_row *row = vec_add(&data->operators);
	const char *above = parent ? data->operators.items[parent - 1].path : NULL;
	*row = (struct operator_row){.id = (int64_t)data->operators.len,
				     .parent = parent,
				     .process_id = 1,
				     .name = mem_strdup(name),
				     .path = above ? mem_printf("%s/%s", above, name) : mem_strdup(name),
				     .calls = calls,
				     .total_ns = total_ns,
				     .self_ns = total_ns,
				     .min_ns = calls ? total_ns / calls : 0,
				     .max_ns = calls ? total_ns / calls : 0,
				     .flops = NAN,
				     .bytes = NAN};
	return row->id;
}

static void add_chunk(struct span_data *data, uint64_t at_ns, uint64_t took_ns, uint64_t rows, uint64_t bytes,
		      uint64_t rss)
{
	struct chunk_row *row = vec_add(&data->chunks);
	*row = (struct chunk_row){.id = (int64_t)data->chunks.len,
				  .process_id = 1,
				  .thread_id = 1,
				  .number = (int64_t)data->chunks.len - 1,
				  .begin_ns = at_ns,
				  .end_ns = at_ns + took_ns,
				  .rows = rows,
				  .bytes_in = bytes,
				  .bytes_out = SPAN_UNKNOWN,
				  .rss_bytes = rss,
				  .heap_bytes = SPAN_UNKNOWN};
	vec_push(&data->parts, ((struct chunk_part){row->id, 1, 1, took_ns, took_ns}));
}

static const int64_t only_stage[] = {1};

static void operators_of_one_path_are_one_line(void **state)
{
	(void)state;
	struct span_data *data = data_new();
	int64_t outer = add_operator(data, 0, "outer", 100 * MILLI, 1);
	add_operator(data, outer, "inner", 30 * MILLI, 3);
	int64_t again = add_operator(data, 0, "outer", 60 * MILLI, 1);
	add_operator(data, again, "inner", 10 * MILLI, 1);
	struct span_report *report = span_report_new(data, NULL, only_stage, 1);
	assert_int_equal(report->operators.len, 2);
	assert_string_equal(report->operators.items[0].path, "outer");
	assert_string_equal(report->operators.items[1].path, "outer/inner");
	assert_int_equal(report->operators.items[1].parent, 0);
	assert_true(fabs(report->operators.items[0].self_s - 0.120) < 1e-9);
	assert_true(fabs(report->operators.items[1].calls - 4) < 1e-9);
	assert_true(fabs(report->operators.items[0].share - 0.75) < 1e-9);
	assert_int_equal(span_report_find(report, "inner"), 1);
	assert_true(span_report_find(report, "nothing") == SIZE_MAX);
	span_report_free(report);
	span_data_free(data);
}

static void add_count(struct span_data *data, int64_t operator_id, uint64_t calls, uint64_t instructions,
		      uint64_t running_ns)
{
	vec_push(&data->counts, ((struct operator_count_row){.operator_id = operator_id,
							     .calls = calls,
							     .count = {instructions, 2 * instructions, SPAN_UNKNOWN},
							     .enabled_ns = 100,
							     .running_ns = running_ns}));
}

static void counts_are_scaled_added_up_and_the_inner_ones_taken_off(void **state)
{
	(void)state;
	struct span_data *data = data_new();
	int64_t outer = add_operator(data, 0, "outer", 100 * MILLI, 1);
	int64_t inner = add_operator(data, outer, "inner", 30 * MILLI, 3);
	int64_t again = add_operator(data, 0, "outer", 60 * MILLI, 1);
	int64_t other = add_operator(data, 0, "other", 1 * MILLI, 2);
	add_count(data, outer, 1, 600, 60);
	add_count(data, again, 1, 400, 40);
	add_count(data, inner, 3, 300, 100);
	add_count(data, other, 1, 50, 100); /* one of its two spans */
	vec_push(&data->counting, ((struct span_counting_row){.process_id = 1, .source = mem_strdup("test")}));
	struct span_report *report = span_report_new(data, NULL, only_stage, 1);
	const struct operator_line *lines = report->operators.items;
	assert_string_equal(lines[0].path, "outer");
	assert_true(lines[0].count_coverage == 0.5);
	assert_true(lines[0].counts[0] == 2000 && lines[0].counts[1] == 4000);
	assert_true(lines[0].self_counts[0] == 1700 && lines[0].self_counts[1] == 3400);
	assert_true(isnan(lines[0].counts[2]) && isnan(lines[0].self_counts[2]));
	assert_string_equal(lines[1].path, "outer/inner");
	assert_true(lines[1].counts[0] == 300 && lines[1].self_counts[0] == 300 && lines[1].count_coverage == 1);
	assert_string_equal(lines[2].path, "other");
	assert_true(isnan(lines[2].counts[0]) && isnan(lines[2].count_coverage));
	assert_true(report->asked_counts);
	assert_string_equal(report->counts_source, "test");
	span_report_free(report);
	span_data_free(data);
}

static void spans_of_another_stage_are_not_this_ones(void **state)
{
	(void)state;
	static const int64_t other[] = {2};
	struct span_data *data = data_new();
	add_operator(data, 0, "outer", MILLI, 1);
	assert_null(span_report_new(data, NULL, other, 1));
	span_data_free(data);
}

static void repetitions_without_spans_do_not_make_operators_cheaper(void **state)
{
	(void)state;
	struct span_data *data = data_new();
	const int64_t three[] = {1, 2, 3};
	add_operator(data, 0, "read", 300 * MILLI, 30);
	add_chunk(data, 0, 10 * MILLI, 100, 1000, SPAN_UNKNOWN);
	struct span_report *report = span_report_new(data, NULL, three, 3);
	assert_int_equal(report->repetitions, 1);
	assert_true(fabs(report->operators.items[0].calls - 30) < 1e-9);
	assert_true(fabs(report->operators.items[0].total_s - 0.3) < 1e-9);
	assert_int_equal(report->chunks.len, 1);
	span_report_free(report);
	span_data_free(data);
}

static void percentiles_need_enough_values(void **state)
{
	(void)state;
	struct span_data *data = data_new();
	add_operator(data, 0, "work", 100 * MILLI, 100);
	vec_push(&data->durations, ((struct operator_duration){1, 1 * MILLI, 2 * MILLI, 90}));
	vec_push(&data->durations, ((struct operator_duration){1, 8 * MILLI, 10 * MILLI, 10}));
	data->operators.items[0].min_ns = 1 * MILLI;
	data->operators.items[0].max_ns = 10 * MILLI;
	struct span_report *report = span_report_new(data, NULL, only_stage, 1);
	const struct span_percentiles *calls = &report->operators.items[0].per_call;
	assert_true(calls->p50 > 0.001 && calls->p50 < 0.002);
	assert_true(calls->p90 >= 0.0019 && calls->p90 <= 0.010);
	assert_true(isnan(calls->p95) && isnan(calls->p99));
	span_report_free(report);
	span_data_free(data);
}

static void parts_of_two_threads_make_one_chunk_unless_both_have_rows(void **state)
{
	(void)state;
	struct span_data *data = data_new();
	add_operator(data, 0, "work", 10 * MILLI, 4);
	struct span_thread *thread = vec_add(&data->threads);
	*thread = (struct span_thread){.id = 2, .process_id = 1, .lane = 1, .tid = 102};
	add_chunk(data, 0, MILLI, 50, 500, SPAN_UNKNOWN);
	add_chunk(data, 0, MILLI, SPAN_UNKNOWN, SPAN_UNKNOWN, SPAN_UNKNOWN);
	data->chunks.items[1].thread_id = 2;
	data->chunks.items[1].number = 0;
	struct span_report *report = span_report_new(data, NULL, only_stage, 1);
	assert_int_equal(report->chunks.len, 1);
	assert_true(report->chunks.items[0].rows == 50);
	assert_true(fabs(span_report_time(report, 0, 0) - 0.002) < 1e-9);
	span_report_free(report);
	data->chunks.items[1].rows = 50;
	report = span_report_new(data, NULL, only_stage, 1);
	assert_int_equal(report->chunks.len, 2);
	span_report_free(report);
	span_data_free(data);
}

static void samples_count_for_the_span_around_them(void **state)
{
	(void)state;
	struct span_data *data = data_new();
	int64_t outer = add_operator(data, 0, "outer", 100 * MILLI, 1);
	int64_t inner = add_operator(data, outer, "inner", 40 * MILLI, 1);
	for (int i = 0; i < 2; i++) {
		data->operators.items[i].kept = 1;
		data->operators.items[i].kept_ns = data->operators.items[i].total_ns;
	}
	vec_push(&data->spans, ((struct span_row){outer, 1, 0, 100 * MILLI}));
	vec_push(&data->spans, ((struct span_row){inner, 1, 50 * MILLI, 90 * MILLI}));
	struct profile_data profile = {0};
	struct profile_process *process = vec_add(&profile.processes);
	process->pid = 100;
	struct profile_thread *thread = vec_add(&profile.threads);
	thread->process_id = 1;
	thread->tid = 101;
	for (uint64_t at = 5; at < 200; at += 10)
		vec_push(&profile.samples,
			 ((struct profile_sample){.thread_id = 1, .at_ns = at * MILLI, .weight_ns = 10 * MILLI}));
	struct span_report *report = span_report_new(data, &profile, only_stage, 1);
	assert_true(fabs(report->operators.items[0].cpu_s - 0.100) < 1e-9);
	assert_true(fabs(report->operators.items[1].cpu_s - 0.040) < 1e-9);
	assert_true(report->operators.items[0].cpu_coverage == 1);
	span_report_free(report);
	vec_fini(&profile.processes);
	vec_fini(&profile.threads);
	vec_fini(&profile.samples);
	span_data_free(data);
}

/* ---- findings ---- */

/* Of the chunks' time that is in the operator, the rest being in others that are too small to speak of. */
static uint64_t operator_percent = 100;

/* The first finding about chunks of a run of 4 s with 40 chunks; NULL: none. */
static const char *found(uint64_t (*rows)(uint64_t i), uint64_t (*took_us)(uint64_t i), uint64_t (*rss_mib)(uint64_t i),
			 uint64_t bytes, double cpu_s)
{
	struct run_record *record = sample_run("x");
	struct stage_record *stage = sample_stage(record, "work", 0, 0, 0, 4, cpu_s);
	struct report report;
	struct span_data *data = data_new();
	uint64_t all_ns = 0;
	add_operator(data, 0, "encode", 0, 40);
	for (uint64_t i = 0; i < 40; i++) {
		add_chunk(data, i * 100 * MILLI, took_us(i) * 1000, rows(i), bytes, rss_mib(i) << 20);
		all_ns += took_us(i) * 1000;
	}
	data->operators.items[0].total_ns = data->operators.items[0].self_ns = all_ns * operator_percent / 100;
	data->processes.items[0].stage_id = stage->row.id;
	report_compute(record, &report);
	report.stages.items[0].spans = span_report_new(data, NULL, &stage->row.id, 1);
	findings_compute(&report);
	const char *id = NULL;
	for (size_t i = 0; i < report.findings.items.len && !id; i++) {
		const struct finding_rule *rule = report.findings.items.items[i].rule;
		if (rule == &rule_chunk_memory || rule == &rule_chunk_time || rule == &rule_low_bandwidth ||
		    rule == &rule_chunk_bandwidth || rule == &rule_chunk_latency || rule == &rule_chunk_gap)
			id = rule->id;
	}
	report_fini(&report);
	run_record_free(record);
	span_data_free(data);
	return id;
}

static uint64_t same(uint64_t i)
{
	(void)i;
	return 100;
}
static uint64_t sizes(uint64_t i)
{
	return 100 * (1 + i % 4);
}
static uint64_t flat_us(uint64_t i)
{
	return 60000 + i % 3;
}
static uint64_t linear_us(uint64_t i)
{
	return 20000 * (1 + i % 4) + i % 3;
}
static uint64_t square_us(uint64_t i)
{
	return 5000 * (1 + i % 4) * (1 + i % 4) + i % 3;
}
static uint64_t slower_us(uint64_t i)
{
	return 30000 + 1500 * i;
}
static uint64_t quick_us(uint64_t i) /* chunks come every 100 ms */
{
	return 20000 + i % 3;
}
static uint64_t rising_us(uint64_t i)
{
	return 8000 + 400 * i;
}
static uint64_t growing_mib(uint64_t i)
{
	return 50 + 5 * i;
}

static void assert_found(const char *got, const char *expected)
{
	if (!got != !expected || (got && strcmp(got, expected) != 0))
		fail_msg("expected %s, got %s", expected ? expected : "nothing", got ? got : "nothing");
}

static void what_grows_with_the_chunks_is_found(void **state)
{
	(void)state;
	enum { MUCH = 100000000 };
	assert_found(found(same, flat_us, growing_mib, MUCH, 3), "chunk-memory");
	assert_found(found(sizes, square_us, same, MUCH, 3), "chunk-time");
	assert_found(found(same, slower_us, same, MUCH, 3), "chunk-time");
	assert_found(found(same, flat_us, same, 1000000, 3), "low-bandwidth");
	assert_found(found(same, slower_us, growing_mib, MUCH, 3), "chunk-bandwidth");
	assert_found(found(same, quick_us, same, MUCH, 3), "chunk-gap");
	operator_percent = 40;
	assert_found(found(same, rising_us, same, SPAN_UNKNOWN, 3), "chunk-latency");
	assert_found(found(sizes, rising_us, same, SPAN_UNKNOWN, 3), NULL);
	operator_percent = 100;
}

static void healthy_chunks_are_left_alone(void **state)
{
	(void)state;
	enum { MUCH = 100000000 };
	assert_found(found(same, flat_us, same, MUCH, 3), NULL);
	assert_found(found(sizes, linear_us, same, MUCH, 3), NULL);
	assert_found(found(same, flat_us, same, SPAN_UNKNOWN, 3), NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(operators_of_one_path_are_one_line),
	cmocka_unit_test(counts_are_scaled_added_up_and_the_inner_ones_taken_off),
	cmocka_unit_test(spans_of_another_stage_are_not_this_ones),
	cmocka_unit_test(repetitions_without_spans_do_not_make_operators_cheaper),
	cmocka_unit_test(percentiles_need_enough_values),
	cmocka_unit_test(parts_of_two_threads_make_one_chunk_unless_both_have_rows),
	cmocka_unit_test(samples_count_for_the_span_around_them),
	cmocka_unit_test(what_grows_with_the_chunks_is_found),
	cmocka_unit_test(healthy_chunks_are_left_alone),
};

UNIT_MAIN(tests)
