/*
 * progress.h - the live view of a run, on stderr.
 *
 * On a terminal: a block of lines, one per stage, redrawn in place about ten times a second; a pipeline with more
 * stages than lines shows the ones around the running stage. Elsewhere: one plain line when a stage begins and when it
 * ends.
 */
#ifndef PITOT_RENDER_PROGRESS_H
#define PITOT_RENDER_PROGRESS_H

#include "render/render.h"
#include "run/run.h"

enum progress_mode { PROGRESS_NONE, PROGRESS_NOTES /* only what a person must know */, PROGRESS_PLAIN, PROGRESS_LIVE };

struct progress;

struct progress *progress_new(int fd, enum progress_mode mode, const struct render_options *options);
/* Callbacks that draw; `context` of the observer is the progress. */
struct run_observer progress_observer(struct progress *progress);
/* Leaves an empty line between the view and what comes after. */
void progress_free(struct progress *progress);

#endif
