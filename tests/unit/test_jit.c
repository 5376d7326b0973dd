/* test_jit.c - names of code made at run time: perf maps, jitdump files, and what runtimes write as names. */
#include "base/mem.h"
#include "base/str.h"
#include "symbol/jit.h"
#include "unit.h"

#include <sys/stat.h>

static struct jit_map *parse(const char *text)
{
	struct jit_map *map = NULL;
	assert_int_equal(jit_map_parse(text, strlen(text), &map, NULL), 0);
	return map;
}

static void check_name(const struct jit_map *map, uint64_t address, const char *name)
{
	struct jit_symbol symbol;
	bool found = jit_map_find(map, address, &symbol);
	if (!name) {
		assert_false(found);
		return;
	}
	assert_true(found);
	assert_string_equal(symbol.name, name);
}

static void an_address_is_found_within_its_range_only(void **state)
{
	(void)state;
	struct jit_map *map = parse("1000 10 first\n0x2000 0x20 second name\n");
	check_name(map, 0xfff, NULL);
	check_name(map, 0x1000, "first");
	check_name(map, 0x100f, "first");
	check_name(map, 0x1010, NULL);
	check_name(map, 0x201f, "second name");
	check_name(map, 0x2020, NULL);
	check_name(map, UINT64_MAX, NULL);
	jit_map_free(map);
	jit_map_free(NULL);
}

static void the_last_definition_wins_where_ranges_overlap(void **state)
{
	(void)state;
	struct jit_map *map =
		parse("1000 100 outer\n1020 20 inner\n1030 10 innermost\n0f80 a0 before\n1080 200 after\n");
	check_name(map, 0xf80, "before");
	check_name(map, 0x101f, "before");
	check_name(map, 0x1020, "inner");
	check_name(map, 0x1030, "innermost");
	check_name(map, 0x1040, "outer");
	check_name(map, 0x1080, "after");
	check_name(map, 0x127f, "after");
	check_name(map, 0x1280, NULL);
	jit_map_free(map);
	map = parse("1000 10 small\n0800 1000 large\n");
	check_name(map, 0x1004, "large");
	jit_map_free(map);
}

/* Random overlapping ranges against the plain meaning of the words: the last line that covers an address. */
static void overlaps_agree_with_a_search_through_all_lines(void **state)
{
	(void)state;
	enum { ENTRIES = 300, SPACE = 2000 };
	unsigned starts[ENTRIES], sizes[ENTRIES];
	srand(7);
	for (int round = 0; round < 20; round++) {
		struct str text = {0};
		for (int i = 0; i < ENTRIES; i++) {
			starts[i] = (unsigned)rand() % SPACE;
			sizes[i] = 1 + (unsigned)rand() % (round % 2 ? 20 : 400);
			str_appendf(&text, "%x %x f%d\n", starts[i], sizes[i], i);
		}
		struct jit_map *map = parse(text.text);
		for (unsigned address = 0; address < SPACE + 500; address++) {
			int last = -1;
			for (int i = 0; i < ENTRIES; i++)
				if (address >= starts[i] && address < starts[i] + sizes[i])
					last = i;
			char *name = last < 0 ? NULL : mem_printf("f%d", last);
			check_name(map, address, name);
			free(name);
		}
		jit_map_free(map);
		str_fini(&text);
	}
}

