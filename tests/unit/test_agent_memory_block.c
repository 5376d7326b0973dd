/* Blocks by address: the shadow of the heap, where every one is known, and the table of sampled ones. Addresses are made up; nothing is
 * ever read there. */
#include "agent/memory_block.h"
#include "unit.h"

#include <pthread.h>
#include <sys/mman.h>

/* What they need of the rest of the agent. */
struct memory_state memory;

void *memory_reserve(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

void *memory_map(size_t bytes)
{
	return memory_reserve(bytes);
}

void memory_unreserve(void *at, size_t bytes)
{
	munmap(at, bytes);
}

bool agent_enter(void)
{
	return true;
}

void gate_leave(void)
{
}

enum { EXACT = 0, SAMPLED = 524288 };

static struct wire_site sites[2];

static void begin(uint64_t period, bool is_wide)
{
	memory.period_bytes = period;
	atomic_store(&memory.codes_freed, 0);
	assert_true(block_begin(is_wide));
	assert_true(block_enter_site(&sites[0]));
	assert_true(block_enter_site(&sites[1]));
	assert_int_not_equal(sites[0].number, sites[1].number);
}

static const void *at(uintptr_t address)
{
	return (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

static bool add(uintptr_t address, unsigned site, uint64_t bytes, uint64_t now_ns)
{
	return block_add(at(address), &(struct memory_block){&sites[site], block_born(now_ns), bytes});
}

static void assert_is(uintptr_t address, unsigned site, uint64_t bytes, uint64_t now_ns)
{
	struct memory_block block = {0};
	assert_true(block_peek(at(address), &block));
	assert_ptr_equal(block.site, &sites[site]);
	assert_int_equal(block.bytes, bytes);
	assert_int_equal(block.born, block_born(now_ns));
}

static void assert_taken(uintptr_t address, unsigned site, uint64_t bytes)
{
	struct memory_block block = {0};
	assert_true(block_take(at(address), &block));
	assert_ptr_equal(block.site, &sites[site]);
	assert_int_equal(block.bytes, bytes);
	assert_false(block_take(at(address), &block));
	assert_false(block_peek(at(address), &block));
}

static void a_block_is_what_was_added_until_it_is_taken(void **state)
{
	(void)state;
	static const uint64_t sizes[] = {0, 1, 16, 509, 510, 511, 512, 4096, 1ULL << 40};
	for (int mode = 0; mode < 2; mode++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			begin(mode ? SAMPLED : EXACT, true);
			assert_true(add(0x7f0000000010, 1, sizes[i], 123456789));
			assert_is(0x7f0000000010, 1, sizes[i], 123456789);
			assert_taken(0x7f0000000010, 1, sizes[i]);
		}
}

static void neighbours_are_apart(void **state)
{
	(void)state;
	begin(EXACT, true);
	for (uintptr_t i = 0; i < 1000; i++)
		assert_true(add(0x1000 + 16 * i, i % 2, i % 17, i * 1000));
	for (uintptr_t i = 0; i < 1000; i++)
		assert_is(0x1000 + 16 * i, i % 2, i % 17, i * 1000);
	begin(EXACT, false);
	for (uintptr_t i = 0; i < 1000; i++)
		assert_true(add(0x1000 + 8 * i, i % 2, i % 9, i * 1000));
	for (uintptr_t i = 0; i < 1000; i++)
		assert_taken(0x1000 + 8 * i, i % 2, i % 9);
}

static void a_large_block_leaves_nothing_behind(void **state)
{
	(void)state;
	struct memory_block block;
	begin(EXACT, true);
	assert_true(add(0x5000, 0, 100000, 1));
	assert_taken(0x5000, 0, 100000);
	assert_false(block_peek(at(0x5010), &block));
	/* The last address of a stretch has its second word, too. */
	uintptr_t last = (3UL << BLOCK_STRETCH_BITS) - 16;
	assert_true(add(last, 1, 100000, 1));
	assert_taken(last, 1, 100000);
}

static void what_is_added_again_is_taken_over(void **state)
{
	(void)state;
	for (int mode = 0; mode < 2; mode++) {
		begin(mode ? SAMPLED : EXACT, true);
		assert_true(add(0x6000, 0, 700, 1));
		assert_true(add(0x6000, 1, 30, 2));
		assert_taken(0x6000, 1, 30);
	}
}

static void the_free_of_a_watched_block_is_counted_once(void **state)
{
	(void)state;
	begin(EXACT, true);
	assert_false(block_watch(at(0x7000)));
	assert_true(add(0x7000, 0, 200, 5));
	assert_true(add(0x7100, 0, 16, 5));
	assert_true(block_watch(at(0x7000)));
	assert_true(block_watch(at(0x7000)));
	assert_false(block_watch(at(0x7100))); /* has no room for the mark */
	assert_is(0x7000, 0, 200, 5);
	assert_taken(0x7100, 0, 16);
	assert_int_equal(atomic_load(&memory.codes_freed), 0);
	assert_taken(0x7000, 0, 200);
	assert_int_equal(atomic_load(&memory.codes_freed), 1);
	assert_true(add(0x7000, 0, 200, 6));
	assert_taken(0x7000, 0, 200);
	assert_int_equal(atomic_load(&memory.codes_freed), 1);
}

static void an_age_is_right_across_the_wrap_and_never_negative(void **state)
{
	(void)state;
	const uint64_t wrap_ns = (BLOCK_BORN_MASK + 1) << BLOCK_BORN_SHIFT;
	struct memory_block block = {.born = block_born(wrap_ns - 1024)};
	assert_int_equal(block_age(&block, wrap_ns + 1024), 2048);
	block.born = block_born(5000000);
	assert_int_equal(block_age(&block, 4900000), 0); /* by another thread's reading of the clock */
	assert_int_equal(block_age(&block, 5000000 + (3600ULL << 30)) >> 30, 3600);
}

static void addresses_beyond_the_program_s_have_no_block(void **state)
{
	(void)state;
	struct memory_block block;
	begin(EXACT, true);
	assert_false(add(1UL << 47, 0, 1, 1));
	assert_false(block_take(at(UINTPTR_MAX - 15), &block));
}

static void sites_beyond_the_most_are_refused(void **state)
{
	(void)state;
	struct wire_site many = {0};
	begin(EXACT, true);
	unsigned entered = 2;
	while (block_enter_site(&many))
		entered++;
	assert_int_equal(entered, (1 << BLOCK_SITE_BITS) - 1);
	assert_false(block_enter_site(&many));
}

/* ---- sampled blocks */

static void every_sampled_block_of_many_is_found_and_the_filter_knows(void **state)
{
	(void)state;
	enum { BLOCKS = 100000 };
	begin(SAMPLED, true);
	for (uintptr_t i = 0; i < BLOCKS; i++)
		assert_true(add(0x10000 + 4096 * i, i % 2, i, i * 256));
	for (uintptr_t i = 0; i < BLOCKS; i++) {
		assert_true(block_filter[block_filter_place(at(0x10000 + 4096 * i))]);
		assert_is(0x10000 + 4096 * i, i % 2, i, i * 256);
	}
	for (uintptr_t i = 0; i < BLOCKS; i++)
		assert_taken(0x10000 + 4096 * i, i % 2, i);
}

static void the_filter_forgets_what_was_taken(void **state)
{
	(void)state;
	begin(SAMPLED, true);
	assert_true(block_filter[block_filter_place(NULL)]);
	uintptr_t other = 0x12340;
	while (block_filter_place(at(other)) == block_filter_place(NULL))
		other += 16;
	assert_false(block_filter[block_filter_place(at(other))]);
	assert_true(add(other, 0, 100, 1));
	assert_true(block_filter[block_filter_place(at(other))]);
	assert_taken(other, 0, 100);
	assert_false(block_filter[block_filter_place(at(other))]);
}

enum { THREADS = 4, ROUNDS = 20000, OWN = 64 };

static void *add_and_take(void *argument)
{
	uintptr_t own = (uintptr_t)argument;
	struct memory_block block;
	for (uintptr_t i = 0; i < ROUNDS; i++) {
		uintptr_t address = 0x100000 + (i % OWN * THREADS + own) * 48;
		if (i >= OWN && (!block_take(at(address), &block) || block.bytes != i - OWN))
			return argument;
		if (!add(address, 0, i, i))
			return argument;
	}
	return NULL;
}

static void threads_do_not_lose_each_other_s(void **state)
{
	(void)state;
	pthread_t threads[THREADS];
	for (int mode = 0; mode < 2; mode++) {
		begin(mode ? SAMPLED : EXACT, true);
		for (uintptr_t i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, add_and_take, (void *)i), 0);
		for (unsigned i = 0; i < THREADS; i++) {
			void *failed;
			assert_int_equal(pthread_join(threads[i], &failed), 0);
			assert_null(failed);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_block_is_what_was_added_until_it_is_taken),
	cmocka_unit_test(neighbours_are_apart),
	cmocka_unit_test(a_large_block_leaves_nothing_behind),
	cmocka_unit_test(what_is_added_again_is_taken_over),
	cmocka_unit_test(the_free_of_a_watched_block_is_counted_once),
	cmocka_unit_test(an_age_is_right_across_the_wrap_and_never_negative),
	cmocka_unit_test(addresses_beyond_the_program_s_have_no_block),
	cmocka_unit_test(sites_beyond_the_most_are_refused),
	cmocka_unit_test(every_sampled_block_of_many_is_found_and_the_filter_knows),
	cmocka_unit_test(the_filter_forgets_what_was_taken),
	cmocka_unit_test(threads_do_not_lose_each_other_s),
};

UNIT_MAIN(tests)
