/*
 * collect_image.c - one wire file: process, threads, stacks and samples as rows of the run file.
 *
 * The weights of an image add up to its CPU time:
 *
 *	before the agent began       one sample of the main thread, "[startup before the agent]"
 *	the samples themselves
 *	after a thread's last one    one sample on that thread's last stack, or "[not sampled]" where it has none
 *	what is left                 of threads that were still there at the end: in equal parts on their last stacks while it is
 *	                             no more than they can have used since; anything beyond that is "[not sampled]"
 *
 * Samples are gone through three times (which nodes are used, what do they add up to, write them) and never held.
 */
#include "base/clock.h"
#include "base/str.h"
#include "run/collect_inside.h"
#include "store/owner.h"

#include <stdio.h>
#include <string.h>

#define MARK_STARTUP     "[startup before the agent]"
#define MARK_NOT_SAMPLED "[not sampled]"

struct thread_sum {
	uint64_t samples, weight_ns, truncated, unmatched, busy;
	uint64_t last_mono_ns, rest_ns;
	uint32_t last_node;
	int64_t id; /* of the row */
	bool ended; /* its CPU time at its end is known */
};

struct storing {
	struct collect *collect;
	struct image *image;
	struct wire_file *file;
	struct frame_maker maker;
	struct thread_sum *sums; /* one per thread, and one more where the file has none */
	size_t threads;
	size_t main;     /* which of them has what belongs to no thread */
	uint8_t *used;   /* per node */
	int64_t *stacks; /* per node: of the samples taken there */
	int64_t *below;  /* per node: what its callees hang below; another only where the node is the agent's */
	int64_t *tasks;
	uint64_t startup_ns, leftover_ns, weight_ns, last_mono_ns;
	uint32_t now_thread; /* of the samples being written */
};

/* ---- which nodes are used ---- */

static bool mark_used(void *context, const struct read_sample *sample)
{
	struct storing *storing = context;
	for (uint32_t at = sample->node; at != WIRE_NOWHERE && !storing->used[at];
	     at = storing->file->nodes.items[at].parent)
		storing->used[at] = 1;
	return true;
}

static void find_used(struct storing *storing)
{
	struct wire_file *file = storing->file;
	storing->used = mem_alloc(file->nodes.len ? file->nodes.len : 1);
	wire_samples(file, mark_used, storing);
	for (size_t i = 0; i < file->threads.len; i++)
		mark_used(storing, &(struct read_sample){.node = file->threads.items[i].creator});
	for (size_t i = 0; file->memory && i < file->memory->sites.len; i++)
		mark_used(storing, &(struct read_sample){.node = file->memory->sites.items[i].node});
}

static bool open_image(struct collect *collect, struct image *image, struct storing *out)
{
	struct err err;
	*out = (struct storing){.collect = collect, .image = image};
	if (wire_read(image->path, &out->file, &err) != 0) {
		collect_remark(collect, image->summary.stage_id, true, "a process's samples cannot be read: %s",
			       err.text);
		return false;
	}
	out->maker = (struct frame_maker){.collect = collect, .file = out->file};
	find_used(out);
	return true;
}

static void close_image(struct storing *storing)
{
	frame_maker_fini(&storing->maker);
	wire_file_free(storing->file);
	free(storing->sums);
	free(storing->used);
	free(storing->stacks);
	free(storing->below);
	free(storing->tasks);
}

void image_wants(struct collect *collect, struct image *image)
{
	struct storing storing;
	if (!open_image(collect, image, &storing))
		return;
	const struct wire_file *file = storing.file;
	for (size_t i = 0; i < file->order.len; i++)
		if (storing.used[file->order.items[i]])
			frame_want(&storing.maker, &file->nodes.items[file->order.items[i]]);
	for (size_t i = 0; i < file->threads.len; i++)
		if (file->threads.items[i].start_routine)
			frame_want_entry(&storing.maker, file->threads.items[i].start_routine);
	close_image(&storing);
}

/* ---- sums ---- */

static bool sum_sample(void *context, const struct read_sample *sample)
{
	struct storing *storing = context;
	struct thread_sum *sum = &storing->sums[sample->thread];
	sum->samples++;
	sum->weight_ns += sample->weight_ns;
	sum->truncated += (sample->flags & WIRE_SAMPLE_TRUNCATED) != 0;
	sum->unmatched += (sample->flags & WIRE_SAMPLE_UNMATCHED) != 0;
	sum->busy += (sample->flags & WIRE_SAMPLE_BUSY) != 0;
	if (sample->node != WIRE_NOWHERE)
		sum->last_node = sample->node;
	if (sample->mono_ns > sum->last_mono_ns)
		sum->last_mono_ns = sample->mono_ns;
	return true;
}

