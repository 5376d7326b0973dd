/*
 * interpose_malloc.c - malloc and its relatives, in front of whoever's they are: libc's, or another library's.
 *
 * An unsampled allocation is a comparison, a subtraction, a count, and the real call; an unsampled free a look into the filter, a
 * count, and a jump. Everything else is memory_event.c's.
 *
 * The functions behind are looked up at the first call, which is the loader's own or a constructor's. Looking up may allocate: such
 * calls are served from a small pool that is never given back. Pointers into it are known by their address.
 *
 * realloc takes the old block out of the table before the real call: once that has freed it, another thread may be given the
 * same address.
 */
#include "agent/memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_BYTES = 64 << 10, POOL_HEAD = 16 };

#define MALLOC_LIST(X)                                                                                                 \
	X(malloc, void *, (size_t))                                                                                    \
	X(calloc, void *, (size_t, size_t))                                                                            \
	X(realloc, void *, (void *, size_t))                                                                           \
	X(free, void, (void *))                                                                                        \
	X(posix_memalign, int, (void **, size_t, size_t))                                                              \
	X(aligned_alloc, void *, (size_t, size_t))                                                                     \
	X(memalign, void *, (size_t, size_t))                                                                          \
	X(valloc, void *, (size_t))                                                                                    \
	X(pvalloc, void *, (size_t))                                                                                   \
	X(malloc_usable_size, size_t, (void *))                                                                        \
	X(free_sized, void, (void *, size_t))                                                                          \
	X(free_aligned_sized, void, (void *, size_t, size_t))

#define MEMBER(name, type, arguments) type(*name) arguments;
static struct {
	MALLOC_LIST(MEMBER)
} next;
#undef MEMBER

static struct {
	_Alignas(64) unsigned char bytes[POOL_BYTES];
	_Atomic size_t used;
} pool;

/* Looking for the functions behind: what is asked for meanwhile comes from the pool. */
static _Atomic int looking;

static inline bool is_pool(const void *at)
{
	return (uintptr_t)at - (uintptr_t)pool.bytes < POOL_BYTES;
}

static void *pool_take(size_t bytes, size_t alignment)
{
	size_t need = bytes + POOL_HEAD + alignment;
	if (bytes > POOL_BYTES || alignment > POOL_BYTES)
		return NULL;
	size_t at = atomic_fetch_add(&pool.used, need);
	if (at + need > POOL_BYTES)
		return NULL;
	uintptr_t start = (uintptr_t)pool.bytes + at + POOL_HEAD;
	start = (start + alignment - 1) & ~(uintptr_t)(alignment - 1);
	unsigned char *block = pool.bytes + (start - (uintptr_t)pool.bytes);
	memcpy(block - sizeof(bytes), &bytes, sizeof(bytes));
	return block;
}

void malloc_keep_pool(void)
{
	size_t used = atomic_load(&pool.used);
	for (size_t at = 0; at < used && at < POOL_BYTES; at += POOL_HEAD)
		block_filter_keep(pool.bytes + at);
}

static size_t pool_size(const void *at)
{
	size_t bytes;
	memcpy(&bytes, (const unsigned char *)at - sizeof(bytes), sizeof(bytes));
	return bytes;
}

