/*
 * sql.h - the few things that everything on SQLite in this folder shares. Internal to store/.
 */
#ifndef PITOT_STORE_SQL_H
#define PITOT_STORE_SQL_H

#include "base/err.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SQL_APPLICATION_ID = 0x5069746F, /* "Pito"; also in schema.sql */
	SQL_SCHEMA_VERSION = 6,
};

/* `path` in a form that SQLite takes for a file name only, never for a URI or ":memory:". Owned by the caller. */
char *sql_path(const char *path);

/* Without words: an SQLite result code. errno is cleared before, because SQLite does not keep the system's error of a
 * failed COMMIT; sql_words looks at it right after. */
int sql_step(sqlite3_stmt *statement);
int sql_exec(sqlite3 *db, const char *sql);
/* The first column of the first row as an integer, or `otherwise`. */
int64_t sql_int(sqlite3 *db, const char *sql, int64_t otherwise);
/* What went wrong last, in words a person can use: "No space left on device" rather than "disk I/O error". */
const char *sql_words(sqlite3 *db);

/* A statement being filled: values go in from left to right. */
struct sql_row {
	sqlite3_stmt *statement;
	int at;
};

void sql_put_null(struct sql_row *row);
void sql_put_int(struct sql_row *row, int64_t value);
void sql_put_uint(struct sql_row *row, uint64_t value); /* beyond 2^63 - 1: that */
void sql_put_real(struct sql_row *row, double value);
/* NULL gives NULL. Bytes that are not UTF-8, and NULs inside, become U+FFFD. `text` must live until the row is stepped.
 */
void sql_put_text(struct sql_row *row, const char *text);
void sql_put_bytes(struct sql_row *row, const char *bytes, size_t size);

#endif
