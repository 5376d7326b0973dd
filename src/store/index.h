/*
 * index.h - what history remembers of each run file: index.sqlite, a cache that may vanish at any time.
 * Internal to store/.
 *
 * Rows are valid for one size and modification time of their file (its write-ahead log included). Whatever goes wrong
 * with the index - damaged, of another version, locked for too long, not writable - costs time, never an answer: a
 * damaged one is made anew, one that cannot be written is used as it is, and where there is none and none can be made
 * it lives in memory for the length of the call. A database of that name that is not ours is left alone.
 */
#ifndef PITOT_STORE_INDEX_H
#define PITOT_STORE_INDEX_H

#include "store/history.h"
#include "store/sql.h"

struct index_row {
	char *file; /* name without the folder */
	uint64_t bytes;
	uint64_t changed_ns;
	bool valued;                /* what the run measured is known as well */
	struct history_entry entry; /* .path is NULL */
};

/* What a stage took, for estimates. */
struct index_wall {
	char *stage;
	uint64_t wall_ns;
};

struct index_rows {
	VEC(struct index_row) items; /* by file name */
};

struct index_walls {
	VEC(struct index_wall) items;
};

/*
 * The values of the runs: one row per run and stage (the run itself is the stage ""), one column per metric of the
 * registry, so that the file can be asked with sqlite3, a value takes nine bytes, and one that is not known takes one.
 * An index of a pitot with other metrics lacks columns and is made anew. index_values.c.
 */
char *index_values_schema(void); /* owned by the caller, as are these: */
char *index_values_probe(void);  /* a query that can only be prepared where the tables are as they should be */
char *index_rows_query(const struct history_request *request); /* INDEX_ROW_COLUMNS, then the value */
void index_values_put(sqlite3 *db, int64_t run_id, const struct history_values *values);

#define INDEX_ROW_COLUMNS                                                                                              \
	"run_file.file, run_file.bytes, run_file.changed_ns, run_file.name, run_file.started_utc_ns, "                 \
	"run_file.wall_ns,"                                                                                            \
	" run_file.status, run_file.git_commit, run_file.fingerprint, run_file.stages, run_file.live,"                 \
	" run_file.damaged, run_file.uuid, run_file.valued"

struct index {
	sqlite3 *db;
	char *path;
	bool writable;
	bool damaged; /* found out while using it: index_close removes it, so that the next one is made anew */
};

void index_open(const char *dir, struct index *index);
void index_close(struct index *index);

/* All rows, in the order of strcmp; none where they cannot be read. The entries' values are what `request` asks for,
 * which may be NULL. */
void index_read(struct index *index, const struct history_request *request, struct index_rows *out);
/* Reads the run file itself: everything that a row remembers. A file that cannot be read is damaged; false where that
 * may pass (no permission, locked) and should not be remembered. */
bool index_examine(const char *path, struct index_row *row, struct index_walls *walls);
/* The whole run, folded by the request's function. A file of which only the beginning could be read becomes a damaged
 * one; false as above. */
bool index_fold(const char *path, const struct history_request *request, struct index_row *row,
		struct history_values *values);

/* Changes come between index_begin and index_commit; false: not now, because another pitot is at it. */
bool index_begin(struct index *index);
/* `values` counts where row->valued. */
void index_put(struct index *index, const struct index_row *row, const struct index_walls *walls,
	       const struct history_values *values);
/* The values of a run whose row is there already. */
void index_add_values(struct index *index, const char *file, const struct history_values *values);
void index_drop(struct index *index, const char *file);
/* The state of the folder that the index now knows; see index_is_fresh. */
void index_know_folder(struct index *index, uint64_t dir_changed_ns);
bool index_commit(struct index *index);

/* Whether nothing has come or gone since the index was last brought up to date. */
bool index_is_fresh(struct index *index, uint64_t dir_changed_ns);
/* The wall times of `stage` in the last `limit` successful runs called `run_name`, newest first; how many. */
size_t index_recent_walls(struct index *index, const char *run_name, const char *stage, uint64_t *out, size_t limit);

void index_row_fini(struct index_row *row);
void index_rows_fini(struct index_rows *rows);
void index_walls_fini(struct index_walls *walls);
void history_values_fini(struct history_values *values);
double history_values_pick(const struct history_values *values, const struct history_request *request);
void history_entry_fini(struct history_entry *entry);
void history_attach_tags(struct history *history);

#endif
