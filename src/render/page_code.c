/*
 * page_code.c - "code" of the page's model: the samples as entries (thread, slice of time, node of a tree of calls), so
 * that the page can make a flame graph of any stage, process, thread and range of time.
 *
 * The tree is by line, with every kind of frame; the page leaves out and merges what a reader does not want to see. Of a
 * profile that is too large for a page, the nodes with the least time are added to their callers, and time is cut into
 * fewer slices, until it fits: what is lost cannot be seen. The sum of all entries is the sum of all samples.
 */
#include "render/export_words.h"
#include "render/page_parts.h"

#include <stdlib.h>
#include <string.h>

const struct page_limits page_limits_run = {250000, 600000, 512, 4 << 20};
const struct page_limits page_limits_side = {120000, 150000, 1, 1 << 20};

enum { MOST_NAME = 1000, MOST_PENDING = 1 << 20, SPARE_ENTRIES = 4 };

struct entry {
	uint32_t thread, bucket, node, samples;
	uint64_t ns;
};

struct shape {
	const struct code_tree *tree;
	const struct report *report;
	uint32_t *node_of; /* per node of the tree: the node that stands for it */
	uint32_t *index;   /* per node that stays: its place in the model */
	size_t nodes;
	VEC(struct entry) entries;
	size_t buckets;
	uint64_t bucket_ns;
	uint64_t folded_ns; /* time that was added to a caller */
};

static int by_weight(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? 1 : x > y ? -1 : 0;
}

uint64_t page_least_weight(const uint64_t *weights, size_t count, size_t most)
{
	if (count <= most)
		return 0;
	uint64_t *order = mem_alloc(count * sizeof(*order));
	memcpy(order, weights, count * sizeof(*order));
	qsort(order, count, sizeof(*order), by_weight);
	uint64_t least = order[most] + 1;
	free(order);
	return least;
}

static uint64_t least_total(const struct code_tree *tree, size_t most)
{
	uint64_t *weights = mem_alloc(tree->nodes.len * sizeof(*weights));
	for (size_t i = 0; i < tree->nodes.len; i++)
		weights[i] = tree->nodes.items[i].total_ns;
	uint64_t least = page_least_weight(weights, tree->nodes.len, most);
	free(weights);
	return least;
}

