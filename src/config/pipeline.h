/*
 * pipeline.h - a pipeline file, read and checked.
 *
 * pipeline_load reads YAML (JSON is a subset and goes through the same parser) and answers either with a pipeline that
 * is wholly valid - names unique, needs known and free of cycles, parameters substituted - or with an error that names
 * file and line, says what was expected, and suggests the name that was probably meant. Nothing here runs anything.
 *
 *	name: churn                         # default: the file's folder name
 *	params: {dataset: coco128, train_epochs: 50}
 *	profile: {interval: 100ms, jobs: 1, pss: false, gpu: true, pmu: true, watts: 45, cpu: false, memory: false}
 *	config:                             # isolated copies of the program's own configuration
 *	  - file: config.json               # never touched
 *	    param: config                   # ${config} is the copy's path
 *	    set: {/run/dataset: "${dataset}", /train/epochs: "${train_epochs}"}
 *	    absolute: [/paths]              # a relative path, or every one in this map or list, made absolute
 *	stages:
 *	  - name: train
 *	    run: python3 train.py --config ${config}
 *	    needs: [generate]
 *	quality:
 *	  - {name: precision_proxy, file: "runs/grade-*.json", pointer: /precision}
 *	gate: {max_total_duration_increase_pct: 5}
 */
#ifndef PITOT_CONFIG_PIPELINE_H
#define PITOT_CONFIG_PIPELINE_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct param {
	char *name;
	char *value;
	char *source; /* "pipeline.yaml", "--set", "--param file.yaml", "--dataset", "config" */
	char *help;   /* or NULL */
	bool quoted;  /* declared in quotes: a text, also where it looks like a number */
};

/* How deep to look; -1 or 0 where not said, so that a stage can override the pipeline and flags can override both. */
struct profile_settings {
	uint64_t interval_ns; /* 0: not said */
	int pss;              /* -1: not said, else 0 or 1 */
	int gpu;
	int pmu;
	double watts; /* of the energy fallback; < 0: not said, 0: no fallback */
	int cpu_hz;   /* samples of the code per second of CPU time; -1: not said, 0: none */
	/* Mean number of bytes between two allocations that are sampled; 1: every allocation, 0: none, -1: not said. */
	int64_t memory_period;
	int memory_types;  /* Python's objects by type, too; -1: not said */
	int span_counters; /* counters where spans begin and end; -1: not said */
};

enum { PROFILE_CPU_HZ = 999, PROFILE_CPU_HZ_MOST = 10000 };
enum {
	PROFILE_MEMORY = 512 << 10,
	PROFILE_MEMORY_EXACT = 1,
	PROFILE_MEMORY_LEAST = 1 << 10,
	PROFILE_MEMORY_MOST = 1 << 30
};

enum survivors {
	SURVIVORS_WAIT,  /* the stage lasts until its last descendant has ended */
	SURVIVORS_KILL,  /* what outlives the stage's main process is ended */
	SURVIVORS_LEAVE, /* it is named and left running */
};

struct stage_spec {
	char *name;
	int line;
	char *shell;         /* `run` as a string: for sh -c; NULL for a list */
	VEC(char *) argv;    /* what to exec: {"/bin/sh", "-c", shell} or the list */
	VEC(size_t) needs;   /* indices of earlier-or-later stages; the graph is free of cycles */
	VEC(char *) env;     /* "NAME=value" */
	char *cwd;           /* absolute */
	uint64_t timeout_ns; /* 0: none */
	int retries;
	char *manual;       /* reason, or NULL */
	char *skip;         /* reason why it does not run (`skip: true`, or `when` was false), or NULL */
	VEC(char *) inputs; /* absolute paths or globs */
	VEC(char *) outputs;
	enum survivors survivors;
	struct profile_settings profile;
};

enum quality_how { QUALITY_POINTER, QUALITY_REGEX, QUALITY_COLUMN };

struct quality_spec {
	char *name;
	int line;
	char *file; /* absolute glob; the newest match counts */
	enum quality_how how;
	char *expression; /* JSON pointer, extended regex, or CSV column name */
	int group;        /* of the regex: default 1, or 0 where it has no group */
	char *row;        /* of the column: "last" (default), "first", "mean", "max", "min" */
};

struct gate_spec {
	char *name;
	double limit;
	int line;
};

struct overlay_setting {
	char *pointer;
	char *value; /* YAML scalar text: 10 is a number, "10" in quotes a string; already substituted */
	bool quoted; /* was written in quotes: stays a string; a lone ${param} has the type of the parameter */
	int line;
};

struct overlay_spec {
	int line;
	char *file;  /* absolute */
	char *param; /* the parameter that holds the copy's path; default "config" */
	VEC(struct overlay_setting) set;
	VEC(char *) absolute; /* pointers to a string, or to a map or list of strings */
};

struct pipeline {
	char *path; /* NULL for a single command */
	char *dir;
	char *text; /* the file's bytes, kept for the run file */
	char *name;
	VEC(struct param) params;
	VEC(struct overlay_spec) overlays;
	VEC(struct stage_spec) stages;
	VEC(struct quality_spec) quality;
	VEC(struct gate_spec) gates;
	struct profile_settings profile;
	int jobs; /* 0: not said */
};

/* One override from the command line: `name` as declared, or as a flag would spell it ("train-epochs"). */
struct param_override {
	const char *name;
	const char *value;
	const char *source; /* for messages: "--set", "--train-epochs" */
	bool if_declared;   /* passed over in silence where the pipeline has no such parameter */
};

struct pipeline_overrides {
	VEC(struct param_override) values;
	VEC(const char *) param_files; /* YAML or JSON maps; read before `values` */
};

/* `overlay_dir` is where the isolated configuration copies will lie (needed to substitute their paths); NULL means that
 * they are not going to be written (dry runs): the path is then shown as "<copy of config.json>". */
int pipeline_load(const char *path, const struct pipeline_overrides *overrides, const char *overlay_dir,
		  struct pipeline **out, struct err *err);
/* The same from memory; `path` only names it in messages and gives the folder. What the fuzzer calls. */
int pipeline_parse(const char *text, size_t size, const char *path, const struct pipeline_overrides *overrides,
		   const char *overlay_dir, struct pipeline **out, struct err *err);
/* One stage that runs `argv` as it is, in the current folder. */
int pipeline_for_command(const char *const *argv, size_t count, struct pipeline **out, struct err *err);
void pipeline_free(struct pipeline *pipeline);

const struct param *pipeline_param(const struct pipeline *pipeline, const char *name);

#endif
