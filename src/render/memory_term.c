/*
 * memory_term.c - see memory_term.h.
 *
 * One table per weight, by line: what made the peak, what was never given back, what was allocated and given back at once, what
 * was allocated in all. Where one weight is asked for, its functions, modules and threads too.
 */
#include "render/memory_term.h"
#include "render/code_grid.h"
#include "render/code_words.h"
#include "render/format.h"
#include "render/memory_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	INDENT = CODE_GRID_INDENT,
	PEAK_LINES = 8,
	OTHER_LINES = 5,
	ASKED_LINES = 20,
	TRENDS = 5,
	OTHERS = 5,
	BYTES = 8
};

static const double worth_a_row = 0.005;  /* of the table's whole */
static const double worth_a_table = 0.01; /* of what its weight is a part of */

static size_t rows_to_show(const struct term *term, size_t usual, size_t there)
{
	size_t most = term->top ? term->top : term->verbose ? 4 * usual : usual;
	return there < most ? there : most;
}

static void put_line(const struct term *term, enum style style, const char *label, const char *text)
{
	struct flow flow = term_flow(term);
	if (!*text)
		return;
	flow_begin(&flow, INDENT);
	if (*label)
		flow_text(&flow, STYLE_DIM, label);
	flow_text(&flow, style, text);
	flow_end(&flow);
}

static const char *name_of(const struct code_row *row, bool lines)
{
	if (lines && row->source)
		return row->source + strspn(row->source, " \t");
	return row->function ? row->function : "";
}

static void wish(const struct term *term, const struct memory_rows *rows, size_t count, bool lines,
		 struct code_wishes *wishes)
{
	for (size_t i = 0; i < count; i++) {
		const struct code_row *row = &rows->items.items[i].place;
		struct str place = {0};
		code_words_place(row, &place);
		int width = code_grid_width(term, str_text(&place)), name = code_grid_width(term, name_of(row, lines));
		wishes->place = width > wishes->place ? width : wishes->place;
		wishes->name = name > wishes->name ? name : wishes->name;
		str_fini(&place);
	}
}

static void title_of(enum memory_weight weight, const struct memory_table *table, const char *what, struct str *out)
{
	str_appendf(out, "%s: ", memory_words_weight(weight));
	memory_words_estimate(&table->all, out);
	str_append(out, what);
}

static void wish_title(const struct term *term, enum memory_weight weight, const struct memory_table *table,
		       const char *what, struct code_wishes *wishes)
{
	struct str title = {0};
	title_of(weight, table, what, &title);
	int width = code_grid_width(term, str_text(&title));
	wishes->name = width > wishes->name ? width : wishes->name;
	str_fini(&title);
}

/* Numbers that were counted need no interval; and where there is room for one only, bytes say more than a bar. */
static struct code_grid fit(const struct term *term, const struct code_wishes *wishes,
			    const struct memory_report *memory)
{
	struct code_grid grid = code_grid_fit(term, wishes);
	grid.bytes = true;
	grid.interval = memory->quality.sampled ? grid.interval : 0;
	if (!grid.seconds && grid.bar) {
		grid.seconds = BYTES;
		grid.name -= grid.bar < BYTES ? BYTES - grid.bar : 0;
		grid.bar = 0;
	}
	return grid;
}

/* Bytes may be more than all that was estimated; a share is at most all. */
static struct code_share share_of(const struct memory_estimate *estimate)
{
	double whole = estimate->share > 0 ? estimate->bytes / estimate->share : 0;
	return (struct code_share){.seconds = estimate->bytes,
				   .share = estimate->share,
				   .low = whole > 0 ? estimate->low / whole : 0,
				   .high = whole > 0 ? fmin(estimate->high / whole, 1) : 0};
}

