/*
 * python_line.h - from a code object's line table and the offset of an instruction to a line, for the three formats that
 * CPython has had: lnotab (to 3.9), PEP 626's table (3.10), location entries (3.11 and later). Tables come from the
 * profiled process and are not trusted.
 */
#ifndef PITOT_SYMBOL_PYTHON_LINE_H
#define PITOT_SYMBOL_PYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

/* `version` is PY_VERSION_HEX; `offset` in bytes from the first instruction. 0: the table does not tell. */
int python_line_at(uint32_t version, const uint8_t *table, size_t bytes, int first_line, uint32_t offset);

#endif
