/* test_machine_cache.c - a measured machine to a file and back, and files that something happened to. */
#include "base/file.h"
#include "model/machine_cache.h"
#include "sample_machine.h"
#include "tree.h"

static int setup(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	tree_init(tree);
	setenv("XDG_CACHE_HOME", tree->root, 1);
	*state = tree;
	return 0;
}

static int teardown(void **state)
{
	struct tree *tree = *state;
	tree_fini(tree);
	free(tree);
	return 0;
}

/* The text without its last line. */
static void unseal(struct str *text)
{
	text->len -= strlen("end\t0123456789abcdef\n");
	text->text[text->len] = '\0';
}

/* A last line that is right about what stands before it, so that the reader goes on to that. */
static void seal(struct str *text)
{
	uint64_t sum = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < text->len; i++)
		sum = (sum ^ (unsigned char)text->text[i]) * 0x100000001b3ull;
	str_appendf(text, "end\t%016llx\n", (unsigned long long)sum);
}

static void what_is_stored_comes_back_the_same(void **state)
{
	(void)state;
	struct machine machine, again;
	struct str first = {0}, second = {0};
	struct err err;
	sample_machine(&machine);
	assert_int_equal(machine_cache_store(&machine, &err), 0);
	assert_int_equal(machine_cache_load(machine.fingerprint, &again, &err), 0);
	machine_write(&machine, &first);
	machine_write(&again, &second);
	assert_string_equal(str_text(&first), str_text(&second));
	assert_int_equal(again.rates.len, machine.rates.len);
	assert_int_equal(again.threads, 2);
	assert_int_equal(again.effort, MACHINE_NORMAL);
	const struct machine_rate *rate = machine_best(&again, MACHINE_FMA, NULL, "fp32", 2);
	assert_string_equal(rate->what, "avx2");
	assert_true(rate->best == 200e9 && rate->level == 0.984375);
	const struct machine_rate *absent = &again.rates.items[again.rates.len - 1];
	assert_false(absent->known);
	assert_true(isnan(absent->best));
	assert_string_equal(absent->reason, "this CPU <does> not | offer it");
	/* Its tab and line end would have been taken for fields. */
	assert_string_equal(again.notes.items[0], "a note with a tab, a line end and  [31mcolour");
	str_fini(&first);
	str_fini(&second);
	machine_fini(&machine);
	machine_fini(&again);
}

static void a_machine_that_was_never_measured_is_not_an_error_of_the_file(void **state)
{
	(void)state;
	struct machine machine;
	struct err err;
	assert_int_equal(machine_cache_load("0123456789abcdef", &machine, &err), ERR_UNAVAILABLE);
}

static void a_file_of_another_machine_is_refused(void **state)
{
	struct tree *tree = *state;
	struct machine machine, again;
	struct str text = {0};
	struct err err;
	sample_machine(&machine);
	machine_write(&machine, &text);
	tree_write(tree, "pitot/machine-ffffffffffffffff", str_text(&text));
	assert_int_equal(machine_cache_load("ffffffffffffffff", &again, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "another machine"));
	assert_int_equal(again.rates.len, 0);
	str_fini(&text);
	machine_fini(&machine);
}

static void every_shorter_file_and_every_flipped_bit_is_found(void **state)
{
	(void)state;
	struct machine machine, again;
	struct str text = {0};
	struct err err;
	sample_machine(&machine);
	machine_write(&machine, &text);
	for (size_t size = 0; size < text.len; size++)
		assert_int_equal(machine_parse(text.text, size, &again, &err), ERR_INPUT);
	for (size_t i = 0; i < text.len; i++) {
		text.text[i] ^= 1 << i % 8;
		assert_int_equal(machine_parse(text.text, text.len, &again, &err), ERR_INPUT);
		assert_true(err.text[0] != '\0' && again.rates.len == 0 && !again.rates.items);
		text.text[i] ^= 1 << i % 8;
	}
	assert_int_equal(machine_parse(text.text, text.len, &again, &err), 0);
	machine_fini(&again);
	machine_fini(&machine);
	str_fini(&text);
}

