/*
 * compare_permute.c - permutation and sign-flip tests; see compare.h.
 *
 * The values are shifted by their common centre first: a difference of means does not depend on it, and the sums keep
 * their digits. Two arrangements whose statistics differ by rounding only count as equal.
 */
#include "base/mem.h"
#include "stats/compare.h"
#include "stats/describe.h"
#include "stats/order.h"
#include "stats/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tally {
	double observed, within; /* what counts as equal to it */
	uint64_t tried, extreme, greater, less;
};

struct deal {
	double *values; /* all of them, centred; base first */
	size_t n_base, n;
	double *left, *right; /* room for the two sides */
	enum permutation_of of;
};

static void tally_add(struct tally *tally, double statistic)
{
	tally->tried++;
	tally->extreme += fabs(statistic) >= fabs(tally->observed) - tally->within;
	tally->greater += statistic >= tally->observed - tally->within;
	tally->less += statistic <= tally->observed + tally->within;
}

static double largest_size(const double *values, size_t n)
{
	double largest = 0;
	for (size_t i = 0; i < n; i++)
		largest = fmax(largest, fabs(values[i]));
	return largest;
}

static void tally_init(struct tally *tally, double observed, const double *values, size_t n)
{
	*tally = (struct tally){.observed = observed, .within = 1e-12 * largest_size(values, n)};
}

static void tally_finish(const struct tally *tally, bool exact, struct test *out)
{
	/* A random draw cannot be shown to include the arrangement that was seen, so that one is added. */
	double extra = exact ? 0 : 1, all = (double)tally->tried + extra;
	*out = (struct test){.statistic = tally->observed, .exact = exact};
	out->p = ((double)tally->extreme + extra) / all;
	out->p_greater = ((double)tally->greater + extra) / all;
	out->p_less = ((double)tally->less + extra) / all;
	out->p_error = exact ? 0 : sqrt(out->p * (1 - out->p) / (double)tally->tried);
}

static double centre_of(double *values, size_t n, enum permutation_of of)
{
	return of == PERMUTATION_MEANS ? statistic_mean(values, n, NULL) : order_median(values, n);
}

static double difference(const struct deal *deal)
{
	return centre_of(deal->right, deal->n - deal->n_base, deal->of) - centre_of(deal->left, deal->n_base, deal->of);
}

/* `chosen` are the places of the values that go to the left, in rising order. */
static double difference_of_choice(const struct deal *deal, const size_t *chosen)
{
	size_t left = 0, right = 0;
	for (size_t i = 0; i < deal->n; i++) {
		if (left < deal->n_base && chosen[left] == i)
			deal->left[left++] = deal->values[i];
		else
			deal->right[right++] = deal->values[i];
	}
	return difference(deal);
}

/* The next choice in lexical order; false after the last. */
static bool next_choice(size_t *chosen, size_t m, size_t n)
{
	size_t i = m;
	while (i > 0 && chosen[i - 1] == n - m + i - 1)
		i--;
	if (i == 0)
		return false;
	chosen[i - 1]++;
	for (; i < m; i++)
		chosen[i] = chosen[i - 1] + 1;
	return true;
}

static void try_all_choices(const struct deal *deal, struct tally *tally)
{
	size_t *chosen = mem_alloc(deal->n_base * sizeof(*chosen));
	for (size_t i = 0; i < deal->n_base; i++)
		chosen[i] = i;
	do
		tally_add(tally, difference_of_choice(deal, chosen));
	while (next_choice(chosen, deal->n_base, deal->n));
	free(chosen);
}

static void try_random_choices(const struct deal *deal, const struct permutation *how, struct tally *tally)
{
	struct rng rng;
	rng_init(&rng, how->seed);
	for (size_t i = 0; i < (how->draws ? how->draws : PERMUTATION_DRAWS); i++) {
		rng_shuffle(&rng, deal->values, deal->n);
		memcpy(deal->left, deal->values, deal->n_base * sizeof(double));
		memcpy(deal->right, deal->values + deal->n_base, (deal->n - deal->n_base) * sizeof(double));
		tally_add(tally, difference(deal));
	}
}

