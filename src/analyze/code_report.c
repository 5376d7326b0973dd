/*
 * code_report.c - see code_report.h.
 *
 * Everything comes from one tree whose frames are apart by line: frames are grouped (by function, line, module), nodes are
 * summed by group in one walk, and samples are summed by thread, process and task in one pass.
 */
#include "analyze/code_report.h"
#include "analyze/code_calls.h"
#include "analyze/code_graft.h"
#include "analyze/code_quality.h"
#include "analyze/code_rows.h"
#include "analyze/code_work.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

enum { PATH_MOST = 64 }; /* steps */

/* Own time of lines goes to the innermost line that can be shown, of the program itself or of any code. */
static void sum_lines(struct code_rows_of *of, bool own)
{
	struct code_sum *sums = of->sums[GROUP_SPOT];
	for (size_t i = 0; i < of->groups[GROUP_SPOT].count; i++)
		sums[i].self_ns = sums[i].self_samples = 0;
	for (size_t i = 1; i < of->tree->nodes.len; i++) {
		const struct code_node *node = &of->tree->nodes.items[i];
		const struct code_place *place = &of->places[i];
		uint32_t frame = place->shown != CODE_NO_FRAME ? place->shown : place->python;
		frame = own ? code_place_own(place) : frame;
		if (frame == CODE_NO_FRAME)
			continue;
		sums[of->groups[GROUP_SPOT].of[frame]].self_ns += node->self_ns;
		sums[of->groups[GROUP_SPOT].of[frame]].self_samples += node->self_samples;
	}
}

/* What a worker did for a caller whose frames are all that the view has is of the caller's kind. */
static enum frame_kind kind_of(const struct code_tree *tree, uint32_t node)
{
	while (node != CODE_ROOT && code_is_worker_mark(&tree->frames.items[tree->nodes.items[node].frame]))
		node = tree->nodes.items[node].parent;
	return node == CODE_ROOT ? FRAME_MARK : tree->frames.items[tree->nodes.items[node].frame].kind;
}

static void sum_kinds(const struct code_rows_of *of, struct code_report *out)
{
	struct code_sum sums[FRAME_KIND_COUNT] = {0};
	for (uint32_t i = 0; i < of->tree->nodes.len; i++) {
		const struct code_node *node = &of->tree->nodes.items[i];
		if (node->self_samples == 0)
			continue;
		struct code_sum *sum = &sums[kind_of(of->tree, i)];
		sum->self_ns += node->self_ns;
		sum->self_samples += node->self_samples;
	}
	for (int i = 0; i < FRAME_KIND_COUNT; i++)
		out->kinds[i] = code_share_of(&of->scale, sums[i].self_ns, sums[i].self_samples);
}

/* The frame that most of a worker's time was for. Samples of one thread follow each other. */
static uint32_t find_starter(const struct code_rows_of *of, size_t from, size_t to, uint64_t *weights)
{
	const struct code_sample *samples = of->tree->samples.items;
	uint32_t best = CODE_NO_FRAME;
	for (size_t i = from; i < to; i++) {
		uint32_t frame = of->places[samples[i].node].starter;
		if (frame == CODE_NO_FRAME)
			continue;
		weights[frame] += samples[i].weight_ns;
		if (best == CODE_NO_FRAME || weights[frame] > weights[best])
			best = frame;
	}
	for (size_t i = from; i < to; i++)
		if (of->places[samples[i].node].starter != CODE_NO_FRAME)
			weights[of->places[samples[i].node].starter] = 0;
	return best;
}

static void add_thread(const struct code_rows_of *of, size_t from, size_t to, uint64_t *weights,
		       struct code_report *out)
{
	const struct profile_data *profile = of->tree->profile;
	const struct code_sample *samples = of->tree->samples.items;
	struct code_thread *row = vec_add(&out->threads);
	uint64_t weight_ns = 0, with_state = 0, with_lock = 0;
	for (size_t i = from; i < to; i++) {
		weight_ns += samples[i].weight_ns;
		with_state += (samples[i].flags & PROFILE_PYTHON) != 0;
		with_lock += (samples[i].flags & PROFILE_PYTHON) && (samples[i].flags & PROFILE_GIL);
	}
	row->thread = &profile->threads.items[samples[from].thread];
	row->process = &profile->processes.items[row->thread->process_id - 1];
	row->share = code_share_of(&of->scale, weight_ns, to - from);
	row->gil_share = with_state ? (double)with_lock / (double)with_state : NAN;
	row->worker = code_graft_is_worker(of->graft, samples[from].thread);
	uint32_t starter = row->worker ? find_starter(of, from, to, weights) : CODE_NO_FRAME;
	if (starter != CODE_NO_FRAME)
		row->starter = code_row_of_frame(of, starter);
}

