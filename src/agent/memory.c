/*
 * memory.c - when the memory profiler begins and ends, for the process and for each thread; and how its sites grow from turn to turn.
 *
 * A thread's state is kept with its struct agent_thread and goes with it to the next thread. It lies in memory that a child finds
 * zeroed, whatever made the child: zero is "off" there, and a child of fork begins anew in memory_open.
 */
#include "agent/memory.h"
#include "agent/sys.h"

#include <string.h>
enum {
	COURSE_FIRST_NS = 1000000,
	CALL_UNIT = 256,
	OWN_MOST = 512,
	CHUNKS_FIRST = 32,
	CHUNK_REST = 19, /* times what looking at the sites took, until it is done again: a twentieth of the time */
};

MEMORY_EXPORT int64_t pitot_agent_heap(void);
MEMORY_EXPORT int64_t pitot_agent_snapshot(void);
MEMORY_EXPORT int64_t pitot_agent_chunk(void);

struct memory_state memory;
__thread struct memory_thread *memory_self __attribute__((tls_model("initial-exec")));
static struct memory_thread nobody;
__thread struct memory_thread *memory_near __attribute__((tls_model("initial-exec"))) = &nobody;

/* What memory_map gave, as far as there is room: to know it again in /proc. */
static struct {
	_Atomic uintptr_t start, end;
} own[OWN_MOST];

static struct {
	_Atomic uint32_t count;
	atomic_flag turning;
	_Atomic uint64_t chunk_due_ns;
} states = {.turning = ATOMIC_FLAG_INIT};

void *memory_reserve(size_t bytes)
{
	void *at = sys_map_private(bytes);
	if (!at)
		return NULL;
	syscall(SYS_madvise, at, bytes, MADV_DONTFORK);
	for (unsigned i = 0; i < OWN_MOST; i++) {
		uintptr_t none = 0;
		if (atomic_compare_exchange_strong(&own[i].start, &none, (uintptr_t)at)) {
			atomic_store(&own[i].end, (uintptr_t)at + bytes);
			break;
		}
	}
	return at;
}

void *memory_map(size_t bytes)
{
	void *at = memory_reserve(bytes);
	if (at && memory.wire)
		atomic_fetch_add(&memory.wire->own_bytes, bytes);
	return at;
}

bool memory_is_own(uintptr_t at)
{
	for (unsigned i = 0; i < OWN_MOST; i++) {
		uintptr_t start = atomic_load_explicit(&own[i].start, memory_order_relaxed);
		if (start && at >= start && at < atomic_load_explicit(&own[i].end, memory_order_relaxed))
			return true;
	}
	return false;
}

void memory_unreserve(void *at, size_t bytes)
{
	for (unsigned i = 0; i < OWN_MOST; i++)
		if (atomic_load_explicit(&own[i].start, memory_order_relaxed) == (uintptr_t)at) {
			atomic_store(&own[i].end, 0);
			atomic_store(&own[i].start, 0);
			break;
		}
	sys_unmap(at, bytes);
}

void memory_unmap(void *at, size_t bytes)
{
	memory_unreserve(at, bytes);
	if (memory.wire)
		atomic_fetch_sub(&memory.wire->own_bytes, bytes);
}

static struct memory_thread *map_state(void)
{
	struct memory_thread *state = sys_map_private(sizeof(*state));
	if (!state || syscall(SYS_madvise, state, sizeof(*state), MADV_WIPEONFORK) == 0)
		return state;
	sys_unmap(state, sizeof(*state));
	return NULL;
}

static void enroll(struct memory_thread *state)
{
	state->number = atomic_fetch_add(&states.count, 1) + 1;
	state->stack = stack_new();
	state->next = atomic_load(&memory.threads);
	while (!atomic_compare_exchange_weak(&memory.threads, &state->next, state))
		;
}

/* Two threads of one seed must not draw the same. */
static void seed_state(struct memory_thread *state)
{
	uint64_t seed = memory.wire->seed + state->number * 0x9E3779B97F4A7C15ULL;
	state->random = draw_next(&seed);
	state->gap = memory.period_bytes ? (uint64_t)draw_gap(&state->random, memory.period_bytes) : 0;
	state->countdown = state->gap;
}

