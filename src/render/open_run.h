/*
 * open_run.h - from what a person typed to a report ready to be rendered: shared by the commands and the page.
 */
#ifndef PITOT_RENDER_OPEN_RUN_H
#define PITOT_RENDER_OPEN_RUN_H

#include "analyze/report.h"
#include "render/render.h"

struct opened_run {
	struct run_record *record;
	struct report report;
	struct profile_data *profile; /* NULL: the run has no code profile */
	struct span_data *spans;      /* NULL: no program of the run recorded spans */
	struct memory_data *memory;   /* NULL: nor one of its memory */
	struct model_profile *models; /* NULL: the run profiled no models */
};

/* Loads the file, computes the report, and attaches series, the costliest processes and the code profile. */
int opened_run_load(const char *path, struct opened_run *out, struct err *err);
/* What could not be read of a run, in words. */
struct run_problems {
	VEC(char *) items;
};
/* The same of what can be read: a part that is damaged is left out and named. */
int opened_run_load_some(const char *path, struct opened_run *out, struct run_problems *problems, struct err *err);
void run_problems_fini(struct run_problems *problems);
/* Looks at the code profile again, in the way that is asked for; there has to be one. */
void opened_run_look(struct opened_run *run, const struct code_request *request);
void opened_run_fini(struct opened_run *run);

/* What the terminal behind `fd` can show; `columns` 0: ask it. */
void render_options_for(int fd, int columns, bool verbose, struct render_options *out);

#endif
