/*
 * memory_heaptrack.c - the allocation sites with their stacks, in the order and with the headings that readers of
 * heaptrack_print know: most calls, peak consumers, leaks, temporary allocations; then the totals.
 *
 * Sites of several processes stand side by side; the process is named.
 */
#include "base/file.h"
#include "render/format.h"
#include "render/memory_words.h"
#include "render/renderers.h"
#include "render/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SITES = 10, STACK_MOST = 40 };

static const struct section {
	const char *title, *verb;
	enum memory_weight weight;
	bool by_count;
} sections[] = {
	{"MOST CALLS TO ALLOCATION FUNCTIONS", "allocated", MEMORY_BY_ALLOCATED, true},
	{"PEAK MEMORY CONSUMERS", "consumed at the peak", MEMORY_BY_PEAK, false},
	{"MEMORY LEAKS", "never given back", MEMORY_BY_LEAKED, false},
	{"MOST TEMPORARY ALLOCATIONS", "given back at once", MEMORY_BY_TEMPORARY, true},
};

static uint64_t rank_of(const struct section *section, const struct memory_site_row *row)
{
	const struct memory_amount *amount = &row->site->amounts[section->weight];
	return section->by_count ? amount->count : amount->bytes;
}

static int by_rank(const void *a, const void *b, void *context)
{
	const struct memory_site_row *x = a, *y = b;
	uint64_t first = rank_of(context, x), second = rank_of(context, y);
	if (first != second)
		return first < second ? 1 : -1;
	return (x->site->id > y->site->id) - (x->site->id < y->site->id);
}

static void put_stack(struct str *out, const struct profile_data *profile, int64_t stack_id)
{
	for (size_t depth = 0; stack_id; depth++) {
		const struct profile_stack *stack = &profile->stacks.items[stack_id - 1];
		const struct profile_frame *frame = &profile->frames.items[stack->frame_id - 1];
		if (depth == STACK_MOST) {
			str_append(out, "    …\n");
			return;
		}
		str_append(out, "    ");
		text_append_clean(out, frame->function, true);
		str_append(out, "\n");
		if (frame->file || frame->module) {
			str_append(out, "      ");
			str_append(out, frame->file ? "at " : "in ");
			text_append_clean(out, frame->file ? frame->file : frame->module, true);
			if (frame->file && frame->line > 0)
				str_appendf(out, ":%d", frame->line);
			str_append(out, "\n");
		}
		stack_id = stack->parent;
	}
}

static void put_site(struct str *out, const struct section *section, const struct profile_data *profile,
		     const struct memory_site_row *row)
{
	const struct memory_amount *amount = &row->site->amounts[section->weight];
	char bytes[FORMAT_SIZE];
	format_bytes((double)amount->bytes, bytes);
	if (section->by_count)
		str_appendf(out, "%" PRIu64 " calls %s, %s, ", amount->count, section->verb, bytes);
	else
		str_appendf(out, "%s %s in %" PRIu64 " blocks, ", bytes, section->verb, amount->count);
	text_append_clean(out, row->process->executable ? file_base_name(row->process->executable) : "?", true);
	str_appendf(out, " (%d), %s, from\n", row->process->pid, memory_kind_name(row->site->kind));
	put_stack(out, profile, row->site->stack_id);
	str_append_char(out, '\n');
}

static void put_section(struct str *out, const struct section *section, const struct memory_report *memory, size_t top)
{
	struct memory_site_row *rows = mem_alloc((memory->sites.len + 1) * sizeof(*rows));
	size_t count = 0, most = top ? top : SITES;
	for (size_t i = 0; i < memory->sites.len; i++)
		if (rank_of(section, &memory->sites.items[i]) &&
		    memory_kind_is_counted(memory->sites.items[i].site->kind))
			rows[count++] = memory->sites.items[i];
	if (count > 1)
		qsort_r(rows, count, sizeof(*rows), by_rank, (void *)section);
	str_appendf(out, "%s\n", section->title);
	for (size_t i = 0; i < count && i < most; i++)
		put_site(out, section, memory->profile, &rows[i]);
	if (count > most)
		str_appendf(out, "and %zu more\n\n", count - most);
	if (count == 0)
		str_append(out, "none\n\n");
	free(rows);
}

static void put_totals(struct str *out, const struct memory_report *memory)
{
	struct str words = {0};
	char text[FORMAT_SIZE];
	str_appendf(out, "calls to allocation functions: %.0f\n", memory->calls);
	str_appendf(out, "temporary memory allocations: %.0f\n", memory->tables[MEMORY_BY_TEMPORARY].all.count);
	format_bytes(memory->peak.bytes, text);
	str_appendf(out, "peak heap memory consumption: %s\n", text);
	if (memory->explanation.process_id) {
		format_bytes(memory->explanation.rss_bytes, text);
		str_appendf(out, "largest resident memory that was seen: %s\n", text);
	}
	format_bytes(memory->tables[MEMORY_BY_LEAKED].all.bytes, text);
	str_appendf(out, "total memory leaked: %s\n", text);
	memory_words_quality(memory, &words);
	str_appendf(out, "%s\n", str_text(&words));
	str_fini(&words);
}

static int render_heaptrack(const struct report *report, const struct render_options *options, struct str *out,
			    struct err *err)
{
	bool any = false;
	(void)err;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		if (!stage->memory)
			continue;
		any = true;
		if (report->stages.len > 1)
			str_appendf(out, "STAGE %s\n\n", stage->name);
		for (size_t k = 0; k < sizeof(sections) / sizeof(sections[0]); k++)
			put_section(out, &sections[k], stage->memory, options->top);
		put_totals(out, stage->memory);
	}
	if (!any)
		str_append(out, "no memory profile\n");
	return 0;
}

const struct renderer renderer_heaptrack = {
	"heaptrack", "allocation sites with their stacks, as heaptrack_print gives them", render_heaptrack};
