/* memory_report.c - see memory_report.h. */
#include "analyze/memory_report.h"
#include "analyze/code_quality.h"
#include "analyze/memory_rows.h"
#include "analyze/memory_trend.h"

#include <string.h>

/* What is asked for, and of which processes of the profile. */
struct asked {
	const struct profile_data *profile;
	const struct memory_data *memory;
	const struct code_stage *stage;
	const struct code_request *request;
	bool *wanted; /* per process of the profile: of a repetition that counts */
	bool *last;   /* of the last of them */
	double *parts;
};

static size_t choose(struct asked *asked)
{
	size_t found = 0;
	for (size_t i = 0; i < asked->memory->processes.len; i++) {
		int64_t id = asked->memory->processes.items[i].process_id;
		const struct profile_process *process = &asked->profile->processes.items[id - 1];
		if (asked->request->pid && process->pid != asked->request->pid)
			continue;
		for (size_t k = 0; k < asked->stage->count; k++)
			if (asked->stage->records[k]->row.id == process->stage_id) {
				asked->wanted[id - 1] = true;
				asked->last[id - 1] = k + 1 == asked->stage->count;
				found++;
			}
	}
	return found;
}

/* Each repetition has a peak of its own; what the report tells of is their mean, and when the last one's was. */
static void find_peaks(struct asked *asked, struct memory_report *out)
{
	const struct profile_data *profile = asked->profile;
	bool *one = mem_alloc(profile->processes.len + 1);
	double *parts = mem_alloc((profile->processes.len + 1) * sizeof(*parts)), sum = 0;
	for (size_t k = 0; k < asked->stage->count; k++) {
		struct memory_peak peak;
		for (size_t i = 0; i < profile->processes.len; i++)
			one[i] = asked->wanted[i] &&
				 profile->processes.items[i].stage_id == asked->stage->records[k]->row.id;
		memory_peak_find(profile, asked->memory, one, parts, &peak);
		for (size_t i = 0; i < profile->processes.len; i++)
			asked->parts[i] = one[i] ? parts[i] : asked->parts[i];
		sum += peak.bytes;
		out->peak_at_s = (double)peak.at_ns / 1e9;
		out->peak_processes = peak.processes;
		out->quality.scaled = out->quality.scaled || !peak.whole;
	}
	out->peak.bytes = sum / (double)asked->stage->count;
	free(one);
	free(parts);
}

/* What a process counted is its heap; its maps are counted one by one in either mode. */
static void add_maps(struct memory_report *out)
{
	const struct memory_estimate *maps = &out->tables[MEMORY_BY_ALLOCATED].kinds[MEMORY_ANONYMOUS];
	out->calls += maps->count;
	out->allocated_bytes += maps->bytes;
}

/* The sites' estimates know how sure the peak is; the peak itself was counted. */
static void finish_peak(struct memory_report *out)
{
	const struct memory_estimate *sites = &out->tables[MEMORY_BY_PEAK].all;
	out->peak.low = out->peak.bytes - (sites->bytes - sites->low);
	out->peak.high = out->peak.bytes + (sites->high - sites->bytes);
	out->peak.low = out->peak.low > 0 ? out->peak.low : 0;
	out->peak.share = 1;
	out->peak.count = sites->count;
}

static int by_peak(const void *a, const void *b)
{
	const struct memory_process_row *x = a, *y = b;
	if (x->memory->peak_bytes != y->memory->peak_bytes)
		return x->memory->peak_bytes < y->memory->peak_bytes ? 1 : -1;
	return (x->process > y->process) - (x->process < y->process);
}

static void add_remark(struct code_remarks *remarks, const char *text)
{
	for (size_t i = 0; i < remarks->items.len; i++)
		if (strcmp(remarks->items.items[i].text, text) == 0) {
			remarks->items.items[i].processes++;
			return;
		}
	vec_push(&remarks->items, ((struct code_remark){text, 1}));
}

