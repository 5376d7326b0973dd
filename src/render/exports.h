/*
 * exports.h - the entries of the table in code_export.c, one per file.
 */
#ifndef PITOT_RENDER_EXPORTS_H
#define PITOT_RENDER_EXPORTS_H

#include "render/code_export.h"

extern const struct code_export code_export_folded;
extern const struct code_export code_export_speedscope;
extern const struct code_export code_export_pprof;
extern const struct code_export code_export_chrome;
extern const struct code_export code_export_callgrind;
extern const struct code_export code_export_svg;

#endif
