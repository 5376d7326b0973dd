/*
 * span_env.h - what a stage's environment says so that its programs can record spans.
 *
 *	PITOT_SPANS     the folder for their files, and which stage they are
 *	PITOT_SPAN_COUNTERS   that counters are to be read where spans begin and end, and which; only where that was asked for
 *	PITOT_LIBRARY   libpitot.so, for programs compiled with PITOT_HEADER_ONLY
 *	PYTHONPATH      with the folder of pitot.py at its end, so that `import pitot` works and hides nothing of the program's
 *
 * A library or a folder that is not there is left out.
 */
#ifndef PITOT_RUN_SPAN_ENV_H
#define PITOT_RUN_SPAN_ENV_H

#include "run/inject.h"
#include "run/span_collect.h"

struct span_env;

/* NULL: no folder can be made, and programs go without. */
struct span_env *span_env_new(const char *channel_dir);
void span_env_free(struct span_env *env);
const char *span_env_dir(const struct span_env *env);
struct span_moment span_env_begun(const struct span_env *env);

/* What was made for one stage. */
struct span_env_texts {
	char *spans, *counters, *library, *python;
};

/* A variable of an outer pitot, which is not handed on. */
bool span_env_is_ours(const char *variable);
void span_env_add(const struct span_env *env, int64_t stage_id, bool counters, struct env_items *items,
		  struct span_env_texts *texts);
void span_env_texts_fini(struct span_env_texts *texts);

#endif
