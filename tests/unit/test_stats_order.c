/* test_stats_order.c - the claims of stats/order.h, stats/rank_dist.h and stats/rng.h. */
#include "unit.h"

#include "near.h"
#include "stats/order.h"
#include "stats/rank_dist.h"
#include "stats/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void sorting_and_selecting_agree_for_every_length_and_with_ties(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 11);
	for (size_t n = 1; n <= 300; n++) {
		double values[300];
		for (size_t i = 0; i < n; i++)
			values[i] = n % 2 ? rng_uniform(&rng) : (double)rng_below(&rng, 7);
		double *sorted = order_sorted(values, n);
		for (size_t i = 1; i < n; i++)
			assert_true(sorted[i - 1] <= sorted[i]);
		assert_near(order_median(values, n), order_quantile(sorted, n, 0.5), 1e-15);
		free(sorted);
	}
}

static double place_in_copy(const double *values, size_t n, size_t k)
{
	double *copy = malloc(n * sizeof(*copy));
	memcpy(copy, values, n * sizeof(*copy));
	double found = order_place(copy, n, k);
	free(copy);
	return found;
}

static void a_place_holds_what_sorting_puts_there_whatever_the_order_was(void **state)
{
	(void)state;
	enum { N = 777 };
	double random[N], rising[N], falling[N], pipe[N], few[N];
	struct rng rng;
	rng_init(&rng, 12);
	for (size_t i = 0; i < N; i++) {
		random[i] = i % 50 ? rng_normal(&rng) : INFINITY;
		rising[i] = (double)i;
		falling[i] = (double)(N - i);
		pipe[i] = (double)(i < N / 2 ? i : N - i);
		few[i] = (double)rng_below(&rng, 3);
	}
	const double *orders[] = {random, rising, falling, pipe, few};
	for (size_t o = 0; o < 5; o++) {
		double *sorted = order_sorted(orders[o], N);
		for (size_t k = 0; k < N; k++)
			assert_true(place_in_copy(orders[o], N, k) == sorted[k]);
		free(sorted);
	}
}

/* The pivot that is chosen first is always the smallest that is left: McIlroy's adversary, built backwards by moving
 * the smallest values to where the selection looks. Quadratic would be half a minute. */
static void an_order_made_to_be_bad_is_still_selected_from_in_time(void **state)
{
	(void)state;
	enum { N = 400000, K = N / 2 };
	double *values = malloc(N * sizeof(*values));
	size_t *at = malloc(N * sizeof(*at));
	for (size_t i = 0; i < N; i++) {
		at[i] = i;
		values[i] = (double)N;
	}
	/* Each round swaps the pivot's place, K, with the first that is left; so the r-th smallest has to be where the
	 * value lies that the r-th round finds at K. */
	for (size_t round = 0; round < K; round++) {
		values[at[K]] = (double)round;
		size_t swap = at[round];
		at[round] = at[K];
		at[K] = swap;
	}
	assert_true(order_place(values, N, K) == (double)N);
	free(at);
	free(values);
}

static void equal_values_share_the_mean_of_their_ranks(void **state)
{
	(void)state;
	const double values[] = {5, 1, 3, 3, 9, 3};
	uint32_t twice[6];
	assert_near(order_ranks(values, 6, twice), 24, 0);
	const uint32_t expected[] = {10, 2, 6, 6, 12, 6};
	for (int i = 0; i < 6; i++)
		assert_int_equal(twice[i], expected[i]);
}

static void infinite_values_have_a_median(void **state)
{
	(void)state;
	double one[] = {-INFINITY, 2, 3, 4}, two[] = {-INFINITY, -INFINITY, 3, 4}, three[] = {-INFINITY, -INFINITY, 3};
	assert_near(order_median(one, 4), 2.5, 0);
	assert_true(isinf(order_median(two, 4)));
	assert_true(isinf(order_median(three, 3)));
}

