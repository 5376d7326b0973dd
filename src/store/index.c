/* index.c - see index.h. */
#include "store/index.h"
#include "base/file.h"
#include "base/str.h"
#include "store/owner.h"
#include "store/reader.h"

#include <string.h>
#include <unistd.h>

enum { INDEX_APPLICATION_ID = 0x50697449 /* "PitI" */, INDEX_VERSION = 1, BUSY_MS = 2000 };

/* The journal is truncated rather than deleted, and nothing is synced: an index write then changes no name in the
 * folder, whose modification time is how index_is_fresh sees that a run has come or gone. */
static const char settings[] = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF; PRAGMA cache_size = -2048;"
			       "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;";

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS folder (id INTEGER PRIMARY KEY CHECK (id = 1), changed_ns INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS run_file (file TEXT PRIMARY KEY, bytes INTEGER NOT NULL, changed_ns INTEGER NOT "
	"NULL,"
	" name TEXT NOT NULL, started_utc_ns INTEGER NOT NULL, wall_ns INTEGER NOT NULL, status TEXT NOT NULL,"
	" git_commit TEXT, fingerprint TEXT, stages INTEGER NOT NULL, live INTEGER NOT NULL, damaged TEXT)"
	" WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS run_file_by_name ON run_file (name, started_utc_ns);"
	"CREATE TABLE IF NOT EXISTS stage_wall (file TEXT NOT NULL, stage TEXT NOT NULL, wall_ns INTEGER NOT NULL,"
	" PRIMARY KEY (file, stage)) WITHOUT ROWID;"
	"PRAGMA application_id = 0x50697449; PRAGMA user_version = 1;"
	"COMMIT;";

void history_entry_fini(struct history_entry *entry)
{
	free(entry->path);
	free(entry->name);
	free(entry->git_commit);
	free(entry->fingerprint);
	free(entry->damaged);
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
	/* Preparing shows whether the tables are what they should be. */
	return sql_exec(db, "SELECT file, bytes, changed_ns, name, started_utc_ns, wall_ns, status, git_commit,"
			    " fingerprint, stages, live, damaged FROM run_file LIMIT 1;"
			    "SELECT file, stage, wall_ns FROM stage_wall LIMIT 1; SELECT changed_ns FROM folder") ==
			       SQLITE_OK
		       ? INDEX_GOOD
		       : INDEX_DAMAGED;
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
	if (state == INDEX_NEW && sql_exec(db, schema) == SQLITE_OK)
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
	return true;
}

static void note_damage(struct index *index, int result)
{
	index->damaged = index->damaged || (result & 0xFF) == SQLITE_CORRUPT || (result & 0xFF) == SQLITE_NOTADB;
}

void index_read(struct index *index, struct index_rows *out)
{
	int result = SQLITE_ERROR;
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db,
			   "SELECT file, bytes, changed_ns, name, started_utc_ns, wall_ns, status, git_commit,"
			   " fingerprint, stages, live, damaged FROM run_file ORDER BY file",
			   -1, &statement, NULL);
	while (statement && (result = sqlite3_step(statement)) == SQLITE_ROW) {
		struct index_row row = {0};
		if (get_row(statement, &row))
			vec_push(&out->items, row);
	}
	note_damage(index, result);
	sqlite3_finalize(statement);
}

static void examine_walls(struct reader *reader, struct index_walls *walls, struct err *err)
{
	static const char sql[] = "SELECT name, CAST(avg(end_ns - start_ns) AS INTEGER) FROM stage WHERE status = 'ok'"
				  " AND warmup = 0 AND end_ns > start_ns GROUP BY name";
	sqlite3_stmt *statement = NULL;
	if (reader_prepare(reader, sql, &statement, err) != 0)
		return;
	while (reader_step(reader, statement, err) > 0) {
		struct index_wall *wall = vec_add(&walls->items);
		wall->stage = reader_text_or_empty(reader, statement, 0);
		wall->wall_ns = reader_uint(reader, statement, 1);
	}
	sqlite3_finalize(statement);
}

static const char run_sql[] =
	"SELECT name, started_utc_ns, coalesce(wall_ns, 0), status, git_commit, fingerprint, owner_pid, owner_start, "
	"boot_id,"
	" (SELECT count(DISTINCT position) FROM stage),"
	" max(coalesce((SELECT max(max(coalesce(start_ns, 0), coalesce(end_ns, 0))) FROM stage), 0),"
	"  coalesce((SELECT max(at_ns) FROM sample WHERE stage_id = (SELECT max(id) FROM stage)), 0)) FROM run";

static int examine_run(struct reader *reader, struct history_entry *entry, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int code = reader_prepare(reader, run_sql, &statement, err);
	if (!code && (code = reader_step(reader, statement, err)) > 0) {
		entry->name = reader_text_or_empty(reader, statement, 0);
		entry->started_utc_ns = reader_uint(reader, statement, 1);
		entry->wall_ns = reader_uint(reader, statement, 2);
		const char *status = (const char *)sqlite3_column_text(statement, 3);
		int known = status ? status_find(status) : -1;
		entry->status = known < 0 ? STATUS_INTERRUPTED : known;
		entry->git_commit = reader_text(reader, statement, 4);
		entry->fingerprint = reader_text(reader, statement, 5);
		struct run_row owner = {.owner_pid = reader_int(reader, statement, 6, 0),
					.owner_start = reader_uint(reader, statement, 7),
					.boot_id = reader_text(reader, statement, 8)};
		entry->stages = (size_t)reader_uint(reader, statement, 9);
		entry->live = entry->wall_ns == 0 && owner_is_alive(&owner);
		/* A killed run lasted at least until its last sign of life. */
		if (entry->wall_ns == 0 && !entry->live)
			entry->wall_ns = reader_uint(reader, statement, 10);
		free(owner.boot_id);
		code = reader_step(reader, statement, err) < 0 ? ERR_INPUT : 0;
	} else if (code == 0) {
		reader->broken = "it holds no run";
		code = reader_damaged(reader, err);
	}
	sqlite3_finalize(statement);
	return code;
}

bool index_examine(const char *path, struct index_row *row, struct index_walls *walls)
{
	struct err err = {0};
	struct reader reader;
	int code = reader_open(path, &reader, &err);
	if (!code) {
		code = examine_run(&reader, &row->entry, &err);
		if (!code)
			examine_walls(&reader, walls, &err);
		reader_close(&reader);
	}
	if (!code)
		return true;
	history_entry_fini(&row->entry);
	/* The best guess at when it was: that is where a person looks for it in the list. */
	row->entry = (struct history_entry){
		.name = mem_strdup(row->file), .started_utc_ns = row->changed_ns, .damaged = mem_strdup(err.text)};
	return code == ERR_INPUT;
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

void index_drop(struct index *index, const char *file)
{
	static const char *const both[] = {"DELETE FROM run_file WHERE file = ?",
					   "DELETE FROM stage_wall WHERE file = ?"};
	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
		sqlite3_stmt *statement = NULL;
		sqlite3_prepare_v2(index->db, both[i], -1, &statement, NULL);
		sqlite3_bind_text(statement, 1, file, -1, SQLITE_STATIC);
		run_once(index, statement);
		sqlite3_finalize(statement);
	}
}

static void put_walls(struct index *index, const char *file, const struct index_walls *walls)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, "INSERT OR REPLACE INTO stage_wall VALUES (?, ?, ?)", -1, &statement, NULL);
	for (size_t i = 0; i < walls->items.len; i++) {
		struct sql_row row = {.statement = statement, .at = 1};
		sqlite3_bind_text(statement, 1, file, -1, SQLITE_STATIC);
		sql_put_text(&row, walls->items.items[i].stage);
		sql_put_uint(&row, walls->items.items[i].wall_ns);
		run_once(index, statement);
	}
	sqlite3_finalize(statement);
}

