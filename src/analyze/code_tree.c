/*
 * code_tree.c - see code_tree.h.
 *
 * Everything is looked up once: frames of the profile become frames of the tree through a table, stacks become nodes through
 * another that is filled as samples ask, and a node's child is found by hashing (parent, frame). So the cost is one step per
 * sample, stack and frame, however many there are.
 */
#include "analyze/code_tree.h"
#include "analyze/code_graft.h"
#include "base/str.h"

#include <string.h>

static const uint32_t LEFT_OUT = UINT32_MAX, UNKNOWN = UINT32_MAX;

static const char *const view_names[CODE_VIEW_COUNT] = {
#define CODE_VIEW_NAME(id, name) name,
	CODE_VIEWS(CODE_VIEW_NAME)
#undef CODE_VIEW_NAME
};

const char *code_view_name(enum code_view view)
{
	return view_names[view];
}

int code_view_find(const char *name)
{
	for (int i = 0; i < CODE_VIEW_COUNT; i++)
		if (strcmp(view_names[i], name) == 0)
			return i;
	return -1;
}

/* Indices of something, found by a hash of what they stand for; UINT32_MAX is an empty slot. */
struct index_table {
	uint32_t *slots;
	size_t size; /* a power of two */
	size_t used;
};

/* A worker's stack below its starter's. */
struct grafted {
	int64_t starter, stack;
	uint32_t node;
};

struct build {
	const struct profile_data *profile;
	struct code_tree *tree;
	uint32_t *frame_of; /* per frame of the profile: the tree's, LEFT_OUT */
	uint32_t *node_of;  /* per stack of the profile: the tree's node, UNKNOWN */
	bool *chosen;       /* per thread */
	uint32_t worker;    /* the frame "[worker thread]"; UNKNOWN until needed */
	struct index_table frames, children, grafts;
	VEC(struct grafted) grafted;
	VEC(int64_t) path; /* stacks between a known one and the one that is asked for */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
	return hash ^ (hash >> 29);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	uint64_t value = 0xcbf29ce484222325ULL;
	for (; text && *text; text++)
		value = (value ^ (unsigned char)*text) * 0x100000001b3ULL;
	return mix(hash, text ? value : 1);
}

static void table_make(struct index_table *table, size_t size)
{
	table->size = size;
	table->used = 0;
	table->slots = mem_alloc(size * sizeof(*table->slots));
	memset(table->slots, 0xff, size * sizeof(*table->slots));
}

static uint64_t hash_frame(const struct code_frame *frame)
{
	uint64_t hash = mix((uint64_t)frame->kind, (uint64_t)frame->line);
	hash = mix(hash, (uint64_t)frame->first_line * 2 + frame->inlined);
	hash = mix_text(hash, frame->function);
	hash = mix_text(hash, frame->module);
	return mix_text(hash, frame->file);
}

static uint64_t hash_child(uint32_t parent, uint32_t frame)
{
	return mix(mix(0, parent), frame);
}

static uint64_t hash_graft(int64_t starter, int64_t stack)
{
	return mix(mix(1, (uint64_t)starter), (uint64_t)stack);
}

static uint64_t hash_of(const struct build *build, const struct index_table *table, uint32_t index)
{
	if (table == &build->frames)
		return hash_frame(&build->tree->frames.items[index]);
	if (table == &build->children)
		return hash_child(build->tree->nodes.items[index].parent, build->tree->nodes.items[index].frame);
	return hash_graft(build->grafted.items[index].starter, build->grafted.items[index].stack);
}

