/*
 * rule_heap.c - what allocations (run --memory) say: a line that leaks, blocks that are thrown away at once, a peak that one line
 * makes, and memory that the allocator keeps though it is free.
 */
#include "analyze/rule.h"

#include <math.h>
#include <stdlib.h>

static const double leak_share = 0.05;            /* of the peak, from which on a leak is to be fixed */
static const double churn_per_s = 1e6;            /* calls per second of CPU time */
static const double churn_share = 0.3;            /* of them: by one line */
static const double churn_call_s = 50e-9;         /* what one allocation and its free cost where it goes well */
static const double peak_bytes = 128 * 1048576.0; /* less is no reason to change a program */
static const double peak_share = 0.5;             /* of the peak: by one line */
static const double kept_bytes = 64 * 1048576.0;  /* less is the noise of allocators */
static const double kept_share = 0.5;             /* of the private memory */
static const double page_bytes = 4096;
static const double first_touch_share = 0.05; /* of the elapsed time: less is no gain to speak of */

static const char *method_source(const struct memory_report *memory)
{
	return memory->quality.sampled ? "sampled allocations" : "every allocation";
}

static enum metric_method method_of(const struct memory_report *memory)
{
	return memory->quality.sampled ? METHOD_SAMPLED : METHOD_EXACT;
}

static const struct memory_report *memory_of(const struct evidence *evidence)
{
	return evidence->stage ? evidence->stage->memory : NULL;
}

static void examine_leak(const struct evidence *evidence, struct finding_list *out)
{
	const struct memory_report *memory = memory_of(evidence);
	if (!memory || memory->trends.len == 0 || !memory->trends.items[0].grows)
		return;
	const struct memory_trend *trend = &memory->trends.items[0];
	bool heavy = trend->last_bytes >= leak_share * memory->peak.bytes;
	char *place = code_row_words(&trend->place);
	struct finding *finding = finding_add(out, &rule_leak, evidence, heavy ? FINDING_FIX : FINDING_LOOK);
	finding_say(finding, "%s keeps %.3g KiB more with every %s (%.3g to %.3g, over %llu of them).", place,
		    trend->bytes / 1024, memory_turn_name(trend->per), trend->low / 1024, trend->high / 1024,
		    (unsigned long long)trend->turns);
	finding_advise(finding,
		       "Look for what holds on to these blocks: a list or cache that only grows, a missing free, an "
		       "object that something else still refers to.");
	bool chunks = trend->per == MEMORY_PER_CHUNK;
	finding_cite_other(finding, chunks ? "leak_bytes_per_chunk" : "leak_bytes_per_snapshot", UNIT_BYTES,
			   trend->bytes, method_of(memory),
			   chunks ? "least squares through the live bytes at the ends of chunks"
				  : "least squares through the live bytes at each snapshot");
	finding_cite_other(finding, "leak_live_bytes", UNIT_BYTES, trend->last_bytes, method_of(memory),
			   chunks ? "live bytes at the last chunk's end" : "live bytes at the last snapshot");
	free(place);
}

const struct finding_rule rule_leak = {
	.id = "leak",
	.title = "A line that keeps more with every chunk or snapshot",
	.fires = "the live bytes of a line (run --memory, with chunks by pitot_chunk_end, pitot.chunk or pitot.chunks, "
		 "or "
		 "snapshots by pitot_snapshot or pitot.snapshot) rise from chunk to chunk, or from snapshot "
		 "to snapshot: the slope's interval, one that holds for all lines together at 95 %, lies above 0; "
		 "`look` where "
		 "the line has less than 5 % of the peak",
	.why = "a program that keeps something of every chunk needs memory in proportion to its input, and at last is "
	       "killed",
	.todo = "find what holds on to the blocks, and let go of them",
	.depth = 4,
	.examine = examine_leak,
};

/* The line that most calls come from. */
static const struct memory_row *busiest(const struct memory_rows *rows)
{
	const struct memory_row *best = NULL;
	for (size_t i = 0; i < rows->items.len; i++)
		if (!best || rows->items.items[i].self.count > best->self.count)
			best = &rows->items.items[i];
	return best;
}

static void examine_churn(const struct evidence *evidence, struct finding_list *out)
{
	const struct memory_report *memory = memory_of(evidence);
	if (!memory)
		return;
	const struct memory_table *table = &memory->tables[MEMORY_BY_ALLOCATED];
	const struct memory_row *line = busiest(&table->lines);
	/* Python's objects have an allocator that is made for it. */
	double calls = table->kinds[MEMORY_MALLOC].count + table->kinds[MEMORY_NEW].count;
	if (!line || !(calls >= churn_per_s * evidence->cpu) || !(line->self.count >= churn_share * calls))
		return;
	double temporary = memory->tables[MEMORY_BY_TEMPORARY].all.count;
	char *place = code_row_words(&line->place);
	struct finding *finding = finding_add(out, &rule_allocation_churn, evidence, FINDING_LOOK);
	finding_say(finding,
		    "It made %.3g million allocations, %.3g million per second of CPU time; %.0f %% of them in %s.",
		    calls / 1e6, calls / evidence->cpu / 1e6, 100 * fmin(line->self.count / calls, 1), place);
	finding_advise(finding,
		       "Take the block out of the loop and use it again, reserve the final size at once, or put many "
		       "small objects into one array.");
	finding_cite_other(finding, "allocations", UNIT_COUNT, calls, METHOD_EXACT, "agents' counters");
	finding_cite_other(finding, "allocations_given_back_at_once", UNIT_COUNT, temporary, method_of(memory),
			   method_source(memory));
	finding_predict(finding, evidence, fmin(churn_call_s * line->self.count, evidence->wall),
			"an allocation and its free cost 50 ns, and this line makes none");
	free(place);
}