static void put_rows(const struct code_grid *grid, const struct memory_rows *rows, size_t count, bool lines)
{
	for (size_t i = 0; i < count; i++) {
		const struct memory_row *row = &rows->items.items[i];
		struct code_share self = share_of(&row->self), total = share_of(&row->total);
		struct str place = {0}, name = {0};
		code_words_place(&row->place, &place);
		if (!grid->place)
			str_appendf(&name, "%s ", str_text(&place));
		str_append(&name, name_of(&row->place, lines));
		code_grid_texts(grid, str_text(&name), str_text(&place));
		code_grid_numbers(grid, &self, &total);
		str_fini(&place);
		str_fini(&name);
	}
}

/* The rows that are worth telling, at least one. */
static size_t telling(const struct memory_rows *rows, size_t most)
{
	size_t count = 0;
	while (count < rows->items.len && count < most &&
	       (count == 0 || rows->items.items[count].self.share >= worth_a_row))
		count++;
	return count;
}

static void put_more(const struct term *term, const struct memory_rows *rows, size_t count)
{
	char words[64];
	if (count == rows->items.len)
		return;
	snprintf(words, sizeof(words), "… and %zu more (--top N)", rows->items.len - count);
	put_line(term, STYLE_DIM, "", words);
}

static void put_title(const struct code_grid *grid, enum memory_weight weight, const struct memory_table *table,
		      const char *what)
{
	struct str title = {0};
	title_of(weight, table, what, &title);
	code_grid_titles(grid, str_text(&title), "", "Share", "Total");
	str_fini(&title);
}

static void put_weight(const struct term *term, struct code_grid *grid, enum memory_weight weight,
		       const struct memory_table *table, size_t usual)
{
	size_t count = telling(&table->lines, rows_to_show(term, usual, table->lines.items.len));
	if (count == 0)
		return;
	grid->full = table->lines.items.items[0].self.share;
	put_title(grid, weight, table, "");
	put_rows(grid, &table->lines, count, true);
	if (weight == MEMORY_BY_PEAK || term->verbose)
		put_more(term, &table->lines, count);
}

/* What was left is a part of what was there at the peak, what was given back at once of what was allocated. */
static bool matters(const struct term *term, const struct memory_report *memory, enum memory_weight weight)
{
	double whole = weight == MEMORY_BY_LEAKED      ? memory->peak.bytes
		       : weight == MEMORY_BY_TEMPORARY ? memory->allocated_bytes
						       : 0;
	return term->verbose || term->top || memory->tables[weight].all.bytes >= worth_a_table * whole;
}

/* The tables that say nothing, in a line. */
static void put_little(const struct term *term, const struct memory_report *memory)
{
	static const struct {
		enum memory_weight weight;
		const char *words;
	} tables[] = {{MEMORY_BY_LEAKED, "never given back"}, {MEMORY_BY_TEMPORARY, "given back at once"}};
	struct str words = {0};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct memory_table *table = &memory->tables[tables[i].weight];
		if (matters(term, memory, tables[i].weight) || table->all.bytes <= 0)
			continue;
		str_append(&words, words.len ? ", " : "");
		memory_words_estimate(&table->all, &words);
		str_appendf(&words, " %s (--weight %s)", tables[i].words, memory_weight_name(tables[i].weight));
	}
	put_line(term, STYLE_PLAIN, "little", str_text(&words));
	str_fini(&words);
}

static void put_modules(const struct term *term, const struct memory_table *table)
{
	struct str words = {0};
	for (size_t i = 0; i < rows_to_show(term, OTHERS, table->modules.items.len); i++) {
		const struct memory_row *row = &table->modules.items.items[i];
		if (row->self.share < worth_a_row || (!row->place.module && !row->place.file))
			continue;
		str_append(&words, words.len ? ", " : "");
		code_words_module(&row->place, &words);
		str_append_char(&words, ' ');
		code_words_percent(row->self.share, &words);
	}
	put_line(term, STYLE_PLAIN, "modules", str_text(&words));
	str_fini(&words);
}

