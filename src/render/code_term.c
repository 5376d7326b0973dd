/*
 * code_term.c - "Where the CPU time went": the functions and lines of each stage, what else there is to tell by module,
 * program and thread, and how far the numbers can be trusted.
 */
#include "render/code_term.h"
#include "render/code_grid.h"
#include "render/code_words.h"
#include "render/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	INDENT = CODE_GRID_INDENT,
	FUNCTIONS = 8,
	LINES = 5,
	OTHERS = 5, /* rows of the smaller tables */
	MANY_STAGES = 4,
	FUNCTIONS_EACH = 4,
	LINES_EACH = 3,
};

static size_t rows_to_show(const struct term *term, size_t usual, size_t there)
{
	size_t most = term->top ? term->top : term->verbose ? 4 * usual : usual;
	return there < most ? there : most;
}

static int place_width(const struct term *term, const struct code_row *row)
{
	struct str place = {0};
	code_words_place(row, &place);
	int width = code_grid_width(term, str_text(&place));
	str_fini(&place);
	return width;
}

static void thread_words(const struct code_thread *thread, struct str *out)
{
	code_words_thread(thread, out);
	if (isfinite(thread->gil_share))
		str_appendf(out, "%sGIL %.0f %%", out->len ? ", " : "", 100 * thread->gil_share);
}

/* The name of a thread stands where places do, and what it is where names do. */
static void wish_threads(const struct term *term, const struct code_report *code, size_t count,
			 struct code_wishes *wishes)
{
	for (size_t i = 0; i < count; i++) {
		struct str words = {0};
		thread_words(&code->threads.items[i], &words);
		int width = code_grid_width(term, str_text(&words));
		wishes->name = width > wishes->name ? width : wishes->name;
		str_fini(&words);
	}
}

static const char *line_text(const struct code_row *row)
{
	return row->source ? row->source + strspn(row->source, " \t") : row->function;
}

static void wish(const struct term *term, const struct code_rows *rows, size_t count, bool lines,
		 struct code_wishes *wishes)
{
	for (size_t i = 0; i < count; i++) {
		const struct code_row *row = &rows->items.items[i];
		int place = place_width(term, row),
		    name = code_grid_width(term, lines ? line_text(row) : row->function);
		wishes->place = place > wishes->place ? place : wishes->place;
		wishes->name = name > wishes->name ? name : wishes->name;
	}
}

static void put_functions(const struct code_grid *grid, const struct code_rows *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct code_row *row = &rows->items.items[i];
		struct str place = {0};
		code_words_place(row, &place);
		code_grid_texts(grid, row->function, str_text(&place));
		code_grid_numbers(grid, &row->self, &row->total);
		str_fini(&place);
	}
}

/* Leading spaces of a line are of no use here. The text is the wide column, so it takes the name's place. */
static void put_lines(const struct code_grid *grid, const struct code_rows *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct code_row *row = &rows->items.items[i];
		struct str place = {0}, name = {0};
		code_words_place(row, &place);
		if (!grid->place)
			str_appendf(&name, "%s ", str_text(&place));
		str_append(&name, line_text(row));
		code_grid_texts(grid, str_text(&name), str_text(&place));
		code_grid_numbers(grid, &row->self, &row->total);
		str_fini(&place);
		str_fini(&name);
	}
}

static void put_line(const struct term *term, int indent, enum style style, const char *label, const char *text)
{
	struct flow flow = term_flow(term);
	flow_begin(&flow, indent);
	if (*label)
		flow_text(&flow, STYLE_DIM, label);
	flow_text(&flow, style, text);
	flow_end(&flow);
}

static void put_modules(const struct term *term, const struct code_report *code)
{
	struct str words = {0};
	size_t count = rows_to_show(term, OTHERS, code->modules.items.len);
	for (size_t i = 0; i < count; i++) {
		const struct code_row *row = &code->modules.items.items[i];
		if (row->self.share < 0.005 || (!row->module && !row->file))
			continue;
		str_append(&words, words.len ? ", " : "");
		code_words_module(row, &words);
		str_append_char(&words, ' ');
		code_words_percent(row->self.share, &words);
	}
	if (words.len)
		put_line(term, INDENT, STYLE_PLAIN, "modules", str_text(&words));
	str_fini(&words);
}

static void put_programs(const struct term *term, const struct code_report *code)
{
	struct str words = {0};
	size_t count = rows_to_show(term, OTHERS, code->programs.len);
	if (code->processes.len < 2)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct code_program *program = &code->programs.items[i];
		str_appendf(&words, "%s", i ? ", " : "");
		if (program->processes > 1)
			str_appendf(&words, "%zu × ", program->processes);
		str_appendf(&words, "%s ", program->name);
		code_words_percent(program->share.share, &words);
	}
	if (count < code->programs.len)
		str_appendf(&words, ", %zu more", code->programs.len - count);
	put_line(term, INDENT, STYLE_PLAIN, "programs", str_text(&words));
	str_fini(&words);
}

