/*
 * memory_type.c - CPython's objects by type, near the peak: --memory-types.
 *
 * A block has no type yet when it is allocated, so blocks of the object domain are only noted then: those that were sampled, and in
 * exact mode a sample of all. Their types are read at a look, when live bytes are higher than ever by a 64th: after an allocation
 * that was noted, or before an object is freed, which is when a peak is about to pass. Looks take at most a fiftieth of the time, unless
 * live bytes have grown by an eighth: so the last one is at 8/9 of the peak or more, and all that were made in haste have taken no more
 * than some nine times as long as the last.
 *
 * A free does nothing to the list: a block that is not in the table of blocks any more, or as another one, is dropped when
 * the list is full, and skipped until then. Where it stays full, every block stays with the probability that it would have
 * been sampled with at twice the period.
 *
 * CPython's object domain is used by who holds its lock, so nobody frees an object during a look, unless there are several
 * interpreters with locks of their own. Memory is therefore copied by the kernel (guard.c): a race gives one block a wrong name.
 *
 *	block   | dict, weak references | GC head | object: count, type, … |
 *	                3.11 and later, 16    16        from 3.8 on; 24 in 3.7, 32 before
 *
 * The object begins at the offset at which there is a pointer to a type whose flags agree: with a GC head or without. A type
 * is what has `type`, or a subclass of that, as its own type. No function of the interpreter is called.
 */
#include "agent/memory.h"
#include "agent/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum {
	NOTES = 1 << 16,
	ACCOUNTS = 1 << 10,
	ACCOUNTS_FULL = ACCOUNTS / 4 * 3,
	EXACT_PERIOD = 64 << 10,
	FIRST_BYTES = 1 << 20,
	GROWTH_SHIFT = 6,
	HASTE_SHIFT = 3,
	COST_PART = 50,
	LEAST_NS = 10000000,
	/* of a type, in words */
	TYPE_TYPE = 1,
	TYPE_NAME = 3,
	TYPE_FLAGS = 21,
	TYPE_WORDS = 22,
	HEAD_WORDS = 6
};
static const uint64_t flag_ready = 1ULL << 12, flag_gc = 1ULL << 14, flag_is_type = 1ULL << 31;

struct note {
	const void *at;
	struct memory_block block;
};

struct account {
	uintptr_t type; /* 0: none */
	bool has_gc;
	struct wire_type sum;
};

/* What a look needs, and the list; no child's. */
struct work {
	struct note notes[NOTES];
	struct account accounts[ACCOUNTS];
	struct account other, unknown;
};

static struct {
	struct wire_types *record; /* NULL: not wanted */
	struct work *work;
	uint32_t count, account_count, looks;
	uint64_t period, random;
	int64_t gap; /* exact mode: bytes to the next note */
	uintptr_t type_type;
	size_t offset; /* of what Python thinks is the block, in ours */
	uint64_t due_ns;
	int64_t seen_bytes; /* live at the last look */
	atomic_flag lock;
} types = {.lock = ATOMIC_FLAG_INIT};

_Atomic int64_t type_due_bytes = INT64_MAX;

bool type_is_wanted(void)
{
	return types.record != NULL;
}

void type_begin(struct agent_thread *thread, bool is_wanted)
{
	types.record = NULL;
	atomic_flag_clear(&types.lock);
	atomic_store(&type_due_bytes, INT64_MAX);
	if (!is_wanted)
		return;
	struct work *work = memory_map(sizeof(*work));
	struct wire_types *record = work ? file_record(thread, WIRE_TYPES, sizeof(*record)) : NULL;
	if (!record)
		return;
	file_publish(thread);
	types.work = work;
	types.count = types.looks = 0;
	types.due_ns = 0;
	types.seen_bytes = 0;
	types.period = memory.period_bytes ? memory.period_bytes : EXACT_PERIOD;
	types.random = memory.wire->seed ^ 0xD1B54A32D192ED03ULL;
	types.gap = draw_gap(&types.random, types.period);
	types.record = record;
	if (types.type_type) /* the parent's */
		type_found(types.type_type);
}

void type_found(uintptr_t type_type)
{
	uintptr_t head[TYPE_WORDS];
	if (!types.record)
		return;
	/* Where a program has a copy of its own, the type's type is that. */
	types.type_type = guard_copy(head, type_type, sizeof(head)) ? head[TYPE_TYPE] : 0;
	char name[5];
	bool is_known = types.type_type && guard_copy(head, types.type_type, sizeof(head)) &&
			head[TYPE_TYPE] == types.type_type && guard_copy(name, head[TYPE_NAME], sizeof(name)) &&
			memcmp(name, "type", sizeof(name)) == 0;
	atomic_store(&types.record->state, is_known ? WIRE_TYPES_READY : WIRE_TYPES_ODD);
	atomic_store(&type_due_bytes, is_known ? FIRST_BYTES : INT64_MAX);
}

void type_begins_at(size_t offset)
{
	types.offset = offset;
}

/* ---- the list */

