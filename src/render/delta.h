/*
 * delta.h - a comparison ready to be shown: one function per format, one table, as for reports.
 *
 * `pitot diff`, `pitot gate` and the end of `pitot run --compare-to` show the same thing with different weight: the gate's
 * checks where there is a gate, the rows of the diff where they are asked for.
 */
#ifndef PITOT_RENDER_DELTA_H
#define PITOT_RENDER_DELTA_H

#include "analyze/gate.h"
#include "render/render.h"

struct delta {
	const struct diff *diff;
	const struct gate *gate; /* NULL: there are no thresholds */
	bool rows;               /* show the diff's rows, not only the gate */
	bool all;                /* the unchanged, inconclusive and minor ones, too */
	const char
		*config_path; /* where the thresholds stand, as the repository sees it, for annotations; may be NULL */
	const char *config_text; /* what stands in it; may be NULL */
};

struct delta_renderer {
	const char *name;
	void (*render)(const struct delta *delta, const struct render_options *options, struct str *out);
};

/* "term", "md", "json", "html"; and for a gate "github", "gitlab", "junit". NULL where there is none. */
const struct delta_renderer *delta_renderer_find(const char *name);

/* The line of config_text on which the threshold stands; 1 where it is not found. */
int delta_line_of(const struct delta *delta, const struct gate_check *check);

#endif