static void begin_orphans(void)
{
	static struct memory_thread *kept;
	if (!kept)
		kept = map_state();
	if (!kept)
		return;
	enroll(kept);
	seed_state(kept);
	kept->mode = memory.mode;
	memory_orphan_set(kept);
}

static void describe(struct wire_memory *wire, const struct agent_plan *plan)
{
	wire->period_bytes = plan->memory_period;
	wire->seed = plan->memory_seed ? plan->memory_seed : agent_mono_ns() ^ (uint64_t)sys_getpid() << 40;
	wire->call_unit = plan->memory_period ? CALL_UNIT : 1;
	wire->peak_slack_bytes = 0;
	wire->course_start_ns = agent_mono_ns();
	atomic_store(&wire->course_step_ns, COURSE_FIRST_NS);
	malloc_describe(wire);
}

void memory_open(struct agent_thread *thread)
{
	const struct agent_plan *plan = agent_asked();
	memory.wire = NULL;
	memory.mode = MEMORY_OFF;
	atomic_store(&memory.threads, NULL);
	atomic_store(&memory.slack, 0);
	atomic_flag_clear(&states.turning);
	atomic_store(&states.chunk_due_ns, 0);
	memset(own, 0, sizeof(own)); /* a child has none of it */
	range_forget();
	site_restart();
	if (!plan->memory || malloc_is_watched())
		return;
	struct wire_memory *wire = file_record(thread, WIRE_MEMORY, sizeof(*wire));
	if (!wire) {
		file_stop("no memory for the memory profiler");
		return;
	}
	tick_init();
	describe(wire, plan);
	if (!block_begin(wire->allocator_kind == WIRE_ALLOCATOR_LIBC && !layer_is_narrow()))
		return;
	malloc_keep_pool();
	file_publish(thread);
	memory.period_bytes = plan->memory_period;
	memory.mode = plan->memory_period ? MEMORY_SAMPLED : MEMORY_EXACT;
	memory.blind = node_add(thread, 0, WIRE_NODE_MARK, 0, WIRE_MARK_BUSY);
	memory.wire = wire;
	begin_orphans();
	type_begin(thread, plan->memory_types);
	domain_hook();
}

void memory_thread_begin(struct agent_thread *thread, void *routine)
{
	if (!memory.wire)
		return;
	struct memory_thread *state = thread->memory ? thread->memory : map_state();
	if (!state)
		return;
	thread->memory = state;
	if (!state->number)
		enroll(state);
	if (state->routine != routine || !state->thread)
		site_forget(state);
	if (state->stack)
		stack_forget(state->stack);
	if (thread_count() > 1 && !atomic_load(&memory.slack))
		memory_set_slack(atomic_load(&memory.wire->peak_bytes));
	seed_state(state);
	state->routine = routine;
	state->thread = thread;
	state->record = thread->record;
	state->last = state->freeing = NULL;
	state->inside = 0;
	state->told_calls = state->calls;
	state->told_frees = state->frees;
	state->mode = memory.mode;
	memory_self = memory_near = state;
}

static void tell_all(struct memory_thread *state)
{
	int64_t untold = state->untold;
	state->untold = 0;
	atomic_fetch_add(&memory.wire->live_bytes, untold);
}

void memory_thread_end(struct agent_thread *thread)
{
	struct memory_thread *state = thread->memory;
	if (!state || memory_self != state)
		return;
	memory_self = NULL;
	memory_near = &nobody;
	memory_count(state);
	state->mode = MEMORY_OFF;
	state->countdown = 0;
	if (memory.wire)
		tell_all(state);
}

void memory_end(void)
{
	struct memory_thread *self = memory_self;
	if (!memory.wire || !self || self->mode == MEMORY_OFF)
		return;
	tell_all(self);
	if (atomic_load(&memory.python_waits))
		domain_hook_late();
	for (struct memory_thread *state = atomic_load(&memory.threads); state; state = state->next)
		if (state->mode == MEMORY_SAMPLED)
			memory_count(state);
	resident_take(self, WIRE_RESIDENT_END);
}

