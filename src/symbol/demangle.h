/*
 * demangle.h - from a linker's name to the one that a person wrote.
 *
 * The compiler's suffixes for parts and copies of a function (.cold, .part.0, .constprop.1, .isra.0, .lto_priv.3, .llvm.123) are
 * dropped: time spent in the cold half of f is time spent in f. So is a symbol's version ("@@GLIBC_2.14").
 *
 * Rust names, old and new, are decoded here, without the hash at their end. C++ names go through __cxa_demangle of the
 * libstdc++ that the machine has, loaded when first needed; where there is none they stay as they are.
 */
#ifndef PITOT_SYMBOL_DEMANGLE_H
#define PITOT_SYMBOL_DEMANGLE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { DEMANGLE_NAME_MAX = 4096 };

/* Valid UTF-8 of at most DEMANGLE_NAME_MAX bytes, whatever comes in. Owned by the caller. Any thread. */
char *demangle_name(const char *symbol);
/* Valid UTF-8 without control characters, cut at `most` bytes. Owned by the caller. */
char *demangle_clean(const char *text, size_t length, size_t most);

/* The two schemes of Rust. False: not of that scheme, and `out` may hold anything. */
bool rust_legacy_name(const char *symbol, size_t length, struct str *out);
bool rust_v0_name(const char *symbol, size_t length, struct str *out);

#endif
