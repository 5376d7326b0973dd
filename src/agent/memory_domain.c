/*
 * memory_domain.c - CPython's three allocators (raw, mem, object), by its own functions for that, PyMem_GetAllocator and
 * PyMem_SetAllocator.
 *
 * They are found without the loader: by symbol where the interpreter is there when the agent begins, else in the object in which the
 * unwinder has found one. The switch may come while other threads allocate, which copy nothing: an allocator is five words that are
 * read one by one. So our functions do not use their context, the interpreter's do not use theirs, and either may be called with
 * the other's. A block is known by its address, so it does not matter by which it was allocated.
 *
 * What Python's allocator asks of malloc meanwhile is not counted again. Blocks of up to 512 bytes lie in its arenas (pymalloc, which is
 * what there is unless somebody asked for something else): for those malloc is not asked, and maps are made by the arena allocator,
 * which is wrapped, too. So a small block needs no word to the wrappers further in. A free does not say how large the block is; it
 * leaves the address in `freeing`, by which the wrappers of the raw domain and of malloc know it. A block of an arena never gets there: its
 * address stays until the next free, which is of no harm while it cannot become malloc's. Before its arena goes back, every thread
 * forgets it.
 *
 * The table of arenas itself is a block of the raw domain.
 *
 * An interpreter may put its own allocators back while it starts; memory_layer.c puts ours in again.
 */
#include "agent/memory_domain.h"
#include "agent/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct arena_allocator {
	void *context;
	void *(*alloc)(void *context, size_t bytes);
	void (*free)(void *context, void *at, size_t bytes);
};

enum { PYTHON_SMALL = 512 };

static struct python_allocator behind[DOMAINS];
static struct arena_allocator behind_arenas;
/* Bytes of the largest block that lies in an arena; 0: that is not known, or there are none. The raw domain has none. */
static size_t small_most[DOMAINS];
static _Atomic int is_hooked;
static _Atomic uintptr_t seen_bias, seen_dynamic;

static inline bool is_small(int domain, size_t bytes)
{
	return bytes - 1 < small_most[domain]; /* 0 bytes are malloc's */
}

#define REST static __attribute__((noinline))

#define ALLOCATOR(name, domain, kind, after, before_free)                                                              \
	REST void *name##_malloc_rest(void *unused, size_t bytes)                                                      \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_thread *self = is_small(domain, bytes) ? NULL : memory_self;                             \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = behind[domain].malloc(behind[domain].context, bytes);                                       \
		memory_without(self, outer);                                                                           \
		if (at) {                                                                                              \
			DOMAIN_ALLOCATED(at, bytes, kind);                                                             \
			after(at);                                                                                     \
		}                                                                                                      \
		return at;                                                                                             \
	}                                                                                                              \
	static void *name##_malloc(void *unused, size_t bytes)                                                         \
	{                                                                                                              \
		if (!is_small(domain, bytes) || !memory_passes(bytes))                                                 \
			return name##_malloc_rest(unused, bytes);                                                      \
		void *at = behind[domain].malloc(behind[domain].context, bytes);                                       \
		return __builtin_expect(at != NULL, 1) ? at : small_failed(bytes);                                     \
	}                                                                                                              \
	REST void *name##_calloc_rest(void *unused, size_t count, size_t bytes)                                        \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_thread *self = is_small(domain, count * bytes) ? NULL : memory_self;                     \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = behind[domain].calloc(behind[domain].context, count, bytes);                                \
		memory_without(self, outer);                                                                           \
		if (at) {                                                                                              \
			DOMAIN_ALLOCATED(at, count *bytes, kind);                                                      \
			after(at);                                                                                     \
		}                                                                                                      \
		return at;                                                                                             \
	}                                                                                                              \
	static void *name##_calloc(void *unused, size_t count, size_t bytes)                                           \
	{                                                                                                              \
		if (!is_small(domain, count * bytes) || !memory_passes(count * bytes))                                 \
			return name##_calloc_rest(unused, count, bytes);                                               \
		void *at = behind[domain].calloc(behind[domain].context, count, bytes);                                \
		return __builtin_expect(at != NULL, 1) ? at : small_failed(count * bytes);                             \
	}                                                                                                              \
	static void *name##_realloc(void *unused, void *before, size_t bytes)                                          \
	{                                                                                                              \
		(void)unused;                                                                                          \
		struct memory_block old;                                                                               \
		struct memory_thread *self = memory_self;                                                              \
		enum memory_taken taken = domain_replace_begin(self, before, &old);                                    \
		struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);                                       \
		void *at = behind[domain].realloc(behind[domain].context, before, bytes);                              \
		memory_without(self, outer);                                                                           \
		if (self)                                                                                              \
			domain_replace_end(self, before, taken, &old, at);                                             \
		if (at) {                                                                                              \
			DOMAIN_ALLOCATED(at, bytes, kind);                                                             \
			after(at);                                                                                     \
		}                                                                                                      \
		return at;                                                                                             \
	}                                                                                                              \
	REST void name##_free_rest(void *unused, void *at)                                                             \
	{                                                                                                              \
		(void)unused;                                                                                          \
		if (small_most[domain])                                                                                \
			free_small(&behind[domain], at);                                                               \
		else                                                                                                   \
			free_behind(&behind[domain], at);                                                              \
	}                                                                                                              \
	static void name##_free(void *unused, void *at)                                                                \
	{                                                                                                              \
		struct memory_thread *self = memory_near;                                                              \
		before_free();                                                                                         \
		if (__builtin_expect(!small_most[domain] || self->mode != MEMORY_SAMPLED ||                            \
					     block_filter[block_filter_place(at)],                                     \
				     0)) {                                                                             \
			name##_free_rest(unused, at);                                                                  \
			return;                                                                                        \
		}                                                                                                      \
		self->frees++;                                                                                         \
		self->freeing = at;                                                                                    \
		behind[domain].free(behind[domain].context, at);                                                       \
	}

