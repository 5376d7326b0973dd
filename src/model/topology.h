/*
 * topology.h - cores, packages, memory nodes and caches, as sysfs tells them.
 *
 * What the machine does not tell stays unknown (0 caches, node -1), never guessed. Reads below file_sysfs(), so a test can
 * use a recorded tree.
 */
#ifndef PITOT_MODEL_TOPOLOGY_H
#define PITOT_MODEL_TOPOLOGY_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOPOLOGY_LEVELS = 4, TOPOLOGY_MOST_CPUS = 65536 };

struct topology_cpu {
	int cpu;
	int package, node; /* -1: not told */
	int core;          /* lowest CPU of the same core */
	int kind;          /* index into kinds */
	unsigned capacity; /* the kernel's measure of its speed, 1024 at most; 0: not told */
	uint64_t most_hz;  /* highest frequency that the driver names; 0: not told */
	bool allowed;      /* this process may run there */
	/* Of the data or unified cache of each level, by level: bytes (0: none) and the lowest CPU that shares it. */
	uint64_t cache_bytes[TOPOLOGY_LEVELS + 1];
	int cache_owner[TOPOLOGY_LEVELS + 1];
};

/* Caches that are alike. */
struct topology_cache {
	int level;
	char type[16]; /* "Data", "Instruction", "Unified" */
	uint64_t bytes;
	unsigned line_bytes, ways; /* 0: not told */
	unsigned instances, shared_by /* CPUs */;
};

struct topology_kind {
	char name[16]; /* "core" and "atom" of hybrid processors, "capacity 446" of Arm's; "" where all are alike */
	unsigned cpus, cores;
};

struct topology {
	VEC(struct topology_cpu) cpus; /* online, in order */
	VEC(struct topology_cache) caches;
	VEC(struct topology_kind) kinds; /* at least one where there are CPUs */
	unsigned cores, packages, nodes /* 0: not told */;
};

struct topology_ids {
	VEC(int) items;
};

/* `allowed` NULL: all that are online. Without sysfs the allowed CPUs stand there alone, each a core of its own. */
void topology_read(const struct topology_ids *allowed, struct topology *out);
void topology_fini(struct topology *topology);

/* The CPUs that this process may run on (sched_getaffinity). */
void topology_allowed(struct topology_ids *out);

/* One CPU of every core that is allowed, the fastest kind first, at most `most` of them. */
void topology_team(const struct topology *topology, size_t most, struct topology_ids *out);
const struct topology_cpu *topology_find(const struct topology *topology, int cpu); /* NULL: not there */
/* The last cache before memory that this CPU has; 0: not told. */
int topology_last_level(const struct topology_cpu *cpu);

#endif
