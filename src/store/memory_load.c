/*
 * memory_load.c - reading the memory profile of a run file that may be anything.
 *
 * Every id is checked against the code profile of the same file, a site's thread against its process, and the bytes of all
 * sites together must fit a signed number: whoever walks and adds up what was loaded needs no checks.
 */
#include "store/memory.h"
#include "store/reader.h"

#include <string.h>

struct memory_loading {
	struct reader *reader;
	const struct profile_data *profile;
	struct memory_data *data;
	sqlite3_stmt *row;
	uint64_t bytes, counts; /* of all sites and weights so far */
	bool *watched;          /* per process of the code profile: whether its memory was */
};

static uint64_t get_uint(struct memory_loading *load, int column)
{
	return reader_uint(load->reader, load->row, column);
}

static double get_variance(struct memory_loading *load, int column)
{
	double value = reader_real(load->reader, load->row, column);
	if (value < 0)
		load->reader->broken = "a variance in its memory profile is negative";
	return value;
}

static int64_t get_place(struct memory_loading *load, int column, size_t count)
{
	uint64_t id = get_uint(load, column);
	if (id <= count)
		return (int64_t)id;
	load->reader->broken = "an id in its memory profile points nowhere";
	return 0;
}

/* Of a process in memory_process; where it is not, the reader is broken and 1 stands in. */
static int64_t get_process(struct memory_loading *load, int column)
{
	uint64_t id = get_uint(load, column);
	if (id > 0 && id <= load->profile->processes.len && load->watched[id - 1])
		return (int64_t)id;
	load->reader->broken = "its memory profile has rows of a process that does not exist";
	return 1;
}

static int64_t get_known(struct memory_loading *load, int column)
{
	return sqlite3_column_type(load->row, column) == SQLITE_NULL ? -1 : (int64_t)get_uint(load, column);
}

/* The place of the row's text in a list of names; 0 and a broken reader where it is none of them. */
static int get_choice(struct memory_loading *load, int column, const char *const *names, int count)
{
	const char *text = (const char *)sqlite3_column_text(load->row, column);
	for (int i = 0; text && i < count; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	load->reader->broken = "its memory profile has a word that does not exist there";
	return 0;
}

static enum memory_kind get_kind(struct memory_loading *load, int column)
{
	const char *names[MEMORY_KIND_COUNT];
	for (int i = 0; i < MEMORY_KIND_COUNT; i++)
		names[i] = memory_kind_name((enum memory_kind)i);
	return (enum memory_kind)get_choice(load, column, names, MEMORY_KIND_COUNT);
}

static void add_process(struct memory_loading *load)
{
	static const char *const modes[] = {"sampled", "exact"};
	uint64_t id = get_uint(load, 0);
	if (id < 1 || id > load->profile->processes.len) {
		load->reader->broken = "its memory profile has rows of a process that does not exist";
		return;
	}
	load->watched[id - 1] = true;
	struct memory_process *process = vec_add(&load->data->processes);
	process->process_id = (int64_t)id;
	process->exact = get_choice(load, 1, modes, 2) == 1;
	process->period_bytes = get_uint(load, 2);
	process->calls = get_uint(load, 3);
	process->allocated_bytes = get_uint(load, 4);
	process->frees = get_uint(load, 5);
	process->freed_bytes = get_known(load, 6);
	process->peak_bytes = get_uint(load, 7);
	process->peak_variance = get_variance(load, 8);
	process->peak_slack_bytes = get_uint(load, 9);
	process->peak_at_ns = get_uint(load, 10);
	process->leaked_bytes = get_uint(load, 11);
	process->leaked_variance = get_variance(load, 12);
	process->discarded_bytes = get_uint(load, 13);
	process->unknown_frees = get_uint(load, 14);
	process->lost = get_uint(load, 15);
	process->truncated = get_uint(load, 16);
	process->unmatched = get_uint(load, 17);
	process->agent_bytes = get_uint(load, 18);
	process->python_seen = reader_bool(load->reader, load->row, 19);
	process->allocator = reader_text(load->reader, load->row, 20);
	process->step_ns = get_uint(load, 21);
	process->snapshots = get_uint(load, 22);
	process->note = reader_text(load->reader, load->row, 23);
}

/* Neither the bytes nor the counts of all sites and weights together may overflow. */
static void add_up(struct memory_loading *load, const struct memory_amount *amount)
{
	load->bytes += amount->bytes;
	load->counts += amount->count;
	if (load->bytes <= INT64_MAX && load->counts <= INT64_MAX)
		return;
	load->reader->broken = "its memory profile stands for more memory than there is";
	load->bytes = load->counts = 0;
}

static void add_site(struct memory_loading *load)
{
	struct memory_site *site = vec_add(&load->data->sites);
	site->id = (int64_t)get_uint(load, 0);
	if ((size_t)site->id != load->data->sites.len)
		load->reader->broken = "the ids of its memory profile have gaps";
	site->process_id = get_process(load, 1);
	site->thread_id = get_place(load, 2, load->profile->threads.len);
	if (site->thread_id && load->profile->threads.items[site->thread_id - 1].process_id != site->process_id)
		load->reader->broken = "a site of its memory profile has another process's thread";
	site->stack_id = get_place(load, 3, load->profile->stacks.len);
	site->kind = get_kind(load, 4);
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++) {
		struct memory_amount *amount = &site->amounts[i];
		int column = 5 + 4 * i;
		*amount = (struct memory_amount){.bytes = get_uint(load, column),
						 .count = get_uint(load, column + 1),
						 .samples = get_uint(load, column + 2),
						 .variance = get_variance(load, column + 3)};
		add_up(load, amount);
	}
}

