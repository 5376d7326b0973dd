/*
 * debug_file.c - see debug_file.h.
 *
 * Below $PITOT_DEBUG_DIR and /usr/lib/debug a debug file lies as .build-id/ab/cdef….debug, or under the name and folder that
 * .gnu_debuglink and the object's path give. It is taken only where its build-id is the object's, or, where there is none, its
 * checksum is the one in the link. The library's own search is not used: it would ask servers where the environment tells it
 * to.
 */
#include "symbol/debug_file.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

struct build_id {
	const uint8_t *bytes;
	size_t count;
};

static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Whether the file has that build-id. With none wanted, whether it is an object at all. */
static bool has_build_id(int fd, struct build_id wanted)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *found = NULL;
	bool same = elf && elf_kind(elf) == ELF_K_ELF;
	if (same && wanted.count) {
		ssize_t bytes = dwelf_elf_gnu_build_id(elf, &found);
		same = bytes == (ssize_t)wanted.count && memcmp(found, wanted.bytes, wanted.count) == 0;
	}
	elf_end(elf);
	return same;
}

/* The checksum of .gnu_debuglink: CRC-32 as in zip and gzip. */
static uint32_t crc32_of(int fd)
{
	uint32_t table[256];
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;
		for (int bit = 0; bit < 8; bit++)
			value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
		table[i] = value;
	}
	enum { BLOCK = 1 << 16 };
	uint8_t *block = mem_alloc(BLOCK);
	uint32_t crc = 0xFFFFFFFFu;
	ssize_t got;
	for (off_t at = 0; (got = pread(fd, block, BLOCK, at)) > 0; at += got)
		for (ssize_t i = 0; i < got; i++)
			crc = table[(crc ^ block[i]) & 0xFF] ^ crc >> 8;
	free(block);
	return ~crc;
}

static const char *debug_dir(int which)
{
	const char *own = getenv("PITOT_DEBUG_DIR");
	if (which == 0)
		return own && own[0] ? own : "";
	return SYSTEM_DEBUG_DIR;
}

enum { DEBUG_DIRS = 2 };

