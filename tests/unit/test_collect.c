/*
 * test_collect.c - wire files that are made by hand become a code profile whose weights add up, with gaps for the processes
 * that left none; damaged and foreign files are told of and passed over.
 */
#include "unit.h"

#include "base/clock.h"
#include "run/collect.h"
#include "test_store_run.h"
#include "wire_make.h"

#include <sys/stat.h>

enum { STAGE_CPU_MS = 100 };

struct fixture {
	char *dir, *path, *wires;
	struct store *store;
	struct err err;
	struct wire_make make;
	uint64_t start; /* of the run */
	int64_t stage_id;
	struct profile_data *data;
	struct run_record *record;
	int notes;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	struct run_row run = run_row_sample();
	struct stage_row stage = stage_row_sample(0, "s", 0);
	f->dir = run_folder_new();
	f->wires = run_folder_new();
	f->path = file_join(f->dir, "a.pitot");
	f->start = clock_mono_ns() - 10 * NS_PER_S;
	*state = f;
	if (store_create(f->path, &run, &f->store, &f->err) != 0 || store_stage_begin(f->store, &stage, &f->err) != 0)
		return -1;
	f->stage_id = stage.id;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	profile_data_free(f->data);
	run_record_free(f->record);
	free(f->make.bytes);
	run_folder_free(f->dir);
	run_folder_free(f->wires);
	free(f->path);
	free(f);
	return 0;
}

/* A wire file that is about to be filled: began 1 s into the run, ended 2 s later, used 100 ms. */
static struct wire_make *begin(struct fixture *f, int pid)
{
	struct wire_make *make = &f->make;
	wire_make_begin(make, pid, f->stage_id);
	make->header->start_ticks = (uint64_t)pid;
	make->header->start_mono_ns = f->start + NS_PER_S;
	make->header->end_mono_ns = f->start + 3 * NS_PER_S;
	make->header->end = WIRE_ENDED_EXIT;
	make->header->cpu_start_ns = 10 * MS;
	make->header->cpu_end_ns = STAGE_CPU_MS * MS;
	return make;
}

static void put_wire(struct fixture *f, const char *name)
{
	char *path = file_join(f->wires, name);
	if (wire_make_write(&f->make, path, &f->err) != 0)
		fail_msg("%s", f->err.text);
	free(path);
}

