/*
 * interpose_new.c - C++'s operators new and delete.
 *
 * libstdc++'s ask malloc, which is seen anyway; but libraries that replace malloc bring operators of their own that do not. So the
 * operators are wrapped, and what they ask of malloc meanwhile counts as theirs, with their caller's stack. Whether malloc was asked
 * is known by the thread's count.
 *
 * new may leave by an exception, past us: nothing is left behind but new_caller, which malloc clears where it fails, and which means
 * nothing for a block of another size.
 *
 * A program may load its C++ library late and for itself alone, where nothing leads to it from here: then the operator is looked for
 * from the caller, where it would have been found without us.
 */
#include "agent/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *look_in(const char *object, const char *name)
{
	void *handle = object ? dlopen(object, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found = handle ? dlsym(handle, name) : NULL;
	Dl_info theirs, ours;
	/* It is loaded, and stays: the handle is given back, or not, to no effect. */
	if (found && dladdr(found, &theirs) && dladdr((void *)&memory, &ours) && theirs.dli_fbase == ours.dli_fbase)
		found = NULL;
	return found;
}

/* The operator behind ours; NULL: there is none anywhere. */
static void *look_up(const char *name, uintptr_t caller)
{
	Dl_info info = {0};
	void *found = dlsym(RTLD_NEXT, name);
	if (!found && dladdr((void *)caller, &info)) /* NOLINT(performance-no-int-to-ptr) */
		found = look_in(info.dli_fname, name);
	if (!found)
		found = look_in("libstdc++.so.6", name);
	return found ? found : look_in("libc++.so.1", name);
}

#define BEHIND(type, name)                                                                                             \
	static _Atomic(void *) kept_;                                                                                  \
	type behind_;                                                                                                  \
	void *found_ = atomic_load_explicit(&kept_, memory_order_acquire);                                             \
	if (!found_) {                                                                                                 \
		found_ = look_up(name, (uintptr_t)__builtin_return_address(0));                                        \
		atomic_store_explicit(&kept_, found_, memory_order_release);                                           \
	}                                                                                                              \
	memcpy(&behind_, &found_, sizeof(behind_))

/* Before and after the call of the operator behind. */
static inline struct memory_thread *begin(const struct memory_caller *caller, size_t bytes, size_t spare)
{
	struct memory_thread *self = memory_self;
	if (!self || (self->mode != MEMORY_EXACT && self->mode != MEMORY_SAMPLED))
		return NULL;
	/* One of these operators may be made of another. */
	if (self->new_caller.ip && self->new_bytes == bytes)
		return NULL;
	self->new_calls = self->calls;
	self->new_caller = *caller;
	self->new_bytes = bytes;
	self->new_spare = spare;
	return self;
}

static inline bool was_counted(struct memory_thread *self, const void *at)
{
	if (!self)
		return true;
	self->new_caller.ip = 0;
	return !at || self->new_calls != self->calls;
}

#define NEW(symbol, parameters, arguments, spare, fallback)                                                            \
	MEMORY_EXPORT void *symbol parameters;                                                                         \
	void *symbol parameters                                                                                        \
	{                                                                                                              \
		typedef void *(*operator_type)parameters;                                                              \
		const struct memory_caller caller = MEMORY_CALLER();                                                   \
		BEHIND(operator_type, #symbol);                                                                        \
		if (!behind_)                                                                                          \
			return fallback;                                                                               \
		struct memory_thread *self = begin(&caller, bytes, spare);                                             \
		void *at = behind_ arguments;                                                                          \
		if (!was_counted(self, at))                                                                            \
			MEMORY_ALLOCATED(at, bytes, WIRE_HEAP_NEW);                                                    \
		return at;                                                                                             \
	}

#define DELETE(symbol, parameters, arguments)                                                                          \
	MEMORY_EXPORT void symbol parameters;                                                                          \
	void symbol parameters                                                                                         \
	{                                                                                                              \
		typedef void(*operator_type) parameters;                                                               \
		BEHIND(operator_type, #symbol);                                                                        \
		if (!behind_) {                                                                                        \
			free(at);                                                                                      \
			return;                                                                                        \
		}                                                                                                      \
		if (at)                                                                                                \
			memory_free(at);                                                                               \
		struct memory_thread *self = memory_self;                                                              \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ALLOCATOR);                                   \
		behind_ arguments;                                                                                     \
		memory_without(self, outer);                                                                           \
	}

NEW(_Znwm, (size_t bytes), (bytes), 1, malloc(bytes))
NEW(_Znam, (size_t bytes), (bytes), 1, malloc(bytes))
NEW(_ZnwmRKSt9nothrow_t, (size_t bytes, const void *tag), (bytes, tag), 1, malloc(bytes))
NEW(_ZnamRKSt9nothrow_t, (size_t bytes, const void *tag), (bytes, tag), 1, malloc(bytes))
NEW(_ZnwmSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment), alignment,
    aligned_alloc(alignment, bytes))
NEW(_ZnamSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment), alignment,
    aligned_alloc(alignment, bytes))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *tag), (bytes, alignment, tag),
    alignment, aligned_alloc(alignment, bytes))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *tag), (bytes, alignment, tag),
    alignment, aligned_alloc(alignment, bytes))
DELETE(_ZdlPv, (void *at), (at))
DELETE(_ZdaPv, (void *at), (at))
DELETE(_ZdlPvm, (void *at, size_t bytes), (at, bytes))
DELETE(_ZdaPvm, (void *at, size_t bytes), (at, bytes))
DELETE(_ZdlPvRKSt9nothrow_t, (void *at, const void *tag), (at, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *at, const void *tag), (at, tag))
DELETE(_ZdlPvSt11align_val_t, (void *at, size_t alignment), (at, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *at, size_t alignment), (at, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *at, size_t bytes, size_t alignment), (at, bytes, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *at, size_t bytes, size_t alignment), (at, bytes, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *at, size_t alignment, const void *tag), (at, alignment, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *at, size_t alignment, const void *tag), (at, alignment, tag))
