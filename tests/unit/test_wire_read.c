/*
 * test_wire_read.c - what an agent wrote comes back as arrays; and whatever happened to the file, the reader answers with
 * what makes sense up to the damage, counts the rest, and neither crashes nor hangs.
 */
#include "unit.h"

#include "run/wire_read.h"
#include "test_store_run.h"
#include "wire_make.h"

#include <fcntl.h>
#include <sys/stat.h>

struct fixture {
	char *dir, *path;
	struct wire_make make;
	struct wire_file *file;
	struct err err;
	struct read_sample seen[64];
	size_t count;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->dir = run_folder_new();
	f->path = file_join(f->dir, "100-0.wire");
	wire_make_begin(&f->make, 100, 3);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	wire_file_free(f->file);
	free(f->make.bytes);
	run_folder_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static bool take(void *context, const struct read_sample *sample)
{
	struct fixture *f = context;
	f->seen[f->count++] = *sample;
	return f->count < 64;
}

static void read_back(struct fixture *f)
{
	if (wire_make_write(&f->make, f->path, &f->err) != 0 || wire_read(f->path, &f->file, &f->err) != 0)
		fail_msg("%s", f->err.text);
	f->count = 0;
	wire_samples(f->file, take, f);
}

static void assert_refused(struct fixture *f, const char *words)
{
	struct wire_summary summary;
	assert_int_equal(wire_read(f->path, &f->file, &f->err), ERR_INPUT);
	assert_null(f->file);
	if (!strstr(f->err.text, words))
		fail_msg("'%s' does not say '%s'", f->err.text, words);
	assert_int_equal(wire_read_summary(f->path, &summary, &f->err), ERR_INPUT);
}

static void what_was_written_comes_back(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = &f->make;
	struct wire_thread *thread = wire_make_thread(make, 100, "a name of sixteen");
	wire_make_thread(make, 101, "worker");
	wire_make_module(make, 0x1000, 0x2000, 0x1000, 0, "/lib/a.so");
	wire_id code = wire_make_code(make, "f", "/x.py", 7), task = wire_make_task(make, "fetch");
	wire_id root = wire_make_node(make, 0, WIRE_NODE_NATIVE, 0x1100);
	wire_id leaf = wire_make_node(make, root, WIRE_NODE_PYTHON, (uint64_t)code << 32 | 12);
	thread->creator = leaf;
	wire_make_sample(make, 1, 30, root, 3, WIRE_SAMPLE_SYSCALL, 0);
	wire_make_sample(make, 0, 10, leaf, 1, WIRE_SAMPLE_GIL, task);
	wire_make_sample(make, 0, 20, 0, 2, WIRE_SAMPLE_BUSY, 0);
	read_back(f);
	assert_int_equal(f->file->summary.pid, 100);
	assert_int_equal(f->file->summary.stage_id, 3);
	assert_string_equal(f->file->summary.executable, "/usr/bin/program");
	assert_int_equal(f->file->threads.len, 2);
	assert_string_equal(f->file->threads.items[0].name, "a name of sixtee");
	assert_int_equal(f->file->threads.items[0].creator, 1);
	assert_int_equal(f->file->threads.items[1].creator, WIRE_NOWHERE);
	assert_string_equal(f->file->modules.items[0].path, "/lib/a.so");
	assert_string_equal(f->file->codes.items[0].name, "f");
	assert_string_equal(f->file->codes.items[0].file, "/x.py");
	assert_string_equal(f->file->tasks.items[0], "fetch");
	assert_int_equal(f->file->nodes.len, 2);
	assert_int_equal(f->file->nodes.items[1].parent, 0);
	assert_int_equal(f->file->nodes.items[1].value, 12);
	assert_int_equal(f->file->order.len, 2);
	assert_int_equal(f->count, 3);
	assert_true(f->seen[0].mono_ns == 10 && f->seen[0].node == 1 && f->seen[0].task == 0 && f->seen[0].thread == 0);
	assert_true(f->seen[1].mono_ns == 20 && f->seen[1].node == WIRE_NOWHERE && f->seen[1].flags == 32);
	assert_true(f->seen[2].mono_ns == 30 && f->seen[2].thread == 1 && f->seen[2].weight_ns == 3);
	assert_true(f->file->dropped.records == 0 && f->file->dropped.nodes == 0 && f->file->dropped.bytes == 0);
}

static void a_file_that_is_none_is_refused_with_words(void **state)
{
	struct fixture *f = *state;
	const struct {
		size_t size;
		const char *words;
	} sizes[] = {{0, "cut short"}, {100, "cut short"}, {sizeof(struct wire_header) - 1, "cut short"}};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(file_write_atomic(f->path, (char *)f->make.bytes, sizes[i].size, &f->err), 0);
		assert_refused(f, sizes[i].words);
	}
	f->make.header->version = WIRE_VERSION + 1;
	assert_int_equal(file_write_atomic(f->path, (char *)f->make.bytes, WIRE_PAGE, &f->err), 0);
	assert_refused(f, "another version");
	memset(f->make.bytes, 0, WIRE_PAGE);
	assert_int_equal(file_write_atomic(f->path, (char *)f->make.bytes, WIRE_PAGE, &f->err), 0);
	assert_refused(f, "never begun");
	unlink(f->path);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_refused(f, "not a regular file");
}

