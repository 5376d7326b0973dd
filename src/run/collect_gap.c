/*
 * collect_gap.c - processes of a profiled stage that had no agent, or not to their end, and the CPU time that this hides.
 *
 * Which processes there were is known from the run file. An exit record and a sample tell a process's own CPU time; what
 * wait4 told of a process includes its children, so such a row only gets what nobody else accounts for. Together the gaps
 * are never more than the stage's CPU time less what the samples stand for.
 */
#include "run/collect_inside.h"
#include "symbol/elf_kind.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GAPS = 1000, SLACK_NS = 2000000000 };
static const double SMALL_S = 0.002; /* a process that could be profiled and used less was gone before it began */

struct gaps {
	struct collect *collect;
	const struct image **by_pid;
	size_t images;
	size_t stored;
	double more_s; /* of gaps beyond MOST_GAPS */
	size_t more;
};

static int compare_pids(const void *a, const void *b)
{
	const struct image *x = *(const struct image *const *)a, *y = *(const struct image *const *)b;
	if (x->summary.pid != y->summary.pid)
		return x->summary.pid < y->summary.pid ? -1 : 1;
	return (x > y) - (x < y); /* by start */
}

static size_t first_of(const struct gaps *gaps, int pid)
{
	size_t low = 0, high = gaps->images;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (gaps->by_pid[middle]->summary.pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Process ids come again: an image belongs to a row if both lived at the same time. */
static bool is_of(const struct gaps *gaps, const struct image *image, const struct process_row *row)
{
	uint64_t start = collect_since_start(gaps->collect, image->summary.start_mono_ns);
	return image->summary.stage_id == row->stage_id && start + SLACK_NS >= row->start_ns &&
	       (!row->end_ns || start <= row->end_ns + SLACK_NS);
}

/* The images of a process: what they account for, and the last of them; NULL: there is none. */
static const struct image *find_images(const struct gaps *gaps, const struct process_row *row, double *covered_s)
{
	const struct image *last = NULL;
	*covered_s = 0;
	for (size_t i = first_of(gaps, row->pid); i < gaps->images && gaps->by_pid[i]->summary.pid == row->pid; i++) {
		if (!is_of(gaps, gaps->by_pid[i], row))
			continue;
		last = gaps->by_pid[i];
		*covered_s += (double)last->covered_ns / 1e9;
	}
	return last;
}

/* ---- why ---- */

/* Of the program that a command line begins with. */
static enum elf_kind kind_of(const char *command)
{
	char program[PATH_MAX];
	snprintf(program, sizeof(program), "%.*s", (int)strcspn(command, " "), command);
	return elf_kind_of_program(program, NULL);
}

static const char *reason_of(enum elf_kind kind)
{
	if (kind == ELF_INJECTABLE || kind == ELF_SCRIPT)
		return "the agent was not loaded (a cleared environment?)";
	return elf_kind_words(kind);
}

/* ---- rows ---- */

static void put_gap(struct gaps *gaps, int64_t stage_id, int pid, const char *command, const char *reason, double cpu_s)
{
	struct collect *collect = gaps->collect;
	struct profile_gap gap = {
		.stage_id = stage_id, .pid = pid, .command = (char *)command, .reason = (char *)reason, .cpu_s = cpu_s};
	collect_stored(collect, store_profile_gap(collect->options->store, &gap, collect->err));
	gaps->stored++;
}

/* `stopped` is why the process's own agent stopped before its end; NULL: it did not. */
static void add_gap(struct gaps *gaps, struct stage_sum *sum, const struct process_row *row, const char *stopped,
		    double cpu_s)
{
	enum elf_kind kind = stopped ? ELF_INJECTABLE : kind_of(row->command);
	if (kind == ELF_INJECTABLE && cpu_s < SMALL_S)
		return;
	sum->gap_s += cpu_s;
	if (gaps->stored < MOST_GAPS) {
		put_gap(gaps, row->stage_id, row->pid, row->command, stopped ? stopped : reason_of(kind), cpu_s);
		return;
	}
	gaps->more++;
	gaps->more_s += cpu_s;
}

/* What of the stage's CPU time nothing accounts for yet; a large number where the stage's is not known. */
static double unaccounted_s(const struct stage_sum *sum)
{
	double rest_s = sum->stage.cpu_s - (double)sum->weight_ns / 1e9 - sum->gap_s;
	if (sum->stage.cpu_s < 0)
		return 1e9;
	return rest_s > 0 ? rest_s : 0;
}

static void look_at(struct gaps *gaps, struct stage_sum *sum, const struct process_row *row)
{
	double cpu_s = row->cpu_user_s + row->cpu_system_s, covered_s;
	const struct image *last = find_images(gaps, row, &covered_s);
	const char *stopped = last && last->summary.end == WIRE_ENDED_STOPPED ? last->summary.stop_reason : NULL;
	if (last && !stopped && last->summary.end != WIRE_ENDED_EXEC)
		return;
	cpu_s = cpu_s > covered_s ? cpu_s - covered_s : 0;
	/* After an exec that succeeded and left nothing, the rest is that of the program behind it. */
	if (last && cpu_s < SMALL_S)
		return;
	double most_s = unaccounted_s(sum);
	add_gap(gaps, sum, row, stopped, cpu_s < most_s ? cpu_s : most_s);
}

/* Own CPU time first, so that rows which include their children's only get the rest. */
static void look_at_all(struct gaps *gaps, const struct process_list *list)
{
	for (int waited = 0; waited < 2; waited++)
		for (size_t i = 0; i < list->items.len && !gaps->collect->code; i++) {
			const struct process_row *row = &list->items.items[i];
			struct stage_sum *sum = collect_stage_of(gaps->collect, row->stage_id);
			if (sum && (row->source == PROCESS_WAITED) == (waited == 1))
				look_at(gaps, sum, row);
		}
}

/* Without exit records a short process may have been seen by nobody; its CPU time is in the stage's all the same. */
static void add_unseen(struct gaps *gaps, struct stage_sum *sum)
{
	double rest_s = unaccounted_s(sum);
	if (sum->stage.cpu_s < 0 || sum->stage.has_record || rest_s < 0.02 || rest_s < 0.02 * sum->stage.cpu_s)
		return;
	put_gap(gaps, sum->stage.id, 0, "(processes that nobody saw)", "not known", rest_s);
	sum->gap_s += rest_s;
}

void gap_store_all(struct collect *collect)
{
	struct process_list list = {0};
	struct gaps gaps = {.collect = collect, .images = collect->images.len};
	if (!collect_stored(collect, store_written_processes(collect->options->store, &list, collect->err)))
		return;
	gaps.by_pid = mem_alloc((gaps.images ? gaps.images : 1) * sizeof(*gaps.by_pid));
	for (size_t i = 0; i < gaps.images; i++)
		gaps.by_pid[i] = &collect->images.items[i];
	qsort(gaps.by_pid, gaps.images, sizeof(*gaps.by_pid), compare_pids);
	look_at_all(&gaps, &list);
	if (gaps.more)
		collect_remark(collect, 0, true,
			       "%zu more processes without an agent, with %.3f s of CPU time, are not listed",
			       gaps.more, gaps.more_s);
	for (size_t i = 0; i < collect->stages.len && !collect->code; i++)
		add_unseen(&gaps, &collect->stages.items[i]);
	free(gaps.by_pid);
	process_list_fini(&list);
}
