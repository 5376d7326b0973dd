/*
 * reader.h - opens a run file that may be anything: of a live run, of a killed one, on a read-only disk, damaged,
 * hostile. Internal to store/.
 *
 * What a file can do to its reader is bounded by its own size: rows, bytes of text and steps of SQLite's machine are
 * counted against limits that no honest file of that size reaches, because a b-tree whose pages point at each other
 * looks endless. Only true tables without computed columns are read, never views.
 *
 * The getters do not fail; a value of the wrong kind or out of range makes the reader broken, and the next reader_step
 * says so. A loop over rows therefore needs one check, at its end.
 */
#ifndef PITOT_STORE_READER_H
#define PITOT_STORE_READER_H

#include "base/metric.h"
#include "store/sql.h"

struct reader {
	sqlite3 *db;
	const char *path; /* borrowed, for messages */
	char *copy;       /* folder of the copy that is read instead, or NULL */
	uint64_t bytes;   /* of the file and its write-ahead log */
	int64_t version;  /* of the schema */
	uint64_t steps_left, rows_left, text_left;
	const char *broken; /* what is wrong, or NULL; static text */
};

/* After a failure there is nothing to close. `reader` must not move while it is open. */
int reader_open(const char *path, struct reader *reader, struct err *err);
void reader_close(struct reader *reader);

int reader_prepare(struct reader *reader, const char *sql, sqlite3_stmt **out, struct err *err);
/* 1: a row, 0: no more, negative: an error. */
int reader_step(struct reader *reader, sqlite3_stmt *statement, struct err *err);
/* "run file '…' is damaged: …" with what is known; ERR_INPUT. */
int reader_damaged(struct reader *reader, struct err *err);

/* What is NULL in the file: 0 for the first two, `none` for the third, NULL for text. */
uint64_t reader_uint(struct reader *reader, sqlite3_stmt *statement, int column);
double reader_real(struct reader *reader, sqlite3_stmt *statement, int column);
int reader_int(struct reader *reader, sqlite3_stmt *statement, int column, int none);
bool reader_bool(struct reader *reader, sqlite3_stmt *statement, int column);
char *reader_text(struct reader *reader, sqlite3_stmt *statement, int column); /* owned by the caller */
char *reader_text_or_empty(struct reader *reader, sqlite3_stmt *statement, int column);
enum metric_unit reader_unit(struct reader *reader, sqlite3_stmt *statement, int column);

#endif
