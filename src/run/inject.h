/*
 * inject.h - how the agent (libpitot-agent.so) gets into the processes of a stage: through LD_PRELOAD, before whatever was
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

/* *out stays NULL where no stage is to be profiled. ERR_UNAVAILABLE where one is, but there is no library. */
int inject_open(const struct run_options *options, const struct pipeline *pipeline, struct inject **out,
		struct err *err);
void inject_free(struct inject *inject);
const char *inject_dir(const struct inject *inject); /* where the wire files are */

/* Changes a stage's environment; *agent and *preload are what was made, owned by the caller. */
void inject_env(const struct inject *inject, int64_t stage_id, int hz, struct env_items *env, char **agent,
		char **preload);

/* The library that a run would use: owned by the caller. */
int inject_find_library(char **out, struct err *err);

#endif