static void names_of_runtimes_are_taken_apart(void **state)
{
	(void)state;
	static const struct {
		const char *text, *name, *file;
		int line;
		bool python;
	} cases[] = {
		{"py::JSONEncoder.__init__:/usr/lib/python3.12/json/encoder.py", "JSONEncoder.__init__",
		 "/usr/lib/python3.12/json/encoder.py", 0, true},
		{"py::f.<locals>.<lambda>:<string>", "f.<locals>.<lambda>", "<string>", 0, true},
		{"py::f:/odd:path/x.py", "f", "/odd:path/x.py", 0, true},
		{"py::f", "f", NULL, 0, true},
		{"JS:*hot /srv/n.js:1:13", "hot", "/srv/n.js", 1, false},
		{"JS:~get g /srv/my dir/n.js:2:60", "get g", "/srv/my dir/n.js", 2, false},
		{"JS:~ /srv/n.js:1:63", "(anonymous)", "/srv/n.js", 1, false},
		{"LazyCompile:*compile node:internal/modules/cjs/loader:1241:37", "compile",
		 "node:internal/modules/cjs/loader", 1241, false},
		{"Function:~run file:///srv/x.mjs:30:5", "run", "/srv/x.mjs", 30, false},
		{"LazyCompile:~main app.js:12", "main", "app.js", 12, false},
		{"LazyCompile:lonely", "lonely", NULL, 0, false},
		{"Builtin:ArrayMap", "Builtin:ArrayMap", NULL, 0, false},
		{"JS:*x /srv/n.js:99999999999:1", "x", "/srv/n.js:99999999999", 1, false},
		{"Lcom/example/Main;::run", "Lcom/example/Main;::run", NULL, 0, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = mem_printf("10 10 %s\n", cases[i].text);
		struct jit_map *map = parse(text);
		struct jit_symbol symbol;
		assert_true(jit_map_find(map, 0x10, &symbol));
		assert_string_equal(symbol.name, cases[i].name);
		if (cases[i].file)
			assert_string_equal(symbol.file, cases[i].file);
		else
			assert_null(symbol.file);
		assert_int_equal(symbol.line, cases[i].line);
		assert_int_equal(symbol.python, cases[i].python);
		jit_map_free(map);
		free(text);
	}
}

static void damaged_lines_are_passed_over(void **state)
{
	(void)state;
	struct jit_map *map = parse("\n \nzz 10 a\n10\n10 \n10 10\n10 10 \n10 0 empty\nffffffffffffffff 10 wraps\n"
				    "11111111111111111 10 long\n-5 10 minus\n20 10 good\xff\x01\n30 10 cut");
	check_name(map, 0x10, NULL);
	check_name(map, 0x20, "good\xEF\xBF\xBD\xEF\xBF\xBD");
	check_name(map, 0x30, "cut");
	check_name(map, UINT64_MAX, NULL);
	jit_map_free(map);
	map = parse("");
	check_name(map, 0, NULL);
	jit_map_free(map);
}

static void put(struct str *out, uint64_t value, size_t bytes)
{
	str_append_bytes(out, (const char *)&value, bytes);
}

static void put_text(struct str *out, const char *text)
{
	str_append_bytes(out, text, strlen(text) + 1);
}

static void put_record(struct str *out, uint32_t kind, struct str *body)
{
	put(out, kind, 4);
	put(out, 16 + body->len, 4);
	put(out, 0, 8);
	str_append_bytes(out, str_text(body), body->len);
	str_fini(body);
}

static void put_load(struct str *out, uint64_t address, uint64_t size, const char *name)
{
	struct str body = {0};
	put(&body, 0, 8);
	put(&body, address, 8);
	put(&body, address, 8);
	put(&body, size, 8);
	put(&body, 1, 8);
	put_text(&body, name);
	for (uint64_t i = 0; i < size; i++)
		put(&body, 0xCC, 1);
	put_record(out, 0, &body);
}

static struct str sample_dump(void)
{
	struct str dump = {0}, lines = {0}, move = {0};
	put(&dump, 0x4A695444, 4);
	put(&dump, 1, 4);
	put(&dump, 40, 4);
	put(&dump, 62, 4);
	put(&dump, 0, 8);
	put(&dump, 0, 8);
	put(&dump, 0, 8);
	put(&lines, 0x1000, 8);
	put(&lines, 2, 8);
	put(&lines, 0x1000, 8);
	put(&lines, 7, 4);
	put(&lines, 0, 4);
	put_text(&lines, "/srv/a.js");
	put(&lines, 0x1008, 8);
	put(&lines, 9, 4);
	put(&lines, 0, 4);
	put_text(&lines, "\xff");
	put_record(&dump, 2, &lines);
	put_load(&dump, 0x1000, 0x10, "JS:*hot /srv/a.js:5:1");
	put_load(&dump, 0x2000, 0x10, "stub");
	put(&move, 0, 8);
	put(&move, 0x3000, 8);
	put(&move, 0x2000, 8);
	put(&move, 0x3000, 8);
	put(&move, 0x10, 8);
	put(&move, 2, 8);
	put_record(&dump, 1, &move);
	return dump;
}

static void a_jitdump_gives_names_lines_and_moves(void **state)
{
	(void)state;
	struct str dump = sample_dump();
	struct jit_map *map = NULL;
	assert_int_equal(jit_dump_parse(dump.text, dump.len, &map, NULL), 0);
	struct jit_symbol symbol;
	assert_true(jit_map_find(map, 0x1004, &symbol));
	assert_string_equal(symbol.name, "hot");
	assert_string_equal(symbol.file, "/srv/a.js");
	assert_int_equal(symbol.line, 7);
	assert_true(jit_map_find(map, 0x100f, &symbol));
	assert_int_equal(symbol.line, 9);
	assert_string_equal(symbol.file, "/srv/a.js");
	check_name(map, 0x2000, "stub");
	check_name(map, 0x3008, "stub");
	jit_map_free(map);
	str_fini(&dump);
}

static void a_cut_or_foreign_jitdump_does_no_harm(void **state)
{
	(void)state;
	struct str dump = sample_dump();
	for (size_t cut = 0; cut < dump.len; cut++) {
		/* A copy of just that size, so that a checker sees a read past its end. */
		char *bytes = mem_alloc(cut + 1);
		memcpy(bytes, dump.text, cut);
		struct jit_map *map = NULL;
		struct err err = {0};
		if (jit_dump_parse(bytes, cut, &map, &err))
			assert_true(err.text[0] && !map);
		jit_map_free(map);
		free(bytes);
	}
	dump.text[0] ^= 1;
	struct jit_map *map = NULL;
	assert_int_equal(jit_dump_parse(dump.text, dump.len, &map, NULL), ERR_INPUT);
	str_fini(&dump);
}

static void write_map(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void only_a_plain_file_of_ours_is_read(void **state)
{
	(void)state;
	int pid = (int)getpid();
	char *path = mem_printf("/tmp/perf-%d.map", pid), *elsewhere = mem_printf("/tmp/perf-%d.elsewhere", pid);
	struct jit_map *map = NULL;
	struct err err = {0};
	unlink(path);
	assert_int_equal(jit_map_load(pid, &map, &err), ERR_UNAVAILABLE);
	write_map(path, "10 10 ours\n");
	assert_int_equal(jit_map_load(pid, &map, &err), 0);
	check_name(map, 0x10, "ours");
	jit_map_free(map);
	map = NULL;
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_int_equal(jit_map_load(pid, &map, &err), ERR_UNAVAILABLE);
	}
	assert_int_equal(rename(path, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, path), 0);
	assert_int_equal(jit_map_load(pid, &map, &err), ERR_UNAVAILABLE);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(jit_map_load(pid, &map, &err), ERR_UNAVAILABLE);
	unlink(path);
	unlink(elsewhere);
	free(path);
	free(elsewhere);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_address_is_found_within_its_range_only),
	cmocka_unit_test(the_last_definition_wins_where_ranges_overlap),
	cmocka_unit_test(overlaps_agree_with_a_search_through_all_lines),
	cmocka_unit_test(names_of_runtimes_are_taken_apart),
	cmocka_unit_test(damaged_lines_are_passed_over),
	cmocka_unit_test(a_jitdump_gives_names_lines_and_moves),
	cmocka_unit_test(a_cut_or_foreign_jitdump_does_no_harm),
	cmocka_unit_test(only_a_plain_file_of_ours_is_read),
};

UNIT_MAIN(tests)