/* The published table of critical values: the largest U with P(U <= u) at most alpha. */
static void mann_whitney_critical_values_are_those_of_the_tables(void **state)
{
	(void)state;
	static const struct {
		size_t m, n;
		double alpha;
		size_t critical;
	} table[] = {
		{4, 4, 0.025, 0},    {5, 5, 0.025, 2},     {6, 6, 0.025, 5},     {7, 7, 0.025, 8}, {8, 8, 0.025, 13},
		{9, 9, 0.025, 17},   {10, 10, 0.025, 23},  {3, 5, 0.025, 0},     {5, 8, 0.025, 6}, {7, 12, 0.025, 18},
		{5, 5, 0.005, 0},    {6, 6, 0.005, 2},     {7, 7, 0.005, 4},     {8, 8, 0.005, 7}, {9, 9, 0.005, 11},
		{10, 10, 0.005, 16}, {20, 20, 0.025, 127}, {20, 20, 0.005, 105},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct rank_dist dist;
		double tail;
		rank_dist_u(table[i].m, table[i].n, &dist);
		assert_int_equal(rank_dist_bound(&dist, table[i].alpha, &tail), table[i].critical + 1);
		assert_true(tail <= table[i].alpha);
		rank_dist_fini(&dist);
	}
}

static void three_against_three_have_no_critical_value(void **state)
{
	(void)state;
	struct rank_dist dist;
	double tail;
	rank_dist_u(3, 3, &dist);
	assert_int_equal(rank_dist_bound(&dist, 0.025, &tail), 0);
	assert_near(tail, 0.05, 1e-15);
	rank_dist_fini(&dist);
}

static void signed_rank_critical_values_are_those_of_the_tables(void **state)
{
	(void)state;
	static const size_t table[][2] = {{6, 0},   {7, 2},   {8, 3},   {9, 5},  {10, 8},
					  {12, 13}, {15, 25}, {20, 52}, {25, 89}};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t ranks[25];
		for (uint32_t r = 0; r < 25; r++)
			ranks[r] = r + 1;
		struct rank_dist dist;
		double tail;
		rank_dist_signs(ranks, table[i][0], &dist);
		assert_int_equal(rank_dist_bound(&dist, 0.025, &tail), table[i][1] + 1);
		rank_dist_fini(&dist);
	}
}

static void counting_subsets_of_untied_ranks_gives_the_same_as_u(void **state)
{
	(void)state;
	uint32_t ranks[13];
	for (uint32_t r = 0; r < 13; r++)
		ranks[r] = r + 1;
	struct rank_dist subsets, u;
	rank_dist_subsets(ranks, 13, 5, &subsets);
	rank_dist_u(5, 8, &u);
	for (size_t s = 0; s < u.count; s++)
		assert_near(subsets.p[s + 15], u.p[s], 1e-14);
	rank_dist_fini(&subsets);
	rank_dist_fini(&u);
}

static void every_distribution_adds_up_to_one(void **state)
{
	(void)state;
	struct rank_dist dist;
	rank_dist_u(30, 40, &dist);
	assert_near(rank_dist_at_most(&dist, 1200), 1, 1e-12);
	assert_near(rank_dist_at_most(&dist, 599) + rank_dist_at_least(&dist, 600), 1, 1e-12);
	rank_dist_fini(&dist);
	rank_dist_inversions(40, &dist);
	assert_near(rank_dist_at_most(&dist, 780), 1, 1e-12);
	rank_dist_fini(&dist);
}

static void the_normal_bound_is_close_to_the_exact_one(void **state)
{
	(void)state;
	for (double alpha = 0.005; alpha < 0.06; alpha *= 2) {
		struct rank_dist dist;
		double exact_tail, tail;
		rank_dist_u(50, 50, &dist);
		size_t exact = rank_dist_bound(&dist, alpha, &exact_tail);
		size_t near = rank_normal_bound(1250, sqrt(2500 * 101.0 / 12), alpha, &tail);
		assert_true(near + 3 >= exact && near <= exact + 3);
		assert_near(tail, exact_tail, 0.0006);
		rank_dist_fini(&dist);
	}
}

