/* measure_compute.c - see measure.h: frequency, FMA loops, matrix products. */
#include "model/fma_loop.h"
#include "model/gemm.h"
#include "model/measure.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CHAIN_PASS = 100 * FMA_CHAIN_STEP };

static void run_chain(void *context, size_t member, uint64_t passes)
{
	(void)context, (void)member;
	fma_chain_run(passes * CHAIN_PASS);
}

static struct measure_load chain_load(const struct measure *measure, unsigned threads)
{
	/* The mean of the cores, not their sum. */
	return (struct measure_load){.work = {.run = run_chain},
				     .amount = (double)CHAIN_PASS / threads,
				     .members = threads,
				     .repeats = measure->plan->repeats,
				     .repeat_s = measure->plan->repeat_s / 4};
}

void measure_frequency(struct measure *measure, unsigned threads)
{
	struct machine_rate rate = {.kind = MACHINE_FREQUENCY, .what = "core", .threads = threads};
	struct measure_load load = chain_load(measure, threads);
	snprintf(rate.source, sizeof(rate.source), "additions of two registers, each waiting for the one before%s",
		 threads > 1 ? "; mean of the cores" : "");
	measure_tell(measure, "frequency");
	if (fma_chain_run(0))
		measure_rate(measure, &load, &rate);
	else
		measure_absent(measure, &rate, "no chain of known latency is written for this architecture");
}

double measure_frequency_now(struct measure *measure)
{
	struct machine_rate rate = {0};
	struct measure_load load = chain_load(measure, 1);
	return fma_chain_run(0) && measure_values(measure, &load, &rate, NULL) == 0 ? rate.best : NAN;
}

struct fma_context {
	const struct fma_loop *loop;
	_Atomic bool wrong; /* a sum was not finite */
};

enum { FMA_PASS = 1000 };

static void run_fma(void *opaque, size_t member, uint64_t passes)
{
	struct fma_context *context = opaque;
	(void)member;
	if (!isfinite(context->loop->run(passes * FMA_PASS)))
		atomic_store(&context->wrong, true);
}

static void measure_loop(struct measure *measure, const struct fma_loop *loop, unsigned threads)
{
	struct machine_rate rate = {.kind = MACHINE_FMA, .threads = threads};
	struct fma_context context = {.loop = loop};
	struct measure_load load = {.work = {.run = run_fma, .context = &context},
				    .amount = loop->flops * FMA_PASS,
				    .members = threads,
				    .repeats = measure->plan->repeats,
				    .repeat_s = measure->plan->repeat_s};
	char words[32];
	struct err err;
	snprintf(rate.what, sizeof(rate.what), "%s", loop->isa);
	snprintf(rate.how, sizeof(rate.how), "%s", loop->precision);
	snprintf(rate.source, sizeof(rate.source), "%s", loop->source);
	if (!loop->available()) {
		measure_absent(measure, &rate, "this CPU, or the system on it, does not offer these instructions");
		return;
	}
	measure_tell(measure, "%s %s, %s", loop->isa, loop->precision, measure_threads(threads, words, sizeof(words)));
	int code = measure_values(measure, &load, &rate, &err);
	if (code)
		measure_absent(measure, &rate, "%.*s", MACHINE_TEXT_SIZE - 1, err.text);
	else if (context.wrong)
		measure_absent(measure, &rate, "the loop's sum was not finite");
	else
		vec_push(&measure->machine->rates, rate);
}

void measure_fma(struct measure *measure, unsigned threads)
{
	for (const struct fma_loop *loop = fma_loops; loop->isa; loop++)
		measure_loop(measure, loop, threads);
}

struct gemm_context {
	struct gemm *gemm;
	bool wide;
	size_t n;
	void *a, *b, *c;
};

static void run_gemm(void *opaque, size_t member, uint64_t passes)
{
	struct gemm_context *context = opaque;
	(void)member;
	for (uint64_t i = 0; i < passes; i++)
		gemm_multiply(context->gemm, context->wide, context->n, context->a, context->b, context->c);
}

/* Numbers between -1 and 1 that do not repeat: constant ones heat a core less than real data. */
static void fill(void *matrix, size_t count, bool wide, uint32_t seed)
{
	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		double value = (double)(seed >> 8) / (1 << 23) - 1;
		if (wide)
			((double *)matrix)[i] = value;
		else
			((float *)matrix)[i] = (float)value;
	}
}

static void measure_product(struct measure *measure, struct gemm *gemm, bool wide, size_t n, unsigned threads)
{
	size_t bytes = n * n * (wide ? sizeof(double) : sizeof(float));
	struct machine_rate rate = {.kind = MACHINE_GEMM, .threads = threads, .size = n};
	char words[32];
	snprintf(rate.what, sizeof(rate.what), wide ? "dgemm" : "sgemm");
	snprintf(rate.how, sizeof(rate.how), wide ? "fp64" : "fp32");
	snprintf(rate.source, sizeof(rate.source), "%.*s", MACHINE_TEXT_SIZE - 1, gemm_version(gemm));
	measure_tell(measure, "%s %zu, %s", rate.what, n, measure_threads(threads, words, sizeof(words)));
	struct gemm_context context = {.gemm = gemm, .wide = wide, .n = n};
	context.a = aligned_alloc(64, bytes);
	context.b = aligned_alloc(64, bytes);
	context.c = aligned_alloc(64, bytes);
	if (!context.a || !context.b || !context.c) {
		measure_absent(measure, &rate, "not enough memory for three matrices of %zu MiB", bytes >> 20);
	} else {
		/* The library's own threads do the rest. */
		struct measure_load load = {.work = {.run = run_gemm, .context = &context},
					    .amount = 2.0 * (double)n * (double)n * (double)n,
					    .members = 1,
					    .loose = threads > 1,
					    .repeats = measure->plan->repeats,
					    .repeat_s = measure->plan->repeat_s};
		fill(context.a, n * n, wide, 1);
		fill(context.b, n * n, wide, 2);
		measure_rate(measure, &load, &rate);
	}
	free(context.a);
	free(context.b);
	free(context.c);
}

static void measure_products(struct measure *measure, struct gemm *gemm, unsigned threads)
{
	gemm_set_threads(gemm, (int)threads);
	for (int wide = 0; wide < 2; wide++)
		for (const size_t *n = measure->plan->sizes; *n; n++)
			measure_product(measure, gemm, wide, *n, threads);
}

/* Last of all, one thread first: the threads of the library go on spinning for a while. */
void measure_gemm(struct measure *measure)
{
	struct gemm *gemm = NULL;
	struct err err;
	unsigned team = (unsigned)measure->team.items.len;
	if (gemm_open(&gemm, &err) != 0) {
		for (int wide = 0; wide < 2; wide++)
			for (unsigned threads = 1; threads <= team; threads = threads == team ? team + 1 : team) {
				struct machine_rate rate = {.kind = MACHINE_GEMM, .threads = threads};
				snprintf(rate.what, sizeof(rate.what), wide ? "dgemm" : "sgemm");
				snprintf(rate.how, sizeof(rate.how), wide ? "fp64" : "fp32");
				measure_absent(measure, &rate, "%.*s", MACHINE_TEXT_SIZE - 1, err.text);
			}
		return;
	}
	measure_products(measure, gemm, 1);
	if (team > 1)
		measure_products(measure, gemm, team);
	gemm_close(gemm);
}
