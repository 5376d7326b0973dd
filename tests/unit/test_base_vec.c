/* test_base_vec.c - the growable array. */
#include "base/vec.h"
#include "unit.h"

static void pushed_items_keep_their_order_through_growth(void **state)
{
	(void)state;
	VEC(int) numbers = {0};
	for (int i = 0; i < 10000; i++)
		vec_push(&numbers, i * 3);
	assert_int_equal(numbers.len, 10000);
	assert_true(numbers.cap >= numbers.len);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(numbers.items[i], i * 3);
	assert_int_equal(*vec_last(&numbers), 29997);
	vec_fini(&numbers);
	assert_null(numbers.items);
	assert_int_equal(numbers.len + numbers.cap, 0);
}

static void an_added_item_is_zeroed_even_in_used_memory(void **state)
{
	(void)state;
	struct pair {
		long left, right;
	};
	VEC(struct pair) pairs = {0};
	for (int i = 0; i < 20; i++)
		*vec_add(&pairs) = (struct pair){.left = i + 1, .right = -1};
	pairs.len = 3;
	struct pair *added = vec_add(&pairs);
	assert_int_equal(added->left, 0);
	assert_int_equal(added->right, 0);
	assert_int_equal(pairs.items[2].left, 3);
	vec_fini(&pairs);
}

static void reserving_makes_room_without_items(void **state)
{
	(void)state;
	VEC(char) bytes = {0};
	vec_reserve(&bytes, 100);
	assert_int_equal(bytes.len, 0);
	assert_true(bytes.cap >= 100);
	char *before = bytes.items;
	for (int i = 0; i < 100; i++)
		vec_push(&bytes, 'x');
	assert_ptr_equal(bytes.items, before);
	vec_fini(&bytes);
}

static void reserving_less_than_there_is_changes_nothing(void **state)
{
	(void)state;
	VEC(int) numbers = {0};
	for (int i = 0; i < 5; i++)
		vec_push(&numbers, i + 1);
	vec_reserve(&numbers, 2);
	assert_int_equal(numbers.len, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(numbers.items[i], i + 1);
	vec_fini(&numbers);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(pushed_items_keep_their_order_through_growth),
	cmocka_unit_test(an_added_item_is_zeroed_even_in_used_memory),
	cmocka_unit_test(reserving_makes_room_without_items),
	cmocka_unit_test(reserving_less_than_there_is_changes_nothing),
};

UNIT_MAIN(tests)
