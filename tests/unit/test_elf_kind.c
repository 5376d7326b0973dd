/* test_elf_kind.c - which programs the agent can get into, and the reasons for the others. */
#include "base/file.h"
#include "base/mem.h"
#include "symbol/elf_kind.h"
#include "unit.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *folder;

static int make_folder(void **state)
{
	(void)state;
	folder = file_make_temp_dir(NULL);
	return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	char *command = mem_printf("rm -rf '%s'", folder);
	int status = system(command);
	free(command);
	free(folder);
	return status;
}

static char *write_bytes(const char *name, const void *bytes, size_t size)
{
	char *path = file_join(folder, name);
	assert_int_equal(file_write_atomic(path, bytes, size, NULL), 0);
	return path;
}

static enum elf_kind kind_of_bytes(const void *bytes, size_t size, char *interpreter, size_t room)
{
	char *path = write_bytes("file", bytes, size);
	enum elf_kind kind = elf_kind_of(path, interpreter, room);
	free(path);
	return kind;
}

/* A program with one program header, that of its loader. */
struct tiny {
	Elf64_Ehdr file;
	Elf64_Phdr header;
	char loader[64];
};

static struct tiny tiny_program(const char *loader)
{
	struct tiny tiny;
	memset(&tiny, 0, sizeof(tiny));
	memcpy(tiny.file.e_ident, ELFMAG, SELFMAG);
	tiny.file.e_ident[EI_CLASS] = ELFCLASS64;
	tiny.file.e_ident[EI_DATA] = ELFDATA2LSB;
	tiny.file.e_type = ET_DYN;
#ifdef __x86_64__
	tiny.file.e_machine = EM_X86_64;
#else
	tiny.file.e_machine = EM_AARCH64;
#endif
	tiny.file.e_phoff = offsetof(struct tiny, header);
	tiny.file.e_phentsize = sizeof(Elf64_Phdr);
	tiny.file.e_phnum = 1;
	tiny.header.p_type = loader ? PT_INTERP : PT_LOAD;
	tiny.header.p_offset = offsetof(struct tiny, loader);
	tiny.header.p_filesz = loader ? strlen(loader) + 1 : 0;
	if (loader)
		memcpy(tiny.loader, loader, strlen(loader) + 1);
	return tiny;
}

static void a_program_with_glibcs_loader_is_injectable(void **state)
{
	(void)state;
	char loader[256];
	assert_int_equal(elf_kind_of("/proc/self/exe", loader, sizeof(loader)), ELF_INJECTABLE);
	assert_non_null(strstr(loader, "ld-linux"));
	assert_int_equal(elf_kind_of(loader, NULL, 0), ELF_INJECTABLE);
}

static void a_static_program_is_told_from_a_dynamic_one(void **state)
{
	(void)state;
	struct tiny tiny = tiny_program(NULL);
	char loader[64] = "x";
	assert_int_equal(kind_of_bytes(&tiny, sizeof(tiny), loader, sizeof(loader)), ELF_STATIC);
	assert_string_equal(loader, "");
	assert_string_equal(elf_kind_words(ELF_STATIC), "statically linked");
}

static void other_c_libraries_are_known_by_their_loader(void **state)
{
	(void)state;
	const char *const others[] = {"/lib/ld-musl-x86_64.so.1", "/lib/ld-uClibc.so.0", "/system/bin/linker64"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct tiny tiny = tiny_program(others[i]);
		char loader[64];
		assert_int_equal(kind_of_bytes(&tiny, sizeof(tiny), loader, sizeof(loader)), ELF_OTHER_LIBC);
		assert_string_equal(loader, others[i]);
	}
	struct tiny far = tiny_program("/nix/store/x-glibc-2.38/lib/ld-linux-x86-64.so.2");
	assert_int_equal(kind_of_bytes(&far, sizeof(far), NULL, 0), ELF_INJECTABLE);
}

static void other_machines_are_told_apart(void **state)
{
	(void)state;
	struct tiny tiny = tiny_program("/lib/ld-linux.so.2");
	tiny.file.e_machine = EM_RISCV;
	assert_int_equal(kind_of_bytes(&tiny, sizeof(tiny), NULL, 0), ELF_OTHER_MACHINE);
	tiny = tiny_program("/lib/ld-linux.so.2");
	tiny.file.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(kind_of_bytes(&tiny, sizeof(tiny), NULL, 0), ELF_OTHER_MACHINE);
}