static void add_processes(const struct asked *asked, struct memory_report *out)
{
	struct memory_quality *quality = &out->quality;
	double n = (double)asked->stage->count;
	for (size_t i = 0; i < asked->memory->processes.len; i++) {
		const struct memory_process *memory = &asked->memory->processes.items[i];
		const struct profile_process *process = &asked->profile->processes.items[memory->process_id - 1];
		if (!asked->wanted[memory->process_id - 1])
			continue;
		out->calls += (double)memory->calls / n;
		out->allocated_bytes += (double)memory->allocated_bytes / n;
		if (asked->last[memory->process_id - 1])
			vec_push(&out->processes, ((struct memory_process_row){memory, process}));
		quality->processes++;
		quality->sampled += !memory->exact;
		if (memory->period_bytes > quality->period_bytes)
			quality->period_bytes = memory->period_bytes;
		if (memory->agent_bytes > quality->agent_bytes)
			quality->agent_bytes = memory->agent_bytes;
		quality->lost += memory->lost;
		quality->unknown_frees += memory->unknown_frees;
		quality->truncated += memory->truncated;
		quality->unmatched += memory->unmatched;
		if (memory->note)
			add_remark(&quality->notes, memory->note);
		if (process->note)
			add_remark(&quality->notes, process->note);
		if (memory->allocator)
			add_remark(&quality->allocators, memory->allocator);
	}
	if (out->processes.len > 1)
		qsort(out->processes.items, out->processes.len, sizeof(*out->processes.items), by_peak);
}

