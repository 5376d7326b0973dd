/*
 * memory_layer.c - an interpreter that puts its own allocators in the place of ours while it starts: ours go in again.
 *
 * Whatever PYTHONMALLOC says, and 3.6 without it, the interpreter writes its allocators over those that it finds, after the agent has
 * begun. No function of ours is called then. So until the interpreter is up, its allocators are looked at whenever an allocation
 * is recorded or an arena is mapped, which is before the first object:
 *
 *	the allocator of before            ours of before go in front of it
 *	another one of the interpreter's   those below do (malloc, which 3.6 begins with, only once the interpreter is up)
 *	its debug hooks                    those below go behind the hooks: between them and the allocator that they ask, or in our place
 *	ours, or hooks that ask ours       nothing
 *	somebody else's                    nothing, and it is told
 *
 * Behind the debug hooks, because those know themselves by standing in front, and would be put in twice. There a block is larger than
 * what was asked for by what the hooks write around it, and begins so much earlier; either is known. Their table of what to ask lies in the
 * interpreter's data, and is written to only where it is what it has always been: a letter, and five words that are an allocator
 * of the interpreter's own.
 *
 * Ours never change what they ask once they are in use, so it does not matter in which order the interpreter takes them out
 * and puts them back, as it does with the raw domain's. Blocks of the time without us are unknown where they are freed, or known as
 * malloc's by the same address.
 */
#include "agent/memory_domain.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD_BYTES = 16, /* that the debug hooks write before a block: its size, letter and fence */
	TAIL_BYTES = 8,
	TAIL_OLD = 16,
	OLD_MINOR = 7,   /* and behind it; up to 3.7 with a number */
	NARROW_MINOR = 6 /* the last whose small blocks begin at multiples of 8 */
};

/* What ours below are in front of. */
static struct {
	struct python_allocator behind; /* malloc NULL: not in use */
	size_t around;                  /* bytes that a layer in front adds to every block */
} late[DOMAINS];

static struct {
	struct layer_plan plan;
	uintptr_t start, end;           /* the interpreter's object */
	uintptr_t data_start, data_end; /* what can be written of it */
	int minor;
	atomic_flag lock;
	_Atomic bool is_whole;
} layer = {.lock = ATOMIC_FLAG_INIT, .is_whole = true};

/* ---- ours */

static size_t asked(int domain, size_t bytes)
{
	return bytes > late[domain].around ? bytes - late[domain].around : 0;
}

#define NOTHING(...) ((void)0)

#define LATE(name, domain, kind, after, before_free)                                                                   \
	static void *name##_malloc(void *unused, size_t bytes)                                                         \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_thread *self = memory_self;                                                              \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = late[domain].behind.malloc(late[domain].behind.context, bytes);                             \
		memory_without(self, outer);                                                                           \
		if (at) {                                                                                              \
			MEMORY_ALLOCATED(at, asked(domain, bytes), kind);                                              \
			after(at);                                                                                     \
		}                                                                                                      \
		return at;                                                                                             \
	}                                                                                                              \
	static void *name##_calloc(void *unused, size_t count, size_t bytes)                                           \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_thread *self = memory_self;                                                              \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = late[domain].behind.calloc(late[domain].behind.context, count, bytes);                      \
		memory_without(self, outer);                                                                           \
		if (at) {                                                                                              \
			MEMORY_ALLOCATED(at, asked(domain, count *bytes), kind);                                       \
			after(at);                                                                                     \
		}                                                                                                      \
		return at;                                                                                             \
	}                                                                                                              \
	static void *name##_realloc(void *unused, void *before, size_t bytes)                                          \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_block old;                                                                               \
		struct memory_thread *self = memory_self;                                                              \
		enum memory_taken taken = domain_replace_begin(self, before, &old);                                    \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = late[domain].behind.realloc(late[domain].behind.context, before, bytes);                    \
		memory_without(self, outer);                                                                           \
		if (self)                                                                                              \
			domain_replace_end(self, before, taken, &old, at);                                             \
		if (at) {                                                                                              \
			MEMORY_ALLOCATED(at, asked(domain, bytes), kind);                                              \
			after(at);                                                                                     \
		}                                                                                                      \
		return at;                                                                                             \
	}                                                                                                              \
	static void name##_free(void *unused, void *at)                                                                \
	{                                                                                                              \
		(void)unused;                                                                                          \
		before_free();                                                                                         \
		struct memory_thread *self = memory_self;                                                              \
		if (at)                                                                                                \
			memory_free(at);                                                                               \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		late[domain].behind.free(late[domain].behind.context, at);                                             \
		memory_without(self, outer);                                                                           \
	}

