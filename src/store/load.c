/*
 * load.c - store_load: a whole run file, without its series, as a struct run_record.
 *
 * One query and one row function per table, in one list. The rows of a stage find it by id; a row whose stage is not
 * there is dropped (its stage's row was what could not be written), a metric that this pitot does not know is skipped
 * (another pitot knew it), everything else that is not as the schema says means that the file is damaged.
 *
 * A run without an end whose pitot is gone was killed. Its open stages then end at the last moment that the file knows
 * of them, their wall time is a lower bound, and an event says so.
 */
#include "base/json.h"
#include "base/str.h"
#include "store/owner.h"
#include "store/reader.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

struct place {
	int64_t id;
	size_t index;
};

struct loading {
	struct reader *reader;
	struct run_record *record;
	sqlite3_stmt *row;
	VEC(struct place) places; /* of the stages, by id */
	size_t most_stages;
	size_t runs;
};

static enum stage_status get_status(struct loading *load, int column)
{
	const char *text = (const char *)sqlite3_column_text(load->row, column);
	int status = text ? status_find(text) : -1;
	if (status >= 0)
		return status;
	load->reader->broken = "it has a status that does not exist";
	return STATUS_INTERRUPTED;
}

static uint64_t get_uint(struct loading *load, int column)
{
	return reader_uint(load->reader, load->row, column);
}

static int get_int(struct loading *load, int column, int none)
{
	return reader_int(load->reader, load->row, column, none);
}

static char *get_text(struct loading *load, int column)
{
	return reader_text(load->reader, load->row, column);
}

static char *get_name(struct loading *load, int column)
{
	return reader_text_or_empty(load->reader, load->row, column);
}

static void add_run(struct loading *load)
{
	struct run_row *row = &load->record->row;
	if (load->runs++ > 0) {
		load->reader->broken = "it has more than one run";
		return;
	}
	row->name = get_name(load, 0);
	row->uuid = get_name(load, 1);
	row->started_utc_ns = get_uint(load, 2);
	row->wall_ns = get_uint(load, 3);
	row->status = get_status(load, 4);
	row->argv_json = get_text(load, 5);
	row->cwd = get_text(load, 6);
	row->config_path = get_text(load, 7);
	row->config_text = get_text(load, 8);
	row->git_commit = get_text(load, 9);
	row->pitot_version = get_name(load, 10);
	row->fingerprint = get_text(load, 11);
	row->interval_ns = get_uint(load, 12);
	row->repeat = get_int(load, 13, 0);
	row->warmup = get_int(load, 14, 0);
	row->jobs = get_int(load, 15, 0);
	row->owner_pid = get_int(load, 16, 0);
	row->owner_start = get_uint(load, 17);
	row->boot_id = get_text(load, 18);
}

static void add_param(struct loading *load)
{
	struct name_value *pair = vec_add(&load->record->params);
	pair->name = get_name(load, 0);
	pair->value = get_name(load, 1);
	pair->source = get_text(load, 2);
}

static void add_host(struct loading *load)
{
	struct name_value *pair = vec_add(&load->record->host);
	pair->name = get_name(load, 0);
	pair->value = get_name(load, 1);
}

static void add_gate(struct loading *load)
{
	char number[32];
	json_format_number(reader_real(load->reader, load->row, 1), number, sizeof(number));
	struct name_value *pair = vec_add(&load->record->gates);
	pair->name = get_name(load, 0);
	pair->value = mem_strdup(number);
}

static void add_stage(struct loading *load)
{
	if (load->record->stages.len >= load->most_stages) {
		load->reader->broken = "it has more stages than fit into it";
		return;
	}
	struct stage_row *row = &vec_add(&load->record->stages)->row;
	row->id = (int64_t)get_uint(load, 0);
	row->repetition = get_int(load, 1, 0);
	row->warmup = reader_bool(load->reader, load->row, 2);
	row->position = get_int(load, 3, 0);
	row->name = get_name(load, 4);
	row->command = get_name(load, 5);
	row->status = get_status(load, 6);
	row->reason = get_text(load, 7);
	row->attempts = get_int(load, 8, 0);
	row->exit_code = get_int(load, 9, -1);
	row->term_signal = get_int(load, 10, 0);
	row->start_ns = get_uint(load, 11);
	row->end_ns = get_uint(load, 12);
	row->tier = get_text(load, 13);
	row->needs = get_text(load, 14);
	vec_push(&load->places, ((struct place){.id = row->id, .index = load->record->stages.len - 1}));
	if (row->repetition < 0 || row->position < 0 || row->attempts < 0)
		load->reader->broken = "a stage has a negative place";
}

static int compare_places(const void *a, const void *b)
{
	int64_t x = ((const struct place *)a)->id, y = ((const struct place *)b)->id;
	return (x > y) - (x < y);
}

