/* code_words.c - see code_words.h. */
#include "render/code_words.h"
#include "base/file.h"
#include "render/format.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAPS_TOLD = 3 };
static const double stage_matters = 0.05; /* of the run's CPU time */

/* The tag of a Python extension is longer than its name and the same for all. */
static void append_module(const char *path, struct str *out)
{
	const char *name = file_telling_name(path), *tag = strstr(name, ".cpython-");
	if (tag && str_ends(name, ".so")) {
		str_append_bytes(out, name, (size_t)(tag - name));
		name = ".so";
	}
	str_append(out, name);
}

void code_words_module(const struct code_row *row, struct str *out)
{
	const char *path = row->module ? row->module : row->file;
	if (path)
		append_module(path, out);
}

void code_words_place(const struct code_row *row, struct str *out)
{
	if (!row->file) {
		code_words_module(row, out);
		return;
	}
	str_append(out, file_telling_name(row->file));
	if (row->line > 0)
		str_appendf(out, ":%d", row->line);
}

void code_words_percent(double share, struct str *out)
{
	str_appendf(out, "%.1f %%", 100 * share);
}

void code_words_interval(const struct code_share *share, struct str *out)
{
	str_appendf(out, "±%.1f", 100 * (share->high - share->low) / 2);
}

/* Which kinds of code, where it is more than one. */
static void append_kinds(const struct code_report *code, struct str *out)
{
	static const struct {
		enum frame_kind kind;
		const char *words;
	} kinds[] = {{FRAME_PYTHON, "in Python"},
		     {FRAME_NATIVE, "in native code"},
		     {FRAME_JIT, "in just-in-time code"},
		     {FRAME_KERNEL, "in the kernel"},
		     {FRAME_MARK, "outside the program's code"}};
	const char *before = ": ";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		double share = code->kinds[kinds[i].kind].share;
		char number[FORMAT_SIZE];
		if (share < 0.005 || share > 0.995)
			continue;
		format_percent(100 * share, number);
		str_appendf(out, "%s%s %s", before, number, kinds[i].words);
		before = ", ";
	}
}

void code_words_summary(const struct code_report *code, struct str *out)
{
	char seconds[FORMAT_SIZE], samples[FORMAT_SIZE];
	format_seconds(code->seconds, seconds);
	format_count((double)code->samples, samples);
	str_appendf(out, "%s of CPU time%s in %s samples", seconds, code->repetitions > 1 ? " a repetition" : "",
		    samples);
	if (code->view == CODE_MIXED)
		append_kinds(code, out);
}

/* Between Python functions the interpreter's own and the import machinery are of no interest; where there are none, all are
 * told. */
static bool is_told(const struct code_rows *path, size_t at)
{
	const struct code_row *row = &path->items.items[at];
	if (row->file && str_starts(row->file, "<frozen importlib"))
		return false;
	if (at > 0 && strcmp(path->items.items[at - 1].function, row->function) == 0)
		return false;
	for (size_t i = at + 1; i < path->items.len && row->kind != FRAME_PYTHON; i++)
		if (path->items.items[i].kind == FRAME_PYTHON)
			return false;
	return true;
}

/* What is nearest to the work says most, so the root gives way. */
void code_words_path(const struct code_report *code, size_t most_columns, bool unicode, struct str *out)
{
	const struct code_rows *path = &code->path;
	const char *arrow = unicode ? " → " : " > ";
	struct str words = {0};
	size_t told = 0;
	for (size_t i = path->items.len; i-- > 0;) {
		if (!is_told(path, i))
			continue;
		told++;
		const struct code_row *row = &path->items.items[i];
		bool script = row->file && strcmp(row->function, "<module>") == 0;
		str_append(&words, script ? file_telling_name(row->file) : row->function);
		if (out->len) {
			str_append(&words, arrow);
			str_append(&words, str_text(out));
		}
		bool fits = str_columns(str_text(&words)) + 5 <= most_columns;
		if (!fits && out->len) {
			str_clear(&words);
			str_appendf(&words, "%s%s%s", unicode ? "…" : "..", arrow, str_text(out));
		}
		str_clear(out);
		str_append(out, str_text(&words));
		str_clear(&words);
		if (!fits)
			break;
	}
	/* One step alone is the program's beginning. */
	if (told < 2)
		str_clear(out);
	str_fini(&words);
}

