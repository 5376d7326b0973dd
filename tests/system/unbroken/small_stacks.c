/*
 * small_stacks - threads with small stacks that run generated code on a stack of their own making right below: the register
 * that others use as a frame pointer leads into the forbidden page between the two.
 */
#include "unbroken.h"

#include <pthread.h>
#include <sys/mman.h>

enum { THREAD_BYTES = 256 << 10, THREADS = 4, GUARD_BYTES = 4096, HOLES = 64, NEAR = 4 << 20 };

typedef void generated(long times, void *stack, void *pointer);

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	return at;
}

static generated *make_code(void)
{
#if defined(__x86_64__)
	/* push %rbp; mov %rsp,%rax; mov %rsi,%rsp; mov %rdx,%rbp; 1: nop, 16 times; dec %rdi; jnz 1b; nop, 16 times;
	 * mov %rax,%rsp; pop %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe0, 0x48, 0x89, 0xf4, 0x48, 0x89, 0xd5, 0x90,
					     0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
					     0x90, 0x90, 0x90, 0x90, 0x48, 0xff, 0xcf, 0x75, 0xeb, 0x90, 0x90,
					     0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
					     0x90, 0x90, 0x90, 0x48, 0x89, 0xc4, 0x5d, 0xc3};
	void *at = map(4096);
	memcpy(at, code, sizeof(code));
	CHECK(mprotect(at, 4096, PROT_READ | PROT_EXEC) == 0);
	return (generated *)at;
#else
	return NULL;
#endif
}

static void *work(void *code)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
	CHECK(pthread_attr_getstack(&attributes, &low, &bytes) == 0 && pthread_attr_destroy(&attributes) == 0);
	char *other = map(THREAD_BYTES), *forbidden = (char *)low - GUARD_BYTES + 64;
	if (code && other < forbidden && forbidden - other < NEAR)
		((generated *)code)(20000000, other + THREAD_BYTES - 64, forbidden);
	return NULL;
}

int main(void)
{
	pthread_attr_t attributes;
	CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, THREAD_BYTES) == 0);
	CHECK(pthread_setattr_default_np(&attributes) == 0);
	generated *code = make_code();
	/* With all holes filled, what is mapped next lies below what was mapped before. */
	for (int i = 0; i < HOLES; i++)
		map(THREAD_BYTES);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, work, code) == 0 && pthread_join(thread, NULL) == 0);
	}
	puts("all came back");
	return 0;
}
