/* index_values.c - the part of the index that holds what the runs measured; see index.h. */
#include "base/str.h"
#include "store/index.h"

#include <math.h>
#include <string.h>

void history_values_fini(struct history_values *values)
{
	for (size_t i = 0; i < values->stages.len; i++)
		free(values->stages.items[i].name);
	for (size_t i = 0; i < values->quality.len; i++)
		free(values->quality.items[i].name);
	vec_fini(&values->stages);
	vec_fini(&values->quality);
}

static double pick_quality(const struct history_values *values, const char *name)
{
	for (size_t i = 0; i < values->quality.len; i++)
		if (strcmp(values->quality.items[i].name, name) == 0)
			return values->quality.items[i].value;
	return NAN;
}

double history_values_pick(const struct history_values *values, const struct history_request *request)
{
	if (request->quality)
		return pick_quality(values, request->quality);
	if (!request->stage)
		return values->run[request->metric];
	for (size_t i = 0; i < values->stages.len; i++)
		if (strcmp(values->stages.items[i].name, request->stage) == 0)
			return values->stages.items[i].values[request->metric];
	return NAN;
}

static void append_columns(struct str *sql, const char *before, const char *after)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		str_appendf(sql, ", %s%s%s", before, metrics[metric].name, after);
}

char *index_values_schema(void)
{
	struct str sql = {0};
	str_append(&sql, "CREATE TABLE stage_value (run_id INTEGER NOT NULL, stage TEXT NOT NULL");
	append_columns(&sql, "\"", "\" REAL");
	str_append(&sql, ", PRIMARY KEY (run_id, stage)) WITHOUT ROWID;"
			 "CREATE TABLE quality (run_id INTEGER NOT NULL, name TEXT NOT NULL, value REAL,"
			 " PRIMARY KEY (run_id, name)) WITHOUT ROWID;");
	return str_take(&sql);
}

char *index_values_probe(void)
{
	struct str sql = {0};
	/* With its table's name in front, a name without a column is an error and never a text in quotes. */
	str_append(&sql, "SELECT run_id, stage");
	append_columns(&sql, "stage_value.\"", "\"");
	str_append(&sql, " FROM stage_value LIMIT 1; SELECT run_id, name, value FROM quality LIMIT 1;");
	return str_take(&sql);
}

char *index_rows_query(const struct history_request *request)
{
	struct str sql = {0};
	str_append(&sql, "SELECT " INDEX_ROW_COLUMNS ", ");
	if (!request || !request->fold)
		str_append(&sql, "NULL FROM run_file");
	else if (request->quality)
		str_append(&sql, "quality.value FROM run_file"
				 " LEFT JOIN quality ON quality.run_id = run_file.id AND quality.name = ?1");
	else
		str_appendf(&sql,
			    "stage_value.\"%s\" FROM run_file"
			    " LEFT JOIN stage_value ON stage_value.run_id = run_file.id AND stage_value.stage = ?1",
			    metrics[request->metric].name);
	str_append(&sql, " ORDER BY run_file.file");
	return str_take(&sql);
}

static void put_stage(sqlite3_stmt *statement, int64_t run_id, const char *stage, const double *values)
{
	struct sql_row row = {.statement = statement};
	sql_put_int(&row, run_id);
	sql_put_text(&row, stage);
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		sql_put_real(&row, values[metric]); /* NaN becomes NULL */
	sqlite3_step(statement);
	sqlite3_reset(statement);
}

static void put_stages(sqlite3 *db, int64_t run_id, const struct history_values *values)
{
	struct str sql = {0};
	str_append(&sql, "INSERT OR IGNORE INTO stage_value (run_id, stage");
	append_columns(&sql, "\"", "\"");
	str_append(&sql, ") VALUES (?, ?");
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		str_append(&sql, ", ?");
	str_append(&sql, ")");
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(db, sql.text, -1, &statement, NULL) == SQLITE_OK) {
		put_stage(statement, run_id, "", values->run);
		for (size_t i = 0; i < values->stages.len; i++)
			put_stage(statement, run_id, values->stages.items[i].name, values->stages.items[i].values);
	}
	sqlite3_finalize(statement);
	str_fini(&sql);
}

void index_values_put(sqlite3 *db, int64_t run_id, const struct history_values *values)
{
	put_stages(db, run_id, values);
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(db, "INSERT OR IGNORE INTO quality VALUES (?, ?, ?)", -1, &statement, NULL) != SQLITE_OK)
		return;
	for (size_t i = 0; i < values->quality.len; i++) {
		struct sql_row row = {.statement = statement};
		sql_put_int(&row, run_id);
		sql_put_text(&row, values->quality.items[i].name);
		sql_put_real(&row, values->quality.items[i].value);
		sqlite3_step(statement);
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
}
