/*
 * profile_load.c - reading the code profile of a run file that may be anything.
 *
 * Ids must count from 1 without gaps, a stack's parent must have a smaller id than its own (so there are no cycles), and every
 * id must lie in its table; whatever is not so means that the file is damaged. So whoever walks what was loaded needs
 * no checks.
 */
#include "store/profile.h"
#include "store/reader.h"

#include <string.h>

static const char *const kind_names[FRAME_KIND_COUNT] = {
#define FRAME_KIND_NAME(id, name) [FRAME_##id] = name,
	FRAME_KINDS(FRAME_KIND_NAME)
#undef FRAME_KIND_NAME
};

const char *frame_kind_name(enum frame_kind kind)
{
	return kind_names[kind];
}

struct profile_loading {
	struct reader *reader;
	struct profile_data *data;
	sqlite3_stmt *row;
	uint64_t weight_ns; /* of all samples so far */
};

static uint64_t get_uint(struct profile_loading *load, int column)
{
	return reader_uint(load->reader, load->row, column);
}

static int get_int(struct profile_loading *load, int column)
{
	return reader_int(load->reader, load->row, column, 0);
}

static char *get_text(struct profile_loading *load, int column)
{
	return reader_text(load->reader, load->row, column);
}

/* A line: 0 where there is none. */
static int get_line(struct profile_loading *load, int column)
{
	int line = get_int(load, column);
	if (line < 0)
		load->reader->broken = "a line has a negative number";
	return line;
}

/* The row's own id, which has to be the next one. */
static int64_t get_id(struct profile_loading *load, size_t count)
{
	uint64_t id = get_uint(load, 0);
	if (id != count)
		load->reader->broken = "the ids of its code profile have gaps";
	return (int64_t)id;
}

/* An id of another table, or 0. */
static int64_t get_place(struct profile_loading *load, int column, size_t count)
{
	uint64_t id = get_uint(load, column);
	if (id > count || id > INT32_MAX)
		load->reader->broken = "an id in its code profile points nowhere";
	return (int64_t)id;
}

static int64_t get_needed_place(struct profile_loading *load, int column, size_t count)
{
	int64_t id = get_place(load, column, count);
	if (id == 0)
		load->reader->broken = "an id in its code profile points nowhere";
	return id;
}

static void add_process(struct profile_loading *load)
{
	struct profile_process *process = vec_add(&load->data->processes);
	process->id = get_id(load, load->data->processes.len);
	process->stage_id = (int64_t)get_uint(load, 1);
	process->pid = get_int(load, 2);
	process->ppid = get_int(load, 3);
	process->start_ns = get_uint(load, 4);
	process->end_ns = get_uint(load, 5);
	process->executable = reader_text_or_empty(load->reader, load->row, 6);
	process->python = get_text(load, 7);
	process->clock = get_text(load, 8);
	process->end = reader_text_or_empty(load->reader, load->row, 9);
	process->note = get_text(load, 10);
	process->period_ns = get_uint(load, 11);
	process->cpu_ns = get_uint(load, 12);
	process->samples = get_uint(load, 13);
	process->weight_ns = get_uint(load, 14);
	process->lost = get_uint(load, 15);
	process->truncated = get_uint(load, 16);
	process->unmatched = get_uint(load, 17);
	process->busy = get_uint(load, 18);
	process->handler_ns = get_uint(load, 19);
	process->start_cost_ns = get_uint(load, 20);
}

static enum frame_kind get_kind(struct profile_loading *load, int column)
{
	const char *text = (const char *)sqlite3_column_text(load->row, column);
	for (int kind = 0; text && kind < FRAME_KIND_COUNT; kind++)
		if (strcmp(text, kind_names[kind]) == 0)
			return kind;
	load->reader->broken = "it has a kind of frame that does not exist";
	return FRAME_MARK;
}

