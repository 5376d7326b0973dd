/* delta_models.h - the models of the runs on both sides of a diff: loaded, compared, let go. */
#ifndef PITOT_CMD_DELTA_MODELS_H
#define PITOT_CMD_DELTA_MODELS_H

#include "analyze/diff.h"
#include "cmd/delta.h"

/* Adds tables for the models that both sides profiled; nothing where there are none. */
int delta_models_add(struct diff *diff, const struct delta_runs *runs, struct err *err);

#endif