static void add_bucket(struct memory_loading *load)
{
	static const char *const names[MEMORY_HISTOGRAM_COUNT] = {"size", "lifetime"};
	struct memory_bucket *bucket = vec_add(&load->data->buckets);
	bucket->process_id = get_process(load, 0);
	bucket->what = (enum memory_histogram)get_choice(load, 1, names, MEMORY_HISTOGRAM_COUNT);
	bucket->low = get_uint(load, 2);
	bucket->calls = get_uint(load, 3);
}

static void add_point(struct memory_loading *load)
{
	struct memory_point *point = vec_add(&load->data->points);
	point->process_id = get_process(load, 0);
	point->at_ns = get_uint(load, 1);
	point->live_bytes = get_uint(load, 2);
	point->high_bytes = get_uint(load, 3);
}

static void get_growth(struct memory_loading *load, enum memory_turn turn, int column)
{
	struct memory_growth *growth = vec_add(&load->data->growths[turn]);
	growth->site_id = get_place(load, 0, load->data->sites.len);
	if (growth->site_id == 0)
		load->reader->broken = "an id in its memory profile points nowhere";
	growth->points = get_uint(load, column);
	growth->turns = turn == MEMORY_PER_CHUNK ? get_uint(load, 1) : growth->points;
	double *const sums[] = {&growth->last_bytes, &growth->sum_x,  &growth->sum_y,
				&growth->sum_xx,     &growth->sum_xy, &growth->sum_yy};
	for (int i = 0; i < 6; i++)
		*sums[i] = reader_real(load->reader, load->row, column + 1 + i);
}

static void add_growth(struct memory_loading *load)
{
	get_growth(load, MEMORY_PER_SNAPSHOT, 1);
}

static void add_chunk_growth(struct memory_loading *load)
{
	get_growth(load, MEMORY_PER_CHUNK, 2);
}

static void add_resident(struct memory_loading *load)
{
	static const char *const causes[MEMORY_CAUSE_COUNT] = {
#define MEMORY_CAUSE_NAME(id, name) [MEMORY_AT_##id] = name,
		MEMORY_CAUSES(MEMORY_CAUSE_NAME)
#undef MEMORY_CAUSE_NAME
	};
	struct memory_resident *resident = vec_add(&load->data->residents);
	int column = 3;
	resident->process_id = get_process(load, 0);
	resident->at_ns = get_uint(load, 1);
	resident->cause = (enum memory_cause)get_choice(load, 2, causes, MEMORY_CAUSE_COUNT);
#define GET_PART(name) resident->name = get_known(load, column++);
	MEMORY_PARTS(GET_PART)
#undef GET_PART
}

static void add_look(struct memory_loading *load)
{
	struct memory_look *look = vec_add(&load->data->looks);
	look->process_id = get_process(load, 0);
	look->at_ns = get_known(load, 1);
	look->live_bytes = get_uint(load, 2);
	look->period_bytes = get_uint(load, 3);
	look->looks = get_uint(load, 4);
	look->cost_ns = get_uint(load, 5);
	look->absent = reader_text(load->reader, load->row, 6);
	if (!look->absent == (look->at_ns < 0))
		load->reader->broken = "its memory profile has types without a moment";
}

static void add_type(struct memory_loading *load)
{
	const char *names[MEMORY_TYPE_KIND_COUNT];
	for (int i = 0; i < MEMORY_TYPE_KIND_COUNT; i++)
		names[i] = memory_type_kind_name((enum memory_type_kind)i);
	struct memory_type *type = vec_add(&load->data->types);
	type->process_id = get_process(load, 0);
	type->kind = (enum memory_type_kind)get_choice(load, 1, names, MEMORY_TYPE_KIND_COUNT);
	type->name = reader_text(load->reader, load->row, 2);
	type->amount = (struct memory_amount){.bytes = get_uint(load, 3),
					      .count = get_uint(load, 4),
					      .samples = get_uint(load, 5),
					      .variance = get_variance(load, 6)};
	add_up(load, &type->amount);
	if (!type->name == (type->kind == MEMORY_TYPE_NAMED))
		load->reader->broken = "its memory profile has a type without a name";
}

