/*
 * memory_host.c - a program that counts its own allocations, for tests of the memory profiler. One face per claim; each prints
 * "name value" lines that the test compares with the wire file:
 *
 *	allocated_bytes allocated_calls freed_bytes freed_calls live_bytes live_calls peak_bytes temporary_calls
 *
 * memory_host FACE [NUMBER]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int64_t allocated_bytes, allocated_calls, freed_bytes, freed_calls, live_now, peak, temporary_calls;

static void gained(void *at, size_t bytes)
{
	if (!at)
		abort();
	atomic_fetch_add(&allocated_bytes, (int64_t)bytes);
	atomic_fetch_add(&allocated_calls, 1);
	int64_t live = atomic_fetch_add(&live_now, (int64_t)bytes) + (int64_t)bytes, before = atomic_load(&peak);
	while (live > before && !atomic_compare_exchange_weak(&peak, &before, live))
		;
	memset(at, 1, bytes);
}

static void lost(size_t bytes)
{
	atomic_fetch_add(&freed_bytes, (int64_t)bytes);
	atomic_fetch_add(&freed_calls, 1);
	atomic_fetch_sub(&live_now, (int64_t)bytes);
}

static void *take(size_t bytes)
{
	void *at = malloc(bytes);
	gained(at, bytes);
	return at;
}

static void give(void *at, size_t bytes)
{
	lost(bytes);
	free(at);
}

static void tell(void)
{
	printf("allocated_bytes %lld\nallocated_calls %lld\nfreed_bytes %lld\nfreed_calls %lld\n",
	       (long long)allocated_bytes, (long long)allocated_calls, (long long)freed_bytes, (long long)freed_calls);
	printf("live_bytes %lld\nlive_calls %lld\npeak_bytes %lld\ntemporary_calls %lld\n", (long long)live_now,
	       (long long)(allocated_calls - freed_calls), (long long)peak, (long long)temporary_calls);
	fflush(stdout);
}

/* ---- every function of the family */

static volatile size_t too_much = SIZE_MAX / 2;
static bool whole_pages = true; /* libraries that replace malloc may not have pvalloc */

static void family(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		size_t bytes = (size_t)(i % 300) + 1;
		void *blocks[8] = {0};
		blocks[0] = take(bytes);
		gained(blocks[1] = calloc(3, bytes), 3 * bytes);
		blocks[0] = realloc(blocks[0], bytes * 2);
		lost(bytes);
		gained(blocks[0], bytes * 2);
		blocks[1] = reallocarray(blocks[1], 5, bytes);
		lost(3 * bytes);
		gained(blocks[1], 5 * bytes);
		if (posix_memalign(&blocks[2], 64, bytes) != 0)
			abort();
		gained(blocks[2], bytes);
		gained(blocks[3] = aligned_alloc(128, 256), 256);
		gained(blocks[4] = memalign(32, bytes), bytes);
		gained(blocks[5] = valloc(bytes), bytes);
		gained(blocks[6] = whole_pages ? pvalloc(4096) : malloc(4096), 4096);
		gained(blocks[7] = realloc(NULL, bytes), bytes);
		if (malloc_usable_size(blocks[7]) < bytes || realloc(blocks[7], too_much) || calloc(too_much, 4) ||
		    reallocarray(blocks[7], too_much, 8))
			abort();
		const size_t sizes[8] = {bytes * 2, 5 * bytes, bytes, 256, bytes, bytes, 4096, bytes};
		for (int k = 0; k < 8; k++)
			if (i % 10 || k < 6)
				give(blocks[k], sizes[k]);
		free(NULL);
	}
}

static void family_without_pvalloc(long rounds)
{
	whole_pages = false;
	family(rounds);
}

/* ---- what is thrown away at once */

static void temporary(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		void *kept = take(100);
		void *thrown = take(50);
		give(thrown, 50);
		atomic_fetch_add(&temporary_calls, 1);
		give(kept, 100);
	}
}

