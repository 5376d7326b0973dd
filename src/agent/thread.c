/*
 * thread.c - one struct agent_thread per thread of the program, from its first instruction to its last.
 *
 * They are large, so they come from mmap, touched where needed, and are handed from a thread that ended to the next that
 * begins: ten thousand short threads share a few. With one go the chunks of records and nodes that it was filling; samples
 * are a thread's own. Free ones form a stack (compare-and-swap on the address, with a count in the bits that an address does
 * not use, so that a stack that looks the same is the same). All there are form a list that only grows.
 *
 * A thread's end is the last round of destructors of its thread-specific data: ours asks for another round until there is
 * none. It comes with return, pthread_exit and cancellation alike. A thread that never ends takes its end from the process's.
 */
#include "agent/core.h"
#include "agent/sys.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { STACK_UNLIMITED = 1 << 30 };

struct thread_slot {
	struct agent_thread thread;
	struct thread_slot *next_free, *next_made;
	_Atomic int tid; /* 0: free */
	unsigned endings;
	struct thread_start start;
};

static struct thread_slot *_Atomic made;
static _Atomic uint64_t free_top;
static _Atomic unsigned count;
static pthread_key_t end_key;
static __thread struct agent_thread *self __attribute__((tls_model("initial-exec")));

#define FREE_COUNT   0xfffu
#define FREE_ADDRESS (~(uint64_t)FREE_COUNT)

struct agent_thread *thread_self(void)
{
	return self;
}

unsigned thread_count(void)
{
	return atomic_load(&count);
}

static struct thread_slot *slot_of(uint64_t top)
{
	return (struct thread_slot *)(uintptr_t)(top & FREE_ADDRESS); /* NOLINT(performance-no-int-to-ptr) */
}

static void push_free(struct thread_slot *slot)
{
	uint64_t top = atomic_load(&free_top);
	do
		slot->next_free = slot_of(top);
	while (!atomic_compare_exchange_weak(&free_top, &top, (uintptr_t)slot | ((top + 1) & FREE_COUNT)));
}

static struct thread_slot *pop_free(void)
{
	uint64_t top = atomic_load(&free_top);
	struct thread_slot *slot;
	do {
		slot = slot_of(top);
		if (!slot)
			return NULL;
	} while (!atomic_compare_exchange_weak(&free_top, &top, (uintptr_t)slot->next_free | ((top + 1) & FREE_COUNT)));
	return slot;
}

static struct thread_slot *make_slot(void)
{
	struct thread_slot *slot = sys_map_private(sizeof(*slot));
	if (!slot)
		return NULL;
	slot->next_made = atomic_load(&made);
	while (!atomic_compare_exchange_weak(&made, &slot->next_made, slot))
		;
	return slot;
}

struct thread_slot *thread_reserve(const struct thread_start *start)
{
	struct thread_slot *slot = pop_free();
	if (!slot)
		slot = make_slot();
	if (slot)
		slot->start = *start;
	return slot;
}

void thread_release(struct thread_slot *slot)
{
	push_free(slot);
}

void thread_name(struct agent_thread *thread)
{
	char name[16] = "";
	syscall(SYS_prctl, PR_GET_NAME, name);
	memcpy(thread->record->name, name, sizeof(name));
}

static bool write_record(struct thread_slot *slot, bool is_main)
{
	struct agent_thread *thread = &slot->thread;
	thread->samples = NULL;
	thread->last_depth = 0;
	thread->memo_count = 0; /* its ids are another file's */
	thread->rest_until_ns = thread->spent_ns = 0;
	thread->seen_mono_ns = 0;
	thread->record_id = 0;
	struct wire_thread *record = file_record(thread, WIRE_THREAD, sizeof(*record));
	thread->record = record;
	if (!record)
		return false;
	record->tid = sys_gettid();
	record->is_main = is_main;
	record->start_mono_ns = agent_mono_ns();
	record->start_routine = is_main ? 0 : (uintptr_t)slot->start.routine;
	record->creator = is_main ? 0 : slot->start.creator;
	/* What a new thread used until here, making all this, is its first sample's. */
	thread->cpu_last_ns = is_main ? sys_thread_cpu_ns() : 0;
	atomic_store(&record->cpu_start_ns, thread->cpu_last_ns);
	atomic_store(&record->cpu_last_ns, thread->cpu_last_ns);
	thread_name(thread);
	thread->record_id = file_id(record);
	file_publish(thread);
	return true;
}

