/*
 * node.c - the tree of stacks: (parent, frame) -> node, so that a stack is one number and equal ones are stored once.
 *
 *	table (newest) ──▶ older, a quarter of the size ──▶ older …
 *	each slot      tag of the key in the upper half, id of the node in the lower; 0: free
 *
 * The nodes themselves lie in the wire file; a slot only says where, and equality is decided there. Several threads and
 * handlers add at once without locks: a node is written and published first, then its slot is set by compare-and-swap. Who
 * loses takes the winner's node and takes its own back. Slots never change once they are set.
 *
 * When a table is two thirds full a larger one is put before it. To search several costs a wait for memory each, and what is new
 * is in none of them; so with every node that is added some slots of the oldest table are moved into the newest, until that one is
 * alone. A slot's place follows from its tag, so what lay side by side goes side by side. Whoever still adds to a table that is being
 * moved may leave a node behind, which is then added a second time.
 *
 * Tables are bounded, and so are probes: where there is no room the answer is 0.
 */
#include "agent/core.h"
#include "agent/sys.h"

enum {
	BITS_FIRST = 12, /* of the number of slots */
	BITS_MORE = 2,
	BITS_MOST = 22,
	TABLE_PROBES = 48,
	MOVE_SLOTS = 64 /* with each node that is added */
};

struct table {
	struct table *_Atomic older;
	struct table *before; /* the same, even when it has been moved: somebody may be searching there */
	uint32_t bits;
	_Atomic uint32_t taken;
	_Atomic uint32_t claimed, moved; /* slots whose moving has begun, and has been done */
	_Atomic uint64_t slots[];
};

struct key {
	struct wire_node node;
	uint32_t tag;
};

static struct table *_Atomic newest;

static uint32_t table_slots(const struct table *table)
{
	return 1u << table->bits;
}

static size_t table_bytes(uint32_t bits)
{
	return sizeof(struct table) + (sizeof(uint64_t) << bits);
}

static uint32_t most_taken(const struct table *table)
{
	return table_slots(table) / 3 * 2;
}

/* The slot at which the search for a tag is after that many probes. */
static _Atomic uint64_t *slot_at(struct table *table, uint32_t tag, uint32_t probe)
{
	return &table->slots[((tag >> (32 - table->bits)) + probe) & (table_slots(table) - 1)];
}

/* Puts a table four times as large before `before`; the newest one, whoever made it; NULL: no more. */
static struct table *grow(struct table *before)
{
	uint32_t bits = before ? before->bits + BITS_MORE : BITS_FIRST;
	if (bits > BITS_MOST)
		return NULL;
	struct table *table = sys_map_private(table_bytes(bits));
	if (!table)
		return NULL;
	table->before = before;
	atomic_store_explicit(&table->older, before, memory_order_relaxed);
	table->bits = bits;
	struct table *expected = before;
	if (atomic_compare_exchange_strong(&newest, &expected, table))
		return table;
	sys_unmap(table, table_bytes(bits));
	return expected;
}

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15u;
	value ^= value >> 29;
	value *= 0xbf58476d1ce4e5b9u;
	return value ^ value >> 32;
}

static uint64_t hash_of(const struct wire_node *node)
{
	uint64_t head = (uint64_t)node->parent << 32 | (uint64_t)node->generation << 16 | (uint64_t)node->kind << 8 |
			node->flags;
	return mix(mix(node->value) + head);
}

static bool is_same(const struct wire_node *a, const struct wire_node *b)
{
	return a && a->value == b->value && a->parent == b->parent && a->kind == b->kind && a->flags == b->flags &&
	       a->generation == b->generation;
}

/* The id that is stored in the slot if its node is the key's; 0 otherwise. */
static wire_id match(uint64_t slot, const struct key *key)
{
	if (slot >> 32 != key->tag)
		return 0;
	return is_same(file_at((wire_id)slot), &key->node) ? (wire_id)slot : 0;
}

static wire_id look_up(struct table *table, const struct key *key)
{
	for (uint32_t probe = 0; probe < TABLE_PROBES; probe++) {
		uint64_t slot = atomic_load_explicit(slot_at(table, key->tag, probe), memory_order_acquire);
		if (!slot)
			return 0;
		wire_id id = match(slot, key);
		if (id)
			return id;
	}
	return 0;
}