/* `later` less `earlier`, of numbers that may be anything: no more than could have been used while the run lasted. */
static uint64_t span(const struct storing *storing, uint64_t earlier, uint64_t later)
{
	enum { CORES_MOST = 4096 };
	uint64_t most = (storing->collect->now_mono_ns - storing->collect->options->run_start_mono_ns) * CORES_MOST;
	return later > earlier && later - earlier <= most ? later - earlier : 0;
}

static void sum_threads(struct storing *storing)
{
	const struct wire_file *file = storing->file;
	storing->threads = file->threads.len ? file->threads.len : 1;
	storing->sums = mem_alloc(storing->threads * sizeof(*storing->sums));
	for (size_t i = 0; i < storing->threads; i++)
		storing->sums[i].last_node = WIRE_NOWHERE;
	wire_samples(storing->file, sum_sample, storing);
	for (size_t i = 0; i < file->threads.len; i++) {
		const struct read_thread *thread = &file->threads.items[i];
		struct thread_sum *sum = &storing->sums[i];
		uint64_t last = thread->cpu_last_ns ? thread->cpu_last_ns : thread->cpu_start_ns;
		sum->ended = thread->cpu_end_ns != 0;
		sum->rest_ns = sum->ended ? span(storing, last, thread->cpu_end_ns) : 0;
		if (thread->is_main)
			storing->main = i;
		storing->weight_ns += sum->weight_ns + sum->rest_ns;
		if (sum->last_mono_ns > storing->last_mono_ns)
			storing->last_mono_ns = sum->last_mono_ns;
	}
}

/* Time of threads that were there to the end: one period for each is what they can have used since their last sample. */
static void share_leftover(struct storing *storing, uint64_t leftover)
{
	uint64_t open = 0, period = storing->image->summary.period_ns;
	for (size_t i = 0; i < storing->threads; i++)
		open += !storing->sums[i].ended && storing->sums[i].last_node != WIRE_NOWHERE;
	if (!open || leftover / open > 2 * period) {
		storing->leftover_ns = leftover;
		return;
	}
	for (size_t i = 0; i < storing->threads; i++)
		if (!storing->sums[i].ended && storing->sums[i].last_node != WIRE_NOWHERE)
			storing->sums[i].rest_ns += leftover / open;
	storing->leftover_ns = leftover % open;
}

/* The image's CPU time, and what of it no sample stands for. */
static uint64_t account(struct storing *storing)
{
	const struct wire_summary *summary = &storing->image->summary;
	sum_threads(storing);
	storing->startup_ns = span(storing, storing->image->cpu_before_ns, summary->cpu_start_ns);
	uint64_t known_ns = storing->startup_ns + storing->weight_ns;
	uint64_t cpu_ns = summary->cpu_end_ns ? span(storing, storing->image->cpu_before_ns, summary->cpu_end_ns) : 0;
	if (cpu_ns > known_ns) {
		/* Starting the agent comes before its first thread's clock. */
		uint64_t missing = cpu_ns - known_ns;
		uint64_t start = missing < summary->start_cost_ns ? missing : summary->start_cost_ns;
		storing->startup_ns += start;
		share_leftover(storing, missing - start);
		known_ns = cpu_ns;
	}
	storing->weight_ns = known_ns;
	return cpu_ns ? cpu_ns : known_ns;
}

/* ---- rows ---- */

static const char *const endings[] = {[WIRE_OPEN] = "killed",
				      [WIRE_ENDED_EXIT] = "exit",
				      [WIRE_ENDED_EXEC] = "exec",
				      [WIRE_ENDED_STOPPED] = "stopped"};
static const char *const clocks[] = {[WIRE_CLOCK_NONE] = NULL,
				     [WIRE_CLOCK_PERF] = "perf task-clock",
				     [WIRE_CLOCK_PERF_USER] =
					     "perf task-clock in user mode, kernel's tick for the rest",
				     [WIRE_CLOCK_TICK] = "kernel's tick"};

static char *python_text(const struct wire_summary *summary)
{
	uint32_t version = summary->python_version;
	if (summary->python == WIRE_PYTHON_NONE)
		return NULL;
	return version ? mem_printf("%u.%u.%u", version >> 24, version >> 16 & 0xFF, version >> 8 & 0xFF)
		       : mem_strdup("of an unknown version");
}

