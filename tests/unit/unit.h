/*
 * unit.h - what every unit test includes: cmocka, the headers that it wants before it, and a main.
 *
 *	static const struct CMUnitTest tests[] = {cmocka_unit_test(a_claim), …};
 *	UNIT_MAIN(tests)
 *
 * The program then runs all tests, or the one that is named, or lists them with --list; that is how tools/run_unit
 * gives each test a process of its own.
 */
#ifndef PITOT_TESTS_UNIT_H
#define PITOT_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line of --list: tells this main from one that would run the tests whatever its arguments. */
#define UNIT_LIST_HEAD "unit-tests 1"

#define UNIT_MAIN(tests) UNIT_MAIN_GROUP(tests, NULL, NULL)

/* `setup` and `teardown` surround the whole group. */
#define UNIT_MAIN_GROUP(tests, setup, teardown)                                                                        \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		if (!unit_choose(argc, argv, tests, sizeof(tests) / sizeof((tests)[0])))                               \
			return 0;                                                                                      \
		return cmocka_run_group_tests(tests, setup, teardown);                                                 \
	}

/* False where the tests were only listed. */
static inline int unit_choose(int argc, char **argv, const struct CMUnitTest *tests, size_t count)
{
	if (argc < 2)
		return 1;
	if (strcmp(argv[1], "--list") != 0) {
		cmocka_set_test_filter(argv[1]);
		return 1;
	}
	puts(UNIT_LIST_HEAD);
	for (size_t i = 0; i < count; i++)
		puts(tests[i].name);
	return 0;
}

#endif