const struct finding_rule rule_allocation_churn = {
	.id = "allocation-churn",
	.title = "One line that allocates all the time",
	.fires = "a stage makes at least a million allocations with malloc or new per second of CPU time (run "
		 "--memory), and one "
		 "line makes 30 % of them",
	.why = "each block costs a search and a return, touches memory that is cold, and does no work",
	.todo = "reuse the block, reserve the final size, or allocate many at once",
	.depth = 4,
	.examine = examine_churn,
};

/* What is made in parts has the same pages again and again, and the kernel need not find and clear new ones. Where that is little,
 * the finding stands for its bytes alone. */
static void predict_first_touches(struct finding *finding, const struct evidence *evidence, double bytes)
{
	double faults = evidence_number(evidence, METRIC_PAGE_FAULTS_MINOR);
	double saved = evidence->system * fmin(bytes / page_bytes / faults, 1) * fmin(1 / evidence->busy, 1);
	if (!(faults > 0) || !(saved >= first_touch_share * evidence->wall))
		return;
	finding_cite(finding, evidence, METRIC_PAGE_FAULTS_MINOR);
	finding_cite(finding, evidence, METRIC_CPU_SYSTEM);
	finding_predict(finding, evidence, saved,
			"its pages are not asked for anew, and each takes its part of the kernel's time");
}

static void examine_peak(const struct evidence *evidence, struct finding_list *out)
{
	const struct memory_report *memory = memory_of(evidence);
	if (!memory || !(memory->peak.bytes >= peak_bytes))
		return;
	const struct memory_rows *lines = &memory->tables[MEMORY_BY_PEAK].lines;
	if (lines->items.len == 0 || !(lines->items.items[0].self.share >= peak_share))
		return;
	const struct memory_row *line = &lines->items.items[0];
	char *place = code_row_words(&line->place);
	struct finding *finding = finding_add(out, &rule_peak_one_line, evidence, FINDING_LOOK);
	finding_say(finding, "%s allocated %.0f of the %.0f MiB at the peak (%.0f %%).", place,
		    line->self.bytes / 1048576, memory->peak.bytes / 1048576, 100 * line->self.share);
	finding_advise(
		finding,
		"Read or make it in parts, use a smaller type, or let go of it before the next large thing is made: "
		"nothing else can lower the peak by much.");
	finding_cite_other(finding, "line_peak_bytes", UNIT_BYTES, line->self.bytes, method_of(memory),
			   method_source(memory));
	finding_cite_other(finding, "heap_peak_bytes", UNIT_BYTES, memory->peak.bytes, method_of(memory),
			   method_source(memory));
	predict_first_touches(finding, evidence, line->self.bytes);
	free(place);
}

const struct finding_rule rule_peak_one_line = {
	.id = "peak-one-line",
	.title = "One line makes the peak",
	.fires = "at its peak a stage had 128 MiB or more allocated (run --memory), half of it or more by one line",
	.why = "what a machine must have is decided by that line alone",
	.todo = "work in parts there, use smaller types, or free earlier",
	.depth = 2,
	.examine = examine_peak,
};

static void examine_kept(const struct evidence *evidence, struct finding_list *out)
{
	const struct memory_report *memory = memory_of(evidence);
	if (!memory || !memory->explanation.process_id || memory->explanation.cause == MEMORY_AT_END)
		return;
	const struct memory_explanation *explained = &memory->explanation;
	double kept = explained->parts[EXPLAINED_FREE] + explained->parts[EXPLAINED_PYTHON_FREE] +
		      explained->parts[EXPLAINED_OVERHEAD];
	double used = explained->parts[EXPLAINED_HEAP];
	if (!(kept >= kept_bytes) || !(kept >= kept_share * (kept + used)))
		return;
	struct finding *finding = finding_add(out, &rule_memory_kept, evidence, FINDING_LOOK);
	finding_say(finding,
		    "At %.0f MiB of resident memory %.0f MiB were in use and %.0f MiB free, but kept by the allocator.",
		    explained->rss_bytes / 1048576, used / 1048576, kept / 1048576);
	finding_advise(
		finding,
		"Blocks that live long lie between those that were freed. Allocate what lives long first, or apart; "
		"call malloc_trim after a large phase; or try another allocator (LD_PRELOAD of jemalloc or "
		"mimalloc).");
	finding_cite_other(finding, "allocator_free_bytes", UNIT_BYTES, kept, METHOD_EXACT,
			   "mallinfo2, Python's arenas");
	finding_cite_other(finding, "heap_in_use_bytes", UNIT_BYTES, used, method_of(memory), method_source(memory));
}

const struct finding_rule rule_memory_kept = {
	.id = "memory-kept",
	.title = "Free memory that the allocator keeps",
	.fires = "while a stage was still at work, 64 MiB or more of a process's memory were free but kept by its "
		 "allocators, and "
		 "no less than what was in use (run --memory)",
	.why = "memory in pieces that nothing fits into is lost for everybody, and the process looks twice as large as "
	       "its data",
	.todo = "separate what lives long from what does not; trim; or try another allocator",
	.depth = 2,
	.examine = examine_kept,
};