static struct stage_record *find_stage(struct loading *load, int column)
{
	struct place wanted = {.id = sqlite3_column_int64(load->row, column)};
	struct place *place = load->places.len ? bsearch(&wanted, load->places.items, load->places.len, sizeof(wanted),
							 compare_places)
					       : NULL;
	return place ? &load->record->stages.items[place->index] : NULL;
}

static enum metric_method get_method(struct loading *load, int column)
{
	const char *text = (const char *)sqlite3_column_text(load->row, column);
	for (int method = METHOD_EXACT; text && method <= METHOD_ESTIMATED; method++)
		if (strcmp(text, metric_method_name(method)) == 0)
			return method;
	load->reader->broken = "it has a method of measuring that does not exist";
	return METHOD_ESTIMATED;
}

static void copy_text(struct loading *load, int column, char *out, size_t size)
{
	char *text = get_text(load, column);
	snprintf(out, size, "%s", text ? text : "");
	free(text);
}

static void add_metric(struct loading *load)
{
	const char *name = (const char *)sqlite3_column_text(load->row, 1);
	int id = name ? metric_find(name) : -1;
	bool of_run = sqlite3_column_int64(load->row, 0) == 0;
	struct stage_record *stage = of_run ? NULL : find_stage(load, 0);
	if (id < 0 || (!of_run && !stage))
		return;
	struct metric_value *value = of_run ? &load->record->values[id] : &stage->values[id];
	if (sqlite3_column_type(load->row, 2) == SQLITE_NULL) {
		*value = (struct metric_value){.state = METRIC_ABSENT};
		copy_text(load, 7, value->reason, sizeof(value->reason));
		return;
	}
	value->state = METRIC_KNOWN;
	value->value = reader_real(load->reader, load->row, 2);
	value->method = get_method(load, 3);
	copy_text(load, 4, value->source, sizeof(value->source));
	value->coverage = reader_real(load->reader, load->row, 5);
	value->lower_bound = reader_bool(load->reader, load->row, 6);
	if (!(value->coverage >= 0 && value->coverage <= 1))
		load->reader->broken = "a coverage is not between 0 and 1";
}

static void add_process_count(struct loading *load)
{
	struct stage_record *stage = find_stage(load, 0);
	if (stage)
		stage->processes = (size_t)get_uint(load, 1);
}

static void add_log(struct loading *load)
{
	struct stage_record *stage = find_stage(load, 0);
	if (!stage || stage->log)
		return;
	stage->log = get_text(load, 1);
	stage->log_dropped_lines = get_uint(load, 2);
}

/* 0 for `first`, 1 for `second`. */
static bool get_choice(struct loading *load, int column, const char *first, const char *second)
{
	const char *text = (const char *)sqlite3_column_text(load->row, column);
	bool is_second = text && strcmp(text, second) == 0;
	if (!is_second && (!text || strcmp(text, first) != 0))
		load->reader->broken = "an artifact is neither input nor output";
	return is_second;
}

static void add_artifact(struct loading *load)
{
	struct stage_record *stage = find_stage(load, 0);
	if (!stage)
		return;
	struct artifact *artifact = vec_add(&stage->artifacts);
	artifact->is_output = get_choice(load, 1, "input", "output");
	artifact->path = get_name(load, 2);
	artifact->exists = reader_bool(load->reader, load->row, 3);
	artifact->bytes = get_uint(load, 4);
}

static void add_quality(struct loading *load)
{
	struct quality_row *quality = vec_add(&load->record->quality);
	quality->name = get_name(load, 0);
	quality->known = sqlite3_column_type(load->row, 1) != SQLITE_NULL;
	quality->value = reader_real(load->reader, load->row, 1);
	quality->source = get_text(load, 2);
	quality->reason = get_text(load, 3);
}

static void add_event(struct loading *load)
{
	static const char *const kinds[] = {"warning", "note", "mark"};
	struct event_row *event = vec_add(&load->record->events);
	event->stage_id = (int64_t)get_uint(load, 0);
	event->at_ns = get_uint(load, 1);
	event->kind = get_name(load, 2);
	event->text = get_name(load, 3);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i], event->kind) == 0)
			return;
	load->reader->broken = "it has a kind of event that does not exist";
}

static const struct {
	const char *sql;
	void (*add)(struct loading *load);
} queries[] = {
	{"SELECT name, uuid, started_utc_ns, wall_ns, status, argv_json, cwd, config_path, config_text, git_commit,"
	 " pitot_version, fingerprint, interval_ns, repeat, warmup, jobs, owner_pid, owner_start, boot_id FROM run",
	 add_run},
	{"SELECT name, value, source FROM param ORDER BY id", add_param},
	{"SELECT name, value FROM host ORDER BY id", add_host},
	{"SELECT name, max_value FROM gate ORDER BY id", add_gate},
	{"SELECT id, repetition, warmup, position, name, command, status, reason, attempts, exit_code, term_signal,"
	 " start_ns, end_ns, tier, needs FROM stage ORDER BY repetition, position, id",
	 add_stage},
	{"SELECT stage_id, name, value, method, source, coverage, lower_bound, reason FROM metric", add_metric},
	{"SELECT stage_id, count(*) FROM process GROUP BY stage_id", add_process_count},
	{"SELECT stage_id, text, dropped_lines FROM log", add_log},
	{"SELECT stage_id, direction, path, present, bytes FROM artifact ORDER BY id", add_artifact},
	{"SELECT name, value, source, reason FROM quality ORDER BY id", add_quality},
	{"SELECT stage_id, at_ns, kind, text FROM event ORDER BY id", add_event},
};

