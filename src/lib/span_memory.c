/*
 * span_memory.c - how much memory the process has: pages from the kernel, the heap from whoever knows it.
 *
 * The heap in use is known exactly to an allocation tracer in the process (the agent of pitot run --memory), which exports a function
 * for it. Without one the C library is asked, unless the program brought another allocator, of which it knows nothing.
 */
#include "lib/span_inside.h"
#include "wire/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Programs that link statically, and C libraries before 2.33, lack these. */
#pragma weak dlsym
#pragma weak dladdr
#pragma weak mallinfo2

/* All functions of the tracer take nothing and give the bytes in use, negative where they do not know. */
static wire_heap_function find_tracer(const char *function)
{
	wire_heap_function found = NULL;
	void *symbol = dlsym ? dlsym(RTLD_DEFAULT, function) : NULL;
	memcpy(&found, &symbol, sizeof(found));
	return found;
}

static uint64_t ask_tracer(wire_heap_function ask)
{
	int64_t bytes = ask ? ask() : -1;
	return bytes < 0 ? UINT64_MAX : (uint64_t)bytes;
}

static int64_t no_tracer(void)
{
	return -1;
}

/* Looked for once: a tracer is there before the program is, and stays. */
uint64_t span_memory_chunk(void)
{
	static _Atomic(wire_heap_function) known;
	wire_heap_function ask = atomic_load_explicit(&known, memory_order_relaxed);
	if (!ask) {
		int saved = errno;
		ask = find_tracer(WIRE_CHUNK_FUNCTION);
		ask = ask ? ask : no_tracer;
		atomic_store_explicit(&known, ask, memory_order_relaxed);
		errno = saved;
	}
	return ask_tracer(ask);
}

/* Whether malloc is the C library's own: it lies in the same object as what tells of it. */
static bool is_own_allocator(void)
{
	Dl_info allocator, library;
	if (!dlsym || !dladdr)
		return true;
	void *here = dlsym(RTLD_DEFAULT, "malloc"), *there = dlsym(RTLD_DEFAULT, "mallinfo2");
	return here && there && dladdr(here, &allocator) && dladdr(there, &library) &&
	       allocator.dli_fbase == library.dli_fbase;
}

static uint64_t heap_of_library(void)
{
	if (!mallinfo2 || !is_own_allocator())
		return UINT64_MAX;
	struct mallinfo2 info = mallinfo2();
	uint64_t bytes = (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
	return bytes ? bytes : UINT64_MAX;
}

static void read_pages(struct span_memory *out)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return;
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return;
	text[got] = '\0';
	char *rest = NULL;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long all = strtoull(text, &rest, 10), resident = strtoull(rest, NULL, 10);
	out->vms_bytes = all * page;
	out->rss_bytes = resident * page;
}

void span_memory_read(struct span_memory *out, enum span_memory_depth depth)
{
	*out = (struct span_memory){UINT64_MAX, UINT64_MAX, UINT64_MAX};
	read_pages(out);
	if (depth == SPAN_MEMORY_PAGES)
		return;
	out->heap_bytes = ask_tracer(find_tracer(WIRE_SNAPSHOT_FUNCTION));
	if (out->heap_bytes == UINT64_MAX)
		out->heap_bytes = heap_of_library();
}
