/*
 * test_lib.c - libpitot and the channel's line format.
 *
 * Linked against build/libpitot.a as a program would be. What the library promises its host (errno, no signal, no
 * effect without pitot) is tested from the host's side; what it wrote is read back with the reader's own parser.
 */
#include "base/file.h"
#include "base/mem.h"
#include "pitot.h"
#include "unit.h"
#include "wire/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static char channel[64];

static int open_channel(void **state)
{
	(void)state;
	snprintf(channel, sizeof(channel), "/tmp/pitot-test-lib-XXXXXX");
	int fd = mkstemp(channel);
	if (fd < 0)
		return -1;
	close(fd);
	return setenv(CHANNEL_VARIABLE, channel, 1);
}

static int close_channel(void **state)
{
	(void)state;
	unsetenv(CHANNEL_VARIABLE);
	return unlink(channel);
}

struct lines {
	char *text;
	struct channel_record *records;
	size_t count;
};

/* Every line of the channel must parse. */
static struct lines read_channel(void)
{
	struct lines lines = {0};
	struct err err = {0};
	size_t size;
	assert_int_equal(file_read(channel, 64 << 20, &lines.text, &size, &err), 0);
	for (char *at = lines.text; *at;) {
		char *end = strchr(at, '\n');
		assert_non_null(end);
		lines.records = mem_resize(lines.records, (lines.count + 1) * sizeof(lines.records[0]));
		assert_true(channel_parse(at, (size_t)(end - at), &lines.records[lines.count]));
		lines.count++;
		at = end + 1;
	}
	return lines;
}