static void put_tasks(const struct term *term, const struct code_report *code)
{
	struct str words = {0};
	size_t count = rows_to_show(term, OTHERS, code->tasks.len);
	for (size_t i = 0; i < count; i++) {
		str_appendf(&words, "%s%s ", i ? ", " : "", code->tasks.items[i].name);
		code_words_percent(code->tasks.items[i].share.share, &words);
	}
	if (count < code->tasks.len)
		str_appendf(&words, ", %zu more", code->tasks.len - count);
	if (count)
		put_line(term, INDENT, STYLE_PLAIN, "asyncio tasks", str_text(&words));
	str_fini(&words);
}

/* What a thread is says more than its name: the texts change places. */
static struct code_grid turn(const struct code_grid *grid)
{
	struct code_grid turned = *grid;
	turned.name = grid->place ? grid->place : grid->name;
	turned.place = grid->place ? grid->name : 0;
	turned.full = 1;
	return turned;
}

static bool tells_threads(const struct term *term, const struct code_report *code)
{
	/* Many processes with a thread each are told by program. */
	return code->threads.len > 1 && (code->threads.len != code->processes.len || term->verbose);
}

static void put_thread(const struct code_grid *grid, const struct code_thread *thread)
{
	struct str name = {0}, words = {0};
	str_appendf(&name, "%s %d", thread->thread->name ? thread->thread->name : "thread", thread->thread->tid);
	thread_words(thread, &words);
	struct code_grid turned = turn(grid);
	code_grid_texts(&turned, str_text(&name), str_text(&words));
	code_grid_numbers(&turned, &thread->share, NULL);
	str_fini(&name);
	str_fini(&words);
}

static void put_threads(const struct code_grid *grid, const struct code_report *code)
{
	const struct term *term = grid->term;
	size_t count = rows_to_show(term, OTHERS, code->threads.len);
	if (!tells_threads(term, code))
		return;
	struct code_grid turned = turn(grid);
	code_grid_titles(&turned, "Thread", "", "Share", "");
	for (size_t i = 0; i < count; i++)
		put_thread(grid, &code->threads.items[i]);
	if (count < code->threads.len) {
		char words[64];
		snprintf(words, sizeof(words), "… and %zu more threads", code->threads.len - count);
		put_line(term, INDENT, STYLE_DIM, "", words);
	}
}

static void put_remarks(const struct term *term, const struct code_report *code)
{
	struct str words = {0};
	code_words_quality(&code->quality, &words);
	put_line(term, INDENT, STYLE_DIM, "sampling", str_text(&words));
	str_clear(&words);
	code_words_gaps(&code->quality, &words);
	if (words.len)
		put_line(term, INDENT, STYLE_WARN, "", str_text(&words));
	for (size_t i = 0; i < code->quality.notes.items.len; i++) {
		const struct code_remark *note = &code->quality.notes.items.items[i];
		str_clear(&words);
		str_appendf(&words, "%s", note->text);
		if (note->processes > 1)
			str_appendf(&words, " (%zu processes)", note->processes);
		put_line(term, INDENT, STYLE_WARN, "", str_text(&words));
	}
	str_fini(&words);
}

static void put_summary(const struct term *term, const struct code_report *code)
{
	struct str words = {0};
	code_words_summary(code, &words);
	struct flow flow = term_flow(term);
	flow_begin(&flow, INDENT);
	flow_text(&flow, STYLE_PLAIN, str_text(&words));
	int room = term->columns - flow.column - 2;
	size_t count = room < CODE_BUCKETS ? (room > 0 ? (size_t)room : 0) : CODE_BUCKETS;
	if (count >= 10 && code->timeline.len == CODE_BUCKETS) {
		double values[CODE_BUCKETS] = {0}, buckets[CODE_BUCKETS] = {0};
		for (size_t i = 0; i < CODE_BUCKETS; i++) {
			values[i * count / CODE_BUCKETS] += code->timeline.items[i];
			buckets[i * count / CODE_BUCKETS]++;
		}
		for (size_t i = 0; i < count; i++)
			values[i] /= buckets[i];
		str_append(term->out, "  ");
		format_sparkline(values, count, 0, term->unicode, term->out);
	}
	flow_end(&flow);
	str_clear(&words);
	code_words_path(code, (size_t)(term->columns > 20 ? term->columns - 20 : 1), term->unicode, &words);
	if (words.len)
		put_line(term, INDENT, STYLE_PLAIN, "mostly in", str_text(&words));
	str_fini(&words);
}

static void put_neighbour(const struct code_grid *grid, const struct code_row *row)
{
	struct str place = {0};
	code_words_place(row, &place);
	code_grid_texts(grid, row->function, str_text(&place));
	code_grid_numbers(grid, &row->total, NULL);
	str_fini(&place);
}

