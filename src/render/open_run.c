/* open_run.c - see open_run.h. */
#include "render/open_run.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COSTLIEST_PROCESSES = 10, CENSUS_MOST = 20000, USUAL_COLUMNS = 80, LEAST_COLUMNS = 40 };

/* Counts them all and keeps the costliest, which come first. */
static int attach_processes(const char *path, struct report_stage *stage, struct err *err)
{
	int code = store_processes(path, stage->last->row.id, CENSUS_MOST, &stage->processes, err);
	if (code)
		return code;
	census_compute(&stage->processes, &stage->census);
	while (stage->processes.items.len > COSTLIEST_PROCESSES)
		free(stage->processes.items.items[--stage->processes.items.len].command);
	return 0;
}

static int attach(const char *path, struct report *report, struct err *err)
{
	for (size_t i = 0; i < report->stages.len; i++) {
		struct report_stage *stage = &report->stages.items[i];
		if (!stage->last || stage->last->row.end_ns == 0)
			continue;
		int code = store_series(path, stage->last->row.id, REPORT_BUCKETS, &stage->series, err);
		if (!code)
			code = attach_processes(path, stage, err);
		if (code)
			return code;
	}
	return 0;
}

void opened_run_look(struct opened_run *run, const struct code_request *request)
{
	for (size_t i = 0; i < run->report.stages.len; i++) {
		struct report_stage *stage = &run->report.stages.items[i];
		struct code_stage counted = {stage->counted.items, stage->counted.len};
		bool wanted = stage->ran && (!request->stage || strcmp(request->stage, stage->name) == 0);
		code_report_free(stage->code);
		memory_report_free(stage->memory);
		stage->code = wanted ? code_report_new(run->profile, &counted, request) : NULL;
		stage->memory =
			wanted && run->memory ? memory_report_new(run->profile, run->memory, &counted, request) : NULL;
	}
}

static int attach_profile(const char *path, struct opened_run *run, struct err *err)
{
	static const struct code_request usual;
	bool exists = false;
	int code = store_profile_exists(path, &exists, err);
	if (!code && exists)
		code = store_profile_load(path, &run->profile, err);
	if (!code && run->profile)
		code = store_memory_load(path, run->profile, &run->memory, err);
	if (!code && run->profile)
		opened_run_look(run, &usual);
	return code;
}

static int attach_spans(const char *path, struct opened_run *run, struct err *err)
{
	bool exists = false;
	int code = store_span_exists(path, &exists, err);
	if (!code && exists)
		code = store_span_load(path, &run->spans, err);
	if (!run->spans)
		return code;
	run->report.spans = run->spans;
	for (size_t i = 0; i < run->report.stages.len; i++) {
		struct report_stage *stage = &run->report.stages.items[i];
		VEC(int64_t) ids = {0};
		for (size_t k = 0; k < stage->counted.len; k++)
			vec_push(&ids, stage->counted.items[k]->row.id);
		if (ids.len)
			stage->spans = span_report_new(run->spans, run->profile, ids.items, ids.len);
		vec_fini(&ids);
	}
	return 0;
}

static int attach_models(const char *path, struct opened_run *run, struct err *err)
{
	bool exists = false;
	int code = store_model_exists(path, &exists, err);
	if (!code && exists)
		code = store_model_load(path, &run->models, err);
	run->report.models = run->models;
	return code;
}

/* 0, or the code where there is no list to put the failure on. */
static int note(int code, struct run_problems *problems, const struct err *err)
{
	if (!code || !problems)
		return code;
	vec_push(&problems->items, mem_strdup(err->text));
	return 0;
}

static int load(const char *path, struct opened_run *out, struct run_problems *problems, struct err *err)
{
	*out = (struct opened_run){0};
	int code = store_load(path, &out->record, err);
	if (code)
		return code;
	report_compute(out->record, &out->report);
	code = note(attach(path, &out->report, err), problems, err);
	if (!code)
		code = note(attach_profile(path, out, err), problems, err);
	if (!code)
		code = note(attach_models(path, out, err), problems, err);
	if (!code)
		code = note(attach_spans(path, out, err), problems, err);
	if (code)
		opened_run_fini(out);
	else
		findings_compute(&out->report);
	return code;
}

int opened_run_load(const char *path, struct opened_run *out, struct err *err)
{
	return load(path, out, NULL, err);
}

int opened_run_load_some(const char *path, struct opened_run *out, struct run_problems *problems, struct err *err)
{
	return load(path, out, problems, err);
}

void run_problems_fini(struct run_problems *problems)
{
	for (size_t i = 0; i < problems->items.len; i++)
		free(problems->items.items[i]);
	vec_fini(&problems->items);
}

void opened_run_fini(struct opened_run *run)
{
	if (!run->record)
		return;
	report_fini(&run->report);
	profile_data_free(run->profile);
	span_data_free(run->spans);
	memory_data_free(run->memory);
	model_profile_free(run->models);
	run_record_free(run->record);
	run->record = NULL;
}

static int terminal_columns(int fd)
{
	struct winsize size;
	const char *said = getenv("COLUMNS");
	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return said && atoi(said) > 0 ? atoi(said) : USUAL_COLUMNS;
}

void render_options_for(int fd, int columns, bool verbose, struct render_options *out)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	bool dumb = !terminal || strcmp(terminal, "dumb") == 0;
	setlocale(LC_CTYPE, "");
	const char *charset = nl_langinfo(CODESET);
	*out = (struct render_options){.color = isatty(fd) && !dumb && !(no_color && no_color[0]),
				       .unicode = strcmp(charset, "UTF-8") == 0,
				       .columns = columns > 0 ? columns : terminal_columns(fd),
				       .verbose = verbose};
	if (out->columns < LEAST_COLUMNS)
		out->columns = LEAST_COLUMNS;
}
