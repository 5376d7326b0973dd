/*
 * memory.h - what the files of the memory profiler know of each other. They are part of libpitot-agent-memory.so only: without
 * --memory no allocation passes through the agent.
 *
 *	memory.c            begin, threads, fork, end, turns (snapshots, chunks)
 *	memory_event.c      an allocation or a free becomes counts: sites, peak, course; memory_exact.c the same where all are recorded
 *	memory_count.h      the counts
 *	memory_site.c       (stack, kind) -> site of the calling thread
 *	memory_block.h      address -> site and size, of all threads; memory_kept.c the same of sampled blocks
 *	memory_stack.c      the stack of the caller, for the most part the one before
 *	memory_python.c     the same for Python frames; memory_line.c their lines; memory_memo.c calls that come again
 *	memory_draw.c       how far it is to the next sample, and what it stands for
 *	memory_tick.c       what time it is, in few cycles
 *	memory_range.c      maps: ranges of addresses, which can be unmapped in parts
 *	memory_resident.c   what kernel and allocators say of the process
 *	interpose_malloc.c  malloc and its relatives, C++'s operators; interpose_map.c mmap and its relatives
 *	memory_domain.c     CPython's allocators; memory_layer.c where those are put back; memory_type.c objects by type, where asked for
 *
 * Hooks run in any thread at any time but inside our own handler. State is of two kinds: the calling thread's own (struct
 * memory_thread), and tables that all threads change without locks. Only maps, which cost a system call anyway, have a lock; it is
 * never waited for where the same thread holds it.
 *
 * A child that shares nothing but a copy of our memory (raw clone) has no wire file mapped. What leads there lies in memory that
 * such a child finds zeroed (MADV_WIPEONFORK), and zero means: off.
 */
#ifndef PITOT_AGENT_MEMORY_H
#define PITOT_AGENT_MEMORY_H

#include "agent/core.h"

/* OFF is 0: what a child finds. WITHIN: an outer allocator of this thread's is at work, which counts itself. */
enum memory_mode { MEMORY_OFF, MEMORY_SAMPLED, MEMORY_EXACT, MEMORY_WITHIN };

struct memory_stack;

/* A call that is being looked at: made in the wrapper itself, by MEMORY_CALLER. */
struct memory_caller {
	uintptr_t ip, sp, fp;
};

struct memory_thread {
	/* Bytes to the next sample: a block of fewer is none. 0: it is another mode than MEMORY_SAMPLED, and nothing is decided here. */
	uint64_t countdown;
	uint32_t mode;   /* enum memory_mode */
	uint32_t number; /* of this state, from 1: what sites have as their writer */
	/* Of this state so far. The record has them since the last sample, or free of one. */
	uint64_t calls, frees; /* frees: sampled mode only */
	/* Counted as freed, and on its way from an outer allocator to an inner one, which is not to count it again. NULL: none. */
	const void *freeing;
	const void *last;    /* what was recorded last; temporary if it is freed ... */
	uint64_t last_calls; /* ... while there are that many calls */
	struct wire_thread *record;
	uint64_t told_calls, told_frees;
	volatile uintptr_t inside;   /* where on the stack the hook is that is at work; 0: none */
	struct agent_thread *thread; /* NULL: of the threads without one */
	int64_t untold;              /* live bytes that the process's total does not have yet */
	int64_t small_bytes;         /* live, of Python's small blocks */
	struct wire_moment *course;  /* the step of the course where its last event was, if course_step is not 0 */
	uint64_t course_from, course_step;
	uint64_t now_ns;                        /* exact mode: the clock as it was read last, ... */
	uint32_t now_left, now_events, now_run; /* ... and for how many events that is good (memory_exact.c) */
	uint64_t random;
	uint64_t gap; /* what countdown was when the thread's bytes were last counted */
	/* Of an operator new at work: a block of about that size that malloc is asked for is its. ip 0: none. */
	struct memory_caller new_caller;
	size_t new_bytes, new_spare;
	uint64_t new_calls;  /* that there were before */
	uint8_t within_kind; /* what maps made meanwhile are */
	struct site_slot {
		uint64_t key;
		struct wire_site *site;
	} * sites;
	uint32_t site_mask, site_count;
	uint64_t last_key; /* of the site that was found last; 0: none */
	struct wire_site *last_site;
	struct wire_chunk *chunk;
	void *routine; /* begun by which: the sites are kept for the next one alike */
	struct memory_stack *stack;
	struct memory_thread *next;
};

