/*
 * model_columns.h - the columns of the model tables as data: writing and reading follow one list. Internal to store/model*.c.
 *
 * Tables have their key columns first (model_id, position, …), which the code fills by hand; then the rows of the list, in order.
 */
#ifndef PITOT_STORE_MODEL_COLUMNS_H
#define PITOT_STORE_MODEL_COLUMNS_H

#include "base/str.h"
#include "store/model.h"

enum model_column_kind {
	COLUMN_COUNT,    /* int64_t, at least 0 */
	COLUMN_OPTIONAL, /* int64_t, at least 0, or -1 for NULL */
	COLUMN_REAL,     /* double, NaN for NULL */
	COLUMN_TEXT,     /* char *, never NULL */
	COLUMN_MAYBE     /* char *, may be NULL */
};

struct model_column {
	const char *name; /* NULL ends the list */
	enum model_column_kind kind;
	size_t offset;
};

struct model_table {
	const char *name, *keys; /* keys: "model_id, position" */
	int key_count;
	const struct model_column *columns;
};

extern const struct model_table model_table_model, model_table_layer, model_table_op, model_table_time, model_table_fit,
	model_table_note;

/* "name, name, …" of the keys and columns; the number of them. */
int model_table_columns(const struct model_table *table, struct str *out);

#endif
