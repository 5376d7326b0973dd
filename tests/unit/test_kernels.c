/*
 * test_kernels.c - the inner loops of every instruction set that this CPU has, against sums and functions in double precision.
 *
 * tests/system/test_kernels.py compares whole operators with PyTorch; here are the edges: strides, tails, sizes around a tile,
 * what must not become NaN.
 */
#include "model/gemm.h"
#include "model/matmul.h"
#include "unit.h"

#include <math.h>

static const struct kernel_set *sets[3];
static size_t set_count;

static int find_sets(void **state)
{
	(void)state;
	set_count = kernel_list(sets);
	return set_count ? 0 : -1;
}

/* Numbers between -1 and 1 that are the same everywhere. */
static float made(size_t i)
{
	return (float)((i * 2654435761u) % 2001) / 1000.0f - 1;
}

static float *made_array(size_t count)
{
	float *values = malloc((count + 1) * sizeof(*values));
	for (size_t i = 0; i < count; i++)
		values[i] = made(i);
	return values;
}

static void assert_near(double got, double wanted, double tolerance, const char *what)
{
	if (!(fabs(got - wanted) <= tolerance * fmax(1, fabs(wanted))))
		fail_msg("%s: %.9g, not %.9g", what, got, wanted);
}

struct product_case {
	size_t m, n, k;
	bool a_turned, b_turned, pack_a, pack_b, add;
};

/* a (m × k) and b (k × n) in the layout that the case asks for, against a sum in double precision. */
static void check_product(const struct kernel_set *set, const struct product_case *c, struct crew *crew)
{
	size_t c_row = c->n + 3;
	float *a = made_array(c->m * c->k), *b = made_array(c->n * c->k), *out = made_array(c->m * c_row);
	float *bias = made_array(c->n), *pa = malloc(matmul_packed_a(set, c->m, c->k) * 4 + 4);
	float *pb = malloc(matmul_packed_b(set, c->n, c->k) * 4 + 4);
	struct compute compute = {.set = set, .crew = crew, .scratch_floats = matmul_scratch(set)};
	compute.scratch = malloc(compute.scratch_floats * crew_members(crew) * sizeof(float));
	struct matmul job = {.m = c->m, .n = c->n, .k = c->k, .a = a, .b = b, .c = out, .c_row = c_row, .add = c->add};
	job.a_row = c->a_turned ? 1 : c->k;
	job.a_depth = c->a_turned ? c->m : 1;
	job.b_depth = c->b_turned ? 1 : c->n;
	job.b_column = c->b_turned ? c->k : 1;
	job.finish = (struct matmul_finish){.column_bias = bias, .call = {.fn = UNARY_LEAKY_RELU, .alpha = 0.5f}};
	matmul_pack_a(set, pa, a, job.a_row, job.a_depth, c->m, c->k);
	matmul_pack_b(set, pb, b, job.b_depth, job.b_column, c->n, c->k);
	job.a_packed = c->pack_a ? pa : NULL;
	job.b_packed = c->pack_b ? pb : NULL;
	matmul_run(&compute, &job);
	for (size_t i = 0; i < c->m; i++)
		for (size_t j = 0; j < c_row; j++) {
			double before = made(i * c_row + j), total = c->add ? before : 0;
			for (size_t k = 0; k < c->k && j < c->n; k++)
				total += (double)a[i * job.a_row + k * job.a_depth] *
					 b[k * job.b_depth + j * job.b_column];
			total += j < c->n ? bias[j] : 0;
			total = j < c->n ? (total > 0 ? total : total / 2) : before;
			assert_near(out[i * c_row + j], total, 1e-4, set->isa);
		}
	free(a), free(b), free(out), free(bias), free(pa), free(pb), free(compute.scratch);
}

static void products_of_all_sizes_and_layouts_are_right(void **state)
{
	(void)state;
	/* Around one tile, one block of depth, and several of both. */
	const size_t sizes[][3] = {{1, 1, 1},     {14, 32, 512}, {15, 33, 513}, {13, 31, 511}, {6, 16, 3},
				   {7, 17, 1100}, {200, 70, 40}, {3, 1200, 5},  {5, 5, 0}};
	struct err err = {0};
	for (size_t s = 0; s < set_count; s++)
		for (size_t members = 1; members <= 3; members += 2) {
			struct crew *crew;
			assert_int_equal(crew_new(members, &crew, &err), 0);
			for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				for (unsigned bits = 0; bits < 32; bits++)
					if (bits % 5 == i % 5 || i < 5)
						check_product(sets[s],
							      &(struct product_case){sizes[i][0], sizes[i][1],
										     sizes[i][2], bits & 1, bits & 2,
										     bits & 4, bits & 8, bits & 16},
							      crew);
			crew_free(crew);
		}
}

