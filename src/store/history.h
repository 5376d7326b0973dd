/*
 * history.h - a folder of run files plus an index, so that thousands of runs list at once.
 *
 * The folder is the truth, the index (index.sqlite beside the files) only remembers what was read from each file, by
 * name, size and modification time; a missing or damaged index is made anew, a file that vanished drops out, a damaged
 * file is listed as such. Two pitots may use one history at the same time. What people add, the tags, is not in the
 * index but in a file of its own (tag.h).
 */
#ifndef PITOT_STORE_HISTORY_H
#define PITOT_STORE_HISTORY_H

#include "base/err.h"
#include "base/vec.h"
#include "store/record.h"

struct history_entry {
	char *path;
	char *name;
	char *uuid; /* may be NULL */
	uint64_t started_utc_ns;
	uint64_t wall_ns;
	enum stage_status status;
	char *git_commit;  /* may be NULL */
	char *fingerprint; /* of the host; may be NULL */
	size_t stages;
	bool live;
	char *damaged;    /* why it could not be read, or NULL */
	VEC(char *) tags; /* in order */
	double value;     /* what the request asked for; NaN where it is not known */
};

struct history {
	char *dir;
	VEC(struct history_entry) entries; /* newest first */
	char *tags_broken;                 /* why the tags could not be read, or NULL */
};

/* What a run measured, folded over its repetitions; NaN where it is not known. */
struct history_stage {
	char *name;
	double values[METRIC_COUNT];
};

struct history_quality {
	char *name;
	double value;
};

struct history_values {
	double run[METRIC_COUNT];
	VEC(struct history_stage) stages;
	VEC(struct history_quality) quality;
};

/*
 * What to look up for each run besides the run itself. The values come from the index; a run that the index does not
 * have the values of is loaded and handed to `fold`, once in its life. How repetitions and stages make one number is
 * not for the store to know, and every caller must fold in the same way.
 */
struct history_request {
	void (*fold)(const struct run_record *record, struct history_values *out); /* NULL: no values */
	const char *run_name;                                                      /* of these runs only; NULL: all */
	const char *stage;                                                         /* NULL: of the run as a whole */
	int metric;                                                                /* where `quality` is NULL */
	const char *quality;
	/* Called after each file that had to be opened; may be NULL. */
	void (*progress)(void *context, size_t done, size_t total);
	void *context;
};

/* --history DIR, else $PITOT_HISTORY, else $XDG_DATA_HOME/pitot, else ~/.local/share/pitot. Owned by the caller. */
char *history_dir(const char *chosen);
/* A name for a new run file in `dir` that does not exist yet: "churn-20260131-123456.pitot". Creates `dir`. */
int history_new_path(const char *dir, const char *run_name, uint64_t utc_ns, char **out, struct err *err);
int history_open(const char *dir, struct history *out, struct err *err);
int history_open_with(const char *dir, const struct history_request *request, struct history *out, struct err *err);
void history_fini(struct history *history);
/* Turns what a person types into a path: "@tag", an existing file, a file name in the history, "last", "last~2", a unique
 * beginning of a run's file name, or the commit that a run was made at ("HEAD~1", "3fa2b1c"): the newest run of it. NULL
 * means "last". Owned by the caller. */
int history_resolve(const char *dir, const char *word, char **out, struct err *err);

/* Median wall time that stage `stage` took in the last ten successful runs of pipeline `run_name`; false where there is
 * none. */
bool history_expected_ns(const char *dir, const char *run_name, const char *stage, uint64_t *out);

#endif
