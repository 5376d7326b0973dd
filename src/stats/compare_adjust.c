/* compare_adjust.c - p-values of several questions at once; see compare.h. */
#include "base/mem.h"
#include "stats/compare.h"

#include <math.h>
#include <stdlib.h>

struct question {
	double p;
	size_t at;
};

static int compare_questions(const void *a, const void *b)
{
	const struct question *x = a, *y = b;
	return (x->p > y->p) - (x->p < y->p);
}

/* Those that were asked, smallest p first; `adjusted` receives NaN everywhere. */
static size_t questions_sorted(const double *p, size_t n, double *adjusted, struct question *out)
{
	size_t asked = 0;
	for (size_t i = 0; i < n; i++) {
		if (!isnan(p[i]))
			out[asked++] = (struct question){p[i], i};
		adjusted[i] = NAN;
	}
	qsort(out, asked, sizeof(*out), compare_questions);
	return asked;
}

void compare_adjust_holm(const double *p, size_t n, double *adjusted)
{
	struct question *questions = mem_alloc(n * sizeof(*questions));
	size_t asked = questions_sorted(p, n, adjusted, questions);
	double largest = 0;
	for (size_t i = 0; i < asked; i++) {
		largest = fmax(largest, fmin(questions[i].p * (double)(asked - i), 1));
		adjusted[questions[i].at] = largest;
	}
	free(questions);
}

void compare_adjust_bh(const double *p, size_t n, double *adjusted)
{
	struct question *questions = mem_alloc(n * sizeof(*questions));
	size_t asked = questions_sorted(p, n, adjusted, questions);
	double smallest = 1;
	for (size_t i = asked; i-- > 0;) {
		smallest = fmin(smallest, questions[i].p * (double)asked / (double)(i + 1));
		adjusted[questions[i].at] = smallest;
	}
	free(questions);
}