static void strides_that_are_not_one_pack_too(void **state)
{
	(void)state;
	float from[64], to[64];
	for (size_t i = 0; i < 64; i++)
		from[i] = (float)i;
	for (size_t s = 0; s < set_count; s++) {
		sets[s]->pack(to, 5, 3, 4, from, 2, 7);
		for (size_t k = 0; k < 4; k++)
			for (size_t w = 0; w < 5; w++)
				assert_near(to[k * 5 + w], w < 3 ? (double)(2 * w + 7 * k) : 0, 0, sets[s]->isa);
	}
}

static void openblas_agrees_where_it_is(void **state)
{
	(void)state;
	struct err err = {0};
	struct gemm *gemm;
	if (gemm_open(&gemm, &err)) {
		print_message("skip: %s\n", err.text);
		skip();
	}
	float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 2, 1, 0, 3}, c[4] = {1, 1, 1, 1};
	gemm_product(gemm, &(struct gemm_product){.m = 2,
						  .n = 2,
						  .k = 3,
						  .a = a,
						  .b = b,
						  .c = c,
						  .a_stride = 3,
						  .b_stride = 2,
						  .c_stride = 2,
						  .add = true});
	assert_near(c[0], 6, 1e-6, "c00"); /* 1 + 1·1 + 2·2 + 3·0 */
	assert_near(c[1], 12, 1e-6, "c01");
	float turned[6] = {1, 4, 2, 5, 3, 6};
	gemm_product(gemm, &(struct gemm_product){.m = 2,
						  .n = 2,
						  .k = 3,
						  .a = turned,
						  .b = b,
						  .c = c,
						  .a_turned = true,
						  .a_stride = 2,
						  .b_stride = 2,
						  .c_stride = 2});
	assert_near(c[2], 14, 1e-6, "c10");
	gemm_close(gemm);
}

static double wanted_unary(int fn, double x)
{
	switch (fn) {
	case UNARY_RELU:
		return x > 0 ? x : 0;
	case UNARY_SIGMOID:
		return 1 / (1 + exp(-x));
	case UNARY_TANH:
		return tanh(x);
	case UNARY_GELU:
		return x / 2 * (1 + erf(x / sqrt(2)));
	case UNARY_SILU:
		return x / (1 + exp(-x));
	case UNARY_EXP:
		return exp(x);
	default:
		return erf(x);
	}
}

static void functions_are_right_from_end_to_end(void **state)
{
	(void)state;
	const int functions[] = {UNARY_RELU, UNARY_SIGMOID, UNARY_TANH, UNARY_GELU, UNARY_SILU, UNARY_EXP, UNARY_ERF};
	enum { COUNT = 4001 };
	float *x = malloc(COUNT * sizeof(*x)), *y = malloc(COUNT * sizeof(*y));
	for (size_t i = 0; i < COUNT; i++)
		x[i] = ((float)i - 2000) / 50; /* -40 to 40 */
	for (size_t s = 0; s < set_count; s++)
		for (size_t f = 0; f < 7; f++) {
			sets[s]->unary(&(struct unary_call){.fn = functions[f]}, x, y, COUNT);
			for (size_t i = 0; i < COUNT; i++)
				assert_near(y[i], wanted_unary(functions[f], x[i]), 1e-6, sets[s]->isa);
		}
	free(x);
	free(y);
}

static void exp_saturates_instead_of_overflowing(void **state)
{
	(void)state;
	float x[5] = {-1e30f, -200, 0, 200, 1e30f}, y[5];
	for (size_t s = 0; s < set_count; s++) {
		sets[s]->unary(&(struct unary_call){.fn = UNARY_EXP}, x, y, 5);
		for (size_t i = 0; i < 5; i++)
			assert_true(isfinite(y[i]) && y[i] >= 0);
		assert_near(y[2], 1, 1e-6, sets[s]->isa);
		assert_true(y[0] < 1e-37f && y[4] > 1e38f);
	}
}

static void slopes_are_those_of_the_functions(void **state)
{
	(void)state;
	const struct unary_call calls[] = {{UNARY_GELU, 0, 0},       {UNARY_GELU_TANH, 0, 0}, {UNARY_SIGMOID, 0, 0},
					   {UNARY_TANH, 0, 0},       {UNARY_SILU, 0, 0},      {UNARY_ELU, 0.7f, 0},
					   {UNARY_HARD_SWISH, 0, 0}, {UNARY_SOFTPLUS, 0, 0}};
	for (size_t s = 0; s < set_count; s++)
		for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
			for (float at = -4.01f; at < 4; at += 0.37f) {
				const float step = 1e-2f, one = 1;
				float x[2] = {at - step, at + step}, y[2], slope;
				sets[s]->unary(&calls[c], x, y, 2);
				sets[s]->unary_back(&calls[c], &at, &one, &slope, 1);
				assert_near(slope, (y[1] - y[0]) / (x[1] - x[0]), 2e-3, sets[s]->isa);
			}
}