static void add_threads(const struct code_rows_of *of, struct code_report *out)
{
	const struct code_tree *tree = of->tree;
	uint64_t *weights = mem_alloc((tree->frames.len + 1) * sizeof(*weights));
	for (size_t from = 0, to; from < tree->samples.len; from = to) {
		for (to = from + 1; to < tree->samples.len; to++)
			if (tree->samples.items[to].thread != tree->samples.items[from].thread)
				break;
		add_thread(of, from, to, weights, out);
	}
	free(weights);
}

static void add_processes(const struct code_rows_of *of, struct code_report *out)
{
	const struct profile_data *profile = of->tree->profile;
	struct code_sum *sums = mem_alloc((profile->processes.len + 1) * sizeof(*sums));
	for (size_t i = 0; i < of->tree->samples.len; i++) {
		const struct code_sample *sample = &of->tree->samples.items[i];
		struct code_sum *sum = &sums[profile->threads.items[sample->thread].process_id - 1];
		sum->self_ns += sample->weight_ns;
		sum->self_samples++;
	}
	for (size_t i = 0; i < profile->processes.len; i++)
		if (sums[i].self_samples)
			vec_push(&out->processes,
				 ((struct code_process){
					 .process = &profile->processes.items[i],
					 .share = code_share_of(&of->scale, sums[i].self_ns, sums[i].self_samples)}));
	free(sums);
}

static void add_tasks(const struct code_rows_of *of, struct code_report *out)
{
	const struct profile_data *profile = of->tree->profile;
	struct code_sum *sums = mem_alloc((profile->tasks.len + 1) * sizeof(*sums));
	for (size_t i = 0; i < of->tree->samples.len; i++) {
		const struct code_sample *sample = &of->tree->samples.items[i];
		if (sample->task_id <= 0 || (size_t)sample->task_id > profile->tasks.len)
			continue;
		sums[sample->task_id - 1].self_ns += sample->weight_ns;
		sums[sample->task_id - 1].self_samples++;
	}
	for (size_t i = 0; i < profile->tasks.len; i++)
		if (sums[i].self_samples)
			vec_push(&out->tasks, ((struct code_task){.name = profile->tasks.items[i],
								  .share = code_share_of(&of->scale, sums[i].self_ns,
											 sums[i].self_samples)}));
	free(sums);
}

static int by_executable(const void *a, const void *b)
{
	const struct code_process *x = a, *y = b;
	const char *first = x->process->executable, *second = y->process->executable;
	return strcmp(file_base_name(first ? first : "?"), file_base_name(second ? second : "?"));
}

/* `processes` are in no order yet: they may be sorted by what they ran. */
static void add_programs(const struct code_rows_of *of, struct code_report *out)
{
	uint64_t ns = 0, samples = 0;
	if (out->processes.len > 1)
		qsort(out->processes.items, out->processes.len, sizeof(*out->processes.items), by_executable);
	for (size_t i = 0; i < out->processes.len; i++) {
		const struct code_process *process = &out->processes.items[i];
		const char *name = process->process->executable ? file_base_name(process->process->executable) : "?";
		if (out->programs.len == 0 || strcmp(vec_last(&out->programs)->name, name) != 0) {
			vec_push(&out->programs, ((struct code_program){.name = name}));
			ns = samples = 0;
		}
		struct code_program *program = vec_last(&out->programs);
		ns += (uint64_t)llround(process->share.share * (double)of->scale.total_ns);
		samples += process->share.samples;
		program->processes++;
		program->python = program->python ? program->python : process->process->python;
		program->share = code_share_of(&of->scale, ns, samples);
	}
}

static int by_seconds(double a, double b)
{
	return (a < b) - (a > b);
}

static int by_thread(const void *a, const void *b)
{
	const struct code_thread *x = a, *y = b;
	int seconds = by_seconds(x->share.seconds, y->share.seconds);
	return seconds ? seconds : (x->thread > y->thread) - (x->thread < y->thread);
}

static int by_process(const void *a, const void *b)
{
	const struct code_process *x = a, *y = b;
	int seconds = by_seconds(x->share.seconds, y->share.seconds);
	return seconds ? seconds : (x->process > y->process) - (x->process < y->process);
}

static int by_task(const void *a, const void *b)
{
	const struct code_task *x = a, *y = b;
	int seconds = by_seconds(x->share.seconds, y->share.seconds);
	return seconds ? seconds : strcmp(x->name, y->name);
}

static int by_program(const void *a, const void *b)
{
	const struct code_program *x = a, *y = b;
	int seconds = by_seconds(x->share.seconds, y->share.seconds);
	return seconds ? seconds : strcmp(x->name, y->name);
}