static void a_link_is_not_followed(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(symlink("/etc/passwd", f->path), 0);
	assert_int_equal(wire_read(f->path, &f->file, &f->err), ERR_IO);
}

/* Three threads with one sample each: whatever is cut off, what lies before it is there. */
static void a_file_that_is_cut_short_keeps_what_it_has(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 3; i++) {
		wire_make_thread(&f->make, i, "t");
		wire_make_sample(&f->make, i, 1, 0, 1, 0, 0);
	}
	static const struct {
		size_t bytes, threads, samples;
	} cuts[] = {{WIRE_PAGE, 0, 0},
		    {WIRE_PAGE + 8, 0, 0},
		    {2 * WIRE_PAGE, 0, 0},
		    {MAKE_NODES_AT * WIRE_PAGE, 3, 0},
		    {(MAKE_SAMPLES_AT + 4) * WIRE_PAGE, 3, 1},
		    {(MAKE_SAMPLES_AT + 7) * WIRE_PAGE, 3, 1},
		    {(MAKE_SAMPLES_AT + 8) * WIRE_PAGE + 17, 3, 2}};
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		assert_int_equal(file_write_atomic(f->path, (char *)f->make.bytes, cuts[i].bytes, &f->err), 0);
		assert_int_equal(wire_read(f->path, &f->file, &f->err), 0);
		f->count = 0;
		wire_samples(f->file, take, f);
		assert_int_equal(f->file->threads.len, cuts[i].threads);
		assert_int_equal(f->count, cuts[i].samples);
		wire_file_free(f->file);
		f->file = NULL;
	}
}

static void pages_beyond_those_claimed_are_not_looked_at(void **state)
{
	struct fixture *f = *state;
	wire_make_thread(&f->make, 1, "t");
	wire_make_sample(&f->make, 0, 1, 0, 1, 0, 0);
	f->make.header->pages_used = MAKE_SAMPLES_AT;
	read_back(f);
	assert_int_equal(f->file->threads.len, 1);
	assert_int_equal(f->count, 0);
}

