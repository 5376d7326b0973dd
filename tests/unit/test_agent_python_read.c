/* test_agent_python_read.c - an interpreter made of arrays: what is read from it when it is whole, and when it is damaged. */
#include "agent/python.h"
#include "unit.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Records lie in memory; the parts of the agent that write a file are not linked. */
static _Alignas(16) char records[1 << 20];
static size_t records_used = WIRE_UNIT;
static unsigned records_left = UINT32_MAX;
static struct wire_header header;

void *file_record(struct agent_thread *thread, uint16_t kind, uint32_t bytes)
{
	(void)thread;
	uint32_t rounded = (bytes + WIRE_UNIT - 1) / WIRE_UNIT * WIRE_UNIT;
	if (!records_left || records_used + rounded > sizeof(records))
		return NULL;
	records_left--;
	struct wire_record *record = (struct wire_record *)(records + records_used);
	memset(record, 0, rounded);
	*record = (struct wire_record){.kind = kind, .bytes = rounded};
	records_used += rounded;
	return record;
}

void file_publish(struct agent_thread *thread)
{
	(void)thread;
}

wire_id file_id(const void *entry)
{
	return (wire_id)(((const char *)entry - records) / WIRE_UNIT);
}

struct wire_header *file_header(void)
{
	return &header;
}

/* Types are told by address only, but for their names. They and the garbage lie in one piece of memory of their own, with room
 * behind it: garbage leads anywhere in it. */
enum { WORDS = 8192, GARBAGE = 4096 };
static uintptr_t *garbage, *type_code, *type_frame, *type_text, *type_dict, *type_coroutine, *type_other;
static struct agent_thread *thread;

