/*
 * cpu_native ROUNDS - two threads, recursion 20 deep, integer and floating point work in turns: a program for CPU profilers.
 */
#include "inner.h"

#include <pthread.h>
#include <stdint.h>

#define KEPT __attribute__((noinline))

enum { NUMBERS = 512, DEEP = 12, TREE = 9 };

struct task {
	double numbers[NUMBERS];
	uint64_t sum;
	int rounds;
};

static KEPT uint64_t scramble(uint64_t value)
{
	for (int i = 0; i < 40; i++) {
		value ^= value >> 33;
		value *= 0xff51afd7ed558ccdu;
	}
	return value;
}

static KEPT double decay(double *numbers)
{
	double sum = 0;
	for (int i = 0; i < NUMBERS; i++) {
		numbers[i] = numbers[i] * 0.999 + 0.5;
		sum += numbers[i] * numbers[i];
	}
	return sum;
}

static KEPT uint64_t tree(struct task *task, int depth, uint64_t value)
{
	uint64_t hash = scramble(value ^ (uint64_t)depth);
	if (depth == 0)
		return hash ^ (uint64_t)decay(task->numbers);
	hash ^= tree(task, depth - 1, value * 2);
	hash += tree(task, depth - 1, value * 2 + 1);
	return hash;
}

static KEPT uint64_t down(struct task *task, int depth, uint64_t value)
{
	uint64_t sum = depth ? down(task, depth - 1, value) : tree(task, TREE, value);
	__asm__ volatile("" ::: "memory");
	return sum + 1;
}

static void *run(void *context)
{
	struct task *task = context;
	for (int i = 0; i < task->rounds; i++)
		task->sum += down(task, DEEP, (uint64_t)i);
	return NULL;
}

int main(int argc, char **argv)
{
	double start = now_s();
	static struct task tasks[2];
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) {
		tasks[i].rounds = argc == 2 ? atoi(argv[1]) : 0;
		if (pthread_create(&threads[i], NULL, run, &tasks[i]) != 0)
			return 70;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return tasks[0].sum != tasks[1].sum || tell_inner(start);
}
