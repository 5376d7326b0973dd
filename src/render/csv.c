/*
 * csv.c - one row per stage, one column per metric of the registry, in base units; RFC 4180, so with CRLF.
 *
 * An empty field is "not known". The run has no row of its own: every row is a stage, so that a sum, a mean or a plot
 * over a column never counts a total together with its parts, and no stage name has to be kept free for it. The run's
 * own values are in the json format.
 */
#include "base/json.h"
#include "render/csv_field.h"
#include "render/memory_csv.h"
#include "render/renderers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void csv_put_field(struct str *out, const char *text)
{
	csv_put_bytes(out, text ? text : "", text ? strlen(text) : 0);
}

void csv_put_bytes(struct str *out, const char *bytes, size_t count)
{
	char *clean = str_utf8_clean(bytes, count);
	bool quote = strpbrk(clean, ",\"\r\n") != NULL || clean[0] == ' ' || str_ends(clean, " ");
	if (!quote) {
		str_append(out, clean);
		free(clean);
		return;
	}
	str_append_char(out, '"');
	for (const char *at = clean; *at; at++) {
		if (*at == '"')
			str_append_char(out, '"');
		str_append_char(out, *at);
	}
	str_append_char(out, '"');
	free(clean);
}

static void put_header(struct str *out)
{
	str_append(out, "run,stage,status");
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		str_appendf(out, ",%s", metrics[metric].name);
	str_append(out, "\r\n");
}

static void put_row(struct str *out, const char *run, const struct report_stage *stage)
{
	csv_put_field(out, run);
	str_append_char(out, ',');
	csv_put_field(out, stage->name);
	str_appendf(out, ",%s", status_name(stage->status));
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		char number[40] = "";
		if (stage->values[metric].state == METRIC_KNOWN && isfinite(stage->values[metric].value))
			json_format_number(stage->values[metric].value, number, sizeof(number));
		str_appendf(out, ",%s", number);
	}
	str_append(out, "\r\n");
}

static int render_csv(const struct report *report, const struct render_options *options, struct str *out,
		      struct err *err)
{
	(void)err;
	if (options->weight) {
		memory_csv(report, (enum memory_weight)(options->weight - 1), out);
		return 0;
	}
	put_header(out);
	for (size_t i = 0; i < report->stages.len; i++)
		put_row(out, report->record->row.name, &report->stages.items[i]);
	return 0;
}

const struct renderer renderer_csv = {"csv", "one row per stage, one column per metric", render_csv};