static void look_up(void)
{
	if (atomic_exchange(&looking, 1))
		return;
	void *found;
#define FIND(name, type, arguments)                                                                                    \
	found = dlsym(RTLD_NEXT, #name);                                                                               \
	memcpy(&next.name, &found, sizeof(found));
	MALLOC_LIST(FIND)
#undef FIND
	atomic_store(&looking, 0);
}

/* Whether there is a function behind, after looking for it. */
#define HAS(name) (__builtin_expect(next.name != NULL, 1) || (look_up(), next.name != NULL))

/* ---- whose they are */

static uintptr_t object_start, object_end;

bool malloc_is_of(uintptr_t ip)
{
	return ip - object_start < object_end - object_start;
}

static bool object_of(const void *at, Dl_info *out)
{
	*out = (Dl_info){0};
	return at && dladdr(at, out) && out->dli_fbase;
}

/* Not so of a program that is linked to fixed addresses and only names the function: there it has a place of its own to jump
 * from. */
static bool is_defined(const void *at, Dl_info *out)
{
	const Elf64_Sym *symbol = NULL;
	*out = (Dl_info){0};
	return at && dladdr1(at, out, (void **)&symbol, RTLD_DL_SYMENT) && symbol && symbol->st_shndx != SHN_UNDEF;
}

static void find_extent(const void *base)
{
	const Elf64_Ehdr *file = base;
	const Elf64_Phdr *header = (const Elf64_Phdr *)((const char *)base + file->e_phoff);
	object_start = object_end = (uintptr_t)base;
	for (unsigned i = 0; i < file->e_phnum; i++)
		if (header[i].p_type == PT_LOAD && object_start + header[i].p_vaddr + header[i].p_memsz > object_end)
			object_end = object_start + header[i].p_vaddr + header[i].p_memsz;
}

static uint32_t find_kind(Dl_info *out)
{
	Dl_info first, libc, own;
	void *behind;
	memcpy(&behind, &next.malloc, sizeof(behind));
	if (!object_of(behind, out) || !object_of(&pool, &own))
		return 0;
	if (is_defined(dlsym(RTLD_DEFAULT, "malloc"), &first) && first.dli_fbase != own.dli_fbase) {
		*out = first;
		return WIRE_ALLOCATOR_PROGRAM;
	}
	if (object_of(dlsym(RTLD_NEXT, "gnu_get_libc_version"), &libc) && libc.dli_fbase == out->dli_fbase)
		return WIRE_ALLOCATOR_LIBC;
	find_extent(out->dli_fbase);
	return WIRE_ALLOCATOR_LIBRARY;
}

/* It looks at who calls it: the loader's blocks are no leaks. Wrappers that record nothing jump there as if they were not. */
bool malloc_is_watched(void)
{
	/* Once: in a child of fork the loader's lock may be somebody's who is not there. */
	static int answer = -1;
	if (answer < 0)
		answer = dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__lsan_init");
	return answer;
}

void malloc_describe(struct wire_memory *wire)
{
	static char path[WIRE_ALLOCATOR_MAX];
	static uint32_t kind;
	Dl_info info;
	if (!kind && HAS(malloc)) {
		kind = find_kind(&info);
		if (kind && info.dli_fname)
			strncpy(path, info.dli_fname, sizeof(path) - 1);
	}
	wire->allocator_kind = kind;
	memcpy(wire->allocator, path, sizeof(path));
}

/* ---- what the wrappers share */

void malloc_note(struct memory_thread *self, const void *at, size_t bytes, unsigned kind,
		 const struct memory_caller *caller)
{
	int saved = errno;
	struct memory_caller outer;
	if (self && self->new_caller.ip && bytes - self->new_bytes <= self->new_spare) {
		outer = self->new_caller;
		caller = &outer;
		bytes = self->new_bytes;
		kind = WIRE_HEAP_NEW;
		self->new_caller.ip = 0;
	}
	if (self) {
		memory_allocated(self, at, bytes, kind, caller);
	} else if (memory.wire && (self = memory_orphan())) {
		memory_allocated(self, at, bytes, kind, caller);
		memory_orphan_done();
	}
	errno = saved;
}

void malloc_note_free(struct memory_thread *self, const void *at)
{
	int saved = errno;
	if (self) {
		memory_freed(self, at);
	} else if (memory.wire && (self = memory_orphan())) {
		memory_freed(self, at);
		memory_orphan_done();
	}
	errno = saved;
}

/* ---- the wrappers */

/* Of C23, which this libc's headers may not have. */
void free_sized(void *at, size_t bytes);
void free_aligned_sized(void *at, size_t alignment, size_t bytes);

/* The parts below that are not inlined are jumped to: they have the wrapper's caller for theirs. Where a compiler makes a call of it,
 * the wrapper is one of our own frames, which stacks do not have. */
#define REST static __attribute__((noinline))

REST void *malloc_rest(size_t bytes)
{
	if (!HAS(malloc))
		return pool_take(bytes, POOL_HEAD);
	if (__builtin_expect(!memory.wire, 0))
		return next.malloc(bytes);
	void *at = next.malloc(bytes);
	if (at)
		MEMORY_ALLOCATED(at, bytes, WIRE_HEAP_MALLOC);
	else if (memory_self)
		memory_self->new_caller.ip = 0; /* which is going to leave by an exception */
	return at;
}

REST void *malloc_failed(size_t bytes)
{
	struct memory_thread *self = memory_self;
	memory_uncount(bytes);
	if (self)
		self->new_caller.ip = 0;
	return NULL;
}

/* Where a thread has a state, the functions behind were found. */
MEMORY_EXPORT void *malloc(size_t bytes)
{
	if (!memory_passes(bytes))
		return malloc_rest(bytes);
	void *at = next.malloc(bytes);
	return __builtin_expect(at != NULL, 1) ? at : malloc_failed(bytes);
}

MEMORY_EXPORT void *calloc(size_t count, size_t bytes)
{
	/* The pool is zeroed, and never used twice. */
	if (!HAS(calloc))
		return pool_take(count * bytes, POOL_HEAD);
	if (__builtin_expect(!memory.wire, 0))
		return next.calloc(count, bytes);
	void *at = next.calloc(count, bytes);
	if (at)
		MEMORY_ALLOCATED(at, count * bytes, WIRE_HEAP_MALLOC);
	return at;
}

REST void free_rest(void *at)
{
	if (!at || is_pool(at) || !HAS(free))
		return;
	memory_free(at);
	next.free(at);
}

MEMORY_EXPORT void free(void *at)
{
	if (memory_free_passes(at))
		next.free(at);
	else
		free_rest(at);
}

MEMORY_EXPORT void free_sized(void *at, size_t bytes)
{
	if (!at || is_pool(at))
		return;
	if (!HAS(free_sized)) {
		free(at);
		return;
	}
	memory_free(at);
	next.free_sized(at, bytes);
}

MEMORY_EXPORT void free_aligned_sized(void *at, size_t alignment, size_t bytes)
{
	if (!at || is_pool(at))
		return;
	if (!HAS(free_aligned_sized)) {
		free(at);
		return;
	}
	memory_free(at);
	next.free_aligned_sized(at, alignment, bytes);
}

/* ---- realloc */

struct replacement {
	struct memory_thread *self;
	bool is_orphan;
	enum memory_taken taken;
	struct memory_block old;
};

static void replace_begin(struct replacement *out, const void *at)
{
	*out = (struct replacement){.self = memory_self};
	if (!at || (!out->self && !memory.wire))
		return;
	int saved = errno;
	if (!out->self) {
		out->self = memory_orphan();
		out->is_orphan = out->self;
	}
	out->taken = out->self ? memory_take(out->self, at, &out->old) : MEMORY_NOT_TAKEN;
	if (out->is_orphan) {
		memory_orphan_done();
		out->self = NULL;
	}
	errno = saved;
}

/* `done`: the old block is gone. */
static void replace_end(struct replacement *replacement, const void *at, bool done)
{
	struct memory_thread *self = replacement->is_orphan ? memory_orphan() : replacement->self;
	if (!self)
		return;
	int saved = errno;
	if (!done)
		memory_put_back(self, at, replacement->taken, &replacement->old);
	else if (replacement->taken == MEMORY_TAKEN)
		memory_replaced(self, &replacement->old);
	if (replacement->is_orphan)
		memory_orphan_done();
	errno = saved;
}

static void *leave_pool(const void *at, size_t bytes)
{
	void *to = malloc(bytes);
	size_t before = pool_size(at);
	if (to)
		memcpy(to, at, before < bytes ? before : bytes);
	return to;
}

/* Libraries make one of these of the other, or of malloc and free: what is asked for meanwhile is not counted. */
static void *change(void *at, size_t bytes)
{
	struct replacement replacement;
	if (is_pool(at))
		return leave_pool(at, bytes);
	if (!HAS(realloc))
		return at ? NULL : pool_take(bytes, POOL_HEAD);
	replace_begin(&replacement, at);
	struct memory_outer outer = memory_within(memory_self, WIRE_MAP_ALLOCATOR);
	void *to = next.realloc(at, bytes);
	memory_without(memory_self, outer);
	/* libc frees where 0 bytes are asked for, and gives NULL. */
	replace_end(&replacement, at, to || (at && bytes == 0));
	return to;
}

MEMORY_EXPORT void *realloc(void *at, size_t bytes)
{
	if (!memory.wire && next.realloc && !is_pool(at))
		return next.realloc(at, bytes);
	void *to = change(at, bytes);
	if (to && !is_pool(to) && !is_pool(at))
		MEMORY_ALLOCATED(to, bytes, WIRE_HEAP_MALLOC);
	return to;
}

MEMORY_EXPORT void *reallocarray(void *at, size_t count, size_t bytes)
{
	size_t product;
	if (__builtin_mul_overflow(count, bytes, &product)) {
		errno = ENOMEM;
		return NULL;
	}
	void *to = change(at, product);
	if (to && !is_pool(to) && !is_pool(at))
		MEMORY_ALLOCATED(to, product, WIRE_HEAP_MALLOC);
	return to;
}

/* ---- aligned */

/* Around the calls of functions that a library may have made of malloc. */
#define WITHIN(call)                                                                                                   \
	do {                                                                                                           \
		struct memory_outer outer_ = memory_within(memory_self, WIRE_MAP_ALLOCATOR);                           \
		call;                                                                                                  \
		memory_without(memory_self, outer_);                                                                   \
	} while (0)

MEMORY_EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	int code = ENOMEM;
	if (HAS(posix_memalign))
		WITHIN(code = next.posix_memalign(out, alignment, bytes));
	if (code == 0 && *out)
		MEMORY_ALLOCATED(*out, bytes, WIRE_HEAP_MALLOC);
	return code;
}