static void ids_that_point_nowhere_are_dropped(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = &f->make;
	struct wire_thread *thread = wire_make_thread(make, 1, "t");
	wire_id module = wire_make_module(make, 1, 2, 0, 0, "/m");
	wire_id good = wire_make_node(make, 0, WIRE_NODE_NATIVE, 1);
	wire_id bad_parent = wire_make_node(make, 0xFFFFFFFF, WIRE_NODE_NATIVE, 1);
	wire_id below = wire_make_node(make, bad_parent, WIRE_NODE_NATIVE, 1);
	wire_id bad_code = wire_make_node(make, good, WIRE_NODE_PYTHON, (uint64_t)module << 32);
	wire_id bad_kind = wire_make_node(make, good, 77, 1);
	wire_id bad_mark = wire_make_node(make, good, WIRE_NODE_MARK, 99);
	const wire_id nodes[] = {
		bad_parent, below,           bad_code,
		bad_kind,   bad_mark,        0xFFFFFFFF,
		1,          make->owners[0], MAKE_NODES_AT * WIRE_PAGE / WIRE_UNIT /* the chunk's head */,
		good + 100};
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		wire_make_sample(make, 0, i, nodes[i], 10, 0, module /* is no task */);
	wire_make_sample(make, 0, 99, good, 10, 0, 0xFFFFFFFF);
	thread->creator = bad_parent;
	read_back(f);
	assert_int_equal(f->file->order.len, 1);
	assert_int_equal(f->file->dropped.nodes, 5);
	assert_int_equal(f->count, 11); /* no weight is lost */
	for (size_t i = 0; i < 10; i++)
		assert_true(f->seen[i].node == WIRE_NOWHERE && f->seen[i].task == WIRE_NOWHERE);
	assert_int_equal(f->seen[10].node, 0);
	assert_int_equal(f->file->dropped.stacks_lost, 10);
	assert_int_equal(f->file->threads.items[0].creator, WIRE_NOWHERE);
}

static void cycles_are_dropped_and_all_that_hangs_on_them(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = &f->make;
	wire_make_thread(make, 1, "t");
	wire_id own = wire_make_node(make, 0, WIRE_NODE_NATIVE, 1);
	((struct wire_node *)wire_make_at(make, own))->parent = own;
	wire_id a = wire_make_node(make, 0, WIRE_NODE_NATIVE, 2), b = wire_make_node(make, a, WIRE_NODE_NATIVE, 3);
	((struct wire_node *)wire_make_at(make, a))->parent = b;
	wire_id tail = wire_make_node(make, b, WIRE_NODE_NATIVE, 4);
	/* A child before its parent is no cycle. */
	wire_id early = wire_make_node(make, 0, WIRE_NODE_NATIVE, 5),
		late = wire_make_node(make, 0, WIRE_NODE_NATIVE, 6);
	((struct wire_node *)wire_make_at(make, early))->parent = late;
	wire_make_sample(make, 0, 1, tail, 1, 0, 0);
	wire_make_sample(make, 0, 2, early, 1, 0, 0);
	read_back(f);
	assert_int_equal(f->file->order.len, 2);
	assert_int_equal(f->file->nodes.items[f->file->order.items[0]].value, 6);
	assert_int_equal(f->file->nodes.items[f->file->order.items[1]].value, 5);
	assert_int_equal(f->file->nodes.items[f->file->order.items[1]].depth, 2);
	assert_int_equal(f->file->dropped.nodes, 4);
	assert_int_equal(f->seen[0].node, WIRE_NOWHERE);
	assert_int_equal(f->file->nodes.items[f->seen[1].node].value, 5);
}

static void stacks_deeper_than_any_agent_writes_are_dropped(void **state)
{
	struct fixture *f = *state;
	wire_id parent = 0;
	for (int i = 0; i < 900; i++)
		parent = wire_make_node(&f->make, parent, WIRE_NODE_NATIVE, 1);
	/* Chains of 900 on top of each other: the first node's parent is the last one of a second chunk of nodes. */
	struct wire_chunk *more = wire_make_chunk(&f->make, MAKE_SAMPLES_AT, WIRE_NODES);
	struct wire_node *nodes = (struct wire_node *)(more + 1);
	uint32_t first = MAKE_SAMPLES_AT * WIRE_PAGE / WIRE_UNIT + 1;
	more->pages = 8;
	for (uint32_t i = 0; i < 2000; i++)
		nodes[i] = (struct wire_node){.parent = i ? first + i - 1 : parent, .kind = WIRE_NODE_NATIVE};
	more->used = 2000 * sizeof(*nodes);
	read_back(f);
	assert_int_equal(f->file->nodes.len, 2900);
	assert_int_equal(f->file->order.len, WIRE_STACK_MAX);
	assert_int_equal(f->file->dropped.nodes, 2900 - WIRE_STACK_MAX);
}

