/*
 * sample.c - the signal handler: what the thread was doing, and how much CPU time that stands for.
 *
 * The weight of a sample is the thread's CPU time since its last one (cpu_time). So the weights add up whatever was late, merged or
 * held back, and a sample that cannot be stored leaves its time to the next. The handler runs with all signals blocked; a
 * signal that comes while the agent is at work in the same thread (a hook), or where there is hardly any stack left, is a
 * sample without a stack.
 *
 * Where perf may not look into the kernel, its samples see a thread only outside of it, and each stands for one period. What
 * is over is time in the kernel, which belongs to the system calls in which the coarse timer's ticks fall. What these leave for
 * long (page faults) goes to the samples of the code around it, little by little.
 *
 * A sample may take longer than its period (a stack thousands deep, at a high rate): then the next signal is there at once, and
 * the program would never get on. After two such samples the thread rests.
 *
 * Most of a stack is that of the sample before: the path of nodes is kept, and only where it differs are nodes looked up.
 */
#include "agent/core.h"
#include "agent/sys.h"

#include <errno.h>
#include <string.h>

enum {
	NOTED = 4096,             /* pages of code whose object has its record: entries of the cache */
	LONG_HANDLER_NS = 100000, /* from here on the thread may have been waiting for a CPU: ask for its CPU time */
	STACK_NEED = 4096,        /* bytes of stack below the handler that a capture may use */
	NAME_EVERY = 1024,        /* samples after which a thread's name is read again */
	ASSUME_MOST = 15,         /* signals in a row whose CPU time is not asked for */
	ASSUME_PART = 64,         /* of a period: what a thread may have waited that is taken for one that has not */
	REST_FACTOR = 20, /* a sample that took much of its period is followed by that many times its length without */
	OWED_MOST_NS = 16000000 /* time in the kernel that may wait for the timer to find its call */
};

static _Atomic uint64_t noted[NOTED];
static uint16_t noted_epoch; /* of the file: raised by fork */
static wire_id busy_node;

static void raise_by(_Atomic uint64_t *counter, uint64_t amount)
{
	/* One writer: no need for a locked instruction. */
	uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
	atomic_store_explicit(counter, before + amount, memory_order_relaxed);
}

static void note_modules(struct agent_thread *thread, unsigned frames)
{
	uint64_t epoch = (uint64_t)module_generation() << 36 | (uint64_t)noted_epoch << 52;
	for (unsigned i = 0; i < frames; i++) {
		uint64_t page = thread->native[i].ip / WIRE_PAGE;
		_Atomic uint64_t *entry = &noted[(page ^ page >> 12) % NOTED];
		if (atomic_load_explicit(entry, memory_order_relaxed) == (page ^ epoch))
			continue;
		if (module_note(thread, thread->native[i].ip))
			atomic_store_explicit(entry, page ^ epoch, memory_order_relaxed);
	}
}

/* A path being followed or laid: `depth` steps of it are done. */
struct trail {
	struct agent_thread *thread;
	unsigned depth;
	bool known; /* so far it is the path of the stack before */
	wire_id node;
};

static bool step(struct trail *trail, uint8_t kind, uint8_t flags, uint64_t value)
{
	struct path_step *at = &trail->thread->path[trail->depth];
	uint32_t generation = kind == WIRE_NODE_NATIVE ? module_generation() : 0;
	uint32_t key = kind | (uint32_t)flags << 8 | generation << 16;
	trail->known = trail->known && trail->depth < trail->thread->last_depth && at->value == value && at->key == key;
	if (trail->known) {
		trail->node = at->node;
	} else {
		trail->node = node_add(trail->thread, trail->node, kind, flags, value);
		*at = (struct path_step){.value = value, .key = key, .node = trail->node};
	}
	if (!trail->node)
		return false;
	trail->depth++;
	return true;
}