static void put_calls(const struct term *term, const struct code_calls *calls)
{
	if (!calls->found) {
		put_line(term, INDENT, STYLE_WARN, "", "no sample of this stage has that function");
		return;
	}
	size_t callers = rows_to_show(term, FUNCTIONS, calls->callers.items.len);
	size_t callees = rows_to_show(term, FUNCTIONS, calls->callees.items.len);
	size_t lines = rows_to_show(term, LINES, calls->lines.items.len);
	struct code_wishes wishes = {0};
	wish(term, &calls->callers, callers, false, &wishes);
	wish(term, &calls->callees, callees, false, &wishes);
	wish(term, &calls->lines, lines, true, &wishes);
	struct code_grid grid = code_grid_fit(term, &wishes);
	char *words = code_row_words(&calls->function);
	const struct {
		const char *title;
		const struct code_rows *rows;
	} tables[] = {{"Called by", &calls->callers}, {"Calls", &calls->callees}};
	code_grid_titles(&grid, words, "", "Self", "Total");
	struct code_rows itself = {.items = {.items = (struct code_row *)&calls->function, .len = 1}};
	put_functions(&grid, &itself, 1);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t count = rows_to_show(term, FUNCTIONS, tables[i].rows->items.len);
		if (count == 0)
			continue;
		code_grid_titles(&grid, tables[i].title, "", "Share", "");
		for (size_t k = 0; k < count; k++)
			put_neighbour(&grid, &tables[i].rows->items.items[k]);
	}
	code_grid_titles(&grid, "Its lines", "", "Self", "Total");
	put_lines(&grid, &calls->lines, lines);
	free(words);
}

/* The longest bar of a table is its first row's: most rows are small beside the whole. */
static double largest(const struct code_rows *rows)
{
	return rows->items.len ? rows->items.items[0].self.share : 1;
}

static void put_tables(const struct term *term, const struct code_report *code, bool many)
{
	size_t functions = rows_to_show(term, many ? FUNCTIONS_EACH : FUNCTIONS, code->functions.items.len);
	size_t lines = rows_to_show(term, many ? LINES_EACH : LINES, code->lines.items.len);
	struct code_wishes wishes = {0};
	wish(term, &code->functions, functions, false, &wishes);
	wish(term, &code->lines, lines, true, &wishes);
	if (tells_threads(term, code))
		wish_threads(term, code, rows_to_show(term, OTHERS, code->threads.len), &wishes);
	struct code_grid grid = code_grid_fit(term, &wishes);
	grid.full = largest(&code->functions);
	code_grid_titles(&grid, "Function", "", "Self", "Total");
	put_functions(&grid, &code->functions, functions);
	if (functions < code->functions.items.len) {
		char words[64];
		snprintf(words, sizeof(words), "… and %zu more functions (--top N)",
			 code->functions.items.len - functions);
		put_line(term, INDENT, STYLE_DIM, "", words);
	}
	if (term->verbose) {
		code_grid_titles(&grid, "With what it calls", "", "Self", "Total");
		put_functions(&grid, &code->by_total, rows_to_show(term, FUNCTIONS, code->by_total.items.len));
	}
	grid.full = largest(&code->lines);
	if (lines) {
		code_grid_titles(&grid, "Line", "", "Self", "Total");
		put_lines(&grid, &code->lines, lines);
	}
	if (term->verbose && code->inner_lines.items.len) {
		grid.full = largest(&code->inner_lines);
		code_grid_titles(&grid, "Line, libraries too", "", "Self", "Total");
		put_lines(&grid, &code->inner_lines, rows_to_show(term, LINES, code->inner_lines.items.len));
	}
	put_modules(term, code);
	put_programs(term, code);
	put_tasks(term, code);
	if (!many || term->verbose)
		put_threads(&grid, code);
}

static void put_stage(const struct term *term, const struct report_stage *stage, bool many)
{
	const struct code_report *code = stage->code;
	bool command = term->report->stages.len == 1 && !term->report->record->row.config_path;
	struct str title = {0};
	str_append(&title, "Where the CPU time went");
	if (!command)
		str_appendf(&title, ": %s", stage->name);
	if (code->view != CODE_MIXED)
		str_appendf(&title, " (%s frames only)", code_view_name(code->view));
	if (code->cut)
		str_append(&title, " (a part of it)");
	term_heading(term, str_text(&title));
	str_fini(&title);
	if (code->samples)
		put_summary(term, code);
	if (code->calls)
		put_calls(term, code->calls);
	else if (code->samples)
		put_tables(term, code, many);
	else
		put_line(term, INDENT, STYLE_WARN, "", "no samples");
	put_remarks(term, code);
}

void code_term(const struct term *term)
{
	size_t with_code = 0, left_out = 0;
	for (size_t i = 0; i < term->report->stages.len; i++)
		with_code += term->report->stages.items[i].code != NULL;
	for (size_t i = 0; i < term->report->stages.len; i++) {
		const struct report_stage *stage = &term->report->stages.items[i];
		if (stage->code && (with_code == 1 || term->verbose || code_words_matters(term->report, stage)))
			put_stage(term, stage, with_code >= MANY_STAGES);
		else
			left_out += stage->code != NULL;
	}
	if (left_out) {
		char words[128];
		snprintf(words, sizeof(words),
			 "%zu stage%s with less than 5 %% of the CPU time: --stage NAME shows one", left_out,
			 left_out == 1 ? "" : "s");
		str_append_char(term->out, '\n');
		put_line(term, INDENT, STYLE_DIM, "", words);
	}
}