/* False where there are more than PERMUTATION_EXACT ways to choose m of n. */
static bool few_choices(size_t m, size_t n)
{
	double ways = 1;
	for (size_t i = 1; i <= m && ways <= PERMUTATION_EXACT; i++)
		ways = ways * (double)(n - m + i) / (double)i;
	return ways <= PERMUTATION_EXACT + 0.5;
}

static void deal_init(struct deal *deal, const double *base, size_t n_base, const double *new, size_t n_new)
{
	size_t n = n_base + n_new;
	deal->n = n;
	deal->n_base = n_base;
	deal->values = mem_alloc(n * sizeof(double));
	deal->left = mem_alloc(n_base * sizeof(double));
	deal->right = mem_alloc(n_new * sizeof(double));
	memcpy(deal->values, base, n_base * sizeof(double));
	memcpy(deal->values + n_base, new, n_new * sizeof(double));
	struct description all;
	describe(deal->values, n, &all);
	for (size_t i = 0; i < n; i++)
		deal->values[i] -= all.mean;
	memcpy(deal->left, deal->values, n_base * sizeof(double));
	memcpy(deal->right, deal->values + n_base, n_new * sizeof(double));
}

void compare_permutation(const double *base, size_t n_base, const double *new, size_t n_new,
			 const struct permutation *how, struct test *out)
{
	*out = (struct test){.statistic = NAN, .p = NAN, .p_greater = NAN, .p_less = NAN, .method = "none: no values"};
	if (n_base == 0 || n_new == 0)
		return;
	struct deal deal = {.of = how->of};
	deal_init(&deal, base, n_base, new, n_new);
	struct tally tally;
	tally_init(&tally, difference(&deal), deal.values, deal.n);
	bool exact = few_choices(n_base, deal.n);
	if (exact)
		try_all_choices(&deal, &tally);
	else
		try_random_choices(&deal, how, &tally);
	tally_finish(&tally, exact, out);
	out->method = exact ? "permutation, all arrangements" : "permutation, random arrangements";
	free(deal.values);
	free(deal.left);
	free(deal.right);
}

static double flipped(const double *differences, size_t n, uint64_t signs, double *room, enum permutation_of of)
{
	for (size_t i = 0; i < n; i++)
		room[i] = i < 64 && signs >> i & 1 ? -differences[i] : differences[i];
	return centre_of(room, n, of);
}

static double flipped_at_random(const double *differences, size_t n, struct rng *rng, double *room,
				enum permutation_of of)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < n; i++) {
		bits = i % 64 ? bits >> 1 : rng_next(rng);
		room[i] = bits & 1 ? -differences[i] : differences[i];
	}
	return centre_of(room, n, of);
}

void compare_sign_flip(const double *base, const double *new, size_t n, const struct permutation *how, struct test *out)
{
	*out = (struct test){.statistic = NAN, .p = NAN, .p_greater = NAN, .p_less = NAN, .method = "none: no values"};
	if (n == 0)
		return;
	double *differences = mem_alloc(n * sizeof(double)), *room = mem_alloc(n * sizeof(double));
	for (size_t i = 0; i < n; i++)
		differences[i] = new[i] - base[i];
	struct tally tally;
	tally_init(&tally, flipped(differences, n, 0, room, how->of), differences, n);
	bool exact = n < 32 && (uint64_t)1 << n <= PERMUTATION_EXACT;
	struct rng rng;
	rng_init(&rng, how->seed);
	uint64_t tries = exact ? (uint64_t)1 << n : how->draws ? how->draws : PERMUTATION_DRAWS;
	for (uint64_t i = 0; i < tries; i++)
		tally_add(&tally, exact ? flipped(differences, n, i, room, how->of)
					: flipped_at_random(differences, n, &rng, room, how->of));
	tally_finish(&tally, exact, out);
	out->method = exact ? "sign flips, all" : "sign flips, random";
	free(differences);
	free(room);
}
