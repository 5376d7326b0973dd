/*
 * matrix.c - multiplies matrices chunk by chunk, on two threads, and says what it does.
 *
 *	cc -O2 matrix.c $(pkg-config --cflags --libs pitot) -pthread -o matrix     with the library, or
 *	cc -O2 -DPITOT_HEADER_ONLY matrix.c -pthread -o matrix                     with the header alone
 *	pitot run -- ./matrix
 */
#include <pitot.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 192, CHUNKS = 16, THREADS = 2 };

struct matrices {
	double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
};

static void fill(struct matrices *m, unsigned seed)
{
	PITOT_SPAN("fill");
	for (int i = 0; i < SIDE * SIDE; i++) {
		m->a[i] = rand_r(&seed) % 100;
		m->b[i] = rand_r(&seed) % 100;
	}
}

static void multiply(struct matrices *m)
{
	PITOT_SPAN("multiply");
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			double sum = 0;
			for (int k = 0; k < SIDE; k++)
				sum += m->a[i * SIDE + k] * m->b[k * SIDE + j];
			m->c[i * SIDE + j] = sum;
		}
	pitot_work(2.0 * SIDE * SIDE * SIDE, 0);
}

static double add_up(const struct matrices *m)
{
	double sum = 0;
	PITOT_SPAN("add up");
	for (int i = 0; i < SIDE * SIDE; i++)
		sum += m->c[i];
	return sum;
}

static void *work(void *place)
{
	int first = *(int *)place;
	struct matrices *m = malloc(sizeof(*m));
	double sum = 0;
	for (int chunk = first; m && chunk < CHUNKS; chunk += THREADS) {
		pitot_chunk_begin(chunk);
		fill(m, (unsigned)chunk);
		multiply(m);
		sum += add_up(m);
		pitot_chunk_end(SIDE, 2 * (long long)sizeof(m->a), sizeof(m->c));
	}
	pitot_counter("sum", sum);
	free(m);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int first[THREADS];
	for (int i = 0; i < THREADS; i++) {
		first[i] = i;
		pthread_create(&threads[i], NULL, work, &first[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pitot_snapshot("end");
	return 0;
}
