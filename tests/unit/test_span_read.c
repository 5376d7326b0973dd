/*
 * test_span_read.c - files of spans: what libpitot wrote is read as it was meant; what is damaged is read up to the damage.
 *
 * The library reads its environment when it is loaded, so the program that records is this one, started again with PITOT_SPANS set
 * and a word that says what to do.
 */
#include "unit.h"

#include "base/file.h"
#include "base/str.h"
#include "pitot.h"
#include "run/span_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCENE "PITOT_TEST_SCENE"

/* ---- in the program that records ---- */

static void record_nested(void)
{
	for (int i = 0; i < 3; i++) {
		pitot_chunk_begin(10 + i);
		pitot_span outer = pitot_span_begin("outer");
		pitot_span inner = pitot_span_begin("inner");
		pitot_work(100, 200);
		pitot_span_end(inner);
		pitot_span_end(outer);
		pitot_counter("rows", 5);
		pitot_gauge("queue", i);
		pitot_chunk_end(5, 50, -1);
	}
	pitot_snapshot("at the end");
}

static void record_many(void)
{
	for (int i = 0; i < 200000; i++)
		pitot_span_end(pitot_span_begin("tiny"));
}

static void *record_thread(void *unused)
{
	record_nested();
	return unused;
}

static void record_threads(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, record_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 50; i++) { /* one after the other: they share what the first had */
		pthread_t one;
		pthread_create(&one, NULL, record_thread, NULL);
		pthread_join(one, NULL);
	}
}

static void record_unbalanced(void)
{
	pitot_span outer = pitot_span_begin("outer"), inner = pitot_span_begin("inner");
	pitot_span_end(outer);
	pitot_span_end(inner);
	pitot_span_end(outer);
	pitot_span_end(pitot_span_begin("after"));
}

static void record_fork(void)
{
	pitot_span outer = pitot_span_begin("outer");
	pid_t pid = fork();
	if (pid == 0) {
		pitot_span_end(outer);
		pitot_span_end(pitot_span_begin("child"));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pitot_span_end(outer);
}

static void record_killed(void)
{
	pitot_span_end(pitot_span_begin("done"));
	pitot_span_begin("open");
	kill(getpid(), SIGKILL);
}

static void record_limited(void)
{
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){64 << 10, 64 << 10});
	for (int i = 0; i < 5000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "name %d", i % 900);
		pitot_span_end(pitot_span_begin(name));
	}
	_exit(errno == 0 ? 0 : 3);
}

static void record_names(void)
{
	char longest[600], buffer[16];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	pitot_span_end(pitot_span_begin(longest));
	pitot_span_end(pitot_span_begin(longest));
	pitot_span_end(pitot_span_begin(""));
	for (int i = 0; i < 4; i++) { /* one buffer, two names */
		snprintf(buffer, sizeof(buffer), "name %d", i % 2);
		pitot_span_end(pitot_span_begin(buffer));
	}
	pitot_span deep[200];
	for (int i = 0; i < 200; i++)
		deep[i] = pitot_span_begin("deep");
	for (int i = 200; i-- > 0;)
		pitot_span_end(deep[i]);
}

enum { COUNTED_PAGES = 700, COUNTED_MORE = 250 /* a sanitizer's shadow has a page for eight */ };

/* As many page faults as pages. */
static void touch(const char *name)
{
	pitot_span span = pitot_span_begin(name);
	char *pages = mmap(NULL, COUNTED_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, COUNTED_PAGES * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < COUNTED_PAGES; i++)
		((volatile char *)pages)[i * 4096] = 1;
	munmap(pages, COUNTED_PAGES * 4096);
	pitot_span_end(span);
}

static void *touch_in_thread(void *unused)
{
	touch("thread");
	return unused;
}

