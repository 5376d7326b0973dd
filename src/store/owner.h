/*
 * owner.h - which process writes a run file, and whether it still does.
 *
 * A process id alone says nothing: it is used again. The id, the process's start time and the machine's boot id
 * together name one process for ever. A run file that was copied to another machine has another boot id and is never
 * live there.
 */
#ifndef PITOT_STORE_OWNER_H
#define PITOT_STORE_OWNER_H

#include "store/record.h"

/* Start time of a process in clock ticks since boot; 0 where there is no such process (or it is a zombie). */
uint64_t owner_start_ticks(int64_t pid);
/* The boot id of this machine, or "" where it cannot be read; `size` at least 37. */
void owner_boot_id(char *out, size_t size);
bool owner_is_alive(const struct run_row *run);

#endif
