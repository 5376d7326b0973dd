/* function_list.c - see function_list.h. */
#include "symbol/function_list.h"
#include "base/mem.h"
#include "symbol/demangle.h"

#include <string.h>

enum { RANK_GLOBAL, RANK_WEAK, RANK_LOCAL, RANK_LABEL };
/* How many symbols before an address are looked at: functions do not nest deeper in symbol tables. */
enum { LOOK_BACK = 16 };

static uint64_t covered_to(const struct function_entry *entry)
{
	return entry->start + entry->size;
}

/* Aliases of one address: the best first. */
static int by_address(const void *left, const void *right)
{
	const struct function_entry *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	size_t long_a = strlen(a->symbol), long_b = strlen(b->symbol);
	if (long_a != long_b)
		return long_a < long_b ? -1 : 1;
	return strcmp(a->symbol, b->symbol);
}

static bool is_code(Dwfl_Module *module, const GElf_Sym *symbol, GElf_Word section)
{
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	GElf_Shdr memory, *header;
	if (section != SHN_XINDEX && section >= SHN_LORESERVE)
		return false;
	header = gelf_getshdr(elf_getscn(elf, section), &memory);
	return header && (header->sh_flags & SHF_EXECINSTR) && symbol->st_shndx != SHN_UNDEF;
}

/* RANK_…, or -1 for what is no code. Labels of hand-written assembler have no type. */
static int rank_of(Dwfl_Module *module, const GElf_Sym *symbol, const char *name, GElf_Word section)
{
	int type = GELF_ST_TYPE(symbol->st_info), binding = GELF_ST_BIND(symbol->st_info);
	if (!name || !name[0] || symbol->st_shndx == SHN_UNDEF)
		return -1;
	if (type == STT_NOTYPE)
		return name[0] != '$' && name[0] != '.' && is_code(module, symbol, section) ? RANK_LABEL : -1;
	if (type != STT_FUNC && type != STT_GNU_IFUNC)
		return -1;
	return binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? RANK_GLOBAL
	       : binding == STB_WEAK                              ? RANK_WEAK
								  : RANK_LOCAL;
}

static void add_symbols(struct function_list *list, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section = 0;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
		int rank = name ? rank_of(module, &symbol, name, section) : -1;
		if (rank < 0 || address == 0)
			continue;
		list->full |= rank == RANK_LOCAL;
		vec_push(&list->entries,
			 ((struct function_entry){
				 .start = address, .size = symbol.st_size, .symbol = name, .rank = (uint8_t)rank}));
	}
}

static void sort_entries(struct function_list *list)
{
	qsort(list->entries.items, list->entries.len, sizeof(list->entries.items[0]), by_address);
	size_t kept = 0;
	for (size_t i = 0; i < list->entries.len; i++)
		if (kept == 0 || list->entries.items[kept - 1].start != list->entries.items[i].start)
			list->entries.items[kept++] = list->entries.items[i];
	list->entries.len = kept;
}

void function_list_init(struct function_list *list, Dwfl_Module *module)
{
	*list = (struct function_list){0};
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	if (elf)
		unwind_table_init(&list->unwind, elf);
	add_symbols(list, module);
	if (list->entries.len)
		sort_entries(list);
	size_t before = list->entries.len;
	plt_add_stubs(list, module);
	if (list->entries.len > before)
		sort_entries(list);
}

void function_list_fini(struct function_list *list)
{
	vec_fini(&list->entries);
}

/* A size of 0 is not known: up to the next symbol, if that is still the same function. */
static bool covers(const struct function_list *list, const struct function_entry *entry, uint64_t pc)
{
	if (entry->size)
		return pc < covered_to(entry);
	const struct function_entry *next = entry + 1, *end = list->entries.items + list->entries.len;
	if (next < end && pc >= next->start)
		return false;
	return unwind_table_start(&list->unwind, pc) <= entry->start;
}

struct function_entry *function_list_find(struct function_list *list, uint64_t pc)
{
	size_t low = 0, high = list->entries.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list->entries.items[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t back = 0; back < LOOK_BACK && back < low; back++)
		if (covers(list, &list->entries.items[low - 1 - back], pc))
			return &list->entries.items[low - 1 - back];
	return NULL;
}

const char *function_entry_name(struct function_entry *entry, struct symbol_object *object)
{
	if (!entry->name) {
		char *name = demangle_name(entry->symbol);
		if (entry->stub) {
			char *stub = mem_printf("%s@plt", name);
			free(name);
			name = stub;
		}
		entry->name = object_keep(object, name);
	}
	return entry->name;
}
