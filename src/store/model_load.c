/*
 * model_load.c - reading profiled models of a run file that may be anything.
 *
 * Ids and positions must count without gaps, a layer's parent must come before it, and what refers to a layer or an operator must
 * find it; whatever is not so means that the file is damaged.
 */
#include "store/model.h"
#include "store/model_columns.h"
#include "store/reader.h"

#include <math.h>
#include <string.h>

struct model_loading {
	struct reader *reader;
	struct model_profile *profile;
	sqlite3_stmt *row;
	const struct model_table *table;
};

static void broken(struct model_loading *load, const char *why)
{
	load->reader->broken = why;
}

static bool is_null(struct model_loading *load, int column)
{
	return sqlite3_column_type(load->row, column) == SQLITE_NULL;
}

/* Fills in what follows the keys. */
static void get_columns(struct model_loading *load, void *into)
{
	int at = load->table->key_count;
	for (const struct model_column *column = load->table->columns; column->name; column++, at++) {
		void *to = (char *)into + column->offset;
		if (column->kind == COLUMN_TEXT)
			*(char **)to = reader_text_or_empty(load->reader, load->row, at);
		else if (column->kind == COLUMN_MAYBE)
			*(char **)to = reader_text(load->reader, load->row, at);
		else if (column->kind == COLUMN_REAL)
			*(double *)to = is_null(load, at) ? NAN : reader_real(load->reader, load->row, at);
		else if (column->kind == COLUMN_OPTIONAL && is_null(load, at))
			*(int64_t *)to = -1;
		else
			*(int64_t *)to = (int64_t)reader_uint(load->reader, load->row, at);
	}
}

static struct model_row *get_model(struct model_loading *load)
{
	uint64_t id = reader_uint(load->reader, load->row, 0);
	if (id >= 1 && id <= load->profile->models.len)
		return &load->profile->models.items[id - 1];
	broken(load, "a row belongs to a model that is not there");
	return NULL;
}

static void load_model(struct model_loading *load)
{
	if (reader_uint(load->reader, load->row, 0) != load->profile->models.len + 1) {
		broken(load, "the ids of its models have gaps");
		return;
	}
	get_columns(load, vec_add(&load->profile->models));
}

static void load_layer(struct model_loading *load)
{
	struct model_row *model = get_model(load);
	if (!model)
		return;
	size_t position = model->layers.len;
	struct model_layer_row *layer = vec_add(&model->layers);
	get_columns(load, layer);
	if (reader_uint(load->reader, load->row, 1) != position || layer->parent >= (int64_t)position ||
	    (layer->parent < 0) != (position == 0))
		broken(load, "the layers of a model are not in order");
}

static void load_op(struct model_loading *load)
{
	struct model_row *model = get_model(load);
	if (!model)
		return;
	size_t position = model->ops.len;
	struct model_op_row *op = vec_add(&model->ops);
	get_columns(load, op);
	if (reader_uint(load->reader, load->row, 1) != position || op->layer >= (int64_t)model->layers.len ||
	    op->fused_into >= (int64_t)position)
		broken(load, "the operators of a model are not in order");
}

static void load_time(struct model_loading *load)
{
	struct model_row *model = get_model(load);
	int op = reader_int(load->reader, load->row, 1, -1);
	char *phase = reader_text_or_empty(load->reader, load->row, 2);
	if (model && (op < -1 || op >= (int64_t)model->ops.len))
		broken(load, "a time belongs to an operator that is not there");
	else if (model) {
		struct model_time *times = op < 0 ? model->time : model->ops.items[op].time;
		struct model_time *time = &times[strcmp(phase, "backward") == 0 ? MODEL_BACKWARD : MODEL_FORWARD];
		if (time->runs)
			broken(load, "an operator was timed twice");
		else
			get_columns(load, time);
	}
	free(phase);
}

static void load_fit(struct model_loading *load)
{
	get_columns(load, vec_add(&load->profile->fits));
}

static void load_note(struct model_loading *load)
{
	struct model_row *model = get_model(load);
	if (model)
		vec_push(&model->notes, reader_text_or_empty(load->reader, load->row, 1));
}

static int load_table(struct model_loading *load, const struct model_table *table, const char *order,
		      void (*take)(struct model_loading *load), struct err *err)
{
	struct str sql = {0};
	str_append(&sql, "SELECT ");
	model_table_columns(table, &sql);
	str_appendf(&sql, " FROM %s ORDER BY %s", table->name, order);
	load->table = table;
	int code = reader_prepare(load->reader, str_text(&sql), &load->row, err);
	str_fini(&sql);
	if (code)
		return code;
	while ((code = reader_step(load->reader, load->row, err)) == 1)
		take(load);
	sqlite3_finalize(load->row);
	return code;
}

static int load_all(struct model_loading *load, struct err *err)
{
	int code = load_table(load, &model_table_model, "id", load_model, err);
	if (!code)
		code = load_table(load, &model_table_layer, "model_id, position", load_layer, err);
	if (!code)
		code = load_table(load, &model_table_op, "model_id, position", load_op, err);
	if (!code)
		code = load_table(load, &model_table_time, "model_id, op, phase", load_time, err);
	if (!code)
		code = load_table(load, &model_table_fit, "id", load_fit, err);
	return code ? code : load_table(load, &model_table_note, "id", load_note, err);
}

int store_model_exists(const char *path, bool *out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	*out = reader.version >= 3 && sql_int(reader.db, "SELECT count(*) FROM (SELECT 1 FROM model LIMIT 1)", 0) > 0;
	reader_close(&reader);
	return 0;
}

int store_model_load(const char *path, struct model_profile **out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	struct model_profile *profile = mem_alloc(sizeof(*profile));
	struct model_loading load = {.reader = &reader, .profile = profile};
	if (reader.version >= 3)
		code = load_all(&load, err);
	reader_close(&reader);
	if (code)
		model_profile_free(profile);
	else
		*out = profile;
	return code;
}
