/* test_base_opt.c - options as data: every kind, every way to write it, every way to get it wrong. */
#include "base/opt.h"
#include "unit.h"

struct settings {
	bool flag, kept;
	const char *text, *maybe, *choice;
	int64_t integer;
	double number;
	uint64_t duration_ns;
	struct opt_texts list;
};

#define AT(field) offsetof(struct settings, field)

static const struct opt options[] = {
	{"flag", 'f', OPT_FLAG, AT(flag), NULL, "a flag"},
	{"no-kept", 0, OPT_NEGATED, AT(kept), NULL, "not kept"},
	{"text", 't', OPT_TEXT, AT(text), "WORD", "a text"},
	{"maybe", 'm', OPT_MAYBE, AT(maybe), "HZ", "a text that may be left out"},
	{"integer", 'i', OPT_INTEGER, AT(integer), "N", "a whole number"},
	{"number", 0, OPT_NUMBER, AT(number), "X", "a number"},
	{"duration", 0, OPT_DURATION, AT(duration_ns), "TIME", "a duration"},
	{"choice", 'c', OPT_CHOICE, AT(choice), "term|md|json", "a choice"},
	{"list", 'l', OPT_LIST, AT(list), "NAME", "as often as wanted"},
	{0},
};

struct parsed {
	struct settings settings;
	struct opt_texts rest;
	size_t dashes;
	struct err err;
	int code;
};

enum { MOST_WORDS = 16 };

static struct parsed parse_with(struct opt_parser parser, const char *const *words)
{
	struct parsed parsed = {.settings.kept = true};
	int count = 0;
	while (words[count])
		count++;
	char *argv[MOST_WORDS + 1] = {0};
	assert_true(count <= MOST_WORDS);
	memcpy(argv, words, (size_t)count * sizeof(argv[0]));
	parser.options = options;
	parser.into = &parsed.settings;
	parsed.code = opt_parse(&parser, count, argv, &parsed.rest, &parsed.dashes, &parsed.err);
	return parsed;
}

#define PARSE(...) parse_with((struct opt_parser){0}, (const char *const[]){__VA_ARGS__, NULL})

static void finish(struct parsed *parsed)
{
	vec_fini(&parsed->rest);
	vec_fini(&parsed->settings.list);
}

static void assert_refused(struct parsed parsed, const char *words)
{
	assert_int_equal(parsed.code, ERR_USAGE);
	assert_string_equal(parsed.err.text, words);
	finish(&parsed);
}

static void long_options_fill_every_kind(void **state)
{
	(void)state;
	struct parsed p = PARSE("--flag", "--no-kept", "--text", "a", "--maybe=99", "--integer=-3", "--number", "2.5",
				"--duration=250ms", "--choice", "md", "--list", "x", "--list=y");
	assert_int_equal(p.code, 0);
	assert_true(p.settings.flag);
	assert_false(p.settings.kept);
	assert_string_equal(p.settings.text, "a");
	assert_string_equal(p.settings.maybe, "99");
	assert_int_equal(p.settings.integer, -3);
	assert_true(p.settings.number == 2.5);
	assert_int_equal(p.settings.duration_ns, 250000000);
	assert_string_equal(p.settings.choice, "md");
	assert_int_equal(p.settings.list.len, 2);
	assert_string_equal(p.settings.list.items[1], "y");
	finish(&p);
}

static void letters_can_be_bundled_and_carry_a_value(void **state)
{
	(void)state;
	struct parsed p = PARSE("-fi3", "-t", "word", "-ljoined");
	assert_int_equal(p.code, 0);
	assert_true(p.settings.flag);
	assert_int_equal(p.settings.integer, 3);
	assert_string_equal(p.settings.text, "word");
	assert_string_equal(p.settings.list.items[0], "joined");
	finish(&p);
}

static void an_optional_value_never_takes_the_next_word(void **state)
{
	(void)state;
	struct parsed p = PARSE("--maybe", "word");
	assert_string_equal(p.settings.maybe, "");
	assert_int_equal(p.rest.len, 1);
	finish(&p);
}

static void an_empty_value_is_a_value(void **state)
{
	(void)state;
	struct parsed p = PARSE("--text=");
	assert_int_equal(p.code, 0);
	assert_string_equal(p.settings.text, "");
	finish(&p);
}

static void words_after_two_dashes_are_left_alone(void **state)
{
	(void)state;
	struct parsed p = PARSE("one", "--", "--flag", "--", "-x");
	assert_int_equal(p.code, 0);
	assert_false(p.settings.flag);
	assert_int_equal(p.dashes, 1);
	assert_int_equal(p.rest.len, 4);
	assert_string_equal(p.rest.items[2], "--");
	finish(&p);
}

