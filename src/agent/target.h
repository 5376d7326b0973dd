/*
 * target.h - whether a program that is about to be started can bear the agent in its environment.
 *
 * glibc's loader puts the agent into a program, a program without a loader never notices. Another C library's loader (musl's)
 * refuses to start the program at all, and one of another machine type complains: they are handed an environment without it.
 */
#ifndef PITOT_AGENT_TARGET_H
#define PITOT_AGENT_TARGET_H

#include <stdbool.h>

enum { TARGET_PATH = 512 };

/* Of a script, its interpreter is looked at. False also where nothing can be read: the start fails then, or is none of these. */
bool target_is_foreign(const char *path);

/* Finds `file` along PATH as execvp does; false: not found, or too long. `out` has TARGET_PATH bytes. */
bool target_search(const char *file, const char *folders, char *out);

#endif
