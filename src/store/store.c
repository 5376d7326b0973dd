/*
 * store.c - the life of a run file that is being written: made, committed, ended.
 *
 * There is always one open transaction; store_commit ends it and begins the next. While the run goes on the file is in
 * write-ahead mode, so readers (pitot report on a live run, sqlite3) never wait and never make pitot wait.
 *
 *	NAME.pitot      what was last folded in
 *	NAME.pitot-wal  commits since then; gone after store_finish
 *	NAME.pitot-shm  index of the -wal, shared with readers; gone after store_finish
 *
 * Nothing is ever synced to the device (synchronous=OFF), because a sync would push out the pipeline's own dirty pages
 * as well and so disturb what is being measured. What that costs:
 *
 *	pitot killed       the kernel has every commit: lost is what came after the last one
 *	power cut, panic   the last seconds before it, as of any file; a run that was long enough for its log to be
 * folded in while it went on (every 8 MiB) may be damaged, which store_load detects and says
 *
 * The switches into and out of write-ahead mode keep their rollback journal in memory: each changes one page with one
 * write, and no hot journal can be left behind that a reader without write permission could not roll back.
 */
#include "store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static const char schema[] =
#include "schema.inc"
	;

/* How long to wait for somebody else's lock (a person with sqlite3 in a write transaction). */
enum { BUSY_MS = 2000, FINISH_TRIES = 100, FINISH_PAUSE_NS = 10 * 1000 * 1000 };

static const char *const statement_sql[STATEMENT_COUNT] = {
#define STATEMENT_SQL(id, sql) [STATEMENT_##id] = sql,
	STATEMENT_LIST(STATEMENT_SQL)
#undef STATEMENT_SQL
};

int writer_failed(const struct store *store, struct err *err)
{
	if (store->failure.code == 0)
		return 0;
	return err_set(err, store->failure.code, "%s", store->failure.text);
}

/* A row that breaks a CHECK or is too big is this row's problem; anything else will hit all that follow. */
static int fail(struct store *store, struct err *err)
{
	int result = sqlite3_errcode(store->db) & 0xFF;
	if (result == SQLITE_CONSTRAINT || result == SQLITE_TOOBIG || result == SQLITE_MISMATCH)
		return err_set(err, ERR_INTERNAL, "cannot put a row into run file '%s': %s", store->path,
			       sql_words(store->db));
	err_set(&store->failure, ERR_IO,
		"cannot write run file '%s': %s; it keeps what was committed before (make room, or choose another "
		"place with -o)",
		store->path, sql_words(store->db));
	return writer_failed(store, err);
}

struct sql_row writer_row(struct store *store, enum statement_id id)
{
	if (!store->statements[id])
		sqlite3_prepare_v3(store->db, statement_sql[id], -1, SQLITE_PREPARE_PERSISTENT, &store->statements[id],
				   NULL);
	return (struct sql_row){.statement = store->statements[id]};
}

int writer_step(struct store *store, struct sql_row *row, struct err *err)
{
	if (!row->statement)
		return fail(store, err);
	int code = sql_step(row->statement) == SQLITE_DONE ? 0 : fail(store, err);
	sqlite3_reset(row->statement);
	sqlite3_clear_bindings(row->statement);
	return code;
}

static int step(struct store *store, enum statement_id id, struct err *err)
{
	struct sql_row row = writer_row(store, id);
	return writer_step(store, &row, err);
}

int store_commit(struct store *store, struct err *err)
{
	int code = writer_failed(store, err);
	if (!code)
		code = step(store, STATEMENT_COMMIT, err);
	if (!code)
		code = step(store, STATEMENT_BEGIN, err);
	return code;
}

static void remove_files(const char *path)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		char *name = mem_printf("%s%s", path, endings[i]);
		unlink(name);
		free(name);
	}
}

static void close_db(struct store *store)
{
	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(store->statements[i]);
	sqlite3_close_v2(store->db);
}

static void free_store(struct store *store)
{
	vec_fini(&store->series);
	profile_ids_free(store->profile);
	free(store->path);
	free(store);
}