static char *note_text(const struct wire_summary *summary)
{
	if (summary->stop_reason[0])
		return str_utf8_clean(summary->stop_reason, strlen(summary->stop_reason));
	if (summary->python == WIRE_PYTHON_UNKNOWN_VERSION)
		return mem_strdup("this version of Python is not known: native frames only");
	if (summary->python == WIRE_PYTHON_NO_SYMBOLS)
		return mem_strdup("the interpreter's symbols are missing: native frames only");
	if (summary->end == WIRE_OPEN && summary->start_ticks &&
	    owner_start_ticks(summary->pid) == summary->start_ticks)
		return mem_strdup("it was still running when its samples were collected");
	return NULL;
}

/* What a person should hear, once per stage and kind. */
static void remark_on(struct storing *storing, const struct profile_process *row)
{
	const struct wire_summary *summary = &storing->image->summary;
	const struct wire_dropped *dropped = &storing->file->dropped;
	struct collect *collect = storing->collect;
	int64_t stage = summary->stage_id;
	if (summary->clock == WIRE_CLOCK_TICK)
		collect_remark(
			collect, stage, true,
			"the code was sampled at the kernel's tick (%ld Hz at most), because perf events are not "
			"allowed (see pitot doctor)",
			clock_tick_hz());
	if (summary->python == WIRE_PYTHON_UNKNOWN_VERSION)
		collect_remark(collect, stage, true, "Python %s is not known to this pitot: native frames only",
			       row->python);
	if (summary->python == WIRE_PYTHON_NO_SYMBOLS)
		collect_remark(collect, stage, true, "a Python interpreter has no symbols: native frames only");
	if (summary->stop_reason[0])
		collect_remark(collect, stage, true, "profiling the code ended early: %s", row->note);
	/* A thread that is about to end counts as missed too: only where time is missing is there something to say. */
	if (summary->threads_missed && storing->leftover_ns > row->cpu_ns / 100)
		collect_remark(collect, stage, true,
			       "threads without a clock (made past libc, or no memory or descriptor for one) were not "
			       "sampled: their time is \"" MARK_NOT_SAMPLED "\"");
	if (dropped->bytes || dropped->records || dropped->nodes || dropped->samples || dropped->stacks_lost)
		collect_remark(collect, stage, true,
			       "a process's samples are damaged: what makes no sense was left out");
}

static uint64_t end_of(const struct storing *storing)
{
	const struct wire_summary *summary = &storing->image->summary;
	uint64_t end = summary->end_mono_ns ? summary->end_mono_ns : storing->last_mono_ns;
	for (size_t i = 0; i < storing->file->threads.len && !summary->end_mono_ns; i++)
		if (storing->file->threads.items[i].end_mono_ns > end)
			end = storing->file->threads.items[i].end_mono_ns;
	return end > summary->start_mono_ns ? end : summary->start_mono_ns;
}

static bool store_process_row(struct storing *storing, uint64_t cpu_ns, struct profile_process *row)
{
	const struct wire_summary *summary = &storing->image->summary;
	struct collect *collect = storing->collect;
	*row = (struct profile_process){.stage_id = summary->stage_id,
					.pid = summary->pid,
					.ppid = summary->ppid,
					.start_ns = collect_since_start(collect, summary->start_mono_ns),
					.end_ns = collect_since_start(collect, end_of(storing)),
					.executable = str_utf8_clean(summary->executable, strlen(summary->executable)),
					.python = python_text(summary),
					.clock = (char *)clocks[summary->clock],
					.end = (char *)endings[summary->end],
					.note = note_text(summary),
					.period_ns = summary->period_ns,
					.cpu_ns = cpu_ns,
					.weight_ns = storing->weight_ns,
					.lost = summary->lost_full + summary->lost_thread +
						storing->file->dropped.samples,
					.start_cost_ns = summary->start_cost_ns};
	for (size_t i = 0; i < storing->threads; i++) {
		row->samples += storing->sums[i].samples;
		row->truncated += storing->sums[i].truncated;
		row->unmatched += storing->sums[i].unmatched;
		row->busy += storing->sums[i].busy;
	}
	for (size_t i = 0; i < storing->file->threads.len; i++)
		row->handler_ns += storing->file->threads.items[i].handler_ns;
	remark_on(storing, row);
	bool stored = collect_stored(collect, store_profile_process(collect->options->store, row, collect->err));
	free(row->executable);
	free(row->python);
	free(row->note);
	return stored;
}

