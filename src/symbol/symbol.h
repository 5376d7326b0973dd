/*
 * symbol.h - addresses of native code become functions, files and lines, once, after the run.
 *
 * In two steps, so that the work can be shared out: first every address that is wanted is named (symbol_want), then all are
 * resolved at once, each object by one of several threads (symbol_resolve), then they can be asked for (symbol_get).
 * Addresses are those of the object's own program headers (address in memory less load bias). A call's return address
 * is asked for as such: the instruction before it is what is looked up, unless `exact`.
 *
 * An object is known by its build-id, and by its path where it has none: the file at the path is only used where its
 * build-id is the wanted one. Debug files are found by build-id and by .gnu_debuglink below /usr/lib/debug and
 * $PITOT_DEBUG_DIR; nothing is fetched. What could not be named gets "[libfoo.so+0x1234]", and symbol_note tells why. libdw
 * and libelf are included in this folder only.
 */
#ifndef PITOT_SYMBOL_SYMBOL_H
#define PITOT_SYMBOL_SYMBOL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function at an address; several where calls were inlined there, the innermost first. */
struct symbol_frame {
	const char *function; /* demangled; never NULL */
	const char *file;     /* NULL: not known */
	int line;             /* 0: not known */
	int first_line;       /* where the function is declared; 0: not known */
	bool inlined;         /* into the next frame of the array */
};

struct symbol_object; /* one file */
struct symbol_table;  /* all of them */

struct symbol_table *symbol_table_new(void);
void symbol_table_free(struct symbol_table *table);

/* The same build-id and path again give the same object. "[vdso]" is this machine's own. Borrowed. */
struct symbol_object *symbol_add(struct symbol_table *table, const char *path, const uint8_t *build_id,
				 size_t build_id_bytes);
void symbol_want(struct symbol_object *object, uint64_t address, bool exact);
/* `threads` 0: as many as there are cores. `progress` (may be NULL) hears how many of the objects are done. */
void symbol_resolve(struct symbol_table *table, int threads, void (*progress)(void *context, size_t done, size_t all),
		    void *context);
/* At least one frame for every address that was wanted. Borrowed from the table. */
size_t symbol_get(const struct symbol_object *object, uint64_t address, bool exact, const struct symbol_frame **out);
/* Whether [start of the named function] is known: the evaluation loop and the like are found by name. */
const char *symbol_note(const struct symbol_object *object); /* "stripped, no debug file", …; NULL: all is well */

#endif
