/* test_agent_python_merge.c - native and Python frames made up, and the one stack that they must become. */
#include "agent/python.h"
#include "unit.h"

static const struct python_range eval[PYTHON_EVAL_RANGES] = {{0x1000, 0x2000}, {0x9000, 0x9010}};

enum { EVAL = 0x1800, EVAL_COLD = 0x9008, MOST = 64 };

/* A stack under construction: frames lie one above the other, 0x100 bytes each. */
struct scene {
	struct native_frame native[MOST];
	struct python_frame python[MOST];
	unsigned natives, pythons;
	struct merged_frame out[2 * MOST];
	unsigned count;
	bool unmatched;
};

static struct native_frame *native(struct scene *scene, uintptr_t ip)
{
	struct native_frame *frame = &scene->native[scene->natives];
	*frame = (struct native_frame){.ip = ip, .exact = scene->natives == 0};
	frame->sp = 0x7000 + 0x100 * scene->natives++;
	frame->cfa = frame->sp + 0x100;
	return frame;
}

/* A Python frame that the native frame added last runs; without an address where `placed` is false. */
static struct python_frame *python_of(struct scene *scene, wire_id code, bool placed, bool is_entry)
{
	struct python_frame *frame = &scene->python[scene->pythons++];
	*frame = (struct python_frame){.code = code, .offset = 2 * code, .is_entry = is_entry};
	frame->c_address = placed ? scene->native[scene->natives - 1].sp + 0x40 : 0;
	return frame;
}

static void merge(struct scene *scene)
{
	scene->count = merge_frames(eval, scene->native, scene->natives, scene->python, scene->pythons, scene->out,
				    2 * MOST, &scene->unmatched);
}

/* The stack as text, root first: native frames by their address, Python frames as P and their code. */
static const char *text(struct scene *scene)
{
	static char line[4096];
	size_t used = 0;
	merge(scene);
	line[0] = 0;
	for (unsigned i = 0; i < scene->count; i++) {
		const struct merged_frame *frame = &scene->out[i];
		bool is_python = frame->kind == WIRE_NODE_PYTHON;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s%lx", i ? " " : "",
					 is_python ? "P" : "",
					 is_python ? (unsigned long)(frame->value >> 32) : (unsigned long)frame->value);
	}
	return line;
}

static void a_group_takes_the_place_of_the_frame_that_holds_it(void **state)
{
	(void)state;
	struct scene scene = {0};
	native(&scene, 0x500);
	native(&scene, EVAL);
	python_of(&scene, 1, true, true);
	native(&scene, 0x600);
	native(&scene, EVAL);
	python_of(&scene, 2, true, false);
	python_of(&scene, 3, true, true);
	native(&scene, 0x700);
	assert_string_equal(text(&scene), "700 P3 P2 600 P1 500");
	assert_false(scene.unmatched);
	assert_int_equal(scene.out[4].value, (uint64_t)1 << 32 | 2);
	assert_int_equal(scene.out[5].flags, WIRE_NODE_EXACT);
	assert_int_equal(scene.out[0].flags, 0);
}

static void the_address_decides_where_the_symbol_does_not_know_the_code(void **state)
{
	(void)state;
	struct scene scene = {0};
	native(&scene, 0x500);
	native(&scene, 0xffff); /* a part of the function that was split off and has no name */
	python_of(&scene, 1, true, true);
	native(&scene, EVAL_COLD);
	python_of(&scene, 2, true, true);
	assert_string_equal(text(&scene), "P2 P1 500");
	assert_false(scene.unmatched);
}

static void old_versions_are_matched_by_order(void **state)
{
	(void)state;
	struct scene scene = {0};
	native(&scene, EVAL);
	python_of(&scene, 1, false, true);
	native(&scene, 0x600);
	native(&scene, EVAL);
	python_of(&scene, 2, false, true);
	native(&scene, 0x700);
	assert_string_equal(text(&scene), "700 P2 600 P1");
	assert_false(scene.unmatched);
}

static void a_call_that_begins_or_ends_stays_native_and_matched(void **state)
{
	(void)state;
	for (int placed = 0; placed < 2; placed++) {
		struct scene scene = {0};
		native(&scene, 0x500); /* a check at the call's end */
		native(&scene, EVAL);
		native(&scene, 0x600);
		native(&scene, EVAL);
		python_of(&scene, 1, placed, true);
		assert_string_equal(text(&scene), "P1 600 1800 500");
		assert_false(scene.unmatched);
	}
}

static void the_first_call_of_all_may_begin_too(void **state)
{
	(void)state;
	struct scene scene = {0};
	native(&scene, EVAL);
	native(&scene, 0x700);
	assert_string_equal(text(&scene), "700 1800");
	assert_false(scene.unmatched);
}

static void a_call_without_frames_deep_below_the_leaf_is_a_mismatch(void **state)
{
	(void)state;
	for (int placed = 0; placed < 2; placed++) {
		struct scene scene = {0};
		for (unsigned i = 0; i < 6; i++)
			native(&scene, 0x500 + i);
		native(&scene, EVAL);
		native(&scene, EVAL);
		python_of(&scene, 1, placed, true);
		assert_string_equal(text(&scene), "P1 1800 505 504 503 502 501 500");
		assert_true(scene.unmatched);
	}
}

static void outer_calls_without_frames_are_kept_and_told(void **state)
{
	(void)state;
	struct scene scene = {0};
	native(&scene, EVAL);
	python_of(&scene, 1, true, true);
	native(&scene, EVAL);
	native(&scene, EVAL);
	assert_string_equal(text(&scene), "1800 1800 P1");
	assert_true(scene.unmatched);
}