static void make_types(void)
{
	uintptr_t **types[] = {&type_code, &type_frame, &type_text, &type_dict, &type_coroutine, &type_other};
	garbage = mmap(NULL, WORDS * sizeof(uintptr_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(garbage, MAP_FAILED);
	for (unsigned i = 0; i < 6; i++)
		*types[i] = garbage + GARBAGE + 64 * i;
	thread = calloc(1, sizeof(*thread));
}

static const struct python_offsets *row(unsigned minor)
{
	for (unsigned i = 0; i < python_offsets_count; i++)
		if (python_offsets[i].minor == minor)
			return &python_offsets[i];
	fail();
	return NULL;
}

static void interpreter(unsigned minor)
{
	if (!thread)
		make_types();
	memset(&python, 0, sizeof(python));
	python.at = *row(minor);
	python.version = 3u << 24 | minor << 16 | 0xf0;
	python.text_shift = 2;
	python.type_code = (uintptr_t)type_code;
	python.type_frame = (uintptr_t)type_frame;
	python.type_text = (uintptr_t)type_text;
	python.type_dict = (uintptr_t)type_dict;
	python.type_coroutine = (uintptr_t)type_coroutine;
	atomic_store(&python.stage, PYTHON_READY);
}

/* Zeroed memory that stays for as long as the test runs. */
static void *take(size_t bytes)
{
	static _Alignas(16) char memory[8 << 20];
	static size_t used;
	assert_true(used + bytes <= sizeof(memory));
	void *start = memory + used;
	used += (bytes + 15) / 16 * 16;
	return start;
}

static void put(void *object, uint32_t offset, uintptr_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

/* A str with the characters given; width 1, 2 or 4. */
static uintptr_t make_text(const void *characters, size_t length, unsigned width, bool ascii)
{
	char *object = take(256 + length * width);
	put(object, python.at.object_type, (uintptr_t)type_text);
	put(object, python.at.text_length, length);
	uint32_t state = (width | 1u << 3 | (unsigned)ascii << 4) << python.text_shift;
	memcpy(object + python.at.text_state, &state, sizeof(state));
	memcpy(object + (ascii ? python.at.text_ascii : python.at.text_wide), characters, length * width);
	return (uintptr_t)object;
}

static uintptr_t ascii(const char *characters)
{
	return make_text(characters, strlen(characters), 1, true);
}

static uintptr_t make_bytes(const char *content, size_t size)
{
	char *object = take(64 + size);
	put(object, python.at.bytes_size, size);
	memcpy(object + python.at.bytes_data, content, size);
	return (uintptr_t)object;
}

static uintptr_t make_code(const char *name, const char *file, int first_line)
{
	char *object = take(1024);
	put(object, python.at.object_type, (uintptr_t)type_code);
	put(object, python.at.code_name, ascii(name));
	put(object, python.at.code_file, ascii(file));
	put(object, python.at.code_lines, make_bytes("lines", 5));
	memcpy(object + python.at.code_first_line, &first_line, sizeof(first_line));
	return (uintptr_t)object;
}

static const struct wire_code *code_record(wire_id id)
{
	assert_true(id && (size_t)id * WIRE_UNIT < records_used);
	return (const struct wire_code *)(records + (size_t)id * WIRE_UNIT);
}

static void assert_text(uintptr_t object, const char *expected)
{
	char out[64];
	size_t bytes = python_text(object, out, sizeof(out));
	assert_int_equal(bytes, strlen(expected));
	assert_memory_equal(out, expected, bytes);
}

static void texts_of_all_widths_become_utf8(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 13; minor++) {
		interpreter(minor);
		assert_text(ascii("plain"), "plain");
		assert_text(ascii(""), "");
		assert_text(make_text("\xe9t\xe9", 3, 1, false), "\xc3\xa9t\xc3\xa9");
		assert_text(make_text((uint16_t[]){0x4e2d, 0x41, 0x7ff}, 3, 2, false), "\xe4\xb8\xad"
										       "A"
										       "\xdf\xbf");
		assert_text(make_text((uint32_t[]){0x1f600, 0x42}, 2, 4, false), "\xf0\x9f\x98\x80"
										 "B");
		assert_text(make_text((uint16_t[]){0xd800, 0x43}, 2, 2, false), "?C");
		assert_text(make_text((uint32_t[]){0x7fffffff}, 1, 4, false), "?");
	}
}

static void a_long_text_is_cut_between_characters(void **state)
{
	(void)state;
	interpreter(11);
	char out[8];
	uint16_t many[5] = {0x4e2d, 0x4e2d, 0x4e2d, 0x4e2d, 0x4e2d};
	assert_int_equal(python_text(make_text(many, 5, 2, false), out, 8), 6);
	assert_int_equal(python_text(ascii("0123456789"), out, 8), 8);
}

static void what_is_no_text_is_empty(void **state)
{
	(void)state;
	interpreter(12);
	char out[8];
	uintptr_t other = ascii("text");
	put((void *)other, python.at.object_type, (uintptr_t)type_other);
	assert_int_equal(python_text(other, out, 8), 0);
	assert_int_equal(python_text(0, out, 8), 0);
	assert_int_equal(python_text(UINTPTR_MAX - 7, out, 8), 0);
	assert_int_equal(python_text(0x4141414141414141, out, 8), 0);
	uintptr_t longer = ascii("text");
	put((void *)longer, python.at.text_length, (uintptr_t)1 << 40);
	assert_int_equal(python_text(longer, out, 8), 0);
	assert_int_equal(python_text_print(longer, false), 0);
}

static void a_text_at_the_end_of_memory_is_not_read_beyond_it(void **state)
{
	(void)state;
	interpreter(12);
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	uintptr_t text = ascii("end");
	char *object = pages + 4096 - (python.at.text_wide + 8) / 8 * 8;
	memcpy(object, (void *)text, python.at.text_wide);
	assert_text((uintptr_t)object, "end");
	put(object, python.at.text_length, 3000);
	char out[8192];
	assert_int_equal(python_text((uintptr_t)object, out, sizeof(out)), 0);
	assert_int_equal(python_text_print((uintptr_t)object, false), 0);
	munmap(pages, 8192);
}

static void a_code_object_is_copied_once(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 13; minor++) {
		interpreter(minor);
		python_forked();
		uintptr_t code = make_code("function", "/a/file.py", 42);
		wire_id id = python_code(thread, code, NULL);
		const struct wire_code *record = code_record(id);
		assert_int_equal(record->first_line, 42);
		assert_int_equal(record->version, python.version);
		assert_int_equal(record->name_bytes, 8);
		assert_memory_equal(record->text, "function/a/file.pylines", 23);
		assert_int_equal(record->line_bytes, 5);
		assert_int_equal(python_code(thread, code, NULL), id);
	}
}

static void another_object_at_the_same_address_gets_its_own_record(void **state)
{
	(void)state;
	interpreter(11);
	python_forked();
	char *code = (char *)make_code("first", "<string 1>", 1);
	wire_id first = python_code(thread, (uintptr_t)code, NULL);
	/* Every pointer stays: only what lies behind one of them changes. */
	uintptr_t name = python_word((uintptr_t)code + python.at.code_name);
	memcpy((void *)(name + python.at.text_ascii), "fir5t", 5);
	wire_id renamed = python_code(thread, (uintptr_t)code, NULL);
	uintptr_t file = python_word((uintptr_t)code + python.at.code_file);
	memcpy((void *)(file + python.at.text_ascii), "<string 2>", 10);
	wire_id moved = python_code(thread, (uintptr_t)code, NULL);
	uintptr_t lines = python_word((uintptr_t)code + python.at.code_lines);
	memcpy((void *)(lines + python.at.bytes_data), "Lines", 5);
	wire_id rewritten = python_code(thread, (uintptr_t)code, NULL);
	int line = 2;
	memcpy(code + python.at.code_first_line, &line, sizeof(line));
	wire_id shifted = python_code(thread, (uintptr_t)code, NULL);
	wire_id all[] = {first, renamed, moved, rewritten, shifted};
	for (unsigned i = 0; i < 5; i++)
		for (unsigned j = i + 1; j < 5; j++)
			assert_int_not_equal(all[i], all[j]);
	assert_memory_equal(code_record(shifted)->text, "fir5t<string 2>Lines", 20);
}

static void after_a_fork_everything_is_written_again(void **state)
{
	(void)state;
	interpreter(12);
	uintptr_t code = make_code("function", "file", 1);
	wire_id before = python_code(thread, code, NULL);
	header = (struct wire_header){0};
	python_forked();
	assert_int_not_equal(python_code(thread, code, NULL), before);
	python_look(0, 0);
	assert_int_equal(header.python, WIRE_PYTHON_READ);
	assert_int_equal(header.python_version, python.version);
}

static void a_full_table_forgets_but_never_lies(void **state)
{
	(void)state;
	interpreter(10);
	python_forked();
	char *code = (char *)make_code("function", "file", 1);
	size_t used = records_used;
	for (int line = 1; line < 200000; line++) {
		memcpy(code + python.at.code_first_line, &line, sizeof(line));
		wire_id id = python_code(thread, (uintptr_t)code, NULL);
		assert_int_equal(code_record(id)->first_line, line);
		assert_int_equal(python_code(thread, (uintptr_t)code, NULL), id);
		records_used = used; /* the records themselves need not stay */
	}
	python_forked();
}

static void without_room_there_is_no_record_and_it_is_tried_again(void **state)
{
	(void)state;
	interpreter(13);
	uintptr_t code = make_code("late", "file", 7);
	records_left = 0;
	assert_int_equal(python_code(thread, code, NULL), 0);
	records_left = UINT32_MAX;
	assert_int_not_equal(python_code(thread, code, NULL), 0);
}

/* A state with a chain of frame objects, as before 3.10. */
static char *make_frame(uintptr_t code, char *back, int32_t last)
{
	char *frame = take(1024);
	put(frame, python.at.object_type, (uintptr_t)type_frame);
	put(frame, python.at.frame_code, code);
	put(frame, python.at.frame_previous, (uintptr_t)back);
	memcpy(frame + python.at.frame_instruction, &last, sizeof(last));
	return frame;
}

static void a_chain_of_frame_objects_is_read_leaf_first(void **state)
{
	(void)state;
	interpreter(9);
	char *root = make_frame(make_code("root", "file", 1), NULL, -1);
	char *leaf = make_frame(make_code("leaf", "file", 2), root, 18);
	char *thread_state = take(4096);
	put(thread_state, python.at.state_frame, (uintptr_t)leaf);
	assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 2);
	assert_int_equal(code_record(thread->python[0].code)->first_line, 2);
	assert_int_equal(thread->python[0].offset, 18);
	assert_int_equal(thread->python[1].offset, 0);
	assert_true(thread->python[1].is_entry);
}

