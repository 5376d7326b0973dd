/*
 * code_term.h - the code profile for a person at a terminal.
 */
#ifndef PITOT_RENDER_CODE_TERM_H
#define PITOT_RENDER_CODE_TERM_H

#include "render/term.h"

/* A section per stage; nothing where the run has no code profile. */
void code_term(const struct term *term);

#endif
