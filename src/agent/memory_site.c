/*
 * memory_site.c - the sites of one thread: (node, kind) -> place in the wire file, and for what others allocated, the site that
 * allocated -> its mirror.
 *
 * One thread at a time uses a table, so it is a plain one, of powers of two, at most two thirds full. Keys are never 0.
 */
#include "agent/memory.h"

#include <errno.h>

enum {
	FIRST = 256,
	MOST = 1 << 20,
	SITES_MOST = 120000 /* of the process, with their whole stacks: 37 MiB */
};

static _Atomic uint32_t count;

#define MIRROR_KEY (1ULL << 63)

static struct site_slot *place_of(struct site_slot *slots, uint32_t mask, uint64_t key)
{
	uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15ULL >> 32) & mask;
	while (slots[at].key && slots[at].key != key)
		at = (at + 1) & mask;
	return &slots[at];
}

static bool grow(struct memory_thread *self)
{
	uint32_t before = self->sites ? self->site_mask + 1 : 0, size = before ? before * 2 : FIRST;
	if (size > MOST || !agent_enter())
		return false;
	struct site_slot *slots = memory_map(size * sizeof(*slots));
	for (uint32_t i = 0; slots && i < before; i++)
		if (self->sites[i].key)
			*place_of(slots, size - 1, self->sites[i].key) = self->sites[i];
	if (slots && before)
		memory_unmap(self->sites, before * sizeof(*slots));
	gate_leave();
	if (!slots)
		return false;
	self->sites = slots;
	self->site_mask = size - 1;
	return true;
}

/* The handler of CPU samples uses the same file. */
static struct wire_site *write_site(struct memory_thread *self)
{
	struct agent_thread *thread = self->thread;
	if (!agent_enter())
		return NULL;
	int busy = thread ? thread->busy : 0;
	if (thread)
		thread->busy = 1;
	struct wire_site *site = file_site(&self->chunk, thread ? thread->record_id : 0);
	if (thread)
		thread->busy = busy;
	gate_leave();
	return site;
}

static struct wire_site *add(struct memory_thread *self, uint64_t key, const struct wire_site *like)
{
	if ((!self->sites || self->site_count >= self->site_mask / 3 * 2) && !grow(self))
		return NULL;
	struct wire_site *site = write_site(self);
	if (!site || (!like->principal && !block_enter_site(site)))
		return NULL;
	site->node = like->node;
	site->kind = like->kind;
	site->thread = like->thread;
	site->principal = like->principal;
	site->writer = self->number;
	site->peak_number = atomic_load_explicit(&memory.wire->peak_number, memory_order_relaxed);
	file_site_publish(self->chunk);
	*place_of(self->sites, self->site_mask, key) = (struct site_slot){key, site};
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	self->site_count++;
	return site;
}

/* The outermost frames of a stack: a program with more stacks than can be told apart still has its sites. */
static wire_id outer_frames(wire_id node)
{
	wire_id ring[SITE_OUTER_FRAMES];
	unsigned depth = 0;
	const struct wire_node *at;
	for (wire_id next = node; next && depth < WIRE_STACK_MAX; next = at->parent) {
		at = file_at(next);
		if (!at)
			break;
		ring[depth++ % SITE_OUTER_FRAMES] = next;
	}
	return depth > SITE_OUTER_FRAMES ? ring[depth % SITE_OUTER_FRAMES] : node;
}

static struct wire_site *look_up(const struct memory_thread *self, uint64_t key)
{
	return self->sites ? place_of(self->sites, self->site_mask, key)->site : NULL;
}

struct wire_site *site_find(struct memory_thread *self, wire_id node, unsigned kind, wire_id outer)
{
	if (self->last_key == ((uint64_t)node << 8 | kind))
		return self->last_site;
	struct wire_site *found = look_up(self, (uint64_t)node << 8 | kind);
	if (__builtin_expect(found != NULL, 1)) {
		self->last_key = (uint64_t)node << 8 | kind;
		self->last_site = found;
		return found;
	}
	if (atomic_load_explicit(&count, memory_order_relaxed) >= SITES_MOST) {
		node = outer ? outer : outer_frames(node);
		atomic_fetch_add_explicit(&memory.wire->truncated, 1, memory_order_relaxed);
		found = look_up(self, (uint64_t)node << 8 | kind);
		if (found)
			return found;
	}
	uint64_t key = (uint64_t)node << 8 | kind;
	struct wire_site like = {
		.node = node, .kind = (uint8_t)kind, .thread = self->thread ? self->thread->record_id : 0};
	return add(self, key, &like);
}

struct wire_site *site_mirror(struct memory_thread *self, struct wire_site *principal)
{
	uint64_t key = MIRROR_KEY | file_id(principal);
	struct wire_site *found = look_up(self, key);
	if (found)
		return found;
	struct wire_site like = {.node = principal->node,
				 .kind = principal->kind,
				 .thread = principal->thread,
				 .principal = file_id(principal)};
	int saved = errno;
	found = add(self, key, &like);
	errno = saved;
	return found;
}

void site_restart(void)
{
	atomic_store(&count, 0);
}

void site_forget(struct memory_thread *self)
{
	if (self->sites)
		memory_unmap(self->sites, (self->site_mask + 1) * sizeof(*self->sites));
	self->sites = NULL;
	self->last_key = 0;
	self->site_mask = self->site_count = 0;
}