LATE(raw, RAW, WIRE_HEAP_PYTHON_RAW, NOTHING, NOTHING)
LATE(mem, MEM, WIRE_HEAP_PYTHON_MEM, NOTHING, NOTHING)
LATE(object, OBJECT, WIRE_HEAP_PYTHON_OBJECT, NOTHING, NOTHING)
LATE(typed, OBJECT, WIRE_HEAP_PYTHON_OBJECT, type_note, type_before_free)

static const struct python_allocator late_ours[] = {
	{NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
	{NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},
	{NULL, object_malloc, object_calloc, object_realloc, object_free},
	{NULL, typed_malloc, typed_calloc, typed_realloc, typed_free},
};

static const struct python_allocator *late_of(int domain)
{
	return &late_ours[domain == OBJECT && type_is_wanted() ? DOMAINS : domain];
}

/* ---- what is there */

static bool is_same(const struct python_allocator *a, const struct python_allocator *b)
{
	return a->context == b->context && a->malloc == b->malloc && a->calloc == b->calloc &&
	       a->realloc == b->realloc && a->free == b->free;
}

static bool is_ours(const struct python_allocator *allocator)
{
	for (int domain = RAW; domain < DOMAINS; domain++)
		if (allocator->malloc == layer.plan.ours[domain]->malloc)
			return true;
	for (size_t i = 0; i < sizeof(late_ours) / sizeof(late_ours[0]); i++)
		if (allocator->malloc == late_ours[i].malloc)
			return true;
	return false;
}

/* One of the interpreter's allocators that asks no other one. */
static bool is_plain(const struct python_allocator *allocator)
{
	const uintptr_t parts[] = {(uintptr_t)allocator->malloc, (uintptr_t)allocator->calloc,
				   (uintptr_t)allocator->realloc, (uintptr_t)allocator->free};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i] < layer.start || parts[i] >= layer.end)
			return false;
	return !allocator->context;
}

static bool is_data(const void *at, size_t bytes)
{
	return (uintptr_t)at >= layer.data_start && (uintptr_t)at + bytes <= layer.data_end;
}

struct debug_hooks {
	char letter;
	struct python_allocator behind;
};

static struct debug_hooks *hooks_at(int domain, const struct python_allocator *now)
{
	static const char letters[DOMAINS] = {'r', 'm', 'o'};
	struct debug_hooks *hooks = now->context;
	return is_data(hooks, sizeof(*hooks)) && hooks->letter == letters[domain] ? hooks : NULL;
}

/* Whether somebody's hooks, or what they ask, ask ours. tracemalloc has no letter. */
static bool reaches_ours(int domain, const struct python_allocator *now)
{
	for (int depth = 0; depth <= DOMAINS; depth++) {
		if (is_ours(now))
			return true;
		const struct debug_hooks *hooks = hooks_at(domain, now);
		if (!hooks && !is_data(now->context, sizeof(*now)))
			return false;
		now = hooks ? &hooks->behind : now->context;
	}
	return false;
}

/* ---- putting in */

static bool use_late(int domain, const struct python_allocator *behind, size_t around)
{
	if (late[domain].behind.malloc)
		return is_same(&late[domain].behind, behind) && late[domain].around == around;
	late[domain].around = around;
	late[domain].behind = *behind;
	if (domain == OBJECT && around)
		type_begins_at(HEAD_BYTES);
	return true;
}

/* The context stays what it was: another thread may be reading word by word. */
static struct python_allocator with_context(const struct python_allocator *ours, void *context)
{
	struct python_allocator allocator = *ours;
	allocator.context = context;
	return allocator;
}

