/*
 * plt.c - names for the stubs through which an object calls functions of others.
 *
 * A stub jumps through a slot of the global offset table, and a relocation says which function that slot is for. So each
 * stub's jump is decoded and its slot looked up; the order of stubs, which linkers differ in, does not matter. x86-64 only:
 * elsewhere stubs have no names.
 */
#include "symbol/function_list.h"

#include <gelf.h>
#include <string.h>

enum { STUB_MOST = 16, STUBS_MOST = 1 << 20 };

struct slot {
	uint64_t address;
	const char *symbol;
};

struct plt {
	Elf *elf;
	VEC(struct slot) slots;
	struct function_list *list;
	size_t names; /* section with the names of sections */
};

static int by_slot(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

static const char *dynamic_symbol(const struct plt *plt, const GElf_Shdr *relocations, size_t index)
{
	Elf_Scn *section = elf_getscn(plt->elf, relocations->sh_link);
	GElf_Shdr memory, *header = section ? gelf_getshdr(section, &memory) : NULL;
	Elf_Data *data = header && header->sh_type == SHT_DYNSYM ? elf_getdata(section, NULL) : NULL;
	GElf_Sym symbol;
	if (!data || index > INT32_MAX || !gelf_getsym(data, (int)index, &symbol))
		return NULL;
	return elf_strptr(plt->elf, header->sh_link, symbol.st_name);
}

/* Functions chosen when the program starts have no symbol in their relocation, but the address of the one that chooses. */
static const char *symbol_of(const struct plt *plt, const GElf_Shdr *header, const GElf_Rela *relocation)
{
	unsigned type = (unsigned)GELF_R_TYPE(relocation->r_info);
	if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
		return dynamic_symbol(plt, header, GELF_R_SYM(relocation->r_info));
	if (type != R_X86_64_IRELATIVE)
		return NULL;
	struct function_entry *chooser = function_list_find(plt->list, (uint64_t)relocation->r_addend);
	return chooser ? chooser->symbol : NULL;
}

static void read_relocations(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	for (size_t i = 0; i < count && i < STUBS_MOST; i++) {
		GElf_Rela relocation;
		if (!gelf_getrela(data, (int)i, &relocation))
			break;
		const char *symbol = symbol_of(plt, header, &relocation);
		if (symbol && symbol[0])
			vec_push(&plt->slots, ((struct slot){relocation.r_offset, symbol}));
	}
}

/* The slot that the code at `code` jumps through: [endbr64] [bnd] jmp *offset(%rip). 0: it does not. */
static uint64_t jump_slot(const uint8_t *code, size_t bytes, uint64_t address)
{
	static const uint8_t endbr64[] = {0xF3, 0x0F, 0x1E, 0xFA};
	size_t at = bytes > 4 && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? 4 : 0;
	at += at < bytes && code[at] == 0xF2;
	if (bytes < at + 6 || code[at] != 0xFF || code[at + 1] != 0x25)
		return 0;
	int32_t offset;
	memcpy(&offset, code + at + 2, sizeof(offset));
	return address + at + 6 + (uint64_t)(int64_t)offset;
}

static void read_stubs(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t step = header->sh_entsize == 8 ? 8 : STUB_MOST;
	if (!data || !data->d_buf)
		return;
	const uint8_t *code = data->d_buf;
	for (size_t at = 0; at < data->d_size; at += step) {
		struct slot wanted = {.address = jump_slot(code + at, data->d_size - at, header->sh_addr + at)};
		if (!wanted.address)
			continue;
		const struct slot *slot = bsearch(&wanted, plt->slots.items, plt->slots.len, sizeof(wanted), by_slot);
		if (slot)
			vec_push(&plt->list->entries, ((struct function_entry){.start = header->sh_addr + at,
									       .size = step,
									       .symbol = slot->symbol,
									       .stub = true}));
	}
}

static void each_section(struct plt *plt, bool stubs)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(plt->elf, section));) {
		GElf_Shdr memory, *header = gelf_getshdr(section, &memory);
		const char *name = header ? elf_strptr(plt->elf, plt->names, header->sh_name) : NULL;
		if (!name || header->sh_type == SHT_NOBITS)
			continue;
		if (stubs && header->sh_type == SHT_PROGBITS && strncmp(name, ".plt", 4) == 0)
			read_stubs(plt, section, header);
		else if (!stubs && header->sh_type == SHT_RELA)
			read_relocations(plt, section, header);
	}
}

void plt_add_stubs(struct function_list *list, Dwfl_Module *module)
{
	Dwarf_Addr bias;
	GElf_Ehdr header;
	struct plt plt = {.elf = dwfl_module_getelf(module, &bias), .list = list};
	if (!plt.elf || !gelf_getehdr(plt.elf, &header) || header.e_machine != EM_X86_64 ||
	    elf_getshdrstrndx(plt.elf, &plt.names))
		return;
	each_section(&plt, false);
	if (plt.slots.len) {
		qsort(plt.slots.items, plt.slots.len, sizeof(plt.slots.items[0]), by_slot);
		each_section(&plt, true);
	}
	vec_fini(&plt.slots);
}