static void append_counted(struct str *out, uint64_t count, uint64_t samples, const char *words)
{
	char number[FORMAT_SIZE];
	if (count == 0)
		return;
	format_count((double)count, number);
	str_appendf(out, ", %s %s", number, words);
	if (samples)
		str_appendf(out, " (%.2g %%)", 100.0 * (double)count / (double)samples);
}

void code_words_quality(const struct code_quality *quality, struct str *out)
{
	char number[FORMAT_SIZE];
	if (quality->processes == 0) {
		str_append(out, "no process had an agent");
		return;
	}
	if (isfinite(quality->achieved_hz) && isfinite(quality->requested_hz))
		str_appendf(out, "%.0f of %.0f samples asked for per CPU second", quality->achieved_hz,
			    quality->requested_hz);
	else
		str_append(out, "no samples");
	for (size_t i = 0; i < quality->clocks.items.len; i++)
		str_appendf(out, "%s%s", i ? ", " : " (", quality->clocks.items.items[i].text);
	str_append(out, quality->clocks.items.len ? ")" : "");
	if (isfinite(quality->coverage))
		str_appendf(out, ", standing for %.1f %% of the stage's CPU time", 100 * quality->coverage);
	append_counted(out, quality->truncated, quality->samples,
		       quality->truncated == 1 ? "stack cut off" : "stacks cut off");
	append_counted(out, quality->unmatched, quality->samples, "with unmatched Python frames");
	append_counted(out, quality->busy, quality->samples, "without a stack");
	append_counted(out, quality->lost, 0, "lost");
	if (isfinite(quality->handler_share)) {
		format_seconds(quality->start_cost_s, number);
		str_appendf(out, "; sampling took %.2g %% of the CPU time and %s per start",
			    100 * quality->handler_share, number);
	}
}

void code_words_gaps(const struct code_quality *quality, struct str *out)
{
	if (quality->gaps.len == 0)
		return;
	if (isfinite(quality->gap_share))
		str_appendf(out, "%.1f %% of the CPU time is not covered: ", 100 * quality->gap_share);
	else
		str_append(out, "not covered: ");
	for (size_t i = 0; i < quality->gaps.len && i < GAPS_TOLD; i++) {
		const struct code_gap *gap = &quality->gaps.items[i];
		char times[32] = "";
		if (gap->processes > 1)
			snprintf(times, sizeof(times), "%zu × ", gap->processes);
		str_appendf(out, "%s%s%.*s (%s)", i ? ", " : "", times, (int)strcspn(gap->command, " "), gap->command,
			    gap->reason);
	}
	if (quality->gaps.len > GAPS_TOLD)
		str_appendf(out, " and %zu more program%s", quality->gaps.len - GAPS_TOLD,
			    quality->gaps.len - GAPS_TOLD == 1 ? "" : "s");
}

void code_words_thread(const struct code_thread *thread, struct str *out)
{
	if (thread->worker) {
		str_append(out, "pool worker");
		if (thread->starter.function) {
			str_append(out, " for ");
			code_words_place(&thread->starter, out);
		}
	} else if (thread->thread->is_main) {
		str_append(out, "main thread");
	} else if (thread->thread->entry) {
		str_appendf(out, "entry %s", thread->thread->entry);
	}
}

bool code_words_matters(const struct report *report, const struct report_stage *stage)
{
	double sum = 0;
	for (size_t i = 0; i < report->stages.len; i++)
		if (report->stages.items[i].code)
			sum += report->stages.items[i].code->seconds;
	return stage->code && stage->code->seconds >= stage_matters * sum;
}
