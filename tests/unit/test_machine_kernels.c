/* test_machine_kernels.c - the kernels compute what they claim, teams work together, matrix products are right. */
#include "model/fma_loop.h"
#include "model/gemm.h"
#include "model/stream.h"
#include "model/team.h"
#include "model/topology.h"
#include "unit.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>

enum { COUNT = 3 * STREAM_STEP };

static void every_loop_that_runs_here_ends_with_a_finite_sum(void **state)
{
	(void)state;
	size_t ran = 0;
	for (const struct fma_loop *loop = fma_loops; loop->isa; loop++) {
		if (!loop->available())
			continue;
		const uint64_t rounds[] = {0, 1, 100000};
		for (size_t i = 0; i < 3; i++) {
			double sum = loop->run(rounds[i]);
			if (!isfinite(sum) || sum == 0)
				fail_msg("%s %s: %g", loop->isa, loop->precision, sum);
		}
		assert_true(loop->flops >= 24);
		ran++;
	}
	assert_true(ran >= 2);
}

static double wanted(enum stream_kernel kernel, double x, double y)
{
	switch (kernel) {
	case STREAM_COPY:
		return x;
	case STREAM_SCALE:
		return 3 * x;
	case STREAM_ADD:
		return x + y;
	default:
		return x + 3 * y;
	}
}

static void every_stream_kernel_computes_its_formula(void **state)
{
	(void)state;
	double *arrays = aligned_alloc(64, 3 * COUNT * sizeof(double));
	double *to = arrays, *x = arrays + COUNT, *y = arrays + 2 * COUNT;
	for (int kernel = STREAM_COPY; kernel < STREAM_KERNEL_COUNT; kernel++)
		for (int past = 0; past < 2; past++) {
			stream_fn *fn = stream_find(kernel, past);
			if (!fn)
				continue;
			for (size_t i = 0; i < COUNT; i++) {
				to[i] = -1;
				x[i] = (double)i;
				y[i] = (double)(2 * i + 1);
			}
			fn(to, x, y, COUNT);
			for (size_t i = 0; i < COUNT; i++)
				if (to[i] != wanted(kernel, x[i], y[i]))
					fail_msg("%s%s at %zu: %g", stream_name(kernel), past ? " nt" : "", i, to[i]);
		}
	assert_null(stream_find(STREAM_READ, true));
	assert_true(isfinite(stream_find(STREAM_READ, false)(NULL, x, NULL, COUNT)));
	free(arrays);
}

static void bytes_are_counted_as_stream_does(void **state)
{
	(void)state;
	assert_true(stream_bytes(STREAM_READ, 100) == 800);
	assert_true(stream_bytes(STREAM_COPY, 100) == 1600);
	assert_true(stream_bytes(STREAM_SCALE, 100) == 1600);
	assert_true(stream_bytes(STREAM_ADD, 100) == 2400);
	assert_true(stream_bytes(STREAM_TRIAD, 100) == 2400);
}

struct counter {
	_Atomic size_t prepared, ran, cleaned, away;
	int cpu;
};

static void prepare(void *opaque, size_t member)
{
	(void)member;
	((struct counter *)opaque)->prepared++;
}

static void cleanup(void *opaque, size_t member)
{
	(void)member;
	((struct counter *)opaque)->cleaned++;
}

static void run(void *opaque, size_t member, uint64_t passes)
{
	struct counter *counter = opaque;
	(void)member;
	counter->ran += passes;
	counter->away += sched_getcpu() != counter->cpu;
}

static void a_team_repeats_and_stays_where_it_was_put(void **state)
{
	(void)state;
	struct topology_ids allowed;
	struct err err;
	double seconds[8];
	size_t done;
	topology_allowed(&allowed);
	/* Three threads on one CPU: even then all of them meet. */
	int cpus[] = {allowed.items.items[0], allowed.items.items[0], allowed.items.items[0]};
	struct counter counter = {.cpu = cpus[0]};
	struct team_work work = {.prepare = prepare, .run = run, .cleanup = cleanup, .context = &counter};
	struct team_order order = {.cpus = cpus, .members = 3, .passes = 5, .repeats = 8, .repeats_least = 1};
	assert_int_equal(team_run(&work, &order, seconds, &done, &err), 0);
	assert_int_equal(done, 8);
	assert_int_equal(counter.ran, 8 * 3 * 5);
	assert_int_equal(counter.prepared, 3);
	assert_int_equal(counter.cleaned, 3);
	assert_int_equal(counter.away, 0);
	/* A deadline that has passed leaves the fewest repetitions. */
	order.repeats_least = 2;
	order.deadline_ns = 1;
	assert_int_equal(team_run(&work, &order, seconds, &done, &err), 0);
	assert_int_equal(done, 2);
	vec_fini(&allowed.items);
}

static void a_cpu_that_is_not_there_is_an_error_with_words(void **state)
{
	(void)state;
	struct counter counter = {0};
	struct team_work work = {.run = run, .context = &counter};
	int cpus[] = {TOPOLOGY_MOST_CPUS - 1};
	struct team_order order = {.cpus = cpus, .members = 1, .passes = 1, .repeats = 1, .repeats_least = 1};
	struct err err;
	double seconds;
	size_t done;
	assert_int_equal(team_run(&work, &order, &seconds, &done, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "CPU 65535"));
	assert_int_equal(counter.ran, 0);
}

static void a_matrix_product_is_right_in_both_precisions(void **state)
{
	(void)state;
	struct gemm *gemm;
	struct err err;
	if (gemm_open(&gemm, &err) != 0) {
		printf("skip: %s\n", err.text);
		skip();
	}
	const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
	const double wide_a[] = {1, 2, 3, 4}, wide_b[] = {5, 6, 7, 8}, right[] = {19, 22, 43, 50};
	float c[4];
	double wide_c[4];
	gemm_set_threads(gemm, 1);
	gemm_multiply(gemm, false, 2, a, b, c);
	gemm_multiply(gemm, true, 2, wide_a, wide_b, wide_c);
	for (int i = 0; i < 4; i++)
		assert_true(c[i] == (float)right[i] && wide_c[i] == right[i]);
	assert_non_null(strstr(gemm_version(gemm), "OpenBLAS"));
	gemm_close(gemm);
}

static void a_library_that_is_not_there_is_an_error_with_words(void **state)
{
	(void)state;
	struct gemm *gemm = NULL;
	struct err err;
	setenv("PITOT_OPENBLAS", "/nowhere/libopenblas.so", 1);
	assert_int_equal(gemm_open(&gemm, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "OpenBLAS"));
	/* A library, but not that one. */
	setenv("PITOT_OPENBLAS", "libc.so.6", 1);
	assert_int_equal(gemm_open(&gemm, &err), ERR_UNAVAILABLE);
	assert_null(gemm);
	unsetenv("PITOT_OPENBLAS");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_loop_that_runs_here_ends_with_a_finite_sum),
	cmocka_unit_test(every_stream_kernel_computes_its_formula),
	cmocka_unit_test(bytes_are_counted_as_stream_does),
	cmocka_unit_test(a_team_repeats_and_stays_where_it_was_put),
	cmocka_unit_test(a_cpu_that_is_not_there_is_an_error_with_words),
	cmocka_unit_test(a_matrix_product_is_right_in_both_precisions),
	cmocka_unit_test(a_library_that_is_not_there_is_an_error_with_words),
};

UNIT_MAIN(tests)