/* Of the process. */
struct memory_state {
	struct wire_memory *wire; /* in the wire file; NULL: memory is not profiled */
	uint64_t period_bytes;    /* 0: exact */
	uint32_t mode;
	_Atomic int64_t slack;     /* bytes that a thread may keep to itself: 0 while there is one thread */
	_Atomic bool python_waits; /* an interpreter was found whose allocators are not hooked, or may lose our hooks */
	_Atomic uint32_t codes_freed; /* Python code objects that were freed, of those that block_watch was told of */
	wire_id blind;                /* node of allocations whose stack cannot be looked at */
	struct memory_thread *_Atomic threads;
};
extern struct memory_state memory;
extern __thread struct memory_thread *memory_self __attribute__((tls_model("initial-exec")));
/* The same, but never NULL: a state that is off stands for none. What the short ways below read. */
extern __thread struct memory_thread *memory_near __attribute__((tls_model("initial-exec")));

#define MEMORY_CALLER()                                                                                                \
	{                                                                                                              \
		(uintptr_t) __builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),                             \
			*(const uintptr_t *)__builtin_frame_address(0)                                                 \
	}

/* memory_event.c. `at` is not NULL. For what is not decided by the few instructions in the wrappers. */
void memory_allocated(struct memory_thread *self, const void *at, size_t bytes, unsigned kind,
		      const struct memory_caller *caller);
void memory_freed(struct memory_thread *self, const void *at);
/* realloc: the old block is taken out before, and put back where the call failed. */
struct memory_block {
	struct wire_site *site;
	uint64_t born, bytes; /* born: as block_born says */
};
enum memory_taken { MEMORY_NOT_TAKEN, MEMORY_UNKNOWN, MEMORY_TAKEN };
enum memory_taken memory_take(struct memory_thread *self, const void *at, struct memory_block *out);
void memory_replaced(struct memory_thread *self, const struct memory_block *old);
void memory_put_back(struct memory_thread *self, const void *at, enum memory_taken taken,
		     const struct memory_block *old);
/* The same for maps, which are always recorded; `bytes` negative: unmapped. The site to keep for that, 0: none. */
wire_id memory_mapped(struct memory_thread *self, int64_t bytes, unsigned kind, const struct memory_caller *caller);
void memory_unmapped(struct memory_thread *self, wire_id site, uint64_t bytes);
void memory_set_slack(int64_t peak); /* there is more than one thread */
bool memory_enter(struct memory_thread *self, uintptr_t here);
void memory_leave(struct memory_thread *self);
struct memory_thread *memory_orphan(void); /* for a thread without a state: locked; NULL: not now */
void memory_orphan_done(void);
void memory_orphan_set(struct memory_thread *state);
void memory_count(struct memory_thread *self); /* what the wrappers counted, into the record */

/* memory_exact.c: the same, in exact mode, of a thread that has a record. */
void exact_allocated(struct memory_thread *self, const void *at, size_t bytes, unsigned kind,
		     const struct memory_caller *caller);
void exact_freed(struct memory_thread *self, const void *at);

/* memory_site.c. NULL: no room. */
enum {
	SITE_OUTER_FRAMES = 20
}; /* that a stack has when there are too many; `outer`: the node of that many, 0: not known */
struct wire_site *site_find(struct memory_thread *self, wire_id node, unsigned kind, wire_id outer);
struct wire_site *site_mirror(struct memory_thread *self, struct wire_site *principal);
void site_forget(struct memory_thread *self);
void site_restart(void); /* of a file */

