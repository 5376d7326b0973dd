/*
 * agent_file.h - a wire file of the test's own, in a folder that goes away, for tests of what writes into one. Stands in for the
 * agent's clock and its generation of loaded objects.
 */
#ifndef PITOT_TESTS_AGENT_FILE_H
#define PITOT_TESTS_AGENT_FILE_H

#include "agent/core.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct agent_plan agent_file_plan;
static uint16_t agent_file_generation;

uint64_t agent_mono_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint16_t module_generation(void)
{
	return agent_file_generation;
}

static inline bool agent_file_open(void)
{
	struct file_origin origin = {.plan = &agent_file_plan, .birth = WIRE_BORN_EXEC};
	snprintf(agent_file_plan.dir, sizeof(agent_file_plan.dir), "/tmp/pitot-test-XXXXXX");
	return mkdtemp(agent_file_plan.dir) && file_open(&origin);
}

static inline void agent_file_close(void)
{
	DIR *dir = opendir(agent_file_plan.dir);
	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		char path[AGENT_DIR_MAX + 300];
		snprintf(path, sizeof(path), "%s/%s", agent_file_plan.dir, entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(agent_file_plan.dir);
	if (file_header())
		munmap(file_header(), (size_t)file_header()->pages_most * WIRE_PAGE);
	file_forget();
	node_reset();
}

static inline struct agent_thread *agent_file_thread(void)
{
	struct agent_thread *thread =
		mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return thread == MAP_FAILED ? NULL : thread;
}

#endif
