/* model.c - writing profiled models into the run file: see model.h. */
#include "store/model.h"
#include "store/model_columns.h"
#include "store/writer.h"

#include <math.h>

/* "INSERT INTO t (…) VALUES (?, …)" */
static sqlite3_stmt *prepare(struct store *store, const struct model_table *table, struct err *err)
{
	struct str sql = {0};
	sqlite3_stmt *statement = NULL;
	str_appendf(&sql, "INSERT INTO %s (", table->name);
	int count = model_table_columns(table, &sql);
	str_append(&sql, ") VALUES (?");
	for (int i = 1; i < count; i++)
		str_append(&sql, ", ?");
	str_append(&sql, ")");
	if (sqlite3_prepare_v2(store->db, str_text(&sql), -1, &statement, NULL) != SQLITE_OK)
		err_set(err, ERR_IO, "cannot write to run file '%s': %s", store->path, sql_words(store->db));
	str_fini(&sql);
	return statement;
}

static void put_columns(struct sql_row *row, const struct model_column *columns, const void *from)
{
	for (const struct model_column *column = columns; column->name; column++) {
		const void *at = (const char *)from + column->offset;
		int64_t whole = column->kind <= COLUMN_OPTIONAL ? *(const int64_t *)at : 0;
		if (column->kind >= COLUMN_TEXT)
			sql_put_text(row, *(char *const *)at);
		else if (column->kind == COLUMN_REAL && isnan(*(const double *)at))
			sql_put_null(row);
		else if (column->kind == COLUMN_REAL)
			sql_put_real(row, *(const double *)at);
		else if (column->kind == COLUMN_OPTIONAL && whole < 0)
			sql_put_null(row);
		else
			sql_put_int(row, whole);
	}
}

/* What one call of store_model_write needs at hand. */
struct writing {
	struct store *store;
	sqlite3_stmt *model, *layer, *op, *time, *fit, *note;
};

/* Fills in the key, which the caller began, and the columns; executes. */
static int step(struct writing *writing, struct sql_row *row, const struct model_table *table, const void *from,
		struct err *err)
{
	put_columns(row, table->columns, from);
	return writer_step(writing->store, row, err);
}

static struct sql_row begin(sqlite3_stmt *statement, int64_t first)
{
	struct sql_row row = {.statement = statement};
	sql_put_int(&row, first);
	return row;
}

static int write_times(struct writing *writing, int64_t model, int64_t op, const struct model_time *times,
		       struct err *err)
{
	for (int phase = 0; phase < MODEL_PHASES; phase++) {
		if (!times[phase].runs)
			continue;
		struct sql_row row = begin(writing->time, model);
		sql_put_int(&row, op);
		sql_put_text(&row, model_phase_name((enum model_phase)phase));
		int code = step(writing, &row, &model_table_time, &times[phase], err);
		if (code)
			return code;
	}
	return 0;
}

static int write_parts(struct writing *writing, int64_t id, const struct model_row *model, struct err *err)
{
	int code = write_times(writing, id, -1, model->time, err);
	for (size_t i = 0; !code && i < model->layers.len; i++) {
		struct sql_row row = begin(writing->layer, id);
		sql_put_int(&row, (int64_t)i);
		code = step(writing, &row, &model_table_layer, &model->layers.items[i], err);
	}
	for (size_t i = 0; !code && i < model->ops.len; i++) {
		struct sql_row row = begin(writing->op, id);
		sql_put_int(&row, (int64_t)i);
		code = step(writing, &row, &model_table_op, &model->ops.items[i], err);
		if (!code)
			code = write_times(writing, id, (int64_t)i, model->ops.items[i].time, err);
	}
	for (size_t i = 0; !code && i < model->notes.len; i++) {
		struct sql_row row = begin(writing->note, id);
		sql_put_text(&row, model->notes.items[i]);
		code = writer_step(writing->store, &row, err);
	}
	return code;
}

static int write_all(struct writing *writing, int64_t stage_id, const struct model_profile *profile, struct err *err)
{
	int code = 0;
	for (size_t i = 0; !code && i < profile->models.len; i++) {
		struct sql_row row = begin(writing->model, (int64_t)i + 1);
		sql_put_int(&row, stage_id);
		code = step(writing, &row, &model_table_model, &profile->models.items[i], err);
		if (!code)
			code = write_parts(writing, (int64_t)i + 1, &profile->models.items[i], err);
	}
	for (size_t i = 0; !code && i < profile->fits.len; i++) {
		struct sql_row row = begin(writing->fit, stage_id);
		code = step(writing, &row, &model_table_fit, &profile->fits.items[i], err);
	}
	return code;
}

int store_model_write(struct store *store, int64_t stage_id, const struct model_profile *profile, struct err *err)
{
	struct writing writing = {.store = store};
	int code = writer_failed(store, err);
	if (code)
		return code;
	bool ready = (writing.model = prepare(store, &model_table_model, err)) &&
		     (writing.layer = prepare(store, &model_table_layer, err)) &&
		     (writing.op = prepare(store, &model_table_op, err)) &&
		     (writing.time = prepare(store, &model_table_time, err)) &&
		     (writing.fit = prepare(store, &model_table_fit, err)) &&
		     (writing.note = prepare(store, &model_table_note, err));
	code = ready ? write_all(&writing, stage_id, profile, err) : ERR_IO;
	sqlite3_stmt *all[] = {writing.model, writing.layer, writing.op, writing.time, writing.fit, writing.note};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sqlite3_finalize(all[i]);
	return code;
}
