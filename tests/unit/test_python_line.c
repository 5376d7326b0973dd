/*
 * test_python_line.c - lines of instructions, against what the interpreters themselves say.
 *
 * Each CPython that is found compiles a part of its own standard library and prints, for every code object, its table and
 * the line of every instruction as PyCode_Addr2Line gives it.
 */
#include "base/mem.h"
#include "base/str.h"
#include "symbol/python_line.h"
#include "unit.h"

#include <glob.h>

static const char dump[] = "import sys, os, types, ctypes\n"
			   "line_of = ctypes.pythonapi.PyCode_Addr2Line\n"
			   "line_of.argtypes = [ctypes.py_object, ctypes.c_int]\n"
			   "def walk(code):\n"
			   "    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab\n"
			   "    lines = [max(line_of(code, at), 0) for at in range(0, len(code.co_code), 2)]\n"
			   "    print(code.co_firstlineno, len(lines), table.hex() or '-', *lines)\n"
			   "    for constant in code.co_consts:\n"
			   "        if isinstance(constant, types.CodeType):\n"
			   "            walk(constant)\n"
			   "print(hex(sys.hexversion))\n"
			   "folder = os.path.dirname(os.__file__)\n"
			   "for name in sorted(os.listdir(folder))[:60]:\n"
			   "    if name.endswith('.py'):\n"
			   "        text = open(os.path.join(folder, name), encoding='utf-8').read()\n"
			   "        walk(compile(text, name, 'exec'))\n"
			   "walk(compile('x = (\\n' + '\\n' * 70000 + ' 1 +\\n y)\\n' + 'def f():\\n' + ' a\\n' * 9 + "
			   "'\\n' * 300 + ' b\\n', 'far', "
			   "'exec'))\n"
			   "walk(compile('with a:\\n b\\n' * 3 + 'try:\\n a\\nfinally:\\n b\\n', 'none', 'exec'))\n";