static wire_id lay_path(struct agent_thread *thread, unsigned frames, bool truncated)
{
	struct trail trail = {.thread = thread, .known = true};
	bool done = !truncated || step(&trail, WIRE_NODE_MARK, 0, WIRE_MARK_TRUNCATED);
	for (unsigned i = 0; i < frames && done; i++)
		done = step(&trail, thread->merged[i].kind, thread->merged[i].flags, thread->merged[i].value);
	thread->last_depth = trail.depth;
	return done ? trail.node : 0;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Where a hook looks at its own stack, the agent's frames are not the program's. */
static unsigned own_frames(const struct agent_thread *thread, unsigned frames)
{
	unsigned own = 0;
	while (own < frames &&
	       thread->native[own].ip - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start)
		own++;
	return own;
}

void capture_stack(struct agent_thread *thread, const ucontext_t *context, struct capture *out)
{
	enum unwind_end end = UNWIND_ROOT;
	bool unmatched = false;
	*out = (struct capture){0};
	python_memo_begin(thread);
	unsigned native = unwind_walk(thread, context, &end);
	unsigned own = context ? 0 : own_frames(thread, native);
	note_modules(thread, native);
	unsigned python = python_walk(thread, &out->flags, &out->task);
	unsigned frames = python_merge(thread->native + own, native - own, thread->python, python, thread->merged,
				       WIRE_STACK_MAX - 1, &unmatched);
	/* What did not fit was nearest to the root. */
	bool truncated = end == UNWIND_TRUNCATED || python == WIRE_STACK_MAX || frames == WIRE_STACK_MAX - 1;
	if (truncated)
		out->flags |= WIRE_SAMPLE_TRUNCATED;
	if (unmatched)
		out->flags |= WIRE_SAMPLE_UNMATCHED;
	out->node = lay_path(thread, frames, truncated);
}

/* Writes the sample; more than one where the weight is too much for its field. False: no room. */
static bool store(struct agent_thread *thread, const struct capture *capture, uint64_t mono_ns, uint64_t weight_ns)
{
	do {
		uint32_t part_ns = weight_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)weight_ns;
		struct wire_sample *sample = file_sample(thread);
		if (!sample)
			return false;
		*sample = (struct wire_sample){.mono_ns = mono_ns,
					       .node = capture->node,
					       .weight_ns = part_ns,
					       .flags = capture->flags,
					       .task = capture->task};
		file_sample_publish(thread);
		raise_by(&thread->record->weight_ns, part_ns);
		thread->cpu_last_ns += part_ns;
		weight_ns -= part_ns;
	} while (weight_ns);
	return true;
}

static void count_sample(struct agent_thread *thread, uint32_t flags)
{
	struct wire_thread *record = thread->record;
	raise_by(&record->samples, 1);
	if (flags & WIRE_SAMPLE_TRUNCATED)
		raise_by(&record->truncated, 1);
	if (flags & WIRE_SAMPLE_UNMATCHED)
		raise_by(&record->unmatched, 1);
	if (flags & WIRE_SAMPLE_BUSY)
		raise_by(&record->busy, 1);
	uint64_t samples = atomic_load_explicit(&record->samples, memory_order_relaxed);
	if ((samples & (samples - 1)) == 0 || samples % NAME_EVERY == 0)
		thread_name(thread);
}

/* Whether the stack that the handler runs on is large enough to look at another one: the program's signal stack may be small
 * and already in use, and a thread may be at the end of its own. */
static bool has_room(const struct agent_thread *thread, const ucontext_t *context)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), low = (uintptr_t)context->uc_stack.ss_sp;
	if (!(context->uc_stack.ss_flags & SS_DISABLE) && here - low < context->uc_stack.ss_size)
		return here - low >= STACK_NEED;
	if (here - thread->stack_low < thread->stack_high - thread->stack_low)
		return here - thread->stack_low >= STACK_NEED + WIRE_PAGE; /* the lowest page is a guard */
	return true;
}

/* Thread CPU time that no sample stands for yet. */
static uint64_t owed(const struct agent_thread *thread, uint64_t cpu_ns)
{
	return cpu_ns > thread->cpu_last_ns ? cpu_ns - thread->cpu_last_ns : 0;
}

/* What a sample stands for. */
static uint64_t weigh(const struct agent_thread *thread, enum clock_answer answer, uint64_t cpu_ns)
{
	uint64_t weight_ns = owed(thread, cpu_ns), period_ns = thread->pace.period_ns;
	bool sees_all = answer != CLOCK_SAMPLE || !thread->clock_page || !thread->timer_runs;
	if (sees_all || thread->clock_waits)
		return weight_ns;
	/* A period also where a tick has just taken part of it: the next tick takes less then. */
	uint64_t over_ns = weight_ns > period_ns ? weight_ns - period_ns : 0;
	return period_ns + (over_ns > OWED_MOST_NS ? (over_ns - OWED_MOST_NS) / 2 : 0);
}

static void take_sample(struct agent_thread *thread, const ucontext_t *context, uint64_t mono_ns, uint64_t cpu_ns,
			uint64_t weight_ns)
{
	struct capture capture = {.node = busy_node, .flags = WIRE_SAMPLE_BUSY};
	/* What is written at the end has time to come meanwhile. */
	__builtin_prefetch(thread->samples, 1);
	__builtin_prefetch(&thread->record->samples, 1);
	__builtin_prefetch(&thread->record->handler_ns, 1);
	/* The interrupted hook may have a node half written, so that a mark made beforehand has to do. */
	if (!thread->busy && has_room(thread, context)) {
		thread->busy = 1;
		capture_stack(thread, context, &capture);
		if (resume_was_syscall(context))
			capture.flags |= WIRE_SAMPLE_SYSCALL;
		thread->busy = 0;
	}
	if (!capture.node || !store(thread, &capture, mono_ns, weight_ns))
		atomic_fetch_add_explicit(&file_header()->lost_full, 1, memory_order_relaxed);
	else
		count_sample(thread, capture.flags);
	atomic_store_explicit(&thread->record->cpu_last_ns, thread->cpu_last_ns, memory_order_relaxed);
	if (agent_ending()) {
		atomic_store(&thread->record->cpu_end_ns, cpu_ns);
		atomic_store(&file_header()->end_mono_ns, mono_ns);
	}
}

