/*
 * unwind.c - a thread's native stack, walked inside a signal handler by the rules of .eh_frame.
 *
 * Per frame: the rule of its address (from the cache, else parsed by cfi.c), the CFA, the return address and the
 * registers that the frame saved. Code without a rule (hand-written assembler, generated code) gets one from bare.c or from its
 * frame pointer.
 *
 * The cache has sets of two entries. An entry is three words of rule and a check word made of the address, the epoch of
 * the loaded objects and the rule: threads write entries without locks, and a reader that meets a half-written one finds that the
 * check does not fit and parses the rule itself. Nothing is ever invalidated: another epoch is another key.
 *
 * Only its beginning is used at first: each page that is touched is a fault of the program's. When as many rules were entered as it
 * has sets, twice as much is used from then on; what was entered before is moved when it is found.
 *
 * Interrupted instructions are seldom the same ones twice, and finding a rule in tables of megabytes is the costliest thing
 * here. A rule that holds for a whole block of addresses is entered for the block too.
 *
 * The cache is large, and a program that works for a millisecond between two samples pushes it out of the processor's. But most
 * of a stack is that of the sample before: its rules are kept in order of the frames, and only where a frame is another is the
 * cache asked.
 *
 * Reads of the thread's own stack are direct, from the page of the stack pointer up. All other stacks (alternate signal stacks,
 * coroutines) are copied by the kernel, a window at a time: another thread may unmap them at any moment.
 */
#include "agent/bare.h"
#include "agent/module.h"

#include <stdatomic.h>
#include <string.h>

enum {
	BITS_FIRST = 9,
	BITS_LAST = 13,
	SETS = 1 << BITS_LAST,
	WAYS = 2,
	RULE_WORDS = 3,
	PAGE = 4096,
	ADDRESS_BITS = 47
};

struct slot {
	_Atomic uint64_t check, words[RULE_WORDS];
};

/* A set is one line of the processor's cache. */
static _Alignas(64) struct slot cache[SETS][WAYS];
static _Atomic unsigned cache_bits = BITS_FIRST, cache_added;

struct walk {
	struct agent_thread *thread;
	uintptr_t ip;
	bool exact;
	uint32_t known; /* bit i: registers[i] is that of this frame */
	uintptr_t registers[ARCH_REGISTERS];
	uintptr_t low, span; /* own stack: words at low ... low + span - 1 are read directly */
	uintptr_t window;    /* where thread->window was copied from */
	size_t window_bytes;
	uint64_t second;                       /* of the clock, plus 1; 0: not asked yet */
	const struct rule_memo *old, *old_end; /* of the stack before: those further out than where we are */
	struct rule_memo *fresh;
	unsigned fresh_count;
};

/* ---- the cache */

static uint64_t rule_key(uintptr_t pc, uint32_t epoch)
{
	return (uint64_t)pc ^ (uint64_t)epoch * 0x9E3779B97F4A7C15ULL;
}

static uint64_t rule_check(uint64_t key, const uint64_t words[RULE_WORDS])
{
	uint64_t mixed =
		words[0] * 0xD6E8FEB86659FD93ULL ^ words[1] * 0xA0761D6478BD642FULL ^ words[2] * 0xE7037ED1A0B428DBULL;
	return key ^ mixed ^ mixed >> 29;
}

static struct slot *rule_set(uint64_t key, unsigned bits)
{
	return cache[key * 0x9E3779B97F4A7C15ULL >> (64 - bits)];
}

static bool slot_read(struct slot *slot, uint64_t key, uint64_t words[RULE_WORDS])
{
	uint64_t check = atomic_load_explicit(&slot->check, memory_order_relaxed);
	for (unsigned i = 0; i < RULE_WORDS; i++)
		words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
	return check == rule_check(key, words);
}

static bool set_find(struct slot *set, uint64_t key, struct cfi_rule *rule)
{
	uint64_t words[RULE_WORDS];
	if (!slot_read(&set[0], key, words) && !slot_read(&set[1], key, words))
		return false;
	memcpy(rule, words, sizeof *rule);
	return true;
}

