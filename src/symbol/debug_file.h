/*
 * debug_file.h - the file of an object, accepted only where it is the one that ran, and the file with its debug information.
 */
#ifndef PITOT_SYMBOL_DEBUG_FILE_H
#define PITOT_SYMBOL_DEBUG_FILE_H

#include "symbol/object.h"

#include <elfutils/libdwfl.h>

struct debug_file {
	Dwfl *dwfl;
	Dwfl_Module *module; /* its addresses are the object's own */
	bool stand_in;       /* the object's file is gone or another one; this is its debug file */
	Dwarf *common;       /* what several debug files share */
	int common_fd;
	const char *problem; /* why there is no module; NULL: there is */
};

/* False with `problem` set where nothing usable was found. debug_file_close in either case. */
bool debug_file_open(struct debug_file *file, const struct symbol_object *object);
void debug_file_close(struct debug_file *file);
/* The debug information, with what dwz moved to a common file; NULL where there is none. */
Dwarf *debug_file_dwarf(struct debug_file *file, Dwarf_Addr *bias);

#endif
