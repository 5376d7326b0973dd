/*
 * trend.h - a metric's way through the history, for people (a chart in text), for programs (JSON) and for tables (CSV).
 */
#ifndef PITOT_RENDER_TREND_H
#define PITOT_RENDER_TREND_H

#include "analyze/trend.h"
#include "render/render.h"

struct trend_view {
	const char *run_name;
	const char *what;    /* the metric's or quality metric's name */
	const char *stage;   /* NULL: of the run */
	const char *meaning; /* NULL of a quality metric */
	bool is_quality;     /* then there is no unit */
	enum metric_unit unit;
	enum metric_direction direction;
	const char *this_machine; /* fingerprint of the machine that this is shown on */
	const struct trend_report *report;
	/* Runs of that name that were not looked at. */
	size_t failed, running, older;
	size_t damaged; /* files that may or may not have been runs of that name */
};

/* Never wider than options->columns. */
void trend_term(const struct trend_view *view, const struct render_options *options, struct str *out);
void trend_json(const struct trend_view *view, struct str *out);
/* One row per run, oldest first within each machine. */
void trend_csv(const struct trend_view *view, struct str *out);

/* The chart of one machine, with its axes; trend_chart.c. */
void trend_chart(const struct trend_view *view, const struct trend_machine *machine,
		 const struct render_options *options, struct str *out);
/* A value with its unit; `out` has FORMAT_SIZE bytes. */
void trend_format(const struct trend_view *view, double value, char *out);
const char *trend_file_name(const struct history_entry *entry);
const char *trend_way_name(enum trend_way way); /* "worse", "better", "changed" */

#endif