/* At most half full, so that a search ends soon. */
static void table_add(const struct build *build, struct index_table *table, uint64_t hash, uint32_t index)
{
	if (2 * (table->used + 1) > table->size) {
		struct index_table old = *table;
		table_make(table, 2 * old.size);
		for (size_t i = 0; i < old.size; i++)
			if (old.slots[i] != UNKNOWN)
				table_add(build, table, hash_of(build, table, old.slots[i]), old.slots[i]);
		free(old.slots);
	}
	size_t slot = hash & (table->size - 1);
	while (table->slots[slot] != UNKNOWN)
		slot = (slot + 1) & (table->size - 1);
	table->slots[slot] = index;
	table->used++;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_frame(const struct code_frame *a, const struct code_frame *b)
{
	return a->kind == b->kind && a->line == b->line && a->first_line == b->first_line && a->inlined == b->inlined &&
	       same_text(a->function, b->function) && same_text(a->module, b->module) && same_text(a->file, b->file);
}

static uint32_t add_frame(struct build *build, const struct code_frame *frame)
{
	uint64_t hash = hash_frame(frame);
	size_t mask = build->frames.size - 1;
	for (size_t slot = hash & mask; build->frames.slots[slot] != UNKNOWN; slot = (slot + 1) & mask)
		if (same_frame(&build->tree->frames.items[build->frames.slots[slot]], frame))
			return build->frames.slots[slot];
	vec_push(&build->tree->frames, *frame);
	uint32_t index = (uint32_t)build->tree->frames.len - 1;
	table_add(build, &build->frames, hash, index);
	return index;
}

static uint32_t child_of(struct build *build, uint32_t parent, uint32_t frame)
{
	uint64_t hash = hash_child(parent, frame);
	size_t mask = build->children.size - 1;
	for (size_t slot = hash & mask; build->children.slots[slot] != UNKNOWN; slot = (slot + 1) & mask) {
		const struct code_node *node = &build->tree->nodes.items[build->children.slots[slot]];
		if (node->parent == parent && node->frame == frame)
			return build->children.slots[slot];
	}
	vec_push(&build->tree->nodes, ((struct code_node){.parent = parent, .frame = frame}));
	uint32_t index = (uint32_t)build->tree->nodes.len - 1;
	table_add(build, &build->children, hash, index);
	return index;
}

/* Marks belong to every view: that a stack was cut off is as true of its Python frames as of the others. */
static bool view_has(enum code_view view, enum frame_kind kind)
{
	if (view == CODE_MIXED || kind == FRAME_MARK)
		return true;
	return (view == CODE_PYTHON) == (kind == FRAME_PYTHON);
}

/* "[libstdc++.so.6+0x1234]" or "[unknown 0x7f0012345678]", which lies in no file: where the address begins; 0: it has a name. */
static size_t nameless_length(const struct profile_frame *frame)
{
	if (frame->kind != FRAME_NATIVE || frame->function[0] != '[')
		return 0;
	const char *address = strstr(frame->function, "+0x");
	if (!address && str_starts(frame->function, "[unknown 0x"))
		address = strchr(frame->function, ' ');
	return address ? (size_t)(address - frame->function) : 0;
}

/* What is before the address, in brackets; one text per object. */
static const char *nameless(struct build *build, const char *function, size_t length)
{
	for (size_t i = build->tree->names.len; i-- > 0;) {
		const char *known = build->tree->names.items[i];
		if (strlen(known) == length + 1 && strncmp(known, function, length) == 0)
			return known;
	}
	struct str name = {0};
	str_append_bytes(&name, function, length);
	str_append_char(&name, ']');
	vec_push(&build->tree->names, str_take(&name));
	return *vec_last(&build->tree->names);
}

static void map_frames(struct build *build)
{
	const struct code_select *select = &build->tree->select;
	for (size_t i = 0; i < build->profile->frames.len; i++) {
		const struct profile_frame *frame = &build->profile->frames.items[i];
		size_t length = nameless_length(frame);
		struct code_frame wanted = {.kind = frame->kind,
					    .function =
						    length ? nameless(build, frame->function, length) : frame->function,
					    .module = frame->module,
					    .file = frame->file,
					    .line = select->by_line ? frame->line : 0,
					    .first_line = frame->first_line,
					    .inlined = frame->inlined};
		build->frame_of[i] = view_has(select->view, frame->kind) ? add_frame(build, &wanted) : LEFT_OUT;
	}
}

bool code_select_has_stage(const struct code_select *select, int64_t stage_id)
{
	for (size_t i = 0; i < select->stage_count; i++)
		if (select->stage_ids[i] == stage_id)
			return true;
	return !select->stage_ids;
}

static void choose_threads(struct build *build)
{
	const struct code_select *select = &build->tree->select;
	for (size_t i = 0; i < build->profile->threads.len; i++) {
		const struct profile_thread *thread = &build->profile->threads.items[i];
		const struct profile_process *process = &build->profile->processes.items[thread->process_id - 1];
		build->chosen[i] = code_select_has_stage(select, process->stage_id) &&
				   (!select->pid || select->pid == process->pid) &&
				   (!select->tid || select->tid == thread->tid);
	}
}

static bool in_range(const struct code_select *select, uint64_t at_ns)
{
	return at_ns >= select->from_ns && (!select->to_ns || at_ns < select->to_ns);
}

/* Up to the first stack whose node is known, then down again; `below` is the node that a root hangs from. `known` NULL:
 * nothing is remembered. */
static uint32_t hang(struct build *build, int64_t stack_id, uint32_t below, uint32_t *known)
{
	const struct profile_stack *stacks = build->profile->stacks.items;
	int64_t id = stack_id;
	build->path.len = 0;
	for (; id && (!known || known[id - 1] == UNKNOWN); id = stacks[id - 1].parent)
		vec_push(&build->path, id);
	uint32_t node = id && known ? known[id - 1] : below;
	while (build->path.len) {
		id = build->path.items[--build->path.len];
		uint32_t frame = build->frame_of[stacks[id - 1].frame_id - 1];
		if (frame != LEFT_OUT)
			node = child_of(build, node, frame);
		if (known)
			known[id - 1] = node;
	}
	return node;
}

static uint32_t hang_worker(struct build *build, int64_t stack_id, int64_t starter)
{
	uint64_t hash = hash_graft(starter, stack_id);
	size_t mask = build->grafts.size - 1;
	for (size_t slot = hash & mask; build->grafts.slots[slot] != UNKNOWN; slot = (slot + 1) & mask) {
		const struct grafted *found = &build->grafted.items[build->grafts.slots[slot]];
		if (found->starter == starter && found->stack == stack_id)
			return found->node;
	}
	if (build->worker == UNKNOWN)
		build->worker =
			add_frame(build, &(struct code_frame){.kind = FRAME_MARK, .function = CODE_WORKER_FRAME});
	uint32_t below = child_of(build, hang(build, starter, CODE_ROOT, build->node_of), build->worker);
	uint32_t node = hang(build, stack_id, below, NULL);
	vec_push(&build->grafted, ((struct grafted){.starter = starter, .stack = stack_id, .node = node}));
	table_add(build, &build->grafts, hash, (uint32_t)build->grafted.len - 1);
	return node;
}

static void add_sample(struct build *build, struct code_graft *graft, size_t index)
{
	const struct profile_sample *sample = &build->profile->samples.items[index];
	size_t thread = (size_t)sample->thread_id - 1;
	if (!build->chosen[thread] || !in_range(&build->tree->select, sample->at_ns))
		return;
	int64_t starter = graft ? code_graft_starter(graft, thread, sample->at_ns) : 0;
	uint32_t node = starter ? hang_worker(build, sample->stack_id, starter)
				: hang(build, sample->stack_id, CODE_ROOT, build->node_of);
	build->tree->nodes.items[node].self_ns += sample->weight_ns;
	build->tree->nodes.items[node].self_samples++;
	vec_push(&build->tree->samples, ((struct code_sample){.thread = (uint32_t)thread,
							      .index = index,
							      .node = node,
							      .at_ns = sample->at_ns,
							      .weight_ns = sample->weight_ns,
							      .flags = sample->flags,
							      .task_id = sample->task_id}));
}

/* Children come after their parents, so one pass from the end is enough. */
static void add_totals(struct code_tree *tree)
{
	for (size_t i = tree->nodes.len; i-- > 0;) {
		struct code_node *node = &tree->nodes.items[i];
		node->total_ns += node->self_ns;
		node->total_samples += node->self_samples;
		if (i == CODE_ROOT)
			break;
		tree->nodes.items[node->parent].total_ns += node->total_ns;
		tree->nodes.items[node->parent].total_samples += node->total_samples;
	}
}

void code_tree_build(const struct profile_data *profile, const struct code_select *select, struct code_tree *out)
{
	*out = (struct code_tree){.profile = profile, .select = *select};
	struct build build = {.profile = profile, .tree = out, .worker = UNKNOWN};
	build.frame_of = mem_alloc((profile->frames.len + 1) * sizeof(*build.frame_of));
	build.node_of = mem_alloc((profile->stacks.len + 1) * sizeof(*build.node_of));
	build.chosen = mem_alloc(profile->threads.len + 1);
	memset(build.node_of, 0xff, (profile->stacks.len + 1) * sizeof(*build.node_of));
	table_make(&build.frames, 1024);
	table_make(&build.children, 4096);
	table_make(&build.grafts, 64);
	vec_push(&out->nodes, ((struct code_node){.parent = CODE_ROOT}));
	map_frames(&build);
	choose_threads(&build);
	struct code_graft *graft = select->graft_workers ? code_graft_new(profile) : NULL;
	for (size_t i = 0; i < profile->samples.len; i++)
		add_sample(&build, graft, i);
	add_totals(out);
	code_graft_free(graft);
	free(build.frame_of);
	free(build.node_of);
	free(build.chosen);
	free(build.frames.slots);
	free(build.children.slots);
	free(build.grafts.slots);
	vec_fini(&build.grafted);
	vec_fini(&build.path);
}

void code_tree_fini(struct code_tree *tree)
{
	for (size_t i = 0; i < tree->names.len; i++)
		free(tree->names.items[i]);
	vec_fini(&tree->names);
	vec_fini(&tree->frames);
	vec_fini(&tree->nodes);
	vec_fini(&tree->samples);
}

size_t code_tree_path(const struct code_tree *tree, uint32_t node, uint32_t *out, size_t most)
{
	size_t depth = 0;
	for (uint32_t i = node; i != CODE_ROOT; i = tree->nodes.items[i].parent)
		depth++;
	size_t at = depth;
	for (uint32_t i = node; i != CODE_ROOT; i = tree->nodes.items[i].parent)
		if (--at < most)
			out[at] = tree->nodes.items[i].frame;
	return depth < most ? depth : most;
}