static void put_process(struct fixture *f, int pid, const char *command, double cpu_s, enum process_source source)
{
	struct process_row row = {.stage_id = f->stage_id,
				  .pid = pid,
				  .ppid = 1,
				  .start_ns = NS_PER_S,
				  .end_ns = 3 * NS_PER_S,
				  .command = (char *)command,
				  .ended = true,
				  .cpu_user_s = cpu_s,
				  .source = source};
	if (store_process(f->store, &row, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static void count_note(void *context, const char *text)
{
	(void)text;
	++*(int *)context;
}

static void collect_with(struct fixture *f, double cpu_s, bool has_record)
{
	struct collect_stage stage = {.id = f->stage_id, .cpu_s = cpu_s, .has_record = has_record};
	struct collect_options options = {.dir = f->wires,
					  .run_start_mono_ns = f->start,
					  .store = f->store,
					  .stages = &stage,
					  .stage_count = 1,
					  .context = &f->notes,
					  .note = count_note};
	if (collect_profiles(&options, &f->err) != 0 ||
	    store_finish(f->store, STATUS_OK, 10 * NS_PER_S, &f->err) != 0 ||
	    store_profile_load(f->path, &f->data, &f->err) != 0 || store_load(f->path, &f->record, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static void collect(struct fixture *f)
{
	collect_with(f, STAGE_CPU_MS / 1e3, true);
}

static uint64_t weight_on(const struct fixture *f, const char *function)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < f->data->samples.len; i++) {
		const struct profile_sample *sample = &f->data->samples.items[i];
		if (!sample->stack_id)
			continue;
		const struct profile_stack *stack = &f->data->stacks.items[sample->stack_id - 1];
		if (strcmp(f->data->frames.items[stack->frame_id - 1].function, function) == 0)
			sum += sample->weight_ns;
	}
	return sum;
}

static uint64_t weight_of_all(const struct fixture *f)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < f->data->samples.len; i++)
		sum += f->data->samples.items[i].weight_ns;
	return sum;
}

static bool is_told(const struct fixture *f, const char *words)
{
	for (size_t i = 0; i < f->record->events.len; i++)
		if (strstr(f->record->events.items[i].text, words))
			return true;
	return false;
}

static double value(const struct fixture *f, enum metric_id metric)
{
	const struct metric_value *found = &f->record->stages.items[0].values[metric];
	assert_int_equal(found->state, METRIC_KNOWN);
	return found->value;
}

/* A main thread with a Python and a mark sample, of which nothing but the samples' 20 ms is known. */
static struct wire_thread *fill_main(struct wire_make *make, uint64_t start)
{
	struct wire_thread *thread = wire_make_thread(make, make->header->pid, "main");
	wire_id code = wire_make_code(make, "f", "/nowhere/x.py", 7);
	wire_id node = wire_make_node(make, 0, WIRE_NODE_PYTHON, (uint64_t)code << 32);
	wire_id mark = wire_make_node(make, node, WIRE_NODE_MARK, WIRE_MARK_TRUNCATED);
	wire_make_sample(make, 0, start + 1100 * MS, node, 12 * MS, WIRE_SAMPLE_PYTHON | WIRE_SAMPLE_GIL, 0);
	wire_make_sample(make, 0, start + 1200 * MS, mark, 8 * MS, WIRE_SAMPLE_TRUNCATED, 0);
	thread->start_mono_ns = start + NS_PER_S;
	return thread;
}

static void weights_add_up_to_the_images_cpu_time(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	struct wire_thread *thread = fill_main(make, f->start);
	thread->cpu_start_ns = 10 * MS;
	thread->cpu_last_ns = 30 * MS;
	thread->cpu_end_ns = 33 * MS;
	thread->handler_ns = 1 * MS;
	put_wire(f, "100-0.wire");
	collect(f);
	assert_int_equal(f->data->processes.len, 1);
	const struct profile_process *process = &f->data->processes.items[0];
	assert_int_equal(process->cpu_ns, 100 * MS);
	assert_int_equal(process->weight_ns, 100 * MS);
	assert_int_equal(process->samples, 2);
	assert_int_equal(process->truncated, 1);
	assert_string_equal(process->end, "exit");
	assert_string_equal(process->clock, "perf task-clock");
	assert_int_equal(process->start_ns, NS_PER_S);
	assert_int_equal(process->end_ns, 3 * NS_PER_S);
	assert_int_equal(weight_of_all(f), 100 * MS);
	assert_int_equal(weight_on(f, "[startup before the agent]"), 10 * MS);
	assert_int_equal(weight_on(f, "f"), 12 * MS);
	assert_int_equal(weight_on(f, "[truncated]"), 11 * MS); /* with what came after the last sample */
	assert_int_equal(weight_on(f, "[not sampled]"), 67 * MS);
	assert_true(value(f, METRIC_PROFILE_COVERAGE) == 1);
	assert_true(value(f, METRIC_PROFILE_SAMPLES) == 2);
	assert_true(value(f, METRIC_PROFILE_OVERHEAD) == 0.01);
	assert_true(value(f, METRIC_PROFILE_UNCOVERED) == 0);
}

static void a_killed_image_has_the_cpu_time_of_its_threads(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	make->header->end = WIRE_OPEN;
	make->header->end_mono_ns = make->header->cpu_end_ns = 0;
	fill_main(make, f->start);
	put_wire(f, "100-0.wire");
	collect(f);
	assert_string_equal(f->data->processes.items[0].end, "killed");
	assert_int_equal(f->data->processes.items[0].cpu_ns, 30 * MS);
	assert_int_equal(weight_of_all(f), 30 * MS);
	assert_int_equal(f->data->processes.items[0].end_ns, 1200 * MS);
}

static void time_of_threads_that_never_ended_goes_to_their_last_stacks(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	make->header->cpu_end_ns = 33 * MS;
	make->header->period_ns = 2 * MS;
	fill_main(make, f->start);
	put_wire(f, "100-0.wire");
	collect(f);
	assert_int_equal(weight_on(f, "[truncated]"), 11 * MS);
	assert_int_equal(weight_of_all(f), 33 * MS);
}

static void an_image_after_an_exec_does_not_count_what_was_before(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	make->header->end = WIRE_ENDED_EXEC;
	make->header->cpu_end_ns = 40 * MS;
	fill_main(make, f->start);
	put_wire(f, "100-0.wire");
	make = begin(f, 100);
	make->header->start_mono_ns += NS_PER_S;
	make->header->cpu_start_ns = 45 * MS;
	fill_main(make, f->start);
	put_wire(f, "100-1.wire");
	/* The same process id, but another process. */
	make = begin(f, 100);
	make->header->start_mono_ns += 2 * NS_PER_S;
	make->header->start_ticks = 999;
	fill_main(make, f->start);
	put_wire(f, "100-2.wire");
	collect(f);
	assert_int_equal(f->data->processes.len, 3);
	assert_int_equal(f->data->processes.items[0].cpu_ns, 40 * MS);
	assert_int_equal(f->data->processes.items[1].cpu_ns, 60 * MS);
	assert_int_equal(f->data->processes.items[2].cpu_ns, 100 * MS);
	assert_int_equal(weight_on(f, "[startup before the agent]"), (10 + 5 + 10) * MS);
}

static void native_frames_are_named_by_module_and_what_is_in_none_keeps_its_address(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	wire_make_thread(make, 100, "main");
	wire_make_module(make, 0x10000, 0x20000, 0x10000, 0, "/nowhere/libx.so");
	wire_id inside = wire_make_node(make, 0, WIRE_NODE_NATIVE, 0x11235);
	wire_id outside = wire_make_node(make, inside, WIRE_NODE_NATIVE, 0xdead0);
	wire_make_sample(make, 0, f->start + 1100 * MS, inside, 20 * MS, 0, 0);
	wire_make_sample(make, 0, f->start + 1200 * MS, outside, 20 * MS, 0, 0);
	put_wire(f, "100-0.wire");
	collect(f);
	assert_int_equal(weight_on(f, "[unknown 0xdead0]"), 20 * MS);
	bool found = false;
	for (size_t i = 0; i < f->data->frames.len; i++)
		if (f->data->frames.items[i].module) {
			assert_string_equal(f->data->frames.items[i].module, "/nowhere/libx.so");
			assert_non_null(strstr(f->data->frames.items[i].function, "libx.so+0x123"));
			found = true;
		}
	assert_true(found);
}

static void source_lines_are_copied_where_they_can_be_read(void **state)
{
	struct fixture *f = *state;
	char *source = file_join(f->dir, "x.py"), *pipe = file_join(f->dir, "fifo");
	assert_int_equal(file_write_atomic(source, "one\r\n  two\nlast", 15, &f->err), 0);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	struct wire_make *make = begin(f, 100);
	wire_make_thread(make, 100, "main");
	/* In tables of this version, nothing in the table means the function's first line. */
	const struct {
		const char *file;
		int line;
	} codes[] = {{source, 1}, {source, 3}, {source, 4}, {pipe, 1}, {"/dev/zero", 1}, {"/nowhere", 1}, {f->dir, 1}};
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		wire_id code = wire_make_code(make, "f", codes[i].file, codes[i].line);
		((struct wire_code *)wire_make_at(make, code))->version = 0x030900f0;
		wire_id node = wire_make_node(make, 0, WIRE_NODE_PYTHON, (uint64_t)code << 32);
		wire_make_sample(make, 0, f->start + 1100 * MS, node, 1 * MS, 0, 0);
	}
	put_wire(f, "100-0.wire");
	collect(f);
	assert_int_equal(f->data->sources.len, 2);
	for (size_t i = 0; i < f->data->sources.len; i++) {
		const struct profile_source *line = &f->data->sources.items[i];
		assert_string_equal(line->file, source);
		assert_string_equal(line->text, line->line == 1 ? "one" : "last");
	}
	free(source);
	free(pipe);
}

static void a_process_without_a_wire_file_is_a_gap(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	fill_main(make, f->start);
	put_wire(f, "100-0.wire");
	put_process(f, 100, "/bin/sh", 0.1, PROCESS_EXIT_RECORD);
	put_process(f, 200, "/nowhere/static-program --x", 0.05, PROCESS_EXIT_RECORD);
	put_process(f, 300, "/bin/sh", 0.0001, PROCESS_EXIT_RECORD); /* gone before its agent began */
	collect_with(f, 0.15, true);
	assert_int_equal(f->data->gaps.len, 1);
	assert_int_equal(f->data->gaps.items[0].pid, 200);
	assert_string_equal(f->data->gaps.items[0].reason, "its file is gone or cannot be read");
	assert_true(f->data->gaps.items[0].cpu_s > 0.0499 && f->data->gaps.items[0].cpu_s < 0.0501);
	assert_true(value(f, METRIC_PROFILE_UNCOVERED) > 0.333 && value(f, METRIC_PROFILE_UNCOVERED) < 0.334);
}

static void what_wait4_tells_of_a_parent_is_not_counted_twice(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 101);
	fill_main(make, f->start);
	put_wire(f, "101-0.wire");
	/* The parent has no agent; its 0.16 s include the child's 0.1 s. */
	put_process(f, 100, "/nowhere/parent", 0.16, PROCESS_WAITED);
	put_process(f, 101, "/nowhere/child", 0.1, PROCESS_SAMPLED);
	collect_with(f, 0.16, false);
	assert_int_equal(f->data->gaps.len, 1);
	assert_int_equal(f->data->gaps.items[0].pid, 100);
	assert_true(f->data->gaps.items[0].cpu_s > 0.0599 && f->data->gaps.items[0].cpu_s < 0.0601);
}

