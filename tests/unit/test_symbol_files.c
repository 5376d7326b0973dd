/* test_symbol_files.c - which file an object's names come from: itself, a debug file, or none, and what is said of it. */
#include "symbol_case.h"

static const char source[] = MARK_TEXT "volatile int sink;\n"
				       "__attribute__((noinline)) static int hidden(int x)\n"
				       "{\n"
				       "	MARK;\n" /* 5 */
				       "	return x * sink;\n"
				       "}\n"
				       "__attribute__((visibility(\"default\"))) int visible(int x)\n"
				       "{\n"
				       "	MARK;\n" /* 10 */
				       "	return hidden(x + sink) + 1;\n"
				       "}\n"
				       "int main(int argc, char **argv)\n"
				       "{\n"
				       "	(void)argv;\n"
				       "	return visible(argc);\n"
				       "}\n";

/* A library whose debug information is in lib.debug, and that has neither it nor local symbols itself. */
static struct case_file make_split(const char *flags)
{
	unsetenv("PITOT_DEBUG_DIR");
	assert_int_equal(case_run("rm -rf ./* .debug"), 0);
	case_write("lib.c", source);
	struct case_file file = case_compile("gcc", flags, "lib.c", "lib.so");
	assert_int_equal(file.mark_count, 2);
	assert_int_equal(case_run("objcopy --only-keep-debug lib.so lib.debug && strip -s lib.so"), 0);
	return file;
}

static const char flags_id[] = "-O2 -g -fPIC -shared -Wl,--build-id";
static const char flags_no_id[] = "-O2 -g -fPIC -shared -Wl,--build-id=none";

/* Which of the two marks is in the function that has no exported symbol. */
static struct case_answer ask_hidden(const struct case_file *file, const char *name)
{
	struct case_answer answer = case_ask(file, file->marks[0], true);
	if (name && strcmp(answer.frames[0].function, name) != 0) {
		symbol_table_free(answer.table);
		answer = case_ask(file, file->marks[1], true);
	}
	return answer;
}

static void expect_lines(const struct case_file *file, const char *note)
{
	struct case_answer answer = ask_hidden(file, "hidden");
	CASE_CHECK(&answer, {"hidden", "lib.c", 5, 3});
	if (note)
		assert_non_null(strstr(symbol_note(answer.object), note));
	else
		assert_null(symbol_note(answer.object));
	symbol_table_free(answer.table);
}

/* Only the exported function has a name; the other is one entry whatever the address in it. */
static void expect_stripped(const struct case_file *file, const char *note)
{
	struct case_answer visible = ask_hidden(file, "visible");
	CASE_CHECK(&visible, {"visible", NULL, 0, 0});
	assert_string_equal(symbol_note(visible.object), note);
	symbol_table_free(visible.table);
	struct symbol_table *table = symbol_table_new();
	struct symbol_object *object = symbol_add(table, file->path, file->build_id, file->build_id_bytes);
	uint64_t marks[] = {file->marks[0], file->marks[0] + 1, file->marks[1], file->marks[1] + 1};
	for (size_t i = 0; i < 4; i++)
		symbol_want(object, marks[i], true);
	symbol_resolve(table, 0, NULL, NULL);
	const char *names[4];
	for (size_t i = 0; i < 4; i++) {
		const struct symbol_frame *frames;
		assert_int_equal(symbol_get(object, marks[i], true, &frames), 1);
		names[i] = frames[0].function;
	}
	const char *const *nameless = strcmp(names[0], "visible") == 0 ? names + 2 : names;
	assert_true(str_starts(nameless[0], "[lib.so+0x"));
	assert_string_equal(nameless[0], nameless[1]);
	symbol_table_free(table);
}

static void a_stripped_library_has_its_exported_names(void **state)
{
	(void)state;
	struct case_file file = make_split(flags_id);
	expect_stripped(&file, "stripped, no debug file");
}