MEMORY_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *at = NULL;
	if (HAS(aligned_alloc))
		WITHIN(at = next.aligned_alloc(alignment, bytes));
	if (at)
		MEMORY_ALLOCATED(at, bytes, WIRE_HEAP_MALLOC);
	return at;
}

MEMORY_EXPORT void *memalign(size_t alignment, size_t bytes)
{
	void *at = NULL;
	if (HAS(memalign))
		WITHIN(at = next.memalign(alignment, bytes));
	if (at)
		MEMORY_ALLOCATED(at, bytes, WIRE_HEAP_MALLOC);
	return at;
}

MEMORY_EXPORT void *valloc(size_t bytes)
{
	void *at = NULL;
	if (HAS(valloc))
		WITHIN(at = next.valloc(bytes));
	if (at)
		MEMORY_ALLOCATED(at, bytes, WIRE_HEAP_MALLOC);
	return at;
}

MEMORY_EXPORT void *pvalloc(size_t bytes)
{
	void *at = NULL;
	if (HAS(pvalloc))
		WITHIN(at = next.pvalloc(bytes));
	if (at)
		MEMORY_ALLOCATED(at, bytes, WIRE_HEAP_MALLOC);
	return at;
}

MEMORY_EXPORT size_t malloc_usable_size(void *at)
{
	if (is_pool(at))
		return pool_size(at);
	return HAS(malloc_usable_size) ? next.malloc_usable_size(at) : 0;
}
