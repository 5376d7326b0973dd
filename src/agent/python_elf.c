/*
 * python_elf.c - symbols of a loaded object, by the hash tables that the loader itself uses, or from the program's file.
 *
 * dlsym takes the loader's lock; this does not. Tables are read in place from memory that the loader has mapped and
 * relocated. The file is read for the program itself only, because that is where a statically linked interpreter sits when
 * nothing was exported (no -rdynamic): by plain system calls, and within a bound, because it may happen in a handler.
 */
#include "agent/python.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CHAIN_MOST = 1 << 16, /* symbols in one bucket: more is a damaged table */
	DYNAMIC_MOST = 256,
	NAMES_MOST_BYTES = 16 << 20,
	SECTIONS_MOST = 4096
};

bool elf_open(struct elf_object *object, uintptr_t bias, uintptr_t dynamic)
{
	memset(object, 0, sizeof(*object));
	object->bias = bias;
	const ElfW(Dyn) *entry = (const ElfW(Dyn) *)dynamic;
	for (unsigned i = 0; i < DYNAMIC_MOST && guard_readable((uintptr_t)entry, sizeof(*entry)); i++, entry++) {
		if (entry->d_tag == DT_NULL)
			break;
		/* glibc relocates these in place; where the section is read-only it does not. */
		uintptr_t value = entry->d_un.d_ptr < bias ? entry->d_un.d_ptr + bias : entry->d_un.d_ptr;
		if (entry->d_tag == DT_SYMTAB)
			object->symbols = value;
		else if (entry->d_tag == DT_STRTAB)
			object->strings = value;
		else if (entry->d_tag == DT_GNU_HASH)
			object->gnu_hash = value;
		else if (entry->d_tag == DT_HASH)
			object->hash = value;
	}
	return object->symbols && object->strings && (object->gnu_hash || object->hash);
}

static uint32_t hash_gnu(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint32_t hash_sysv(const char *name)
{
	uint32_t hash = 0;
	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		uint32_t top = hash & 0xf0000000;
		hash ^= top >> 24;
		hash &= ~top;
	}
	return hash;
}

/* Whether symbol `index` is a definition of that name. */
static bool symbol_is(const struct elf_object *object, uint32_t index, const char *name, struct elf_symbol *out)
{
	const ElfW(Sym) *symbol = (const ElfW(Sym) *)object->symbols + index;
	size_t bytes = strlen(name) + 1;
	if (!guard_readable((uintptr_t)symbol, sizeof(*symbol)) || symbol->st_shndx == SHN_UNDEF)
		return false;
	uintptr_t text = object->strings + symbol->st_name;
	if (!guard_readable(text, bytes) || memcmp((const char *)text, name, bytes) != 0)
		return false;
	out->address = object->bias + symbol->st_value;
	out->bytes = symbol->st_size;
	return true;
}

/* Header: buckets, first hashed symbol, words of the filter, shift; filter; buckets; one hash per symbol, its lowest bit
 * set at the end of a bucket. */
static bool find_gnu(const struct elf_object *object, const char *name, struct elf_symbol *out)
{
	const uint32_t *head = (const uint32_t *)object->gnu_hash;
	if (!guard_readable((uintptr_t)head, 16) || !head[0] || !head[2] || head[3] > 31)
		return false;
	uint32_t hash = hash_gnu(name);
	const ElfW(Addr) *filter = (const ElfW(Addr) *)(head + 4);
	const unsigned bits = sizeof(*filter) * 8;
	uintptr_t word = (uintptr_t)(filter + hash / bits % head[2]);
	if (!guard_readable(word, sizeof(*filter)))
		return false;
	ElfW(Addr) mask = (ElfW(Addr))1 << hash % bits | (ElfW(Addr))1 << (hash >> head[3]) % bits;
	if ((*(const ElfW(Addr) *)word & mask) != mask)
		return false;
	const uint32_t *buckets = (const uint32_t *)(filter + head[2]), *chain = buckets + head[0];
	if (!guard_readable((uintptr_t)(buckets + hash % head[0]), sizeof(*buckets)))
		return false;
	uint32_t index = buckets[hash % head[0]];
	if (index < head[1])
		return false;
	for (unsigned i = 0; i < CHAIN_MOST; i++, index++) {
		const uint32_t *at = chain + (index - head[1]);
		if (!guard_readable((uintptr_t)at, sizeof(*at)))
			return false;
		if ((*at | 1) == (hash | 1) && symbol_is(object, index, name, out))
			return true;
		if (*at & 1)
			return false;
	}
	return false;
}