/* memory_block.c. False: no room, or not there. */
bool block_add(const void *at, const struct memory_block *block);
bool block_take(const void *at, struct memory_block *out);
bool block_peek(const void *at, struct memory_block *out);
bool block_watch(const void *at); /* its taking will be counted in memory.codes_freed; false: it is not there */
/* memory_kept.c: the same, where only sampled blocks are known. */
void kept_begin(void);
bool kept_add(const void *at, const struct memory_block *block);
bool kept_take(const void *at, struct memory_block *out);
bool kept_peek(const void *at, struct memory_block *out);
bool block_begin(bool is_wide); /* of a file; blocks begin at multiples of 16, as libc's do, and not of 8 */
bool block_enter_site(struct wire_site *site); /* whose blocks are to be known */
/* Sampled mode: how many blocks there may be at addresses like this one; 255 stays. NULL is always one of them, so that whoever asks
 * here need not ask for that. */
enum { BLOCK_FILTER = 1 << 13 };
extern uint8_t block_filter[BLOCK_FILTER];
void block_filter_keep(const void *at); /* for ever: its free has to be looked at */
static inline unsigned block_filter_place(const void *at)
{
	return (uint32_t)((uintptr_t)at >> 4) * 0x9E3779B1U >> 19;
}

/* memory_stack.c. */
struct memory_stack *stack_new(void);
void stack_forget(struct memory_stack *stack); /* what was seen so far is of another thread, or of another file */
wire_id stack_node(struct memory_thread *self, const struct memory_caller *caller);
/* The site of that stack; NULL: no room. */
struct wire_site *stack_site(struct memory_thread *self, const struct memory_caller *caller, unsigned kind);

/* memory_draw.c */
uint64_t draw_next(uint64_t *random);
int64_t draw_gap(uint64_t *random, uint64_t period);
/* Probability that a block of `bytes` is sampled. */
double draw_probability(uint64_t bytes, uint64_t period);

/* memory_tick.c: CLOCK_MONOTONIC, within a microsecond or so. */
void tick_init(void);
uint64_t tick_ns(void);

/* memory_resident.c */
void resident_take(struct memory_thread *self, enum wire_resident_cause cause);
bool resident_is_due(int64_t live_bytes, uint64_t now); /* claimed by the caller where true */
extern _Atomic int64_t resident_due_bytes;              /* below it is not */
static inline bool resident_may_be_due(int64_t live_bytes)
{
	return live_bytes >= atomic_load_explicit(&resident_due_bytes, memory_order_relaxed);
}

/* memory_domain.c */
void domain_hook(void);      /* where the interpreter is there already */
void domain_hook_late(void); /* where it was loaded since, or has put its own allocators back */
bool layer_is_narrow(void);  /* its small blocks begin at multiples of 8; memory_layer.c */

/* memory_type.c: --memory-types. Without it none of this is called but the first. */
void type_begin(struct agent_thread *thread, bool is_wanted); /* of a file */
bool type_is_wanted(void);
void type_found(uintptr_t type_type); /* PyType_Type of the interpreter; 0: not found */
void type_begins_at(size_t offset);   /* objects do so, in their blocks; 0 otherwise */
/* A block of the object domain that may have been recorded; and one that is going to be freed. The caller holds CPython's lock. */
void type_note(const void *at);
void type_look(struct memory_thread *self);
extern _Atomic int64_t type_due_bytes; /* live bytes from which on it is time for another look */

static inline void type_before_free(void)
{
	struct memory_thread *self = memory_self;
	if (self && self->mode && memory.wire &&
	    __builtin_expect(atomic_load_explicit(&memory.wire->live_bytes, memory_order_relaxed) >=
				     atomic_load_explicit(&type_due_bytes, memory_order_relaxed),
			     0))
		type_look(self);
}

/* memory_range.c */
void range_add(struct memory_thread *self, uintptr_t start, size_t bytes, unsigned kind,
	       const struct memory_caller *caller);
unsigned range_kind(uintptr_t at); /* 0: not known */
void range_remove(struct memory_thread *self, uintptr_t start, size_t bytes);
void range_forget(void);

