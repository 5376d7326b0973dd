/*
 * function_list.h - the functions that an object's symbol tables name, and its PLT stubs, by address.
 *
 * Of several names for one address the one is kept that a person would use: a function before a label, a global one before
 * a local one, then the shorter one. A symbol without a size reaches to the next symbol, but never into another function
 * of the unwind table.
 */
#ifndef PITOT_SYMBOL_FUNCTION_LIST_H
#define PITOT_SYMBOL_FUNCTION_LIST_H

#include "symbol/object.h"
#include "symbol/unwind_table.h"

#include <elfutils/libdwfl.h>

struct function_entry {
	uint64_t start, size;
	const char *symbol; /* as the linker has it; borrowed from the library */
	const char *name;   /* demangled when first asked for */
	uint8_t rank;       /* lower is better */
	bool stub;          /* of the PLT: `symbol` is what it calls */
};

struct function_list {
	VEC(struct function_entry) entries;
	struct unwind_table unwind;
	bool full; /* there are names of local functions: the object was not stripped */
};

void function_list_init(struct function_list *list, Dwfl_Module *module);
void function_list_fini(struct function_list *list);
/* NULL where no symbol covers the address. */
struct function_entry *function_list_find(struct function_list *list, uint64_t pc);
/* Demangled; the text belongs to the object. */
const char *function_entry_name(struct function_entry *entry, struct symbol_object *object);

/* plt.c: adds the stubs of .plt, .plt.sec and .plt.got. */
void plt_add_stubs(struct function_list *list, Dwfl_Module *module);

#endif