/* Header: buckets, symbols; buckets; for each symbol the next one of its bucket. */
static bool find_sysv(const struct elf_object *object, const char *name, struct elf_symbol *out)
{
	const uint32_t *head = (const uint32_t *)object->hash;
	if (!guard_readable((uintptr_t)head, 8) || !head[0])
		return false;
	const uint32_t *buckets = head + 2, *chain = buckets + head[0];
	const uint32_t *at = buckets + hash_sysv(name) % head[0];
	for (unsigned i = 0; i < CHAIN_MOST && guard_readable((uintptr_t)at, sizeof(*at)) && *at; i++) {
		if (symbol_is(object, *at, name, out))
			return true;
		at = chain + *at;
	}
	return false;
}

struct elf_symbol elf_find(const struct elf_object *object, const char *name)
{
	struct elf_symbol found = {0};
	if (object->gnu_hash)
		find_gnu(object, name, &found);
	else
		find_sysv(object, name, &found);
	return found;
}

/* The program's own load bias and dynamic section, from what the kernel told it. */
static bool program_dynamic(uintptr_t *bias, uintptr_t *dynamic)
{
	const ElfW(Phdr) *header = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	uintptr_t place = 0;
	bool known = false;
	*bias = 0;
	for (unsigned long i = 0; header && i < count; i++) {
		if (header[i].p_type == PT_PHDR)
			*bias = (uintptr_t)header - header[i].p_vaddr;
		if (header[i].p_type == PT_DYNAMIC) {
			place = header[i].p_vaddr;
			known = true;
		}
	}
	*dynamic = *bias + place;
	return known;
}

bool elf_is_program(uintptr_t dynamic)
{
	uintptr_t bias, program;
	return program_dynamic(&bias, &program) && program == dynamic;
}

bool elf_open_program(struct elf_object *object)
{
	uintptr_t bias, dynamic;
	return program_dynamic(&bias, &dynamic) && elf_open(object, bias, dynamic);
}

/* The file as mapped: every offset in it is checked against `bytes`. */
struct mapped_file {
	const unsigned char *start;
	size_t bytes;
};

static const void *file_at(const struct mapped_file *file, uint64_t offset, uint64_t bytes)
{
	if (offset > file->bytes || bytes > file->bytes - offset || offset % sizeof(uint64_t))
		return NULL;
	return file->start + offset;
}

static const ElfW(Shdr) * symbol_section(const struct mapped_file *file, const ElfW(Shdr) * *names)
{
	const ElfW(Ehdr) *head = file_at(file, 0, sizeof(*head));
	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_shentsize != sizeof(ElfW(Shdr)) ||
	    head->e_shnum > SECTIONS_MOST)
		return NULL;
	const ElfW(Shdr) *sections = file_at(file, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*sections));
	for (unsigned i = 0; sections && i < head->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head->e_shnum) {
			*names = &sections[sections[i].sh_link];
			return &sections[i];
		}
	return NULL;
}

static bool search_file(const struct mapped_file *file, uintptr_t bias, const char *const *names,
			struct elf_symbol *found, unsigned count)
{
	const ElfW(Shdr) *texts = NULL, *section = symbol_section(file, &texts);
	if (!section || texts->sh_size > NAMES_MOST_BYTES || texts->sh_offset > file->bytes ||
	    texts->sh_size > file->bytes - texts->sh_offset)
		return false;
	const char *strings = (const char *)file->start + texts->sh_offset;
	const ElfW(Sym) *symbol = file_at(file, section->sh_offset, section->sh_size);
	/* One look over the names spares most programs the loop over the symbols. */
	if (!symbol || !memmem(strings, texts->sh_size, names[0], strlen(names[0]) + 1))
		return false;
	for (size_t left = section->sh_size / sizeof(*symbol); left; left--, symbol++) {
		if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= texts->sh_size)
			continue;
		const char *name = strings + symbol->st_name;
		size_t most = texts->sh_size - symbol->st_name;
		for (unsigned i = 0; i < count; i++)
			if (*name == *names[i] && strlen(names[i]) < most && strcmp(name, names[i]) == 0)
				found[i] = (struct elf_symbol){bias + symbol->st_value, symbol->st_size};
	}
	return found[0].address != 0;
}

bool elf_find_in_file(uintptr_t bias, uintptr_t dynamic, const char *const *names, struct elf_symbol *found,
		      unsigned count)
{
	if (!elf_is_program(dynamic))
		return false;
	/* System calls themselves: the wrappers of open and close are watched, by us too. */
	int descriptor = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return false;
	bool known = false;
	struct stat status;
	if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
		struct mapped_file file = {.bytes = (size_t)status.st_size};
		void *start = (void *)syscall(SYS_mmap, NULL, file.bytes, PROT_READ, MAP_PRIVATE, descriptor, 0L);
		if (start != MAP_FAILED) {
			file.start = start;
			known = search_file(&file, bias, names, found, count);
			syscall(SYS_munmap, start, file.bytes);
		}
	}
	syscall(SYS_close, descriptor);
	return known;
}
