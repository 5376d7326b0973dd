/* test_export_callgrind.c - the callgrind format: exact text, and sums as its readers make them. */
#include "export_case.h"
#include "unit.h"

#include <inttypes.h>

static char *callgrind(struct profile_data *profile)
{
	return export_case_text(profile, "callgrind", (struct code_select){0}, NULL);
}

static void names_are_written_once_and_calls_carry_inclusive_cost(void **state)
{
	(void)state;
	struct profile_data *profile = export_one_sample();
	profile->samples.items[0].stack_id = STACK_TRAIN;
	char *text = callgrind(profile), *body = strstr(text, "positions:");
	assert_true(strncmp(text, "# callgrind format\nversion: 1\ncreator: pitot ", 44) == 0);
	assert_string_equal(body, "positions: line\nevents: Nanoseconds Samples\nsummary: 10000000 1\n"
				  "\nob=(1) /usr/bin/python3.11\nfl=(1) /usr/bin/python3.11\nfn=(1) main\n"
				  "cob=(2) ???\ncfi=(2) /data/train.py\ncfn=(2) <module>:1\ncalls=1 1\n0 10000000 1\n"
				  "\nob=(2)\nfl=(2)\nfn=(2)\ncob=(2)\ncfi=(2)\ncfn=(3) train:3\ncalls=1 3\n"
				  "12 10000000 1\n"
				  "\nob=(2)\nfl=(2)\nfn=(3)\n5 10000000 1\n"
				  "\nob=(2)\nfl=(3) ???\nfn=(4) [all]\ncob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 0\n"
				  "0 10000000 1\n");
	free(text);
}

/* Adds up as callgrind_annotate does: a function that is called has the cost of the calls to it. */
struct sums {
	uint64_t self_ns, called_ns[4];
};

/* Function numbers are those of the name compression. */
static void add_up(const char *text, const char *const *names, struct sums *out)
{
	char *copy = mem_strdup(text), *rest = copy, *line;
	int callee = -1, numbers[4] = {-1, -1, -1, -1};
	bool is_call = false;
	*out = (struct sums){0};
	while ((line = strsep(&rest, "\n"))) {
		int number, at, position;
		uint64_t ns;
		if ((sscanf(line, "fn=(%d) %n", &number, &at) == 1 || sscanf(line, "cfn=(%d) %n", &number, &at) == 1)) {
			for (int i = 0; i < 4 && names[i]; i++)
				numbers[i] = strcmp(line + at, names[i]) == 0 ? number : numbers[i];
			callee = line[0] == 'c' ? number : callee;
		} else if (str_starts(line, "calls=")) {
			is_call = true;
		} else if (sscanf(line, "%d %" SCNu64, &position, &ns) == 2) {
			out->self_ns += is_call ? 0 : ns;
			for (int i = 0; i < 4 && is_call; i++)
				out->called_ns[i] += numbers[i] == callee ? ns : 0;
			is_call = false;
		}
	}
	free(copy);
}

static void self_costs_add_up_to_the_profile(void **state)
{
	(void)state;
	struct sums sums;
	char *text = callgrind(sample_profile_new());
	add_up(text, (const char *const[]){"main", "train:3", "compare", "[no stack]"}, &sums);
	assert_non_null(strstr(text, "\nsummary: 4000000000 400\n"));
	assert_int_equal(sums.self_ns, 4000000000);
	assert_int_equal(sums.called_ns[0], 2880000000); /* two functions, one name: 1.99 s and 0.89 s */
	assert_int_equal(sums.called_ns[1], 1500000000);
	assert_int_equal(sums.called_ns[2], 990000000);
	assert_int_equal(sums.called_ns[3], 10000000);
	free(text);
}

static void recursion_counts_each_moment_once(void **state)
{
	(void)state;
	static const int depths[] = {2, 3, 60, 100000};
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct sums sums;
		char *text = callgrind(export_recursion(depths[i]));
		add_up(text, (const char *const[]){"train:3", "load:8", NULL}, &sums);
		assert_int_equal(sums.self_ns, 20000000);
		assert_int_equal(sums.called_ns[0], 20000000);
		assert_int_equal(sums.called_ns[1], 20000000);
		assert_true(strlen(text) < 1000);
		free(text);
	}
}

static void a_function_that_calls_itself_costs_no_more_than_it_took(void **state)
{
	(void)state;
	struct profile_data *profile = export_without_stacks();
	struct sums sums;
	int stack = 0;
	for (int i = 0; i < 10; i++) {
		stack = export_push_stack(profile, stack, FRAME_TRAIN);
		sample_profile_add(profile, 1, i + 1, 1, stack, 0, 0);
	}
	char *text = callgrind(profile);
	add_up(text, (const char *const[]){"train:3", NULL}, &sums);
	assert_int_equal(sums.self_ns, 100000000);
	assert_int_equal(sums.called_ns[0], 100000000);
	free(text);
}

static void bad_names_make_no_lines_of_their_own(void **state)
{
	(void)state;
	struct sums sums;
	char *text = callgrind(export_hostile());
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at >= 0x20 || *at == '\n');
	add_up(text, (const char *const[]){NULL}, &sums);
	assert_int_equal(sums.self_ns, 4000000000);
	free(text);
}

static void no_samples_give_a_head_and_no_costs(void **state)
{
	(void)state;
	char *text = callgrind(export_no_samples());
	assert_true(str_ends(text, "\nsummary: 0 0\n"));
	free(text);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(names_are_written_once_and_calls_carry_inclusive_cost),
	cmocka_unit_test(self_costs_add_up_to_the_profile),
	cmocka_unit_test(recursion_counts_each_moment_once),
	cmocka_unit_test(a_function_that_calls_itself_costs_no_more_than_it_took),
	cmocka_unit_test(bad_names_make_no_lines_of_their_own),
	cmocka_unit_test(no_samples_give_a_head_and_no_costs),
};

UNIT_MAIN(tests)
