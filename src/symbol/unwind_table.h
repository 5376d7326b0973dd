/*
 * unwind_table.h - where functions begin, from .eh_frame_hdr: known even where all symbols were stripped.
 */
#ifndef PITOT_SYMBOL_UNWIND_TABLE_H
#define PITOT_SYMBOL_UNWIND_TABLE_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_section {
	const uint8_t *bytes; /* borrowed from the library */
	size_t size;
	uint64_t address;
};

struct unwind_table {
	struct unwind_section header, frames;
	size_t count; /* 0: there is none, or not in the form that compilers use */
};

void unwind_table_init(struct unwind_table *table, Elf *elf);
/* The beginning of the function that covers the address; 0 where none does. */
uint64_t unwind_table_start(const struct unwind_table *table, uint64_t pc);

#endif
