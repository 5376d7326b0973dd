/* code_md.c - see code_md.h. */
#include "render/code_md.h"
#include "render/code_words.h"
#include "render/format.h"
#include "render/markup.h"
#include "render/md_page.h"

#include <math.h>
#include <string.h>

enum { FUNCTIONS = 10, LINES = 8, OTHERS = 5 };

static void put_cell(const struct md_page *page, const char *text)
{
	page->put_escaped(page->out, text);
	str_append(page->out, " | ");
}

static void put_share(const struct md_page *page, const struct code_share *share)
{
	char seconds[FORMAT_SIZE];
	format_seconds(share->seconds, seconds);
	str_appendf(page->out, "%s | ", seconds);
	code_words_percent(share->share, page->out);
	str_append_char(page->out, ' ');
	code_words_interval(share, page->out);
	str_append(page->out, " | ");
}

static void put_row(const struct md_page *page, const char *name, const struct code_row *row)
{
	struct str place = {0};
	code_words_place(row, &place);
	str_append(page->out, "| ");
	put_cell(page, name);
	put_cell(page, str_text(&place));
	put_share(page, &row->self);
	code_words_percent(row->total.share, page->out);
	str_append(page->out, " |\n");
	str_fini(&place);
}

static void put_table(const struct md_page *page, const char *title, const struct code_rows *rows, size_t usual)
{
	size_t count = md_page_rows(page, usual, rows->items.len);
	if (count == 0)
		return;
	str_appendf(page->out, "\n| %s | Where | Time | Self | Total |\n|---|---|---:|---:|---:|\n", title);
	for (size_t i = 0; i < count; i++) {
		const struct code_row *row = &rows->items.items[i];
		const char *source = row->source ? row->source + strspn(row->source, " \t") : row->function;
		put_row(page, source, row);
	}
	if (count < rows->items.len)
		str_appendf(page->out, "\n%zu more.\n", rows->items.len - count);
}

static void put_modules(const struct md_page *page, const struct code_report *code)
{
	struct str words = {0};
	size_t count = md_page_rows(page, OTHERS, code->modules.items.len);
	for (size_t i = 0; i < count; i++) {
		const struct code_row *row = &code->modules.items.items[i];
		if (!row->module && !row->file)
			continue;
		str_append(&words, words.len ? ", " : "");
		code_words_module(row, &words);
		str_append_char(&words, ' ');
		code_words_percent(row->self.share, &words);
	}
	if (words.len) {
		str_append(page->out, "\nModules: ");
		page->put_escaped(page->out, str_text(&words));
		str_append(page->out, ".\n");
	}
	str_fini(&words);
}

static void put_threads(const struct md_page *page, const struct code_report *code)
{
	size_t count = md_page_rows(page, OTHERS, code->threads.len);
	if (code->threads.len < 2)
		return;
	str_append(page->out, "\n| Thread | Process | | Time | Share | GIL held |\n|---|---|---|---:|---:|---:|\n");
	for (size_t i = 0; i < count; i++) {
		const struct code_thread *thread = &code->threads.items[i];
		struct str name = {0}, words = {0}, process = {0};
		str_appendf(&name, "%s %d", thread->thread->name ? thread->thread->name : "", thread->thread->tid);
		str_appendf(&process, "%d", thread->process->pid);
		code_words_thread(thread, &words);
		str_append(page->out, "| ");
		put_cell(page, str_text(&name));
		put_cell(page, str_text(&process));
		put_cell(page, str_text(&words));
		put_share(page, &thread->share);
		if (isfinite(thread->gil_share))
			str_appendf(page->out, "%.0f %% |\n", 100 * thread->gil_share);
		else
			str_append(page->out, "– |\n");
		str_fini(&name);
		str_fini(&words);
		str_fini(&process);
	}
	if (count < code->threads.len)
		str_appendf(page->out, "\n%zu more threads.\n", code->threads.len - count);
}

static void put_remarks(const struct md_page *page, const struct code_quality *quality)
{
	struct str words = {0};
	code_words_quality(quality, &words);
	md_page_sentence(page, "Sampling: ", str_text(&words));
	str_clear(&words);
	code_words_gaps(quality, &words);
	md_page_sentence(page, "", str_text(&words));
	for (size_t i = 0; i < quality->notes.items.len; i++)
		md_page_sentence(page, "", quality->notes.items.items[i].text);
	str_fini(&words);
}

static void put_stage(const struct md_page *page, const struct report_stage *stage)
{
	const struct code_report *code = stage->code;
	struct str words = {0};
	str_append(page->out, "\n### ");
	page->put_escaped(page->out, stage->name);
	str_append(page->out, "\n");
	code_words_summary(code, &words);
	md_page_sentence(page, "", str_text(&words));
	if (code->view != CODE_MIXED)
		md_page_sentence(page, "Frames: ", code_view_name(code->view));
	if (code->calls && code->calls->found) {
		struct code_rows itself = {.items = {.items = &code->calls->function, .len = 1}};
		put_table(page, "Function", &itself, 1);
		put_table(page, "Called by", &code->calls->callers, FUNCTIONS);
		put_table(page, "Calls", &code->calls->callees, FUNCTIONS);
		put_table(page, "Its lines", &code->calls->lines, LINES);
	} else if (!code->calls) {
		put_table(page, "Function", &code->functions, FUNCTIONS);
		put_table(page, "With what it calls", &code->by_total, FUNCTIONS);
		put_table(page, "Line", &code->lines, LINES);
		put_modules(page, code);
		put_threads(page, code);
	}
	put_remarks(page, &code->quality);
	str_fini(&words);
}

void code_md(const struct report *report, size_t top, md_escape_fn *put_escaped, struct str *out)
{
	struct md_page page = {out, put_escaped, top};
	bool any = false;
	for (size_t i = 0; i < report->stages.len; i++) {
		if (!report->stages.items[i].code)
			continue;
		str_append(out, any ? "" : "\n## Where the CPU Time Went\n");
		any = true;
		put_stage(&page, &report->stages.items[i]);
	}
	if (any)
		str_append(out, "\nSelf: in the function itself; total: with all that it calls. ± is half of the 95 % "
				"interval, in points.\n");
}
