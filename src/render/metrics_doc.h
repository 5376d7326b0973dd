/*
 * metrics_doc.h - the registry of metrics as documentation: docs/metrics.md and `pitot metrics`.
 */
#ifndef PITOT_RENDER_METRICS_DOC_H
#define PITOT_RENDER_METRICS_DOC_H

#include "render/render.h"

void metrics_doc_markdown(struct str *out);
void metrics_doc_term(const struct render_options *options, struct str *out);
void metrics_doc_json(struct str *out);

#endif