static bool store_stacks(struct storing *storing)
{
	const struct wire_file *file = storing->file;
	size_t nodes = file->nodes.len ? file->nodes.len : 1;
	storing->stacks = mem_alloc(nodes * sizeof(*storing->stacks));
	storing->below = mem_alloc(nodes * sizeof(*storing->below));
	for (size_t i = 0; i < file->order.len; i++) {
		uint32_t at = file->order.items[i];
		const struct read_node *node = &file->nodes.items[at];
		if (!storing->used[at])
			continue;
		int64_t parent = node->parent == WIRE_NOWHERE ? 0 : storing->below[node->parent];
		bool agent = frame_is_agent(&storing->maker, node);
		storing->stacks[at] = agent ? frame_agent_stack(storing->collect, parent)
					    : frame_stack(&storing->maker, node, parent);
		storing->below[at] = agent ? parent : storing->stacks[at];
		if (!storing->stacks[at])
			return false;
	}
	return true;
}

static bool store_tasks(struct storing *storing)
{
	const struct wire_file *file = storing->file;
	struct collect *collect = storing->collect;
	storing->tasks = mem_alloc((file->tasks.len ? file->tasks.len : 1) * sizeof(*storing->tasks));
	for (size_t i = 0; i < file->tasks.len; i++)
		if (!collect_stored(collect, store_profile_task(collect->options->store, file->tasks.items[i],
								&storing->tasks[i], collect->err)))
			return false;
	return true;
}

/* A file without a single thread still has a startup. */
static const struct read_thread *thread_at(const struct storing *storing, size_t index, struct read_thread *none)
{
	const struct wire_summary *summary = &storing->image->summary;
	if (index < storing->file->threads.len)
		return &storing->file->threads.items[index];
	*none = (struct read_thread){
		.tid = summary->pid, .is_main = true, .start_mono_ns = summary->start_mono_ns, .creator = WIRE_NOWHERE};
	const char *slash = strrchr(summary->executable, '/');
	snprintf(none->name, sizeof(none->name), "%.16s", slash ? slash + 1 : summary->executable);
	return none;
}

static uint64_t thread_end(const struct storing *storing, const struct read_thread *thread,
			   const struct thread_sum *sum)
{
	uint64_t end = thread->end_mono_ns ? thread->end_mono_ns : end_of(storing);
	end = end > sum->last_mono_ns ? end : sum->last_mono_ns;
	return end > thread->start_mono_ns ? end : thread->start_mono_ns;
}

static bool store_thread_row(struct storing *storing, size_t index, int64_t process_id)
{
	struct read_thread none;
	const struct read_thread *thread = thread_at(storing, index, &none);
	struct thread_sum *sum = &storing->sums[index];
	struct collect *collect = storing->collect;
	uint64_t extra = index == storing->main ? storing->startup_ns + storing->leftover_ns : 0;
	struct profile_thread row = {
		.process_id = process_id,
		.tid = thread->tid,
		.is_main = thread->is_main,
		.name = str_utf8_clean(thread->name, strlen(thread->name)),
		.entry = thread->start_routine ? frame_entry_name(&storing->maker, thread->start_routine) : NULL,
		.creator_stack = thread->creator != WIRE_NOWHERE ? storing->stacks[thread->creator] : 0,
		.start_ns = collect_since_start(collect, thread->start_mono_ns),
		.end_ns = collect_since_start(collect, thread_end(storing, thread, sum)),
		.cpu_ns = sum->weight_ns + sum->rest_ns + extra,
		.weight_ns = sum->weight_ns + sum->rest_ns + extra,
		.samples = sum->samples,
		.truncated = sum->truncated,
		.unmatched = sum->unmatched,
		.busy = sum->busy,
		.handler_ns = thread->handler_ns};
	bool stored = collect_stored(collect, store_profile_thread(collect->options->store, &row, collect->err));
	sum->id = row.id;
	free(row.name);
	free(row.entry);
	return stored;
}

/* ---- samples ---- */

static bool put(struct storing *storing, const struct profile_sample *sample)
{
	struct collect *collect = storing->collect;
	return collect_stored(collect, store_profile_sample(collect->options->store, sample, collect->err));
}