static void damaged_chains_end_where_the_damage_is(void **state)
{
	(void)state;
	interpreter(9);
	char *thread_state = take(4096);
	char *root = make_frame(make_code("root", "file", 1), NULL, 0);
	char *middle = make_frame((uintptr_t)type_other, root, 0);
	char *leaf = make_frame(make_code("leaf", "file", 2), middle, 0);
	put(thread_state, python.at.state_frame, (uintptr_t)leaf);
	assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 1);
	const uintptr_t bad[] = {1, 8, 0xdeadbeef, 0x4141414141414140, UINTPTR_MAX - 7, (uintptr_t)type_other};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(leaf, python.at.frame_previous, bad[i]);
		assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 1);
		put(thread_state, python.at.state_frame, bad[i]);
		assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 0);
		put(thread_state, python.at.state_frame, (uintptr_t)leaf);
	}
}

static void a_cycle_ends(void **state)
{
	(void)state;
	interpreter(8);
	char *thread_state = take(4096);
	char *leaf = make_frame(make_code("round", "file", 2), NULL, 0);
	put(leaf, python.at.frame_previous, (uintptr_t)leaf);
	put(thread_state, python.at.state_frame, (uintptr_t)leaf);
	assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), WIRE_STACK_MAX);
	for (unsigned minor = 12; minor <= 13; minor++) {
		interpreter(minor);
		/* Frames that lie on the C stack and lead to themselves: none of them counts. */
		char *shim = take(1024);
		char *cframes = take(1024);
		shim[python.at.frame_owner] = 3;
		put(shim, python.at.frame_previous, (uintptr_t)shim);
		put(cframes, python.at.cframe_frame, (uintptr_t)shim);
		put(cframes, python.at.cframe_previous, (uintptr_t)cframes);
		put(thread_state, python.at.state_frame, (uintptr_t)shim);
		if (python.at.state_cframe)
			put(thread_state, python.at.state_cframe, (uintptr_t)cframes);
		assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 0);
	}
}

