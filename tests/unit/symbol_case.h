/*
 * symbol_case.h - small programs that the symbol tests compile, and the addresses in them that are asked for.
 *
 * A program marks a place with MARK: an instruction whose address, less the place where it stands, is put into the section
 * "markers". So the truth does not come from symbols or debug information.
 */
#ifndef PITOT_TESTS_SYMBOL_CASE_H
#define PITOT_TESTS_SYMBOL_CASE_H

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "symbol/symbol.h"
#include "unit.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#define MARK_TEXT                                                                                                      \
	"#define MARK __asm__ volatile(\"1: nop\\n.pushsection markers,\\\"aR\\\"\\n.long 1b - .\\n.popsection\")\n"

static char *case_folder;

static inline int case_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int case_run(const char *format, ...)
{
	char command[4096];
	va_list args;
	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

static inline int case_setup(void **state)
{
	(void)state;
	case_folder = file_make_temp_dir(NULL);
	return case_folder && chdir(case_folder) == 0 ? 0 : -1;
}

static inline int case_teardown(void **state)
{
	(void)state;
	if (chdir("/") || case_run("rm -rf '%s'", case_folder))
		return -1;
	free(case_folder);
	return 0;
}

static inline void case_write(const char *name, const char *text)
{
	assert_int_equal(file_write_atomic(name, text, strlen(text), NULL), 0);
}

static inline void case_need(const char *program)
{
	if (case_run("command -v %s >/dev/null 2>&1", program) == 0)
		return;
	printf("skip: %s is not installed\n", program);
	skip();
}

struct case_file {
	char path[4096];
	uint8_t build_id[64];
	size_t build_id_bytes;
	uint64_t marks[16];
	size_t mark_count;
	uint64_t text, text_bytes;
};

static inline void case_read_section(struct case_file *file, Elf_Scn *section, const GElf_Shdr *header,
				     const char *name)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	if (strcmp(name, ".text") == 0) {
		file->text = header->sh_addr;
		file->text_bytes = header->sh_size;
	}
	if (strcmp(name, "markers") != 0 || !data)
		return;
	for (size_t at = 0; at + 4 <= data->d_size && file->mark_count < 16; at += 4) {
		int32_t distance;
		memcpy(&distance, (char *)data->d_buf + at, 4);
		file->marks[file->mark_count++] = header->sh_addr + at + (uint64_t)(int64_t)distance;
	}
}

static inline struct case_file case_open(const char *path)
{
	struct case_file file = {0};
	assert_non_null(realpath(path, file.path));
	elf_version(EV_CURRENT);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
	if (bytes > 0 && bytes <= (ssize_t)sizeof(file.build_id)) {
		file.build_id_bytes = (size_t)bytes;
		memcpy(file.build_id, id, (size_t)bytes);
	}
	size_t names;
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		assert_non_null(gelf_getshdr(section, &header));
		case_read_section(&file, section, &header, elf_strptr(elf, names, header.sh_name));
	}
	elf_end(elf);
	close(fd);
	return file;
}

/* Compiles a program and opens it; fails the test where it does not compile. */
static inline struct case_file case_compile(const char *compiler, const char *flags, const char *source,
					    const char *out)
{
	case_need(compiler);
	assert_int_equal(case_run("%s %s %s -o %s", compiler, flags, source, out), 0);
	return case_open(out);
}

struct case_answer {
	struct symbol_table *table;
	struct symbol_object *object;
	const struct symbol_frame *frames;
	size_t count;
};

static inline struct case_answer case_ask(const struct case_file *file, uint64_t address, bool exact)
{
	struct case_answer answer = {.table = symbol_table_new()};
	answer.object = symbol_add(answer.table, file->path, file->build_id, file->build_id_bytes);
	symbol_want(answer.object, address, exact);
	symbol_resolve(answer.table, 1, NULL, NULL);
	answer.count = symbol_get(answer.object, address, exact, &answer.frames);
	return answer;
}

struct case_frame {
	const char *function, *file; /* the file's last part; NULL: not known */
	int line, first_line;
};

static inline const char *case_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static inline void case_check(const struct case_answer *answer, const struct case_frame *wanted, size_t count)
{
	assert_int_equal(answer->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct symbol_frame *frame = &answer->frames[i];
		assert_string_equal(frame->function, wanted[i].function);
		assert_int_equal(frame->inlined, i + 1 < count);
		assert_int_equal(frame->line, wanted[i].line);
		assert_int_equal(frame->first_line, wanted[i].first_line);
		if (!wanted[i].file) {
			assert_null(frame->file);
			continue;
		}
		assert_int_equal(frame->file[0], '/');
		assert_string_equal(case_last_part(frame->file), wanted[i].file);
	}
}

#define CASE_CHECK(answer, ...)                                                                                        \
	case_check(answer, (const struct case_frame[]){__VA_ARGS__},                                                   \
		   sizeof((const struct case_frame[]){__VA_ARGS__}) / sizeof(struct case_frame))

#endif