/* ---- a peak that is not at the end, made by two functions */

__attribute__((noinline)) static void *peak_large(size_t bytes)
{
	void *at = take(bytes);
	__asm__ volatile("" ::: "memory");
	return at;
}

static void rise_and_fall(long megabytes)
{
	void *first = peak_large((size_t)megabytes << 20), *blocks[100];
	for (int i = 0; i < 100; i++)
		blocks[i] = take(10000);
	for (int i = 0; i < 100; i++)
		give(blocks[i], 10000);
	give(first, (size_t)megabytes << 20);
	for (int i = 0; i < 1000; i++)
		give(take(500), 500), atomic_fetch_add(&temporary_calls, 1);
}

/* ---- threads: blocks go from one to the next */

enum { RING = 64 };
static _Atomic(void *) ring[RING];

static void *pass_on(void *argument)
{
	long rounds = (long)(intptr_t)argument;
	uint64_t random = (uint64_t)(uintptr_t)&rounds;
	for (long i = 0; i < rounds; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t bytes = 16 + (random >> 40) % 500;
		uint32_t *block = take(bytes + sizeof(uint32_t));
		*block = (uint32_t)(bytes + sizeof(uint32_t));
		uint32_t *old = atomic_exchange(&ring[(random >> 20) % RING], block);
		if (old && random >> 63) {
			size_t before = *old;
			lost(before);
			old = realloc(old, before + 8);
			gained(old, before + 8);
			*old = (uint32_t)before + 8;
		}
		if (old)
			give(old, *old);
	}
	return NULL;
}

static void threads(long count)
{
	pthread_t ids[512];
	for (long i = 0; i < count; i++)
		if (pthread_create(&ids[i], NULL, pass_on, (void *)(intptr_t)(count > 100 ? 100 : 20000)) != 0)
			abort();
	for (long i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
}

static void *one_block(void *unused)
{
	(void)unused;
	give(take(1000), 1000);
	return NULL;
}

static void short_threads(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_t id;
		if (pthread_create(&id, NULL, one_block, NULL) != 0)
			abort();
		pthread_join(id, NULL);
	}
}

/* ---- children */

static void forks(long bytes)
{
	void *before = take(3000);
	pid_t child = fork();
	if (child == 0) {
		allocated_bytes = allocated_calls = freed_bytes = freed_calls = live_now = peak = 0;
		take((size_t)bytes);
		tell();
		free(before); /* the parent's: not known here */
		_exit(0);
	}
	waitpid(child, NULL, 0);
	give(before, 3000);
}

/* A child that nobody hears of allocates, and must not touch the parent's file. */
static void raw_clone(long unused)
{
	(void)unused;
	void *before = take(3000);
	long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		void *volatile blocks[100];
		for (int i = 0; i < 100; i++)
			blocks[i] = malloc(100000);
		for (int i = 0; i < 100; i++)
			free(blocks[i]);
		free(before);
		syscall(SYS_exit, 7);
	}
	int status = 0;
	waitpid((pid_t)child, &status, 0);
	printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	give(before, 3000);
}

/* ---- maps */

static void maps(long pages)
{
	size_t bytes = (size_t)pages * 4096;
	char *anonymous = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *file = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open("/proc/self/exe", 0), 0);
	if (anonymous == MAP_FAILED || shared == MAP_FAILED || reserved == MAP_FAILED || file == MAP_FAILED)
		abort();
	memset(anonymous, 1, bytes);
	munmap(anonymous + 4096, 4096); /* a hole */
	anonymous = mremap(anonymous + 8192, bytes - 8192, bytes * 2, MREMAP_MAYMOVE);
	madvise(anonymous, bytes, MADV_DONTNEED);
	char *end = sbrk(8192);
	printf("anonymous %zu\nshared %zu\nreserved %zu\nfile 4096\nbreak 8192\ndiscarded %zu\n", bytes * 2 + 4096,
	       bytes, bytes, bytes);
	printf("moved %d\n", end != (void *)-1);
	fflush(stdout);
}

