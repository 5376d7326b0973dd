/*
 * code_graft.h - which threads are workers of a BLAS or OpenMP pool, and whose work each of their samples was.
 *
 * Pure. The rule is code_tree.h's: the thread of the same process that was inside the same library nearest in time, else
 * the stack that made the worker. What is hung below is cut at the outermost frame of the library, the call that the work
 * came from: what the starter itself did meanwhile inside the library is not the worker's.
 */
#ifndef PITOT_ANALYZE_CODE_GRAFT_H
#define PITOT_ANALYZE_CODE_GRAFT_H

#include "store/profile.h"

struct code_graft;

/* Looks the samples through once. */
struct code_graft *code_graft_new(const struct profile_data *profile);
void code_graft_free(struct code_graft *graft);

/* Index into the profile's threads. */
bool code_graft_is_worker(const struct code_graft *graft, size_t thread);
/* The stack whose work the worker did at that time; 0: not known. */
int64_t code_graft_starter(struct code_graft *graft, size_t thread, uint64_t at_ns);

/* Whether the object is such a library: by its file's name. */
bool code_graft_is_pool(const char *module);

#endif
