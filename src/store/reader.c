/* reader.c - see reader.h. */
#include "store/reader.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/copy.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BUSY_MS = 2000,
	PROGRESS_STEPS = 1000,
	LONGEST_VALUE = 256 << 20, /* a longer text or blob is refused by SQLite */
};

/* Every table, and the schema version that it came with. */
static const struct {
	const char *name;
	int since;
} tables[] = {{"run", 1},
	      {"param", 1},
	      {"host", 1},
	      {"gate", 1},
	      {"stage", 1},
	      {"metric", 1},
	      {"process", 1},
	      {"series", 1},
	      {"sample", 1},
	      {"artifact", 1},
	      {"quality", 1},
	      {"event", 1},
	      {"log", 1},
	      {"profile_process", 2},
	      {"profile_thread", 2},
	      {"frame", 2},
	      {"stack", 2},
	      {"task", 2},
	      {"cpu_sample", 2},
	      {"source_line", 2},
	      {"profile_gap", 2},
	      {"model", 3},
	      {"model_layer", 3},
	      {"model_op", 3},
	      {"model_time", 3},
	      {"model_fit", 3},
	      {"model_note", 3},
	      /* the memory profile */
	      {"memory_process", 3},
	      {"memory_site", 3},
	      {"memory_bucket", 3},
	      {"memory_point", 3},
	      {"memory_growth", 3},
	      {"memory_resident", 3},
	      /* spans */
	      {"span_process", 3},
	      {"span_thread", 3},
	      {"operator", 3},
	      {"operator_duration", 3},
	      {"span", 3},
	      {"chunk", 3},
	      {"chunk_operator", 3},
	      {"span_counter", 3},
	      {"span_gauge", 3},
	      {"span_gauge_point", 3},
	      {"span_snapshot", 3},
	      {"limit_trial", 4},
	      {"memory_chunk_growth", 5},
	      {"memory_look", 5},
	      {"memory_type", 5}};
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static int on_progress(void *context)
{
	struct reader *reader = context;
	if (reader->steps_left < PROGRESS_STEPS) {
		reader->broken = "its tables have no end";
		return 1;
	}
	reader->steps_left -= PROGRESS_STEPS;
	return 0;
}

int reader_damaged(struct reader *reader, struct err *err)
{
	const char *why = reader->broken ? reader->broken : sql_words(reader->db);
	int result = sqlite3_errcode(reader->db) & 0xFF;
	if (!reader->broken && result == SQLITE_BUSY)
		return err_set(err, ERR_IO, "run file '%s' is locked by another program; try again", reader->path);
	if (!reader->broken && (result == SQLITE_IOERR || result == SQLITE_CANTOPEN || result == SQLITE_FULL))
		return err_set(err, ERR_IO, "cannot read run file '%s': %s", reader->path, why);
	return err_set(err, ERR_INPUT, "run file '%s' is damaged: %s", reader->path, why);
}

int reader_prepare(struct reader *reader, const char *sql, sqlite3_stmt **out, struct err *err)
{
	if (!reader->broken && sqlite3_prepare_v2(reader->db, sql, -1, out, NULL) == SQLITE_OK)
		return 0;
	return reader_damaged(reader, err);
}

int reader_step(struct reader *reader, sqlite3_stmt *statement, struct err *err)
{
	if (reader->broken)
		return reader_damaged(reader, err);
	int result = sql_step(statement);
	if (result == SQLITE_DONE)
		return 0;
	if (result == SQLITE_ROW && reader->rows_left > 0) {
		reader->rows_left--;
		return 1;
	}
	if (result == SQLITE_ROW)
		reader->broken = "it has more rows than fit into it";
	return reader_damaged(reader, err);
}

static bool is_null(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_type(statement, column) == SQLITE_NULL;
}

static int64_t get_integer(struct reader *reader, sqlite3_stmt *statement, int column, int64_t least, int64_t most)
{
	int64_t value = sqlite3_column_int64(statement, column);
	if (sqlite3_column_type(statement, column) == SQLITE_INTEGER && value >= least && value <= most)
		return value;
	reader->broken = "a whole number is missing or out of range";
	return least;
}

uint64_t reader_uint(struct reader *reader, sqlite3_stmt *statement, int column)
{
	return is_null(statement, column) ? 0 : (uint64_t)get_integer(reader, statement, column, 0, INT64_MAX);
}

int reader_int(struct reader *reader, sqlite3_stmt *statement, int column, int none)
{
	return is_null(statement, column) ? none : (int)get_integer(reader, statement, column, INT_MIN, INT_MAX);
}

bool reader_bool(struct reader *reader, sqlite3_stmt *statement, int column)
{
	return get_integer(reader, statement, column, 0, 1) == 1;
}

