/* test_store.c - what goes into a run file comes out again, and mistakes of the caller are answered with words. */
#include "unit.h"

#include "store/owner.h"
#include "test_store_run.h"

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <sys/stat.h>

struct fixture {
	char *dir;
	char *path;
	struct err err;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->dir = run_folder_new();
	f->path = file_join(f->dir, "a.pitot");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	run_folder_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static struct run_record *load(struct fixture *f)
{
	struct run_record *record = NULL;
	if (store_load(f->path, &record, &f->err) != 0)
		fail_msg("store_load: %s", f->err.text);
	return record;
}

static size_t count_files(const char *dir)
{
	size_t count = 0;
	DIR *stream = opendir(dir);
	assert_non_null(stream);
	for (struct dirent *item; (item = readdir(stream));)
		count += item->d_name[0] != '.';
	closedir(stream);
	return count;
}

static void the_run_and_its_settings_come_back(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	struct run_record *record = load(f);
	struct run_row wanted = run_row_sample(), *got = &record->row;
	assert_string_equal(record->path, f->path);
	assert_string_equal(got->name, wanted.name);
	assert_string_equal(got->uuid, wanted.uuid);
	assert_true(got->started_utc_ns == wanted.started_utc_ns);
	assert_true(got->wall_ns == 1600 * MS);
	assert_int_equal(got->status, STATUS_ERROR);
	assert_string_equal(got->argv_json, wanted.argv_json);
	assert_string_equal(got->cwd, wanted.cwd);
	assert_string_equal(got->config_path, wanted.config_path);
	assert_string_equal(got->config_text, wanted.config_text);
	assert_string_equal(got->git_commit, wanted.git_commit);
	assert_string_equal(got->pitot_version, wanted.pitot_version);
	assert_string_equal(got->fingerprint, wanted.fingerprint);
	assert_true(got->interval_ns == wanted.interval_ns);
	assert_int_equal(got->repeat, 1);
	assert_int_equal(got->warmup, 0);
	assert_int_equal(got->jobs, 2);
	assert_false(record->live);
	assert_int_equal(record->params.len, 1);
	assert_string_equal(record->params.items[0].name, "dataset");
	assert_string_equal(record->params.items[0].value, "coco32");
	assert_string_equal(record->params.items[0].source, "--set");
	assert_int_equal(record->host.len, 1);
	assert_string_equal(record->host.items[0].value, "2");
	assert_int_equal(record->gates.len, 1);
	assert_string_equal(record->gates.items[0].value, "2.5");
	run_record_free(record);
}

static void stages_come_back_with_values_logs_and_artifacts(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	struct run_record *record = load(f);
	assert_int_equal(record->stages.len, 2);
	struct stage_record *first = &record->stages.items[0], *second = &record->stages.items[1];
	assert_string_equal(first->row.name, "load");
	assert_string_equal(first->row.command, "python3 step.py");
	assert_string_equal(first->row.tier, "cgroup v2");
	assert_null(first->row.needs);
	assert_null(first->row.reason);
	assert_int_equal(first->row.status, STATUS_OK);
	assert_int_equal(first->row.exit_code, 0);
	assert_true(first->row.start_ns == 10 * MS && first->row.end_ns == 1010 * MS);
	assert_int_equal(first->processes, 2);
	assert_int_equal(first->artifacts.len, 2);
	assert_false(first->artifacts.items[0].is_output);
	assert_true(first->artifacts.items[0].exists && first->artifacts.items[0].bytes == 7);
	assert_true(first->artifacts.items[1].is_output && !first->artifacts.items[1].exists);
	assert_string_equal(second->row.needs, "load");
	assert_string_equal(second->row.reason, "exit status 3");
	assert_int_equal(second->row.status, STATUS_ERROR);
	assert_int_equal(second->row.exit_code, 3);
	assert_string_equal(second->log, "a\nb");
	assert_int_equal(second->log_dropped_lines, 12);
	assert_null(first->log);
	run_record_free(record);
}

static void values_come_back_with_their_provenance(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	struct run_record *record = load(f);
	struct metric_value *values = record->stages.items[0].values;
	assert_int_equal(values[METRIC_WALL].state, METRIC_KNOWN);
	assert_int_equal(values[METRIC_WALL].method, METHOD_EXACT);
	assert_string_equal(values[METRIC_WALL].source, "monotonic clock");
	assert_true(values[METRIC_CPU_TIME].value == 2.75 && values[METRIC_CPU_TIME].coverage == 0.5);
	assert_int_equal(values[METRIC_CPU_TIME].method, METHOD_SAMPLED);
	assert_true(values[METRIC_CPU_TIME].lower_bound && !values[METRIC_WALL].lower_bound);
	assert_int_equal(values[METRIC_ENERGY].state, METRIC_ABSENT);
	assert_string_equal(values[METRIC_ENERGY].reason, "no RAPL here");
	assert_int_equal(values[METRIC_CYCLES].state, METRIC_UNSET);
	assert_true(record->values[METRIC_SELF_CPU].value == 0.01);
	assert_int_equal(record->values[METRIC_WALL].state, METRIC_UNSET);
	assert_int_equal(record->quality.len, 2);
	assert_true(record->quality.items[0].known && record->quality.items[0].value == 0.85);
	assert_false(record->quality.items[1].known);
	assert_string_equal(record->quality.items[1].reason, "no file matches");
	assert_int_equal(record->events.len, 1);
	assert_int_equal(record->events.items[0].stage_id, record->stages.items[1].row.id);
	assert_string_equal(record->events.items[0].kind, "warning");
	assert_string_equal(record->events.items[0].text, "slow disk");
	run_record_free(record);
}

static void every_status_unit_method_and_process_source_is_accepted(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	for (int status = 0; status < STATUS_COUNT; status++) {
		struct stage_row stage = stage_row_sample(status, "s", 1);
		assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
		stage.status = status;
		stage.end_ns = 2;
		assert_int_equal(store_stage_end(store, &stage, &f->err), 0);
	}
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
	for (int unit = UNIT_SECONDS; unit <= UNIT_RATIO; unit++)
		assert_int_equal(store_sample(store, 1, names[unit], unit, 1, 1, &f->err), 0);
	struct metric_value values[METRIC_COUNT];
	for (int id = 0; id < METRIC_COUNT; id++)
		metric_set(&values[id], id, id % 3, "test");
	assert_int_equal(store_metrics(store, 1, values, &f->err), 0);
	for (int source = PROCESS_EXIT_RECORD; source <= PROCESS_SAMPLED; source++)
		assert_int_equal(store_process(store, &(struct process_row){.stage_id = 1, .source = source}, &f->err),
				 0);
	assert_int_equal(store_finish(store, STATUS_OK, 5, &f->err), 0);
	struct run_record *record = load(f);
	for (int status = 0; status < STATUS_COUNT; status++)
		assert_int_equal(record->stages.items[status].row.status, status);
	for (int id = 0; id < METRIC_COUNT; id++)
		assert_true(record->stages.items[0].values[id].value == id &&
			    record->stages.items[0].values[id].method == (enum metric_method)(id % 3));
	struct series_list list = {0};
	assert_int_equal(store_series(f->path, 1, 1, &list, &f->err), 0);
	assert_int_equal(list.items.len, UNIT_RATIO + 1);
	for (int unit = UNIT_SECONDS; unit <= UNIT_RATIO; unit++)
		assert_int_equal(list.items.items[unit].unit, unit);
	series_list_fini(&list);
	run_record_free(record);
}

static void a_finished_run_is_exactly_one_file(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	assert_int_equal(count_files(f->dir), 1);
	struct run_record *record = load(f);
	run_record_free(record);
	assert_int_equal(count_files(f->dir), 1);
}

static void a_series_is_reduced_to_buckets(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	struct series_list list = {0};
	assert_int_equal(store_series(f->path, 1, 5, &list, &f->err), 0);
	assert_int_equal(list.items.len, 2);
	struct series *cpu = &list.items.items[0];
	assert_string_equal(cpu->name, "cpu_percent");
	assert_int_equal(cpu->unit, UNIT_PERCENT);
	assert_int_equal(cpu->stage_id, 1);
	assert_int_equal(cpu->buckets.len, 5);
	for (size_t i = 0; i < 5; i++) { /* samples 0 10 20 …, two to a bucket */
		struct series_bucket *bucket = &cpu->buckets.items[i];
		assert_int_equal(bucket->count, 2);
		assert_true(bucket->at_ns == (10 + i * 200) * MS);
		assert_true(bucket->min == (double)i * 20 && bucket->max == (double)i * 20 + 10);
		assert_true(fabs(bucket->mean - ((double)i * 20 + 5)) < 1e-9);
	}
	assert_int_equal(list.items.items[1].unit, UNIT_BYTES);
	series_list_fini(&list);
}

static void empty_buckets_have_count_zero_and_a_stage_without_samples_has_no_series(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	struct series_list list = {0};
	assert_int_equal(store_series(f->path, 1, 40, &list, &f->err), 0);
	size_t filled = 0;
	for (size_t i = 0; i < 40; i++)
		filled += list.items.items[0].buckets.items[i].count > 0;
	assert_int_equal(filled, 10);
	series_list_fini(&list);
	assert_int_equal(store_series(f->path, 2, 40, &list, &f->err), 0);
	assert_int_equal(list.items.len, 0);
	series_list_fini(&list);
	assert_int_equal(store_series(f->path, 999, 40, &list, &f->err), 0);
	assert_int_equal(list.items.len, 0);
	series_list_fini(&list);
}

static void processes_come_back_costliest_first(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	struct process_list list = {0};
	assert_int_equal(store_processes(f->path, 1, 10, &list, &f->err), 0);
	assert_int_equal(list.items.len, 2);
	struct process_row *sort = &list.items.items[0], *python = &list.items.items[1];
	assert_string_equal(sort->command, "sort");
	assert_int_equal(sort->exit_code, -1);
	assert_int_equal(sort->term_signal, 9);
	assert_int_equal(sort->source, PROCESS_SAMPLED);
	assert_false(sort->ended);
	assert_true(sort->end_ns == 0);
	assert_true(python->ended && python->end_ns == 900 * MS && python->start_ns == 11 * MS);
	assert_int_equal(python->pid, 100);
	assert_int_equal(python->ppid, 1);
	assert_int_equal(python->exit_code, 0);
	assert_int_equal(python->term_signal, 0);
	assert_true(python->cpu_user_s == 0.5 && python->cpu_system_s == 0.25);
	assert_true(python->rss_peak_bytes == 1 << 20);
	assert_true(python->io_read_bytes == 1 && python->io_write_bytes == 2);
	assert_true(python->io_device_read_bytes == 3 && python->io_device_write_bytes == 4);
	assert_true(python->page_faults_minor == 5 && python->page_faults_major == 6);
	assert_true(python->context_switches_voluntary == 7 && python->context_switches_forced == 8);
	assert_int_equal(python->source, PROCESS_WAITED);
	process_list_fini(&list);
	assert_int_equal(store_processes(f->path, 0, 1, &list, &f->err), 0);
	assert_int_equal(list.items.len, 1);
	process_list_fini(&list);
	assert_int_equal(store_processes(f->path, 2, SIZE_MAX, &list, &f->err), 0);
	assert_int_equal(list.items.len, 0);
	process_list_fini(&list);
}

static void stages_are_ordered_by_repetition_then_position(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	static const int places[][2] = {{0, 1}, {1, 1}, {0, 0}, {1, 0}}; /* --jobs starts them in any order */
	for (size_t i = 0; i < 4; i++) {
		struct stage_row stage = stage_row_sample(places[i][1], "s", i + 1);
		stage.repetition = places[i][0];
		stage.warmup = places[i][0] == 0;
		assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
		stage.status = STATUS_OK;
		stage.end_ns = 100;
		assert_int_equal(store_stage_end(store, &stage, &f->err), 0);
		struct metric_value values[METRIC_COUNT] = {0};
		metric_set(&values[METRIC_WALL], (double)i, METHOD_EXACT, "test");
		assert_int_equal(store_metrics(store, stage.id, values, &f->err), 0);
	}
	assert_int_equal(store_finish(store, STATUS_OK, 100, &f->err), 0);
	struct run_record *record = load(f);
	static const double walls[] = {2, 0, 3, 1};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(record->stages.items[i].row.repetition, i / 2);
		assert_int_equal(record->stages.items[i].row.position, i % 2);
		assert_true(record->stages.items[i].row.warmup == (i < 2));
		assert_true(record->stages.items[i].values[METRIC_WALL].value == walls[i]);
	}
	run_record_free(record);
}

