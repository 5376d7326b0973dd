/* test_symbol.c - addresses in programs of several compilers and languages become the functions and lines that were written. */
#include "symbol_case.h"

/* Lines are counted from the second: the first is MARK's. */
static const char chain_source[] = MARK_TEXT "#define INLINE static inline __attribute__((always_inline))\n"
					     "volatile int sink;\n"
					     "INLINE int inner(int x)\n"
					     "{\n"
					     "	MARK;\n" /* 6 */
					     "	return x * sink;\n"
					     "}\n"
					     "INLINE int middle(int x)\n"
					     "{\n"
					     "	return inner(x + sink) + 1;\n" /* 11 */
					     "}\n"
					     "__attribute__((noinline)) int outer(int x)\n"
					     "{\n"
					     "	sink = x;\n"
					     "	return middle(x * sink) + 2;\n" /* 16 */
					     "}\n"
					     "int main(int argc, char **argv)\n"
					     "{\n"
					     "	(void)argv;\n"
					     "	return outer(argc);\n"
					     "}\n";

static void check_chain(const struct case_file *file)
{
	assert_int_equal(file->mark_count, 1);
	struct case_answer answer = case_ask(file, file->marks[0], true);
	CASE_CHECK(&answer, {"inner", "chain.c", 6, 4}, {"middle", "chain.c", 11, 9}, {"outer", "chain.c", 16, 13});
	assert_null(symbol_note(answer.object));
	symbol_table_free(answer.table);
}

static void check_chain_with(const char *compiler, const char *const *flags, size_t count)
{
	case_write("chain.c", chain_source);
	for (size_t i = 0; i < count; i++) {
		struct case_file file = case_compile(compiler, flags[i], "chain.c", "chain");
		check_chain(&file);
	}
}

static void inlined_calls_of_gcc_are_a_chain_with_lines(void **state)
{
	(void)state;
	static const char *const flags[] = {"-O2 -g",
					    "-O2 -gdwarf-4",
					    "-O2 -g -gz",
					    "-O2 -g -no-pie",
					    "-O2 -g -gsplit-dwarf",
					    "-O2 -gdwarf-4 -gsplit-dwarf",
					    "-O2 -g -flto",
					    "-O0 -g",
					    "-O3 -g -fPIC -shared",
					    "-O2 -g -Wl,-z,noseparate-code",
					    "-O2 -g -ffunction-sections -Wl,--gc-sections"};
	check_chain_with("gcc", flags, sizeof(flags) / sizeof(flags[0]));
}

static void inlined_calls_of_clang_are_a_chain_with_lines(void **state)
{
	(void)state;
	static const char *const flags[] = {"-O2 -g",
					    "-O2 -gdwarf-4",
					    "-O2 -g -gz",
					    "-O2 -g -gsplit-dwarf",
					    "-O2 -g -fno-pie -no-pie",
					    "-O1 -g -ffunction-sections"};
	check_chain_with("clang", flags, sizeof(flags) / sizeof(flags[0]));
}

static void parts_that_dwz_moved_to_a_common_file_are_found(void **state)
{
	(void)state;
	case_need("dwz");
	case_write("chain.c", chain_source);
	struct case_file first = case_compile("gcc", "-O2 -gdwarf-4 -include stdio.h -fno-eliminate-unused-debug-types",
					      "chain.c", "chain");
	struct case_file second =
		case_compile("gcc", "-O2 -gdwarf-4 -include stdio.h -fno-eliminate-unused-debug-types -fno-ipa-ra",
			     "chain.c", "chain2");
	assert_int_equal(case_run("dwz -m common chain chain2 && objdump -h common | grep -q debug_info"), 0);
	assert_int_equal(case_run("objdump -h chain | grep -q gnu_debugaltlink"), 0);
	check_chain(&first);
	check_chain(&second);
}

static const char call_source[] = MARK_TEXT "__attribute__((noinline)) void callee(void)\n"
					    "{\n"
					    "	__asm__ volatile(\"\");\n"
					    "}\n"
					    "__attribute__((noinline, used)) static void caller(void)\n"
					    "{\n"
					    "	__asm__ volatile(\"call callee\\n1:\\n\"\n"
					    "			 \".pushsection markers,\\\"aR\\\"\\n.long 1b - .\\n"
					    ".popsection\");\n"
					    "	__builtin_unreachable();\n"
					    "}\n"
					    "__attribute__((noinline, used)) static void next(void)\n"
					    "{\n"
					    "	callee();\n" /* 13 */
					    "	callee();\n"
					    "}\n"
					    "int main(int argc, char **argv)\n"
					    "{\n"
					    "	(void)argv;\n"
					    "	argc > 5 ? caller() : next();\n"
					    "}\n";

