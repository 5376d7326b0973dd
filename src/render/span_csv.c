/*
 * span_csv.c - the format "operators": operator_profile.csv of any program's spans. A row per chunk, a column per operator with the
 * seconds that it took of it; RFC 4180. An operator inside others has its path as its name.
 *
 * The bandwidth is input bytes over the chunk's latency, in millions of bytes. Where there is more than one stage or process, the
 * first columns say which. A stage whose programs named no chunks has one row for all of it, without a chunk's number.
 */
#include "base/json.h"
#include "render/csv_field.h"
#include "render/renderers.h"

#include <math.h>
#include <string.h>

struct table {
	const struct report *report;
	VEC(const char *) paths; /* of all stages, each once */
	bool several;
	struct str *out;
};

static void put_number(struct str *out, double value)
{
	char text[32];
	if (isnan(value))
		return;
	json_format_number(value, text, sizeof(text));
	str_append(out, text);
}

static void add_paths(struct table *table, const struct span_report *spans)
{
	for (size_t i = 0; i < spans->operators.len; i++) {
		bool there = false;
		for (size_t k = 0; k < table->paths.len && !there; k++)
			there = strcmp(table->paths.items[k], spans->operators.items[i].path) == 0;
		if (!there)
			vec_push(&table->paths, spans->operators.items[i].path);
	}
}

static void put_header(struct table *table)
{
	str_append(table->out, table->several ? "stage,pid,chunk_id,rows" : "chunk_id,rows");
	for (size_t i = 0; i < table->paths.len; i++) {
		struct str name = {0};
		str_appendf(&name, "%s_s", table->paths.items[i]);
		str_append_char(table->out, ',');
		csv_put_field(table->out, str_text(&name));
		str_fini(&name);
	}
	str_append(table->out, ",estimated_input_bandwidth_mb_s,input_bytes\r\n");
}

static void put_times(struct table *table, const struct span_report *spans, size_t chunk)
{
	for (size_t i = 0; i < table->paths.len; i++) {
		str_append_char(table->out, ',');
		for (size_t k = 0; k < spans->operators.len; k++)
			if (strcmp(spans->operators.items[k].path, table->paths.items[i]) == 0)
				put_number(table->out, chunk == SIZE_MAX ? spans->operators.items[k].total_s
									 : span_report_time(spans, chunk, k));
	}
}

static void put_chunk(struct table *table, const struct report_stage *stage, size_t at)
{
	const struct chunk_line *chunk = &stage->spans->chunks.items[at];
	struct str *out = table->out;
	if (table->several) {
		csv_put_field(out, stage->name);
		str_appendf(out, ",%d,", chunk->pid);
	}
	str_appendf(out, "%lld,", (long long)chunk->number);
	put_number(out, chunk->rows);
	put_times(table, stage->spans, at);
	str_append_char(out, ',');
	put_number(out, chunk->latency_s > 0 ? chunk->bytes_in / chunk->latency_s / 1e6 : NAN);
	str_append_char(out, ',');
	put_number(out, chunk->bytes_in);
	str_append(out, "\r\n");
}

static void put_whole(struct table *table, const struct report_stage *stage)
{
	if (table->several) {
		csv_put_field(table->out, stage->name);
		str_append(table->out, ",,");
	}
	str_append(table->out, ",");
	put_times(table, stage->spans, SIZE_MAX);
	str_append(table->out, ",,\r\n");
}

static int render_operators(const struct report *report, const struct render_options *options, struct str *out,
			    struct err *err)
{
	struct table table = {.report = report, .out = out};
	size_t stages = 0, processes = 0;
	(void)options;
	(void)err;
	for (size_t i = 0; i < report->stages.len; i++)
		if (report->stages.items[i].spans) {
			stages++;
			processes += report->stages.items[i].spans->processes;
			add_paths(&table, report->stages.items[i].spans);
		}
	table.several = stages > 1 || processes > 1;
	put_header(&table);
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		for (size_t k = 0; stage->spans && k < stage->spans->chunks.len; k++)
			put_chunk(&table, stage, k);
		if (stage->spans && !stage->spans->chunks.len)
			put_whole(&table, stage);
	}
	vec_fini(&table.paths);
	return 0;
}

const struct renderer renderer_operators = {.name = "operators",
					    .summary = "operators and chunks of its programs' spans, as CSV",
					    .render = render_operators};
