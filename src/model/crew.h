/*
 * crew.h - a few threads that share out the pieces of one operator after another.
 *
 * Unlike a team (team.h), which measures a machine, a crew gets work done: pieces are taken one by one by whoever is free, the
 * caller among them, so a member that the kernel has put aside delays nothing but the piece in its hands. Idle members spin for some
 * microseconds, because the next operator usually follows at once, and then sleep.
 */
#ifndef PITOT_MODEL_CREW_H
#define PITOT_MODEL_CREW_H

#include "base/err.h"

#include <stddef.h>

struct crew;

typedef void crew_fn(void *context, size_t piece, size_t member);

/* `members` counts the caller. ERR_UNAVAILABLE where threads cannot be had. */
int crew_new(size_t members, struct crew **out, struct err *err);
void crew_free(struct crew *crew);
size_t crew_members(const struct crew *crew);

/* Calls fn once for every piece from 0 up to `pieces`, each in some member (0 is the caller), and returns when all are done. Not
 * from within a piece. */
void crew_each(struct crew *crew, size_t pieces, crew_fn *fn, void *context);

#endif