static void symbols_without_debug_information_are_functions_without_lines(void **state)
{
	(void)state;
	case_write("lib.c", source);
	struct case_file file = case_compile("gcc", "-O2 -fPIC -shared", "lib.c", "lib.so");
	struct case_answer answer = ask_hidden(&file, "hidden");
	CASE_CHECK(&answer, {"hidden", NULL, 0, 0});
	assert_string_equal(symbol_note(answer.object), "no debug information: functions without lines");
	symbol_table_free(answer.table);
}

static void a_debug_file_is_found_by_its_link(void **state)
{
	(void)state;
	const char *const flags[] = {flags_id, flags_no_id};
	for (size_t i = 0; i < 2; i++) {
		struct case_file file = make_split(flags[i]);
		assert_int_equal(case_run("objcopy --add-gnu-debuglink=lib.debug lib.so"), 0);
		expect_lines(&file, NULL);
		assert_int_equal(case_run("mkdir .debug && mv lib.debug .debug"), 0);
		expect_lines(&file, NULL);
		/* In the tree below the debug folder, and flat in it. */
		assert_int_equal(case_run("mkdir -p \"d$(pwd)\" && mv .debug/lib.debug \"d$(pwd)\""), 0);
		setenv("PITOT_DEBUG_DIR", "d", 1);
		expect_lines(&file, NULL);
		assert_int_equal(case_run("mv \"d$(pwd)/lib.debug\" d"), 0);
		expect_lines(&file, NULL);
	}
}

static void a_debug_file_is_found_by_build_id(void **state)
{
	(void)state;
	struct case_file file = make_split(flags_id);
	struct str path = {0};
	str_appendf(&path, "%s/d/.build-id/%02x", case_folder, file.build_id[0]);
	assert_int_equal(case_run("mkdir -p %s", path.text), 0);
	str_append(&path, "/");
	for (size_t i = 1; i < file.build_id_bytes; i++)
		str_appendf(&path, "%02x", file.build_id[i]);
	assert_int_equal(case_run("mv lib.debug %s.debug", path.text), 0);
	expect_stripped(&file, "stripped, no debug file");
	setenv("PITOT_DEBUG_DIR", "d", 1);
	expect_lines(&file, NULL);
	/* The library may be gone, or another one by now. */
	assert_int_equal(case_run("cp /bin/true lib.so"), 0);
	expect_lines(&file, "debug file");
	assert_int_equal(unlink("lib.so"), 0);
	expect_lines(&file, "debug file");
	/* A file under that name with another build-id is none. */
	assert_int_equal(case_run("cp /bin/true %s.debug", path.text), 0);
	struct case_answer answer = case_ask(&file, file.marks[0], true);
	assert_true(str_starts(answer.frames[0].function, "[lib.so+0x"));
	assert_string_equal(symbol_note(answer.object), "the file is gone, no debug file");
	symbol_table_free(answer.table);
	str_fini(&path);
}

static void a_debug_file_of_another_build_is_not_used(void **state)
{
	(void)state;
	const char *const flags[] = {flags_id, flags_no_id};
	for (size_t i = 0; i < 2; i++) {
		struct case_file file = make_split(flags[i]);
		assert_int_equal(case_run("objcopy --add-gnu-debuglink=lib.debug lib.so && printf x >> lib.debug"), 0);
		if (file.build_id_bytes)
			assert_int_equal(case_run("cp /bin/true lib.debug"), 0);
		expect_stripped(&file, "stripped, no debug file");
	}
}

static void a_changed_file_is_not_used(void **state)
{
	(void)state;
	case_write("lib.c", source);
	struct case_file file = case_compile("gcc", flags_id, "lib.c", "lib.so");
	struct case_file other =
		case_compile("gcc", "-O1 -g -fPIC -shared -Wl,--build-id -DOTHER", "lib.c", "other.so");
	assert_memory_not_equal(file.build_id, other.build_id, file.build_id_bytes);
	assert_int_equal(rename("other.so", "lib.so"), 0);
	struct case_answer answer = case_ask(&file, file.marks[0], true);
	char *name = mem_printf("[lib.so+0x%llx]", (unsigned long long)file.marks[0]);
	assert_int_equal(answer.count, 1);
	assert_string_equal(answer.frames[0].function, name);
	assert_string_equal(symbol_note(answer.object), "the file is not the one that ran, no debug file");
	free(name);
	symbol_table_free(answer.table);
}