static void put_kinds(const struct term *term, const struct memory_table *table)
{
	struct str words = {0};
	size_t kinds = 0;
	for (int i = 0; i < MEMORY_KIND_COUNT; i++) {
		if (table->kinds[i].share < 0.0005)
			continue;
		str_appendf(&words, "%s%s ", kinds++ ? ", " : "", memory_kind_name((enum memory_kind)i));
		code_words_percent(table->kinds[i].share, &words);
	}
	if (kinds > 1)
		put_line(term, STYLE_PLAIN, "by", str_text(&words));
	str_fini(&words);
}

static void put_threads(const struct term *term, const struct memory_table *table)
{
	struct str words = {0};
	size_t count = rows_to_show(term, OTHERS, table->threads.len);
	if (table->threads.len < 2)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct memory_thread *thread = &table->threads.items[i];
		str_appendf(&words, "%s%s %d ", i ? ", " : "", thread->thread->name ? thread->thread->name : "thread",
			    thread->thread->tid);
		code_words_percent(thread->amount.share, &words);
	}
	if (count < table->threads.len)
		str_appendf(&words, ", %zu more", table->threads.len - count);
	put_line(term, STYLE_PLAIN, "threads", str_text(&words));
	str_fini(&words);
}

/* One weight that was asked for. */
static void put_asked(const struct term *term, const struct memory_report *memory, enum memory_weight weight)
{
	const struct memory_table *table = &memory->tables[weight];
	size_t functions = rows_to_show(term, ASKED_LINES, table->functions.items.len);
	size_t lines = rows_to_show(term, ASKED_LINES, table->lines.items.len);
	struct code_wishes wishes = {0};
	wish(term, &table->functions, functions, false, &wishes);
	wish(term, &table->lines, lines, true, &wishes);
	wish_title(term, weight, table, ", by function", &wishes);
	struct code_grid grid = fit(term, &wishes, memory);
	if (functions == 0) {
		put_line(term, STYLE_PLAIN, "", "nothing");
		return;
	}
	grid.full = table->functions.items.items[0].self.share;
	put_title(&grid, weight, table, ", by function");
	put_rows(&grid, &table->functions, functions, false);
	put_more(term, &table->functions, functions);
	put_title(&grid, weight, table, ", by line");
	put_rows(&grid, &table->lines, lines, true);
	put_more(term, &table->lines, lines);
	put_modules(term, table);
	put_kinds(term, table);
	put_threads(term, table);
}

static void put_all(const struct term *term, const struct memory_report *memory)
{
	struct code_wishes wishes = {0};
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++) {
		const struct memory_table *table = &memory->tables[i];
		size_t most = i == MEMORY_BY_PEAK ? PEAK_LINES : OTHER_LINES;
		wish(term, &table->lines, rows_to_show(term, most, table->lines.items.len), true, &wishes);
		wish_title(term, (enum memory_weight)i, table, "", &wishes);
	}
	struct code_grid grid = fit(term, &wishes, memory);
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		if (matters(term, memory, (enum memory_weight)i))
			put_weight(term, &grid, (enum memory_weight)i, &memory->tables[i],
				   i == MEMORY_BY_PEAK ? PEAK_LINES : OTHER_LINES);
	put_little(term, memory);
	put_kinds(term, &memory->tables[MEMORY_BY_ALLOCATED]);
}

static void put_processes(const struct term *term, const struct memory_report *memory)
{
	struct str words = {0};
	size_t most = rows_to_show(term, OTHERS, memory->processes.len), count = 0;
	if (memory->processes.len < 2)
		return;
	/* The largest come first; what is nothing beside them is only counted. */
	uint64_t least = memory->processes.items[0].memory->peak_bytes / 100;
	while (count < most && (count == 0 || memory->processes.items[count].memory->peak_bytes > least))
		count++;
	for (size_t i = 0; i < count; i++) {
		char bytes[FORMAT_SIZE];
		struct code_row row = {.module = memory->processes.items[i].process->executable};
		format_bytes((double)memory->processes.items[i].memory->peak_bytes, bytes);
		str_append(&words, i ? ", " : "");
		code_words_module(&row, &words);
		str_appendf(&words, " %d %s", memory->processes.items[i].process->pid, bytes);
	}
	if (count < memory->processes.len)
		str_appendf(&words, ", %zu smaller", memory->processes.len - count);
	put_line(term, STYLE_PLAIN, "own peaks", str_text(&words));
	str_fini(&words);
}

