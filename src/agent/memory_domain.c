/*
 * memory_domain.c - CPython's three allocators (raw, mem, object), by its own functions for that, PyMem_GetAllocator and
 * PyMem_SetAllocator.
 *
 * They are found without the loader: by symbol where the interpreter is there when the agent begins, else in the object in which the
 * unwinder has found one. The switch may come while other threads allocate, which copy nothing: an allocator is five words that are
 * read one by one. So our functions do not use their context, the interpreter's do not use theirs, and either may be called with
 * the other's. A block is known by its address, so it does not matter by which it was allocated.
 *
 * While Python's allocator is at work, what it asks of malloc is not counted again, and what it maps are arenas.
 */
#include "agent/memory.h"
#include "agent/python.h"

#include <dlfcn.h>
#include <errno.h>

struct python_allocator {
	void *context;
	void *(*malloc)(void *context, size_t bytes);
	void *(*calloc)(void *context, size_t count, size_t bytes);
	void *(*realloc)(void *context, void *at, size_t bytes);
	void (*free)(void *context, void *at);
};

enum { RAW, MEM, OBJECT, DOMAINS };

static struct python_allocator behind[DOMAINS];
static _Atomic int is_hooked;
static _Atomic uintptr_t seen_bias, seen_dynamic;

#define ALLOCATOR(name, domain, kind)                                                                                  \
	static void *name##_malloc(void *unused, size_t bytes)                                                         \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_thread *self = memory_self;                                                              \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = behind[domain].malloc(behind[domain].context, bytes);                                       \
		memory_without(self, outer);                                                                           \
		if (at)                                                                                                \
			MEMORY_ALLOCATED(at, bytes, kind);                                                             \
		return at;                                                                                             \
	}                                                                                                              \
	static void *name##_calloc(void *unused, size_t count, size_t bytes)                                           \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_thread *self = memory_self;                                                              \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = behind[domain].calloc(behind[domain].context, count, bytes);                                \
		memory_without(self, outer);                                                                           \
		if (at)                                                                                                \
			MEMORY_ALLOCATED(at, count *bytes, kind);                                                      \
		return at;                                                                                             \
	}                                                                                                              \
	static void *name##_realloc(void *unused, void *before, size_t bytes)                                          \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_block old;                                                                               \
		struct memory_thread *self = memory_self;                                                              \
		enum memory_taken taken = replace_begin(self, before, &old);                                           \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = behind[domain].realloc(behind[domain].context, before, bytes);                              \
		memory_without(self, outer);                                                                           \
		if (self)                                                                                              \
			replace_end(self, before, taken, &old, at);                                                    \
		if (at)                                                                                                \
			MEMORY_ALLOCATED(at, bytes, kind);                                                             \
		return at;                                                                                             \
	}                                                                                                              \
	static void name##_free(void *unused, void *at)                                                                \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_thread *self = memory_self;                                                              \
		if (at)                                                                                                \
			memory_free(at);                                                                               \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		behind[domain].free(behind[domain].context, at);                                                       \
		memory_without(self, outer);                                                                           \
	}

static enum memory_taken replace_begin(struct memory_thread *self, const void *at, struct memory_block *old)
{
	int saved = errno;
	enum memory_taken taken = self && at ? memory_take(self, at, old) : MEMORY_NOT_TAKEN;
	errno = saved;
	return taken;
}

static void replace_end(struct memory_thread *self, const void *at, enum memory_taken taken,
			const struct memory_block *old, const void *to)
{
	int saved = errno;
	if (!to)
		memory_put_back(self, at, taken, old);
	else if (taken == MEMORY_TAKEN)
		memory_replaced(self, old);
	errno = saved;
}

ALLOCATOR(raw, RAW, WIRE_HEAP_PYTHON_RAW)
ALLOCATOR(mem, MEM, WIRE_HEAP_PYTHON_MEM)
ALLOCATOR(object, OBJECT, WIRE_HEAP_PYTHON_OBJECT)

static const struct python_allocator ours[DOMAINS] = {
	{NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
	{NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},
	{NULL, object_malloc, object_calloc, object_realloc, object_free},
};

static void hook(void *get_symbol, void *set_symbol)
{
	void (*get)(int, struct python_allocator *), (*set)(int, const struct python_allocator *);
	if (!get_symbol || !set_symbol || atomic_exchange(&is_hooked, 1))
		return;
	memcpy(&get, &get_symbol, sizeof(get_symbol));
	memcpy(&set, &set_symbol, sizeof(set_symbol));
	for (int domain = RAW; domain < DOMAINS; domain++) {
		get(domain, &behind[domain]);
		if (!behind[domain].malloc || !behind[domain].free)
			return;
	}
	for (int domain = RAW; domain < DOMAINS; domain++)
		set(domain, &ours[domain]);
	atomic_store(&memory.wire->python_hooked, 1);
}

void domain_hook(void)
{
	if (atomic_load(&is_hooked)) {
		atomic_store(&memory.wire->python_hooked, 1); /* the file is a child's */
		return;
	}
	/* Once: in a child of fork the loader's lock may be somebody's who is not there. */
	static bool looked;
	if (!looked)
		hook(dlsym(RTLD_DEFAULT, "PyMem_GetAllocator"), dlsym(RTLD_DEFAULT, "PyMem_SetAllocator"));
	looked = true;
}

/* In a handler, maybe: only kept. */
void memory_python_seen(uintptr_t bias, uintptr_t dynamic)
{
	atomic_store(&seen_bias, bias);
	atomic_store(&seen_dynamic, dynamic);
	atomic_store(&memory.python_waits, !atomic_load(&is_hooked));
}

void domain_hook_late(void)
{
	struct elf_object object;
	uintptr_t dynamic = atomic_exchange(&seen_dynamic, 0);
	atomic_store(&memory.python_waits, false);
	if (!dynamic || atomic_load(&is_hooked) || !elf_open(&object, atomic_load(&seen_bias), dynamic))
		return;
	struct elf_symbol get = elf_find(&object, "PyMem_GetAllocator"), set = elf_find(&object, "PyMem_SetAllocator");
	hook((void *)get.address, (void *)set.address); /* NOLINT(performance-no-int-to-ptr) */
}