static void records_with_wrong_sizes_are_dropped(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = &f->make;
	wire_id id;
	struct wire_module *module = wire_make_at(make, wire_make_module(make, 1, 2, 0, 0, "/too/long"));
	module->path_bytes = 0xFFFF;
	module = wire_make_at(make, wire_make_module(make, 2, 2, 0, 0, "/empty"));
	module = wire_make_at(make, wire_make_module(make, 1, 2, 0, 0, "/id"));
	module->build_id_bytes = 33;
	struct wire_code *code = wire_make_at(make, wire_make_code(make, "f", "g", 1));
	code->line_bytes = 0xFFFFFFFF;
	code = wire_make_at(make, wire_make_code(make, "f", "g", 1));
	code->file_bytes = 1024;
	struct wire_task *task = wire_make_at(make, wire_make_task(make, "t"));
	task->name_bytes = 0xFFFFFFFF;
	wire_make_record(make, WIRE_THREAD, 16, &id);
	wire_make_record(make, WIRE_MODULE, 16, &id);
	wire_make_record(make, 99, 64, &id);
	wire_make_task(make, "good");
	struct wire_record *record = wire_make_record(make, WIRE_TASK, 32, &id);
	record->bytes = 0xFFFFFFF0;
	wire_make_task(make, "hidden");
	read_back(f);
	assert_int_equal(f->file->modules.len, 0);
	assert_int_equal(f->file->codes.len, 0);
	assert_int_equal(f->file->threads.len, 0);
	assert_int_equal(f->file->tasks.len, 1);
	assert_string_equal(f->file->tasks.items[0], "good");
	assert_int_equal(f->file->dropped.records, 10);
}

static void texts_end_and_are_clean(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = &f->make;
	memset(make->header->executable, 'x', sizeof(make->header->executable));
	memset(make->header->stop_reason, 'y', sizeof(make->header->stop_reason));
	struct wire_thread *thread = wire_make_thread(make, 1, "t");
	memset(thread->name, 'z', sizeof(thread->name));
	struct wire_task *task = wire_make_at(make, wire_make_task(make, "ab\xff"
									 "cd"));
	task->name[1] = 0;
	wire_make_task(make, "ab\xff");
	read_back(f);
	assert_int_equal(strlen(f->file->summary.executable), WIRE_TEXT_MAX);
	assert_int_equal(strlen(f->file->summary.stop_reason), 160);
	assert_int_equal(strlen(f->file->threads.items[0].name), 16);
	assert_string_equal(f->file->tasks.items[0], "a");
	assert_string_equal(f->file->tasks.items[1], "ab\xEF\xBF\xBD");
}

static void the_first_chunk_that_makes_no_sense_ends_the_file(void **state)
{
	struct fixture *f = *state;
	static const struct wire_chunk chunks[] = {{.kind = WIRE_SITES + 1, .pages = 1},
						   {.kind = 0xFFFFFFFF, .pages = 1},
						   {.kind = WIRE_NODES, .pages = 0},
						   {.kind = WIRE_NODES, .pages = 0xFFFFFFFF},
						   {.kind = WIRE_SAMPLES, .pages = 1, .used = 0xFFFFFFFF},
						   {.kind = WIRE_RECORDS, .pages = 1, .used = WIRE_PAGE - 15}};
	wire_make_thread(&f->make, 1, "t");
	wire_make_sample(&f->make, 0, 1, 0, 1, 0, 0);
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		memcpy(f->make.bytes + MAKE_NODES_AT * WIRE_PAGE, &chunks[i], sizeof(chunks[i]));
		assert_int_equal(file_write_atomic(f->path, (char *)f->make.bytes, MAKE_PAGES * WIRE_PAGE, &f->err), 0);
		assert_int_equal(wire_read(f->path, &f->file, &f->err), 0);
		assert_int_equal(f->file->threads.len, 1);
		assert_int_equal(f->file->dropped.bytes, (MAKE_PAGES - MAKE_NODES_AT) * WIRE_PAGE);
		f->count = 0;
		wire_samples(f->file, take, f);
		assert_int_equal(f->count, 0);
		wire_file_free(f->file);
		f->file = NULL;
	}
}