/* ---- turns: snapshots and ends of chunks */

/* Calls `visit` for every site that was written. */
static void each_site(void (*visit)(struct wire_site *site, enum wire_turn turn, double x), enum wire_turn turn,
		      double x)
{
	const struct wire_header *header = file_header();
	uint32_t pages = atomic_load(&header->pages_ready), used = atomic_load(&header->pages_used);
	for (uint32_t page = 1; page < pages && page < used;) {
		struct wire_chunk *chunk = (struct wire_chunk *)((char *)header + (size_t)page * WIRE_PAGE);
		if (chunk->kind == WIRE_SITES) {
			struct wire_site *site = (struct wire_site *)((char *)(chunk + 1) + WIRE_SITES_FROM);
			uint32_t count = (atomic_load(&chunk->used) - WIRE_SITES_FROM) / sizeof(*site);
			for (uint32_t i = 0; i < count; i++)
				visit(&site[i], turn, x);
		}
		page += chunk->kind && chunk->pages ? chunk->pages : 1;
	}
}

static void start_with_own(struct wire_site *site, enum wire_turn turn, double x)
{
	(void)x;
	if (!site->principal)
		site->growth[turn].last_y = (double)site->live_bytes;
}

static void add_mirrors(struct wire_site *site, enum wire_turn turn, double x)
{
	(void)x;
	struct wire_site *principal = site->principal ? file_at(site->principal) : NULL;
	if (principal)
		principal->growth[turn].last_y += (double)site->live_bytes;
}

static void add_to_sums(struct wire_site *site, enum wire_turn turn, double x)
{
	struct wire_growth *growth = &site->growth[turn];
	if (site->principal)
		return;
	growth->sum_y += growth->last_y;
	growth->sum_xy += x * growth->last_y;
	growth->sum_yy += growth->last_y * growth->last_y;
}

static void add_point(enum wire_turn turn, double x)
{
	struct wire_turns *turns = &memory.wire->turns[turn];
	each_site(start_with_own, turn, x);
	each_site(add_mirrors, turn, x);
	each_site(add_to_sums, turn, x);
	turns->sum_x += x;
	turns->sum_xx += x * x;
	atomic_fetch_add(&turns->points, 1);
}

/* The first chunks are all looked at, so that a short program has its points; then one pays for the time until the next. */
static void add_chunk(double x)
{
	uint64_t begin = agent_mono_ns();
	if (atomic_load(&memory.wire->turns[WIRE_TURN_CHUNK].points) >= CHUNKS_FIRST &&
	    begin < atomic_load(&states.chunk_due_ns))
		return;
	add_point(WIRE_TURN_CHUNK, x);
	uint64_t end = agent_mono_ns();
	atomic_store(&states.chunk_due_ns, end + (end - begin) * CHUNK_REST);
}

static int64_t take_turn(enum wire_turn turn)
{
	struct memory_thread *self = memory_self;
	if (!memory.wire || !self || self->mode == MEMORY_OFF || !agent_enter_here())
		return -1;
	double x = (double)atomic_fetch_add(&memory.wire->turns[turn].count, 1);
	if (!atomic_flag_test_and_set(&states.turning)) {
		tell_all(self);
		if (turn == WIRE_TURN_CHUNK) {
			add_chunk(x);
		} else {
			add_point(turn, x);
			resident_take(self, WIRE_RESIDENT_SNAPSHOT);
		}
		atomic_flag_clear(&states.turning);
	}
	gate_leave();
	return pitot_agent_heap();
}

int64_t pitot_agent_heap(void)
{
	struct memory_thread *self = memory_self;
	if (!memory.wire || !agent_is_on() || (self && self->mode == MEMORY_OFF))
		return -1;
	return atomic_load(&memory.wire->live_bytes) + (self ? self->untold : 0);
}

int64_t pitot_agent_snapshot(void)
{
	return take_turn(WIRE_TURN_SNAPSHOT);
}

int64_t pitot_agent_chunk(void)
{
	return take_turn(WIRE_TURN_CHUNK);
}