/* The address that a call at a function's very end returns to belongs to whatever comes after it. */
static void a_return_address_belongs_to_the_call_before_it(void **state)
{
	(void)state;
	case_write("call.c", call_source);
	struct case_file file = case_compile("gcc",
					     "-O1 -g -falign-functions=1 -fno-toplevel-reorder -fcf-protection=none "
					     "-fno-asynchronous-unwind-tables",
					     "call.c", "call");
	assert_int_equal(file.mark_count, 1);
	struct case_answer returned = case_ask(&file, file.marks[0], false);
	assert_int_equal(returned.count, 1);
	assert_string_equal(returned.frames[0].function, "caller");
	assert_int_equal(returned.frames[0].line, 8);
	struct case_answer exact = case_ask(&file, file.marks[0], true);
	assert_string_equal(exact.frames[0].function, "next");
	/* One byte earlier and exact is the same question. */
	const struct symbol_frame *frames;
	assert_int_equal(symbol_get(returned.object, file.marks[0] - 1, true, &frames), 1);
	assert_ptr_equal(frames, returned.frames);
	assert_int_equal(symbol_get(returned.object, file.marks[0] + 9, true, &frames), 0);
	symbol_table_free(returned.table);
	symbol_table_free(exact.table);
}

static const char cxx_source[] =
	MARK_TEXT "#include <algorithm>\n"
		  "#include <string>\n"
		  "#include <vector>\n"
		  "namespace shop {\n"
		  "template <typename T, int N> struct Basket {\n"
		  "	std::vector<T> items;\n"
		  "	__attribute__((noinline)) T total(T start) const\n" /* 8 */
		  "	{\n"
		  "		for (const T &item : items)\n"
		  "			start += item;\n"
		  "		MARK;\n" /* 12 */
		  "		return start * N;\n"
		  "	}\n"
		  "};\n"
		  "}\n"
		  "int main(int argc, char **)\n"
		  "{\n"
		  "	shop::Basket<double, 3> basket{{1.0, 2.0, double(argc)}};\n"
		  "	auto twice = [](double x) __attribute__((noinline)) { MARK; return x * 2; };\n" /* 20 */
		  "	return int(basket.total(0.5) + twice(argc));\n"
		  "}\n";

static void check_cxx(const char *compiler, const char *lambda)
{
	case_write("shop.cpp", cxx_source);
	struct case_file file = case_compile(compiler, "-O2 -g", "shop.cpp", "shop");
	assert_int_equal(file.mark_count, 2);
	bool total = false, twice = false;
	for (size_t i = 0; i < 2; i++) {
		struct case_answer answer = case_ask(&file, file.marks[i], true);
		const struct symbol_frame *frame = &answer.frames[0];
		if (strcmp(frame->function, "shop::Basket<double, 3>::total(double) const") == 0)
			total = frame->line == 12 && frame->first_line == 8;
		else if (strcmp(frame->function, lambda) == 0)
			twice = frame->line == 20;
		else
			fail_msg("%s", frame->function);
		assert_string_equal(case_last_part(frame->file), "shop.cpp");
		symbol_table_free(answer.table);
	}
	assert_true(total);
	assert_true(twice);
}

static void templates_and_lambdas_have_their_full_names(void **state)
{
	(void)state;
	check_cxx("g++", "main::{lambda(double)#1}::operator()(double) const");
	check_cxx("clang++", "main::$_0::operator()(double) const");
}

static const char rust_source[] =
	"use std::arch::asm;\n"
	"struct Heap<T>(Vec<T>);\n"
	"trait Sum { fn sum(&self) -> u64; }\n"
	"impl Sum for Heap<u64> {\n"
	"    #[inline(never)]\n"
	"    fn sum(&self) -> u64 {\n"
	"        let s = self.0.iter().map(|x| x * 3).sum();\n"
	"        unsafe { asm!(\"22: nop\", \".pushsection markers,\\\"aR\\\"\", \".long 22b - .\", "
	"\".popsection\") };\n" /* 8 */
	"        s\n"
	"    }\n"
	"}\n"
	"fn main() { std::process::exit(Heap(vec![1, 2, std::env::args().count() as u64]).sum() as i32); }\n";