static void common_debug_files_are_found_by_build_id(void **state)
{
	(void)state;
	case_need("dwz");
	struct case_file file = make_split("-O2 -gdwarf-4 -fPIC -shared -Wl,--build-id -include stdio.h "
					   "-fno-eliminate-unused-debug-types");
	assert_int_equal(case_run("cp lib.debug more.debug && dwz -m common.debug lib.debug more.debug 2>/dev/null"),
			 0);
	assert_int_equal(case_run("objdump -h lib.debug | grep -q gnu_debugaltlink"), 0);
	assert_int_equal(case_run("objcopy --add-gnu-debuglink=lib.debug lib.so"), 0);
	expect_lines(&file, NULL);
	struct case_file common = case_open("common.debug");
	struct str path = {0};
	for (size_t i = 1; i < common.build_id_bytes; i++)
		str_appendf(&path, "%02x", common.build_id[i]);
	assert_int_equal(case_run("mkdir -p d/.build-id/%02x && mv common.debug d/.build-id/%02x/%s.debug",
				  common.build_id[0], common.build_id[0], path.text),
			 0);
	setenv("PITOT_DEBUG_DIR", "d", 1);
	expect_lines(&file, NULL);
	str_fini(&path);
}

/* Some distributions leave the local functions' names in the object, packed. */
static void packed_symbols_are_read(void **state)
{
	(void)state;
	case_need("xz");
	struct case_file file = make_split(flags_id);
	assert_int_equal(case_run("objcopy -S --keep-symbol=hidden lib.debug mini && xz mini && "
				  "objcopy --add-section .gnu_debugdata=mini.xz lib.so"),
			 0);
	struct case_answer answer = ask_hidden(&file, "hidden");
	CASE_CHECK(&answer, {"hidden", NULL, 0, 0});
	symbol_table_free(answer.table);
	answer = ask_hidden(&file, "visible");
	CASE_CHECK(&answer, {"visible", NULL, 0, 0});
	symbol_table_free(answer.table);
}

static void the_names_of_sources_are_short_but_lead_to_the_file(void **state)
{
	(void)state;
	unsetenv("PITOT_DEBUG_DIR");
	assert_int_equal(case_run("rm -rf ./* && mkdir -p src deep/er/out && ln -s deep/er link && mkdir deep/src"), 0);
	case_write("src/lib.c", source);
	assert_int_equal(
		case_run("cd deep/er/out && gcc -O2 -g -fPIC -shared .././../../src//lib.c -o ../../../lib.so"), 0);
	struct case_file file = case_open("lib.so");
	struct case_answer answer = ask_hidden(&file, "hidden");
	char *wanted = mem_printf("%s/src/lib.c", case_folder);
	assert_string_equal(answer.frames[0].file, wanted);
	symbol_table_free(answer.table);
	free(wanted);
	/* "link/.." is deep, not this folder. */
	assert_int_equal(
		case_run("mv src/lib.c deep/src && gcc -O2 -g -fPIC -shared \"$(pwd)/link/../src/lib.c\" -o lib.so"),
		0);
	file = case_open("lib.so");
	answer = ask_hidden(&file, "hidden");
	assert_int_equal(access(answer.frames[0].file, R_OK), 0);
	symbol_table_free(answer.table);
}

static void a_linkers_alias_does_not_hide_the_name(void **state)
{
	(void)state;
	case_write("alias.c",
		   MARK_TEXT "int named(int x) __asm__(\"__GI_named\");\nint named(int x) { MARK; return x * 3; }\n");
	struct case_file file = case_compile("gcc", "-O2 -g -fPIC -shared", "alias.c", "alias.so");
	struct case_answer answer = case_ask(&file, file.marks[0], true);
	CASE_CHECK(&answer, {"named", "alias.c", 3, 3});
	symbol_table_free(answer.table);
}

