/*
 * comparison_csv.c - one row per run, in the order in which they were made; RFC 4180, so with CRLF.
 *
 * Columns: command, label, each parameter, block, place, start_s, exit_code, then every metric in base units.
 */
#include "base/json.h"
#include "render/comparison.h"

#include <stdlib.h>
#include <string.h>

static void put_field(struct str *out, const char *text)
{
	char *clean = str_utf8_clean(text, strlen(text));
	bool quote = strpbrk(clean, ",\"\r\n") != NULL || clean[0] == ' ' || str_ends(clean, " ");
	str_append(out, quote ? "\"" : "");
	for (const char *at = clean; *at; at++) {
		if (*at == '"')
			str_append_char(out, '"');
		str_append_char(out, *at);
	}
	str_append(out, quote ? "\"" : "");
	free(clean);
}

static void put_head(const struct comparison *comparison, struct str *out)
{
	str_append(out, "command,label");
	if (comparison->subjects.len)
		for (size_t i = 0; i < comparison->subjects.items[0].params.len; i++) {
			str_append_char(out, ',');
			put_field(out, comparison->subjects.items[0].params.items[i].name);
		}
	str_append(out, ",block,place,start_s,exit_code");
	for (size_t m = 0; m < comparison->metrics.len; m++)
		str_appendf(out, ",%s", metrics[comparison->metrics.items[m]].name);
	str_append(out, "\r\n");
}

static void put_row(const struct comparison *comparison, const struct comparison_subject *subject, size_t number,
		    struct str *out)
{
	const struct comparison_run *run = &subject->runs.items[number];
	put_field(out, subject->command);
	str_append_char(out, ',');
	put_field(out, subject->label);
	for (size_t i = 0; i < subject->params.len; i++) {
		str_append_char(out, ',');
		put_field(out, subject->params.items[i].value);
	}
	str_appendf(out, ",%zu,%zu,%.6f,", run->block, run->place, (double)run->start_ns / 1e9);
	if (run->exit_code >= 0)
		str_appendf(out, "%d", run->exit_code);
	for (size_t m = 0; m < comparison->metrics.len; m++) {
		char text[40];
		json_format_number(subject->series.items[m].values.items[number], text, sizeof(text));
		str_appendf(out, ",%s", text);
	}
	str_append(out, "\r\n");
}

static void render(const struct comparison *comparison, const struct render_options *options, struct str *out)
{
	VEC(size_t) next = {0};
	(void)options;
	put_head(comparison, out);
	for (size_t i = 0; i < comparison->subjects.len; i++)
		vec_push(&next, 0);
	for (size_t g = 0; g < comparison->groups.len; g++)
		for (size_t i = 0; i < comparison->groups.items[g].order.len; i++) {
			size_t subject = comparison->groups.items[g].order.items[i];
			put_row(comparison, &comparison->subjects.items[subject], next.items[subject]++, out);
		}
	vec_fini(&next);
}

const struct comparison_renderer comparison_csv = {"csv", render};
