/* index.c - see index.h. */
#include "store/index.h"
#include "base/file.h"
#include "base/str.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { INDEX_APPLICATION_ID = 0x50697449 /* "PitI" */, INDEX_VERSION = 2, BUSY_MS = 2000 };

/* The journal is truncated rather than deleted, and nothing is synced: an index write then changes no name in the
 * folder, whose modification time is how index_is_fresh sees that a run has come or gone. */
static const char settings[] = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF; PRAGMA cache_size = -2048;"
			       "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;";

/* The tables of the values stand between these two. A run's id is never used again: its values are found by it. */
static const char schema_begin[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE folder (id INTEGER PRIMARY KEY CHECK (id = 1), changed_ns INTEGER NOT NULL);"
	"CREATE TABLE run_file (id INTEGER PRIMARY KEY AUTOINCREMENT, file TEXT NOT NULL UNIQUE, bytes INTEGER NOT "
	"NULL,"
	" changed_ns INTEGER NOT NULL, name TEXT NOT NULL, started_utc_ns INTEGER NOT NULL, wall_ns INTEGER NOT NULL,"
	" status TEXT NOT NULL, git_commit TEXT, fingerprint TEXT, stages INTEGER NOT NULL, live INTEGER NOT NULL,"
	" damaged TEXT, uuid TEXT, valued INTEGER NOT NULL);"
	"CREATE INDEX run_file_by_name ON run_file (name, started_utc_ns);"
	"CREATE TABLE stage_wall (run_id INTEGER NOT NULL, stage TEXT NOT NULL, wall_ns INTEGER NOT NULL,"
	" PRIMARY KEY (run_id, stage)) WITHOUT ROWID;";
static const char schema_end[] = "PRAGMA application_id = 0x50697449; PRAGMA user_version = 2; COMMIT;";

void history_entry_fini(struct history_entry *entry)
{
	free(entry->path);
	free(entry->name);
	free(entry->uuid);
	free(entry->git_commit);
	free(entry->fingerprint);
	free(entry->damaged);
	for (size_t i = 0; i < entry->tags.len; i++)
		free(entry->tags.items[i]);
	vec_fini(&entry->tags);
}

void index_row_fini(struct index_row *row)
{
	free(row->file);
	history_entry_fini(&row->entry);
}

void index_rows_fini(struct index_rows *rows)
{
	for (size_t i = 0; i < rows->items.len; i++)
		index_row_fini(&rows->items.items[i]);
	vec_fini(&rows->items);
}

void index_walls_fini(struct index_walls *walls)
{
	for (size_t i = 0; i < walls->items.len; i++)
		free(walls->items.items[i].stage);
	vec_fini(&walls->items);
}

enum index_state { INDEX_GOOD, INDEX_NEW, INDEX_DAMAGED, INDEX_FOREIGN };

static enum index_state look_at(sqlite3 *db)
{
	if (sql_exec(db, settings) != SQLITE_OK || sql_exec(db, "SELECT 1 FROM sqlite_master LIMIT 1") != SQLITE_OK) {
		int result = sqlite3_errcode(db) & 0xFF;
		return result == SQLITE_NOTADB || result == SQLITE_CORRUPT ? INDEX_DAMAGED : INDEX_FOREIGN;
	}
	int64_t application = sql_int(db, "PRAGMA application_id", -1);
	bool is_empty = sql_int(db, "SELECT 1 FROM sqlite_master LIMIT 1", 0) == 0;
	if (application != INDEX_APPLICATION_ID)
		return is_empty && application == 0 ? INDEX_NEW : INDEX_FOREIGN;
	if (sql_int(db, "PRAGMA user_version", -1) != INDEX_VERSION)
		return INDEX_DAMAGED;
	char *values = index_values_probe();
	bool good = sql_exec(db, "SELECT " INDEX_ROW_COLUMNS " FROM run_file LIMIT 1; SELECT changed_ns FROM folder;"
				 "SELECT run_id, stage, wall_ns FROM stage_wall LIMIT 1") == SQLITE_OK &&
		    sql_exec(db, values) == SQLITE_OK;
	free(values);
	return good ? INDEX_GOOD : INDEX_DAMAGED;
}

static int make_tables(sqlite3 *db)
{
	char *values = index_values_schema(), *sql = mem_printf("%s%s%s", schema_begin, values, schema_end);
	int result = sql_exec(db, sql);
	/* Another pitot may have made them in the meantime. */
	if (result != SQLITE_OK) {
		sql_exec(db, "ROLLBACK");
		result = look_at(db) == INDEX_GOOD ? SQLITE_OK : result;
	}
	free(values);
	free(sql);
	return result;
}

static sqlite3 *open_file(const char *path, int flags)
{
	sqlite3 *db = NULL;
	if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		sqlite3_close_v2(db);
		return NULL;
	}
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_busy_timeout(db, BUSY_MS);
	return db;
}

