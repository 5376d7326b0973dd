/*
 * jit.h - code that was made at run time: perf maps (/tmp/perf-PID.map, of Node's --perf-basic-prof, CPython's -X perf and
 * others) and jitdump files (jit-PID.dump). Text and records come from the profiled program and are not trusted.
 */
#ifndef PITOT_SYMBOL_JIT_H
#define PITOT_SYMBOL_JIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_map;

struct jit_symbol {
	const char *name;
	const char *file; /* where the name or the debug records tell; else NULL */
	int line;         /* 0: not known */
	/* CPython's trampolines ("py::function:/path/file.py"): the frame is a Python function. */
	bool python;
};

/* ERR_UNAVAILABLE where the process left none. `pid` as the process itself sees it. */
int jit_map_load(int pid, struct jit_map **out, struct err *err);
/* From memory: what the tests and the fuzzer call. */
int jit_map_parse(const char *text, size_t bytes, struct jit_map **out, struct err *err);
int jit_dump_parse(const void *bytes, size_t size, struct jit_map **out, struct err *err);
/* The last definition that covers the address. False: none does. Borrowed. */
bool jit_map_find(const struct jit_map *map, uint64_t address, struct jit_symbol *out);
void jit_map_free(struct jit_map *map);

#endif
