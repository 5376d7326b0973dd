/* gemm.c - see gemm.h. The types come from the header, so that a wrong argument does not compile. */
#include "model/gemm.h"
#include "base/mem.h"

#include <cblas.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct gemm {
	__typeof__(&cblas_sgemm) sgemm;
	__typeof__(&cblas_dgemm) dgemm;
	__typeof__(&openblas_set_num_threads) set_threads;
	__typeof__(&openblas_get_config) get_config;
	char version[128];
};

static void *load(struct err *err)
{
	static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
	const char *chosen = getenv("PITOT_OPENBLAS");
	void *library = NULL;
	if (chosen && chosen[0])
		library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !(chosen && chosen[0]) && !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		err_set(err, ERR_UNAVAILABLE, "OpenBLAS cannot be loaded: %s (Debian has it in libopenblas0)",
			dlerror());
	return library;
}

int gemm_open(struct gemm **out, struct err *err)
{
	void *library = load(err);
	if (!library)
		return ERR_UNAVAILABLE;
	struct gemm *gemm = mem_alloc(sizeof(*gemm));
	gemm->sgemm = (__typeof__(gemm->sgemm))dlsym(library, "cblas_sgemm");
	gemm->dgemm = (__typeof__(gemm->dgemm))dlsym(library, "cblas_dgemm");
	gemm->set_threads = (__typeof__(gemm->set_threads))dlsym(library, "openblas_set_num_threads");
	gemm->get_config = (__typeof__(gemm->get_config))dlsym(library, "openblas_get_config");
	if (!gemm->sgemm || !gemm->dgemm || !gemm->set_threads || !gemm->get_config) {
		free(gemm);
		return err_set(err, ERR_UNAVAILABLE, "the OpenBLAS found here lacks functions of its own interface");
	}
	snprintf(gemm->version, sizeof(gemm->version), "%s", gemm->get_config());
	*out = gemm;
	return 0;
}

void gemm_close(struct gemm *gemm)
{
	free(gemm);
}

const char *gemm_version(const struct gemm *gemm)
{
	return gemm->version;
}

void gemm_set_threads(struct gemm *gemm, int threads)
{
	gemm->set_threads(threads);
}

void gemm_multiply(struct gemm *gemm, bool wide, size_t n, const void *a, const void *b, void *c)
{
	int size = (int)n;
	if (wide)
		gemm->dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a, size, b, size, 0, c,
			    size);
	else
		gemm->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a, size, b, size, 0, c,
			    size);
}

void gemm_product(struct gemm *gemm, const struct gemm_product *p)
{
	gemm->sgemm(CblasRowMajor, p->a_turned ? CblasTrans : CblasNoTrans, p->b_turned ? CblasTrans : CblasNoTrans,
		    (int)p->m, (int)p->n, (int)p->k, 1, p->a, (int)p->a_stride, p->b, (int)p->b_stride, p->add ? 1 : 0,
		    p->c, (int)p->c_stride);
}
