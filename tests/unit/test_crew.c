/* test_crew.c - every piece is done exactly once, whoever does it, turn after turn. */
#include "model/crew.h"
#include "unit.h"

#include <stdatomic.h>

enum { PIECES = 1000, TURNS = 300 };

struct tally {
	_Atomic unsigned done[PIECES];
	_Atomic unsigned wrong_member;
	size_t members;
};

static void count_piece(void *context, size_t piece, size_t member)
{
	struct tally *tally = context;
	atomic_fetch_add(&tally->done[piece], 1);
	if (member >= tally->members)
		atomic_fetch_add(&tally->wrong_member, 1);
}

static void check_crew(size_t members)
{
	struct err err = {0};
	struct crew *crew;
	struct tally *tally = calloc(1, sizeof(*tally));
	tally->members = members;
	assert_int_equal(crew_new(members, &crew, &err), 0);
	assert_int_equal(crew_members(crew), members);
	unsigned wanted = 0;
	for (size_t turn = 0; turn < TURNS; turn++) {
		/* Many, few, one, none: each kind follows each. */
		size_t pieces = (size_t[]){PIECES, 3, 1, 0, 17}[turn * 7 % 5];
		crew_each(crew, pieces, count_piece, tally);
		wanted += pieces == PIECES;
		assert_int_equal(atomic_load(&tally->done[PIECES - 1]), wanted);
	}
	unsigned first = 0;
	for (size_t turn = 0; turn < TURNS; turn++)
		first += (size_t[]){1, 1, 1, 0, 1}[turn * 7 % 5];
	assert_int_equal(atomic_load(&tally->done[0]), first);
	assert_int_equal(atomic_load(&tally->wrong_member), 0);
	crew_free(crew);
	free(tally);
}

static void one_member_does_all(void **state)
{
	(void)state;
	check_crew(1);
}

static void two_members_share(void **state)
{
	(void)state;
	check_crew(2);
}

static void more_members_than_cores_finish_too(void **state)
{
	(void)state;
	check_crew(9);
}

static void members_that_fell_asleep_wake_up(void **state)
{
	(void)state;
	struct err err = {0};
	struct crew *crew;
	struct tally *tally = calloc(1, sizeof(*tally));
	tally->members = 3;
	assert_int_equal(crew_new(3, &crew, &err), 0);
	for (size_t turn = 0; turn < 5; turn++) {
		/* Longer than they spin; whether they sleep by then or not, the work gets done. */
		usleep(2000);
		crew_each(crew, PIECES, count_piece, tally);
		for (size_t i = 0; i < PIECES; i++)
			assert_int_equal(atomic_load(&tally->done[i]), turn + 1);
	}
	crew_free(crew);
	crew_free(NULL);
	free(tally);
}

static void a_crew_that_never_worked_ends(void **state)
{
	(void)state;
	struct err err = {0};
	for (size_t i = 0; i < 50; i++) {
		struct crew *crew;
		assert_int_equal(crew_new(4, &crew, &err), 0);
		crew_free(crew);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(one_member_does_all),
	cmocka_unit_test(two_members_share),
	cmocka_unit_test(more_members_than_cores_finish_too),
	cmocka_unit_test(members_that_fell_asleep_wake_up),
	cmocka_unit_test(a_crew_that_never_worked_ends),
};
UNIT_MAIN(tests)