static void cpu_time_that_no_known_process_used_is_a_gap_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	fill_main(make, f->start);
	put_wire(f, "100-0.wire");
	put_process(f, 100, "/bin/sh", 0.3, PROCESS_WAITED);
	collect_with(f, 0.3, false);
	assert_int_equal(f->data->gaps.len, 1);
	assert_int_equal(f->data->gaps.items[0].pid, 0);
	assert_true(f->data->gaps.items[0].cpu_s > 0.199 && f->data->gaps.items[0].cpu_s < 0.201);
}

static void a_program_behind_an_exec_that_has_no_agent_is_a_gap(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	make->header->end = WIRE_ENDED_EXEC;
	make->header->cpu_end_ns = 20 * MS;
	wire_make_thread(make, 100, "sh");
	put_wire(f, "100-0.wire");
	put_process(f, 100, "/nowhere/static-program", 0.1, PROCESS_EXIT_RECORD);
	collect(f);
	assert_int_equal(f->data->gaps.len, 1);
	assert_true(f->data->gaps.items[0].cpu_s > 0.0799 && f->data->gaps.items[0].cpu_s < 0.0801);
}

static void threads_without_a_clock_are_told_where_time_is_missing(void **state)
{
	struct fixture *f = *state;
	for (int pid = 100; pid < 102; pid++) {
		struct wire_make *make = begin(f, pid);
		make->header->threads_missed = 1;
		struct wire_thread *thread = wire_make_thread(make, pid, "main");
		/* The first one's main thread used all of it. */
		thread->cpu_start_ns = 10 * MS;
		thread->cpu_last_ns = thread->cpu_end_ns = pid == 100 ? STAGE_CPU_MS * MS : 60 * MS;
		wire_id node = wire_make_node(make, 0, WIRE_NODE_NATIVE, 0x1234);
		wire_make_sample(make, 0, f->start + 2 * NS_PER_S, node,
				 (uint32_t)(thread->cpu_last_ns - thread->cpu_start_ns), 0, 0);
		put_wire(f, pid == 100 ? "100-0.wire" : "101-0.wire");
	}
	collect(f);
	assert_int_equal(weight_on(f, "[not sampled]"), (STAGE_CPU_MS - 60) * MS);
	assert_true(is_told(f, "threads without a clock"));
	assert_false(is_told(f, "(2 processes)"));
}

