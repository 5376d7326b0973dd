/* memory_words.c - see memory_words.h. */
#include "render/memory_words.h"
#include "base/file.h"
#include "render/code_words.h"
#include "render/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAPS_TOLD = 3, TYPES_TOLD = 6 };
static const double lopsided = 1.2; /* an interval that ± would not tell well */

const char *memory_words_weight(enum memory_weight weight)
{
	static const char *const words[MEMORY_WEIGHT_COUNT] = {[MEMORY_BY_PEAK] = "At the peak",
							       [MEMORY_BY_LEAKED] = "Never given back",
							       [MEMORY_BY_ALLOCATED] = "Allocated in all",
							       [MEMORY_BY_TEMPORARY] = "Given back at once"};
	return words[weight];
}

static void put_bytes(double bytes, struct str *out)
{
	char text[FORMAT_SIZE];
	format_bytes(bytes, text);
	str_append(out, text);
}

void memory_words_estimate(const struct memory_estimate *estimate, struct str *out)
{
	put_bytes(estimate->bytes, out);
	double half = (estimate->high - estimate->low) / 2;
	if (half > 0) {
		str_append(out, " ±");
		put_bytes(half, out);
	}
}

/* Since the stage began, as its elapsed time is; reports for machines have the run's clock. */
static void put_moment(const struct memory_report *memory, double at_s, struct str *out)
{
	char text[FORMAT_SIZE];
	format_seconds(fmax(at_s - memory->timeline_from_s, 0), text);
	str_appendf(out, " after %s", text);
}

void memory_words_summary(const struct memory_report *memory, struct str *out)
{
	char text[FORMAT_SIZE];
	const struct memory_estimate *leaked = &memory->tables[MEMORY_BY_LEAKED].all;
	str_append(out, "peak ");
	memory_words_estimate(&memory->peak, out);
	put_moment(memory, memory->peak_at_s, out);
	if (memory->peak_processes > 1)
		str_appendf(out, " in %zu processes", memory->peak_processes);
	str_append(out, "; ");
	put_bytes(memory->allocated_bytes, out);
	format_count(memory->calls, text);
	str_appendf(out, " allocated in %s calls", text);
	if (leaked->bytes > 0) {
		str_append(out, "; ");
		memory_words_estimate(leaked, out);
		str_append(out, " never given back");
	}
}

void memory_words_trend(const struct memory_trend *trend, struct str *out)
{
	char *place = code_row_words(&trend->place);
	double down = trend->bytes - trend->low, up = trend->high - trend->bytes, half = (down + up) / 2;
	str_appendf(out, "%s grows by ", place);
	put_bytes(trend->bytes, out);
	/* Of few samples the truth may be further above than below. */
	if (up > lopsided * down) {
		str_append(out, " (");
		put_bytes(trend->low, out);
		str_append(out, " to ");
		put_bytes(trend->high, out);
		str_append(out, ")");
	} else if (half > 0) {
		str_append(out, " ±");
		put_bytes(half, out);
	}
	str_appendf(out, " per %s, over %llu %ss", memory_turn_name(trend->per), (unsigned long long)trend->turns,
		    memory_turn_name(trend->per));
	free(place);
}

void memory_words_resident(const struct memory_report *memory, struct str *out)
{
	const struct memory_explanation *explained = &memory->explanation;
	if (!explained->process_id)
		return;
	put_bytes(explained->rss_bytes, out);
	put_moment(memory, (double)explained->at_ns / 1e9, out);
	for (size_t i = 0; i < memory->processes.len && memory->processes.len > 1; i++)
		if (memory->processes.items[i].memory->process_id == explained->process_id) {
			const struct profile_process *process = memory->processes.items[i].process;
			str_appendf(out, " in %s (%d)", process->executable ? file_base_name(process->executable) : "?",
				    process->pid);
		}
	bool first = true;
	for (int i = 0; i < EXPLAINED_COUNT; i++) {
		if (explained->parts[i] < explained->rss_bytes / 200)
			continue;
		str_append(out, first ? ": " : ", ");
		put_bytes(explained->parts[i], out);
		str_appendf(out, " %s", memory_explained_words((enum memory_explained)i));
		first = false;
	}
	str_appendf(out, "; %.0f %% explained", 100 * explained->coverage);
	if (explained->untouched_bytes > explained->allocated_bytes / 10) {
		str_append(out, ". Of what was allocated, ");
		put_bytes(explained->untouched_bytes, out);
		str_append(out, " were never touched");
	}
}

