/*
 * interpose_map.c - mmap and its relatives, as the program calls them.
 *
 * What libc maps for itself (malloc's arenas and large blocks, thread stacks, the loader's objects) goes past these names, and
 * is not counted here: malloc's blocks are counted as blocks. Other allocators do call mmap; they are known by the object that
 * the call comes from, Python's by being at work in this thread. Their maps are counted apart, because what lies in them is
 * counted as blocks, too.
 *
 * A range is taken out before it is unmapped: afterwards another thread may have mapped something there.
 */
#include "agent/memory.h"
#include "agent/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define MAP_LIST(X)                                                                                                    \
	X(mmap, void *, (void *, size_t, int, int, int, off_t))                                                        \
	X(munmap, int, (void *, size_t))                                                                               \
	X(mremap, void *, (void *, size_t, size_t, int, ...))                                                          \
	X(madvise, int, (void *, size_t, int))                                                                         \
	X(brk, int, (void *))                                                                                          \
	X(sbrk, void *, (intptr_t))

#define MEMBER(name, type, arguments) type(*name) arguments;
static struct {
	MAP_LIST(MEMBER)
} next;
#undef MEMBER

static void look_up(void)
{
	void *found;
#define FIND(name, type, arguments)                                                                                    \
	found = dlsym(RTLD_NEXT, #name);                                                                               \
	memcpy(&next.name, &found, sizeof(found));
	MAP_LIST(FIND)
#undef FIND
}

#define HAS(name) (__builtin_expect(next.name != NULL, 1) || (look_up(), next.name != NULL))

/* The state of the calling thread where its maps are recorded; entered. NULL: not now. */
static struct memory_thread *begin(uintptr_t here, int *saved)
{
	struct memory_thread *self = memory_self;
	*saved = errno;
	if (!self || self->mode == MEMORY_OFF || !self->thread || self->thread->busy)
		return NULL;
	bool entered = memory_enter(self, here);
	errno = *saved;
	return entered ? self : NULL;
}

static void end(struct memory_thread *self, int saved)
{
	memory_leave(self);
	errno = saved;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + WIRE_PAGE - 1) & ~(size_t)(WIRE_PAGE - 1);
}

static unsigned kind_of(const struct memory_thread *self, int protection, int flags, uintptr_t ip)
{
	if (self->mode == MEMORY_WITHIN)
		return self->within_kind;
	if (malloc_is_of(ip))
		return WIRE_MAP_ALLOCATOR;
	bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	if (!(flags & MAP_ANONYMOUS))
		return is_shared && (protection & PROT_WRITE) ? WIRE_MAP_SHARED : WIRE_MAP_FILE;
	if (protection == PROT_NONE || (flags & MAP_NORESERVE))
		return WIRE_MAP_RESERVED;
	return is_shared ? WIRE_MAP_SHARED : WIRE_MAP_ANONYMOUS;
}

static void note_map(void *at, size_t bytes, int protection, int flags, const struct memory_caller *caller)
{
	int saved;
	struct memory_thread *self = begin(caller->sp, &saved);
	if (!self)
		return;
	range_add(self, (uintptr_t)at, whole_pages(bytes), kind_of(self, protection, flags, caller->ip), caller);
	end(self, saved);
}

MEMORY_EXPORT void *mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	void *at = HAS(mmap) ? next.mmap(where, bytes, protection, flags, fd, offset)
			     : (void *)syscall(SYS_mmap, where, bytes, protection, flags, fd, offset);
	if (at != MAP_FAILED) {
		const struct memory_caller caller = MEMORY_CALLER();
		note_map(at, bytes, protection, flags, &caller);
	}
	return at;
}

MEMORY_EXPORT void *mmap64(void *where, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	void *at = HAS(mmap) ? next.mmap(where, bytes, protection, flags, fd, offset)
			     : (void *)syscall(SYS_mmap, where, bytes, protection, flags, fd, offset);
	if (at != MAP_FAILED) {
		const struct memory_caller caller = MEMORY_CALLER();
		note_map(at, bytes, protection, flags, &caller);
	}
	return at;
}

static void note_unmap(void *at, size_t bytes)
{
	int saved;
	struct memory_thread *self = begin((uintptr_t)__builtin_frame_address(0), &saved);
	if (!self)
		return;
	range_remove(self, (uintptr_t)at, whole_pages(bytes));
	end(self, saved);
}

MEMORY_EXPORT int munmap(void *at, size_t bytes)
{
	/* What the kernel refuses. */
	if (bytes && (uintptr_t)at % WIRE_PAGE == 0)
		note_unmap(at, bytes);
	return HAS(munmap) ? next.munmap(at, bytes) : (int)syscall(SYS_munmap, at, bytes);
}

static void note_move(unsigned kind, void *to, size_t bytes, const struct memory_caller *caller)
{
	int saved;
	struct memory_thread *self = kind ? begin(caller->sp, &saved) : NULL;
	if (!self)
		return;
	range_add(self, (uintptr_t)to, whole_pages(bytes), kind, caller);
	end(self, saved);
}

MEMORY_EXPORT void *mremap(void *at, size_t before, size_t bytes, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	void *wanted = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
	va_end(list);
	unsigned kind = range_kind((uintptr_t)at);
	if (kind)
		note_unmap(at, before);
	void *to = HAS(mremap) ? next.mremap(at, before, bytes, flags, wanted)
			       : (void *)syscall(SYS_mremap, at, before, bytes, flags, wanted);
	const struct memory_caller caller = MEMORY_CALLER();
	note_move(kind, to == MAP_FAILED ? at : to, to == MAP_FAILED ? before : bytes, &caller);
	return to;
}

MEMORY_EXPORT int madvise(void *at, size_t bytes, int advice)
{
	int code = HAS(madvise) ? next.madvise(at, bytes, advice) : (int)syscall(SYS_madvise, at, bytes, advice);
	struct memory_thread *self = memory_self;
	if (code == 0 && (advice == MADV_DONTNEED || advice == MADV_FREE) && self && self->mode && agent_is_on()) {
		atomic_fetch_add(&memory.wire->discarded_bytes, whole_pages(bytes));
		atomic_fetch_add(&memory.wire->discarded_calls, 1);
	}
	return code;
}

/* ---- the break */

static void note_break(uintptr_t before, uintptr_t after, const struct memory_caller *caller)
{
	int saved;
	struct memory_thread *self = before != after ? begin(caller->sp, &saved) : NULL;
	if (!self)
		return;
	unsigned kind = malloc_is_of(caller->ip) ? WIRE_MAP_ALLOCATOR : WIRE_MAP_BREAK;
	if (after > before)
		range_add(self, before, after - before, kind, caller);
	else
		range_remove(self, after, before - after);
	end(self, saved);
}

MEMORY_EXPORT void *sbrk(intptr_t bytes)
{
	void *before = HAS(sbrk) ? next.sbrk(bytes) : (void *)-1;
	if (before != (void *)-1) {
		const struct memory_caller caller = MEMORY_CALLER();
		note_break((uintptr_t)before, (uintptr_t)before + (uintptr_t)bytes, &caller);
	}
	return before;
}

MEMORY_EXPORT int brk(void *to)
{
	uintptr_t before = HAS(sbrk) ? (uintptr_t)next.sbrk(0) : 0;
	int code = HAS(brk) ? next.brk(to) : -1;
	if (code == 0) {
		const struct memory_caller caller = MEMORY_CALLER();
		note_break(before, (uintptr_t)to, &caller);
	}
	return code;
}