static bool is_due(const struct agent_thread *thread, const ucontext_t *context, enum clock_answer answer,
		   uint64_t cpu_ns)
{
	bool in_kernel =
		answer == CLOCK_MAYBE && resume_was_syscall(context) && owed(thread, cpu_ns) >= agent_period_ns() / 2;
	return (answer == CLOCK_SAMPLE || in_kernel) && cpu_ns >= thread->rest_until_ns;
}

/* One that is slow by itself (the first, which has everything to find; a busy machine) is no reason. */
static void rest_if_slow(struct agent_thread *thread, uint64_t cpu_ns, uint64_t spent_ns)
{
	uint64_t both_ns = spent_ns < thread->spent_ns ? spent_ns : thread->spent_ns;
	if (both_ns > agent_period_ns() / 8)
		thread->rest_until_ns = cpu_ns + both_ns * REST_FACTOR;
	thread->spent_ns = spent_ns;
}

/*
 * The thread's CPU time. To ask the kernel takes as long as a dozen frames. But a thread whose clock has just gone round once, and
 * not much more has gone by on the wall, has hardly waited meanwhile: it used what has gone by. Asking again after a few such
 * signals puts right what little is wrong with that.
 */
static uint64_t cpu_time(struct agent_thread *thread, enum clock_answer answer, uint64_t mono_ns)
{
	uint64_t gone_ns = mono_ns - thread->seen_mono_ns, period_ns = thread->pace.period_ns;
	bool is_round = answer == CLOCK_SAMPLE && thread->clock_page && !thread->timer_runs && !thread->clock_waits;
	thread->seen_mono_ns = mono_ns;
	if (is_round && thread->assumed < ASSUME_MOST && gone_ns <= period_ns + period_ns / ASSUME_PART) {
		thread->assumed++;
		thread->seen_cpu_ns += gone_ns;
	} else {
		thread->assumed = 0;
		thread->seen_cpu_ns = sys_thread_cpu_ns();
	}
	return thread->seen_cpu_ns;
}

/* By a handler that took that long on the wall. */
static uint64_t cpu_spent(const struct agent_thread *thread, uint64_t mono_ns)
{
	uint64_t gone_ns = agent_mono_ns() - mono_ns;
	if (gone_ns <= LONG_HANDLER_NS)
		return gone_ns;
	uint64_t cpu_ns = sys_thread_cpu_ns();
	return cpu_ns > thread->seen_cpu_ns ? cpu_ns - thread->seen_cpu_ns : 0;
}

static void on_clock(struct agent_thread *thread, ucontext_t *context, enum clock_answer answer)
{
	uint64_t start_ns = agent_mono_ns();
	uint64_t cpu_ns = cpu_time(thread, answer, start_ns);
	if (is_due(thread, context, answer, cpu_ns))
		take_sample(thread, context, start_ns, cpu_ns, weigh(thread, answer, cpu_ns));
	if (answer == CLOCK_SAMPLE && (thread->clock_waits || (thread->clock_page && --thread->clock_left == 0)))
		clock_settle(thread);
	uint64_t spent_ns = cpu_spent(thread, start_ns);
	raise_by(&thread->record->handler_ns, spent_ns);
	rest_if_slow(thread, cpu_ns, spent_ns);
	/* Last: from here on the program's handlers may run, and jump. */
	resume_interrupted(context);
}

/* The program has taken the signal for itself: the end of sampling in this thread. */
static void give_way(struct agent_thread *thread, ucontext_t *context)
{
	clock_stop(thread);
	if (interpose_urgent_blocked())
		sigaddset(&context->uc_sigmask, AGENT_SIGNAL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	if (!gate_enter()) {
		gate_leave();
		return;
	}
	int saved = errno;
	struct agent_thread *thread = thread_self();
	enum clock_answer answer = thread ? clock_ask(thread, info) : CLOCK_FOREIGN;
	if (answer != CLOCK_FOREIGN && agent_yielded()) {
		give_way(thread, context);
	} else if (answer != CLOCK_FOREIGN) {
		on_clock(thread, context, answer);
	} else if (clock_is_stale(info)) {
		/* A clock's last word, after its thread or itself was gone. A thread that has another clock loses nothing. */
		if (!thread && agent_is_on())
			atomic_fetch_add_explicit(&file_header()->lost_thread, 1, memory_order_relaxed);
		resume_interrupted(context);
	} else {
		interpose_foreign(number, info, context);
	}
	gate_leave();
	errno = saved;
}

bool sample_hold(bool hold)
{
	sys_sigset ours = sys_sigbit(AGENT_SIGNAL), before = 0;
	sys_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &ours, &before);
	return before & ours;
}

bool sample_install(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	/* Also the signals that libc keeps for itself: cancelling a thread inside the handler has to wait. */
	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	return interpose_install(AGENT_SIGNAL, &action) == 0;
}

void sample_prepare(struct agent_thread *thread)
{
	noted_epoch = (noted_epoch + 1) & 0xfff;
	busy_node = node_add(thread, 0, WIRE_NODE_MARK, 0, WIRE_MARK_BUSY);
}
