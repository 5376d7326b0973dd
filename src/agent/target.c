/*
 * target.c - see target.h. Runs before every exec and in children of vfork: little stack, no memory, and what the file says about
 * itself is not trusted. Program headers that do not lie at the beginning, where linkers put them, are not looked for.
 */
#include "agent/target.h"
#include "agent/sys.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#else
enum { OWN_MACHINE = EM_AARCH64 };
#endif

enum { HEAD_BYTES = 1024, LOADER_BYTES = 128, SCRIPTS_MOST = 4 };

union head {
	Elf64_Ehdr file;
	unsigned char ident[EI_NIDENT];
	char bytes[HEAD_BYTES];
};

static long read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return syscall(SYS_pread64, fd, to, bytes, (long)offset);
}

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ld-linux-x86-64.so.2, ld-2.31.so, ld.so, ld64.so.2; not ld-musl-x86_64.so.1. */
static bool is_glibc_loader(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	return starts(name, "ld-linux") || starts(name, "ld-2.") || starts(name, "ld.so") || starts(name, "ld64.so");
}

static bool has_foreign_loader(int fd, const union head *head, size_t bytes)
{
	const Elf64_Ehdr *file = &head->file;
	char loader[LOADER_BYTES];
	for (size_t i = 0; i < file->e_phnum; i++) {
		Elf64_Phdr header;
		uint64_t at = file->e_phoff + i * sizeof(header);
		if (file->e_phoff > bytes || at + sizeof(header) > bytes)
			return false;
		memcpy(&header, head->bytes + at, sizeof(header));
		if (header.p_type != PT_INTERP)
			continue;
		if (header.p_filesz == 0 || header.p_filesz > sizeof(loader) ||
		    read_at(fd, loader, header.p_filesz, header.p_offset) != (long)header.p_filesz)
			return false;
		loader[header.p_filesz - 1] = '\0';
		return !is_glibc_loader(loader);
	}
	return false;
}

/* The program after "#!"; false: none. `out` has TARGET_PATH bytes. */
static bool script_interpreter(const char *line, size_t bytes, char *out)
{
	size_t from = 2, to;
	while (from < bytes && (line[from] == ' ' || line[from] == '\t'))
		from++;
	for (to = from; to < bytes && line[to] && !strchr(" \t\r\n", line[to]); to++)
		continue;
	if (to == from || to == bytes || to - from >= TARGET_PATH)
		return false;
	memcpy(out, line + from, to - from);
	out[to - from] = '\0';
	return true;
}

static bool is_foreign_program(int fd, const union head *head, size_t bytes)
{
	if (bytes < sizeof(head->file) || memcmp(head->ident, ELFMAG, SELFMAG) != 0)
		return false;
	if (head->ident[EI_CLASS] != ELFCLASS64 || head->ident[EI_DATA] != ELFDATA2LSB ||
	    head->file.e_machine != OWN_MACHINE)
		return true;
	return head->file.e_phentsize == sizeof(Elf64_Phdr) && has_foreign_loader(fd, head, bytes);
}

/* True: `script` has the interpreter, which is to be looked at instead. */
static bool look_at(const char *path, char *script, bool *foreign)
{
	union head head;
	/* Something that blocks when it is opened is no program. */
	int fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return false;
	long got = read_at(fd, &head, sizeof(head), 0);
	size_t bytes = got > 0 ? (size_t)got : 0;
	bool is_script = bytes > 2 && head.bytes[0] == '#' && head.bytes[1] == '!';
	*foreign = !is_script && is_foreign_program(fd, &head, bytes);
	sys_close(fd);
	return is_script && script_interpreter(head.bytes, bytes, script);
}

bool target_is_foreign(const char *path)
{
	char script[TARGET_PATH];
	bool foreign = false;
	for (int i = 0; i < SCRIPTS_MOST && path && look_at(path, script, &foreign); i++)
		path = script;
	return foreign;
}

static bool is_program(const char *path)
{
	struct stat status;
	return syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
	       syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

bool target_search(const char *file, const char *folders, char *out)
{
	size_t length = strlen(file);
	if (strchr(file, '/') || !length) {
		if (length >= TARGET_PATH)
			return false;
		memcpy(out, file, length + 1);
		return length > 0;
	}
	for (const char *at = folders; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t folder = strcspn(at, ":");
		if (folder + 1 + length >= TARGET_PATH)
			continue;
		memcpy(out, at, folder);
		memcpy(out + folder, "/", 1);
		memcpy(out + folder + (folder > 0), file, length + 1);
		if (is_program(out))
			return true;
	}
	return false;
}
