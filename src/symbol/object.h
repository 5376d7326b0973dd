/*
 * object.h - one object while it is resolved: what symbol.c keeps of it and what the resolving files fill in. Not for other
 * folders.
 *
 *	debug_file   the file itself, checked, and the one with its debug information
 *	function_list   functions of the symbol tables, and PLT stubs
 *	inline_chain    functions, inlined calls and lines of the debug information
 *	resolve         the three together: frames for every wanted address
 *
 * One thread works on an object at a time and nothing is shared between objects, so there are no locks here.
 */
#ifndef PITOT_SYMBOL_OBJECT_H
#define PITOT_SYMBOL_OBJECT_H

#include "base/map.h"
#include "base/vec.h"
#include "symbol/symbol.h"

enum { BUILD_ID_MAX = 64, FILE_NAME_MAX = 4096 };

/* Frames of one address: a range of the object's. `pc` is the instruction that was looked up. */
struct answer {
	uint64_t pc;
	uint32_t first, count;
};

struct symbol_object {
	char *path;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes;
	VEC(uint64_t) wanted; /* instructions; sorted and without doubles once resolved */
	size_t resolved;      /* how long `wanted` was when it was */
	VEC(struct answer) answers;
	VEC(struct symbol_frame) frames;
	VEC(char *) texts; /* owns the frames' */
	struct map files;  /* a library's pointer to a file name, to ours */
	char *note;
};

/* The text from now on belongs to the object. */
const char *object_keep(struct symbol_object *object, char *text);
/* Our copy of a file name that the debug library owns, one for each; a relative one is joined to the folder, if there is one. */
const char *object_file(struct symbol_object *object, const char *name, const char *folder);

/* Fills in answers, frames and note for all that is wanted, which is sorted and without doubles. */
void resolve_object(struct symbol_object *object);

#endif