/* Ours of before count what the hooks add; they give way to those that do not. */
static bool put_behind(int domain, struct debug_hooks *hooks)
{
	const struct layer_plan *plan = &layer.plan;
	bool was_ours = hooks->behind.malloc == plan->ours[domain]->malloc;
	const struct python_allocator *behind = was_ours ? &plan->behind[domain] : &hooks->behind;
	size_t around = HEAD_BYTES + (layer.minor <= OLD_MINOR ? TAIL_OLD : TAIL_BYTES);
	if (!is_plain(behind) || !use_late(domain, behind, around))
		return false;
	hooks->behind = *late_of(domain);
	return true;
}

/* Whether what the domain is asked for is counted from now on: by us, or as malloc's. */
static bool look_at(int domain, bool is_up)
{
	const struct layer_plan *plan = &layer.plan;
	struct python_allocator now, allocator;
	plan->get(domain, &now);
	struct debug_hooks *hooks = hooks_at(domain, &now);
	if (hooks && put_behind(domain, hooks))
		return true;
	if (reaches_ours(domain, &now))
		return true;
	if (is_same(&now, &plan->behind[domain])) {
		allocator = with_context(plan->ours[domain], now.context);
	} else if (!is_up && is_same(&now, &plan->behind[RAW])) {
		return true;
	} else {
		if (!is_plain(&now) || !use_late(domain, &now, 0))
			return false;
		allocator = with_context(late_of(domain), now.context);
	}
	plan->set(domain, &allocator);
	return true;
}

bool layer_look(void)
{
	if (atomic_flag_test_and_set(&layer.lock))
		return false;
	int saved = errno;
	bool is_up = !layer.plan.is_initialized || layer.plan.is_initialized(), is_whole = true;
	for (int domain = RAW; domain < DOMAINS; domain++)
		is_whole &= look_at(domain, is_up);
	atomic_store(&layer.is_whole, is_whole);
	errno = saved;
	atomic_flag_clear(&layer.lock);
	return is_up;
}

bool layer_is_whole(void)
{
	return atomic_load(&layer.is_whole);
}

/* ---- begin */

static int minor_of(const char *(*version)(void))
{
	const char *text = version ? version() : "";
	return strncmp(text, "3.", 2) == 0 ? atoi(text + 2) : 0;
}

void layer_begin(const struct layer_plan *plan)
{
	Dl_info info;
	layer.plan = *plan;
	layer.minor = minor_of(layer_version());
	if (!dladdr(plan->inside, &info) || !info.dli_fbase)
		return;
	const Elf64_Ehdr *file = info.dli_fbase;
	const Elf64_Phdr *header = (const Elf64_Phdr *)((const char *)file + file->e_phoff);
	uintptr_t bias = file->e_type == ET_EXEC ? 0 : (uintptr_t)file;
	layer.start = layer.end = (uintptr_t)file;
	for (unsigned i = 0; i < file->e_phnum; i++) {
		uintptr_t start = bias + header[i].p_vaddr, end = start + header[i].p_memsz;
		if (header[i].p_type != PT_LOAD)
			continue;
		if (end > layer.end)
			layer.end = end;
		if (header[i].p_flags & PF_W) {
			layer.data_start = start;
			layer.data_end = end;
		}
	}
}

const char *(*layer_version(void))(void)
{
	/* Once: in a child of fork the loader's lock may be somebody's who is not there. */
	static const char *(*version)(void);
	static bool looked;
	if (!looked) {
		void *found = dlsym(RTLD_DEFAULT, "Py_GetVersion");
		/* The loader keeps a block with words about what it did not find, until it finds something. */
		if (!found)
			dlsym(RTLD_DEFAULT, "malloc");
		memcpy(&version, &found, sizeof(found));
		looked = true;
	}
	return version;
}

bool layer_is_narrow(void)
{
	static int minor = -1;
	if (minor < 0)
		minor = minor_of(layer_version());
	return minor > 0 && minor <= NARROW_MINOR;
}