/* ---- interrupted */

static volatile sig_atomic_t handled;

static void allocate_in_handler(int number)
{
	(void)number;
	give(take(64), 64);
	handled++;
}

/* What no program may do, and some do: a timer's handler that allocates, while the thread allocates. Arenas without locks held are
 * needed for it to survive, so the blocks come from a cache that only this thread uses. */
static void handlers(long rounds)
{
	struct sigaction action = {.sa_handler = allocate_in_handler};
	sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < rounds; i++) {
		void *at = take(64);
		raise(SIGUSR1);
		give(at, 64);
	}
	printf("handled %d\n", (int)handled);
}

/* ---- many trials of one draw: each has a stack of its own, by its depth */

enum { TRIAL_BLOCKS = 4000 };

__attribute__((noinline)) static int64_t one_trial(long depth, uint64_t *random)
{
	static void *blocks[TRIAL_BLOCKS];
	if (depth > 0) {
		int64_t bytes = one_trial(depth - 1, random);
		__asm__ volatile("" ::: "memory"); /* no jump instead of the call */
		return bytes;
	}
	int64_t total = 0;
	for (int i = 0; i < TRIAL_BLOCKS; i++) {
		*random = *random * 6364136223846793005u + 1442695040888963407u;
		size_t bytes = *random >> 63 ? 16 + (*random >> 40) % 200 : 16 + (*random >> 40) % 4000;
		blocks[i] = malloc(bytes);
		total += (int64_t)bytes;
	}
	for (int i = 0; i < TRIAL_BLOCKS; i++)
		free(blocks[i]);
	return total;
}

static void trials(long count)
{
	uint64_t random = 1;
	for (long i = 0; i < count; i++)
		printf("trial%ld %lld\n", i, (long long)one_trial(i, &random));
}

/* ---- more stacks than anybody can tell apart */

__attribute__((noinline)) static void branch(long depth)
{
	if (depth == 0) {
		give(take(24), 24);
		return;
	}
	branch(depth - 1);
	__asm__ volatile("" ::: "memory");
	branch(depth - 1);
	__asm__ volatile("" ::: "memory");
}

static void grow_until_killed(long step)
{
	for (;;) {
		void *at = take((size_t)step);
		if (live_now > ((int64_t)step * 64) && getenv("MEMORY_HOST_KILL")) {
			tell();
			kill(getpid(), SIGKILL);
		}
		if (!at)
			return;
	}
}

static void snapshots(long rounds)
{
	int64_t (*snapshot)(void), (*heap)(void);
	*(void **)&snapshot = dlsym(RTLD_DEFAULT, "pitot_agent_snapshot");
	*(void **)&heap = dlsym(RTLD_DEFAULT, "pitot_agent_heap");
	printf("found %d\n", snapshot && heap);
	for (long i = 0; snapshot && i < rounds; i++) {
		take(1000);
		give(take(5000), 5000);
		snapshot();
	}
	if (heap)
		printf("heap %lld\n", (long long)heap());
}

static const struct face {
	const char *name;
	void (*run)(long number);
} faces[] = {{"family", family},
	     {"most", family_without_pvalloc},
	     {"temporary", temporary},
	     {"peak", rise_and_fall},
	     {"threads", threads},
	     {"short-threads", short_threads},
	     {"fork", forks},
	     {"raw-clone", raw_clone},
	     {"maps", maps},
	     {"handlers", handlers},
	     {"grow", grow_until_killed},
	     {"trials", trials},
	     {"branch", branch},
	     {"snapshots", snapshots}};

int main(int argc, char **argv)
{
	long number = argc > 2 ? atol(argv[2]) : 1;
	for (size_t i = 0; i < sizeof(faces) / sizeof(faces[0]); i++) {
		if (argc < 2 || strcmp(argv[1], faces[i].name) != 0)
			continue;
		faces[i].run(number);
		tell();
		return 0;
	}
	return 64;
}
