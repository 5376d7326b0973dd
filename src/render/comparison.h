/*
 * comparison.h - a comparison as text: one function per format, one table; and the live view while it runs.
 */
#ifndef PITOT_RENDER_COMPARISON_H
#define PITOT_RENDER_COMPARISON_H

#include "analyze/comparison.h"
#include "render/progress.h"
#include "render/render.h"

struct comparison_renderer {
	const char *name;
	void (*render)(const struct comparison *comparison, const struct render_options *options, struct str *out);
};

extern const struct comparison_renderer *const comparison_renderer_table[]; /* ends with NULL */
const struct comparison_renderer *comparison_renderer_find(const char *name);

extern const struct comparison_renderer comparison_term, comparison_md, comparison_json, comparison_csv,
	comparison_hyperfine;

/* "slower", "faster", "larger", "smaller", "the same", "undecided": what a verdict means for this metric. */
const char *comparison_word(int metric, const struct change_result *result);
/* "1.08 × [1.06, 1.10]"; "1.08 ×" where there is no interval. */
void comparison_ratio_text(const struct change_result *result, struct str *out);
/* "n=4, m=x"; nothing where there are no parameters. */
void comparison_params_text(const struct comparison_subject *subject, struct str *out);
/* "2 is slower than 1: …", the sentence that a person wants to read first. */
void comparison_sentence(const struct comparison *comparison, const struct comparison_pair *pair, struct str *out);
/* A note with the number of the subject it is about. */
void comparison_note_text(const struct comparison *comparison, const struct comparison_note *note, struct str *out);
/* The subject's number in its group, from 1: what --reference takes. */
size_t comparison_number(const struct comparison *comparison, size_t subject);

/* On a terminal a block of lines, redrawn; elsewhere a line when a group begins and when it ends. */
struct comparison_view;

struct comparison_view *comparison_view_new(int fd, enum progress_mode mode, const struct render_options *options);
void comparison_view_free(struct comparison_view *view);
bool comparison_view_is_live(const struct comparison_view *view);
/* `results` as comparison_look gave them last, or NULL; what is handed in is kept. No comparison: the last again. `phase` is what goes on: "warm-up", "building main". */
void comparison_view_draw(struct comparison_view *view, const struct comparison *comparison, size_t group,
			  const struct change_result *results, const char *phase, double elapsed_s, bool now);
/* A line for the person, below what was drawn; and the last lines of what a command printed, also where nothing is
 * drawn. */
void comparison_view_say(struct comparison_view *view, const char *text);
void comparison_view_log(struct comparison_view *view, const char *text, size_t lines);

#endif
