/* memory_md.c - see memory_md.h. */
#include "render/memory_md.h"
#include "render/code_words.h"
#include "render/format.h"
#include "render/md_page.h"
#include "render/memory_words.h"

#include <string.h>

enum { ROWS = 10, TRENDS = 5 };

static void put_row(const struct md_page *page, const struct memory_row *row)
{
	struct str place = {0};
	char count[FORMAT_SIZE];
	const char *source =
		row->place.source ? row->place.source + strspn(row->place.source, " \t") : row->place.function;
	code_words_place(&row->place, &place);
	format_count(row->self.count, count);
	str_append(page->out, "| ");
	page->put_escaped(page->out, source ? source : "");
	str_append(page->out, " | ");
	page->put_escaped(page->out, str_text(&place));
	str_append(page->out, " | ");
	memory_words_estimate(&row->self, page->out);
	str_append(page->out, " | ");
	code_words_percent(row->self.share, page->out);
	str_appendf(page->out, " | %s |\n", count);
	str_fini(&place);
}

static void put_table(const struct md_page *page, enum memory_weight weight, const struct memory_table *table)
{
	size_t there = table->lines.items.len, count = md_page_rows(page, ROWS, there);
	if (count == 0)
		return;
	str_appendf(page->out, "\n| %s | Where | Bytes | Share | %s |\n|---|---|---:|---:|---:|\n",
		    memory_words_weight(weight),
		    weight == MEMORY_BY_PEAK || weight == MEMORY_BY_LEAKED ? "Blocks" : "Calls");
	for (size_t i = 0; i < count; i++)
		put_row(page, &table->lines.items.items[i]);
	if (count < there)
		str_appendf(page->out, "\n%zu more.\n", there - count);
}

static void put_stage(const struct md_page *page, const struct report_stage *stage)
{
	const struct memory_report *memory = stage->memory;
	static const struct {
		const char *before;
		void (*put)(const struct memory_report *memory, struct str *out);
	} sentences[] = {{"Resident: ", memory_words_resident},
			 {"Objects: ", memory_words_types},
			 {"Blocks: ", memory_words_blocks},
			 {"How: ", memory_words_quality},
			 {"", memory_words_gaps}};
	struct str words = {0};
	str_append(page->out, "\n### ");
	page->put_escaped(page->out, stage->name);
	str_append(page->out, "\n");
	memory_words_summary(memory, &words);
	md_page_sentence(page, "", str_text(&words));
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		put_table(page, (enum memory_weight)i, &memory->tables[i]);
	for (size_t i = 0; i < memory->trends.len && i < TRENDS && memory->trends.items[i].grows; i++) {
		str_clear(&words);
		memory_words_trend(&memory->trends.items[i], &words);
		md_page_sentence(page, "Leak: ", str_text(&words));
	}
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		str_clear(&words);
		sentences[i].put(memory, &words);
		md_page_sentence(page, sentences[i].before, str_text(&words));
	}
	for (size_t i = 0; i < memory->quality.notes.items.len; i++)
		md_page_sentence(page, "", memory->quality.notes.items.items[i].text);
	str_fini(&words);
}

void memory_md(const struct report *report, size_t top, md_escape_fn *put_escaped, struct str *out)
{
	struct md_page page = {out, put_escaped, top};
	bool any = false;
	for (size_t i = 0; i < report->stages.len; i++) {
		if (!report->stages.items[i].memory)
			continue;
		str_append(out, any ? "" : "\n## Where the Memory Went\n");
		any = true;
		put_stage(&page, &report->stages.items[i]);
	}
}