static void sort_shares(struct code_report *out)
{
	if (out->programs.len > 1)
		qsort(out->programs.items, out->programs.len, sizeof(*out->programs.items), by_program);
	if (out->threads.len > 1)
		qsort(out->threads.items, out->threads.len, sizeof(*out->threads.items), by_thread);
	if (out->processes.len > 1)
		qsort(out->processes.items, out->processes.len, sizeof(*out->processes.items), by_process);
	if (out->tasks.len > 1)
		qsort(out->tasks.items, out->tasks.len, sizeof(*out->tasks.items), by_task);
}

/* The function that most of the time below the path's nodes went on in; CODE_NO_FRAME: none has more than half of all. */
static uint32_t next_on_path(const struct code_rows_of *of, const bool *on_path, struct code_sum *sums)
{
	const struct code_tree *tree = of->tree;
	const struct code_groups *functions = &of->groups[GROUP_FUNCTION];
	uint32_t best = CODE_NO_FRAME;
	memset(sums, 0, functions->count * sizeof(*sums));
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		if (!on_path[node->parent])
			continue;
		uint32_t function = functions->of[node->frame];
		sums[function].self_ns += node->self_ns;
		sums[function].self_samples += node->self_samples;
		sums[function].total_ns += node->total_ns;
		sums[function].total_samples += node->total_samples;
		if (2 * sums[function].total_ns > tree->nodes.items[CODE_ROOT].total_ns)
			best = function;
	}
	return best;
}

/* By function: calls from several lines are one step. */
static void add_path(const struct code_rows_of *of, struct code_report *out)
{
	const struct code_tree *tree = of->tree;
	const struct code_groups *functions = &of->groups[GROUP_FUNCTION];
	struct code_sum *sums = mem_alloc((functions->count + 1) * sizeof(*sums));
	bool *on_path = mem_alloc(tree->nodes.len), *next = mem_alloc(tree->nodes.len);
	on_path[CODE_ROOT] = true;
	for (size_t depth = 0; depth < PATH_MOST; depth++) {
		uint32_t function = next_on_path(of, on_path, sums);
		if (function == CODE_NO_FRAME)
			break;
		struct code_row row = code_row_of_group(of, GROUP_FUNCTION, function);
		row.self = code_share_of(&of->scale, sums[function].self_ns, sums[function].self_samples);
		row.total = code_share_of(&of->scale, sums[function].total_ns, sums[function].total_samples);
		vec_push(&out->path.items, row);
		next[CODE_ROOT] = false;
		for (size_t i = 1; i < tree->nodes.len; i++)
			next[i] = on_path[tree->nodes.items[i].parent] &&
				  functions->of[tree->nodes.items[i].frame] == function;
		bool *old = on_path;
		on_path = next;
		next = old;
	}
	free(on_path);
	free(next);
	free(sums);
}

/* A sample stands for the time before it: what lies in the bucket of its own moment is off by a period at most. */
static void add_timeline(const struct code_tree *tree, const struct stage_row *stage, struct code_report *out)
{
	uint64_t from_ns = stage->start_ns, to_ns = stage->end_ns;
	const struct code_select *select = &tree->select;
	for (size_t i = 0; i < tree->samples.len && !stage->end_ns; i++)
		to_ns = tree->samples.items[i].at_ns > to_ns ? tree->samples.items[i].at_ns : to_ns;
	from_ns = select->from_ns > from_ns ? select->from_ns : from_ns;
	to_ns = select->to_ns && select->to_ns < to_ns ? select->to_ns : to_ns;
	if (to_ns <= from_ns)
		return;
	for (int i = 0; i < CODE_BUCKETS; i++)
		vec_push(&out->timeline, 0.0);
	out->timeline_from_s = (double)from_ns / 1e9;
	out->bucket_s = (double)(to_ns - from_ns) / 1e9 / CODE_BUCKETS;
	for (size_t i = 0; i < tree->samples.len; i++) {
		const struct code_sample *sample = &tree->samples.items[i];
		const struct profile_thread *thread = &tree->profile->threads.items[sample->thread];
		if (tree->profile->processes.items[thread->process_id - 1].stage_id != stage->id)
			continue;
		double at = ((double)sample->at_ns - (double)from_ns) / 1e9 / out->bucket_s;
		size_t bucket = at < 0 ? 0 : at >= CODE_BUCKETS ? CODE_BUCKETS - 1 : (size_t)at;
		out->timeline.items[bucket] += (double)sample->weight_ns / 1e9;
	}
}