static void samples_of_an_unknown_thread_are_counted_and_dropped(void **state)
{
	struct fixture *f = *state;
	wire_make_thread(&f->make, 1, "t");
	wire_make_sample(&f->make, 0, 1, 0, 1, 0, 0);
	wire_make_sample(&f->make, 0, 2, 0, 1, 0, 0);
	((struct wire_chunk *)(f->make.bytes + MAKE_SAMPLES_AT * WIRE_PAGE))->owner = 12345;
	read_back(f);
	assert_int_equal(f->count, 0);
	assert_int_equal(f->file->dropped.samples, 2);
}

static void an_empty_page_is_passed_over(void **state)
{
	struct fixture *f = *state;
	wire_make_thread(&f->make, 1, "t");
	wire_make_sample(&f->make, 0, 1, 0, 1, 0, 0);
	memset(f->make.bytes + MAKE_NODES_AT * WIRE_PAGE, 0, WIRE_PAGE);
	read_back(f);
	assert_int_equal(f->count, 1);
}

static void a_huge_file_of_nothing_is_read_at_once(void **state)
{
	struct fixture *f = *state;
	wire_make_thread(&f->make, 1, "t");
	f->make.header->pages_used = 0xFFFFFFFF;
	assert_int_equal(wire_make_write(&f->make, f->path, &f->err), 0);
	assert_int_equal(truncate(f->path, (off_t)1 << 40), 0);
	assert_int_equal(wire_read(f->path, &f->file, &f->err), 0);
	assert_int_equal(f->file->threads.len, 1);
}

static void the_module_of_the_nodes_time_is_found(void **state)
{
	struct fixture *f = *state;
	struct wire_make *make = &f->make;
	wire_make_module(make, 0x1000, 0x3000, 0, 0, "/first");
	wire_make_module(make, 0x2000, 0x4000, 0, 2, "/second");
	wire_make_module(make, 0x2000, 0x4000, 0, 2, "/third");
	wire_make_module(make, 0x0, 0xFFFFFFFFFFFFFFFF, 0, 9, "/everything");
	read_back(f);
	static const struct {
		uint64_t address;
		uint32_t generation;
		const char *path;
	} cases[] = {{0x1000, 0, "/first"}, {0x2fff, 1, "/first"}, {0x2000, 2, "/third"},
		     {0x3fff, 5, "/third"}, {0x1500, 5, "/first"}, {0xfff, 8, NULL},
		     {0x4000, 8, NULL},     {0x3000, 1, NULL},     {0x2500, 9, "/everything"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct read_module *module = wire_module_at(f->file, cases[i].address, cases[i].generation);
		if (cases[i].path)
			assert_string_equal(module->path, cases[i].path);
		else
			assert_null(module);
	}
}

#define ON_A_FILE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_FILE(what_was_written_comes_back),
	ON_A_FILE(a_file_that_is_none_is_refused_with_words),
	ON_A_FILE(a_link_is_not_followed),
	ON_A_FILE(a_file_that_is_cut_short_keeps_what_it_has),
	ON_A_FILE(pages_beyond_those_claimed_are_not_looked_at),
	ON_A_FILE(ids_that_point_nowhere_are_dropped),
	ON_A_FILE(cycles_are_dropped_and_all_that_hangs_on_them),
	ON_A_FILE(stacks_deeper_than_any_agent_writes_are_dropped),
	ON_A_FILE(records_with_wrong_sizes_are_dropped),
	ON_A_FILE(texts_end_and_are_clean),
	ON_A_FILE(the_first_chunk_that_makes_no_sense_ends_the_file),
	ON_A_FILE(samples_of_an_unknown_thread_are_counted_and_dropped),
	ON_A_FILE(an_empty_page_is_passed_over),
	ON_A_FILE(a_huge_file_of_nothing_is_read_at_once),
	ON_A_FILE(the_module_of_the_nodes_time_is_found),
};

UNIT_MAIN(tests)