static void damage_and_trouble_are_told_and_passed_over(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	make->header->clock = WIRE_CLOCK_TICK;
	make->header->python = WIRE_PYTHON_UNKNOWN_VERSION;
	make->header->python_version = 0x040100f0;
	make->header->lost_full = 7;
	make->header->end = WIRE_ENDED_STOPPED;
	memcpy(make->header->stop_reason, "no memory", 10);
	fill_main(make, f->start);
	wire_make_node(make, 0xFFFFFF, WIRE_NODE_NATIVE, 1);
	put_wire(f, "100-0.wire");
	begin(f, 101)->header->stage_id = 12345;
	put_wire(f, "101-0.wire");
	begin(f, 102)->header->magic = 0;
	put_wire(f, "102-0.wire");
	collect(f);
	assert_int_equal(f->data->processes.len, 1);
	assert_int_equal(f->data->processes.items[0].lost, 7);
	assert_string_equal(f->data->processes.items[0].python, "4.1.0");
	assert_string_equal(f->data->processes.items[0].note, "no memory");
	assert_true(is_told(f, "kernel's tick"));
	assert_true(is_told(f, "were lost"));
	assert_true(is_told(f, "Python 4.1.0 is not known"));
	assert_true(is_told(f, "ended early: no memory"));
	assert_true(is_told(f, "are damaged"));
	assert_true(is_told(f, "stage that does not exist"));
	assert_true(is_told(f, "not a wire file"));
}

static void numbers_that_cannot_be_are_not_believed(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = begin(f, 100);
	make->header->cpu_start_ns = 1ull << 63;
	make->header->cpu_end_ns = UINT64_MAX;
	make->header->start_mono_ns = UINT64_MAX;
	struct wire_thread *thread = fill_main(make, f->start);
	thread->cpu_end_ns = UINT64_MAX;
	thread->end_mono_ns = UINT64_MAX;
	put_wire(f, "100-0.wire");
	collect(f);
	assert_int_equal(weight_of_all(f), 20 * MS);
	assert_true(f->data->processes.items[0].start_ns <= 11 * NS_PER_S);
}

