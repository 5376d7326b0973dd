/*
 * exits.h - exit records: every process of a stage, also one that lives for less than a sampling interval.
 *
 * Two kernel sources, both for privileged users in the initial namespaces:
 *	process connector   fork, exec and exit events: who belongs to whom, when, with what status
 *	taskstats           at each thread's exit its CPU time, memory high-water mark, I/O and delays
 * Membership is followed through fork events from the stage's first process on, so no process is missed and none of
 * somebody else's is counted. Messages that the kernel had to drop are counted; `processes` is then a lower bound.
 *
 * The caller polls exits_fd. To keep the wake-ups of a stage that starts thousands of processes bounded, it should let
 * a few milliseconds pass between two calls of exits_read, and more where only others on the machine are busy.
 */
#ifndef PITOT_RUN_EXITS_H
#define PITOT_RUN_EXITS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct exit_record {
	void *owner; /* as given to exits_follow */
	pid_t pid, parent;
	uint64_t start_ns, end_ns; /* monotonic */
	bool ended;
	int status; /* as wait(2) gives it */
	bool has_usage;
	double cpu_user_s, cpu_system_s, run_wait_s;
	uint64_t rss_peak_bytes;
	uint64_t read_chars, write_chars, read_bytes, write_bytes;
	uint64_t faults_minor, faults_major, switches_voluntary, switches_forced;
	char *command;      /* borrowed from the table during the call */
	bool command_short; /* only the program's name: it was too quick to be looked at */
};

typedef void exit_record_fn(void *context, const struct exit_record *record);

struct exits;

/* ERR_UNAVAILABLE with reason and fix where not privileged. `complete` is called once per process, when it has ended.
 */
int exits_open(struct exits **out, exit_record_fn *complete, void *context, struct err *err);
void exits_close(struct exits *exits);
int exits_fd(const struct exits *exits); /* readable when there is something */

/* The stage's first process; all its descendants are followed. */
void exits_follow(struct exits *exits, pid_t pid, void *owner, uint64_t now_ns);
/* Reads all there is. Whether any of it was about a process that is followed: the kernel tells of everybody's. */
bool exits_read(struct exits *exits);
/* How many processes of this owner have been seen, and how many of them have not ended yet. */
size_t exits_seen(const struct exits *exits, const void *owner);
/* Hands over what is left of an owner (not ended, or usage missing) and forgets it. */
void exits_release(struct exits *exits, void *owner);
/* Times that the kernel dropped messages. */
uint64_t exits_losses(const struct exits *exits);

#endif