/* In exact mode straight to where it is counted. */
#define DOMAIN_ALLOCATED(at, bytes, kind)                                                                              \
	do {                                                                                                           \
		struct memory_thread *exact_ = memory_self;                                                            \
		if (__builtin_expect(exact_ && exact_->mode == MEMORY_EXACT && exact_->record, 1)) {                   \
			struct memory_caller by_ = MEMORY_CALLER();                                                    \
			exact_allocated(exact_, (at), (bytes), (kind), &by_);                                          \
		} else {                                                                                               \
			MEMORY_ALLOCATED(at, bytes, kind);                                                             \
		}                                                                                                      \
	} while (0)

REST void *small_failed(size_t bytes)
{
	memory_uncount(bytes);
	return NULL;
}

/* Of a domain whose small blocks lie in arenas; nobody in front of it has counted. */
static inline void free_small(const struct python_allocator *allocator, void *at)
{
	struct memory_thread *self = memory_self;
	if (__builtin_expect(self && at && self->mode == MEMORY_EXACT && self->record, 1)) {
		exact_freed(self, at);
	} else if (at) {
		if (self)
			self->freeing = NULL;
		memory_free(at);
	}
	if (self)
		self->freeing = at;
	allocator->free(allocator->context, at);
}

static inline void free_behind(const struct python_allocator *allocator, void *at)
{
	struct memory_thread *self = memory_self;
	if (small_most[OBJECT] && self && self->freeing == at) {
		allocator->free(allocator->context, at); /* malloc's wrapper is yet to know it */
		return;
	}
	if (at)
		memory_free(at);
	if (small_most[OBJECT] && self) {
		self->freeing = at;
		allocator->free(allocator->context, at);
		self->freeing = NULL;
		return;
	}
	struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);
	allocator->free(allocator->context, at);
	memory_without(self, outer);
}

/* ---- arenas */

static void *arena_alloc(void *unused, size_t bytes)
{
	(void)unused;
	struct memory_thread *self = memory_self;
	if (atomic_load_explicit(&memory.python_waits, memory_order_relaxed))
		domain_hook_late();
	struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);
	void *at = behind_arenas.alloc(behind_arenas.context, bytes);
	memory_without(self, outer);
	return at;
}

