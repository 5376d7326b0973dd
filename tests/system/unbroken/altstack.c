/*
 * altstack - handlers on stacks of their own, as small as they used to be, with a fence below each that must stay as
 * it is; and threads with the smallest stack there is.
 */
#include "unbroken.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { ALTERNATE = 8192, FENCE = 4096 };

static sigjmp_buf back;
static volatile sig_atomic_t handled;

static void on_overflow(int number)
{
	handled++;
	work_ms(2);
	siglongjmp(back, number);
}

static void on_user(int number)
{
	handled += number == SIGUSR1;
	work_ms(2);
}

__attribute__((noinline)) static int overflow(int depth)
{
	volatile char big[4096];
	big[0] = (char)depth;
	return overflow(depth + 1) + big[0];
}

static unsigned char *alternate_stack(void)
{
	unsigned char *memory =
		mmap(NULL, FENCE + ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	memset(memory, 0x5a, FENCE);
	stack_t stack = {.ss_sp = memory + FENCE, .ss_size = ALTERNATE}, old;
	CHECK(sigaltstack(&stack, &old) == 0 && (old.ss_flags & SS_DISABLE));
	CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == memory + FENCE && old.ss_size == ALTERNATE);
	return memory;
}

static void check_fence(const unsigned char *memory)
{
	for (int i = 0; i < FENCE; i++)
		CHECK(memory[i] == 0x5a);
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_flags = SA_ONSTACK};
	action.sa_handler = handler;
	CHECK(sigaction(number, &action, NULL) == 0);
}

static void *small(void *context)
{
	work_ms(30);
	return context;
}

int main(void)
{
	unsigned char *memory = alternate_stack();
	handle(SIGSEGV, on_overflow);
	handle(SIGUSR1, on_user);
	for (volatile int i = 0; i < 10; i++) {
		if (sigsetjmp(back, 1) == 0)
			overflow(0);
		CHECK(raise(SIGUSR1) == 0);
		work_ms(3);
	}
	CHECK(handled == 20);
	check_fence(memory);
	pthread_attr_t attributes;
	CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
	for (int i = 0; i < 4; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, &attributes, small, NULL) == 0 && pthread_join(thread, NULL) == 0);
	}
	check_fence(memory);
	puts("the fence stands");
	return 0;
}