static void without_dashes_the_place_is_said_to_be_none(void **state)
{
	(void)state;
	struct parsed p = PARSE("one", "-", "two");
	assert_true(p.dashes == SIZE_MAX);
	assert_int_equal(p.rest.len, 3);
	finish(&p);
}

static void parsing_can_stop_at_the_first_word(void **state)
{
	(void)state;
	struct parsed p = parse_with((struct opt_parser){.stop_at_word = true},
				     (const char *const[]){"--flag", "run", "--nonsense", NULL});
	assert_int_equal(p.code, 0);
	assert_int_equal(p.rest.len, 2);
	assert_string_equal(p.rest.items[1], "--nonsense");
	finish(&p);
}

static void wrong_values_are_refused_with_words(void **state)
{
	(void)state;
	assert_refused(PARSE("--integer", "1.5"), "--integer: '1.5' is not a whole number");
	assert_refused(PARSE("--number=abc"), "--number: 'abc' is not a number");
	assert_refused(PARSE("--duration", "soon"),
		       "--duration: 'soon' is not a duration (write 250ms, 1.5s, 2m or 1h)");
	assert_refused(PARSE("--choice", "m"), "--choice: 'm' is not one of term|md|json");
	assert_refused(PARSE("--choice="), "--choice: '' is not one of term|md|json");
	assert_refused(PARSE("--flag=yes"), "--flag takes no value");
	assert_refused(PARSE("--text"), "--text needs a value: WORD");
	assert_refused(PARSE("-ft"), "-t needs a value: WORD");
	assert_refused(PARSE("-fz"), "unknown option -z");
}

static void unknown_options_get_a_suggestion_where_one_is_close(void **state)
{
	(void)state;
	assert_refused(PARSE("--duratoin=1"), "unknown option --duratoin; did you mean --duration?");
	assert_refused(PARSE("--hepl"), "unknown option --hepl; did you mean --help?");
	assert_refused(PARSE("--banana"), "unknown option --banana");
}

static void options_may_not_be_shortened(void **state)
{
	(void)state;
	struct parsed p = PARSE("--inte", "3");
	assert_int_equal(p.code, ERR_USAGE);
	assert_int_equal(p.settings.integer, 0);
	finish(&p);
}

static int keep_epochs(void *context, const char *name, const char *value, const char *next, bool *took_next)
{
	if (strcmp(name, "epochs") != 0)
		return ERR_USAGE;
	*took_next = !value;
	*(const char **)context = value ? value : next;
	return 0;
}

static void a_command_can_take_options_of_its_own_making(void **state)
{
	(void)state;
	const char *epochs = NULL;
	struct opt_parser parser = {.unknown = keep_epochs, .unknown_context = &epochs};
	struct parsed p = parse_with(parser, (const char *const[]){"--epochs", "10", "rest", NULL});
	assert_int_equal(p.code, 0);
	assert_string_equal(epochs, "10");
	assert_int_equal(p.rest.len, 1);
	finish(&p);
	p = parse_with(parser, (const char *const[]){"--epochs=20", NULL});
	assert_string_equal(epochs, "20");
	finish(&p);
	assert_refused(parse_with(parser, (const char *const[]){"--banana", NULL}), "unknown option --banana");
}

static void the_description_has_a_line_for_each_option(void **state)
{
	(void)state;
	struct str out = {0};
	opt_describe(options, &out);
	assert_non_null(strstr(out.text, "  -f, --flag                      a flag\n"));
	assert_non_null(strstr(out.text, "      --no-kept                   not kept\n"));
	assert_non_null(strstr(out.text, "  -m, --maybe[=HZ]                a text"));
	assert_non_null(strstr(out.text, "  -c, --choice term|md|json       a choice\n"));
	size_t lines = 0;
	for (const char *at = out.text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, sizeof(options) / sizeof(options[0]) - 1);
	str_fini(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(long_options_fill_every_kind),
	cmocka_unit_test(letters_can_be_bundled_and_carry_a_value),
	cmocka_unit_test(an_optional_value_never_takes_the_next_word),
	cmocka_unit_test(an_empty_value_is_a_value),
	cmocka_unit_test(words_after_two_dashes_are_left_alone),
	cmocka_unit_test(without_dashes_the_place_is_said_to_be_none),
	cmocka_unit_test(parsing_can_stop_at_the_first_word),
	cmocka_unit_test(wrong_values_are_refused_with_words),
	cmocka_unit_test(unknown_options_get_a_suggestion_where_one_is_close),
	cmocka_unit_test(options_may_not_be_shortened),
	cmocka_unit_test(a_command_can_take_options_of_its_own_making),
	cmocka_unit_test(the_description_has_a_line_for_each_option),
};

UNIT_MAIN(tests)