static void put_type(const struct memory_type_row *row, struct str *out)
{
	struct memory_estimate estimate = {.bytes = row->bytes, .low = row->low, .high = row->high};
	static const char *const words[MEMORY_TYPE_KIND_COUNT] = {
		[MEMORY_TYPE_OTHER] = "types further down", [MEMORY_TYPE_UNKNOWN] = "without a type"};
	str_appendf(out, "%s ", row->type->name ? row->type->name : words[row->type->kind]);
	memory_words_estimate(&estimate, out);
	str_appendf(out, " (%.0f %%)", 100 * row->share);
}

void memory_words_types(const struct memory_report *memory, struct str *out)
{
	const struct memory_types *types = &memory->types;
	if (!types->look)
		return;
	if (!types->rows.len) {
		str_appendf(out, "by type are not known: %s",
			    types->look->absent ? types->look->absent : "none were seen");
		return;
	}
	for (size_t i = 0; i < types->rows.len && i < TYPES_TOLD; i++) {
		str_append(out, i ? ", " : "");
		put_type(&types->rows.items[i], out);
	}
	str_append(out, "; of ");
	put_bytes(types->all_bytes, out);
	str_append(out, " in Python's objects");
	put_moment(memory, (double)types->look->at_ns / 1e9, out);
	if (types->peak_bytes)
		str_appendf(out, ", with %.0f %% of the process's peak allocated",
			    100 * fmin(1, (double)types->look->live_bytes / (double)types->peak_bytes));
}

/* Where the bucket ends in which the middle one of the calls lies; 0: there are none. */
static double middle_of(const struct memory_bucket *buckets, size_t count, double *low)
{
	uint64_t all = 0, sum = 0;
	for (size_t i = 0; i < count; i++)
		all += buckets[i].calls;
	for (size_t i = 0; i < count; i++) {
		sum += buckets[i].calls;
		if (2 * sum >= all && all) {
			*low = (double)buckets[i].low;
			double next =
				buckets[i].what == MEMORY_BY_SIZE ? fmax(2 * (*low - 1), 16) : fmax(4 * *low, 1024);
			return next;
		}
	}
	return 0;
}

void memory_words_blocks(const struct memory_report *memory, struct str *out)
{
	char text[FORMAT_SIZE];
	double low = 0, size = middle_of(memory->sizes.items, memory->sizes.len, &low);
	if (size > 0) {
		format_bytes(size, text);
		str_appendf(out, "half of the blocks are of at most %s", text);
	}
	double life = middle_of(memory->lifetimes.items, memory->lifetimes.len, &low);
	if (life > 0) {
		format_seconds(life / 1e9, text);
		str_appendf(out, "%shalf of those given back lived for less than %s", out->len ? ", " : "", text);
	}
}

static void put_count(struct str *out, uint64_t count, const char *words)
{
	char text[FORMAT_SIZE];
	if (!count)
		return;
	format_count((double)count, text);
	str_appendf(out, ", %s %s", text, words);
}

void memory_words_quality(const struct memory_report *memory, struct str *out)
{
	const struct memory_quality *quality = &memory->quality;
	char text[FORMAT_SIZE];
	str_appendf(out, "%zu process%s, ", quality->processes, quality->processes == 1 ? "" : "es");
	if (quality->sampled == 0) {
		str_append(out, "every allocation counted");
	} else {
		format_bytes((double)quality->period_bytes, text);
		str_appendf(out, "one sample per %s allocated on the mean", text);
		put_count(out, quality->samples, "samples");
		str_append(out, "; totals are exact");
	}
	put_count(out, quality->lost, "calls without a place, for want of room");
	put_count(out, quality->unknown_frees, "frees of blocks from before the agent");
	put_count(out, quality->truncated, "stacks without their root");
	put_count(out, quality->unmatched, "stacks whose Python part could not be placed");
	if (quality->scaled)
		str_append(out, "; processes that were not at their own peak at the peak of all stand there in "
				"proportion to what they had");
}

void memory_words_gaps(const struct memory_report *memory, struct str *out)
{
	const struct memory_quality *quality = &memory->quality;
	if (quality->gaps.len == 0)
		return;
	str_append(out, "not covered: ");
	for (size_t i = 0; i < quality->gaps.len && i < GAPS_TOLD; i++) {
		const struct code_gap *gap = &quality->gaps.items[i];
		str_appendf(out, "%s%s (%s)", i ? ", " : "", gap->command, gap->reason);
	}
	if (quality->gaps.len > GAPS_TOLD)
		str_appendf(out, " and %zu more", quality->gaps.len - GAPS_TOLD);
}
