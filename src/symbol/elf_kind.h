/*
 * elf_kind.h - whether the agent can be put into a program, and if not, why: judged from the file alone.
 *
 * The loader of glibc preloads the agent. A program that has no loader, another C library's, another machine's, or one that
 * the kernel starts in secure mode, does not get it.
 */
#ifndef PITOT_SYMBOL_ELF_KIND_H
#define PITOT_SYMBOL_ELF_KIND_H

#include <stddef.h>

/* name, words for "not covered: …" */
#define ELF_KINDS(X)                                                                                                   \
	X(INJECTABLE, "can be profiled")                                                                               \
	X(STATIC, "statically linked")                                                                                 \
	X(SETUID, "setuid or with file capabilities")                                                                  \
	X(OTHER_LIBC, "other C library")                                                                               \
	X(OTHER_MACHINE, "other machine type")                                                                         \
	X(SCRIPT, "a script")                                                                                          \
	X(UNKNOWN, "its file is gone or cannot be read")

enum elf_kind {
#define ELF_KIND_ID(id, words) ELF_##id,
	ELF_KINDS(ELF_KIND_ID)
#undef ELF_KIND_ID
		ELF_KIND_COUNT
};

/*
 * `interpreter` (may be NULL) is always terminated: the program after "#!" for a script, the loader for a dynamic program,
 * else empty. A script is what its interpreter is; the caller asks again. UNKNOWN: unreadable, or no program at all.
 */
enum elf_kind elf_kind_of(const char *path, char *interpreter, size_t size);

/* Of what is started as `program`: found along PATH, or from `folder` (NULL: the current one) if it is a relative path; through
 * scripts to their interpreter. SCRIPT: too many of them. */
enum elf_kind elf_kind_of_program(const char *program, const char *folder);
const char *elf_kind_words(enum elf_kind kind);

#endif