/* 3.11 gives the memory of a frame back while the frame is still the current one: it was readable a moment ago. */
static void a_frame_whose_memory_was_just_given_back_is_passed_over(void **state)
{
	(void)state;
	interpreter(11);
	char *given = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(given != MAP_FAILED);
	char *caller = take(1024), *cframes = take(1024), *below = take(1024), *thread_state = take(4096);
	put(caller, python.at.frame_code, make_code("caller", "file", 1));
	put(given, python.at.frame_code, make_code("leaf", "file", 2));
	put(given, python.at.frame_previous, (uintptr_t)caller);
	caller[python.at.frame_entry] = given[python.at.frame_entry] = 1;
	put(cframes, python.at.cframe_frame, (uintptr_t)given);
	put(cframes, python.at.cframe_previous, (uintptr_t)below);
	put(below, python.at.cframe_frame, (uintptr_t)caller);
	put(thread_state, python.at.state_cframe, (uintptr_t)cframes);
	assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 2);
	munmap(given, 4096);
	assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 1);
	assert_int_equal(code_record(thread->python[0].code)->first_line, 1);
}

/* A frame on the chunk that the state names is there; its code may be gone all the same. */
static void a_frame_on_the_stack_of_frames_whose_code_was_just_given_back_is_passed_over(void **state)
{
	(void)state;
	interpreter(11);
	char *given = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(given != MAP_FAILED);
	char *chunk = take(16384), *frame = chunk + 512, *caller = chunk + 256;
	char *cframes = take(1024), *below = take(1024), *thread_state = take(4096);
	uintptr_t code = make_code("leaf", "file", 2);
	memcpy(given, (const void *)code, python.at.code_size);
	put(chunk, 8, 16384);
	put(thread_state, python.at.state_chunk, (uintptr_t)chunk);
	put(thread_state, python.at.state_chunk + 8, (uintptr_t)chunk + 1024);
	put(caller, python.at.frame_code, make_code("caller", "file", 1));
	put(frame, python.at.frame_code, (uintptr_t)given);
	put(frame, python.at.frame_previous, (uintptr_t)caller);
	caller[python.at.frame_entry] = frame[python.at.frame_entry] = 1;
	put(cframes, python.at.cframe_frame, (uintptr_t)frame);
	put(cframes, python.at.cframe_previous, (uintptr_t)below);
	put(below, python.at.cframe_frame, (uintptr_t)caller);
	put(thread_state, python.at.state_cframe, (uintptr_t)cframes);
	assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 2);
	munmap(given, 4096);
	assert_int_equal(python_frames(thread, (uintptr_t)thread_state, NULL, 0), 1);
	assert_int_equal(code_record(thread->python[0].code)->first_line, 1);
}

/* Whatever words a thread state is made of, nothing is read that is not there. */
static void garbage_is_survived_by_every_version(void **state)
{
	(void)state;
	uint64_t random = 88172645463325252ULL;
	interpreter(6);
	uintptr_t *heap = garbage;
	const uintptr_t types[] = {(uintptr_t)type_code, (uintptr_t)type_frame,     (uintptr_t)type_text,
				   (uintptr_t)type_dict, (uintptr_t)type_coroutine, (uintptr_t)type_other};
	for (unsigned round = 0; round < 400; round++) {
		interpreter(6 + round % 8);
		for (unsigned i = 0; i < GARBAGE; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			uint64_t kind = random >> 32 & 7;
			heap[i] = kind < 4   ? (uintptr_t)heap + (random & 0x7ff8)
				  : kind < 6 ? types[random % 6]
				  : kind < 7 ? (uintptr_t)(random >> 40)
					     : random;
		}
		struct python_task task = {0};
		python_task_find(thread, (uintptr_t)heap, &task);
		unsigned count = python_frames(thread, (uintptr_t)heap, &task, 0);
		assert_true(count <= WIRE_STACK_MAX);
		for (unsigned i = 0; i < 64; i++)
			python_code(thread, (uintptr_t)(heap + i * 32), NULL);
		records_used = WIRE_UNIT;
		python_forked();
	}
}