/* The newest goes first; what was there becomes second. */
static void set_add(struct slot *set, uint64_t key, const struct cfi_rule *rule)
{
	uint64_t words[RULE_WORDS];
	atomic_store_explicit(&set[1].check, atomic_load_explicit(&set[0].check, memory_order_relaxed),
			      memory_order_relaxed);
	for (unsigned i = 0; i < RULE_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&set[0].words[i], memory_order_relaxed);
		atomic_store_explicit(&set[1].words[i], word, memory_order_relaxed);
	}
	memcpy(words, rule, sizeof words);
	atomic_store_explicit(&set[0].check, rule_check(key, words), memory_order_relaxed);
	for (unsigned i = 0; i < RULE_WORDS; i++)
		atomic_store_explicit(&set[0].words[i], words[i], memory_order_relaxed);
}

static void cache_add(uint64_t key, const struct cfi_rule *rule)
{
	unsigned bits = atomic_load_explicit(&cache_bits, memory_order_relaxed);
	unsigned added = atomic_load_explicit(&cache_added, memory_order_relaxed) + 1;
	/* What is counted twice or not at all, by two threads at once, only makes it grow a little sooner or later. */
	bool grows = added > 1u << bits && bits < BITS_LAST;
	atomic_store_explicit(&cache_added, grows ? 0 : added, memory_order_relaxed);
	if (grows)
		atomic_compare_exchange_strong(&cache_bits, &(unsigned){bits}, bits + 1);
	set_add(rule_set(key, bits + grows), key, rule);
}

static bool cache_find(uint64_t key, struct cfi_rule *rule)
{
	unsigned bits = atomic_load_explicit(&cache_bits, memory_order_relaxed);
	if (set_find(rule_set(key, bits), key, rule))
		return true;
	if (bits == BITS_FIRST || !set_find(rule_set(key, bits - 1), key, rule))
		return false;
	cache_add(key, rule);
	return true;
}

/* Blocks of addresses share the cache with single ones. Their sizes, and what makes their keys others than addresses'. */
static const struct block {
	uintptr_t bytes;
	uint64_t salt;
} blocks[] = {{64, 0x8CB92BA72F3D8DD7ULL}, {512, 0xABCC5167CCAD925FULL}};

enum { BLOCKS = sizeof blocks / sizeof blocks[0] };

static uint64_t block_key(const struct block *block, uintptr_t pc)
{
	return rule_key(pc & ~(block->bytes - 1), module_epoch()) ^ block->salt;
}

static bool block_find(uintptr_t pc, struct cfi_rule *rule)
{
	for (unsigned i = BLOCKS; i-- > 0;)
		if (cache_find(block_key(&blocks[i], pc), rule))
			return true;
	return false;
}

static void block_add(uintptr_t pc, const struct cfi_range *range, const struct cfi_rule *rule)
{
	for (unsigned i = BLOCKS; i-- > 0;) {
		uintptr_t start = pc & ~(blocks[i].bytes - 1);
		if (start < range->start || range->end - start < blocks[i].bytes)
			continue;
		cache_add(block_key(&blocks[i], pc), rule);
		return;
	}
}

/* ---- the stack before */

_Static_assert(sizeof(struct cfi_rule) == sizeof(((struct rule_memo *)NULL)->rule), "a rule fits");

static void memo_begin(struct walk *walk)
{
	struct agent_thread *thread = walk->thread;
	const struct rule_memo *old = thread->rules[thread->rules_turn];
	walk->old = old;
	walk->old_end = thread->rules_epoch == module_epoch() ? old + thread->rules_count : old;
	walk->fresh = thread->rules[!thread->rules_turn];
	/* The return addresses lie where they lay, and waiting for one after the other is most of what a cold stack costs. */
	for (const struct rule_memo *memo = old; memo < walk->old_end; memo++)
		__builtin_prefetch((const void *)(memo->sp - sizeof(uintptr_t)));
}

static void memo_end(struct walk *walk)
{
	struct agent_thread *thread = walk->thread;
	thread->rules_turn = !thread->rules_turn;
	thread->rules_count = walk->fresh_count;
	thread->rules_epoch = module_epoch();
}

static bool memo_find(struct walk *walk, uintptr_t pc, struct cfi_rule *rule)
{
	uintptr_t sp = walk->registers[ARCH_SP];
	while (walk->old < walk->old_end && walk->old->sp < sp)
		walk->old++;
	if (walk->old == walk->old_end || walk->old->sp != sp || walk->old->pc != pc)
		return false;
	memcpy(rule, walk->old->rule, sizeof *rule);
	return true;
}