/* The database where it is good or can be made good; NULL where it must be left alone or made anew (*damaged). */
static sqlite3 *open_good(const char *path, int flags, bool *damaged)
{
	sqlite3 *db = open_file(path, flags);
	enum index_state state = db ? look_at(db) : INDEX_FOREIGN;
	if (state == INDEX_NEW && make_tables(db) == SQLITE_OK)
		state = INDEX_GOOD;
	*damaged = state == INDEX_DAMAGED;
	if (state == INDEX_GOOD)
		return db;
	sqlite3_close_v2(db);
	return NULL;
}

static void remove_index(const char *path)
{
	char *journal = mem_printf("%s-journal", path);
	unlink(journal);
	unlink(path);
	free(journal);
}

void index_open(const char *dir, struct index *index)
{
	char *joined = file_join(dir, "index.sqlite");
	char *path = sql_path(joined);
	bool damaged = false;
	sqlite3 *db = open_good(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &damaged);
	if (!db && damaged) {
		remove_index(path);
		db = open_good(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &damaged);
	}
	if (!db)
		db = open_good(path, SQLITE_OPEN_READONLY, &damaged);
	if (!db)
		db = open_good(":memory:", SQLITE_OPEN_READWRITE, &damaged);
	*index = (struct index){.db = db, .path = path, .writable = db && sqlite3_db_readonly(db, "main") == 0};
	free(joined);
}

void index_close(struct index *index)
{
	sqlite3_close_v2(index->db);
	if (index->damaged)
		remove_index(index->path);
	free(index->path);
	*index = (struct index){0};
}

static char *get_text(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	return text ? str_utf8_clean(text, strlen(text)) : NULL;
}

static char *get_name(sqlite3_stmt *statement, int column)
{
	char *text = get_text(statement, column);
	return text ? text : mem_strdup("");
}

static uint64_t get_uint(sqlite3_stmt *statement, int column)
{
	int64_t value = sqlite3_column_int64(statement, column);
	return value > 0 ? (uint64_t)value : 0;
}

enum { VALUE_COLUMN = 14 };

/* False: nothing that we would have written. */
static bool get_row(sqlite3_stmt *statement, struct index_row *row)
{
	const char *file = (const char *)sqlite3_column_text(statement, 0);
	const char *status = (const char *)sqlite3_column_text(statement, 6);
	int known = status ? status_find(status) : -1;
	if (!file || known < 0)
		return false;
	row->file = mem_strdup(file); /* as it is: a file name need not be UTF-8 */
	row->bytes = get_uint(statement, 1);
	row->changed_ns = get_uint(statement, 2);
	row->entry.name = get_name(statement, 3);
	row->entry.started_utc_ns = get_uint(statement, 4);
	row->entry.wall_ns = get_uint(statement, 5);
	row->entry.status = known;
	row->entry.git_commit = get_text(statement, 7);
	row->entry.fingerprint = get_text(statement, 8);
	row->entry.stages = (size_t)get_uint(statement, 9);
	row->entry.live = get_uint(statement, 10) != 0;
	row->entry.damaged = get_text(statement, 11);
	row->entry.uuid = get_text(statement, 12);
	row->valued = get_uint(statement, 13) != 0;
	row->entry.value = sqlite3_column_type(statement, VALUE_COLUMN) == SQLITE_NULL
				   ? NAN
				   : sqlite3_column_double(statement, VALUE_COLUMN);
	return true;
}

static void note_damage(struct index *index, int result)
{
	index->damaged = index->damaged || (result & 0xFF) == SQLITE_CORRUPT || (result & 0xFF) == SQLITE_NOTADB;
}

void index_read(struct index *index, const struct history_request *request, struct index_rows *out)
{
	int result = SQLITE_ERROR;
	sqlite3_stmt *statement = NULL;
	char *sql = index_rows_query(request);
	sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL);
	free(sql);
	if (request && request->quality)
		sqlite3_bind_text(statement, 1, request->quality, -1, SQLITE_STATIC);
	else if (request)
		sqlite3_bind_text(statement, 1, request->stage ? request->stage : "", -1, SQLITE_STATIC);
	while (statement && (result = sqlite3_step(statement)) == SQLITE_ROW) {
		struct index_row row = {0};
		if (get_row(statement, &row))
			vec_push(&out->items, row);
	}
	note_damage(index, result);
	sqlite3_finalize(statement);
}

bool index_begin(struct index *index)
{
	return index->writable && sql_exec(index->db, "BEGIN IMMEDIATE") == SQLITE_OK;
}

/* A failure is of no account: the transaction is rolled back as a whole, or the row is read again next time. */
static void run_once(struct index *index, sqlite3_stmt *statement)
{
	note_damage(index, sqlite3_step(statement));
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
}

