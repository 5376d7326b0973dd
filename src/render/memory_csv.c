/*
 * memory_csv.c - the allocation sites of a run as rows, for spreadsheets and data frames: `--format csv` with a weight.
 *
 * Every site of every process, the largest by the weight first in each stage; the numbers of all weights stand in each row.
 */
#include "render/memory_csv.h"
#include "render/csv_field.h"

#include <inttypes.h>
#include <stdlib.h>

static int by_weight(const void *a, const void *b, void *context)
{
	const struct memory_site *x = ((const struct memory_site_row *)a)->site,
				 *y = ((const struct memory_site_row *)b)->site;
	uint64_t first = x->amounts[*(const int *)context].bytes, second = y->amounts[*(const int *)context].bytes;
	if (first != second)
		return first < second ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static void put_site(struct str *out, const struct report_stage *stage, const struct memory_site_row *row)
{
	csv_put_field(out, stage->name);
	str_appendf(out, ",%d,%s,", row->process->pid, memory_kind_name(row->site->kind));
	csv_put_field(out, row->place.function ? row->place.function : "");
	str_append_char(out, ',');
	csv_put_field(out, row->place.module ? row->place.module : "");
	str_append_char(out, ',');
	csv_put_field(out, row->place.file ? row->place.file : "");
	str_append_char(out, ',');
	if (row->place.line > 0)
		str_appendf(out, "%d", row->place.line);
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		str_appendf(out, ",%" PRIu64 ",%" PRIu64 ",%.17g", row->site->amounts[i].bytes,
			    row->site->amounts[i].count, row->site->amounts[i].variance);
	str_append(out, "\r\n");
}

void memory_csv(const struct report *report, enum memory_weight weight, struct str *out)
{
	int by = (int)weight;
	str_append(out, "stage,pid,memory,function,module,file,line,peak_bytes,peak_blocks,peak_variance,leaked_bytes,"
			"leaked_blocks,leaked_variance,allocated_bytes,calls,allocated_variance,temporary_bytes,"
			"temporary_calls,temporary_variance\r\n");
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct memory_report *memory = report->stages.items[i].memory;
		size_t count = memory ? memory->sites.len : 0;
		struct memory_site_row *rows = mem_alloc((count + 1) * sizeof(*rows));
		for (size_t k = 0; k < count; k++)
			rows[k] = memory->sites.items[k];
		if (count > 1)
			qsort_r(rows, count, sizeof(*rows), by_weight, &by);
		for (size_t k = 0; k < count; k++)
			put_site(out, &report->stages.items[i], &rows[k]);
		free(rows);
	}
}