static void memo_add(struct walk *walk, uintptr_t pc, const struct cfi_rule *rule)
{
	if (walk->fresh_count == WIRE_STACK_MAX)
		return;
	struct rule_memo *memo = &walk->fresh[walk->fresh_count++];
	memo->pc = pc;
	memo->sp = walk->registers[ARCH_SP];
	memcpy(memo->rule, rule, sizeof *rule);
}

/* ---- memory */

/* After every change of stacks. The page of the stack pointer is there: what was popped a moment ago lies in it too. */
static void choose_stack(struct walk *walk)
{
	uintptr_t sp = walk->registers[ARCH_SP], low = walk->thread->stack_low, high = walk->thread->stack_high;
	walk->low = walk->span = 0;
	if (sp < low || sp >= high || high - sp < sizeof(uintptr_t))
		return;
	uintptr_t page = sp & ~(uintptr_t)(PAGE - 1);
	walk->low = page > low ? page : low;
	walk->span = high - walk->low - (sizeof(uintptr_t) - 1);
}

static bool read_foreign(struct walk *walk, uintptr_t at, uintptr_t *out)
{
	unsigned char *window = walk->thread->window;
	if (at < walk->window || at - walk->window > walk->window_bytes ||
	    walk->window_bytes - (at - walk->window) < sizeof *out) {
		size_t bytes = PAGE - at % PAGE;
		if (bytes < sizeof *out)
			bytes = sizeof *out;
		walk->window_bytes = 0;
		if (!guard_copy(window, at, bytes))
			return false;
		walk->window = at;
		walk->window_bytes = bytes;
	}
	memcpy(out, window + (at - walk->window), sizeof *out);
	return true;
}

/* A word of the stack, whatever the program has there: sanitizers mark the gaps between variables as forbidden. */
typedef uintptr_t __attribute__((may_alias, aligned(1))) loose_word;

__attribute__((no_sanitize("address", "thread"))) static inline bool read_word(struct walk *walk, uintptr_t at,
									       uintptr_t *out)
{
	if (__builtin_expect(at - walk->low >= walk->span, 0))
		return read_foreign(walk, at, out);
	*out = *(const loose_word *)at;
	return true;
}

/* ---- what a rule says of a frame */

static bool find_cfa(struct walk *walk, const struct cfi_rule *rule, uintptr_t *cfa)
{
	if (!(walk->known >> rule->cfa_register & 1))
		return false;
	uintptr_t value = walk->registers[rule->cfa_register] + (uintptr_t)(intptr_t)rule->cfa_offset;
	if (rule->flags & CFI_INDEXED) {
		if (!(walk->known >> rule->base_register & 1))
			return false;
		value += walk->registers[rule->base_register] * 8;
	}
	if ((rule->flags & CFI_INDIRECT) && !read_word(walk, value, &value))
		return false;
	*cfa = value + (uintptr_t)(intptr_t)rule->cfa_add;
	/* Stacks grow down, callers lie above; only a signal frame may lead to another stack. A frame pointer may be anything. */
	uintptr_t sp = walk->registers[ARCH_SP];
	if (rule->flags & CFI_SIGNAL)
		return true;
	if ((rule->flags & CFI_POINTER) && (*cfa % 8 != 0 || (walk->span != 0 && *cfa - walk->low > walk->span + 7)))
		return false;
	return *cfa >= sp + ARCH_RETURN_BYTES;
}

static bool find_return(struct walk *walk, const struct cfi_rule *rule, uintptr_t cfa, uintptr_t *out)
{
	if ((rule->flags & CFI_RA_REGISTER) || rule->ra == CFI_SAME) {
		unsigned number = rule->ra == CFI_SAME ? ARCH_RA : (unsigned)rule->ra;
		if (rule->ra == CFI_SAME && ARCH_RETURN_BYTES != 0)
			return false;
		*out = walk->registers[number];
		return walk->known >> number & 1;
	}
	if (rule->ra == CFI_LOST)
		return false;
	uintptr_t base = rule->based >> ARCH_SAVED & 1 ? walk->registers[rule->base_register] : cfa;
	return read_word(walk, base + (uintptr_t)((intptr_t)rule->ra * 8), out);
}

