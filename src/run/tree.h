/*
 * tree.h - the processes of one stage, sampled.
 *
 * Totals never come from here (they come from the cgroup and from wait4); this is the time series, the live view, and,
 * where there are no exit records, the list of processes. Each process's files are opened once and read with pread; a
 * process that shares its number with a dead one is told apart by its start time. The cost per process and tick is one
 * pread of stat and one of io; what costs more (descriptor counts, high-water marks, PSS) is read every tenth tick.
 */
#ifndef PITOT_RUN_TREE_H
#define PITOT_RUN_TREE_H

#include "run/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tree;

struct tree_process {
	pid_t pid, parent;
	uint64_t start_ticks;            /* since boot */
	uint64_t first_ns, last_ns;      /* monotonic: first and last time seen */
	double cpu_user_s, cpu_system_s; /* its own */
	double waited_s;                 /* CPU time of the children it has reaped */
	double rss_bytes, rss_peak_bytes, pss_bytes;
	double read_chars, write_chars, read_bytes, write_bytes;
	double faults_minor, faults_major, switches_voluntary, switches_forced;
	double run_wait_s;
	int threads, open_files;
	char *command;
	bool reported; /* the caller's: an exit record or wait4 has told of it */
};

struct tree_totals {
	int processes, threads, open_files; /* open_files -1: not read in this tick */
	double rss_bytes, pss_bytes;        /* pss -1: not read in this tick */
	double cpu_s; /* of the living and of the children that they have reaped: to it comes what the warden has reaped
		       */
	double read_chars, write_chars; /* of the living */
};

/* Called once for each process when it is gone, and for those still there when the tree is ended. */
typedef void tree_retired_fn(void *context, const struct tree_process *process);

struct tree *tree_new(bool with_pss, tree_retired_fn *retired, void *context);
/* Every process is told to be gone; the totals stay. */
void tree_end(struct tree *tree);
void tree_free(struct tree *tree);

/* `pids` is who is alive now. */
void tree_sample(struct tree *tree, const struct pid_list *pids, uint64_t now_ns, struct tree_totals *out);

struct tree_process *tree_find(struct tree *tree, pid_t pid); /* borrowed; NULL where it is not alive */
size_t tree_count(const struct tree *tree);                   /* ever seen */
/* The largest single-process high-water mark that was read; 0 where none was. */
double tree_rss_peak(const struct tree *tree);

/* The command line of a process, spaces between the words, or its short name; NULL where it is gone. Owned. */
char *tree_command_of(pid_t pid);

#endif