/* The id that now stands for the key: `id`, or that of another thread that was first; 0: no room in this table. */
static wire_id enter(struct table *table, const struct key *key, wire_id id)
{
	uint64_t entry = (uint64_t)key->tag << 32 | id;
	for (uint32_t probe = 0; probe < TABLE_PROBES; probe++) {
		uint64_t seen = 0;
		if (atomic_compare_exchange_strong_explicit(slot_at(table, key->tag, probe), &seen, entry,
							    memory_order_acq_rel, memory_order_acquire)) {
			atomic_fetch_add_explicit(&table->taken, 1, memory_order_relaxed);
			return id;
		}
		wire_id other = match(seen, key);
		if (other)
			return other;
	}
	return 0;
}

/* One that is there already, or has no room, is not. */
static void move_slot(struct table *to, uint64_t entry)
{
	for (uint32_t probe = 0; probe < TABLE_PROBES; probe++) {
		uint64_t seen = 0;
		if (atomic_compare_exchange_strong_explicit(slot_at(to, (uint32_t)(entry >> 32), probe), &seen, entry,
							    memory_order_acq_rel, memory_order_acquire)) {
			atomic_fetch_add_explicit(&to->taken, 1, memory_order_relaxed);
			return;
		}
		if (seen == entry)
			return;
	}
}

/* Some slots of the oldest table go into the newest; when all are there, the table is not searched any more. */
static void move_some(struct table *to)
{
	struct table *from = atomic_load_explicit(&to->older, memory_order_acquire), *after = to;
	if (__builtin_expect(!from, 1))
		return;
	for (struct table *older; (older = atomic_load_explicit(&from->older, memory_order_acquire)); from = older)
		after = from;
	uint32_t first = atomic_fetch_add_explicit(&from->claimed, MOVE_SLOTS, memory_order_relaxed);
	if (first >= table_slots(from)) {
		atomic_store_explicit(&from->claimed, table_slots(from), memory_order_relaxed);
		return;
	}
	for (uint32_t i = first; i < first + MOVE_SLOTS; i++) {
		uint64_t entry = atomic_load_explicit(&from->slots[i], memory_order_acquire);
		if (entry)
			move_slot(to, entry);
	}
	uint32_t moved = atomic_fetch_add_explicit(&from->moved, MOVE_SLOTS, memory_order_acq_rel) + MOVE_SLOTS;
	if (moved == table_slots(from))
		atomic_store_explicit(&after->older, NULL, memory_order_release);
}

/* The table to enter something in. */
static struct table *roomy(void)
{
	struct table *table = atomic_load_explicit(&newest, memory_order_acquire);
	if (table && atomic_load_explicit(&table->taken, memory_order_relaxed) < most_taken(table))
		return table;
	struct table *larger = grow(table);
	return larger ? larger : table;
}

static wire_id enter_growing(const struct key *key, wire_id id)
{
	struct table *table = roomy();
	while (table) {
		wire_id entered = enter(table, key, id);
		if (entered) {
			move_some(table);
			return entered;
		}
		table = grow(table);
	}
	return 0;
}

static wire_id find(const struct key *key)
{
	struct table *table = atomic_load_explicit(&newest, memory_order_acquire);
	for (; table; table = atomic_load_explicit(&table->older, memory_order_acquire)) {
		wire_id id = look_up(table, key);
		if (id)
			return id;
	}
	return 0;
}

static struct key key_of(wire_id parent, uint8_t kind, uint8_t flags, uint64_t value)
{
	struct key key = {.node = {.parent = parent, .kind = kind, .flags = flags, .value = value}};
	/* Only addresses mean something else after an object was unloaded. */
	if (kind == WIRE_NODE_NATIVE)
		key.node.generation = module_generation();
	key.tag = (uint32_t)(hash_of(&key.node) >> 32);
	return key;
}

wire_id node_find(wire_id parent, uint8_t kind, uint8_t flags, uint64_t value)
{
	struct key key = key_of(parent, kind, flags, value);
	return find(&key);
}

wire_id node_add(struct agent_thread *thread, wire_id parent, uint8_t kind, uint8_t flags, uint64_t value)
{
	struct key key = key_of(parent, kind, flags, value);
	wire_id id = find(&key);
	if (id)
		return id;
	struct wire_node *node = file_node(thread);
	if (!node)
		return 0;
	*node = key.node;
	file_node_publish(thread);
	id = enter_growing(&key, file_id(node));
	if (id != file_id(node))
		file_node_retract(thread);
	return id;
}

void node_reset(void)
{
	struct table *table = atomic_exchange(&newest, NULL);
	while (table) {
		struct table *before = table->before;
		sys_unmap(table, table_bytes(table->bits));
		table = before;
	}
}