static bool restore_saved(struct walk *walk, const struct cfi_rule *rule, uintptr_t cfa)
{
	/* Taken first: it may be one of those that change. */
	uintptr_t base = walk->registers[rule->base_register];
	uint32_t kept = 1U << ARCH_SP;
#pragma GCC unroll 6
	for (unsigned i = 0; i < ARCH_SAVED; i++) {
		unsigned number = arch_saved[i];
		kept |= 1U << number;
		if (rule->saved[i] == CFI_SAME)
			continue;
		walk->known &= ~(1U << number);
		if (rule->saved[i] == CFI_LOST)
			continue;
		uintptr_t at = (rule->based >> i & 1 ? base : cfa) + (uintptr_t)((intptr_t)rule->saved[i] * 8);
		if (!read_word(walk, at, &walk->registers[number]))
			return false;
		walk->known |= 1U << number;
	}
	walk->known &= kept;
	return true;
}

/* ---- which rule */

enum { LOOK_AHEAD_MOST = 16384, GENERATED_BYTES = 64, GENERATED_MOST = 12, SPREAD_MOST = 64 };

/* Whether the rule leads to an address behind a call. Asked once per address: the answer is kept with the rule. */
static bool leads_to_a_call(struct walk *walk, const struct cfi_rule *rule)
{
	uintptr_t cfa, ip;
	uint8_t before[7];
	return find_cfa(walk, rule, &cfa) && find_return(walk, rule, cfa, &ip) &&
	       guard_copy(before, ip - sizeof before, sizeof before) && bare_is_call(before, sizeof before);
}

/* Code of an object that has no rule for it. Of the guesses, the one that leads to a call is right. */
static void guess_rule(struct walk *walk, const struct bare_code *code, struct cfi_rule *rule)
{
	struct cfi_rule ahead;
	if (walk->exact && bare_entry(code, walk->ip, rule) && leads_to_a_call(walk, rule))
		return;
	cfi_frame_pointer(rule);
	if (!bare_look_ahead(code, walk->ip, LOOK_AHEAD_MOST, &ahead))
		return;
	if (!leads_to_a_call(walk, &ahead) && leads_to_a_call(walk, rule))
		return;
	*rule = ahead;
	if (!walk->exact)
		return;
	/* The next samples are in the same loop: the instructions after this one share its rule. */
	uintptr_t at = walk->ip;
	for (unsigned i = 0; i < SPREAD_MOST && bare_shares_next(code, &at, rule); i++)
		cache_add(rule_key(at, module_epoch()), rule);
}

/* Generated code keeps frame pointers, but for its first two instructions and for trampolines (CPython's for perf). */
static void guess_generated(struct walk *walk, struct cfi_rule *rule)
{
	uint8_t bytes[GENERATED_BYTES];
	/* One byte before, to see what was just done; but not from the page before. */
	struct bare_code code = {bytes, walk->ip - (walk->ip % PAGE != 0), sizeof bytes};
	struct cfi_rule other;
	cfi_frame_pointer(rule);
	if (!guard_copy(bytes, code.start, sizeof bytes))
		return;
	if ((walk->exact && bare_entry(&code, walk->ip, &other)) ||
	    bare_look_ahead(&code, walk->ip, GENERATED_MOST, &other))
		if (leads_to_a_call(walk, &other))
			*rule = other;
}

/* Generated code comes and goes without a word: what was found of it is believed for a second at most. */
static uint64_t generated_key(struct walk *walk, uintptr_t pc)
{
	if (walk->second == 0)
		walk->second = now_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u + 1;
	return rule_key(pc, module_epoch()) ^ walk->second * 0xC2B2AE3D27D4EB4FULL;
}

/* The rule of code that belongs to no object. */
static void find_generated(struct walk *walk, uintptr_t pc, struct cfi_rule *rule)
{
	uint64_t key = generated_key(walk, pc);
	if (cache_find(key, rule))
		return;
	guess_generated(walk, rule);
	cache_add(key, rule);
}

/* By the tables of the object that holds the address. What the code itself says of a frame that is half taken down goes before
 * them, so a block is only asked after it. */