/* Whatever a thread frees meanwhile stays. */
static void forget_freed(uintptr_t start, size_t bytes)
{
	for (struct memory_thread *state = atomic_load(&memory.threads); state; state = state->next) {
		const void *freed = __atomic_load_n(&state->freeing, __ATOMIC_RELAXED);
		if ((uintptr_t)freed - start < bytes)
			__atomic_compare_exchange_n(&state->freeing, &freed, NULL, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	}
}

static void arena_free(void *unused, void *at, size_t bytes)
{
	(void)unused;
	struct memory_thread *self = memory_self;
	forget_freed((uintptr_t)at, bytes);
	struct memory_outer outer = memory_within(self, WIRE_MAP_ARENA);
	behind_arenas.free(behind_arenas.context, at, bytes);
	memory_without(self, outer);
}

/* ---- realloc */

enum memory_taken domain_replace_begin(struct memory_thread *self, const void *at, struct memory_block *old)
{
	int saved = errno;
	enum memory_taken taken = self && at ? memory_take(self, at, old) : MEMORY_NOT_TAKEN;
	errno = saved;
	return taken;
}

void domain_replace_end(struct memory_thread *self, const void *at, enum memory_taken taken,
			const struct memory_block *old, const void *to)
{
	int saved = errno;
	if (!to)
		memory_put_back(self, at, taken, old);
	else if (taken == MEMORY_TAKEN)
		memory_replaced(self, old);
	errno = saved;
}

#define NOTHING(...) ((void)0)
ALLOCATOR(raw, RAW, WIRE_HEAP_PYTHON_RAW, NOTHING, NOTHING)
ALLOCATOR(mem, MEM, WIRE_HEAP_PYTHON_MEM, NOTHING, NOTHING)
ALLOCATOR(object, OBJECT, WIRE_HEAP_PYTHON_OBJECT, NOTHING, NOTHING)
/* The same for who wants to know the types of objects. */
ALLOCATOR(typed, OBJECT, WIRE_HEAP_PYTHON_OBJECT, type_note, type_before_free)

static const struct python_allocator ours[DOMAINS] = {
	{NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
	{NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},
	{NULL, object_malloc, object_calloc, object_realloc, object_free},
};

/* Where every event is recorded, none passes by the short way. */
static const struct python_allocator exact[DOMAINS] = {
	{NULL, raw_malloc_rest, raw_calloc_rest, raw_realloc, raw_free_rest},
	{NULL, mem_malloc_rest, mem_calloc_rest, mem_realloc, mem_free_rest},
	{NULL, object_malloc_rest, object_calloc_rest, object_realloc, object_free_rest},
};

static const struct python_allocator typed = {NULL, typed_malloc, typed_calloc, typed_realloc, typed_free};

static const struct python_allocator *our_allocator(int domain)
{
	if (domain == OBJECT && type_is_wanted())
		return &typed;
	return memory.period_bytes ? &ours[domain] : &exact[domain];
}

/* The interpreter's functions, and the type of types. All but the first two may be missing. */
enum symbol { GET, SET, GET_ARENAS, SET_ARENAS, NAME, TYPE, IS_INITIALIZED, SYMBOLS };

static const char *const symbol_names[SYMBOLS] = {"PyMem_GetAllocator",
						  "PyMem_SetAllocator",
						  "PyObject_GetArenaAllocator",
						  "PyObject_SetArenaAllocator",
						  "_PyMem_GetCurrentAllocatorName",
						  "PyType_Type",
						  "Py_IsInitialized"};

/*
 * Whether the allocator is pymalloc. It says so itself once the interpreter is up. Before, 3.12 cannot be asked: it would wait for a
 * lock that is not made yet. But then nobody has changed anything, and pymalloc is known by its shape: one set of functions for
 * objects and buffers, another for the raw domain, and no context.
 */
static bool is_pymalloc(void *const *symbols, bool is_up)
{
	if (!is_up)
		return behind[MEM].malloc == behind[OBJECT].malloc && behind[MEM].malloc != behind[RAW].malloc &&
		       !behind[MEM].context && !behind[OBJECT].context;
	const char *(*name)(void);
	memcpy(&name, &symbols[NAME], sizeof(name));
	const char *current = name ? name() : NULL;
	return current && strcmp(current, "pymalloc") == 0;
}

/* Whether small blocks lie in arenas, and these are seen. */
static void hook_arenas(void *const *symbols, bool is_up)
{
	static const struct arena_allocator our_arenas = {NULL, arena_alloc, arena_free};
	void (*get)(struct arena_allocator *), (*set)(const struct arena_allocator *);
	if (!symbols[GET_ARENAS] || !symbols[SET_ARENAS] || !is_pymalloc(symbols, is_up))
		return;
	memcpy(&get, &symbols[GET_ARENAS], sizeof(get));
	memcpy(&set, &symbols[SET_ARENAS], sizeof(set));
	get(&behind_arenas);
	if (!behind_arenas.alloc || !behind_arenas.free)
		return;
	set(&our_arenas);
	small_most[MEM] = small_most[OBJECT] = PYTHON_SMALL;
}

/* What the file says of it: a child's, too. */
static void tell(void)
{
	enum wire_domains state = !atomic_load(&is_hooked) ? WIRE_DOMAINS_PASSED
				  : layer_is_whole()       ? WIRE_DOMAINS_SEEN
							   : WIRE_DOMAINS_PASSED;
	atomic_store(&memory.wire->python_domains, state);
}

/* It may yet put its own in their place, as long as it is not up. */
static void expect_layers(void *const *symbols)
{
	struct layer_plan plan = {.behind = behind, .inside = symbols[GET]};
	memcpy(&plan.get, &symbols[GET], sizeof(plan.get));
	memcpy(&plan.set, &symbols[SET], sizeof(plan.set));
	memcpy(&plan.is_initialized, &symbols[IS_INITIALIZED], sizeof(plan.is_initialized));
	for (int domain = RAW; domain < DOMAINS; domain++)
		plan.ours[domain] = our_allocator(domain);
	layer_begin(&plan);
	atomic_store(&memory.python_waits, true);
}

static void hook(void *const *symbols, bool is_up)
{
	void (*get)(int, struct python_allocator *), (*set)(int, const struct python_allocator *);
	if (!symbols[GET] || !symbols[SET] || atomic_exchange(&is_hooked, 1))
		return;
	memcpy(&get, &symbols[GET], sizeof(get));
	memcpy(&set, &symbols[SET], sizeof(set));
	for (int domain = RAW; domain < DOMAINS; domain++) {
		get(domain, &behind[domain]);
		if (!behind[domain].malloc || !behind[domain].free)
			return;
	}
	hook_arenas(symbols, is_up);
	for (int domain = RAW; domain < DOMAINS; domain++)
		set(domain, our_allocator(domain));
	type_found((uintptr_t)symbols[TYPE]);
	tell();
	if (!is_up)
		expect_layers(symbols);
}

void domain_hook(void)
{
	/* Once: in a child of fork the loader's lock may be somebody's who is not there. */
	static bool looked;
	if (layer_version() && !looked) {
		void *symbols[SYMBOLS];
		for (int i = GET; i < SYMBOLS; i++)
			symbols[i] = dlsym(RTLD_DEFAULT, symbol_names[i]);
		hook(symbols, false);
	}
	looked = true;
	if (layer_version() || atomic_load(&is_hooked))
		tell();
}

/* In a handler, maybe: only kept. */
void memory_python_seen(uintptr_t bias, uintptr_t dynamic)
{
	atomic_store(&seen_bias, bias);
	atomic_store(&seen_dynamic, dynamic);
	if (!atomic_load(&is_hooked))
		atomic_store(&memory.python_waits, true);
}

void domain_hook_late(void)
{
	struct elf_object object;
	if (atomic_load(&is_hooked)) {
		if (layer_look())
			atomic_store(&memory.python_waits, false);
		tell();
		return;
	}
	uintptr_t dynamic = atomic_exchange(&seen_dynamic, 0);
	atomic_store(&memory.python_waits, false);
	if (!dynamic || !elf_open(&object, atomic_load(&seen_bias), dynamic))
		return;
	void *symbols[SYMBOLS];
	for (int i = GET; i < SYMBOLS; i++)
		symbols[i] = (void *)elf_find(&object, symbol_names[i]).address; /* NOLINT(performance-no-int-to-ptr) */
	hook(symbols, true);
	tell();
}