/* CPU time on a remark instead of a stack. */
static bool put_mark(struct storing *storing, size_t thread, uint64_t mono_ns, uint64_t weight_ns, const char *text)
{
	struct profile_sample sample = {.thread_id = storing->sums[thread].id,
					.at_ns = collect_since_start(storing->collect, mono_ns),
					.weight_ns = weight_ns};
	if (!weight_ns)
		return true;
	sample.stack_id = frame_mark_stack(storing->collect, text);
	return sample.stack_id && put(storing, &sample);
}

static bool put_rest(struct storing *storing, size_t index)
{
	struct read_thread none;
	const struct read_thread *thread = thread_at(storing, index, &none);
	const struct thread_sum *sum = &storing->sums[index];
	uint64_t end = thread_end(storing, thread, sum);
	if (sum->last_node == WIRE_NOWHERE)
		return put_mark(storing, index, end, sum->rest_ns, MARK_NOT_SAMPLED);
	struct profile_sample sample = {.thread_id = sum->id,
					.at_ns = collect_since_start(storing->collect, end),
					.stack_id = storing->stacks[sum->last_node],
					.weight_ns = sum->rest_ns};
	return !sum->rest_ns || put(storing, &sample);
}

/* What comes before the first sample of a thread, and after its last. */
static bool put_before(struct storing *storing, size_t index)
{
	uint64_t start = storing->image->summary.start_mono_ns;
	return index != storing->main || put_mark(storing, index, start, storing->startup_ns, MARK_STARTUP);
}

static bool put_after(struct storing *storing, size_t index)
{
	uint64_t end = end_of(storing);
	return put_rest(storing, index) &&
	       (index != storing->main || put_mark(storing, index, end, storing->leftover_ns, MARK_NOT_SAMPLED));
}

/* Threads without samples lie between those that have some. */
static bool go_to_thread(struct storing *storing, uint32_t thread)
{
	bool well = true;
	for (; storing->now_thread < thread && well; storing->now_thread++)
		well = put_after(storing, storing->now_thread) &&
		       (storing->now_thread + 1 >= storing->threads || put_before(storing, storing->now_thread + 1));
	return well;
}

static bool put_sample(void *context, const struct read_sample *sample)
{
	struct storing *storing = context;
	if (!go_to_thread(storing, sample->thread))
		return false;
	struct profile_sample row = {.thread_id = storing->sums[sample->thread].id,
				     .at_ns = collect_since_start(storing->collect, sample->mono_ns),
				     .stack_id = sample->node != WIRE_NOWHERE ? storing->stacks[sample->node] : 0,
				     .weight_ns = sample->weight_ns,
				     .flags = sample->flags,
				     .task_id = sample->task != WIRE_NOWHERE ? storing->tasks[sample->task] : 0};
	return put(storing, &row);
}

static void store_samples(struct storing *storing)
{
	if (!put_before(storing, 0))
		return;
	wire_samples(storing->file, put_sample, storing);
	go_to_thread(storing, (uint32_t)storing->threads);
}

/* A call through the agent's own allocation functions is a call by what is below them. */
static bool store_memory(struct storing *storing, int64_t process_id)
{
	int64_t *threads = mem_alloc(storing->threads * sizeof(*threads));
	for (size_t i = 0; i < storing->threads; i++)
		threads[i] = storing->sums[i].id;
	struct memory_owner owner = {process_id, storing->below, threads};
	bool stored = memory_store_all(storing->collect, storing->file, &owner);
	free(threads);
	return stored;
}

void image_store(struct collect *collect, struct image *image)
{
	struct storing storing;
	struct profile_process process;
	if (!open_image(collect, image, &storing))
		return;
	bool timed = image->summary.period_ns > 0;
	uint64_t cpu_ns = account(&storing);
	if (!timed)
		storing.weight_ns = 0;
	bool well = store_process_row(&storing, cpu_ns, &process) && store_stacks(&storing) && store_tasks(&storing);
	for (size_t i = 0; i < storing.threads && well; i++)
		well = store_thread_row(&storing, i, process.id);
	if (well && timed)
		store_samples(&storing);
	well = well && store_memory(&storing, process.id);
	image->covered_ns = timed ? storing.weight_ns : cpu_ns;
	struct stage_sum *sum = collect_stage_of(collect, image->summary.stage_id);
	if (well && sum) {
		sum->images++;
		sum->samples += process.samples;
		sum->lost += process.lost;
		sum->weight_ns += process.weight_ns;
		sum->cpu_ns += cpu_ns;
		sum->handler_ns += process.handler_ns;
	}
	close_image(&storing);
}