static void find_in_object(struct walk *walk, const struct module_view *view, uintptr_t pc, struct cfi_rule *rule)
{
	struct bare_code code = {(const uint8_t *)view->code, view->code, view->code_end - view->code};
	struct cfi_range range;
	if ((walk->exact && bare_return(&code, pc, rule)) || block_find(pc, rule))
		return;
	if (cfi_find(&view->tables, pc, rule, &range) == CFI_FOUND)
		block_add(pc, &range, rule);
	else
		guess_rule(walk, &code, rule);
}

static void find_rule(struct walk *walk, struct cfi_rule *rule)
{
	struct module_view view;
	uintptr_t pc = walk->ip - !walk->exact;
	uint64_t key = rule_key(pc, module_epoch());
	if (!memo_find(walk, pc, rule) && !cache_find(key, rule)) {
		walk->window_bytes = 0;
		if (!module_find(walk->thread, pc, &view)) {
			find_generated(walk, pc, rule);
			return;
		}
		find_in_object(walk, &view, pc, rule);
		cache_add(key, rule);
	}
	memo_add(walk, pc, rule);
}

bool unwind_rule(struct agent_thread *thread, uintptr_t pc, struct cfi_rule *rule)
{
	struct module_view view;
	struct cfi_range range;
	uint64_t key = rule_key(pc, module_epoch());
	if (cache_find(key, rule))
		return true;
	if (!module_find(thread, pc, &view) || cfi_find(&view.tables, pc, rule, &range) != CFI_FOUND)
		return false;
	cache_add(key, rule);
	return true;
}

/* ---- one step */

enum step { STEP_ON, STEP_ROOT, STEP_LOST };

/* From a frame to its caller; *cfa is that of the frame that is left. */
static enum step step_out(struct walk *walk, uintptr_t *cfa)
{
	struct cfi_rule rule;
	uintptr_t ip;
	find_rule(walk, &rule);
	if (rule.flags & CFI_ROOT)
		return STEP_ROOT;
	/* The ABI: the outermost frame's pointer is 0. */
	if ((rule.flags & CFI_POINTER) && (walk->known >> ARCH_FP & 1) && walk->registers[ARCH_FP] == 0)
		return STEP_ROOT;
	uintptr_t found;
	if (!find_cfa(walk, &rule, &found) || (rule.based != 0 && !(walk->known >> rule.base_register & 1)))
		return STEP_LOST;
	*cfa = found;
	if (!find_return(walk, &rule, found, &ip) || !restore_saved(walk, &rule, found))
		return STEP_LOST;
	walk->ip = arch_code_address(ip);
	walk->exact = rule.flags & CFI_SIGNAL;
	walk->registers[ARCH_SP] = found;
	if (walk->ip == 0)
		return STEP_ROOT;
	if (walk->ip < PAGE || walk->ip >> ADDRESS_BITS != 0)
		return STEP_LOST;
	if (rule.flags & CFI_SIGNAL)
		choose_stack(walk);
	return STEP_ON;
}

static void start_at(struct walk *walk, const ucontext_t *context)
{
	walk->ip = arch_ip(context);
	walk->exact = true;
	walk->known = UINT32_MAX;
	arch_load(context, walk->registers);
}

__attribute__((noinline)) unsigned unwind_walk(struct agent_thread *thread, const ucontext_t *context,
					       enum unwind_end *end)
{
	struct walk walk = {.thread = thread, .exact = true};
	enum step step = STEP_ON;
	uintptr_t cfa;
	unsigned count = 0;
	memo_begin(&walk);
	if (context != NULL) {
		start_at(&walk, context);
		choose_stack(&walk);
	} else {
		arch_here(walk.registers);
		walk.ip = walk.registers[ARCH_RA];
		for (unsigned i = 0; i < ARCH_SAVED; i++)
			walk.known |= 1U << arch_saved[i];
		walk.known |= 1U << ARCH_SP;
		choose_stack(&walk);
		step = step_out(&walk, &cfa);
	}
	while (step == STEP_ON && count < WIRE_STACK_MAX) {
		struct native_frame *frame = &thread->native[count++];
		frame->ip = walk.ip;
		frame->sp = frame->cfa = walk.registers[ARCH_SP];
		frame->exact = walk.exact;
		step = step_out(&walk, &frame->cfa);
	}
	memo_end(&walk);
	*end = step == STEP_ROOT ? UNWIND_ROOT : UNWIND_TRUNCATED;
	return count;
}