static void add_frame(struct profile_loading *load)
{
	struct profile_frame *frame = vec_add(&load->data->frames);
	frame->id = get_id(load, load->data->frames.len);
	frame->kind = get_kind(load, 1);
	frame->function = reader_text_or_empty(load->reader, load->row, 2);
	frame->module = get_text(load, 3);
	frame->file = get_text(load, 4);
	frame->line = get_line(load, 5);
	frame->first_line = get_line(load, 6);
	frame->inlined = reader_bool(load->reader, load->row, 7);
}

static void add_stack(struct profile_loading *load)
{
	struct profile_stack *stack = vec_add(&load->data->stacks);
	stack->id = get_id(load, load->data->stacks.len);
	stack->parent = get_place(load, 1, load->data->stacks.len - 1);
	stack->frame_id = get_needed_place(load, 2, load->data->frames.len);
}

static void add_thread(struct profile_loading *load)
{
	struct profile_thread *thread = vec_add(&load->data->threads);
	thread->id = get_id(load, load->data->threads.len);
	thread->process_id = get_needed_place(load, 1, load->data->processes.len);
	thread->tid = get_int(load, 2);
	thread->is_main = reader_bool(load->reader, load->row, 3);
	thread->name = reader_text_or_empty(load->reader, load->row, 4);
	thread->entry = get_text(load, 5);
	thread->creator_stack = get_place(load, 6, load->data->stacks.len);
	thread->start_ns = get_uint(load, 7);
	thread->end_ns = get_uint(load, 8);
	thread->cpu_ns = get_uint(load, 9);
	thread->weight_ns = get_uint(load, 10);
	thread->samples = get_uint(load, 11);
	thread->truncated = get_uint(load, 12);
	thread->unmatched = get_uint(load, 13);
	thread->busy = get_uint(load, 14);
	thread->handler_ns = get_uint(load, 15);
}

static void add_task(struct profile_loading *load)
{
	vec_push(&load->data->tasks, reader_text_or_empty(load->reader, load->row, 1));
	(void)get_id(load, load->data->tasks.len);
}

static void add_sample(struct profile_loading *load)
{
	struct profile_sample *sample = vec_add(&load->data->samples);
	sample->thread_id = get_needed_place(load, 0, load->data->threads.len);
	sample->at_ns = get_uint(load, 1);
	sample->stack_id = get_place(load, 2, load->data->stacks.len);
	sample->weight_ns = get_uint(load, 3);
	sample->flags = (unsigned)get_int(load, 4);
	sample->task_id = get_place(load, 5, load->data->tasks.len);
	/* Whoever adds weights up must not have to think of overflow. */
	load->weight_ns += sample->weight_ns;
	if (load->weight_ns > INT64_MAX) {
		load->reader->broken = "its samples stand for more time than there is";
		load->weight_ns = 0;
	}
}

static void add_source(struct profile_loading *load)
{
	struct profile_source *source = vec_add(&load->data->sources);
	source->file = reader_text_or_empty(load->reader, load->row, 0);
	source->line = get_line(load, 1);
	source->text = reader_text_or_empty(load->reader, load->row, 2);
}

static void add_gap(struct profile_loading *load)
{
	struct profile_gap *gap = vec_add(&load->data->gaps);
	gap->stage_id = (int64_t)get_uint(load, 0);
	gap->pid = get_int(load, 1);
	gap->command = reader_text_or_empty(load->reader, load->row, 2);
	gap->reason = reader_text_or_empty(load->reader, load->row, 3);
	gap->cpu_s = reader_real(load->reader, load->row, 4);
}

