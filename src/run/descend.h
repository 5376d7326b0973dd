/*
 * descend.h - who descends from a process, by one pass over /proc.
 *
 * Works in every tier: under a subreaper a descendant cannot leave the tree, whatever it does with sessions or groups.
 * Always the real /proc: what is found here is signalled.
 */
#ifndef PITOT_RUN_DESCEND_H
#define PITOT_RUN_DESCEND_H

#include "run/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Signals every descendant of `root`, but not `root` itself, nor `spared` and what descends from that (0: nobody). How
 * many there were. */
size_t descend_kill(pid_t root, pid_t spared, int signal_number);

/* Whether the process has ended, reaped or not: only from then on have its children gone to their next parent. */
bool descend_has_ended(pid_t pid);

/*
 * The same question asked again and again, at each tick. Nobody becomes a descendant later in life, so each process is
 * looked at once; after that a tick costs one reading of the folder. A process is known again by its number and the
 * inode of its folder in /proc.
 */
struct descend_watch;

struct descend_watch *descend_watch_new(pid_t root);
void descend_watch_pids(struct descend_watch *watch, struct pid_list *out);
void descend_watch_free(struct descend_watch *watch);

#endif