static void text_that_is_not_utf8_is_stored_with_replacements(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	run.name = "bad\xFFname";
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	struct stage_row stage = stage_row_sample(0, "\xC3(", 1);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	assert_int_equal(store_log(store, stage.id, "x\0y\xFE\n", 5, 0, &f->err), 0);
	stage.status = STATUS_OK;
	stage.end_ns = 2;
	assert_int_equal(store_stage_end(store, &stage, &f->err), 0);
	assert_int_equal(store_finish(store, STATUS_OK, 2, &f->err), 0);
	struct run_record *record = load(f);
	assert_string_equal(record->row.name, "bad\xEF\xBF\xBDname");
	assert_string_equal(record->stages.items[0].row.name, "\xEF\xBF\xBD(");
	assert_string_equal(record->stages.items[0].log, "x\xEF\xBF\xBDy\xEF\xBF\xBD\n");
	run_record_free(record);
}

static void numbers_that_are_not_finite_become_unknown_with_a_reason(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	struct metric_value values[METRIC_COUNT] = {0};
	metric_set(&values[METRIC_ENERGY], NAN, METHOD_EXACT, "rapl");
	metric_set(&values[METRIC_CYCLES], INFINITY, METHOD_EXACT, "perf");
	assert_int_equal(store_metrics(store, 0, values, &f->err), 0);
	assert_int_equal(store_sample(store, 0, "power", UNIT_JOULES, 1, NAN, &f->err), 0);
	assert_int_equal(store_quality(store, &(struct quality_row){.name = "q", .known = true, .value = NAN}, &f->err),
			 0);
	assert_int_equal(store_finish(store, STATUS_OK, 2, &f->err), 0);
	struct run_record *record = load(f);
	assert_int_equal(record->values[METRIC_ENERGY].state, METRIC_ABSENT);
	assert_int_equal(record->values[METRIC_CYCLES].state, METRIC_ABSENT);
	assert_true(record->values[METRIC_CYCLES].reason[0] != '\0');
	assert_false(record->quality.items[0].known);
	assert_non_null(record->quality.items[0].reason);
	run_record_free(record);
}