static void functions_of_rust_have_their_paths(void **state)
{
	(void)state;
	case_write("heap.rs", rust_source);
	struct case_file file = case_compile("rustc", "-O -g", "heap.rs", "heap");
	assert_int_equal(file.mark_count, 1);
	struct case_answer answer = case_ask(&file, file.marks[0], true);
	assert_int_equal(answer.count, 1);
	assert_string_equal(answer.frames[0].function, "<heap::Heap<u64> as heap::Sum>::sum");
	assert_string_equal(case_last_part(answer.frames[0].file), "heap.rs");
	assert_int_equal(answer.frames[0].line, 8);
	symbol_table_free(answer.table);
}

static void the_vdso_is_resolved_from_this_process(void **state)
{
	(void)state;
	struct case_file vdso = {.path = "[vdso]"};
	/* Which address a function has is not known here, so all of its first page are asked for. */
	struct symbol_table *table = symbol_table_new();
	struct symbol_object *object = symbol_add(table, vdso.path, NULL, 0);
	for (uint64_t address = 0; address < 0x3000; address += 4)
		symbol_want(object, address, true);
	symbol_resolve(table, 0, NULL, NULL);
	size_t named = 0;
	for (uint64_t address = 0; address < 0x3000; address += 4) {
		const struct symbol_frame *frames;
		assert_int_equal(symbol_get(object, address, true, &frames), 1);
		named += strstr(frames[0].function, "clock_gettime") != NULL;
	}
	assert_true(named > 5);
	symbol_table_free(table);
}

struct heard {
	size_t calls, done, all;
};

static void hear(void *context, size_t done, size_t all)
{
	struct heard *heard = context;
	heard->calls++;
	assert_true(done > heard->done && done <= all);
	heard->done = done;
	heard->all = all;
}

static void many_objects_on_many_threads_are_all_answered(void **state)
{
	(void)state;
	case_write("chain.c", chain_source);
	struct case_file file = case_compile("gcc", "-O2 -g", "chain.c", "chain");
	struct symbol_table *table = symbol_table_new();
	enum { COPIES = 40 };
	struct symbol_object *objects[COPIES];
	for (int i = 0; i < COPIES; i++) {
		char *copy = mem_printf("copy%d", i);
		assert_int_equal(case_run("cp chain %s", copy), 0);
		objects[i] = symbol_add(table, copy, file.build_id, file.build_id_bytes);
		assert_ptr_equal(symbol_add(table, copy, file.build_id, file.build_id_bytes), objects[i]);
		for (uint64_t at = 0; at < 64; at++)
			symbol_want(objects[i], file.marks[0] + at % 32, true);
		free(copy);
	}
	struct heard heard = {0};
	symbol_resolve(table, 8, hear, &heard);
	assert_int_equal(heard.done, COPIES);
	assert_int_equal(heard.all, COPIES);
	for (int i = 0; i < COPIES; i++) {
		const struct symbol_frame *frames;
		assert_int_equal(symbol_get(objects[i], file.marks[0], true, &frames), 3);
		assert_string_equal(frames[2].function, "outer");
	}
	/* What is wanted later is resolved later, and the rest stays. */
	symbol_want(objects[0], file.marks[0] + 1000, true);
	heard = (struct heard){0};
	symbol_resolve(table, 0, hear, &heard);
	assert_int_equal(heard.all, 1);
	const struct symbol_frame *frames;
	assert_int_equal(symbol_get(objects[0], file.marks[0], true, &frames), 3);
	assert_true(symbol_get(objects[0], file.marks[0] + 1000, true, &frames) >= 1);
	symbol_table_free(table);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(inlined_calls_of_gcc_are_a_chain_with_lines),
	cmocka_unit_test(inlined_calls_of_clang_are_a_chain_with_lines),
	cmocka_unit_test(parts_that_dwz_moved_to_a_common_file_are_found),
	cmocka_unit_test(a_return_address_belongs_to_the_call_before_it),
	cmocka_unit_test(templates_and_lambdas_have_their_full_names),
	cmocka_unit_test(functions_of_rust_have_their_paths),
	cmocka_unit_test(the_vdso_is_resolved_from_this_process),
	cmocka_unit_test(many_objects_on_many_threads_are_all_answered),
};

UNIT_MAIN_GROUP(tests, case_setup, case_teardown)
