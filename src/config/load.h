/*
 * load.h - from nodes to the values of a pipeline: what the readers of the file's sections share.
 *
 * Each section of the file is a const table of keys, and each key has a reader. load_map checks that a map has no other
 * keys and calls the readers in the table's order, not the file's, so that a reader can rely on the rows above its own.
 * Every value that is no name goes through substitution.
 */
#ifndef PITOT_CONFIG_LOAD_H
#define PITOT_CONFIG_LOAD_H

#include "config/node.h"
#include "config/pipeline.h"

struct load {
	const char *path; /* as messages name the file */
	struct pipeline *pipeline;
	const struct pipeline_overrides *overrides; /* or NULL */
	const char *overlay_dir;                    /* or NULL */
	struct err *err;
};

typedef int load_fn(struct load *load, void *into, const struct node *value);

struct load_key {
	const char *name;
	load_fn *read;
};

int load_fail(const struct load *load, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "<what> must be <wanted>, not <what is there>". */
int load_fail_type(const struct load *load, const struct node *node, const char *what, const char *wanted);

int load_map(struct load *load, const struct node *map, const char *what, const struct load_key *keys, size_t count,
	     void *into);
/* Calls `read` for the items of a list, or for the node itself where it is a scalar. */
int load_each(struct load *load, const struct node *node, const char *what, load_fn *read, void *into);

/* `what` is the key, for messages. Texts are owned by the caller; one that was there before is freed. */
int load_name(struct load *load, const struct node *node, const char *what, char **out); /* not substituted */
int load_text(struct load *load, const struct node *node, const char *what, char **out);
int load_bool(struct load *load, const struct node *node, const char *what, int *out);
int load_integer(struct load *load, const struct node *node, const char *what, int least, int most, int *out);
int load_number(struct load *load, const struct node *node, const char *what, double *out);
int load_duration(struct load *load, const struct node *node, const char *what, uint64_t *out);

/* 1, 0, or -1 where the text is no word for true or false. */
int load_truth(const char *text);
/* `relative` below `base`; where it is a glob, the special characters of `base` are escaped. Owned by the caller. */
char *load_path(const char *base, const char *relative);

/* The sections, one file each. */
load_fn load_params;  /* param.c */
load_fn load_profile; /* profile.c; into struct profile_settings of the pipeline */
load_fn load_stage_profile;
load_fn load_stages;   /* stage.c */
load_fn load_quality;  /* quality_spec.c */
load_fn load_overlays; /* overlay_spec.c */

/* needs: by name to by index; refuses what is unknown, named twice, or a cycle (graph.c). `stages` is the file's list.
 */
int graph_resolve(struct load *load, const struct node *stages);

/* A parameter with this name, after the others; what it takes is copied. */
struct param *param_add(struct pipeline *pipeline, const char *name, const char *value, const char *source);

void profile_unset(struct profile_settings *profile);

#endif
