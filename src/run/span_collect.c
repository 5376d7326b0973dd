/* span_collect.c - see span_collect.h. */
#include "run/span_collect.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "run/span_store.h"

#include <dirent.h>
#include <string.h>

enum { MOST_SPANS = 300000 };

struct span_moment span_moment_now(void)
{
	struct span_moment best = {0};
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 4; i++) {
		uint64_t before = span_wire_counter(), now = clock_mono_ns(), after = span_wire_counter();
		if (after - before < least) {
			least = after - before;
			best = (struct span_moment){.mono_ns = now, .ticks = before + least / 2};
		}
	}
	return best;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_files(struct span_collecting *collecting)
{
	DIR *dir = opendir(collecting->options->dir);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (str_ends(entry->d_name, SPAN_WIRE_SUFFIX))
			vec_push(&collecting->paths, file_join(collecting->options->dir, entry->d_name));
	closedir(dir);
	if (collecting->paths.len)
		qsort(collecting->paths.items, collecting->paths.len, sizeof(char *), compare_names);
}

static void say(struct span_collecting *collecting, int64_t stage_id, const char *kind, char *text)
{
	struct event_row event = {.stage_id = stage_id,
				  .at_ns = collecting->now_ns - collecting->options->run_start_mono_ns,
				  .kind = (char *)kind,
				  .text = text};
	if (!collecting->code)
		collecting->code = store_event(collecting->options->store, &event, collecting->err);
	free(text);
}

static const struct span_stage *find_stage(const struct span_collecting *collecting, int64_t id)
{
	for (size_t i = 0; i < collecting->options->stage_count; i++)
		if (collecting->options->stages[i].id == id)
			return &collecting->options->stages[i];
	return NULL;
}

/* ---- what a tick is worth ---- */

static double pace_between(const struct span_moment *a, const struct span_moment *b)
{
	if (b->ticks <= a->ticks || b->mono_ns <= a->mono_ns)
		return 0;
	return (double)(b->mono_ns - a->mono_ns) / (double)(b->ticks - a->ticks);
}

/* Our own two moments lie further apart than the program's. */
static bool set_pace(struct span_collecting *collecting, const struct span_file *file)
{
	const struct span_wire_header *header = &file->header;
	struct span_moment first = {header->start_mono_ns, header->start_ticks},
			   last = {header->last_mono_ns, header->last_ticks};
	struct span_moment now = {collecting->now_ns, collecting->now_ticks};
	collecting->pace = 1;
	if (header->clock == SPAN_CLOCK_TSC) {
		collecting->pace = pace_between(&collecting->options->begun, &now);
		if (!(collecting->pace > 0))
			collecting->pace = pace_between(&first, &last);
	}
	collecting->zero = first;
	return collecting->pace > 1e-3 && collecting->pace < 1e3 && first.mono_ns <= collecting->now_ns;
}

/* ---- which spans are stored one by one ---- */

struct census {
	const struct span_collecting *collecting;
	uint64_t by_bucket[SPAN_WIRE_BUCKETS];
	uint64_t all;
};

static bool count_span(void *context, const struct span_visit *visit)
{
	struct census *census = context;
	if (visit->kind == SPAN_WIRE_SPAN) {
		census->by_bucket[span_wire_bucket(span_duration_ns(census->collecting, visit->end - visit->begin))]++;
		census->all++;
	}
	return true;
}

static void choose_shortest(struct span_collecting *collecting, const struct census *census)
{
	uint64_t kept = census->all;
	unsigned bucket = 0;
	for (; bucket < SPAN_WIRE_BUCKETS && kept > MOST_SPANS; bucket++)
		kept -= census->by_bucket[bucket];
	collecting->shortest_ns = span_wire_bucket_low(bucket);
}

/* ---- files ---- */

static bool open_file(struct span_collecting *collecting, const char *path, bool complain, struct span_file **out)
{
	struct err err;
	if (span_file_open(path, out, &err) != 0) {
		if (complain)
			say(collecting, 0, "warning", mem_printf("a program's spans cannot be read: %s", err.text));
		return false;
	}
	const char *wrong = !find_stage(collecting, (*out)->header.stage_id) ? "they are of a stage that does not exist"
			    : !set_pace(collecting, *out)                    ? "their times make no sense"
									     : NULL;
	if (!wrong)
		return true;
	if (complain)
		say(collecting, 0, "warning", mem_printf("a program's spans were left out: %s", wrong));
	span_file_free(*out);
	return false;
}

static void remark(struct span_collecting *collecting, const struct span_file *file)
{
	const struct span_wire_header *header = &file->header;
	unsigned long long lost = header->lost, records = header->lost_records, threads = header->threads_missed;
	unsigned long long dropped = file->dropped_records + file->dropped_visits;
	if (lost || threads)
		say(collecting, header->stage_id, "warning",
		    mem_printf(
			    "process %d: %llu spans and %llu threads are not counted: no room, too many names in one "
			    "place, or too deep",
			    header->pid, lost, threads));
	if (records)
		say(collecting, header->stage_id, "warning",
		    mem_printf(
			    "process %d: no room for %llu single spans, chunks, values or snapshots; the sums of its "
			    "operators are right",
			    header->pid, records));
	if (file->dropped_bytes || dropped)
		say(collecting, header->stage_id, "warning",
		    mem_printf("process %d: its spans are damaged; %llu bytes and %llu records were left out",
			       header->pid, (unsigned long long)file->dropped_bytes, dropped));
	if (header->unbalanced)
		say(collecting, header->stage_id, "note",
		    mem_printf("process %d: %llu spans or chunks were not ended in the order in which they began",
			       header->pid, (unsigned long long)header->unbalanced));
}

static void take_files(struct span_collecting *collecting)
{
	struct census census = {.collecting = collecting};
	struct span_file *file = NULL;
	for (size_t i = 0; i < collecting->paths.len; i++)
		if (open_file(collecting, collecting->paths.items[i], true, &file)) {
			span_file_visit(file, count_span, &census);
			span_file_free(file);
		}
	choose_shortest(collecting, &census);
	for (size_t i = 0; i < collecting->paths.len && !collecting->code; i++)
		if (open_file(collecting, collecting->paths.items[i], false, &file)) {
			span_store_file(collecting, file, find_stage(collecting, file->header.stage_id)->end_ns);
			remark(collecting, file);
			span_file_free(file);
		}
}

int span_collect(const struct span_collect_options *options, struct err *err)
{
	struct span_moment now = span_moment_now();
	struct span_collecting collecting = {
		.options = options, .now_ns = now.mono_ns, .now_ticks = now.ticks, .err = err};
	list_files(&collecting);
	if (collecting.paths.len) {
		collecting.code = store_written_processes(options->store, &collecting.processes, err);
		if (!collecting.code)
			take_files(&collecting);
		if (!collecting.code)
			collecting.code = store_commit(options->store, err);
		process_list_fini(&collecting.processes);
	}
	for (size_t i = 0; i < collecting.paths.len; i++)
		free(collecting.paths.items[i]);
	vec_fini(&collecting.paths);
	return collecting.code;
}