static void the_largest_numbers_survive(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	struct process_row process = {.stage_id = 1, .rss_peak_bytes = UINT64_MAX, .io_read_bytes = INT64_MAX};
	assert_int_equal(store_process(store, &process, &f->err), 0);
	assert_int_equal(store_finish(store, STATUS_OK, INT64_MAX, &f->err), 0);
	struct process_list list = {0};
	assert_int_equal(store_processes(f->path, 1, 1, &list, &f->err), 0);
	assert_true(list.items.items[0].rss_peak_bytes == INT64_MAX);
	assert_true(list.items.items[0].io_read_bytes == INT64_MAX);
	process_list_fini(&list);
}

static void a_stage_that_never_ran_has_no_times(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	struct stage_row stage = stage_row_sample(0, "review", 0);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	stage.status = STATUS_MANUAL;
	stage.reason = "needs a person";
	assert_int_equal(store_stage_end(store, &stage, &f->err), 0);
	assert_int_equal(store_finish(store, STATUS_OK, 2, &f->err), 0);
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT start_ns IS NULL AND end_ns IS NULL FROM stage", -1, &statement, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(statement, 0), 1);
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void a_row_that_breaks_a_rule_is_refused_and_the_store_goes_on(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	struct event_row event = {.kind = "shout", .text = "x"};
	assert_int_equal(store_event(store, &event, &f->err), ERR_INTERNAL);
	assert_non_null(strstr(f->err.text, "CHECK"));
	event.kind = "note";
	assert_int_equal(store_event(store, &event, &f->err), 0);
	assert_int_equal(store_finish(store, STATUS_OK, 2, &f->err), 0);
	struct run_record *record = load(f);
	assert_int_equal(record->events.len, 1);
	run_record_free(record);
}

static void an_existing_file_is_never_overwritten(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(file_write_atomic(f->path, "mine", 4, &f->err), 0);
	assert_int_equal(store_create(f->path, &run, &store, &f->err), ERR_INPUT);
	assert_null(store);
	assert_non_null(strstr(f->err.text, "exists already"));
	assert_non_null(strstr(f->err.text, "-o"));
	char *bytes = NULL;
	size_t size = 0;
	assert_int_equal(file_read(f->path, 100, &bytes, &size, &f->err), 0);
	assert_string_equal(bytes, "mine");
	free(bytes);
	assert_int_equal(count_files(f->dir), 1);
}

static void a_missing_folder_is_named_and_nothing_is_created(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	char *path = file_join(f->dir, "no/such/a.pitot");
	assert_int_equal(store_create(path, &run, &store, &f->err), ERR_IO);
	assert_non_null(strstr(f->err.text, path));
	assert_non_null(strstr(f->err.text, "folder does not exist"));
	assert_int_equal(count_files(f->dir), 0);
	free(path);
}

static void a_log_left_by_an_earlier_file_of_that_name_does_no_harm(void **state)
{
	struct fixture *f = *state;
	char *log = mem_printf("%s-wal", f->path);
	assert_int_equal(file_write_atomic(log, "stale", 5, &f->err), 0);
	free(log);
	assert_int_equal(run_write(f->path, &f->err), 0);
	run_record_free(load(f));
	assert_int_equal(count_files(f->dir), 1);
}

static void names_that_sqlite_reads_differently_are_plain_files(void **state)
{
	struct fixture *f = *state;
	char before[4096];
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(f->dir), 0);
	static const char *const names[] = {":memory:", "file:x?mode=memory", "a b'\"%20.pitot"};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(run_write(names[i], &f->err), 0);
		struct run_record *record = NULL;
		assert_int_equal(store_load(names[i], &record, &f->err), 0);
		run_record_free(record);
		assert_int_equal(access(names[i], F_OK), 0);
	}
	assert_int_equal(chdir(before), 0);
	assert_int_equal(count_files(f->dir), 3);
}