double reader_real(struct reader *reader, sqlite3_stmt *statement, int column)
{
	int type = sqlite3_column_type(statement, column);
	double value = sqlite3_column_double(statement, column);
	if (type == SQLITE_NULL)
		return 0;
	if ((type == SQLITE_FLOAT || type == SQLITE_INTEGER) && isfinite(value))
		return value;
	reader->broken = "a number is missing or out of range";
	return 0;
}

char *reader_text(struct reader *reader, sqlite3_stmt *statement, int column)
{
	if (is_null(statement, column))
		return NULL;
	if (sqlite3_column_type(statement, column) != SQLITE_TEXT) {
		reader->broken = "something that should be text is not";
		return NULL;
	}
	const char *text = (const char *)sqlite3_column_text(statement, column);
	size_t size = (size_t)sqlite3_column_bytes(statement, column);
	if (!text || size > reader->text_left) {
		reader->broken = "it has more text than fits into it";
		return NULL;
	}
	reader->text_left -= size;
	return str_utf8_clean(text, size);
}

char *reader_text_or_empty(struct reader *reader, sqlite3_stmt *statement, int column)
{
	char *text = reader_text(reader, statement, column);
	return text ? text : mem_strdup("");
}

enum metric_unit reader_unit(struct reader *reader, sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	for (int unit = UNIT_SECONDS; text && unit <= UNIT_RATIO; unit++)
		if (strcmp(text, metric_unit_name(unit)) == 0)
			return unit;
	reader->broken = "it has a unit that does not exist";
	return UNIT_COUNT;
}

/* Whatever SQLite can be told about a file that is not to be trusted. */
static void harden(struct reader *reader)
{
	sqlite3 *db = reader->db;
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
	sqlite3_busy_timeout(db, BUSY_MS);
	sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, reader);
	sql_exec(db, "PRAGMA cell_size_check = ON; PRAGMA query_only = ON; PRAGMA mmap_size = 0;"
		     "PRAGMA cache_size = -1024; PRAGMA temp_store = MEMORY;");
}

/* An honest row takes more than 8 bytes of the file, its text is in the file, and reading it takes far fewer than 64
 * steps a byte. A text may be stored as UTF-16 (never by pitot) and grow by half. */
static void set_limits(struct reader *reader)
{
	reader->rows_left = 1000 + reader->bytes / 8;
	reader->text_left = 1000 + reader->bytes * 2;
	reader->steps_left = 20 * 1000 * 1000 + reader->bytes * 64;
}

