/*
 * inject.h - how the agent (libpitot-agent.so, or libpitot-agent-memory.so where memory is profiled) gets into the processes of a stage: through LD_PRELOAD, before whatever was
 * there, and PITOT_AGENT, which tells it where its files go. pitot's own processes never run with it.
 */
#ifndef PITOT_RUN_INJECT_H
#define PITOT_RUN_INJECT_H

#include "run/run.h"

struct inject;

struct env_items {
	char **items;
	size_t len, cap;
};

/* Samples per second that a stage is to have; 0: none. */
int inject_hz(const struct run_options *options, const struct pipeline *pipeline, const struct stage_spec *stage);
/* Bytes between two samples of its memory, as in struct profile_settings; 0: none. */
int64_t inject_memory(const struct run_options *options, const struct pipeline *pipeline,
		      const struct stage_spec *stage);

/* Whether it is to tell objects by type, where it has a memory profile. */
bool inject_types(const struct run_options *options, const struct pipeline *pipeline, const struct stage_spec *stage);
/* Whether the stage's spans are counted: nothing is injected for that, the programs' own library does it. */
bool inject_span_counters(const struct run_options *options, const struct pipeline *pipeline,
			  const struct stage_spec *stage);

/* What the agent of a stage is to do. */
struct inject_wish {
	int64_t stage_id;
	int hz;
	int64_t memory_period;
	bool types;
};

/* *out stays NULL where no stage is to be profiled. ERR_UNAVAILABLE where one is, but there is no library. */
int inject_open(const struct run_options *options, const struct pipeline *pipeline, struct inject **out,
		struct err *err);
void inject_free(struct inject *inject);
const char *inject_dir(const struct inject *inject); /* where the wire files are */

/* Changes a stage's environment; *agent and *preload are what was made, owned by the caller. */
void inject_env(const struct inject *inject, const struct inject_wish *wish, struct env_items *env, char **agent,
		char **preload);

/* The library that a run would use: owned by the caller. The one that sees allocations lies beside the other. */
int inject_find_library(bool memory, char **out, struct err *err);

/* Where pitot's own program lies; "" where that is not known. */
void inject_own_folder(char *out, size_t size);

#endif
