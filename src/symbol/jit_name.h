/*
 * jit_name.h - what runtimes write as the name of a piece of code, taken apart: function, file, line.
 *
 *	CPython 3.12 -X perf   py::function:/path/file.py
 *	Node, V8               LazyCompile:*name /path/file.js:10:5    JS:~name file:///path/x.mjs:3:1    Function:^name …
 *	others                 the name itself
 *
 * The mark before a JavaScript name is the tier of the compiler (~ interpreted, ^ baseline, + and * optimized) and is no part of it.
 */
#ifndef PITOT_SYMBOL_JIT_NAME_H
#define PITOT_SYMBOL_JIT_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Parts of the text that was given, not terminated. `file` is NULL where the name tells none. */
struct jit_name {
	const char *function, *file;
	size_t function_bytes, file_bytes;
	int line;
	bool python;
};

void jit_name_split(const char *text, size_t bytes, struct jit_name *out);

#endif
