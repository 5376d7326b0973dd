/*
 * memory_term.h - "Where the memory went": the memory profile on a terminal.
 */
#ifndef PITOT_RENDER_MEMORY_TERM_H
#define PITOT_RENDER_MEMORY_TERM_H

#include "render/term.h"

void memory_term(const struct term *term);

#endif
