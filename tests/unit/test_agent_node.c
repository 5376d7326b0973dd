/*
 * test_agent_node.c - the wire file's chunks and the tree of stacks in them, from one thread and from several.
 */
#include "agent_file.h"
#include "unit.h"

#include <pthread.h>
#include <sys/resource.h>

static int open_file(void **state)
{
	(void)state;
	return agent_file_open() ? 0 : -1;
}

static int close_file(void **state)
{
	(void)state;
	agent_file_close();
	return 0;
}

static wire_id add(struct agent_thread *thread, wire_id parent, uint64_t value)
{
	return node_add(thread, parent, WIRE_NODE_NATIVE, 0, value);
}

static void equal_paths_are_one_node(void **state)
{
	(void)state;
	struct agent_thread *thread = agent_file_thread();
	wire_id root = add(thread, 0, 0x1000), leaf = add(thread, root, 0x2000);
	assert_true(root && leaf && root != leaf);
	assert_int_equal(add(thread, 0, 0x1000), root);
	assert_int_equal(add(thread, root, 0x2000), leaf);
	const struct wire_node *node = file_at(leaf);
	assert_int_equal(node->parent, root);
	assert_int_equal(node->value, 0x2000);
}

static void nodes_differ_by_parent_value_kind_flags_and_generation(void **state)
{
	(void)state;
	struct agent_thread *thread = agent_file_thread();
	wire_id first = add(thread, 0, 0x1000);
	assert_int_not_equal(add(thread, first, 0x1000), first);
	assert_int_not_equal(add(thread, 0, 0x1001), first);
	assert_int_not_equal(node_add(thread, 0, WIRE_NODE_PYTHON, 0, 0x1000), first);
	assert_int_not_equal(node_add(thread, 0, WIRE_NODE_NATIVE, WIRE_NODE_EXACT, 0x1000), first);
	wire_id python = node_add(thread, 0, WIRE_NODE_PYTHON, 0, 0x1000);
	agent_file_generation = 1;
	assert_int_not_equal(add(thread, 0, 0x1000), first);
	assert_int_equal(node_add(thread, 0, WIRE_NODE_PYTHON, 0, 0x1000), python);
	agent_file_generation = 0;
	assert_int_equal(add(thread, 0, 0x1000), first);
}

enum { WORKERS = 4, KEYS = 30000 };

struct worker {
	struct agent_thread *thread;
	unsigned step; /* each goes through the keys in its own order */
	wire_id ids[KEYS];
};

static void *add_keys(void *context)
{
	struct worker *worker = context;
	for (unsigned i = 0; i < KEYS; i++) {
		unsigned key = i * worker->step % KEYS;
		wire_id parent = add(worker->thread, 0, key % 7 + 1);
		worker->ids[key] = parent ? add(worker->thread, parent, 0x1000 + key) : 0;
	}
	return NULL;
}

/* More keys than the first tables hold, so that tables grow while others look. */
static void threads_that_add_the_same_keys_agree(void **state)
{
	(void)state;
	static const unsigned steps[WORKERS] = {1, 7, 11, 13};
	struct worker *workers = calloc(WORKERS, sizeof(*workers));
	pthread_t threads[WORKERS];
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].thread = agent_file_thread();
		workers[i].step = steps[i];
		assert_int_equal(pthread_create(&threads[i], NULL, add_keys, &workers[i]), 0);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	unsigned different = 0;
	for (unsigned key = 0; key < KEYS; key++)
		for (unsigned i = 0; i < WORKERS; i++) {
			const struct wire_node *node = file_at(workers[i].ids[key]);
			assert_non_null(node);
			assert_int_equal(node->value, 0x1000 + key);
			assert_int_equal(((const struct wire_node *)file_at(node->parent))->value, key % 7 + 1);
			different += workers[i].ids[key] != workers[0].ids[key];
		}
	assert_true(different < KEYS / 100);
	free(workers);
}

/* The chunks of a file that several threads have filled, one after the other without gaps. */
static void chunks_follow_each_other_and_hold_what_was_published(void **state)
{
	struct agent_thread *thread = agent_file_thread(), *other = agent_file_thread();
	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		struct wire_sample *sample = file_sample(i % 3 ? thread : other);
		*sample = (struct wire_sample){.mono_ns = i};
		file_sample_publish(i % 3 ? thread : other);
		struct wire_record *record = file_record(thread, WIRE_TASK, 16 + i % 5000);
		assert_non_null(record);
		assert_int_equal((uintptr_t)record % WIRE_UNIT, 0);
		assert_int_equal(((const char *)record)[sizeof(*record)], 0);
		memset(record + 1, 0xff, record->bytes - sizeof(*record));
		if (i % 2)
			file_publish(thread);
	}
	const struct wire_header *header = file_header();
	unsigned page = 1, samples = 0;
	while (page < header->pages_used) {
		const struct wire_chunk *chunk = (const void *)((const char *)header + (size_t)page * WIRE_PAGE);
		assert_in_range(chunk->kind, WIRE_RECORDS, WIRE_SAMPLES);
		assert_true(chunk->pages > 0 && chunk->used <= chunk->pages * WIRE_PAGE - sizeof(*chunk));
		if (chunk->kind == WIRE_SAMPLES)
			samples += chunk->used / sizeof(struct wire_sample);
		page += chunk->pages;
	}
	assert_int_equal(page, header->pages_used);
	assert_int_equal(samples, 3000);
}

static void a_full_file_is_an_answer(void **state)
{
	(void)state;
	struct agent_thread *thread = agent_file_thread();
	agent_file_close();
	struct rlimit before, small = {1 << 20, RLIM_INFINITY};
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_true(agent_file_open());
	assert_int_equal(file_header()->pages_most, 256);
	unsigned records = 0;
	while (file_record(thread, WIRE_TASK, 8000)) {
		file_publish(thread);
		records++;
	}
	assert_in_range(records, 100, 132);
	assert_true(file_header()->pages_used <= 256);
	struct agent_thread *late = agent_file_thread();
	while (file_sample(late))
		file_sample_publish(late);
	assert_null(file_node(agent_file_thread()));
	setrlimit(RLIMIT_FSIZE, &before);
}

static void a_stop_keeps_its_first_reason(void **state)
{
	(void)state;
	file_stop("the first");
	file_stop("the second");
	assert_string_equal(file_header()->stop_reason, "the first");
}

static void ids_outside_of_the_file_are_none(void **state)
{
	(void)state;
	assert_null(file_at(0));
	assert_null(file_at(UINT32_MAX));
	assert_null(file_at(file_header()->pages_most * (WIRE_PAGE / WIRE_UNIT)));
	assert_non_null(file_at(WIRE_PAGE / WIRE_UNIT));
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, open_file, close_file)
static const struct CMUnitTest tests[] = {
	WITH_FILE(equal_paths_are_one_node),
	WITH_FILE(nodes_differ_by_parent_value_kind_flags_and_generation),
	WITH_FILE(threads_that_add_the_same_keys_agree),
	WITH_FILE(chunks_follow_each_other_and_hold_what_was_published),
	WITH_FILE(a_full_file_is_an_answer),
	WITH_FILE(a_stop_keeps_its_first_reason),
	WITH_FILE(ids_outside_of_the_file_are_none),
};
UNIT_MAIN(tests)