void index_put(struct index *index, const struct index_row *row, const struct index_walls *walls)
{
	const struct history_entry *entry = &row->entry;
	index_drop(index, row->file);
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, "INSERT INTO run_file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", -1,
			   &statement, NULL);
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
	run_once(index, statement);
	sqlite3_finalize(statement);
	put_walls(index, row->file, walls);
}

void index_end(struct index *index, uint64_t dir_changed_ns)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_prepare_v2(index->db, "INSERT OR REPLACE INTO folder (id, changed_ns) VALUES (1, ?)", -1, &statement,
			   NULL);
	struct sql_row put = {.statement = statement};
	sql_put_uint(&put, dir_changed_ns);
	run_once(index, statement);
	sqlite3_finalize(statement);
	if (sql_exec(index->db, "COMMIT") != SQLITE_OK)
		sql_exec(index->db, "ROLLBACK");
}

bool index_is_fresh(struct index *index, uint64_t dir_changed_ns)
{
	int64_t known = sql_int(index->db, "SELECT changed_ns FROM folder", 0);
	return known > 0 && (uint64_t)known == dir_changed_ns;
}

size_t index_recent_walls(struct index *index, const char *run_name, const char *stage, uint64_t *out, size_t limit)
{
	static const char sql[] = "SELECT stage_wall.wall_ns FROM run_file JOIN stage_wall"
				  " ON stage_wall.file = run_file.file AND stage_wall.stage = ?2"
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