static void abandoning_before_the_first_stage_removes_the_file(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	assert_string_equal(store_path(store), f->path);
	assert_int_equal(store_param(store, "a", "b", NULL, &f->err), 0);
	store_abandon(store);
	assert_int_equal(count_files(f->dir), 0);
	store_abandon(NULL);
}

static void abandoning_after_a_stage_began_keeps_it_as_interrupted(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	run.owner_pid = 1;
	run.owner_start = 1ull << 60; /* nobody's */
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	struct stage_row stage = stage_row_sample(0, "load", 5);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	store_abandon(store);
	struct run_record *record = load(f);
	assert_int_equal(record->stages.items[0].row.status, STATUS_INTERRUPTED);
	run_record_free(record);
}

static void a_run_is_live_while_its_owner_runs_and_can_be_read_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0); /* the owner is this process */
	assert_int_equal(run_fill(store, &f->err), 0);
	struct stage_row stage = stage_row_sample(2, "open", 1500 * MS);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	struct run_record *record = load(f);
	assert_true(record->live);
	assert_true(record->row.wall_ns == 0);
	assert_int_equal(record->stages.len, 3);
	assert_true(record->stages.items[2].row.end_ns == 0);
	assert_int_equal(record->events.len, 1); /* no word of a kill */
	run_record_free(record);
	assert_int_equal(store_finish(store, STATUS_OK, 1600 * MS, &f->err), 0);
	record = load(f);
	assert_false(record->live);
	run_record_free(record);
	assert_int_equal(count_files(f->dir), 1);
}

