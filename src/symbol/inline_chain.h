/*
 * inline_chain.h - functions, inlined calls and lines at many addresses, from one object's debug information.
 *
 * Nothing is looked up by address. The units, the functions of units that matter, and the inlined calls of functions that
 * matter are walked once each, and every range of code on the way picks the wanted addresses that it covers, which are
 * sorted. So the cost is that of the parts of the debug information that are wanted, whatever their size, and compilers that
 * write no index of addresses are not slower.
 */
#ifndef PITOT_SYMBOL_INLINE_CHAIN_H
#define PITOT_SYMBOL_INLINE_CHAIN_H

#include "symbol/object.h"

#include <elfutils/libdw.h>

struct inline_chain;

/* One function of the chain at an address. What is not known is NULL or 0. */
struct inline_frame {
	const char *symbol; /* the linker's name */
	const char *name;   /* the source's; plain, without its namespace */
	const char *file;   /* as the compiler was given it */
	const char *folder; /* that a relative `file` counts from */
	int line;
	int first_line;
	uint64_t identity; /* the same for all places of one function */
};

/* `pcs` sorted, in the addresses of the debug information. NULL where it has no units. */
struct inline_chain *inline_chain_new(Dwarf *dwarf, const uint64_t *pcs, size_t count);
void inline_chain_free(struct inline_chain *chain);
/*
 * Frames at the address with that index, the innermost first; false after the last. The last one has neither symbol nor
 * name where only the line is known. Texts are borrowed from the library.
 */
bool inline_chain_next(struct inline_chain *chain, size_t index, size_t depth, struct inline_frame *out);

#endif