static void a_script_names_its_interpreter(void **state)
{
	(void)state;
	static const struct {
		const char *text, *interpreter;
	} cases[] = {
		{"#!/bin/sh\n", "/bin/sh"},
		{"#! /usr/bin/env python3\nprint()\n", "/usr/bin/env"},
		{"#!\t/bin/awk -f", "/bin/awk"},
		{"#!/bin/sh\r\n", "/bin/sh"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char interpreter[64];
		assert_int_equal(kind_of_bytes(cases[i].text, strlen(cases[i].text), interpreter, sizeof(interpreter)),
				 ELF_SCRIPT);
		assert_string_equal(interpreter, cases[i].interpreter);
	}
	char small[5];
	assert_int_equal(kind_of_bytes("#!/bin/sh\n", 10, small, sizeof(small)), ELF_SCRIPT);
	assert_string_equal(small, "/bin");
}

/* Asked as somebody else than the owner, in a child; root gives up its rights for it. */
static enum elf_kind kind_for_another(const char *path)
{
	pid_t child = fork();
	if (child == 0) {
		if (setgid(65534) || setuid(65534))
			_exit(100);
		_exit(elf_kind_of(path, NULL, 0));
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 100);
	return (enum elf_kind)WEXITSTATUS(status);
}

static void set_id_programs_of_others_are_not_injectable(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		printf("skip: only root can ask as another user\n");
		skip();
	}
	struct tiny tiny = tiny_program("/lib64/ld-linux-x86-64.so.2");
	char *path = write_bytes("setuid", &tiny, sizeof(tiny));
	assert_int_equal(chmod(folder, 0755), 0);
	static const struct {
		mode_t mode;
		enum elf_kind kind;
	} cases[] = {{0755, ELF_INJECTABLE}, {04755, ELF_SETUID}, {02755, ELF_SETUID}, {02745, ELF_INJECTABLE}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(chmod(path, cases[i].mode), 0);
		assert_int_equal(kind_for_another(path), cases[i].kind);
		assert_int_equal(elf_kind_of(path, NULL, 0), ELF_INJECTABLE); /* root's own program changes nothing */
	}
	free(path);
}

static void garbage_is_unknown(void **state)
{
	(void)state;
	assert_int_equal(elf_kind_of("/nonexistent/program", NULL, 0), ELF_UNKNOWN);
	assert_int_equal(elf_kind_of("/tmp", NULL, 0), ELF_UNKNOWN);
	assert_int_equal(elf_kind_of("/dev/null", NULL, 0), ELF_UNKNOWN);
	assert_int_equal(kind_of_bytes("", 0, NULL, 0), ELF_UNKNOWN);
	assert_int_equal(kind_of_bytes("#!", 2, NULL, 0), ELF_UNKNOWN);
	assert_int_equal(kind_of_bytes("#! \n", 4, NULL, 0), ELF_UNKNOWN);
	assert_int_equal(kind_of_bytes("\177ELF", 4, NULL, 0), ELF_UNKNOWN);
	struct tiny tiny = tiny_program("/lib64/ld-linux-x86-64.so.2");
	for (size_t cut = 4; cut < offsetof(struct tiny, loader); cut++)
		assert_int_not_equal(kind_of_bytes(&tiny, cut, NULL, 0), ELF_INJECTABLE);
	tiny.file.e_phoff = UINT64_MAX - 8;
	assert_int_equal(kind_of_bytes(&tiny, sizeof(tiny), NULL, 0), ELF_UNKNOWN);
	tiny = tiny_program("/lib64/ld-linux-x86-64.so.2");
	tiny.header.p_filesz = UINT64_MAX;
	assert_int_equal(kind_of_bytes(&tiny, sizeof(tiny), NULL, 0), ELF_UNKNOWN);
	tiny = tiny_program("/lib64/ld-linux-x86-64.so.2");
	tiny.file.e_phnum = 0xffff;
	assert_int_equal(kind_of_bytes(&tiny, sizeof(tiny), NULL, 0), ELF_UNKNOWN);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_program_with_glibcs_loader_is_injectable),
	cmocka_unit_test(a_static_program_is_told_from_a_dynamic_one),
	cmocka_unit_test(other_c_libraries_are_known_by_their_loader),
	cmocka_unit_test(other_machines_are_told_apart),
	cmocka_unit_test(a_script_names_its_interpreter),
	cmocka_unit_test(set_id_programs_of_others_are_not_injectable),
	cmocka_unit_test(garbage_is_unknown),
};

UNIT_MAIN_GROUP(tests, make_folder, remove_folder)