static void fill(struct code_rows_of *of, const struct code_request *request, const struct stage_record *last,
		 struct code_report *out)
{
	code_rows_rank(of, GROUP_FUNCTION, false, &out->by_self);
	code_rows_rank(of, GROUP_FUNCTION, true, &out->by_total);
	code_rows_rank(of, GROUP_MODULE, false, &out->modules);
	if (request->function)
		out->calls = code_calls_new(of, request->function);
	code_work_fill(of, out);
	sum_lines(of, true);
	code_rows_rank(of, GROUP_SPOT, false, &out->lines);
	sum_lines(of, false);
	code_rows_rank(of, GROUP_SPOT, false, &out->inner_lines);
	sum_kinds(of, out);
	add_threads(of, out);
	add_processes(of, out);
	add_tasks(of, out);
	add_programs(of, out);
	sort_shares(out);
	add_path(of, out);
	add_timeline(of->tree, &last->row, out);
}

/* Whether the CPU time of the stage was to be sampled: a process says so, or, where none had an agent, the stage's own metric.
 * Processes of which only the memory was watched have no period. */
static bool has_stage(const struct profile_data *profile, const struct code_stage *stage)
{
	for (size_t k = 0; k < stage->count; k++) {
		const struct stage_record *record = stage->records[k];
		bool any = false, gap = false;
		for (size_t i = 0; i < profile->processes.len; i++) {
			bool is_of = profile->processes.items[i].stage_id == record->row.id;
			if (is_of && profile->processes.items[i].period_ns)
				return true;
			any = any || is_of;
		}
		for (size_t i = 0; i < profile->gaps.len; i++)
			gap = gap || profile->gaps.items[i].stage_id == record->row.id;
		if (gap && !any && record->values[METRIC_PROFILE_SAMPLES].state == METRIC_KNOWN)
			return true;
	}
	return false;
}

/* Time that no sample was taken for is in the tree, too, as marks without a stack. */
static uint64_t taken_samples(const struct code_tree *tree)
{
	uint64_t taken = 0;
	for (size_t i = 0; i < tree->samples.len; i++) {
		uint32_t node = tree->samples.items[i].node;
		bool mark = node != CODE_ROOT && tree->nodes.items[node].parent == CODE_ROOT &&
			    tree->frames.items[tree->nodes.items[node].frame].kind == FRAME_MARK;
		taken += !mark;
	}
	return taken;
}

struct code_report *code_report_new(const struct profile_data *profile, const struct code_stage *stage,
				    const struct code_request *request)
{
	int64_t *ids = mem_alloc((stage->count + 1) * sizeof(*ids));
	for (size_t i = 0; i < stage->count; i++)
		ids[i] = stage->records[i]->row.id;
	struct code_report *out = NULL;
	if (stage->count && has_stage(profile, stage)) {
		struct code_select select = {.stage_ids = ids,
					     .stage_count = stage->count,
					     .pid = request->pid,
					     .tid = request->tid,
					     .from_ns = request->from_ns,
					     .to_ns = request->to_ns,
					     .view = request->view,
					     .by_line = true,
					     .graft_workers = true};
		struct code_tree tree;
		struct code_rows_of of;
		code_tree_build(profile, &select, &tree);
		code_rows_open(&tree, stage->count, &of);
		out = mem_alloc(sizeof(*out));
		out->view = request->view;
		out->cut = request->pid || request->tid || request->from_ns || request->to_ns;
		out->repetitions = stage->count;
		out->samples = taken_samples(&tree);
		out->seconds = (double)of.scale.total_ns / 1e9 / (double)stage->count;
		fill(&of, request, stage->records[stage->count - 1], out);
		code_quality_compute(profile, stage, request->pid, &out->quality);
		for (size_t i = 0; i < tree.names.len; i++)
			vec_push(&out->names, tree.names.items[i]);
		tree.names.len = 0;
		code_rows_close(&of);
		code_tree_fini(&tree);
	}
	free(ids);
	return out;
}

void code_report_free(struct code_report *report)
{
	if (!report)
		return;
	vec_fini(&report->functions.items);
	vec_fini(&report->by_self.items);
	vec_fini(&report->by_total.items);
	vec_fini(&report->lines.items);
	vec_fini(&report->inner_lines.items);
	vec_fini(&report->modules.items);
	vec_fini(&report->path.items);
	vec_fini(&report->python.items);
	vec_fini(&report->programs);
	vec_fini(&report->threads);
	vec_fini(&report->processes);
	vec_fini(&report->tasks);
	vec_fini(&report->timeline);
	code_quality_fini(&report->quality);
	code_calls_free(report->calls);
	for (size_t i = 0; i < report->names.len; i++)
		free(report->names.items[i]);
	vec_fini(&report->names);
	free(report);
}
