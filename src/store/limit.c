/* limit.c - see limit.h: one table, written row by row and read as a whole. */
#include "store/limit.h"
#include "base/mem.h"
#include "store/reader.h"
#include "store/writer.h"

#include <math.h>
#include <stdlib.h>

enum { SINCE_VERSION = 4 };

static void put_real(struct sql_row *row, double value)
{
	if (isfinite(value))
		sql_put_real(row, value);
	else
		sql_put_null(row);
}

int store_limit_trial(struct store *store, const struct limit_trial *trial, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_LIMIT_TRIAL);
	sql_put_real(&row, trial->chunk_asked);
	sql_put_uint(&row, trial->memory_limit_bytes);
	sql_put_real(&row, trial->compute_limit);
	sql_put_uint(&row, trial->chunk_rows);
	sql_put_uint(&row, trial->rows);
	put_real(&row, trial->latency_s);
	put_real(&row, trial->rows_per_s);
	put_real(&row, trial->chunk_latency_s);
	put_real(&row, trial->memory_peak_bytes);
	put_real(&row, trial->r2);
	put_real(&row, trial->rmse);
	sql_put_int(&row, trial->pareto);
	sql_put_text(&row, trial->failure);
	return writer_step(store, &row, err);
}

static double real_or_nan(struct reader *reader, sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : reader_real(reader, row, column);
}

static void take_row(struct reader *reader, sqlite3_stmt *row, struct limit_trials *out)
{
	struct limit_trial *trial = vec_add(&out->items);
	trial->chunk_asked = reader_real(reader, row, 0);
	trial->memory_limit_bytes = reader_uint(reader, row, 1);
	trial->compute_limit = reader_real(reader, row, 2);
	trial->chunk_rows = reader_uint(reader, row, 3);
	trial->rows = reader_uint(reader, row, 4);
	trial->latency_s = real_or_nan(reader, row, 5);
	trial->rows_per_s = real_or_nan(reader, row, 6);
	trial->chunk_latency_s = real_or_nan(reader, row, 7);
	trial->memory_peak_bytes = real_or_nan(reader, row, 8);
	trial->r2 = real_or_nan(reader, row, 9);
	trial->rmse = real_or_nan(reader, row, 10);
	trial->pareto = reader_bool(reader, row, 11);
	trial->failure = reader_text(reader, row, 12);
}

static int load_rows(struct reader *reader, struct limit_trials *out, struct err *err)
{
	static const char sql[] = "SELECT chunk_asked, memory_limit_bytes, compute_limit, chunk_rows, rows, latency_s,"
				  " rows_per_s, chunk_latency_s, memory_peak_bytes, r2, rmse, pareto, failure"
				  " FROM limit_trial ORDER BY id";
	sqlite3_stmt *row = NULL;
	int code = reader_prepare(reader, sql, &row, err);
	while (!code && (code = reader_step(reader, row, err)) == 1) {
		take_row(reader, row, out);
		code = 0;
	}
	sqlite3_finalize(row);
	return code;
}

int store_limits_load(const char *path, struct limit_trials *out, struct err *err)
{
	struct reader reader;
	struct limit_trials trials = {0};
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	if (reader.version >= SINCE_VERSION)
		code = load_rows(&reader, &trials, err);
	reader_close(&reader);
	if (code)
		limit_trials_fini(&trials);
	else
		*out = trials;
	return code;
}

void limit_trials_fini(struct limit_trials *trials)
{
	for (size_t i = 0; i < trials->items.len; i++)
		free(trials->items.items[i].failure);
	vec_fini(&trials->items);
}