static void stubs_are_named_after_what_they_call(void **state)
{
	(void)state;
	case_write("stub.c",
		   "#include <stdlib.h>\n#include <unistd.h>\nint main(int c, char **v) { (void)v; return rand() + "
		   "getpid() + c; }\n");
	const char *const flags[] = {"-O2", "-O2 -fcf-protection=none", "-O2 -Wl,-z,now", "-O2 -no-pie -s"};
	for (size_t i = 0; i < 4; i++) {
		struct case_file file = case_compile("gcc", flags[i], "stub.c", "stub");
		struct symbol_table *table = symbol_table_new();
		struct symbol_object *object = symbol_add(table, file.path, NULL, 0);
		/* The stubs lie in the page before or at the beginning of the text. */
		uint64_t from = file.text & ~(uint64_t)0xFFF;
		for (uint64_t at = from; at < file.text; at++)
			symbol_want(object, at, true);
		symbol_resolve(table, 0, NULL, NULL);
		int seen_rand = 0, seen_getpid = 0;
		for (uint64_t at = from; at < file.text; at++) {
			const struct symbol_frame *frames;
			assert_int_equal(symbol_get(object, at, true, &frames), 1);
			seen_rand += strcmp(frames[0].function, "rand@plt") == 0;
			seen_getpid += strcmp(frames[0].function, "getpid@plt") == 0;
		}
		assert_int_equal(seen_rand, 16);
		assert_int_equal(seen_getpid, 16);
		symbol_table_free(table);
	}
}

static void garbage_is_answered_with_the_address(void **state)
{
	(void)state;
	case_write("lib.c", source);
	struct case_file file = case_compile("gcc", flags_id, "lib.c", "whole.so");
	char *bytes = NULL;
	size_t size = 0;
	assert_int_equal(file_read("whole.so", 1 << 20, &bytes, &size, NULL), 0);
	srand(3);
	for (int round = 0; round < 300; round++) {
		char *copy = mem_alloc(size);
		memcpy(copy, bytes, size);
		size_t kept = round % 3 ? size : (size_t)rand() % size;
		for (int i = 0; i < (round % 3 ? 200 : 0); i++)
			copy[64 + (size_t)rand() % (size - 64)] = (char)rand();
		assert_int_equal(file_write_atomic("damaged.so", copy, kept, NULL), 0);
		free(copy);
		struct case_file damaged = {.path = "damaged.so"};
		struct case_answer answer = case_ask(&damaged, file.marks[0], true);
		assert_true(answer.count >= 1 && answer.frames[0].function[0]);
		symbol_table_free(answer.table);
	}
	free(bytes);
	const char *const none[] = {"/nonexistent/x.so", "/dev/null", "/tmp", "", "//anon", "relative"};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct case_file nothing = {0};
		snprintf(nothing.path, sizeof(nothing.path), "%s", none[i]);
		struct case_answer answer = case_ask(&nothing, 0x1234, true);
		assert_int_equal(answer.count, 1);
		assert_non_null(strstr(answer.frames[0].function, "+0x1234]"));
		assert_non_null(symbol_note(answer.object));
		symbol_table_free(answer.table);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_stripped_library_has_its_exported_names),
	cmocka_unit_test(symbols_without_debug_information_are_functions_without_lines),
	cmocka_unit_test(a_debug_file_is_found_by_its_link),
	cmocka_unit_test(a_debug_file_is_found_by_build_id),
	cmocka_unit_test(a_debug_file_of_another_build_is_not_used),
	cmocka_unit_test(a_changed_file_is_not_used),
	cmocka_unit_test(common_debug_files_are_found_by_build_id),
	cmocka_unit_test(packed_symbols_are_read),
	cmocka_unit_test(the_names_of_sources_are_short_but_lead_to_the_file),
	cmocka_unit_test(a_linkers_alias_does_not_hide_the_name),
	cmocka_unit_test(stubs_are_named_after_what_they_call),
	cmocka_unit_test(garbage_is_answered_with_the_address),
};

UNIT_MAIN_GROUP(tests, case_setup, case_teardown)