static uint64_t size_of(const char *path, const char *ending)
{
	char *name = mem_printf("%s%s", path, ending);
	struct stat status;
	uint64_t bytes = stat(name, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
	free(name);
	return bytes;
}

/* Only by stat: opening and closing the file outside SQLite would drop the locks of a run that this very process is
 * writing (POSIX locks belong to the process). */
static int check_is_file(struct reader *reader, struct err *err)
{
	struct stat status;
	if (stat(reader->path, &status) != 0 && errno == ENOENT)
		return err_set(err, ERR_INPUT, "there is no run file '%s' (pitot history lists the runs)",
			       reader->path);
	if (stat(reader->path, &status) != 0)
		return err_set_errno(err, ERR_IO, "cannot read run file '%s'", reader->path);
	if (S_ISDIR(status.st_mode))
		return err_set(err, ERR_INPUT, "'%s' is a folder, not a run file", reader->path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INPUT, "'%s' is not a regular file, so it is no run file", reader->path);
	if (status.st_size == 0)
		return err_set(err, ERR_INPUT,
			       "'%s' is empty: no run file, or of a run that was killed before it began", reader->path);
	reader->bytes = (uint64_t)status.st_size + size_of(reader->path, "-wal");
	return 0;
}

/* Opening reads nothing yet; the first question does. */
static int try_open(struct reader *reader, const char *path)
{
	char *name = sql_path(path);
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int result = sqlite3_open_v2(name, &reader->db, flags, NULL);
	free(name);
	if (result != SQLITE_OK)
		return result;
	harden(reader);
	return sql_exec(reader->db, "SELECT 1 FROM sqlite_master LIMIT 1");
}

/*
 * A file in write-ahead mode, which is what a killed run leaves, needs its -shm index. SQLite makes one beside it;
 * where the folder cannot be written it answers CANTOPEN or READONLY, and a private copy of file and log is read
 * instead.
 */
static int open_here_or_copy(struct reader *reader, struct err *err)
{
	int result = try_open(reader, reader->path);
	if ((result & 0xFF) != SQLITE_CANTOPEN && (result & 0xFF) != SQLITE_READONLY)
		return result == SQLITE_OK ? 0 : result;
	sqlite3_close_v2(reader->db);
	reader->db = NULL;
	char *copied = NULL;
	int code = copy_run_file(reader->path, &reader->copy, &copied, err);
	if (code)
		return code;
	result = try_open(reader, copied);
	free(copied);
	return result == SQLITE_OK ? 0 : result;
}

static int not_a_run_file(struct reader *reader, struct err *err)
{
	int result = sqlite3_errcode(reader->db) & 0xFF;
	if (result == SQLITE_NOTADB)
		return err_set(err, ERR_INPUT, "'%s' is not a run file", reader->path);
	return reader_damaged(reader, err);
}

/* SQLite notices missing pages only when it needs them. With a log beside it the file may rightly be shorter. The sizes
 * are asked for now: a live run may just have ended. */
static int check_length(struct reader *reader, struct err *err)
{
	uint64_t pages = (uint64_t)sql_int(reader->db, "PRAGMA page_count", 0);
	uint64_t page_size = (uint64_t)sql_int(reader->db, "PRAGMA page_size", 0);
	if (size_of(reader->path, "-wal") > 0 || pages * page_size <= size_of(reader->path, ""))
		return 0;
	reader->broken = "its end is missing";
	return reader_damaged(reader, err);
}

static int check_version(struct reader *reader, struct err *err)
{
	int64_t application = sql_int(reader->db, "PRAGMA application_id", -1);
	int64_t version = sql_int(reader->db, "PRAGMA user_version", -1);
	if (application == 0 && version == 0 && size_of(reader->path, "-wal") == 0 &&
	    sql_int(reader->db, "SELECT 1 FROM sqlite_master LIMIT 1", 0) == 0)
		return err_set(err, ERR_INPUT,
			       "'%s' holds no run: not a run file, or of a run that was killed before it began",
			       reader->path);
	if (application != SQL_APPLICATION_ID)
		return err_set(err, ERR_INPUT, "'%s' is an SQLite database, but not a run file of pitot", reader->path);
	if (version > SQL_SCHEMA_VERSION)
		return err_set(err, ERR_INPUT,
			       "run file '%s' was written by a newer pitot (schema %lld); this one reads up to %d",
			       reader->path, (long long)version, SQL_SCHEMA_VERSION);
	if (version < 1) {
		reader->broken = "its schema version does not exist";
		return reader_damaged(reader, err);
	}
	reader->version = version;
	return 0;
}

static int not_plain(struct reader *reader, const char *table, struct err *err)
{
	return err_set(err, ERR_INPUT, "run file '%s' is damaged: '%s' is not a plain table in it", reader->path,
		       table);
}

/* A view or a virtual table under the name of a table has no root page. */
static int check_tables(struct reader *reader, struct err *err)
{
	bool found[TABLES] = {false};
	sqlite3_stmt *statement = NULL;
	int code = reader_prepare(reader, "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 1",
				  &statement, err);
	while (!code && (code = reader_step(reader, statement, err)) > 0) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);
		for (int i = 0; i < TABLES; i++)
			found[i] = found[i] || (name && strcmp(name, tables[i].name) == 0);
		code = 0;
	}
	sqlite3_finalize(statement);
	for (int i = 0; i < TABLES && !code; i++)
		if (!found[i] && tables[i].since <= reader->version)
			code = not_plain(reader, tables[i].name, err);
	return code;
}

/* Computed columns would run the file's own expressions. pitot makes none. */
static int check_columns(struct reader *reader, struct err *err)
{
	static const char sql[] = "SELECT m.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x"
				  " WHERE m.type = 'table' AND m.rootpage > 1 AND x.hidden <> 0";
	sqlite3_stmt *statement = NULL;
	int code = reader_prepare(reader, sql, &statement, err);
	if (!code && (code = reader_step(reader, statement, err)) > 0) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);
		code = not_plain(reader, name ? name : "?", err);
	}
	sqlite3_finalize(statement);
	return code;
}

int reader_open(const char *path, struct reader *reader, struct err *err)
{
	*reader = (struct reader){.path = path};
	int code = check_is_file(reader, err);
	if (code)
		return code;
	set_limits(reader);
	code = open_here_or_copy(reader, err);
	if (code > 0)
		code = not_a_run_file(reader, err);
	if (!code)
		code = check_version(reader, err);
	if (!code)
		code = check_length(reader, err);
	if (!code)
		code = check_tables(reader, err);
	if (!code)
		code = check_columns(reader, err);
	/* One snapshot for all questions, so that a live run does not change between them. */
	if (!code && sql_exec(reader->db, "BEGIN") != SQLITE_OK)
		code = reader_damaged(reader, err);
	if (code)
		reader_close(reader);
	return code;
}

void reader_close(struct reader *reader)
{
	sqlite3_close_v2(reader->db);
	copy_remove(reader->copy);
	*reader = (struct reader){0};
}
