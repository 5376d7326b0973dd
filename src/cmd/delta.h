/*
 * delta.h - what `diff`, `gate` and the end of `run --compare-to` share: from words to two sides, thresholds and a picture.
 */
#ifndef PITOT_CMD_DELTA_H
#define PITOT_CMD_DELTA_H

#include "cmd/cmd.h"
#include "render/delta.h"

struct delta_runs {
	VEC(struct run_record *) sides[2];
};

/* Which runs stand on which side: `A B`, `A1 A2 -- B1 B2`, or --a and --b. The texts are borrowed. */
struct delta_words {
	struct opt_texts sides[2];
};

/* 0, or the exit status after the message. With fewer than two words, the missing ones are `default_a` (NULL: A stays
 * empty) and "last"; a single word is A where `first_is_a`, else B. */
int delta_words_sort(const struct cmd *cmd, const struct opt_texts *rest, size_t dashes, const struct opt_texts *a,
		     const struct opt_texts *b, const char *default_a, bool first_is_a, struct delta_words *out);
void delta_words_fini(struct delta_words *words);

int delta_runs_load(const struct cmd *cmd, const char *dir, const struct delta_words *words, struct delta_runs *out);
/* Adds a run file to a side. */
int delta_runs_add(struct delta_runs *runs, int side, const char *path, struct err *err);
void delta_runs_fini(struct delta_runs *runs);

/* --threshold, --confidence. 0, or the exit status after the message. */
int delta_options(const struct cmd *cmd, double threshold_pct, double confidence_pct, struct diff_options *out);
void delta_compare(const struct delta_runs *runs, const struct diff_options *options, struct diff *out);

/* Thresholds of the pipeline as it was when B's first run was made, else A's; then those of --gate NAME=LIMIT, which go
 * before one of the same name. The names are borrowed from `runs` and owned by `limits`. */
struct delta_limits {
	VEC(struct gate_limit) items;
	VEC(char *) owned;
	const struct run_record *source; /* whose pipeline file they stand in; NULL where none are stored */
};
int delta_limits_collect(const struct cmd *cmd, const struct delta_runs *runs, const struct opt_texts *flags,
			 struct delta_limits *out);
void delta_limits_fini(struct delta_limits *limits);

enum { EXIT_REGRESSION = 2, EXIT_INCONCLUSIVE = 3 };

/* The path of the pipeline file below the current folder, as annotations want it; NULL where there is none. Owned. */
char *delta_config_path(const struct run_record *run);

/* For `pitot run`: the run to compare with, loaded before anything runs, and what is done after. */
struct baseline;
int baseline_open(const struct cmd *cmd, const char *dir, const char *word, struct baseline **out);
void baseline_free(struct baseline *baseline);

struct baseline_show {
	const char *report_dir; /* writes profile_delta.json and profile_delta.md there; may be NULL */
	bool print;             /* a summary */
	bool to_stderr;         /* because stdout is somebody else's */
};
/* 0, EXIT_REGRESSION where the gate fails, or the status of a failure. */
int baseline_compare(const struct cmd *cmd, struct baseline *baseline, const char *file,
		     const struct baseline_show *show);

#endif