static void the_same_process_id_in_another_boot_or_with_another_start_is_not_live(void **state)
{
	(void)state;
	char boot_id[64];
	owner_boot_id(boot_id, sizeof(boot_id));
	struct run_row run = {.owner_pid = getpid(), .owner_start = owner_start_ticks(getpid()), .boot_id = boot_id};
	assert_true(owner_is_alive(&run));
	run.owner_start++;
	assert_false(owner_is_alive(&run));
	run.owner_start--;
	run.boot_id = "00000000-0000-0000-0000-000000000000";
	assert_false(owner_is_alive(&run));
	run.boot_id = NULL;
	assert_false(owner_is_alive(&run));
	assert_true(owner_start_ticks(-1) == 0 && owner_start_ticks(0) == 0);
}

/* Somebody sits in sqlite3 with an open transaction while the run ends. */
static void a_reader_that_stays_costs_neither_data_nor_an_error(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	assert_int_equal(run_fill(store, &f->err), 0);
	assert_int_equal(store_commit(store, &f->err), 0);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT * FROM stage", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_finish(store, STATUS_OK, 1600 * MS, &f->err), 0);
	struct run_record *record = load(f);
	assert_true(record->row.wall_ns == 1600 * MS);
	assert_int_equal(record->row.status, STATUS_OK);
	assert_int_equal(record->stages.len, 2);
	run_record_free(record);
	sqlite3_close(db);
	run_record_free(load(f));
}

