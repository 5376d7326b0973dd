/* sheet.c - building a page and printing it: see sheet.h. */
#include "render/sheet.h"
#include "render/flow.h"
#include "render/markup.h"
#include "render/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, NAME_LEAST = 24, LABEL_COLUMN = 14, TABLE_COLUMNS = 16 };

void sheet_fini(struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->blocks.len; i++) {
		struct sheet_block *block = &sheet->blocks.items[i];
		free(block->label);
		free(block->text);
		for (size_t k = 0; k < block->cells.len; k++)
			free(block->cells.items[k]);
		vec_fini(&block->cells);
	}
	vec_fini(&sheet->blocks);
}

static char *print(const char *format, va_list arguments)
{
	char *text = NULL;
	return vasprintf(&text, format, arguments) < 0 ? mem_strdup("") : text;
}

void sheet_add(struct sheet *sheet, enum sheet_kind kind, const char *label, const char *format, ...)
{
	struct sheet_block *block = vec_add(&sheet->blocks);
	va_list arguments;
	va_start(arguments, format);
	block->kind = kind;
	block->label = mem_strdup(label);
	block->text = print(format, arguments);
	va_end(arguments);
}

void sheet_table(struct sheet *sheet, size_t left, const char *titles)
{
	struct sheet_block *block = vec_add(&sheet->blocks);
	block->kind = SHEET_TABLE;
	for (const char *at = titles;; at++) {
		bool text = *at == '<';
		at += text;
		size_t length = strcspn(at, "|");
		vec_push(&block->cells, mem_strndup(at, length));
		if (text || block->columns < left)
			block->texts |= 1U << block->columns;
		block->columns++;
		at += length;
		if (!*at || block->columns == TABLE_COLUMNS)
			break;
	}
}

void sheet_cell(struct sheet *sheet, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vec_push(&vec_last(&sheet->blocks)->cells, print(format, arguments));
	va_end(arguments);
}

void sheet_number(struct sheet *sheet, int decimals, double value, const char *suffix)
{
	if (isnan(value))
		sheet_cell(sheet, "%s", "");
	else
		sheet_cell(sheet, "%.*f%s", decimals, value, suffix);
}

static bool is_text(const struct sheet_block *block, size_t column)
{
	return block->texts & 1U << column;
}

static void table_widths(const struct sheet_block *block, const struct render_options *options, int *widths,
			 size_t *shown)
{
	for (size_t i = 0; i < block->columns; i++)
		widths[i] = 0;
	for (size_t i = 0; i < block->cells.len; i++) {
		char *clean = text_clean(block->cells.items[i], options->unicode);
		int width = (int)str_columns(clean);
		free(clean);
		if (width > widths[i % block->columns])
			widths[i % block->columns] = width;
	}
	for (*shown = block->columns; *shown > 1; --*shown) {
		int total = GAP;
		for (size_t i = 0; i < *shown; i++)
			total += widths[i] + (i ? GAP : 0);
		int over = total - options->columns;
		if (over <= 0)
			return;
		if (widths[0] - over >= NAME_LEAST) {
			widths[0] -= over;
			return;
		}
	}
	if (widths[0] > options->columns - GAP)
		widths[0] = options->columns - GAP;
}

static void table_term(const struct sheet_block *block, const struct render_options *options, struct str *out)
{
	int widths[TABLE_COLUMNS] = {0};
	size_t shown;
	table_widths(block, options, widths, &shown);
	for (size_t i = 0; i < block->cells.len; i++) {
		size_t column = i % block->columns;
		if (column >= shown)
			continue;
		struct str cell = {0};
		char *clean = text_clean(block->cells.items[i], options->unicode);
		/* Nothing behind the last text of a line. */
		if (column + 1 == shown && is_text(block, column))
			str_append(&cell, clean);
		else
			text_append_cell(&cell, clean, widths[column], !is_text(block, column), options->unicode);
		str_append(out, "  ");
		style_append(out, i < block->columns ? STYLE_DIM : STYLE_PLAIN, options->color, str_text(&cell));
		if (column + 1 == shown)
			str_append_char(out, '\n');
		free(clean);
		str_fini(&cell);
	}
}

static void block_term(const struct sheet_block *block, const struct render_options *options, bool first,
		       struct str *out)
{
	struct flow flow = {
		.out = out, .columns = options->columns, .color = options->color, .unicode = options->unicode};
	if (block->kind == SHEET_TABLE) {
		table_term(block, options, out);
		return;
	}
	if (block->kind == SHEET_PLOT) {
		str_append(out, block->text);
		return;
	}
	if (block->kind <= SHEET_HEADING && !first)
		str_append_char(out, '\n');
	flow_begin(&flow, block->kind <= SHEET_HEADING ? 0 : GAP);
	if (block->kind == SHEET_LINE) {
		flow_text(&flow, STYLE_DIM, block->label);
		flow_tab(&flow, LABEL_COLUMN);
	}
	flow_text(&flow,
		  block->kind <= SHEET_HEADING ? STYLE_BOLD
		  : block->kind == SHEET_NOTE  ? STYLE_DIM
					       : STYLE_PLAIN,
		  block->text);
	flow_end(&flow);
}

void sheet_term(const struct sheet *sheet, const struct render_options *options, struct str *out)
{
	for (size_t i = 0; i < sheet->blocks.len; i++)
		block_term(&sheet->blocks.items[i], options, i == 0, out);
}

static void table_md(const struct sheet_block *block, struct str *out)
{
	str_append_char(out, '\n');
	for (size_t i = 0; i < block->cells.len; i++) {
		size_t column = i % block->columns;
		str_append(out, column ? " " : "| ");
		markup_markdown(out, block->cells.items[i]);
		str_append(out, " |");
		if (column + 1 < block->columns)
			continue;
		str_append_char(out, '\n');
		if (i + 1 == block->columns) {
			str_append_char(out, '|');
			for (size_t k = 0; k < block->columns; k++)
				str_append(out, is_text(block, k) ? "---|" : "--:|");
			str_append_char(out, '\n');
		}
	}
	str_append_char(out, '\n');
}

void sheet_md(const struct sheet *sheet, struct str *out)
{
	for (size_t i = 0; i < sheet->blocks.len; i++) {
		const struct sheet_block *block = &sheet->blocks.items[i];
		if (block->kind == SHEET_TABLE) {
			table_md(block, out);
			continue;
		}
		if (block->kind == SHEET_PLOT) {
			str_appendf(out, "\n```\n%s```\n\n", block->text);
			continue;
		}
		if (block->kind <= SHEET_HEADING)
			str_append(out, i ? "\n" : "");
		str_append(out, block->kind == SHEET_TITLE ? "# " : block->kind == SHEET_HEADING ? "## " : "- ");
		if (block->kind == SHEET_LINE) {
			markup_markdown(out, block->label);
			str_append(out, ": ");
		}
		markup_markdown(out, block->text);
		str_append(out, block->kind <= SHEET_HEADING ? "\n\n" : "\n");
	}
}
