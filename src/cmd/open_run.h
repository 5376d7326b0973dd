/*
 * open_run.h - from what a person typed to a report ready to be rendered: shared by `report` and the end of `run`.
 */
#ifndef PITOT_CMD_OPEN_RUN_H
#define PITOT_CMD_OPEN_RUN_H

#include "analyze/report.h"
#include "cmd/cmd.h"
#include "render/render.h"

struct opened_run {
	struct run_record *record;
	struct report report;
	struct profile_data *profile; /* NULL: the run has no code profile */
};

/* Loads the file, computes the report, and attaches series, the costliest processes and the code profile. */
int opened_run_load(const char *path, struct opened_run *out, struct err *err);
/* Looks at the code profile again, in the way that is asked for; there has to be one. */
void opened_run_look(struct opened_run *run, const struct code_request *request);
void opened_run_fini(struct opened_run *run);

/* What the terminal behind `fd` can show; `columns` 0: ask it. */
void render_options_for(int fd, int columns, bool verbose, struct render_options *out);

#endif