static int load_rows(struct loading *load, const char *sql, void (*add)(struct loading *load), struct err *err)
{
	int code = reader_prepare(load->reader, sql, &load->row, err);
	if (code)
		return code;
	while ((code = reader_step(load->reader, load->row, err)) > 0)
		add(load);
	sqlite3_finalize(load->row);
	load->row = NULL;
	return code;
}

static int load_tables(struct loading *load, struct err *err)
{
	int code = 0;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++) {
		code = load_rows(load, queries[i].sql, queries[i].add, err);
		if (queries[i].add == add_stage && load->places.len)
			qsort(load->places.items, load->places.len, sizeof(struct place), compare_places);
	}
	if (!code && load->runs == 0) {
		load->reader->broken = "it holds no run";
		code = reader_damaged(load->reader, err);
	}
	return code;
}

/* The last moment of which the file has a sample, a process or an event of the stage; 0 where there is none. */
static int last_moment(struct reader *reader, int64_t stage_id, uint64_t *out, struct err *err)
{
	static const char sql[] =
		"SELECT max(coalesce((SELECT max(at_ns) FROM sample WHERE stage_id = ?1), 0),"
		" coalesce((SELECT max(at_ns) FROM event WHERE stage_id = ?1), 0),"
		" coalesce((SELECT max(max(start_ns, coalesce(end_ns, 0))) FROM process WHERE stage_id = ?1), 0))";
	sqlite3_stmt *statement = NULL;
	int code = reader_prepare(reader, sql, &statement, err);
	if (!code) {
		sqlite3_bind_int64(statement, 1, stage_id);
		code = reader_step(reader, statement, err);
		*out = code > 0 ? reader_uint(reader, statement, 0) : 0;
	}
	sqlite3_finalize(statement);
	return code < 0 ? code : 0;
}

static void set_wall_until(struct metric_value *wall, uint64_t ns)
{
	if (wall->state != METRIC_UNSET)
		return;
	metric_set(wall, (double)ns / 1e9, METHOD_SAMPLED, "last sign of life before pitot was killed");
	wall->lower_bound = true;
}

static int end_open_stages(struct loading *load, uint64_t *last, struct err *err)
{
	struct run_record *record = load->record;
	for (size_t i = 0; i < record->stages.len; i++) {
		struct stage_row *row = &record->stages.items[i].row;
		uint64_t seen = 0;
		bool is_open = row->status == STATUS_INTERRUPTED && row->end_ns == 0;
		int code = is_open ? last_moment(load->reader, row->id, &seen, err) : 0;
		if (code)
			return code;
		if (is_open && seen > row->start_ns) {
			row->end_ns = seen;
			set_wall_until(&record->stages.items[i].values[METRIC_WALL], seen - row->start_ns);
		}
		uint64_t end = row->end_ns > row->start_ns ? row->end_ns : row->start_ns;
		*last = end > *last ? end : *last;
	}
	return 0;
}

/* The run of a pitot that is gone without having ended it. */
static int close_killed_run(struct loading *load, struct err *err)
{
	struct run_record *record = load->record;
	uint64_t last = 0;
	int code = last_moment(load->reader, 0, &last, err);
	if (!code)
		code = end_open_stages(load, &last, err);
	if (code)
		return code;
	record->row.wall_ns = last;
	if (last)
		set_wall_until(&record->values[METRIC_WALL], last);
	struct event_row *event = vec_add(&record->events);
	event->at_ns = last;
	event->kind = mem_strdup("warning");
	event->text = mem_strdup("pitot was killed while this run was going on, or could not write any more; what was "
				 "measured after the last commit, about a second, is missing, and the open stages are "
				 "marked as interrupted");
	return 0;
}

int store_load(const char *path, struct run_record **out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	struct loading load = {.reader = &reader, .record = mem_alloc(sizeof(struct run_record))};
	load.record->path = mem_strdup(path);
	/* A stage_record is large: a made-up file full of tiny stage rows must not become gigabytes. */
	load.most_stages = 64 + reader.bytes / 128;
	code = load_tables(&load, err);
	if (!code && load.record->row.wall_ns == 0) {
		load.record->live = owner_is_alive(&load.record->row);
		if (!load.record->live)
			code = close_killed_run(&load, err);
	}
	vec_fini(&load.places);
	reader_close(&reader);
	if (code)
		run_record_free(load.record);
	else
		*out = load.record;
	return code;
}
