/* trend_note.c - trend_note: what two runs differ in besides their numbers. See trend.h. */
#include "analyze/report.h"
#include "analyze/trend.h"
#include "base/str.h"

#include <string.h>

enum { NOTED_PARAMS = 3 };

static void add_part(struct str *note)
{
	str_append(note, note->len ? "; " : "also different: ");
}

static const char *param_value(const struct run_record *record, const char *name)
{
	for (size_t i = 0; i < record->params.len; i++)
		if (strcmp(record->params.items[i].name, name) == 0)
			return record->params.items[i].value;
	return NULL;
}

static void note_params(const struct run_record *before, const struct run_record *after, struct str *note)
{
	size_t changed = 0;
	for (size_t i = 0; i < after->params.len; i++) {
		const struct name_value *param = &after->params.items[i];
		const char *old = param_value(before, param->name);
		if (!old || strcmp(old, param->value) == 0 || ++changed > NOTED_PARAMS)
			continue;
		add_part(note);
		str_appendf(note, "%s was %s and became %s", param->name, old, param->value);
	}
	if (changed > NOTED_PARAMS) {
		add_part(note);
		str_appendf(note, "%zu more parameters", changed - NOTED_PARAMS);
	}
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The value of the run or of a stage as the report has it: its source may be made of several. Owned by the caller. */
static char *source_of(const struct run_record *record, int metric, const char *stage)
{
	struct report report;
	report_compute(record, &report);
	const struct metric_value *value = stage ? NULL : &report.values[metric];
	for (size_t i = 0; stage && i < report.stages.len; i++)
		if (strcmp(report.stages.items[i].name, stage) == 0)
			value = &report.stages.items[i].values[metric];
	char *source = value && value->state == METRIC_KNOWN ? mem_strdup(value->source) : NULL;
	report_fini(&report);
	return source;
}

static void note_source(const struct run_record *before, const struct run_record *after, int metric, const char *stage,
			struct str *note)
{
	char *old = source_of(before, metric, stage), *new = source_of(after, metric, stage);
	if (old && new &&strcmp(old, new) != 0) {
		add_part(note);
		str_appendf(note, "measured by '%s' before and by '%s' after", old, new);
	}
	free(old);
	free(new);
}

char *trend_note(const struct run_record *before, const struct run_record *after, int metric, const char *stage)
{
	struct str note = {0};
	note_params(before, after, &note);
	if (!same(before->row.config_text, after->row.config_text)) {
		add_part(&note);
		str_append(&note, "the pipeline file");
	}
	if (metric >= 0)
		note_source(before, after, metric, stage, &note);
	if (!same(before->row.pitot_version, after->row.pitot_version)) {
		add_part(&note);
		str_appendf(&note, "pitot %s, then %s", before->row.pitot_version, after->row.pitot_version);
	}
	return note.len ? str_take(&note) : NULL;
}