/* The calling thread's record and clock. False: it goes on without. */
static bool begin(struct thread_slot *slot, bool is_main)
{
	struct agent_thread *thread = &slot->thread;
	thread->busy = 1;
	slot->endings = 0;
	if (!write_record(slot, is_main) || (!is_main && pthread_setspecific(end_key, slot) != 0)) {
		atomic_fetch_add(&file_header()->threads_missed, 1);
		return false;
	}
	atomic_store(&slot->tid, thread->record->tid);
	atomic_fetch_add(&count, 1);
	if (is_main)
		sample_prepare(thread);
	if (is_main && memory_open)
		memory_open(thread);
	self = thread;
	if (memory_thread_begin)
		memory_thread_begin(thread, is_main ? NULL : (void *)(uintptr_t)slot->start.routine);
	if (agent_period_ns() && !agent_yielded() && !clock_start(thread))
		atomic_fetch_add(&file_header()->threads_missed, 1);
	thread->busy = 0;
	return true;
}

/* Everything of the calling thread from here on goes unsampled. */
static void end(struct thread_slot *slot)
{
	struct agent_thread *thread = &slot->thread;
	thread->busy = 1;
	sample_hold(true);
	clock_leave(thread);
	thread_name(thread);
	atomic_store(&thread->record->end_mono_ns, agent_mono_ns());
	atomic_store(&thread->record->cpu_end_ns, sys_thread_cpu_ns());
	if (memory_thread_end)
		memory_thread_end(thread);
	self = NULL;
	atomic_store(&slot->tid, 0);
	atomic_fetch_sub(&count, 1);
	push_free(slot);
}

static void end_round(void *value)
{
	struct thread_slot *slot = value;
	if (!agent_enter_here())
		return;
	bool again = self == &slot->thread && ++slot->endings < PTHREAD_DESTRUCTOR_ITERATIONS &&
		     pthread_setspecific(end_key, slot) == 0;
	if (!again && self == &slot->thread)
		end(slot);
	gate_leave();
}

/* libc puts a thread's control block at the upper end of its stack, also of one that the program brought itself. No more than is
 * the stack's counts as its: what lies below may be anything. */
static void find_stack(struct thread_slot *slot)
{
	slot->thread.stack_high = (uintptr_t)pthread_self();
	slot->thread.stack_low = slot->thread.stack_high - slot->start.stack_bytes;
}

static void begin_new(struct thread_slot *slot)
{
	if (!agent_enter()) {
		push_free(slot);
		return;
	}
	if (!begin(slot, false))
		push_free(slot);
	else if (!agent_yielded())
		sample_hold(false);
	gate_leave();
}

void *thread_run(void *value)
{
	struct thread_slot *slot = value;
	/* The slot is another thread's the moment that this one's end is over. */
	struct thread_start start = slot->start;
	interpose_inherit(start.urgent_blocked);
	find_stack(slot);
	begin_new(slot);
	return start.routine(start.argument);
}

/* The main thread's stack ends behind its environment; it may grow down to its limit. */
static void find_main_stack(struct agent_thread *thread)
{
	struct rlimit limit = {0};
	syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
	size_t bytes = limit.rlim_cur < STACK_UNLIMITED ? limit.rlim_cur : STACK_UNLIMITED;
	uintptr_t high = (uintptr_t)__builtin_frame_address(0);
	extern char **environ;
	for (char **variable = environ; variable && *variable; variable++) {
		uintptr_t end_of = (uintptr_t)*variable + strlen(*variable);
		if (end_of > high && end_of - high < (16u << 20))
			high = end_of;
	}
	thread->stack_high = (high + WIRE_PAGE) & ~(uintptr_t)(WIRE_PAGE - 1);
	thread->stack_low = thread->stack_high > bytes ? thread->stack_high - bytes : 0;
}

