/*
 * elf_kind.c - see elf_kind.h. Reads the file header, the program headers and the loader's path, nothing else; what the file
 * says about itself is not trusted. Secure mode is the kernel's rule: set-id bits that would change an id, or file
 * capabilities for somebody who is not root, on a file system that honours them.
 */
#include "symbol/elf_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE }; /* the agent runs on the two above */
#endif

enum { HEADERS_MOST = 256, SCRIPT_LINE = 256 };

static const char *const words[] = {
#define ELF_KIND_WORDS(id, text) text,
	ELF_KINDS(ELF_KIND_WORDS)
#undef ELF_KIND_WORDS
};

const char *elf_kind_words(enum elf_kind kind)
{
	return (size_t)kind < ELF_KIND_COUNT ? words[kind] : words[ELF_UNKNOWN];
}

static bool is_secure(int fd)
{
	struct stat status;
	struct statvfs system;
	if (fstat(fd, &status) || fstatvfs(fd, &system) || (system.f_flag & ST_NOSUID))
		return false;
	/* The set-group-id bit without the group's right to execute once meant mandatory locks, and changes no id. */
	bool group = (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP);
	if (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) || (group && status.st_gid != getegid()))
		return true;
	return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static void copy_text(char *out, size_t size, const char *text, size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(out, text, length);
	out[length] = '\0';
}

static enum elf_kind judge_script(const char *line, size_t bytes, char *interpreter, size_t size)
{
	const char *end = memchr(line, '\n', bytes);
	const char *from = line + 2, *stop = end ? end : line + bytes;
	while (from < stop && (*from == ' ' || *from == '\t'))
		from++;
	const char *to = from;
	while (to < stop && *to && !strchr(" \t\r", *to))
		to++;
	if (to == from)
		return ELF_UNKNOWN;
	copy_text(interpreter, size, from, (size_t)(to - from));
	return ELF_SCRIPT;
}

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ld-linux-x86-64.so.2, ld-linux-aarch64.so.1, ld-2.31.so, ld.so, ld64.so.2; not ld-musl-x86_64.so.1 or ld-uClibc.so. */
static bool is_glibc_loader(const char *path)
{
	const char *name = last_part(path);
	return starts(name, "ld-linux") || starts(name, "ld-2.") || starts(name, "ld.so") || starts(name, "ld64.so");
}

static bool read_loader(int fd, const Elf64_Phdr *header, char *out, size_t size)
{
	if (header->p_filesz == 0 || header->p_filesz > size || header->p_offset > INT64_MAX - size)
		return false;
	ssize_t got = pread(fd, out, header->p_filesz, (off_t)header->p_offset);
	if (got != (ssize_t)header->p_filesz)
		return false;
	out[got - 1] = '\0';
	return out[0] != '\0';
}

static enum elf_kind judge_program(int fd, const char *path, const Elf64_Ehdr *file, char *interpreter, size_t size)
{
	Elf64_Phdr headers[HEADERS_MOST];
	size_t count = file->e_phnum, bytes = count * sizeof(headers[0]);
	if (file->e_phentsize != sizeof(headers[0]) || count == 0 || count > HEADERS_MOST ||
	    file->e_phoff > INT64_MAX - bytes || pread(fd, headers, bytes, (off_t)file->e_phoff) != (ssize_t)bytes)
		return ELF_UNKNOWN;
	char loader[PATH_MAX] = "";
	for (size_t i = 0; i < count && !loader[0]; i++)
		if (headers[i].p_type == PT_INTERP && !read_loader(fd, &headers[i], loader, sizeof(loader)))
			return ELF_UNKNOWN;
	copy_text(interpreter, size, loader, strlen(loader));
	if (is_secure(fd))
		return ELF_SETUID;
	/* The loader itself can be the program: `ld-linux-x86-64.so.2 ./program`. */
	if (!loader[0])
		return is_glibc_loader(path) ? ELF_INJECTABLE : ELF_STATIC;
	return is_glibc_loader(loader) ? ELF_INJECTABLE : ELF_OTHER_LIBC;
}

static enum elf_kind judge(int fd, const char *path, char *interpreter, size_t size)
{
	union {
		Elf64_Ehdr file;
		unsigned char ident[EI_NIDENT];
		char line[SCRIPT_LINE];
	} head;
	ssize_t got = pread(fd, &head, sizeof(head), 0);
	if (got > 2 && head.line[0] == '#' && head.line[1] == '!')
		return judge_script(head.line, (size_t)got, interpreter, size);
	if (got < EI_NIDENT || memcmp(head.ident, ELFMAG, SELFMAG) != 0)
		return ELF_UNKNOWN;
	if (head.ident[EI_CLASS] == ELFCLASS32 || head.ident[EI_DATA] != ELFDATA2LSB)
		return ELF_OTHER_MACHINE;
	if (got < (ssize_t)sizeof(head.file) || head.ident[EI_CLASS] != ELFCLASS64 ||
	    (head.file.e_type != ET_EXEC && head.file.e_type != ET_DYN))
		return ELF_UNKNOWN;
	if (head.file.e_machine != OWN_MACHINE)
		return ELF_OTHER_MACHINE;
	return judge_program(fd, path, &head.file, interpreter, size);
}

enum elf_kind elf_kind_of(const char *path, char *interpreter, size_t size)
{
	char unused[1];
	if (!interpreter || size == 0) {
		interpreter = unused;
		size = sizeof(unused);
	}
	interpreter[0] = '\0';
	/* A FIFO must not be waited for, a device not opened for its effects. */
	struct stat status;
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return ELF_UNKNOWN;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ELF_UNKNOWN;
	enum elf_kind kind = judge(fd, path, interpreter, size);
	close(fd);
	return kind;
}

static bool find_program(const char *program, const char *folder, char *out, size_t size)
{
	if (strchr(program, '/')) {
		bool joined = folder && program[0] != '/';
		snprintf(out, size, "%s%s%s", joined ? folder : "", joined ? "/" : "", program);
		return access(out, F_OK) == 0;
	}
	const char *path = getenv("PATH");
	for (const char *at = path ? path : "/usr/bin:/bin"; program[0] && *at;) {
		int length = (int)strcspn(at, ":");
		snprintf(out, size, "%.*s/%s", length, at, program);
		if (access(out, X_OK) == 0)
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

enum elf_kind elf_kind_of_program(const char *program, const char *folder)
{
	enum { MOST_SCRIPTS = 4 };
	char path[PATH_MAX], interpreter[PATH_MAX];
	enum elf_kind kind = find_program(program, folder, path, sizeof(path)) ? ELF_SCRIPT : ELF_UNKNOWN;
	for (int i = 0; i < MOST_SCRIPTS && kind == ELF_SCRIPT; i++) {
		kind = elf_kind_of(path, interpreter, sizeof(interpreter));
		snprintf(path, sizeof(path), "%s", interpreter);
	}
	return kind;
}
