/*
 * test_store_profile.c - the code profile in the run file: what goes in comes out, the same frame is one row, old files
 * have none, and a file whose ids or weights make no sense is refused with words.
 */
#include "unit.h"

#include "sample_profile.h"
#include "test_store_run.h"

#include <sqlite3.h>

struct fixture {
	char *dir;
	char *path;
	struct profile_data *sample;
	struct err err;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->dir = run_folder_new();
	f->path = file_join(f->dir, "a.pitot");
	f->sample = sample_profile_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	run_folder_free(f->dir);
	free(f->path);
	profile_data_free(f->sample);
	free(f);
	return 0;
}

static void begin(struct fixture *f, struct store **store)
{
	struct run_row run = run_row_sample();
	if (store_create(f->path, &run, store, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static void end(struct fixture *f, struct store *store)
{
	if (store_finish(store, STATUS_OK, 2000 * MS, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static void write_sample(struct fixture *f)
{
	struct store *store = NULL;
	begin(f, &store);
	if (sample_profile_store(store, f->sample, &f->err) != 0)
		fail_msg("%s", f->err.text);
	end(f, store);
}

static struct profile_data *load(struct fixture *f)
{
	struct profile_data *data = NULL;
	if (store_profile_load(f->path, &data, &f->err) != 0)
		fail_msg("%s", f->err.text);
	return data;
}

static void change(struct fixture *f, const char *sql)
{
	sqlite3 *db = NULL;
	char *message = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

static void assert_text(const char *got, const char *wanted)
{
	if (!wanted)
		assert_null(got);
	else
		assert_string_equal(got, wanted);
}

static void assert_frames(const struct profile_data *got, const struct profile_data *wanted)
{
	assert_int_equal(got->frames.len, wanted->frames.len);
	for (size_t i = 0; i < got->frames.len; i++) {
		const struct profile_frame *a = &got->frames.items[i], *b = &wanted->frames.items[i];
		assert_int_equal(a->id, (int64_t)i + 1);
		assert_int_equal(a->kind, b->kind);
		assert_text(a->function, b->function);
		assert_text(a->module, b->module);
		assert_text(a->file, b->file);
		assert_int_equal(a->line, b->line);
		assert_int_equal(a->first_line, b->first_line);
		assert_int_equal(a->inlined, b->inlined);
	}
	assert_int_equal(got->stacks.len, wanted->stacks.len);
	assert_memory_equal(got->stacks.items, wanted->stacks.items, got->stacks.len * sizeof(struct profile_stack));
}

static void assert_processes(const struct profile_data *got, const struct profile_data *wanted)
{
	assert_int_equal(got->processes.len, wanted->processes.len);
	for (size_t i = 0; i < got->processes.len; i++) {
		const struct profile_process *a = &got->processes.items[i], *b = &wanted->processes.items[i];
		assert_text(a->executable, b->executable);
		assert_text(a->python, b->python);
		assert_text(a->clock, b->clock);
		assert_text(a->end, b->end);
		assert_text(a->note, b->note);
		assert_memory_equal(&a->period_ns, &b->period_ns,
				    sizeof(*a) - offsetof(struct profile_process, period_ns));
		assert_true(a->id == b->id && a->stage_id == b->stage_id && a->pid == b->pid && a->ppid == b->ppid &&
			    a->start_ns == b->start_ns && a->end_ns == b->end_ns);
	}
	assert_int_equal(got->threads.len, wanted->threads.len);
	for (size_t i = 0; i < got->threads.len; i++) {
		const struct profile_thread *a = &got->threads.items[i], *b = &wanted->threads.items[i];
		assert_text(a->name, b->name);
		assert_text(a->entry, b->entry);
		assert_memory_equal(&a->creator_stack, &b->creator_stack,
				    sizeof(*a) - offsetof(struct profile_thread, creator_stack));
		assert_true(a->id == b->id && a->process_id == b->process_id && a->tid == b->tid &&
			    a->is_main == b->is_main);
	}
}

static void what_goes_in_comes_out(void **state)
{
	struct fixture *f = *state;
	write_sample(f);
	struct profile_data *data = load(f);
	assert_processes(data, f->sample);
	assert_frames(data, f->sample);
	assert_int_equal(data->samples.len, f->sample->samples.len);
	for (size_t i = 0; i < data->samples.len; i++) {
		const struct profile_sample *a = &data->samples.items[i], *b = &f->sample->samples.items[i];
		assert_true(a->thread_id == b->thread_id && a->at_ns == b->at_ns && a->stack_id == b->stack_id &&
			    a->weight_ns == b->weight_ns && a->flags == b->flags && a->task_id == b->task_id);
	}
	assert_int_equal(data->tasks.len, 1);
	assert_string_equal(data->tasks.items[0], "fetch-1");
	assert_int_equal(data->gaps.len, 1);
	assert_string_equal(data->gaps.items[0].reason, "statically linked");
	assert_true(data->gaps.items[0].cpu_s == 0.25);
	assert_int_equal(data->sources.len, 4);
	assert_string_equal(data->sources.items[0].text, "    out = a @ b");
	profile_data_free(data);
}

static void the_same_frame_stack_and_task_are_one_row(void **state)
{
	struct fixture *f = *state;
	struct store *store = NULL;
	begin(f, &store);
	for (int round = 0; round < 2; round++) {
		struct profile_frame plain = {.kind = FRAME_NATIVE, .function = "f", .line = 3};
		struct profile_frame empty = {.kind = FRAME_NATIVE, .function = "f", .line = 3, .file = ""};
		struct profile_frame inlined = {.kind = FRAME_NATIVE, .function = "f", .line = 3, .inlined = true};
		assert_int_equal(store_profile_frame(store, &plain, &f->err), 0);
		assert_int_equal(store_profile_frame(store, &empty, &f->err), 0);
		assert_int_equal(store_profile_frame(store, &inlined, &f->err), 0);
		assert_true(plain.id == 1 && empty.id == 2 && inlined.id == 3);
		struct profile_stack root = {.frame_id = 1}, leaf = {.parent = 1, .frame_id = 1};
		assert_int_equal(store_profile_stack(store, &root, &f->err), 0);
		assert_int_equal(store_profile_stack(store, &leaf, &f->err), 0);
		assert_true(root.id == 1 && leaf.id == 2);
		int64_t one = 0, two = 0;
		assert_int_equal(store_profile_task(store, "a", &one, &f->err), 0);
		assert_int_equal(store_profile_task(store, "b", &two, &f->err), 0);
		assert_true(one == 1 && two == 2);
	}
	end(f, store);
	struct profile_data *data = load(f);
	assert_int_equal(data->frames.len, 3);
	assert_int_equal(data->stacks.len, 2);
	assert_int_equal(data->tasks.len, 2);
	profile_data_free(data);
}

static void a_stack_whose_parent_or_frame_is_not_there_is_refused(void **state)
{
	struct fixture *f = *state;
	struct store *store = NULL;
	begin(f, &store);
	assert_int_equal(store_profile_stack(store, &(struct profile_stack){.frame_id = 1}, &f->err), ERR_INTERNAL);
	struct profile_frame frame = {.kind = FRAME_MARK, .function = "[x]"};
	assert_int_equal(store_profile_frame(store, &frame, &f->err), 0);
	assert_int_equal(store_profile_stack(store, &(struct profile_stack){.frame_id = 1, .parent = 1}, &f->err),
			 ERR_INTERNAL);
	end(f, store);
}

static void samples_come_back_by_thread_and_time(void **state)
{
	struct fixture *f = *state;
	write_sample(f);
	change(f, "UPDATE cpu_sample SET at_ns = 3000000000 - at_ns");
	struct profile_data *data = load(f);
	for (size_t i = 1; i < data->samples.len; i++) {
		const struct profile_sample *a = &data->samples.items[i - 1], *b = &data->samples.items[i];
		assert_true(a->thread_id < b->thread_id || (a->thread_id == b->thread_id && a->at_ns <= b->at_ns));
	}
	profile_data_free(data);
}

static void assert_exists(struct fixture *f, bool wanted)
{
	bool exists = !wanted;
	assert_int_equal(store_profile_exists(f->path, &exists, &f->err), 0);
	assert_int_equal(exists, wanted);
}

static void a_run_without_a_profile_says_so(void **state)
{
	struct fixture *f = *state;
	struct store *store = NULL;
	begin(f, &store);
	end(f, store);
	assert_exists(f, false);
	struct profile_data *data = load(f);
	assert_int_equal(data->processes.len, 0);
	profile_data_free(data);
	change(f, "INSERT INTO profile_gap (stage_id, pid, reason, cpu_s) VALUES (1, 2, 'setuid', 0)");
	assert_exists(f, true);
}

static void a_file_of_the_first_version_loads_and_has_none(void **state)
{
	struct fixture *f = *state;
	write_sample(f);
	assert_exists(f, true);
	change(f, "DROP VIEW hot_functions; DROP VIEW hot_lines; DROP VIEW hot_modules; DROP VIEW threads_by_cpu;"
		  "DROP VIEW profile_quality; DROP VIEW cpu_sample_named; DROP TABLE cpu_sample;"
		  "DROP TABLE profile_thread; DROP TABLE profile_process; DROP TABLE stack; DROP TABLE frame;"
		  "DROP TABLE task; DROP TABLE source_line; DROP TABLE profile_gap; PRAGMA user_version = 1");
	assert_exists(f, false);
	struct profile_data *data = load(f);
	assert_int_equal(data->samples.len, 0);
	profile_data_free(data);
	struct run_record *record = NULL;
	assert_int_equal(store_load(f->path, &record, &f->err), 0);
	run_record_free(record);
}

static void a_damaged_profile_is_refused_with_words(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql, *words;
	} damages[] = {
		{"UPDATE stack SET parent_id = 9 WHERE id = 9", "points nowhere"},  /* its own parent */
		{"UPDATE stack SET parent_id = 16 WHERE id = 1", "points nowhere"}, /* a cycle */
		{"UPDATE stack SET parent_id = -1 WHERE id = 3", "out of range"},
		{"UPDATE stack SET frame_id = 99 WHERE id = 3", "points nowhere"},
		{"UPDATE stack SET frame_id = 0 WHERE id = 3", "points nowhere"},
		{"DELETE FROM stack WHERE id = 3", "points nowhere"},
		{"DELETE FROM frame WHERE id = 1", "gaps"},
		{"DELETE FROM profile_thread WHERE id = 3", "points nowhere"},
		{"UPDATE profile_thread SET process_id = 3 WHERE id = 1", "points nowhere"},
		{"UPDATE profile_thread SET creator_stack_id = 17 WHERE id = 2", "points nowhere"},
		{"UPDATE cpu_sample SET stack_id = 17 WHERE id = 5", "points nowhere"},
		{"UPDATE cpu_sample SET task_id = 2 WHERE id = 5", "points nowhere"},
		{"UPDATE cpu_sample SET weight_ns = 9223372036854775807", "more time than there is"},
		{"UPDATE cpu_sample SET weight_ns = 9223372036854775807 WHERE id IN (3, 5)", "more time than there is"},
		{"UPDATE cpu_sample SET weight_ns = -1 WHERE id = 400", "out of range"},
		{"UPDATE cpu_sample SET flags = 'x' WHERE id = 400", "out of range"},
		{"UPDATE frame SET line = -5 WHERE id = 2", "negative"},
		{"PRAGMA ignore_check_constraints = 1; UPDATE frame SET kind = 'perl' WHERE id = 2", "kind of frame"},
		{"UPDATE source_line SET text = x'00ff'", "should be text"},
		{"DROP TABLE task", "not a plain table"},
	};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct profile_data *data = NULL;
		unlink(f->path);
		write_sample(f);
		change(f, damages[i].sql);
		assert_int_equal(store_profile_load(f->path, &data, &f->err), ERR_INPUT);
		assert_null(data);
		if (!strstr(f->err.text, damages[i].words))
			fail_msg("'%s' after %s", f->err.text, damages[i].sql);
	}
}

#define ON_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_FOLDER(what_goes_in_comes_out),
	ON_A_FOLDER(the_same_frame_stack_and_task_are_one_row),
	ON_A_FOLDER(a_stack_whose_parent_or_frame_is_not_there_is_refused),
	ON_A_FOLDER(samples_come_back_by_thread_and_time),
	ON_A_FOLDER(a_run_without_a_profile_says_so),
	ON_A_FOLDER(a_file_of_the_first_version_loads_and_has_none),
	ON_A_FOLDER(a_damaged_profile_is_refused_with_words),
};

UNIT_MAIN(tests)
