/*
 * machine.h - what `pitot machine` prints: the measured limits, their ridges and the roofline.
 *
 * machine_term.c the page, machine_plot.c its plot, machine_md.c, machine_json.c, machine_svg.c the other formats;
 * machine_words.c what they share.
 */
#ifndef PITOT_RENDER_MACHINE_H
#define PITOT_RENDER_MACHINE_H

#include "base/vec.h"
#include "model/machine.h"
#include "render/render.h"

struct machine_view {
	const struct machine *machine;
	const struct topology *topology;
	const struct host_facts *host;
	bool stored;  /* not measured now, but read from the file */
	double age_s; /* of what was stored; 0 where it was measured now */
};

void machine_term(const struct machine_view *view, const struct render_options *options, struct str *out);
void machine_md(const struct machine_view *view, const struct render_options *options, struct str *out);
void machine_json(const struct machine_view *view, const struct render_options *options, struct str *out);
void machine_svg(const struct machine_view *view, const struct render_options *options, struct str *out);

/* A line of the tables: the same thing with one thread and with all. */
struct machine_row {
	enum machine_kind kind;
	char label[64];
	const struct machine_rate *one, *all; /* borrowed; NULL: not measured; `all` is NULL where the team is one */
};
struct machine_rows {
	VEC(struct machine_row) items;
};
/* What was measured of a kind: all of it, or without `everything` only the best of each size or kernel. */
void machine_rows_of(const struct machine_view *view, enum machine_kind kind, bool everything,
		     struct machine_rows *out);
/* "fp32 against memory" and so on: peak over bandwidth, in FLOP per byte. */
struct machine_ridge {
	char label[32];
	double one, all; /* NaN: not known */
};
enum { MACHINE_RIDGES = 2 };
void machine_ridges(const struct machine_view *view, struct machine_ridge out[MACHINE_RIDGES]);

/* A line of the roofline plot. */
struct machine_line {
	bool slanted; /* bytes/s; else FLOP/s */
	double value;
	char label[64];
};
struct machine_lines {
	VEC(struct machine_line) items; /* peaks first, then bandwidths, the larger first */
	double left, right;             /* FLOP per byte */
	double bottom, top;             /* FLOP/s */
	double peak, fastest;           /* the highest of each sort */
};
/* False where there is nothing to draw: no peak or no bandwidth. */
bool machine_lines_of(const struct machine_view *view, unsigned threads, struct machine_lines *out);
void machine_lines_fini(struct machine_lines *lines);
/* Where a line begins and ends, in FLOP per byte. */
void machine_line_ends(const struct machine_lines *lines, const struct machine_line *line, double *from, double *to);

/* `columns` wide at most. */
void machine_plot(const struct machine_lines *lines, const struct render_options *options, struct str *out);

/* "AMD EPYC, 2 cores (2 CPUs) in 1 package, 7.8 GiB". */
void machine_words_host(const struct machine_view *view, struct str *out);
/* "L1 data 32 KiB ×2, …"; nothing where the machine does not tell. */
void machine_words_caches(const struct machine_view *view, struct str *out);
/* "measured now in 2.6 s (quick)"; for a file, which is read later, "measured 2026-01-31T12:34:56Z in 2.6 s (quick)". */
void machine_words_when(const struct machine_view *view, struct str *out);
void machine_words_date(const struct machine_view *view, struct str *out);
/* "3.65 GHz with one thread, …": measured, and how. */
void machine_words_frequency(const struct machine_view *view, struct str *out);
/* What the numbers are, for people. */
extern const char *const machine_words_method[];                            /* ends with NULL */
const char *machine_fact(const struct machine_view *view, const char *key); /* NULL: not told */
/* In the unit of the table, "GFLOP/s", "GB/s" or "GHz": three digits. */
void machine_format(double value, char *out, size_t size);

#endif
