/*
 * overlay.h - writes the isolated copies of a program's own configuration (`config:` in a pipeline file).
 *
 * The original is only ever read. The copy keeps its format (JSON or YAML, by its ending), has the settings applied and
 * the chosen paths made absolute against the original's folder, and lies in a folder of the run's that is removed
 * afterwards.
 */
#ifndef PITOT_CONFIG_OVERLAY_H
#define PITOT_CONFIG_OVERLAY_H

#include "config/pipeline.h"

/* The path that the copy of overlay `at` has or will have below `dir`. Owned by the caller. */
char *overlay_path(const struct overlay_spec *overlay, size_t at, const char *dir);
/* Writes all copies of the pipeline below `dir` (which exists). */
int overlay_write_all(const struct pipeline *pipeline, const char *dir, struct err *err);

#endif