static void record_counted(void)
{
	pthread_t thread;
	pitot_span outer = pitot_span_begin("outer");
	touch("inner");
	touch("inner");
	pitot_span_end(outer);
	pthread_create(&thread, NULL, touch_in_thread, NULL);
	pthread_join(thread, NULL);
	pid_t pid = fork();
	if (pid == 0) {
		touch("child");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* What a daemon does: everything is closed, and the numbers are taken by others, whose data nobody else may read. */
static void record_closed(void)
{
	int ends[2];
	touch("before");
	pitot_span open_one = pitot_span_begin("meanwhile");
	syscall(SYS_close_range, 3, ~0U, 0);
	if (pipe(ends) != 0 || write(ends[1], "all of this is ours, and none of it is a count of anything", 58) != 58)
		_exit(1);
	for (int fd = 500; fd < 530; fd++)
		dup2(ends[0], fd);
	errno = 0;
	pitot_span_end(open_one);
	touch("after");
	char back[64];
	_exit(errno == 0 && read(ends[0], back, sizeof(back)) == 58 ? 0 : 2);
}

static const struct {
	const char *name;
	void (*record)(void);
} scenes[] = {{"counted", record_counted}, {"closed", record_closed},   {"nested", record_nested},
	      {"many", record_many},       {"threads", record_threads}, {"unbalanced", record_unbalanced},
	      {"fork", record_fork},       {"killed", record_killed},   {"limited", record_limited},
	      {"names", record_names}};

__attribute__((constructor(65535))) static void play(void)
{
	const char *scene = getenv(SCENE);
	for (size_t i = 0; scene && i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (strcmp(scenes[i].name, scene) == 0) {
			errno = 0;
			scenes[i].record();
			exit(0);
		}
}

/* ---- in the test ---- */

struct fixture {
	char dir[64];
	struct span_file *files[2];
	size_t count;
	char path[256];
};

static int compare_files(const void *a, const void *b)
{
	return (*(struct span_file *const *)a)->header.pid - (*(struct span_file *const *)b)->header.pid;
}

static int run_scene(struct fixture *f, const char *scene)
{
	struct err err = {0};
	char variable[128];
	snprintf(f->dir, sizeof(f->dir), "/tmp/pitot-test-spans-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(variable, sizeof(variable), "dir=%s;stage=7", f->dir);
	pid_t pid = fork();
	if (pid == 0) {
		setenv(SPAN_WIRE_VARIABLE, variable, 1);
		setenv(SCENE, scene, 1);
		execl("/proc/self/exe", "test", (char *)NULL);
		_exit(99);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	DIR *dir = opendir(f->dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!str_ends(entry->d_name, SPAN_WIRE_SUFFIX))
			continue;
		assert_true(f->count < 2);
		snprintf(f->path, sizeof(f->path), "%s/%.100s", f->dir, entry->d_name);
		if (span_file_open(f->path, &f->files[f->count++], &err) != 0)
			fail_msg("%s", err.text);
	}
	closedir(dir);
	if (f->count > 1)
		qsort(f->files, f->count, sizeof(f->files[0]), compare_files);
	return status;
}

static void finish(struct fixture *f)
{
	for (size_t i = 0; i < f->count; i++)
		span_file_free(f->files[i]);
	char *const argv[] = {"rm", "-rf", f->dir, NULL};
	pid_t pid = fork();
	if (pid == 0) {
		execvp("rm", argv);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static const struct read_operator *find(const struct span_file *file, const char *name)
{
	for (size_t i = 0; i < file->operators.len; i++)
		if (strcmp(file->operators.items[i].name, name) == 0)
			return &file->operators.items[i];
	return NULL;
}

struct seen {
	size_t spans, chunks, points, snapshots, parts;
};

static bool count_visit(void *context, const struct span_visit *visit)
{
	struct seen *seen = context;
	seen->spans += visit->kind == SPAN_WIRE_SPAN;
	seen->chunks += visit->kind == SPAN_WIRE_CHUNK;
	seen->points += visit->kind == SPAN_WIRE_POINT;
	seen->snapshots += visit->kind == SPAN_WIRE_SNAPSHOT;
	if (visit->kind == SPAN_WIRE_CHUNK)
		seen->parts += visit->chunk->parts;
	return true;
}

static void spans_chunks_and_values_arrive(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct seen seen = {0};
	assert_int_equal(run_scene(&f, "nested"), 0);
	assert_int_equal(f.count, 1);
	const struct span_file *file = f.files[0];
	const struct read_operator *outer = find(file, "outer"), *inner = find(file, "inner");
	assert_int_equal(outer->calls, 3);
	assert_int_equal(inner->calls, 3);
	assert_int_equal(inner->parent, outer - file->operators.items);
	assert_true(outer->total >= inner->total);
	assert_true(inner->min <= inner->max && inner->max <= inner->total);
	assert_true(inner->flops == 300 && inner->bytes == 600);
	assert_int_equal(file->header.stage_id, 7);
	assert_int_equal(file->header.ended, 1);
	assert_int_equal(file->header.unbalanced, 0);
	assert_int_equal(file->series.len, 2);
	span_file_visit(f.files[0], count_visit, &seen);
	assert_int_equal(seen.spans, 6);
	assert_int_equal(seen.chunks, 3);
	assert_int_equal(seen.parts, 6);
	assert_int_equal(seen.points, 3);
	assert_int_equal(seen.snapshots, 1);
	assert_int_equal(file->dropped_records + file->dropped_visits + file->dropped_bytes, 0);
	finish(&f);
}

static void many_spans_are_all_counted_in_little_room(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct seen seen = {0};
	run_scene(&f, "many");
	const struct read_operator *tiny = find(f.files[0], "tiny");
	uint64_t in_ranges = 0;
	assert_int_equal(tiny->calls, 200000);
	for (unsigned i = 0; i < SPAN_WIRE_BUCKETS; i++)
		in_ranges += tiny->durations[i];
	assert_int_equal(in_ranges, 200000);
	span_file_visit(f.files[0], count_visit, &seen);
	assert_in_range(seen.spans, 2000, 20000);
	assert_true(f.files[0]->size < 1 << 20);
	finish(&f);
}

static void threads_have_lanes_and_hand_them_on(void **state)
{
	(void)state;
	struct fixture f = {0};
	run_scene(&f, "threads");
	uint64_t calls = 0;
	uint32_t lanes = 0;
	for (size_t i = 0; i < f.files[0]->operators.len; i++) {
		const struct read_operator *about = &f.files[0]->operators.items[i];
		calls += strcmp(about->name, "inner") == 0 ? about->calls : 0;
		lanes = about->lane >= lanes ? about->lane + 1 : lanes;
	}
	assert_int_equal(calls, 3 * 54);
	assert_int_equal(f.files[0]->threads.len, 54);
	assert_true(lanes <= 4);
	finish(&f);
}

static void spans_out_of_order_are_ended_and_counted(void **state)
{
	(void)state;
	struct fixture f = {0};
	run_scene(&f, "unbalanced");
	assert_int_equal(find(f.files[0], "outer")->calls, 1);
	assert_int_equal(find(f.files[0], "inner")->calls, 1);
	assert_int_equal(find(f.files[0], "after")->parent, SPAN_NOWHERE);
	assert_int_equal(f.files[0]->header.unbalanced, 3);
	finish(&f);
}

static void a_forked_child_has_a_file_of_its_own(void **state)
{
	(void)state;
	struct fixture f = {0};
	run_scene(&f, "fork");
	assert_int_equal(f.count, 2);
	assert_int_equal(find(f.files[0], "outer")->calls, 1);
	assert_null(find(f.files[0], "child"));
	assert_int_equal(find(f.files[1], "child")->calls, 1);
	assert_null(find(f.files[1], "outer"));
	assert_int_equal(f.files[1]->header.ppid, f.files[0]->header.pid);
	finish(&f);
}

static void set_counters(const char *kind)
{
	if (kind)
		setenv(SPAN_WIRE_COUNTERS_VARIABLE, kind, 1);
	else
		unsetenv(SPAN_WIRE_COUNTERS_VARIABLE);
}

static void counters_are_of_the_spans_of_their_thread(void **state)
{
	(void)state;
	struct fixture f = {0};
	set_counters("software");
	run_scene(&f, "counted");
	set_counters(NULL);
	assert_int_equal(f.count, 2);
	const struct read_operator *outer = find(f.files[0], "outer"), *inner = find(f.files[0], "inner"),
				   *thread = find(f.files[0], "thread"), *child = find(f.files[1], "child");
	if (f.files[0]->threads.items[0].counting != SPAN_COUNTING_SOFTWARE) {
		finish(&f);
		printf("skip: perf_event_open is not allowed here\n");
		skip();
	}
	assert_int_equal(f.files[0]->threads.items[1].counting, SPAN_COUNTING_SOFTWARE);
	assert_in_range(inner->counts.count[0], 2 * COUNTED_PAGES, 2 * COUNTED_PAGES + COUNTED_MORE);
	assert_in_range(thread->counts.count[0], COUNTED_PAGES, COUNTED_PAGES + COUNTED_MORE);
	assert_in_range(child->counts.count[0], COUNTED_PAGES, COUNTED_PAGES + COUNTED_MORE);
	assert_true(outer->counts.count[0] >= inner->counts.count[0]);
	assert_true(outer->counts.count[0] < inner->counts.count[0] + 50);
	assert_int_equal(inner->counts.calls, 2);
	assert_int_equal(inner->counts.uncounted, 0);
	/* The second is the CPU clock: nanoseconds, of which there are at least some microseconds and no more than enabled. */
	assert_in_range(inner->counts.count[1], 10000, inner->counts.enabled_ns + 1000000);
	assert_true(inner->counts.running_ns == inner->counts.enabled_ns);
	finish(&f);
}

static void without_being_asked_nothing_is_counted(void **state)
{
	(void)state;
	struct fixture f = {0};
	set_counters("something else");
	run_scene(&f, "counted");
	set_counters(NULL);
	assert_false(find(f.files[0], "inner")->counts.known);
	assert_int_equal(f.files[0]->threads.items[0].counting, SPAN_COUNTING_UNASKED);
	finish(&f);
}

static void a_program_that_closes_the_counters_loses_none_of_its_own_data(void **state)
{
	(void)state;
	struct fixture f = {0};
	set_counters("software");
	int status = run_scene(&f, "closed");
	set_counters(NULL);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	if (f.files[0]->threads.items[0].counting == SPAN_COUNTING_SOFTWARE) {
		assert_int_equal(find(f.files[0], "before")->counts.uncounted, 0);
		assert_int_equal(find(f.files[0], "meanwhile")->counts.uncounted, SPAN_WIRE_ALL_EVENTS);
		assert_int_equal(find(f.files[0], "after")->counts.uncounted, SPAN_WIRE_ALL_EVENTS);
		assert_int_equal(find(f.files[0], "after")->counts.calls, 0);
	}
	finish(&f);
}

/* Each word that says where the counts stand: the operator stays, its counts do not. */
static void counts_outside_of_their_record_are_left_out(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct err err = {0};
	set_counters("software");
	run_scene(&f, "closed");
	set_counters(NULL);
	const uint32_t wrong[] = {1, 8, sizeof(struct span_wire_node), UINT32_MAX - 7, 4096, 1008};
	int fd = open(f.path, O_RDWR);
	/* The first record of the first block is the thread, the second the first node. */
	off_t node = SPAN_WIRE_PAGE + sizeof(struct span_wire_block) + sizeof(struct span_wire_thread);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct span_file *file = NULL;
		off_t at = node + (off_t)offsetof(struct span_wire_node, counts);
		assert_int_equal(pwrite(fd, &wrong[i], sizeof(wrong[i]), at), sizeof(wrong[i]));
		assert_int_equal(span_file_open(f.path, &file, &err), 0);
		assert_int_equal(find(file, "before")->calls, 1);
		assert_false(find(file, "before")->counts.known);
		assert_int_equal(file->dropped_records, 1);
		span_file_free(file);
	}
	close(fd);
	finish(&f);
}

static void a_kill_loses_nothing(void **state)
{
	(void)state;
	struct fixture f = {0};
	int status = run_scene(&f, "killed");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(find(f.files[0], "done")->calls, 1);
	assert_int_equal(find(f.files[0], "open")->calls, 0);
	assert_true(find(f.files[0], "open")->begin > 0);
	assert_int_equal(f.files[0]->header.ended, 0);
	finish(&f);
}

static void a_full_disk_is_counted_and_the_program_goes_on(void **state)
{
	(void)state;
	struct fixture f = {0};
	assert_int_equal(run_scene(&f, "limited"), 0);
	uint64_t calls = 0;
	for (size_t i = 0; i < f.files[0]->operators.len; i++)
		calls += f.files[0]->operators.items[i].calls;
	assert_true(f.files[0]->header.lost > 0);
	assert_int_equal(calls + f.files[0]->header.lost, 5000);
	finish(&f);
}

static void names_are_cut_and_depth_is_bounded(void **state)
{
	(void)state;
	struct fixture f = {0};
	run_scene(&f, "names");
	const struct read_operator *first = &f.files[0]->operators.items[0];
	assert_int_equal(strlen(first->name), SPAN_WIRE_NAME_MOST);
	assert_int_equal(first->calls, 2);
	assert_int_equal(find(f.files[0], "name 0")->calls, 2);
	assert_int_equal(find(f.files[0], "name 1")->calls, 2);
	/* The empty name, and what lies deeper than is recorded. */
	assert_int_equal(f.files[0]->header.lost, 1 + 200 - SPAN_WIRE_DEPTH_MOST);
	finish(&f);
}

static void a_damaged_file_is_read_up_to_the_damage(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct err err = {0};
	run_scene(&f, "nested");
	int fd = open(f.path, O_RDWR);
	uint32_t huge = 0x7FFFFFF0;
	/* The size of the second record: the thread is read, nothing behind it. */
	assert_int_equal(pwrite(fd, &huge, sizeof(huge), SPAN_WIRE_PAGE + 16 + 48 + 4), sizeof(huge));
	struct span_file *file = NULL;
	assert_int_equal(span_file_open(f.path, &file, &err), 0);
	assert_int_equal(file->threads.len, 1);
	assert_int_equal(file->operators.len, 0);
	assert_int_equal(file->dropped_records, 1);
	span_file_free(file);
	file = NULL;
	assert_int_equal(pwrite(fd, &huge, sizeof(huge), SPAN_WIRE_PAGE), sizeof(huge)); /* kind of the block */
	assert_int_equal(span_file_open(f.path, &file, &err), 0);
	assert_true(file->dropped_bytes > 0);
	span_file_free(file);
	assert_int_equal(pwrite(fd, &huge, sizeof(huge), 8), sizeof(huge)); /* version */
	assert_int_equal(span_file_open(f.path, &file, &err), ERR_INPUT);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(span_file_open(f.path, &file, &err), ERR_INPUT);
	close(fd);
	finish(&f);
}

static void ranges_of_durations_hold_what_is_put_into_them(void **state)
{
	(void)state;
	for (uint64_t duration = 0; duration < 1u << 20; duration = duration < 100 ? duration + 1 : duration * 9 / 8) {
		unsigned bucket = span_wire_bucket(duration);
		assert_true(span_wire_bucket_low(bucket) <= duration);
		assert_true(duration < span_wire_bucket_low(bucket + 1));
	}
	assert_int_equal(span_wire_bucket(UINT64_MAX), SPAN_WIRE_BUCKETS - 1);
	size_t kept = 0;
	for (uint64_t i = 0; i < 1u << 20; i++)
		kept += span_wire_keeps(i, false);
	assert_int_equal(kept, 512 + 256 * 11);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(spans_chunks_and_values_arrive),
	cmocka_unit_test(many_spans_are_all_counted_in_little_room),
	cmocka_unit_test(threads_have_lanes_and_hand_them_on),
	cmocka_unit_test(spans_out_of_order_are_ended_and_counted),
	cmocka_unit_test(a_forked_child_has_a_file_of_its_own),
	cmocka_unit_test(counters_are_of_the_spans_of_their_thread),
	cmocka_unit_test(without_being_asked_nothing_is_counted),
	cmocka_unit_test(a_program_that_closes_the_counters_loses_none_of_its_own_data),
	cmocka_unit_test(counts_outside_of_their_record_are_left_out),
	cmocka_unit_test(a_kill_loses_nothing),
	cmocka_unit_test(a_full_disk_is_counted_and_the_program_goes_on),
	cmocka_unit_test(names_are_cut_and_depth_is_bounded),
	cmocka_unit_test(a_damaged_file_is_read_up_to_the_damage),
	cmocka_unit_test(ranges_of_durations_hold_what_is_put_into_them),
};

UNIT_MAIN(tests)