static void a_later_value_of_the_same_name_replaces_the_earlier(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	for (int i = 1; i <= 2; i++) {
		char text[2] = {(char)('0' + i), 0};
		assert_int_equal(store_param(store, "p", text, NULL, &f->err), 0);
		assert_int_equal(store_host_fact(store, "h", text, &f->err), 0);
		assert_int_equal(store_gate(store, "g", i, &f->err), 0);
		assert_int_equal(
			store_quality(store, &(struct quality_row){.name = "q", .known = true, .value = i}, &f->err),
			0);
		assert_int_equal(store_log(store, 1, text, 1, 0, &f->err), 0);
		assert_int_equal(store_sample(store, 1, "s", UNIT_COUNT, 7, i, &f->err), 0);
	}
	assert_int_equal(store_finish(store, STATUS_OK, 1, &f->err), 0);
	struct run_record *record = load(f);
	assert_int_equal(record->params.len, 1);
	assert_string_equal(record->params.items[0].value, "2");
	assert_string_equal(record->host.items[0].value, "2");
	assert_string_equal(record->gates.items[0].value, "2");
	assert_int_equal(record->quality.len, 1);
	assert_true(record->quality.items[0].value == 2);
	run_record_free(record);
	struct series_list list = {0};
	assert_int_equal(store_series(f->path, 1, 1, &list, &f->err), 0);
	assert_int_equal(list.items.items[0].buckets.items[0].count, 1);
	assert_true(list.items.items[0].buckets.items[0].mean == 2);
	series_list_fini(&list);
}

static void status_names_are_found_again_and_others_are_not(void **state)
{
	(void)state;
	for (int status = 0; status < STATUS_COUNT; status++)
		assert_int_equal(status_find(status_name(status)), status);
	assert_int_equal(status_find("OK"), -1);
	assert_int_equal(status_find(""), -1);
	run_record_free(NULL);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	IN_FOLDER(the_run_and_its_settings_come_back),
	IN_FOLDER(stages_come_back_with_values_logs_and_artifacts),
	IN_FOLDER(values_come_back_with_their_provenance),
	IN_FOLDER(every_status_unit_method_and_process_source_is_accepted),
	IN_FOLDER(a_finished_run_is_exactly_one_file),
	IN_FOLDER(a_series_is_reduced_to_buckets),
	IN_FOLDER(empty_buckets_have_count_zero_and_a_stage_without_samples_has_no_series),
	IN_FOLDER(processes_come_back_costliest_first),
	IN_FOLDER(stages_are_ordered_by_repetition_then_position),
	IN_FOLDER(text_that_is_not_utf8_is_stored_with_replacements),
	IN_FOLDER(numbers_that_are_not_finite_become_unknown_with_a_reason),
	IN_FOLDER(the_largest_numbers_survive),
	IN_FOLDER(a_stage_that_never_ran_has_no_times),
	IN_FOLDER(a_row_that_breaks_a_rule_is_refused_and_the_store_goes_on),
	IN_FOLDER(an_existing_file_is_never_overwritten),
	IN_FOLDER(a_missing_folder_is_named_and_nothing_is_created),
	IN_FOLDER(a_log_left_by_an_earlier_file_of_that_name_does_no_harm),
	IN_FOLDER(names_that_sqlite_reads_differently_are_plain_files),
	IN_FOLDER(abandoning_before_the_first_stage_removes_the_file),
	IN_FOLDER(abandoning_after_a_stage_began_keeps_it_as_interrupted),
	IN_FOLDER(a_run_is_live_while_its_owner_runs_and_can_be_read_meanwhile),
	IN_FOLDER(a_reader_that_stays_costs_neither_data_nor_an_error),
	IN_FOLDER(a_later_value_of_the_same_name_replaces_the_earlier),
	cmocka_unit_test(the_same_process_id_in_another_boot_or_with_another_start_is_not_live),
	cmocka_unit_test(status_names_are_found_again_and_others_are_not),
};

UNIT_MAIN(tests)
