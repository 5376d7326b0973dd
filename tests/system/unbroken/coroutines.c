/*
 * coroutines - stacks of the program's own making, between which it switches: swapcontext on memory from malloc.
 */
#include "unbroken.h"

#include <ucontext.h>

enum { COUNT = 8, STACK = 32768, ROUNDS = 40 };

static ucontext_t home, contexts[COUNT];
static int done[COUNT];

static void body(int number)
{
	for (int i = 0; i < ROUNDS; i++) {
		work_ms(1);
		done[number]++;
		CHECK(swapcontext(&contexts[number], &home) == 0);
	}
}

int main(void)
{
	for (int i = 0; i < COUNT; i++) {
		CHECK(getcontext(&contexts[i]) == 0);
		contexts[i].uc_stack.ss_sp = malloc(STACK);
		contexts[i].uc_stack.ss_size = STACK;
		contexts[i].uc_link = &home;
		makecontext(&contexts[i], (void (*)(void))body, 1, i);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < COUNT; i++)
			CHECK(swapcontext(&home, &contexts[i]) == 0 && done[i] == round + 1);
	puts("all took turns");
	return 0;
}