/* What is referred to comes before what refers to it. */
static const struct {
	const char *sql;
	void (*add)(struct memory_loading *load);
	int64_t since; /* version of the schema */
} queries[] = {
	{"SELECT process_id, mode, period_bytes, calls, allocated_bytes, frees, freed_bytes, peak_bytes, peak_variance,"
	 " peak_slack_bytes, peak_at_ns, leaked_bytes, leaked_variance, discarded_bytes, unknown_frees, lost,"
	 " truncated, unmatched, agent_bytes, python_seen, allocator, step_ns, snapshots, note FROM memory_process"
	 " ORDER BY process_id",
	 add_process, 3},
	{"SELECT id, process_id, thread_id, stack_id, kind, peak_bytes, peak_blocks, peak_samples, peak_variance,"
	 " leaked_bytes, leaked_blocks, leaked_samples, leaked_variance, allocated_bytes, calls, samples,"
	 " allocated_variance, temporary_bytes, temporary_calls, temporary_samples, temporary_variance"
	 " FROM memory_site ORDER BY id",
	 add_site, 3},
	{"SELECT process_id, what, low, calls FROM memory_bucket ORDER BY process_id, what, low", add_bucket, 3},
	{"SELECT process_id, at_ns, live_bytes, high_bytes FROM memory_point ORDER BY process_id, at_ns", add_point, 3},
	{"SELECT site_id, points, last_bytes, sum_x, sum_y, sum_xx, sum_xy, sum_yy FROM memory_growth"
	 " ORDER BY site_id",
	 add_growth, 3},
	{"SELECT site_id, chunks, points, last_bytes, sum_x, sum_y, sum_xx, sum_xy, sum_yy FROM memory_chunk_growth"
	 " ORDER BY site_id",
	 add_chunk_growth, 5},
	{"SELECT process_id, at_ns, cause, live_bytes, python_bytes, arena_bytes, rss_bytes, break_bytes,"
	 " anonymous_bytes, stack_bytes, file_bytes, file_dirty_bytes, shared_bytes, agent_bytes, swap_bytes,"
	 " malloc_arena_bytes, malloc_mapped_bytes, malloc_used_bytes, malloc_free_bytes FROM memory_resident"
	 " ORDER BY process_id, at_ns, id",
	 add_resident, 3},
	{"SELECT process_id, at_ns, live_bytes, period_bytes, looks, cost_ns, absent FROM memory_look"
	 " ORDER BY process_id",
	 add_look, 5},
	{"SELECT process_id, kind, name, bytes, blocks, samples, variance FROM memory_type"
	 " ORDER BY process_id, bytes DESC, id",
	 add_type, 5},
};

static int load_rows(struct memory_loading *load, const char *sql, void (*add)(struct memory_loading *load),
		     struct err *err)
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

int store_memory_load(const char *path, const struct profile_data *profile, struct memory_data **out, struct err *err)
{
	struct reader reader;
	*out = NULL;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	struct memory_loading load = {.reader = &reader,
				      .profile = profile,
				      .data = mem_alloc(sizeof(struct memory_data)),
				      .watched = mem_alloc(profile->processes.len + 1)};
	/* Older files have no such tables: a run without a memory profile. */
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		if (reader.version >= queries[i].since)
			code = load_rows(&load, queries[i].sql, queries[i].add, err);
	reader_close(&reader);
	free(load.watched);
	if (code || load.data->processes.len == 0)
		memory_data_free(load.data);
	else
		*out = load.data;
	return code;
}

void memory_data_free(struct memory_data *data)
{
	if (!data)
		return;
	for (size_t i = 0; i < data->processes.len; i++) {
		free(data->processes.items[i].allocator);
		free(data->processes.items[i].note);
	}
	for (size_t i = 0; i < data->looks.len; i++)
		free(data->looks.items[i].absent);
	for (size_t i = 0; i < data->types.len; i++)
		free(data->types.items[i].name);
	vec_fini(&data->processes);
	vec_fini(&data->sites);
	vec_fini(&data->buckets);
	vec_fini(&data->points);
	for (int i = 0; i < MEMORY_TURN_COUNT; i++)
		vec_fini(&data->growths[i]);
	vec_fini(&data->residents);
	vec_fini(&data->looks);
	vec_fini(&data->types);
	free(data);
}