static void run_with_text(struct index *index, const char *sql, const char *text)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL);
	sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
	run_once(index, statement);
	sqlite3_finalize(statement);
}

void index_drop(struct index *index, const char *file)
{
	run_with_text(index, "DELETE FROM stage_wall WHERE run_id = (SELECT id FROM run_file WHERE file = ?)", file);
	run_with_text(index, "DELETE FROM stage_value WHERE run_id = (SELECT id FROM run_file WHERE file = ?)", file);
	run_with_text(index, "DELETE FROM quality WHERE run_id = (SELECT id FROM run_file WHERE file = ?)", file);
	run_with_text(index, "DELETE FROM run_file WHERE file = ?", file);
}

static void put_walls(struct index *index, int64_t run_id, const struct index_walls *walls)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, "INSERT OR REPLACE INTO stage_wall VALUES (?, ?, ?)", -1, &statement, NULL);
	for (size_t i = 0; i < walls->items.len; i++) {
		struct sql_row row = {.statement = statement};
		sql_put_int(&row, run_id);
		sql_put_text(&row, walls->items.items[i].stage);
		sql_put_uint(&row, walls->items.items[i].wall_ns);
		run_once(index, statement);
	}
	sqlite3_finalize(statement);
}

void index_put(struct index *index, const struct index_row *row, const struct index_walls *walls,
	       const struct history_values *values)
{
	const struct history_entry *entry = &row->entry;
	index_drop(index, row->file);
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, "INSERT INTO run_file VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			   -1, &statement, NULL);
	struct sql_row put = {.statement = statement, .at = 1};
	sqlite3_bind_text(statement, 1, row->file, -1, SQLITE_STATIC);
	sql_put_uint(&put, row->bytes);
	sql_put_uint(&put, row->changed_ns);
	sql_put_text(&put, entry->name);
	sql_put_uint(&put, entry->started_utc_ns);
	sql_put_uint(&put, entry->wall_ns);
	sql_put_text(&put, status_name(entry->status));
	sql_put_text(&put, entry->git_commit);
	sql_put_text(&put, entry->fingerprint);
	sql_put_uint(&put, entry->stages);
	sql_put_int(&put, entry->live);
	sql_put_text(&put, entry->damaged);
	sql_put_text(&put, entry->uuid);
	sql_put_int(&put, row->valued);
	run_once(index, statement);
	sqlite3_finalize(statement);
	int64_t run_id = sqlite3_last_insert_rowid(index->db);
	put_walls(index, run_id, walls);
	if (row->valued)
		index_values_put(index->db, run_id, values);
}

void index_add_values(struct index *index, const char *file, const struct history_values *values)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, "SELECT id FROM run_file WHERE file = ?", -1, &statement, NULL);
	sqlite3_bind_text(statement, 1, file, -1, SQLITE_STATIC);
	int result = sqlite3_step(statement);
	if (result == SQLITE_ROW) {
		index_values_put(index->db, sqlite3_column_int64(statement, 0), values);
		run_with_text(index, "UPDATE run_file SET valued = 1 WHERE file = ?", file);
	}
	note_damage(index, result);
	sqlite3_finalize(statement);
}

void index_know_folder(struct index *index, uint64_t dir_changed_ns)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, "INSERT OR REPLACE INTO folder (id, changed_ns) VALUES (1, ?)", -1, &statement,
			   NULL);
	struct sql_row put = {.statement = statement};
	sql_put_uint(&put, dir_changed_ns);
	run_once(index, statement);
	sqlite3_finalize(statement);
}

bool index_commit(struct index *index)
{
	if (sql_exec(index->db, "COMMIT") == SQLITE_OK)
		return true;
	sql_exec(index->db, "ROLLBACK");
	return false;
}

bool index_is_fresh(struct index *index, uint64_t dir_changed_ns)
{
	int64_t known = sql_int(index->db, "SELECT changed_ns FROM folder", 0);
	return known > 0 && (uint64_t)known == dir_changed_ns;
}

size_t index_recent_walls(struct index *index, const char *run_name, const char *stage, uint64_t *out, size_t limit)
{
	static const char sql[] = "SELECT stage_wall.wall_ns FROM run_file JOIN stage_wall"
				  " ON stage_wall.run_id = run_file.id AND stage_wall.stage = ?2"
				  " WHERE run_file.name = ?1 AND run_file.status = 'ok'"
				  " ORDER BY run_file.started_utc_ns DESC LIMIT ?3";
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL);
	struct sql_row put = {.statement = statement};
	sql_put_text(&put, run_name);
	sql_put_text(&put, stage);
	sql_put_uint(&put, limit);
	size_t count = 0;
	while (count < limit && statement && sqlite3_step(statement) == SQLITE_ROW)
		out[count++] = get_uint(statement, 0);
	sqlite3_finalize(statement);
	return count;
}