/* The name is taken with O_EXCL, so that two pitots can never write one file; SQLite then finds an empty database. */
static int reserve(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EEXIST)
		return err_set(err, ERR_INPUT,
			       "run file '%s' exists already; pitot never overwrites one: remove it or choose another "
			       "name with -o",
			       path);
	if (errno == ENOENT)
		return err_set(err, ERR_IO, "cannot create run file '%s': its folder does not exist; create it first",
			       path);
	return err_set_errno(err, ERR_IO, "cannot create run file '%s'", path);
}

/* The cache is small on purpose: pitot sits beside the program that it measures. */
static int open_db(struct store *store)
{
	char *path = sql_path(store->path);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int code = sqlite3_open_v2(path, &store->db, flags, NULL);
	free(path);
	if (code != SQLITE_OK)
		return code;
	sqlite3_busy_timeout(store->db, BUSY_MS);
	return sql_exec(store->db, "PRAGMA page_size = 4096; PRAGMA cache_size = -1024; PRAGMA synchronous = OFF;"
				   "PRAGMA journal_mode = MEMORY; PRAGMA journal_mode = WAL;"
				   "PRAGMA wal_autocheckpoint = 2048; PRAGMA temp_store = MEMORY;"
				   "BEGIN IMMEDIATE;");
}

int store_create(const char *path, const struct run_row *run, struct store **out, struct err *err)
{
	int code = reserve(path, err);
	if (code)
		return code;
	struct store *store = mem_alloc(sizeof(*store));
	store->path = mem_strdup(path);
	if (open_db(store) != SQLITE_OK || sql_exec(store->db, schema) != SQLITE_OK)
		code = ERR_IO;
	if (!code)
		code = writer_run(store, run, err);
	if (!code)
		code = store_commit(store, err);
	if (code == ERR_IO) /* nothing of it stays, whatever the writer said */
		err_set(err, ERR_IO, "cannot create run file '%s': %s (make room, or choose another place with -o)",
			path, sql_words(store->db));
	if (code) {
		store_abandon(store);
		return code;
	}
	*out = store;
	return 0;
}

const char *store_path(const struct store *store)
{
	return store->path;
}

/* A store that failed still tries to say how the run ended and that something is missing: there may be room again, and
 * the little that this needs may fit where the rest did not. */
static int write_end(struct store *store, enum stage_status status, uint64_t wall_ns, struct err *err)
{
	if (store->failure.code) {
		struct err first = store->failure;
		sql_exec(store->db, "ROLLBACK");
		store->failure.code = 0;
		struct event_row event = {.at_ns = wall_ns, .kind = "warning", .text = first.text};
		if (step(store, STATEMENT_BEGIN, NULL) == 0 && store_event(store, &event, NULL) == 0 &&
		    writer_run_end(store, status, wall_ns, NULL) == 0)
			step(store, STATEMENT_COMMIT, NULL);
		store->failure = first;
		return writer_failed(store, err);
	}
	int code = writer_run_end(store, status, wall_ns, err);
	return code ? code : step(store, STATEMENT_COMMIT, err);
}

/* Leaving write-ahead mode needs the file for itself, and SQLite does not wait for that on its own. A reader that stays
 * for longer than we try is no loss: the data is complete, only the -wal and -shm files are left. */
static void fold_into_one_file(struct store *store)
{
	for (int i = 0; i < FINISH_TRIES; i++) {
		int result = sql_exec(store->db, "PRAGMA journal_mode = MEMORY") & 0xFF;
		if (result != SQLITE_BUSY && result != SQLITE_LOCKED)
			return;
		nanosleep(&(struct timespec){.tv_nsec = FINISH_PAUSE_NS}, NULL);
	}
	sql_exec(store->db, "PRAGMA wal_checkpoint(PASSIVE)");
}

int store_finish(struct store *store, enum stage_status status, uint64_t wall_ns, struct err *err)
{
	int code = write_end(store, status, wall_ns, err);
	if (code)
		sql_exec(store->db, "ROLLBACK");
	for (int i = 0; i < STATEMENT_COUNT; i++) {
		sqlite3_finalize(store->statements[i]);
		store->statements[i] = NULL;
	}
	fold_into_one_file(store);
	close_db(store);
	free_store(store);
	return code;
}

void store_abandon(struct store *store)
{
	if (!store)
		return;
	close_db(store);
	if (!store->stage_begun)
		remove_files(store->path);
	free_store(store);
}