static void frames_without_a_call_are_kept_and_told(void **state)
{
	(void)state;
	for (int placed = 0; placed < 2; placed++) {
		struct scene scene = {0};
		native(&scene, EVAL);
		python_of(&scene, 1, placed, true);
		native(&scene, 0x700);
		python_of(&scene, 2, placed, true)->c_address += placed ? 0x10000 : 0;
		python_of(&scene, 3, placed, true)->c_address += placed ? 0x10000 : 0;
		assert_string_equal(text(&scene), "P3 P2 700 P1");
		assert_true(scene.unmatched);
	}
}

static void a_group_that_the_unwinder_passed_by_keeps_its_place(void **state)
{
	(void)state;
	struct scene scene = {0};
	native(&scene, 0x500);
	python_of(&scene, 1, true, true)->c_address = 0x7050;
	scene.native[0].cfa = 0x7020; /* the frame of the call is missing between the two */
	native(&scene, EVAL);
	python_of(&scene, 2, true, true);
	assert_string_equal(text(&scene), "P2 P1 500");
	assert_true(scene.unmatched);
}

static void whoever_awaits_follows_its_task_and_is_no_call(void **state)
{
	(void)state;
	for (int placed = 0; placed < 2; placed++) {
		struct scene scene = {0};
		native(&scene, EVAL);
		python_of(&scene, 1, placed, true);
		for (unsigned i = 0; i < 2; i++) {
			struct python_frame *frame = python_of(&scene, 5 + i, false, false);
			frame->awaits = true;
		}
		native(&scene, 0x600);
		native(&scene, EVAL);
		python_of(&scene, 2, placed, true);
		assert_string_equal(text(&scene), "P2 600 P6 P5 P1");
		assert_false(scene.unmatched);
	}
}

static void a_stack_without_python_is_left_alone(void **state)
{
	(void)state;
	struct scene scene = {0};
	native(&scene, 0x500);
	native(&scene, 0x600);
	assert_string_equal(text(&scene), "600 500");
	assert_false(scene.unmatched);
	struct scene empty = {0};
	assert_string_equal(text(&empty), "");
}

static void frames_without_any_native_ones_are_kept(void **state)
{
	(void)state;
	struct scene scene = {0};
	scene.natives = 1;
	python_of(&scene, 1, true, true);
	scene.natives = 0;
	assert_string_equal(text(&scene), "P1");
	assert_true(scene.unmatched);
}

static void too_much_is_cut_at_the_root(void **state)
{
	(void)state;
	struct scene scene = {0};
	for (unsigned i = 0; i < 10; i++)
		native(&scene, 0x500 + i);
	bool unmatched;
	unsigned count = merge_frames(eval, scene.native, 10, NULL, 0, scene.out, 4, &unmatched);
	assert_int_equal(count, 4);
	assert_int_equal(scene.out[3].value, 0x500);
	assert_int_equal(scene.out[0].value, 0x503);
}

/* Whatever is asked for, nothing is lost and nothing is made up. */
static void nothing_is_dropped_from_garbage(void **state)
{
	(void)state;
	uint64_t random = 88172645463325252ULL;
	for (unsigned round = 0; round < 20000; round++) {
		struct scene scene = {0};
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		unsigned natives = random >> 33 & 15, pythons = random >> 40 & 15, evals = 0;
		for (unsigned i = 0; i < natives; i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			struct native_frame *frame = native(&scene, random >> 33 & 1 ? EVAL : 0x500 + i);
			frame->sp = random >> 34 & 0xfff;
			frame->cfa = random >> 46 & 0xfff;
		}
		scene.natives = 1;
		for (unsigned i = 0; i < pythons; i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			struct python_frame *frame = python_of(&scene, i + 1, random >> 33 & 1, random >> 34 & 1);
			frame->awaits = random >> 35 & 1;
			frame->c_address = frame->c_address ? random >> 36 & 0xfff : 0;
		}
		scene.natives = natives;
		merge(&scene);
		unsigned found = 0, next = pythons;
		for (unsigned i = 0; i < scene.count; i++) {
			bool is_python = scene.out[i].kind == WIRE_NODE_PYTHON;
			found += is_python;
			evals += !is_python;
			if (is_python)
				assert_int_equal(scene.out[i].value >> 32, next--);
		}
		assert_int_equal(found, pythons);
		assert_true(evals <= natives);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_group_takes_the_place_of_the_frame_that_holds_it),
	cmocka_unit_test(the_address_decides_where_the_symbol_does_not_know_the_code),
	cmocka_unit_test(old_versions_are_matched_by_order),
	cmocka_unit_test(a_call_that_begins_or_ends_stays_native_and_matched),
	cmocka_unit_test(the_first_call_of_all_may_begin_too),
	cmocka_unit_test(a_call_without_frames_deep_below_the_leaf_is_a_mismatch),
	cmocka_unit_test(outer_calls_without_frames_are_kept_and_told),
	cmocka_unit_test(frames_without_a_call_are_kept_and_told),
	cmocka_unit_test(a_group_that_the_unwinder_passed_by_keeps_its_place),
	cmocka_unit_test(whoever_awaits_follows_its_task_and_is_no_call),
	cmocka_unit_test(a_stack_without_python_is_left_alone),
	cmocka_unit_test(frames_without_any_native_ones_are_kept),
	cmocka_unit_test(too_much_is_cut_at_the_root),
	cmocka_unit_test(nothing_is_dropped_from_garbage),
};

UNIT_MAIN(tests)
