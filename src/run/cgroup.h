/*
 * cgroup.h - a fresh control group per stage and repetition, where one can be made.
 *
 * The kernel then keeps the stage's exact CPU time and its memory high-water mark, also of children that live for less
 * than a sampling interval. A group is never reused: its peak cannot be reset on older kernels.
 *
 * Three situations, found out once per run by trying:
 *	v2       one hierarchy with controllers: CPU, memory.peak, pressure, all in one folder
 *	hybrid   v1 memory beside a v2 tree without controllers: CPU and pressure from v2, memory from v1
 *	v1       v1 cpuacct and memory
 * A stage is born in its v2 group (no migration); v1 folders are entered by pitot writing the pid before the stage
 * execs.
 */
#ifndef PITOT_RUN_CGROUP_H
#define PITOT_RUN_CGROUP_H

#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>
#include <sys/types.h>

struct cgroup_host; /* where groups can be made */
struct cgroup;      /* one stage's */

/* ERR_UNAVAILABLE with the reason where no group can be made. `helper` (or 0) is a process of ours that must make room
 * together with us where a delegated group has to be emptied before it can hand down its controllers. */
int cgroup_host_open(pid_t helper, struct cgroup_host **out, struct err *err);
void cgroup_host_close(struct cgroup_host *host);
/* "cgroup v2", "cgroup v1", "cgroup v1 + v2" */
const char *cgroup_host_tier(const struct cgroup_host *host);

int cgroup_create(struct cgroup_host *host, const char *name, struct cgroup **out, struct err *err);
/* Removes the group; what is still inside (survivors that were left) keeps it alive until pitot's next start. */
void cgroup_destroy(struct cgroup *group);

/* The v2 folder to be born in, or -1. */
int cgroup_birth_fd(const struct cgroup *group);
/* Moves a process that has not yet exec'ed into the v1 folders. */
int cgroup_adopt(struct cgroup *group, pid_t pid, struct err *err);

struct pid_list {
	pid_t *items;
	size_t len;
	size_t cap;
};

/* Who is inside now. False where it cannot be read. */
bool cgroup_pids(struct cgroup *group, struct pid_list *out);

struct cgroup_reading {
	bool has_cpu, has_split, has_memory, has_peak, has_anon, has_pressure;
	double cpu_s, cpu_user_s, cpu_system_s;
	double memory_bytes, peak_bytes, anon_bytes; /* anonymous and shared memory */
	double cpu_some_s, io_some_s, io_full_s, memory_some_s, memory_full_s;
	double oom_kills; /* processes that the kernel ended because memory ran out */
};

/* Descriptors stay open, one pread each. `everything`: also what is only wanted at the edges (peak, pressure, split).
 */
void cgroup_read(struct cgroup *group, bool everything, struct cgroup_reading *out);
/* Files that the values come from, for provenance: "memory.peak" or "memory.max_usage_in_bytes". */
const char *cgroup_peak_source(const struct cgroup *group);

/* Seconds in which a CPU quota on pitot's own group or one above it held processes back, so far. */
struct cgroup_quota;
/* NULL where no quota is set. */
struct cgroup_quota *cgroup_quota_open(void);
bool cgroup_quota_throttled_s(struct cgroup_quota *quota, double *out);
void cgroup_quota_close(struct cgroup_quota *quota);

#endif
