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
 * When a table is two thirds full a larger one is put before it; what is found in an older one is entered in the newest, so
 * that the search stays short. Tables are bounded, and so are probes: where there is no room the answer is 0.
 */
#include "agent/core.h"
#include "agent/sys.h"

enum {
	TABLE_FIRST = 4096, /* slots */
	TABLE_MOST = 1 << 22,
	TABLE_PROBES = 48
};

struct table {
	struct table *older;
	uint32_t mask;
	_Atomic uint32_t taken;
	_Atomic uint64_t slots[];
};

struct key {
	struct wire_node node;
	uint64_t hash;
};

static struct table *_Atomic newest;

static size_t table_bytes(uint32_t slots)
{
	return sizeof(struct table) + slots * sizeof(uint64_t);
}

/* Puts a table four times as large before `before`; the newest one, whoever made it; NULL: no more. */
static struct table *grow(struct table *before)
{
	uint32_t slots = before ? (before->mask + 1) * 4 : TABLE_FIRST;
	if (slots > TABLE_MOST)
		return NULL;
	struct table *table = sys_map_private(table_bytes(slots));
	if (!table)
		return NULL;
	table->older = before;
	table->mask = slots - 1;
	struct table *expected = before;
	if (atomic_compare_exchange_strong(&newest, &expected, table))
		return table;
	sys_unmap(table, table_bytes(slots));
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
	if (slot >> 32 != key->hash >> 32)
		return 0;
	return is_same(file_at((wire_id)slot), &key->node) ? (wire_id)slot : 0;
}

static wire_id look_up(struct table *table, const struct key *key)
{
	for (uint32_t probe = 0; probe < TABLE_PROBES; probe++) {
		uint64_t slot =
			atomic_load_explicit(&table->slots[(key->hash + probe) & table->mask], memory_order_acquire);
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
	uint64_t entry = key->hash >> 32 << 32 | id;
	for (uint32_t probe = 0; probe < TABLE_PROBES; probe++) {
		_Atomic uint64_t *slot = &table->slots[(key->hash + probe) & table->mask];
		uint64_t seen = 0;
		if (atomic_compare_exchange_strong_explicit(slot, &seen, entry, memory_order_acq_rel,
							    memory_order_acquire)) {
			atomic_fetch_add_explicit(&table->taken, 1, memory_order_relaxed);
			return id;
		}
		wire_id other = match(seen, key);
		if (other)
			return other;
	}
	return 0;
}

/* The table to enter something in. */
static struct table *roomy(void)
{
	struct table *table = atomic_load_explicit(&newest, memory_order_acquire);
	if (table && atomic_load_explicit(&table->taken, memory_order_relaxed) < (table->mask + 1) / 3 * 2)
		return table;
	struct table *larger = grow(table);
	return larger ? larger : table;
}

static wire_id enter_growing(const struct key *key, wire_id id)
{
	struct table *table = roomy();
	while (table) {
		wire_id entered = enter(table, key, id);
		if (entered)
			return entered;
		table = grow(table);
	}
	return 0;
}

static wire_id find(const struct key *key)
{
	struct table *first = atomic_load_explicit(&newest, memory_order_acquire);
	for (struct table *table = first; table; table = table->older) {
		wire_id id = look_up(table, key);
		if (!id)
			continue;
		if (table != first && atomic_load_explicit(&first->taken, memory_order_relaxed) < first->mask / 3 * 2)
			enter(first, key, id);
		return id;
	}
	return 0;
}

wire_id node_add(struct agent_thread *thread, wire_id parent, uint8_t kind, uint8_t flags, uint64_t value)
{
	struct key key = {.node = {.parent = parent, .kind = kind, .flags = flags, .value = value}};
	/* Only addresses mean something else after an object was unloaded. */
	if (kind == WIRE_NODE_NATIVE)
		key.node.generation = module_generation();
	key.hash = hash_of(&key.node);
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
		struct table *older = table->older;
		sys_unmap(table, table_bytes(table->mask + 1));
		table = older;
	}
}