/* Parents come before their children and weigh at least as much, so what stays is a tree. */
static void choose_nodes(struct shape *shape, size_t most)
{
	const struct code_tree *tree = shape->tree;
	uint64_t least = least_total(tree, most);
	shape->nodes = 0;
	shape->folded_ns = 0;
	for (uint32_t i = 0; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		bool stays = i == CODE_ROOT || node->total_ns >= least;
		shape->node_of[i] = stays ? i : shape->node_of[node->parent];
		if (stays)
			shape->index[i] = (uint32_t)shape->nodes++;
		else
			shape->folded_ns += node->self_ns;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Of the entries from `start` on, one for each place. */
static void merge_entries(struct shape *shape, size_t start)
{
	struct entry *items = shape->entries.items + start;
	size_t count = shape->entries.len - start, kept = 0;
	if (count == 0)
		return;
	qsort(items, count, sizeof(*items), by_place);
	for (size_t i = 1; i < count; i++) {
		if (by_place(&items[kept], &items[i]) == 0) {
			items[kept].ns += items[i].ns;
			items[kept].samples += items[i].samples;
		} else {
			items[++kept] = items[i];
		}
	}
	shape->entries.len = start + kept + 1;
}

/* Two slices side by side, each in the order of its nodes, become one; no sorting, because there may be millions. */
static void halve_buckets(struct shape *shape)
{
	size_t count = shape->entries.len, kept = 0;
	struct entry *from = shape->entries.items, *to = mem_alloc((count + 1) * sizeof(*to));
	for (size_t left = 0; left < count;) {
		uint32_t thread = from[left].thread, bucket = from[left].bucket / 2;
		size_t right = left, end;
		while (right < count && from[right].thread == thread && from[right].bucket == from[left].bucket)
			right++;
		for (end = right; end < count && from[end].thread == thread && from[end].bucket / 2 == bucket;)
			end++;
		for (size_t i = left, k = right; i < right || k < end;) {
			bool first = k == end || (i < right && from[i].node <= from[k].node);
			bool both = first && k < end && from[i].node == from[k].node;
			to[kept] = first ? from[i++] : from[k++];
			to[kept].bucket = bucket;
			to[kept].ns += both ? from[k].ns : 0;
			to[kept++].samples += both ? from[k++].samples : 0;
		}
		left = end;
	}
	free(from);
	shape->entries.items = to;
	shape->entries.len = kept;
	shape->entries.cap = count + 1;
	shape->buckets /= 2;
	shape->bucket_ns *= 2;
}

/* Where the entries of the last thread and slice begin. */
static size_t last_group(const struct shape *shape)
{
	const struct entry *items = shape->entries.items;
	size_t start = shape->entries.len;
	while (start > 0 && items[start - 1].thread == vec_last(&shape->entries)->thread &&
	       items[start - 1].bucket == vec_last(&shape->entries)->bucket)
		start--;
	return start;
}

static void cut_time(struct shape *shape, size_t buckets)
{
	uint64_t end_ns = 1;
	for (size_t i = 0; i < shape->tree->samples.len; i++)
		if (shape->tree->samples.items[i].at_ns >= end_ns)
			end_ns = shape->tree->samples.items[i].at_ns + 1;
	shape->buckets = buckets;
	shape->bucket_ns = end_ns / buckets + 1;
}

/* Samples come by thread and time, so each slice is merged as soon as it is whole, and slices are joined as soon as there are too
 * many entries: what is held does not grow with the number of samples. */
static void fill_entries(struct shape *shape, const struct page_limits *limits)
{
	const struct code_tree *tree = shape->tree;
	size_t start = 0, merged = 0;
	cut_time(shape, limits->buckets);
	shape->entries.len = 0;
	for (size_t i = 0; i < tree->samples.len; i++) {
		const struct code_sample *sample = &tree->samples.items[i];
		uint32_t thread = (uint32_t)sample->thread, bucket = (uint32_t)(sample->at_ns / shape->bucket_ns);
		const struct entry *last = shape->entries.len ? vec_last(&shape->entries) : NULL;
		bool next = last && (last->thread != thread || last->bucket != bucket);
		if (next || shape->entries.len - merged > MOST_PENDING) {
			merge_entries(shape, start);
			while (shape->entries.len > SPARE_ENTRIES * limits->entries && shape->buckets > 1)
				halve_buckets(shape);
			bucket = (uint32_t)(sample->at_ns / shape->bucket_ns);
			last = vec_last(&shape->entries);
			merged = shape->entries.len;
			start = last->thread == thread && last->bucket == bucket ? last_group(shape) : merged;
		}
		vec_push(&shape->entries, ((struct entry){.thread = thread,
							  .bucket = bucket,
							  .node = shape->node_of[sample->node],
							  .samples = 1,
							  .ns = sample->weight_ns}));
	}
	merge_entries(shape, start);
}

static void fit(struct shape *shape, const struct page_limits *limits)
{
	size_t nodes = limits->nodes;
	do {
		choose_nodes(shape, nodes);
		fill_entries(shape, limits);
		while (shape->entries.len > limits->entries && shape->buckets > 1)
			halve_buckets(shape);
		nodes /= 2;
	} while (shape->entries.len > limits->entries && nodes > 0);
}

static int64_t cut_string(struct page_strings *strings, const char *text)
{
	struct str cut = {0};
	if (!text)
		return -1;
	export_cut(&cut, text, MOST_NAME);
	int64_t index = page_string(strings, str_text(&cut));
	str_fini(&cut);
	return index;
}

static void put_frame(struct json *json, struct page_strings *strings, const struct code_frame *frame)
{
	json_array_begin(json, NULL);
	json_put_integer(json, NULL, frame->kind);
	json_put_integer(json, NULL, cut_string(strings, frame->function));
	json_put_integer(json, NULL, cut_string(strings, frame->module));
	json_put_integer(json, NULL, cut_string(strings, frame->file));
	json_put_integer(json, NULL, frame->line);
	json_put_integer(json, NULL, frame->first_line);
	json_put_integer(json, NULL, frame->inlined);
	json_array_end(json);
}

void page_put_frame(struct json *json, struct page_strings *strings, const struct profile_frame *frame)
{
	put_frame(json, strings,
		  &(struct code_frame){.kind = frame->kind,
				       .function = frame->function,
				       .module = frame->module,
				       .file = frame->file,
				       .line = frame->line,
				       .first_line = frame->first_line,
				       .inlined = frame->inlined});
}

/* Frames that no node names any more are left out; `out` has their new index. */
static void put_frames(struct json *json, const struct shape *shape, struct page_strings *strings, int64_t *out)
{
	const struct code_tree *tree = shape->tree;
	int64_t count = 0;
	json_array_begin(json, "frames");
	for (uint32_t i = 1; i < tree->nodes.len; i++) {
		uint32_t at = tree->nodes.items[i].frame;
		if (shape->node_of[i] != i || out[at] >= 0)
			continue;
		out[at] = count++;
		put_frame(json, strings, &tree->frames.items[at]);
	}
	json_array_end(json);
}

static void put_nodes(struct json *json, const struct shape *shape, const int64_t *frame_of)
{
	const struct code_tree *tree = shape->tree;
	json_object_begin(json, "nodes");
	json_array_begin(json, "parent");
	for (uint32_t i = 0; i < tree->nodes.len; i++)
		if (shape->node_of[i] == i)
			json_put_integer(json, NULL, shape->index[tree->nodes.items[i].parent]);
	json_array_end(json);
	json_array_begin(json, "frame");
	for (uint32_t i = 0; i < tree->nodes.len; i++)
		if (shape->node_of[i] == i)
			json_put_integer(json, NULL, i == CODE_ROOT ? -1 : frame_of[tree->nodes.items[i].frame]);
	json_array_end(json);
	json_object_end(json);
}

static void put_entries(struct json *json, const struct shape *shape)
{
	static const char *const names[] = {"thread", "bucket", "node", "samples", "us"};
	json_object_begin(json, "entries");
	for (int column = 0; column < 5; column++) {
		json_array_begin(json, names[column]);
		for (size_t i = 0; i < shape->entries.len; i++) {
			const struct entry *entry = &shape->entries.items[i];
			uint64_t values[] = {entry->thread, entry->bucket, shape->index[entry->node], entry->samples,
					     (entry->ns + 500) / 1000};
			json_put_integer(json, NULL, (int64_t)values[column]);
		}
		json_array_end(json);
	}
	json_object_end(json);
}

int64_t page_stage_of(const struct report *report, int64_t stage_id)
{
	const char *name = export_stage_name(report, stage_id);
	for (size_t i = 0; name && i < report->stages.len; i++)
		if (strcmp(report->stages.items[i].name, name) == 0)
			return (int64_t)i;
	return -1;
}

static void put_threads(struct json *json, const struct shape *shape)
{
	const struct profile_data *profile = shape->tree->profile;
	json_array_begin(json, "processes");
	for (size_t i = 0; i < profile->processes.len; i++) {
		const struct profile_process *process = &profile->processes.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "stage", page_stage_of(shape->report, process->stage_id));
		json_put_integer(json, "pid", process->pid);
		json_put_string(json, "executable", process->executable);
		json_put_string(json, "python", process->python);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "threads");
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "process", thread->process_id - 1);
		json_put_integer(json, "tid", thread->tid);
		json_put_string(json, "name", thread->name);
		json_put_bool(json, "main", thread->is_main);
		json_object_end(json);
	}
	json_array_end(json);
}