static void softmax_survives_masks_and_large_numbers(void **state)
{
	(void)state;
	for (size_t s = 0; s < set_count; s++) {
		float all[19], some[19], large[3] = {1e30f, 1e30f, -1e30f};
		for (size_t i = 0; i < 19; i++) {
			all[i] = -INFINITY;
			some[i] = i == 7 ? 3 : -INFINITY;
		}
		sets[s]->softmax(all, all, 1, 19);
		sets[s]->softmax(some, some, 1, 19);
		sets[s]->softmax(large, large, 1, 3);
		for (size_t i = 0; i < 19; i++) {
			assert_near(all[i], 0, 0, sets[s]->isa);
			assert_near(some[i], i == 7, 1e-6, sets[s]->isa);
		}
		assert_near(large[0], 0.5, 1e-6, sets[s]->isa);
		assert_near(large[2], 0, 1e-6, sets[s]->isa);
		float row[5] = {1000, 1000, 1000, 1000, 1000};
		assert_near(sets[s]->log_sum_exp(row, 5), 1000 + log(5), 1e-6, sets[s]->isa);
	}
}

static void sums_of_every_length_are_right(void **state)
{
	(void)state;
	float x[200];
	for (size_t i = 0; i < 200; i++)
		x[i] = made(i);
	for (size_t s = 0; s < set_count; s++)
		for (size_t count = 1; count <= 200; count++) {
			double sum = 0, squares = 0, mean, spread = 0;
			float got_mean, got_variance;
			for (size_t i = 0; i < count; i++)
				sum += x[i], squares += (double)x[i] * x[i];
			mean = sum / (double)count;
			for (size_t i = 0; i < count; i++)
				spread += (x[i] - mean) * (x[i] - mean);
			sets[s]->moments(x, count, &got_mean, &got_variance);
			assert_near(sets[s]->sum(x, count), sum, 1e-5, sets[s]->isa);
			assert_near(sets[s]->dot(x, x, count), squares, 1e-5, sets[s]->isa);
			assert_near(got_mean, mean, 1e-5, sets[s]->isa);
			assert_near(got_variance, spread / (double)count, 1e-5, sets[s]->isa);
		}
}

static void a_variance_far_from_zero_does_not_cancel(void **state)
{
	(void)state;
	float x[64], mean, variance;
	for (size_t i = 0; i < 64; i++)
		x[i] = 10000 + (i % 2 ? 1.0f : -1.0f);
	for (size_t s = 0; s < set_count; s++) {
		sets[s]->moments(x, 64, &mean, &variance);
		assert_near(variance, 1, 1e-3, sets[s]->isa);
	}
}

static void the_largest_under_a_window_is_found_at_every_step(void **state)
{
	(void)state;
	float x[100], y[20];
	for (size_t i = 0; i < 100; i++)
		x[i] = made(i * 31);
	const size_t offsets[] = {0, 1, 2, 10, 11};
	for (size_t s = 0; s < set_count; s++)
		for (size_t step = 1; step <= 4; step++) {
			sets[s]->most(y, x, offsets, 5, step, 20);
			for (size_t i = 0; i < 20; i++) {
				float wanted = -2;
				for (size_t t = 0; t < 5; t++)
					wanted = fmaxf(wanted, x[offsets[t] + i * step]);
				assert_near(y[i], wanted, 0, sets[s]->isa);
			}
		}
}

static void a_set_that_the_cpu_lacks_is_not_chosen(void **state)
{
	(void)state;
	assert_null(kernel_choose("mmx"));
	assert_ptr_equal(kernel_choose("base"), &kernel_set_base);
	assert_ptr_equal(kernel_choose(NULL), sets[set_count - 1]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(products_of_all_sizes_and_layouts_are_right),
	cmocka_unit_test(strides_that_are_not_one_pack_too),
	cmocka_unit_test(openblas_agrees_where_it_is),
	cmocka_unit_test(functions_are_right_from_end_to_end),
	cmocka_unit_test(exp_saturates_instead_of_overflowing),
	cmocka_unit_test(slopes_are_those_of_the_functions),
	cmocka_unit_test(softmax_survives_masks_and_large_numbers),
	cmocka_unit_test(sums_of_every_length_are_right),
	cmocka_unit_test(a_variance_far_from_zero_does_not_cancel),
	cmocka_unit_test(the_largest_under_a_window_is_found_at_every_step),
	cmocka_unit_test(a_set_that_the_cpu_lacks_is_not_chosen),
};
UNIT_MAIN_GROUP(tests, find_sets, NULL)
