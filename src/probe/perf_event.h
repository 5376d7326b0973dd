/*
 * perf_event.h - the perf_event_open system call, which libc does not wrap, and the words for its failures.
 */
#ifndef PITOT_PROBE_PERF_EVENT_H
#define PITOT_PROBE_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/types.h>

/* A descriptor that children do not inherit, or -errno. */
int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu);
/* As a member of the group whose first event is `leader`; -1: as the first of one. */
int perf_event_open_member(struct perf_event_attr *attr, pid_t pid, int cpu, int leader);

/* The value of kernel.perf_event_paranoid; -100 where it cannot be read. */
int perf_event_paranoid(void);

enum { PERF_PARANOID_UNKNOWN = -100 };

/* Why opening an event failed, as a person would say it; `error` is positive. */
void perf_event_words(int error, int paranoid, char *out, size_t size);

/* The command that helps against `error`, or NULL where nothing does. */
const char *perf_event_fix(int error);

#endif