static int by_site(const void *a, const void *b)
{
	const struct memory_site *x = ((const struct memory_site_row *)a)->site,
				 *y = ((const struct memory_site_row *)b)->site;
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		if (x->amounts[i].bytes != y->amounts[i].bytes)
			return x->amounts[i].bytes < y->amounts[i].bytes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The stack's innermost frame: what it was recorded as, without any view. */
static struct code_row place_of(const struct profile_data *profile, int64_t stack_id)
{
	if (stack_id == 0)
		return (struct code_row){.kind = FRAME_MARK, .function = "[no stack]"};
	const struct profile_frame *frame = &profile->frames.items[profile->stacks.items[stack_id - 1].frame_id - 1];
	return (struct code_row){.kind = frame->kind,
				 .function = frame->function,
				 .module = frame->module,
				 .file = frame->file,
				 .line = frame->line};
}

static void add_sites(const struct asked *asked, struct memory_report *out)
{
	for (size_t i = 0; i < asked->memory->sites.len; i++) {
		const struct memory_site *site = &asked->memory->sites.items[i];
		if (!asked->wanted[site->process_id - 1])
			continue;
		out->quality.samples += site->amounts[MEMORY_BY_ALLOCATED].samples;
		vec_push(&out->sites,
			 ((struct memory_site_row){.site = site,
						   .process = &asked->profile->processes.items[site->process_id - 1],
						   .place = place_of(asked->profile, site->stack_id)}));
	}
	if (out->sites.len > 1)
		qsort(out->sites.items, out->sites.len, sizeof(*out->sites.items), by_site);
}

/* Buckets of several processes added up; they lie by where they begin. */
static void add_buckets(const struct asked *asked, struct memory_report *out)
{
	for (size_t i = 0; i < asked->memory->buckets.len; i++) {
		const struct memory_bucket *bucket = &asked->memory->buckets.items[i];
		struct memory_bucket *found = NULL;
		if (!asked->wanted[bucket->process_id - 1])
			continue;
		bool size = bucket->what == MEMORY_BY_SIZE;
		struct memory_bucket *items = size ? out->sizes.items : out->lifetimes.items;
		size_t count = size ? out->sizes.len : out->lifetimes.len;
		for (size_t k = 0; k < count; k++)
			found = items[k].low == bucket->low ? &items[k] : found;
		if (found)
			found->calls += bucket->calls;
		else if (size)
			vec_push(&out->sizes, *bucket);
		else
			vec_push(&out->lifetimes, *bucket);
	}
}

static int by_low(const void *a, const void *b)
{
	const struct memory_bucket *x = a, *y = b;
	return (x->low > y->low) - (x->low < y->low);
}

static void add_timeline(const struct asked *asked, struct memory_report *out)
{
	const struct stage_row *row = &asked->stage->records[asked->stage->count - 1]->row;
	uint64_t to_ns = row->end_ns;
	for (size_t i = 0; i < asked->profile->processes.len && !row->end_ns; i++)
		if (asked->last[i] && asked->profile->processes.items[i].end_ns > to_ns)
			to_ns = asked->profile->processes.items[i].end_ns;
	out->timeline_from_s = (double)row->start_ns / 1e9;
	if (to_ns <= row->start_ns)
		return;
	vec_reserve(&out->timeline, MEMORY_BUCKETS);
	out->timeline.len = MEMORY_BUCKETS;
	out->bucket_s = (double)(to_ns - row->start_ns) / 1e9 / MEMORY_BUCKETS;
	memory_peak_timeline(asked->profile, asked->memory, asked->last, row->start_ns, to_ns, out->timeline.items,
			     MEMORY_BUCKETS);
}

static void add_tables(const struct asked *asked, struct memory_report *out)
{
	int64_t *ids = mem_alloc((asked->stage->count + 1) * sizeof(*ids));
	for (size_t i = 0; i < asked->stage->count; i++)
		ids[i] = asked->stage->records[i]->row.id;
	struct code_select select = {.stage_ids = ids,
				     .stage_count = asked->stage->count,
				     .pid = asked->request->pid,
				     .tid = asked->request->tid,
				     .view = asked->request->view,
				     .by_line = true};
	struct memory_choice choice = memory_choose(asked->profile, asked->memory, asked->parts);
	struct memory_tree tree;
	memory_tree_open(&choice, &select, asked->stage->count, &tree);
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		memory_table_fill(&tree, (enum memory_weight)i, &out->tables[i]);
	memory_trends(&tree, out);
	for (size_t i = 0; i < tree.tree.names.len; i++)
		vec_push(&out->names, tree.tree.names.items[i]);
	tree.tree.names.len = 0;
	memory_tree_close(&tree);
	free(ids);
}

/* Processes without an agent are the same ones, and for the same reasons, as in the profile of the CPU time. */
static void add_gaps(const struct asked *asked, struct memory_report *out)
{
	struct code_quality quality;
	code_quality_compute(asked->profile, asked->stage, asked->request->pid, &quality);
	for (size_t i = 0; i < quality.gaps.len; i++) {
		vec_push(&out->quality.gaps, quality.gaps.items[i]);
		out->quality.gap_processes += (double)quality.gaps.items[i].processes;
	}
	code_quality_fini(&quality);
}

static struct memory_report *make(struct asked *asked)
{
	struct memory_report *out = mem_alloc(sizeof(*out));
	out->profile = asked->profile;
	out->data = asked->memory;
	out->view = asked->request->view;
	out->cut = asked->request->pid || asked->request->tid;
	out->repetitions = asked->stage->count;
	find_peaks(asked, out);
	add_tables(asked, out);
	finish_peak(out);
	add_processes(asked, out);
	add_maps(out);
	add_sites(asked, out);
	add_buckets(asked, out);
	if (out->sizes.len > 1)
		qsort(out->sizes.items, out->sizes.len, sizeof(*out->sizes.items), by_low);
	if (out->lifetimes.len > 1)
		qsort(out->lifetimes.items, out->lifetimes.len, sizeof(*out->lifetimes.items), by_low);
	add_timeline(asked, out);
	memory_explain_largest(asked->memory, asked->last, &out->explanation);
	memory_types_find(asked->memory, asked->last, &out->types);
	add_gaps(asked, out);
	return out;
}

struct memory_report *memory_report_new(const struct profile_data *profile, const struct memory_data *memory,
					const struct code_stage *stage, const struct code_request *request)
{
	struct memory_report *out = NULL;
	size_t count = profile->processes.len + 1;
	struct asked asked = {.profile = profile,
			      .memory = memory,
			      .stage = stage,
			      .request = request,
			      .wanted = mem_alloc(count),
			      .last = mem_alloc(count),
			      .parts = mem_alloc(count * sizeof(double))};
	if (stage->count && choose(&asked) > 0)
		out = make(&asked);
	free(asked.wanted);
	free(asked.last);
	free(asked.parts);
	return out;
}

void memory_report_free(struct memory_report *report)
{
	if (!report)
		return;
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		memory_table_fini(&report->tables[i]);
	for (size_t i = 0; i < report->names.len; i++)
		free(report->names.items[i]);
	vec_fini(&report->names);
	vec_fini(&report->processes);
	vec_fini(&report->sites);
	vec_fini(&report->trends);
	vec_fini(&report->timeline);
	vec_fini(&report->sizes);
	vec_fini(&report->lifetimes);
	vec_fini(&report->quality.notes.items);
	vec_fini(&report->quality.allocators.items);
	vec_fini(&report->quality.gaps);
	memory_types_fini(&report->types);
	free(report);
}
