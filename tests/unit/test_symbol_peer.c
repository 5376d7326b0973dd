/*
 * test_symbol_peer.c - thousands of addresses of a real library, against what addr2line says of them.
 *
 * The library is a part of pitot's own sources, compiled by gcc: addr2line does not read all that clang writes. Gaps between
 * functions are left out: addr2line counts them to the function before them, and no program executes them.
 */
#include "symbol_case.h"

enum { ADDRESSES = 4000 };

static struct symbol_object *object;
static uint64_t addresses[ADDRESSES];

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

static void choose_addresses(const struct case_file *file)
{
	srand(11);
	for (size_t i = 0; i < ADDRESSES; i++) {
		addresses[i] = file->text + ((uint64_t)rand() << 16 ^ (uint64_t)rand()) % file->text_bytes;
		symbol_want(object, addresses[i], true);
	}
	qsort(addresses, ADDRESSES, sizeof(addresses[0]), by_value);
}

/* "file:line" or "file:line (discriminator 3)", as ours would be. */
static bool same_place(const char *text, const struct symbol_frame *frame)
{
	char *copy = mem_strndup(text, strcspn(text, " \n"));
	char *colon = strrchr(copy, ':');
	int line = colon ? atoi(colon + 1) : 0;
	if (colon)
		*colon = '\0';
	bool same = frame->file && strcmp(copy, frame->file) == 0 && line == frame->line;
	free(copy);
	return same;
}

/* Reads the frames of one address; the line after them, the next address, is left in `line`. */
static bool same_frames(FILE *output, char **line, size_t *room, const struct symbol_frame *frames, size_t count)
{
	bool same = true;
	size_t read = 0;
	while (getline(line, room, output) > 0 && !str_starts(*line, "0x")) {
		(*line)[strcspn(*line, "\n")] = '\0';
		same = same && read < count && strcmp(*line, frames[read].function) == 0;
		if (getline(line, room, output) <= 0)
			break;
		same = same && read < count && same_place(*line, &frames[read]);
		read++;
	}
	return same && read == count;
}

static bool is_left_out(const struct symbol_frame *frame)
{
	return frame->function[0] == '[' || !frame->file;
}

static void compare_all(FILE *output, size_t *same, size_t *different)
{
	char *line = NULL;
	size_t room = 0;
	assert_true(getline(&line, &room, output) > 0);
	for (size_t i = 0; i < ADDRESSES; i++) {
		assert_int_equal(strtoull(line, NULL, 16), addresses[i]);
		const struct symbol_frame *frames;
		size_t count = symbol_get(object, addresses[i], true, &frames);
		assert_true(count > 0);
		bool agree = same_frames(output, &line, &room, frames, count);
		if (is_left_out(&frames[0]))
			continue;
		*same += agree;
		*different += !agree;
	}
	free(line);
}

static void names_and_lines_agree_with_addr2line(void **state)
{
	(void)state;
	case_need("addr2line");
	case_need("gcc");
	char *folder = file_make_temp_dir(NULL);
	char *library = file_join(folder, "peer.so"), *list = file_join(folder, "list");
	assert_int_equal(case_run("gcc -std=c17 -O2 -g -fPIC -shared -D_GNU_SOURCE -Isrc src/base/*.c src/stats/*.c "
				  "src/symbol/*.c -o %s",
				  library),
			 0);
	struct case_file file = case_open(library);
	struct symbol_table *table = symbol_table_new();
	object = symbol_add(table, library, file.build_id, file.build_id_bytes);
	choose_addresses(&file);
	symbol_resolve(table, 0, NULL, NULL);
	FILE *input = fopen(list, "w");
	for (size_t i = 0; i < ADDRESSES; i++)
		fprintf(input, "0x%llx\n", (unsigned long long)addresses[i]);
	fclose(input);
	char *command = mem_printf("addr2line -aife %s < %s", library, list);
	FILE *output = popen(command, "r");
	size_t same = 0, different = 0;
	compare_all(output, &same, &different);
	assert_int_equal(pclose(output), 0);
	printf("%zu of %zu addresses agree in all functions, files and lines\n", same, same + different);
	assert_true(same + different > ADDRESSES * 9 / 10);
	assert_true(same * 100 >= (same + different) * 99);
	symbol_table_free(table);
	case_run("rm -rf %s", folder);
	free(command);
	free(library);
	free(list);
	free(folder);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(names_and_lines_agree_with_addr2line),
};

UNIT_MAIN(tests)