/* [file, line, text] of the lines that samples hit. */
void page_put_sources(struct json *json, const struct profile_data *profile, struct page_strings *strings,
		      size_t most_bytes)
{
	size_t bytes = 0;
	json_array_begin(json, "sources");
	for (size_t i = 0; i < profile->sources.len && bytes < most_bytes; i++) {
		const struct profile_source *source = &profile->sources.items[i];
		bytes += strlen(source->text) + 16;
		json_array_begin(json, NULL);
		json_put_integer(json, NULL, cut_string(strings, source->file));
		json_put_integer(json, NULL, source->line);
		json_put_integer(json, NULL, cut_string(strings, source->text));
		json_array_end(json);
	}
	json_array_end(json);
}

static void put_shape(struct json *json, const struct shape *shape, const struct page_limits *limits)
{
	struct page_strings strings = {0};
	size_t frames = shape->tree->frames.len;
	int64_t *frame_of = mem_alloc((frames + 1) * sizeof(*frame_of));
	memset(frame_of, 0xff, (frames + 1) * sizeof(*frame_of));
	json_object_begin(json, "code");
	json_put_number(json, "bucket_s", (double)shape->bucket_ns / 1e9);
	json_put_integer(json, "buckets", (int64_t)shape->buckets);
	json_put_number(json, "folded_s", (double)shape->folded_ns / 1e9);
	json_put_integer(json, "nodes_recorded", (int64_t)shape->tree->nodes.len);
	put_threads(json, shape);
	put_frames(json, shape, &strings, frame_of);
	put_nodes(json, shape, frame_of);
	put_entries(json, shape);
	page_put_sources(json, shape->tree->profile, &strings, limits->source_bytes);
	page_strings_put(json, &strings);
	json_object_end(json);
	free(frame_of);
	page_strings_fini(&strings);
}

void page_code(struct json *json, const struct report *report, const struct profile_data *profile,
	       const struct page_limits *limits)
{
	VEC(int64_t) stages = {0};
	struct code_tree tree;
	if (!profile) {
		json_put_null(json, "code");
		return;
	}
	vec_reserve(&stages, 1); /* none chosen is nothing, not everything */
	for (size_t i = 0; i < report->stages.len; i++)
		for (size_t k = 0; k < report->stages.items[i].counted.len; k++)
			vec_push(&stages, report->stages.items[i].counted.items[k]->row.id);
	struct code_select select = {
		.stage_ids = stages.items, .stage_count = stages.len, .by_line = true, .graft_workers = true};
	code_tree_build(profile, &select, &tree);
	struct shape shape = {.tree = &tree, .report = report};
	shape.node_of = mem_alloc(tree.nodes.len * sizeof(*shape.node_of));
	shape.index = mem_alloc(tree.nodes.len * sizeof(*shape.index));
	fit(&shape, limits);
	put_shape(json, &shape, limits);
	free(shape.node_of);
	free(shape.index);
	vec_fini(&shape.entries);
	code_tree_fini(&tree);
	vec_fini(&stages);
}