static void a_file_without_threads_still_has_its_startup(void **state)
{
	struct fixture *f = *state;
	begin(f, 100)->header->cpu_end_ns = 10 * MS;
	put_wire(f, "100-0.wire");
	collect(f);
	assert_int_equal(f->data->threads.len, 1);
	assert_string_equal(f->data->threads.items[0].name, "program");
	assert_int_equal(weight_on(f, "[startup before the agent]"), 10 * MS);
}

static void fill_all(struct wire_make *make, uint64_t start)
{
	fill_main(make, start);
	wire_id task = wire_make_task(make, "task");
	wire_make_module(make, 0x10000, 0x20000, 0x10000, 0, "/bin/sh");
	wire_id root = wire_make_node(make, 0, WIRE_NODE_NATIVE, 0x11235);
	wire_id leaf = wire_make_node(make, root, WIRE_NODE_NATIVE, 0xdead0);
	struct wire_thread *thread = wire_make_thread(make, 101, "worker");
	thread->creator = root;
	thread->start_routine = 0x11000;
	thread->cpu_end_ns = 5 * MS;
	wire_make_sample(make, 1, start + 1100 * MS, leaf, 2 * MS, 0, task);
}

/* The part of the file that holds something: most of it is empty. */
static size_t place_of(uint64_t random)
{
	static const struct {
		size_t at, size;
	} parts[] = {{0, 512},
		     {MAKE_RECORDS_AT * WIRE_PAGE, 1024},
		     {MAKE_NODES_AT * WIRE_PAGE, 128},
		     {MAKE_SAMPLES_AT * WIRE_PAGE, 80},
		     {(MAKE_SAMPLES_AT + MAKE_CHUNK_PAGES) * WIRE_PAGE, 64}};
	size_t part = random % 5;
	return parts[part].at + (random >> 8) % parts[part].size;
}

static void whatever_bytes_are_changed_the_run_file_can_be_read(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 88172645463325252ull;
	for (int file = 0; file < 400; file++) {
		char name[32];
		struct wire_make *make = begin(f, 100 + file);
		fill_all(make, f->start);
		for (int change = 0; change < 1 + file % 7; change++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			make->bytes[place_of(random)] = change % 2 ? 0xFF : (uint8_t)(random >> 40);
		}
		snprintf(name, sizeof(name), "%d-0.wire", 100 + file);
		put_wire(f, name);
	}
	collect(f); /* loads it */
	assert_true(f->data->processes.len > 200 && f->data->processes.len <= 400);
}

static void a_folder_that_is_gone_is_told(void **state)
{
	struct fixture *f = *state;
	rmdir(f->wires);
	collect(f);
	assert_int_equal(f->data->processes.len, 0);
	assert_true(is_told(f, "is gone"));
	assert_int_equal(f->record->stages.items[0].values[METRIC_PROFILE_OVERHEAD].state, METRIC_ABSENT);
}

#define ON_A_RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_RUN(weights_add_up_to_the_images_cpu_time),
	ON_A_RUN(a_killed_image_has_the_cpu_time_of_its_threads),
	ON_A_RUN(time_of_threads_that_never_ended_goes_to_their_last_stacks),
	ON_A_RUN(an_image_after_an_exec_does_not_count_what_was_before),
	ON_A_RUN(native_frames_are_named_by_module_and_what_is_in_none_keeps_its_address),
	ON_A_RUN(source_lines_are_copied_where_they_can_be_read),
	ON_A_RUN(a_process_without_a_wire_file_is_a_gap),
	ON_A_RUN(what_wait4_tells_of_a_parent_is_not_counted_twice),
	ON_A_RUN(cpu_time_that_no_known_process_used_is_a_gap_of_its_own),
	ON_A_RUN(a_program_behind_an_exec_that_has_no_agent_is_a_gap),
	ON_A_RUN(threads_without_a_clock_are_told_where_time_is_missing),
	ON_A_RUN(damage_and_trouble_are_told_and_passed_over),
	ON_A_RUN(numbers_that_cannot_be_are_not_believed),
	ON_A_RUN(a_file_without_threads_still_has_its_startup),
	ON_A_RUN(whatever_bytes_are_changed_the_run_file_can_be_read),
	ON_A_RUN(a_folder_that_is_gone_is_told),
};

UNIT_MAIN(tests)