static bool is_live(const struct note *note)
{
	struct memory_block now;
	return block_peek(note->at, &now) && now.born == note->block.born && now.site == note->block.site &&
	       now.bytes == note->block.bytes;
}

static double chance(uint64_t *random)
{
	return (double)(draw_next(random) >> 11) * 0x1p-53;
}

/* Drops what is gone; and a part of the rest where that is not enough. */
static void make_room(void)
{
	struct note *notes = types.work->notes;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < types.count; i++)
		if (is_live(&notes[i]))
			notes[kept++] = notes[i];
	types.count = kept;
	if (kept < NOTES / 4 * 3)
		return;
	kept = 0;
	for (uint32_t i = 0; i < types.count; i++) {
		uint64_t bytes = notes[i].block.bytes;
		double stays = draw_probability(bytes, 2 * types.period) / draw_probability(bytes, types.period);
		if (chance(&types.random) < stays)
			notes[kept++] = notes[i];
	}
	types.count = kept;
	types.period *= 2;
}

static bool is_chosen(uint64_t bytes)
{
	if (memory.period_bytes == types.period || !bytes)
		return bytes > 0;
	if (memory.period_bytes)
		return chance(&types.random) * draw_probability(bytes, memory.period_bytes) <
		       draw_probability(bytes, types.period);
	types.gap -= (int64_t)bytes;
	if (types.gap > 0)
		return false;
	types.gap = draw_gap(&types.random, types.period);
	return true;
}

static void add_note(const void *at)
{
	struct note note = {.at = at};
	if (!block_peek(at, &note.block) || !is_chosen(note.block.bytes))
		return;
	if (types.count == NOTES)
		make_room();
	if (types.count < NOTES)
		types.work->notes[types.count++] = note;
}

void type_note(const void *at)
{
	struct memory_thread *self = memory_self;
	if (!self || self->last != at || (self->mode != MEMORY_EXACT && self->mode != MEMORY_SAMPLED) || !types.record)
		return;
	if (!memory_enter(self, (uintptr_t)__builtin_frame_address(0)))
		return;
	if (!atomic_flag_test_and_set_explicit(&types.lock, memory_order_acquire)) {
		add_note(at);
		atomic_flag_clear_explicit(&types.lock, memory_order_release);
	}
	memory_leave(self);
	type_before_free();
}

/* ---- a look */

/* What a type is called, as far as there is room; false: nothing that can be shown. */
static bool read_name(uintptr_t from, char *name)
{
	for (size_t i = 0; i + 1 < WIRE_TYPE_NAME; i += 8) {
		size_t bytes = WIRE_TYPE_NAME - i < 8 ? WIRE_TYPE_NAME - i : 8;
		if (!guard_copy(name + i, from + i, bytes))
			return false;
		const char *end = memchr(name + i, '\0', bytes);
		if (end) {
			memset(name + (end - name), 0, (size_t)(name + WIRE_TYPE_NAME - end));
			break;
		}
	}
	name[WIRE_TYPE_NAME - 1] = '\0';
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7F)
			return false;
	return name[0] != '\0';
}

static bool is_type(const uintptr_t *head)
{
	uintptr_t meta[TYPE_WORDS];
	if (!(head[TYPE_FLAGS] & flag_ready))
		return false;
	if (head[TYPE_TYPE] == types.type_type)
		return true;
	return guard_copy(meta, head[TYPE_TYPE], sizeof(meta)) && meta[TYPE_TYPE] == types.type_type &&
	       meta[TYPE_FLAGS] & flag_is_type;
}

/* The account of what may be a type; NULL: it is none. */
static struct account *account_at(uintptr_t type)
{
	struct work *work = types.work;
	uintptr_t head[TYPE_WORDS];
	if (type < WIRE_PAGE || type >> 47 || type % sizeof(uintptr_t))
		return NULL;
	uint32_t slot = (uint32_t)(type >> 4) * 0x9E3779B1U % ACCOUNTS;
	for (; work->accounts[slot].type; slot = (slot + 1) % ACCOUNTS)
		if (work->accounts[slot].type == type)
			return &work->accounts[slot];
	if (!guard_copy(head, type, sizeof(head)) || !is_type(head))
		return NULL;
	struct account *account = types.account_count < ACCOUNTS_FULL ? &work->accounts[slot] : &work->other;
	account->has_gc = (head[TYPE_FLAGS] & flag_gc) != 0;
	if (account == &work->other)
		return account;
	if (!read_name(head[TYPE_NAME], account->sum.name))
		return NULL;
	account->type = type;
	types.account_count++;
	return account;
}

/* Of a block that begins with that, or with zeros where it could not be read. */
static struct account *account_of(const uintptr_t *head)
{
	static const uint8_t objects_at[] = {0, 2, 3, 4}; /* in words */
	for (unsigned i = 0; i < sizeof(objects_at); i++) {
		struct account *account = account_at(head[objects_at[i] + TYPE_TYPE]);
		if (account && account->has_gc == (objects_at[i] > 0))
			return account;
	}
	return &types.work->unknown;
}