/* interpose_malloc.c: whose malloc it is. */
void malloc_describe(struct wire_memory *wire);
void malloc_keep_pool(void);  /* what came from the pool is not freed unseen */
bool malloc_is_watched(void); /* by a sanitizer */
/* For wrappers of other allocators: what was allocated or is going to be freed. `self` may be NULL. */
void malloc_note(struct memory_thread *self, const void *at, size_t bytes, unsigned kind,
		 const struct memory_caller *caller);
void malloc_note_free(struct memory_thread *self, const void *at);
bool malloc_is_of(uintptr_t ip); /* the object whose malloc is used */

/* ---- what the wrappers do themselves, most of the time: two counts */

/* An allocation of which nothing but the totals is kept. False: it is to be looked at. */
static inline bool memory_passes(size_t bytes)
{
	struct memory_thread *self = memory_near;
	if (__builtin_expect(bytes >= self->countdown, 0))
		return false;
	self->countdown -= bytes;
	self->calls++;
	return true;
}

/* One that passed, and failed. */
static inline void memory_uncount(size_t bytes)
{
	struct memory_thread *self = memory_near;
	/* Zeroed meanwhile, in a child. */
	if (self->mode != MEMORY_SAMPLED)
		return;
	self->countdown += bytes;
	self->calls--;
}

/* In a wrapper, whose caller it is about. */
#define MEMORY_ALLOCATED(at, bytes, kind)                                                                              \
	do {                                                                                                           \
		struct memory_thread *self_ = memory_self;                                                             \
		if (!memory_passes(bytes) && (self_ || memory.wire)) {                                                 \
			struct memory_caller caller_ = MEMORY_CALLER();                                                \
			malloc_note(self_, (at), (bytes), (kind), &caller_);                                           \
		}                                                                                                      \
	} while (0)

/* A free of which nothing but the count is kept. Before the real call: from then on the address may be another thread's. */
static inline bool memory_free_passes(const void *at)
{
	struct memory_thread *self = memory_near;
	if (__builtin_expect(
		    self->mode != MEMORY_SAMPLED || block_filter[block_filter_place(at)] || at == self->freeing, 0))
		return false;
	self->frees++;
	return true;
}

/* Whether an outer allocator has counted it already. */
static inline bool memory_is_freeing(struct memory_thread *self, const void *at)
{
	if (!self || self->freeing != at)
		return false;
	self->freeing = NULL;
	return true;
}

static inline void memory_free(const void *at)
{
	struct memory_thread *self = memory_self;
	if (!memory_free_passes(at) && !memory_is_freeing(self, at) && (self || memory.wire))
		malloc_note_free(self, at);
}

/* What the calling thread asks of other allocators from here on is not counted; maps are of `kind`. What to end it with. */
struct memory_outer {
	uint64_t countdown;
	uint32_t mode;
};

static inline struct memory_outer memory_within(struct memory_thread *self, unsigned kind)
{
	if (!self || !self->mode)
		return (struct memory_outer){0, MEMORY_OFF};
	struct memory_outer outer = {self->countdown, self->mode};
	self->within_kind = (uint8_t)kind;
	self->freeing = NULL; /* the address may come back */
	self->countdown = 0;
	self->mode = MEMORY_WITHIN;
	return outer;
}

static inline void memory_without(struct memory_thread *self, struct memory_outer outer)
{
	/* Zeroed meanwhile, in a child: off it stays. */
	if (!self || !self->mode)
		return;
	self->countdown = outer.countdown;
	self->mode = outer.mode;
}

#define MEMORY_EXPORT __attribute__((visibility("default"), used))

/* Memory of the agent's own that children do not get; NULL: none. */
void *memory_map(size_t bytes);
void memory_unmap(void *at, size_t bytes);
/* The same for addresses of which little is going to be used. */
void *memory_reserve(size_t bytes);
void memory_unreserve(void *at, size_t bytes);
bool memory_is_own(uintptr_t at);

#endif