bool thread_init(void)
{
	return pthread_key_create(&end_key, end_round) == 0;
}

bool thread_begin_main(void)
{
	const struct thread_start none = {0};
	struct thread_slot *slot = thread_reserve(&none);
	if (!slot)
		return false;
	find_main_stack(&slot->thread);
	if (!begin(slot, true)) {
		push_free(slot);
		return false;
	}
	pthread_setspecific(end_key, slot);
	return true;
}

/* The only thread of a child. The others' memory is free; what they were filling was the parent's. */
void thread_forked(void)
{
	struct agent_thread *mine = self;
	struct thread_slot *kept = NULL;
	self = NULL;
	atomic_store(&free_top, 0);
	atomic_store(&count, 0);
	for (struct thread_slot *slot = atomic_load(&made); slot; slot = slot->next_made) {
		slot->thread.nodes = slot->thread.records = slot->thread.samples = NULL;
		slot->thread.record = NULL;
		clock_forget(&slot->thread);
		atomic_store(&slot->tid, 0);
		if (&slot->thread == mine)
			kept = slot;
		else
			push_free(slot);
	}
	if (!file_header())
		return;
	if (!kept)
		thread_begin_main();
	else if (begin(kept, true))
		pthread_setspecific(end_key, kept);
}

/* What the kernel tells of a thread, with an end; its length, or less than 1 where it tells nothing. */
static long read_of(int tid, const char *file, char *text, size_t size)
{
	static const char folder[] = "/proc/self/task/";
	char path[sizeof(folder) + 32];
	memcpy(path, folder, sizeof(folder));
	memcpy(sys_put_number(path + sizeof(folder) - 1, (uint64_t)tid), file, strlen(file) + 1);
	int fd = sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return -1;
	long got = sys_read(fd, text, size - 1);
	sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

static void read_name(struct wire_thread *record)
{
	char name[16] = "";
	long got = read_of(record->tid, "/comm", name, sizeof(name));
	if (got <= 0)
		return;
	if (name[got - 1] == '\n')
		name[got - 1] = '\0';
	memcpy(record->name, name, sizeof(name));
}

/* Threads that still run have their end with the process. */
void thread_end_all(uint64_t now_ns)
{
	for (struct thread_slot *slot = atomic_load(&made); slot; slot = slot->next_made) {
		int tid = atomic_load(&slot->tid);
		struct wire_thread *record = slot->thread.record;
		if (!tid || !record)
			continue;
		uint64_t cpu_ns = sys_clock_ns(sys_clock_of(tid));
		if (!cpu_ns)
			continue;
		atomic_store(&record->cpu_end_ns, cpu_ns);
		atomic_store(&record->end_mono_ns, now_ns);
		if (&slot->thread == self)
			thread_name(self);
		else
			read_name(record);
	}
}

void thread_end_undo(void)
{
	for (struct thread_slot *slot = atomic_load(&made); slot; slot = slot->next_made) {
		struct wire_thread *record = slot->thread.record;
		if (!atomic_load(&slot->tid) || !record)
			continue;
		atomic_store(&record->cpu_end_ns, 0);
		atomic_store(&record->end_mono_ns, 0);
	}
}

void thread_stop_clocks(void)
{
	for (struct thread_slot *slot = atomic_load(&made); slot; slot = slot->next_made)
		if (atomic_load(&slot->tid))
			clock_stop(&slot->thread);
}

static sys_sigset read_mask(int tid)
{
	static const char field[] = "\nSigBlk:\t";
	char text[4096];
	sys_sigset mask = 0;
	if (read_of(tid, "/status", text, sizeof(text)) <= 0)
		return 0;
	const char *at = strstr(text, field);
	for (at = at ? at + sizeof(field) - 1 : ""; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
		mask = mask << 4 | (sys_sigset)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
	return mask;
}

bool thread_any_blocks(void)
{
	for (struct thread_slot *slot = atomic_load(&made); slot; slot = slot->next_made) {
		int tid = atomic_load(&slot->tid);
		if (tid && &slot->thread != self && (read_mask(tid) & sys_sigbit(AGENT_SIGNAL)))
			return true;
	}
	return false;
}