static void lines_fini(struct lines *lines)
{
	free(lines->text);
	free(lines->records);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void metrics_and_marks_arrive_with_time_and_pid(void **state)
{
	(void)state;
	uint64_t before = now_ns();
	pitot_metric("val loss", 0.1);
	pitot_mark("epoch 3: 50 % done\n");
	uint64_t after = now_ns();
	struct lines lines = read_channel();
	assert_int_equal(lines.count, 2);
	assert_int_equal(lines.records[0].kind, CHANNEL_METRIC);
	assert_string_equal(lines.records[0].text, "val loss");
	assert_true(lines.records[0].value == 0.1);
	assert_int_equal(lines.records[1].kind, CHANNEL_MARK);
	assert_string_equal(lines.records[1].text, "epoch 3: 50 % done\n");
	assert_true(lines.records[0].mono_ns >= before && lines.records[1].mono_ns <= after);
	assert_true(lines.records[0].mono_ns <= lines.records[1].mono_ns);
	assert_int_equal(lines.records[1].pid, getpid());
	lines_fini(&lines);
}

static void pitot_is_active_only_with_a_channel(void **state)
{
	(void)state;
	assert_int_equal(pitot_active(), 1);
	setenv(CHANNEL_VARIABLE, "", 1);
	assert_int_equal(pitot_active(), 0);
	unsetenv(CHANNEL_VARIABLE);
	assert_int_equal(pitot_active(), 0);
	pitot_metric("a", 1);
	pitot_mark("b");
	struct lines lines = read_channel();
	assert_int_equal(lines.count, 0);
	lines_fini(&lines);
}

static void what_cannot_be_a_record_is_dropped(void **state)
{
	(void)state;
	char longer[CHANNEL_TEXT_SIZE + 1];
	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	pitot_metric(NULL, 1);
	pitot_metric("", 1);
	pitot_metric("a", NAN);
	pitot_metric("a", INFINITY);
	pitot_metric(longer, 1);
	pitot_mark(NULL);
	pitot_mark("");
	struct lines lines = read_channel();
	assert_int_equal(lines.count, 0);
	lines_fini(&lines);
}

static void a_long_label_is_cut_between_two_characters(void **state)
{
	(void)state;
	/* "x" and 127 two-byte characters fill the 255 bytes; "xx" and as many do not, so one character goes. */
	char label[CHANNEL_TEXT_SIZE * 2] = "xx";
	for (int i = 0; i < 200; i++)
		memcpy(label + 2 + i * 2, "\xC2\xB5", 3);
	pitot_mark(label + 1);
	pitot_mark(label);
	struct lines lines = read_channel();
	assert_int_equal(lines.count, 2);
	assert_int_equal(strlen(lines.records[0].text), 255);
	assert_memory_equal(lines.records[0].text, label + 1, 255);
	assert_int_equal(strlen(lines.records[1].text), 254);
	assert_memory_equal(lines.records[1].text, label, 254);
	lines_fini(&lines);
}

static void errno_is_kept_whatever_happens(void **state)
{
	(void)state;
	errno = EDOM;
	pitot_metric("a", 1);
	pitot_mark("b");
	assert_int_equal(errno, EDOM);
	setenv(CHANNEL_VARIABLE, "/nonexistent/channel", 1);
	errno = ERANGE;
	pitot_metric("a", 1);
	pitot_mark("b");
	pitot_active();
	assert_int_equal(errno, ERANGE);
}

static void a_channel_that_does_not_exist_is_not_created(void **state)
{
	(void)state;
	char missing[96];
	snprintf(missing, sizeof(missing), "%s.missing", channel);
	setenv(CHANNEL_VARIABLE, missing, 1);
	pitot_mark("a");
	assert_int_equal(access(missing, F_OK), -1);
}

static void a_channel_that_is_a_pipe_neither_blocks_nor_kills(void **state)
{
	(void)state;
	char fifo[96];
	snprintf(fifo, sizeof(fifo), "%s.fifo", channel);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	setenv(CHANNEL_VARIABLE, fifo, 1);
	pitot_mark("nobody reads");
	int reader = open(fifo, O_RDONLY | O_NONBLOCK);
	pitot_mark("somebody reads");
	char byte;
	assert_int_equal(read(reader, &byte, 1), 0);
	close(reader);
	unlink(fifo);
}

static void a_file_size_limit_does_not_end_the_program(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct rlimit limit = {.rlim_cur = 40, .rlim_max = 40};
		setrlimit(RLIMIT_FSIZE, &limit);
		for (int i = 0; i < 10; i++)
			pitot_mark("more than fits");
		sigset_t pending;
		sigpending(&pending);
		sigset_t mask;
		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		_exit(sigismember(&pending, SIGXFSZ) || sigismember(&mask, SIGXFSZ));
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

enum { THREADS = 8, EACH = 200 };

static void *send_many(void *argument)
{
	char name[CHANNEL_TEXT_SIZE];
	memset(name, 'a' + (int)(intptr_t)argument, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < EACH; i++)
		pitot_metric(name, i);
	return NULL;
}

static void records_of_threads_and_children_never_mix(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		send_many((void *)(intptr_t)THREADS);
		_exit(0);
	}
	pthread_t threads[THREADS];
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, send_many, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	struct lines lines = read_channel();
	assert_int_equal(lines.count, (THREADS + 1) * EACH);
	int seen[THREADS + 1] = {0};
	for (size_t i = 0; i < lines.count; i++) {
		const struct channel_record *record = &lines.records[i];
		int who = record->text[0] - 'a';
		assert_in_range(who, 0, THREADS);
		assert_int_equal(strspn(record->text, (char[]){record->text[0], '\0'}), CHANNEL_TEXT_SIZE - 1);
		assert_true(record->value == seen[who]++);
		assert_int_equal(record->pid, who == THREADS ? child : getpid());
	}
	lines_fini(&lines);
}

static void no_descriptor_stays_open(void **state)
{
	(void)state;
	int before = dup(0);
	close(before);
	for (int i = 0; i < 10; i++)
		pitot_mark("a");
	int after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

static void the_version_is_that_of_the_build(void **state)
{
	(void)state;
	assert_string_equal(pitot_version(), PITOT_VERSION);
}

static void every_byte_survives_the_line(void **state)
{
	(void)state;
	struct channel_record record = {.kind = CHANNEL_MARK, .mono_ns = UINT64_MAX, .pid = INT32_MAX}, back;
	for (int i = 1; i < 256; i++)
		record.text[i - 1] = (char)i;
	char line[CHANNEL_LINE_SIZE];
	size_t length = channel_format(&record, line);
	assert_true(length > 255 && length < sizeof(line));
	assert_ptr_equal(strchr(line, '\n'), line + length - 1);
	assert_true(channel_parse(line, length - 1, &back));
	assert_string_equal(back.text, record.text);
	assert_true(back.mono_ns == UINT64_MAX && back.pid == INT32_MAX);
}

static void the_longest_record_fits_its_line(void **state)
{
	(void)state;
	struct channel_record record = {.kind = CHANNEL_METRIC, .mono_ns = UINT64_MAX, .pid = INT32_MAX}, back;
	record.value = -DBL_MIN / 3;
	memset(record.text, '%', CHANNEL_TEXT_SIZE - 1);
	char line[CHANNEL_LINE_SIZE];
	size_t length = channel_format(&record, line);
	assert_true(length < sizeof(line));
	assert_true(channel_parse(line, length - 1, &back));
	assert_true(back.value == record.value);
}

static void numbers_lose_the_decimal_sign_of_a_locale(void **state)
{
	(void)state;
	static const char *const cases[][2] = {{"-1234,5e-20", "-1234.5e-20"},
					       {"0.25", "0.25"},
					       {"1\xD9\xAB"
						"5",
						"1.5"},
					       {"17", "17"},
					       {"1e+300", "1e+300"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[32];
		assert_int_equal(channel_copy_number(cases[i][0], out, sizeof(out)), strlen(cases[i][1]));
		assert_string_equal(out, cases[i][1]);
	}
	char small[4];
	assert_int_equal(channel_copy_number("123456", small, sizeof(small)), 3);
	assert_string_equal(small, "123");
}

static void lines_that_are_no_records_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"M",
		"M 1 2 a",
		"M 1 2 a ",
		"M 1 2 a 1 ",
		"M 1 2 a 1 2",
		"X 1 2 a",
		"M 1 2 a x",
		"M 1 2 a nan",
		"M 1 2 a 1,5",
		"M 1 2 a 0x10",
		"M -1 2 a 1",
		"M 1 -2 a 1",
		"K 1 2",
		"K 1 2 ",
		"K 1 2 a b",
		"K 1  2 a",
		"K 1 2 %",
		"K 1 2 %4",
		"K 1 2 %zz",
		"K 1 2 a%00",
		"MK 1 2 a",
		" K 1 2 a",
		"M 1 2 a 1e999",
		"K 1 99999999999 a",
		"K 18446744073709551616 2 a",
	};
	struct channel_record record;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(channel_parse(bad[i], strlen(bad[i]), &record));
	assert_false(channel_parse("K 1 2 a\0b", 9, &record));
	char longer[2 * CHANNEL_LINE_SIZE] = "K 1 2 ";
	memset(longer + 6, 'a', CHANNEL_TEXT_SIZE);
	assert_false(channel_parse(longer, 6 + CHANNEL_TEXT_SIZE, &record));
	memset(longer + 6, 'a', sizeof(longer) - 7);
	assert_false(channel_parse(longer, sizeof(longer) - 1, &record));
}

#define WITH_CHANNEL(test) cmocka_unit_test_setup_teardown(test, open_channel, close_channel)

static const struct CMUnitTest tests[] = {
	WITH_CHANNEL(metrics_and_marks_arrive_with_time_and_pid),
	WITH_CHANNEL(pitot_is_active_only_with_a_channel),
	WITH_CHANNEL(what_cannot_be_a_record_is_dropped),
	WITH_CHANNEL(a_long_label_is_cut_between_two_characters),
	WITH_CHANNEL(errno_is_kept_whatever_happens),
	WITH_CHANNEL(a_channel_that_does_not_exist_is_not_created),
	WITH_CHANNEL(a_channel_that_is_a_pipe_neither_blocks_nor_kills),
	WITH_CHANNEL(a_file_size_limit_does_not_end_the_program),
	WITH_CHANNEL(records_of_threads_and_children_never_mix),
	WITH_CHANNEL(no_descriptor_stays_open),
	cmocka_unit_test(the_version_is_that_of_the_build),
	cmocka_unit_test(every_byte_survives_the_line),
	cmocka_unit_test(the_longest_record_fits_its_line),
	cmocka_unit_test(numbers_lose_the_decimal_sign_of_a_locale),
	cmocka_unit_test(lines_that_are_no_records_are_refused),
};

UNIT_MAIN(tests)