/* What is referred to comes before what refers to it. */
static const struct {
	const char *sql;
	void (*add)(struct profile_loading *load);
} queries[] = {
	{"SELECT id, stage_id, pid, ppid, start_ns, end_ns, executable, python, clock, ending, note, period_ns, cpu_ns,"
	 " samples, weight_ns, lost, truncated, unmatched, busy, handler_ns, start_cost_ns FROM profile_process"
	 " ORDER BY id",
	 add_process},
	{"SELECT id, kind, function, module, file, line, first_line, inlined FROM frame ORDER BY id", add_frame},
	{"SELECT id, parent_id, frame_id FROM stack ORDER BY id", add_stack},
	{"SELECT id, process_id, tid, is_main, name, entry, creator_stack_id, start_ns, end_ns, cpu_ns, weight_ns,"
	 " samples, truncated, unmatched, busy, handler_ns FROM profile_thread ORDER BY id",
	 add_thread},
	{"SELECT id, name FROM task ORDER BY id", add_task},
	{"SELECT thread_id, at_ns, stack_id, weight_ns, flags, task_id FROM cpu_sample ORDER BY id", add_sample},
	{"SELECT file, line, text FROM source_line ORDER BY file, line", add_source},
	{"SELECT stage_id, pid, command, reason, cpu_s FROM profile_gap ORDER BY id", add_gap},
};

static int load_rows(struct profile_loading *load, const char *sql, void (*add)(struct profile_loading *load),
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

static int compare_samples(const void *a, const void *b)
{
	const struct profile_sample *x = a, *y = b;
	if (x->thread_id != y->thread_id)
		return x->thread_id < y->thread_id ? -1 : 1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* Written in this order, so there is rarely anything to do. */
static void sort_samples(struct profile_data *data)
{
	for (size_t i = 1; i < data->samples.len; i++)
		if (compare_samples(&data->samples.items[i - 1], &data->samples.items[i]) > 0) {
			qsort(data->samples.items, data->samples.len, sizeof(struct profile_sample), compare_samples);
			return;
		}
}

int store_profile_exists(const char *path, bool *out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	*out = reader.version >= 2 && (sql_int(reader.db, "SELECT 1 FROM profile_process LIMIT 1", 0) == 1 ||
				       sql_int(reader.db, "SELECT 1 FROM profile_gap LIMIT 1", 0) == 1);
	reader_close(&reader);
	return 0;
}

int store_profile_load(const char *path, struct profile_data **out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	struct profile_loading load = {.reader = &reader, .data = mem_alloc(sizeof(struct profile_data))};
	/* Files of the first version have no such tables: a run without a code profile. */
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code && reader.version >= 2; i++)
		code = load_rows(&load, queries[i].sql, queries[i].add, err);
	reader_close(&reader);
	if (code) {
		profile_data_free(load.data);
		return code;
	}
	sort_samples(load.data);
	*out = load.data;
	return 0;
}

static void free_processes(struct profile_data *data)
{
	for (size_t i = 0; i < data->processes.len; i++) {
		struct profile_process *process = &data->processes.items[i];
		free(process->executable);
		free(process->python);
		free(process->clock);
		free(process->end);
		free(process->note);
	}
	for (size_t i = 0; i < data->threads.len; i++) {
		free(data->threads.items[i].name);
		free(data->threads.items[i].entry);
	}
	vec_fini(&data->processes);
	vec_fini(&data->threads);
}

void profile_data_free(struct profile_data *data)
{
	if (!data)
		return;
	free_processes(data);
	for (size_t i = 0; i < data->frames.len; i++) {
		free(data->frames.items[i].function);
		free(data->frames.items[i].module);
		free(data->frames.items[i].file);
	}
	for (size_t i = 0; i < data->gaps.len; i++) {
		free(data->gaps.items[i].command);
		free(data->gaps.items[i].reason);
	}
	for (size_t i = 0; i < data->sources.len; i++) {
		free(data->sources.items[i].file);
		free(data->sources.items[i].text);
	}
	for (size_t i = 0; i < data->tasks.len; i++)
		free(data->tasks.items[i]);
	vec_fini(&data->frames);
	vec_fini(&data->stacks);
	vec_fini(&data->samples);
	vec_fini(&data->gaps);
	vec_fini(&data->sources);
	vec_fini(&data->tasks);
	free(data);
}