static void put_trends(const struct term *term, const struct memory_report *memory)
{
	for (size_t i = 0; i < memory->trends.len && i < TRENDS && memory->trends.items[i].grows; i++) {
		struct str words = {0};
		memory_words_trend(&memory->trends.items[i], &words);
		put_line(term, STYLE_WARN, "leak", str_text(&words));
		str_fini(&words);
	}
}

static void put_remarks(const struct term *term, const struct memory_report *memory)
{
	static const struct {
		const char *label;
		enum style style;
		void (*put)(const struct memory_report *memory, struct str *out);
	} remarks[] = {{"resident", STYLE_PLAIN, memory_words_resident},
		       {"objects", STYLE_PLAIN, memory_words_types},
		       {"blocks", STYLE_PLAIN, memory_words_blocks},
		       {"how", STYLE_DIM, memory_words_quality},
		       {"", STYLE_WARN, memory_words_gaps}};
	for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++) {
		struct str words = {0};
		remarks[i].put(memory, &words);
		put_line(term, remarks[i].style, remarks[i].label, str_text(&words));
		str_fini(&words);
	}
	for (size_t i = 0; i < memory->quality.notes.items.len; i++)
		put_line(term, STYLE_WARN, "", memory->quality.notes.items.items[i].text);
}

static void put_summary(const struct term *term, const struct memory_report *memory)
{
	struct str words = {0};
	struct flow flow = term_flow(term);
	memory_words_summary(memory, &words);
	flow_begin(&flow, INDENT);
	flow_text(&flow, STYLE_PLAIN, str_text(&words));
	int room = term->columns - flow.column - 2;
	if (room >= MEMORY_BUCKETS / 2 && memory->timeline.len == MEMORY_BUCKETS) {
		double values[MEMORY_BUCKETS] = {0};
		size_t count = room < MEMORY_BUCKETS ? MEMORY_BUCKETS / 2 : MEMORY_BUCKETS;
		for (size_t i = 0; i < MEMORY_BUCKETS; i++)
			if (memory->timeline.items[i] > values[i * count / MEMORY_BUCKETS])
				values[i * count / MEMORY_BUCKETS] = memory->timeline.items[i];
		str_append(term->out, "  ");
		format_sparkline(values, count, 0, term->unicode, term->out);
	}
	flow_end(&flow);
	str_fini(&words);
}

static void put_stage(const struct term *term, const struct report_stage *stage)
{
	const struct memory_report *memory = stage->memory;
	bool command = term->report->stages.len == 1 && !term->report->record->row.config_path;
	struct str title = {0};
	str_append(&title, "Where the memory went");
	if (!command)
		str_appendf(&title, ": %s", stage->name);
	if (memory->view != CODE_MIXED)
		str_appendf(&title, " (%s frames only)", code_view_name(memory->view));
	if (memory->cut)
		str_append(&title, " (a part of it)");
	term_heading(term, str_text(&title));
	str_fini(&title);
	put_summary(term, memory);
	if (term->weight)
		put_asked(term, memory, (enum memory_weight)(term->weight - 1));
	else
		put_all(term, memory);
	put_processes(term, memory);
	put_trends(term, memory);
	put_remarks(term, memory);
}

void memory_term(const struct term *term)
{
	for (size_t i = 0; i < term->report->stages.len; i++)
		if (term->report->stages.items[i].memory)
			put_stage(term, &term->report->stages.items[i]);
}