static void the_generator_gives_the_published_numbers(void **state)
{
	(void)state;
	/* The authors' reference for xoshiro256** from the state 1, 2, 3, 4. */
	struct rng rng = {{1, 2, 3, 4}};
	const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
	for (int i = 0; i < 4; i++)
		assert_true(rng_next(&rng) == expected[i]);
	rng_init(&rng, 1234567); /* splitmix64's own reference */
	assert_true(rng.word[0] == 6457827717110365317u && rng.word[1] == 3203168211198807973u);
}

static void the_same_seed_gives_the_same_numbers_and_another_does_not(void **state)
{
	(void)state;
	struct rng a, b, c;
	rng_init(&a, 5);
	rng_init(&b, 5);
	rng_init(&c, 6);
	int same = 0;
	for (int i = 0; i < 100; i++) {
		uint64_t x = rng_next(&a);
		assert_true(x == rng_next(&b));
		same += x == rng_next(&c);
	}
	assert_int_equal(same, 0);
}

static void bounded_numbers_are_all_equally_likely(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 1);
	double counts[7] = {0}, chi = 0;
	for (int i = 0; i < 70000; i++)
		counts[rng_below(&rng, 7)]++;
	for (int i = 0; i < 7; i++)
		chi += (counts[i] - 10000) * (counts[i] - 10000) / 10000;
	assert_true(chi < 22.5); /* the 99.9 % quantile of χ² with 6 degrees */
	/* Three quarters of the range: without rejection every third number would come twice as often as the others. */
	uint64_t bound = (uint64_t)3 << 62;
	int thirds = 0;
	for (int i = 0; i < 30000; i++)
		thirds += rng_below(&rng, bound) % 3 == 0;
	assert_true(thirds > 9700 && thirds < 10300);
	assert_true(rng_below(&rng, 1) == 0);
}

static void normal_deviates_have_their_moments(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 2);
	double sum = 0, squares = 0, fourth = 0;
	enum { DRAWS = 200000 };
	for (int i = 0; i < DRAWS; i++) {
		double z = rng_normal(&rng);
		sum += z;
		squares += z * z;
		fourth += z * z * z * z;
	}
	assert_near(sum / DRAWS, 0, 0.01);
	assert_near(squares / DRAWS, 1, 0.015);
	assert_near(fourth / DRAWS, 3, 0.12);
}

static void shuffling_reaches_every_order_equally(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 3);
	int counts[6] = {0};
	for (int i = 0; i < 60000; i++) {
		double v[] = {0, 1, 2};
		rng_shuffle(&rng, v, 3);
		counts[(int)v[0] * 2 + (v[1] > v[2])]++;
	}
	for (int i = 0; i < 6; i++)
		assert_true(counts[i] > 9600 && counts[i] < 10400);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(sorting_and_selecting_agree_for_every_length_and_with_ties),
	cmocka_unit_test(a_place_holds_what_sorting_puts_there_whatever_the_order_was),
	cmocka_unit_test(an_order_made_to_be_bad_is_still_selected_from_in_time),
	cmocka_unit_test(equal_values_share_the_mean_of_their_ranks),
	cmocka_unit_test(infinite_values_have_a_median),
	cmocka_unit_test(mann_whitney_critical_values_are_those_of_the_tables),
	cmocka_unit_test(three_against_three_have_no_critical_value),
	cmocka_unit_test(signed_rank_critical_values_are_those_of_the_tables),
	cmocka_unit_test(counting_subsets_of_untied_ranks_gives_the_same_as_u),
	cmocka_unit_test(every_distribution_adds_up_to_one),
	cmocka_unit_test(the_normal_bound_is_close_to_the_exact_one),
	cmocka_unit_test(the_generator_gives_the_published_numbers),
	cmocka_unit_test(the_same_seed_gives_the_same_numbers_and_another_does_not),
	cmocka_unit_test(bounded_numbers_are_all_equally_likely),
	cmocka_unit_test(normal_deviates_have_their_moments),
	cmocka_unit_test(shuffling_reaches_every_order_equally),
};
UNIT_MAIN(tests)