static void add_block(struct account *account, uint64_t bytes)
{
	double p = draw_probability(bytes, types.period), share = (double)bytes / p;
	account->sum.bytes += (uint64_t)(share + 0.5);
	account->sum.calls += (uint64_t)(1 / p + 0.5);
	account->sum.variance += (1 - p) * share * share;
	account->sum.samples++;
}

/* Some notes: reads their blocks together, and adds them to the accounts. */
static void add_batch(const struct note *const *notes, unsigned count)
{
	uintptr_t heads[GUARD_MANY][HEAD_WORDS] = {{0}};
	struct iovec to[GUARD_MANY] = {{0}}, from[GUARD_MANY] = {{0}};
	for (unsigned i = 0; i < count; i++) {
		size_t bytes = notes[i]->block.bytes < sizeof(heads[i]) ? notes[i]->block.bytes : sizeof(heads[i]);
		to[i] = (struct iovec){heads[i], bytes & ~(size_t)7};
		from[i] = (struct iovec){(char *)notes[i]->at + types.offset, bytes & ~(size_t)7};
	}
	guard_copy_many(to, from, count);
	for (unsigned i = 0; i < count; i++)
		add_block(account_of(heads[i]), notes[i]->block.bytes);
}

static void add_notes(void)
{
	const struct note *batch[GUARD_MANY];
	unsigned count = 0;
	for (uint32_t i = 0; i < types.count; i++) {
		if (is_live(&types.work->notes[i]))
			batch[count++] = &types.work->notes[i];
		if (count == GUARD_MANY) {
			add_batch(batch, count);
			count = 0;
		}
	}
	add_batch(batch, count);
}

static void merge(struct wire_type *into, const struct wire_type *from)
{
	into->bytes += from->bytes;
	into->calls += from->calls;
	into->variance += from->variance;
	into->samples += from->samples;
}

/* The largest first, as far as there is room beside the two that are no types. */
static void fill_table(struct wire_type_table *table)
{
	struct work *work = types.work;
	table->count = 0;
	while (table->count < WIRE_TYPE_MOST - 2) {
		struct account *best = NULL;
		for (uint32_t i = 0; i < ACCOUNTS; i++)
			if (work->accounts[i].sum.samples && (!best || work->accounts[i].sum.bytes > best->sum.bytes))
				best = &work->accounts[i];
		if (!best)
			break;
		best->sum.kind = WIRE_TYPE_NAMED;
		table->types[table->count++] = best->sum;
		best->sum.samples = 0;
	}
	for (uint32_t i = 0; i < ACCOUNTS; i++)
		if (work->accounts[i].sum.samples)
			merge(&work->other.sum, &work->accounts[i].sum);
	work->other.sum.kind = WIRE_TYPE_OTHER;
	work->unknown.sum.kind = WIRE_TYPE_UNKNOWN;
	if (work->other.sum.samples)
		table->types[table->count++] = work->other.sum;
	if (work->unknown.sum.samples)
		table->types[table->count++] = work->unknown.sum;
}

static void look(int64_t live_bytes, uint64_t now)
{
	struct work *work = types.work;
	uint32_t next = atomic_load(&types.record->current) == 1 ? 1 : 0;
	struct wire_type_table *table = &types.record->tables[next];
	memset(work->accounts, 0, sizeof(work->accounts));
	work->other = work->unknown = (struct account){0};
	types.account_count = 0;
	add_notes();
	fill_table(table);
	table->mono_ns = now;
	table->live_bytes = live_bytes;
	table->period_bytes = types.period;
	table->looks = ++types.looks;
	uint64_t end = tick_ns(), cost = end > now ? end - now : 0;
	table->cost_ns = cost;
	atomic_store(&types.record->current, next + 1);
	types.seen_bytes = live_bytes;
	types.due_ns = end + (cost * COST_PART > LEAST_NS ? cost * COST_PART : LEAST_NS);
	atomic_store(&type_due_bytes, live_bytes + (live_bytes >> GROWTH_SHIFT) + 1);
}

static bool is_due(uint64_t now)
{
	int64_t seen = __atomic_load_n(&types.seen_bytes, __ATOMIC_RELAXED);
	return now >= __atomic_load_n(&types.due_ns, __ATOMIC_RELAXED) ||
	       atomic_load_explicit(&memory.wire->live_bytes, memory_order_relaxed) >= seen + (seen >> HASTE_SHIFT);
}

void type_look(struct memory_thread *self)
{
	uint64_t now = tick_ns();
	int saved = errno;
	if ((self->mode != MEMORY_EXACT && self->mode != MEMORY_SAMPLED) || !types.record || !is_due(now))
		return;
	if (!memory_enter(self, (uintptr_t)__builtin_frame_address(0)))
		return;
	if (agent_enter()) {
		if (!atomic_flag_test_and_set_explicit(&types.lock, memory_order_acquire)) {
			look(atomic_load(&memory.wire->live_bytes), now);
			atomic_flag_clear_explicit(&types.lock, memory_order_release);
		}
		gate_leave();
	}
	memory_leave(self);
	errno = saved;
}