static void the_interpreters_own_table_is_checked(void **state)
{
	(void)state;
	uint64_t words[128] = {0};
	struct python_offsets at = {0};
	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030d01f0;
	words[44] = 16;
	words[45] = 8;
	words[19 + 4] = 72;
	words[34 + 9] = 192;
	assert_true(python_debug_offsets(&at, words, 13));
	assert_int_equal(at.state_frame, 72);
	assert_int_equal(at.code_code, 192);
	assert_int_equal(at.object_type, 8);
	assert_false(python_debug_offsets(&at, words, 14));
	words[45] = 12;
	assert_false(python_debug_offsets(&at, words, 13));
	words[45] = 8;
	words[20] = (uint64_t)1 << 40;
	assert_false(python_debug_offsets(&at, words, 13));
	words[20] = 0;
	memcpy(words, "ydebugpx", 8);
	assert_false(python_debug_offsets(&at, words, 13));
	for (unsigned i = 0; i < 128; i++)
		words[i] = UINT64_MAX;
	assert_false(python_debug_offsets(&at, words, 13));
}

static const struct link_map *map_of(const char *library)
{
	struct link_map *map = NULL;
	void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	return map;
}

static void symbols_are_found_where_the_loader_finds_them(void **state)
{
	(void)state;
	const struct link_map *map = map_of("libc.so.6");
	struct elf_object object;
	assert_true(elf_open(&object, map->l_addr, (uintptr_t)map->l_ld));
	/* Functions of one version only: of others the loader takes the newest, this the first. */
	const char *names[] = {"fopencookie", "strtol", "exit", "getauxval", "qsort"};
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct elf_symbol found = elf_find(&object, names[i]);
		assert_ptr_equal((void *)found.address, dlsym(libc, names[i]));
		assert_true(found.bytes > 0);
	}
	assert_int_equal(elf_find(&object, "_PyRuntime").address, 0);
	assert_int_equal(elf_find(&object, "").address, 0);
}

static void a_damaged_hash_table_finds_nothing(void **state)
{
	(void)state;
	struct elf_object whole;
	const struct link_map *map = map_of("libc.so.6");
	assert_true(elf_open(&whole, map->l_addr, (uintptr_t)map->l_ld));
	uint32_t damaged[4096];
	uint64_t random = 1;
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < 4096; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			damaged[i] = round % 2 ? (uint32_t)random : (uint32_t)random & 0xff;
		}
		struct elf_object object = whole;
		object.gnu_hash = round % 4 < 2 ? (uintptr_t)damaged : 0;
		object.hash = (uintptr_t)damaged;
		assert_int_equal(elf_find(&object, "_PyRuntime").address, 0);
	}
	struct elf_object none;
	assert_false(elf_open(&none, 0, (uintptr_t) "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
	assert_false(elf_open(&none, 0, 16));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(texts_of_all_widths_become_utf8),
	cmocka_unit_test(a_long_text_is_cut_between_characters),
	cmocka_unit_test(what_is_no_text_is_empty),
	cmocka_unit_test(a_text_at_the_end_of_memory_is_not_read_beyond_it),
	cmocka_unit_test(a_code_object_is_copied_once),
	cmocka_unit_test(another_object_at_the_same_address_gets_its_own_record),
	cmocka_unit_test(after_a_fork_everything_is_written_again),
	cmocka_unit_test(a_full_table_forgets_but_never_lies),
	cmocka_unit_test(without_room_there_is_no_record_and_it_is_tried_again),
	cmocka_unit_test(a_chain_of_frame_objects_is_read_leaf_first),
	cmocka_unit_test(damaged_chains_end_where_the_damage_is),
	cmocka_unit_test(a_cycle_ends),
	cmocka_unit_test(a_frame_whose_memory_was_just_given_back_is_passed_over),
	cmocka_unit_test(a_frame_on_the_stack_of_frames_whose_code_was_just_given_back_is_passed_over),
	cmocka_unit_test(garbage_is_survived_by_every_version),
	cmocka_unit_test(the_interpreters_own_table_is_checked),
	cmocka_unit_test(symbols_are_found_where_the_loader_finds_them),
	cmocka_unit_test(a_damaged_hash_table_finds_nothing),
};

UNIT_MAIN(tests)
