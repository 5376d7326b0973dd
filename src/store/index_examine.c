/* index_examine.c - index_examine and index_fold: what the index wants to know of a run file, read from the file. */
#include "store/index.h"
#include "store/owner.h"
#include "store/reader.h"
#include "store/store.h"

#include <math.h>
#include <string.h>

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
	"SELECT name, started_utc_ns, coalesce(wall_ns, 0), status, git_commit, fingerprint, owner_pid, owner_start,"
	" boot_id,"
	" (SELECT count(DISTINCT position) FROM stage),"
	" max(coalesce((SELECT max(max(coalesce(start_ns, 0), coalesce(end_ns, 0))) FROM stage), 0),"
	"  coalesce((SELECT max(at_ns) FROM sample WHERE stage_id = (SELECT max(id) FROM stage)), 0)), uuid FROM run";

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
		entry->uuid = reader_text(reader, statement, 11);
		code = reader_step(reader, statement, err) < 0 ? ERR_INPUT : 0;
	} else if (code == 0) {
		reader->broken = "it holds no run";
		code = reader_damaged(reader, err);
	}
	sqlite3_finalize(statement);
	return code;
}

static void become_damaged(struct index_row *row, const struct err *err)
{
	history_entry_fini(&row->entry);
	/* The best guess at when it was: that is where a person looks for it in the list. */
	row->entry = (struct history_entry){.name = mem_strdup(row->file),
					    .started_utc_ns = row->changed_ns,
					    .damaged = mem_strdup(err->text),
					    .value = NAN};
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
	row->entry.value = NAN;
	if (!code)
		return true;
	become_damaged(row, &err);
	return code == ERR_INPUT;
}

bool index_fold(const char *path, const struct history_request *request, struct index_row *row,
		struct history_values *values)
{
	struct err err = {0};
	struct run_record *record = NULL;
	int code = store_load(path, &record, &err);
	if (code) {
		become_damaged(row, &err);
		return code == ERR_INPUT;
	}
	request->fold(record, values);
	row->valued = true;
	row->entry.value = history_values_pick(values, request);
	run_record_free(record);
	return true;
}
