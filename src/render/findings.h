/*
 * findings.h - the findings of a report, for each of the formats that show them, and the rules' documentation.
 */
#ifndef PITOT_RENDER_FINDINGS_H
#define PITOT_RENDER_FINDINGS_H

#include "base/json.h"
#include "render/term.h"

/* "saves about 1.20 s (34 %)", or nothing where no gain is predicted. */
void findings_gain_words(const struct finding *finding, struct str *out);
/* "processes_per_s 412 (exact, exit records)". */
void findings_number_words(const struct finding_number *number, struct str *out);

/* The most important ones, all with --verbose; nothing where there are none. */
void findings_term(const struct term *term);
/* `put_escaped` writes text so that Markdown leaves it alone. */
void findings_md(const struct report *report, void (*put_escaped)(struct str *out, const char *text), struct str *out);
void findings_json(struct json *json, const struct report *report);

/* docs/findings.md: every rule, when it fires, why, what to do. */
void findings_doc_markdown(struct str *out);

#endif