static size_t unhex(const char *text, uint8_t **out)
{
	size_t bytes = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
	*out = mem_alloc(bytes + 1);
	for (size_t i = 0; i < bytes; i++) {
		char pair[] = {text[2 * i], text[2 * i + 1], '\0'};
		(*out)[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return bytes;
}

/* One line of the dump: how many instructions it had. All must agree. */
static size_t check_code(uint32_t version, char *line)
{
	char *save = NULL;
	int first = atoi(strtok_r(line, " \n", &save));
	size_t count = strtoul(strtok_r(NULL, " \n", &save), NULL, 10);
	uint8_t *table;
	size_t bytes = unhex(strtok_r(NULL, " \n", &save), &table);
	for (size_t i = 0; i < count; i++) {
		int truth = atoi(strtok_r(NULL, " \n", &save));
		assert_int_equal(python_line_at(version, table, bytes, first, (uint32_t)i * 2), truth);
	}
	free(table);
	return count;
}

static size_t check_interpreter(const char *path)
{
	char *script = mem_strdup(dump);
	char *command =
		mem_printf("env -u PYTHONHOME -u PYTHONPATH '%s' -W ignore -c \"$PITOT_TEST_SCRIPT\" 2>&1", path);
	setenv("PITOT_TEST_SCRIPT", script, 1);
	FILE *output = popen(command, "r");
	assert_non_null(output);
	char *line = NULL;
	size_t room = 0, checked = 0;
	uint32_t version = getline(&line, &room, output) > 0 ? (uint32_t)strtoul(line, NULL, 16) : 0;
	while (version >> 24 == 3 && getline(&line, &room, output) > 0)
		checked += check_code(version, line);
	int status = pclose(output);
	if (status == 0)
		printf("%s: %zu instructions\n", path, checked);
	else
		printf("%s: cannot be used: %s", path, line ? line : "\n");
	free(line);
	free(command);
	free(script);
	return status == 0 ? checked : 0;
}

static void every_instruction_has_the_line_that_the_interpreter_says(void **state)
{
	(void)state;
	const char *home = getenv("HOME");
	char *pattern = mem_printf("%s/.pyenv/versions/3.*/bin/python3", home ? home : "");
	glob_t found;
	glob(pattern, 0, NULL, &found);
	if (access("/usr/bin/python3", X_OK) == 0)
		glob("/usr/bin/python3", GLOB_APPEND, NULL, &found);
	size_t checked = 0;
	for (size_t i = 0; i < found.gl_pathc; i++)
		checked += check_interpreter(found.gl_pathv[i]);
	globfree(&found);
	free(pattern);
	if (!checked) {
		printf("skip: no CPython with ctypes was found\n");
		skip();
	}
	assert_true(checked > 10000);
}

static void lnotab_lines_change_after_the_bytes(void **state)
{
	(void)state;
	/* Line 10 for 4 bytes, then 12, then -1 from offset 10 on. */
	const uint8_t table[] = {4, 2, 6, 0xFF};
	const int lines[] = {10, 10, 12, 12, 12, 11, 11};
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(python_line_at(0x03090000, table, sizeof(table), 10, i * 2), lines[i]);
}

static void a_range_without_a_line_is_zero(void **state)
{
	(void)state;
	const uint8_t table_310[] = {4, 1, 4, 0x80, 2, 1};
	assert_int_equal(python_line_at(0x030A0000, table_310, sizeof(table_310), 7, 0), 8);
	assert_int_equal(python_line_at(0x030A0000, table_310, sizeof(table_310), 7, 4), 0);
	assert_int_equal(python_line_at(0x030A0000, table_310, sizeof(table_310), 7, 8), 9);
	assert_int_equal(python_line_at(0x030A0000, table_310, sizeof(table_310), 7, 10), 0); /* past the end */
	/* One line further for 2 units with columns; none for 1 unit; no columns, two lines back, for 1 unit. */
	const uint8_t table_311[] = {0x80 | 11 << 3 | 1, 4, 8, 0x80 | 15 << 3, 0x80 | 13 << 3, 5};
	assert_int_equal(python_line_at(0x030B0000, table_311, sizeof(table_311), 7, 2), 8);
	assert_int_equal(python_line_at(0x030B0000, table_311, sizeof(table_311), 7, 4), 0);
	assert_int_equal(python_line_at(0x030D0000, table_311, sizeof(table_311), 7, 6), 6);
	assert_int_equal(python_line_at(0x030D0000, table_311, sizeof(table_311), 7, 8), 0);
}

static void damaged_tables_give_no_line_or_a_wrong_one_but_no_harm(void **state)
{
	(void)state;
	assert_int_equal(python_line_at(0x030B0000, NULL, 0, 1, 0), 0);
	assert_int_equal(python_line_at(0x02070000, (const uint8_t *)"\2\1", 2, 1, 0), 0);
	const uint8_t endless[] = {0xF0, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F};
	for (size_t bytes = 0; bytes <= sizeof(endless); bytes++)
		assert_int_equal(python_line_at(0x030C0000, endless, bytes, 1, 0), 0);
	const uint8_t back[] = {2, 0x81, 2, 0x81, 2, 0x81};
	assert_int_equal(python_line_at(0x03080000, back, sizeof(back), 1, 100), 0);
	assert_int_equal(python_line_at(0x030A0000, back, sizeof(back), 1, 0), 0);
	assert_int_equal(python_line_at(0x03080000, (const uint8_t *)"\0\177", 2, 0x7FFFFFFF, 0), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_instruction_has_the_line_that_the_interpreter_says),
	cmocka_unit_test(lnotab_lines_change_after_the_bytes),
	cmocka_unit_test(a_range_without_a_line_is_zero),
	cmocka_unit_test(damaged_tables_give_no_line_or_a_wrong_one_but_no_harm),
};

UNIT_MAIN(tests)