static void lines_that_make_no_sense_are_refused_though_the_sum_is_right(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"\n",
		"rate\n",
		"unknown\t1\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t1\t7\t5\t4\t3\t3\t4\t0.98\tsource\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t1\t7\t5\t4\t3\t3\t4\t0.98\tsource\t\tmore\n",
		"rate\tnone\tavx2\tfp32\t0\t1\t0\t1\t7\t5\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t2\t1\t0\t1\t7\t5\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t0\t0\t1\t7\t5\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t-1\t1\t7\t5\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t1\t0\t5\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t1\t7\t4\t5\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t1\t7\t-\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t1\t7\tnan\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t1\t7\tinf\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\ta name that is far too long\tfp32\t0\t1\t0\t1\t7\t5\t4\t3\t3\t4\t0.98\tsource\t\n",
		"rate\tfma\tavx2\tfp32\t0\t1\t0\t0\t7\t-\t-\t-\t-\t-\t0.98\tsource\t\n",
		"host\t0123456789abcdef\t1\t1\tquick\t2\n",
		"point\t1\n",
		"point\t1\t-\n",
		"point\t1\t0\n",
		"point\t-4\t1\n",
		"note\n",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct machine machine, again;
		struct str text = {0};
		struct err err;
		sample_machine(&machine);
		machine_write(&machine, &text);
		unseal(&text);
		str_append(&text, lines[i]);
		seal(&text);
		if (machine_parse(text.text, text.len, &again, &err) != ERR_INPUT)
			fail_msg("accepted: %s", lines[i]);
		str_fini(&text);
		machine_fini(&machine);
	}
}

static void roofs_are_the_best_of_what_was_measured(void **state)
{
	(void)state;
	struct machine machine;
	struct roof roof;
	sample_machine(&machine);
	machine_roof(&machine, "fp32", 1, &roof);
	assert_true(roof.peak_flops == 100e9 && roof.memory_bytes == 20e9 && roof.fastest_bytes == 200e9);
	assert_true(roof_ridge(&roof) == 5);
	machine_roof(&machine, "fp32", 2, &roof);
	assert_true(roof_ridge(&roof) == 8);
	/* A library that is faster than our loop raises the roof: nothing may be above it. */
	sample_rate(&machine, MACHINE_GEMM, "sgemm", "fp32", 1, 101e9);
	machine_roof(&machine, "fp32", 1, &roof);
	assert_true(roof.peak_flops == 101e9);
	/* Nor may what one thread does be above the roof of a team that was disturbed. */
	sample_rate(&machine, MACHINE_FMA, "avx2", "fp32", 1, 500e9);
	machine_roof(&machine, "fp32", 2, &roof);
	assert_true(roof.peak_flops == 500e9);
	machine_roof(&machine, "fp32", 3, &roof);
	assert_true(isnan(roof.peak_flops) && isnan(roof.memory_bytes) && isnan(roof_ridge(&roof)));
	machine_fini(&machine);
}

static void without_a_home_there_is_still_a_path(void **state)
{
	(void)state;
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "/nowhere", 1);
	char *path = machine_cache_path("0123456789abcdef");
	assert_string_equal(path, "/nowhere/.cache/pitot/machine-0123456789abcdef");
	free(path);
	unsetenv("HOME");
	path = machine_cache_path("0123456789abcdef");
	assert_true(path[0] == '/');
	free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(what_is_stored_comes_back_the_same),
	TEST(a_machine_that_was_never_measured_is_not_an_error_of_the_file),
	TEST(a_file_of_another_machine_is_refused),
	TEST(every_shorter_file_and_every_flipped_bit_is_found),
	TEST(lines_that_make_no_sense_are_refused_though_the_sum_is_right),
	TEST(roofs_are_the_best_of_what_was_measured),
	TEST(without_a_home_there_is_still_a_path),
};

UNIT_MAIN(tests)