/* A descriptor, or -1. */
static int find_by_build_id(struct build_id id)
{
	if (id.count < 2)
		return -1;
	for (int which = 0; which < DEBUG_DIRS; which++) {
		if (!debug_dir(which)[0])
			continue;
		struct str path = {0};
		str_appendf(&path, "%s/.build-id/%02x/", debug_dir(which), id.bytes[0]);
		for (size_t i = 1; i < id.count; i++)
			str_appendf(&path, "%02x", id.bytes[i]);
		str_append(&path, ".debug");
		int fd = open_regular(path.text);
		str_fini(&path);
		if (fd >= 0 && has_build_id(fd, id))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

struct link {
	const char *name;
	uint32_t crc;
	struct build_id id;
	struct stat object; /* the object itself may bear the name that its link has */
};

static int try_link(const struct link *link, const char *root, const char *folder, const char *below)
{
	char *path = mem_printf("%s%s%s/%s", root, folder, below, link->name);
	int fd = open_regular(path);
	free(path);
	struct stat status;
	if (fd < 0)
		return -1;
	bool right = fstat(fd, &status) == 0 &&
		     !(status.st_dev == link->object.st_dev && status.st_ino == link->object.st_ino) &&
		     (link->id.count ? has_build_id(fd, link->id) : crc32_of(fd) == link->crc);
	if (right)
		return fd;
	close(fd);
	return -1;
}

static int try_link_from(const struct link *link, const char *folder)
{
	int fd = try_link(link, "", folder, "");
	if (fd < 0)
		fd = try_link(link, "", folder, "/.debug");
	for (int which = 0; fd < 0 && which < DEBUG_DIRS; which++) {
		if (!debug_dir(which)[0])
			continue;
		fd = try_link(link, debug_dir(which), folder, "");
		if (fd < 0)
			fd = try_link(link, debug_dir(which), "", "");
	}
	return fd;
}

/* From the folder that the path names, then from where the file really is: /lib is a link to /usr/lib on many machines. */
static int find_by_link(const char *path, const char *name, uint32_t crc, struct build_id id)
{
	struct link link = {.name = name, .crc = crc, .id = id};
	if (strchr(name, '/') || stat(path, &link.object))
		return -1;
	char *folder = mem_strdup(path), *real = realpath(path, NULL);
	int fd = -1;
	for (int which = 0; which < 2 && fd < 0; which++) {
		char *from = which ? real : folder, *slash = from ? strrchr(from, '/') : NULL;
		if (!slash)
			continue;
		*slash = '\0';
		fd = try_link_from(&link, from);
	}
	free(folder);
	free(real);
	return fd;
}

/* Where an open file lies; NULL where that cannot be told. Owned by the caller. */
static char *path_of(int fd)
{
	char *link = mem_printf("/proc/self/fd/%d", fd), *path = realpath(link, NULL);
	free(link);
	return path;
}

/* The library asks this once for the debug file, and again for dwz's, which debug_file_dwarf finds by itself. */
static int find_debuginfo(Dwfl_Module *module, void **context, const char *name, Dwarf_Addr base, const char *path,
			  const char *link, GElf_Word crc, char **found)
{
	(void)name;
	(void)base;
	struct build_id id = {0};
	GElf_Addr where;
	int bytes = dwfl_module_build_id(module, &id.bytes, &where);
	id.count = bytes > 0 ? (size_t)bytes : 0;
	if (*context)
		return -1;
	*context = module;
	int fd = find_by_build_id(id);
	if (fd < 0 && link && path)
		fd = find_by_link(path, link, crc, id);
	if (fd >= 0)
		*found = path_of(fd);
	return fd;
}

static int find_no_elf(Dwfl_Module *module, void **context, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
	(void)module;
	(void)context;
	(void)name;
	(void)base;
	(void)path;
	(void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_no_elf, .find_debuginfo = find_debuginfo};

/* The kernel's code in every process, copied from this one into a file that the library can read. */
static int open_vdso(void)
{
	const Elf64_Ehdr *image =
		(const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */
	if (!image || memcmp(image->e_ident, ELFMAG, SELFMAG) != 0)
		return -1;
	size_t bytes = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, image, bytes) != (ssize_t)bytes) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_object(struct debug_file *file, const struct symbol_object *object)
{
	if (strcmp(object->path, "[vdso]") == 0)
		return open_vdso();
	struct build_id id = {object->build_id, object->build_id_bytes};
	int fd = open_regular(object->path);
	if (fd >= 0 && has_build_id(fd, id))
		return fd;
	file->problem = fd >= 0           ? "the file is not the one that ran, no debug file"
			: errno == ENOENT ? "the file is gone, no debug file"
			: errno == EACCES ? "the file cannot be read, no debug file"
					  : "the file cannot be opened, no debug file";
	if (fd >= 0)
		close(fd);
	file->stand_in = true;
	return find_by_build_id(id);
}

bool debug_file_open(struct debug_file *file, const struct symbol_object *object)
{
	*file = (struct debug_file){.problem = "the file cannot be opened, no debug file"};
	elf_version(EV_CURRENT);
	int fd = open_object(file, object);
	if (fd < 0)
		return false;
	file->dwfl = dwfl_begin(&callbacks);
	if (file->dwfl)
		file->module = dwfl_report_elf(file->dwfl, "object", object->path, fd, 0, true);
	if (!file->module) {
		close(fd);
		file->problem = "the file is damaged";
		return false;
	}
	dwfl_report_end(file->dwfl, NULL, NULL);
	file->problem = NULL;
	return true;
}

void debug_file_close(struct debug_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	if (file->common)
		dwarf_end(file->common);
	if (file->common_fd > 0)
		close(file->common_fd);
	*file = (struct debug_file){0};
}

/* A common file whose name is relative lies beside the debug file, or beside the object where that has the information. */
static int find_beside(struct debug_file *file, const char *name, struct build_id id)
{
	const char *main_path = NULL, *debug_path = NULL;
	dwfl_module_info(file->module, NULL, NULL, NULL, NULL, NULL, &main_path, &debug_path);
	char *path = mem_strdup(debug_path ? debug_path : main_path ? main_path : "");
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	char *whole = file_join(slash ? path : ".", name);
	int fd = open_regular(whole);
	free(whole);
	free(path);
	if (fd >= 0 && has_build_id(fd, id))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* What dwz moved out of several debug files. Below /usr/lib/debug the library finds it by itself. */
static void find_common(struct debug_file *file, Dwarf *dwarf)
{
	const char *name;
	const void *bytes;
	ssize_t count = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);
	if (count <= 0 || dwarf_getalt(dwarf))
		return;
	struct build_id id = {bytes, (size_t)count};
	int fd = find_by_build_id(id);
	if (fd < 0)
		fd = find_beside(file, name, id);
	if (fd < 0)
		return;
	file->common_fd = fd;
	file->common = dwarf_begin(fd, DWARF_C_READ);
	if (file->common)
		dwarf_setalt(dwarf, file->common);
}

Dwarf *debug_file_dwarf(struct debug_file *file, Dwarf_Addr *bias)
{
	Dwarf *dwarf = dwfl_module_getdwarf(file->module, bias);
	if (dwarf)
		find_common(file, dwarf);
	return dwarf;
}
