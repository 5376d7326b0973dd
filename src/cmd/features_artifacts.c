/*
 * features_artifacts.c - see features.h: the folder that a run of the engine leaves.
 *
 *	profiles/operator_profile.csv         per chunk and operator
 *	benchmarks/streaming_chunks.csv       per chunk: latency, throughput, memory
 *	benchmarks/constraint_experiment.csv  and .svg
 *	reports/pipeline_report.json
 *	intermediate/features.csv             and what is spilled while it runs
 *	metadata/recipe.yaml                  what was inferred included
 *	metadata/manifest.json                every file with its size and SHA-256
 *
 * Every file is written beside its name and renamed. Those of an earlier run that this one does not make are removed first:
 * a folder is of one run.
 */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/features.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"profiles/operator_profile.csv",
				    "benchmarks/streaming_chunks.csv",
				    "benchmarks/constraint_experiment.csv",
				    "benchmarks/constraint_experiment.svg",
				    "reports/pipeline_report.json",
				    "intermediate/features.csv",
				    "intermediate/features.npy",
				    "intermediate/features.arrow",
				    "metadata/recipe.yaml",
				    "metadata/manifest.json"};
static const char *const folders[] = {"profiles", "benchmarks", "reports", "intermediate", "metadata"};

char *features_artifact_path(const struct features_job *job, const char *name)
{
	return file_join(job->dir, name);
}

void features_artifact_note(struct features_job *job, const char *name)
{
	vec_push(&job->view.artifacts, mem_strdup(name));
}

int features_artifacts_prepare(struct features_job *job, struct err *err)
{
	int code = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !code; i++) {
		char *path = features_artifact_path(job, folders[i]);
		code = file_make_dirs(path, err);
		free(path);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !code; i++) {
		char *path = features_artifact_path(job, names[i]);
		if (unlink(path) != 0 && errno != ENOENT)
			code = err_set_errno(err, ERR_IO, "cannot replace '%s'", path);
		free(path);
	}
	return code;
}

static int write_one(struct features_job *job, const char *name, const struct str *text, struct err *err)
{
	char *path = features_artifact_path(job, name);
	int code = file_write_atomic(path, str_text(text), text->len, err);
	free(path);
	if (!code)
		features_artifact_note(job, name);
	return code;
}

static int write_constraints(struct features_job *job, struct err *err)
{
	struct str text = {0};
	if (!job->view.constraints)
		return 0;
	features_constraints_csv(job->view.constraints, &text);
	int code = write_one(job, "benchmarks/constraint_experiment.csv", &text, err);
	str_clear(&text);
	features_svg(job->view.constraints, &text);
	if (!code)
		code = write_one(job, "benchmarks/constraint_experiment.svg", &text, err);
	str_fini(&text);
	return code;
}

/* The sum of a file's bytes; false where it cannot be read. */
static bool sum_file(const char *path, char *hex, uint64_t *bytes)
{
	enum { STEP = 1 << 16 };
	struct sha256 sha;
	char *buffer = mem_alloc(STEP);
	ssize_t got = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	sha256_init(&sha);
	*bytes = 0;
	while (fd >= 0 && (got = read(fd, buffer, STEP)) > 0) {
		sha256_add(&sha, buffer, (size_t)got);
		*bytes += (uint64_t)got;
	}
	if (fd >= 0)
		close(fd);
	free(buffer);
	sha256_hex(&sha, hex);
	return got == 0;
}

static int write_manifest(struct features_job *job, struct err *err)
{
	struct str text = {0};
	struct json json = {.out = &text, .pretty = true};
	json_object_begin(&json, NULL);
	json_put_integer(&json, "schema_version", 1);
	json_put_string(&json, "pitot_version", PITOT_VERSION);
	json_put_string(&json, "input", job->args->input);
	json_put_string(&json, "input_sha256", job->sha256);
	json_put_string(&json, "status", job->view.status);
	json_array_begin(&json, "artifacts");
	for (size_t i = 0; i < job->view.artifacts.len; i++) {
		const char *name = job->view.artifacts.items[i];
		char *path = features_artifact_path(job, name), hex[SHA256_HEX_SIZE];
		uint64_t bytes;
		if (sum_file(path, hex, &bytes)) {
			json_object_begin(&json, NULL);
			json_put_string(&json, "path", name);
			json_put_integer(&json, "bytes", (int64_t)bytes);
			json_put_string(&json, "sha256", hex);
			json_object_end(&json);
		}
		free(path);
	}
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(&text, '\n');
	int code = write_one(job, "metadata/manifest.json", &text, err);
	str_fini(&text);
	return code;
}

int features_artifacts_write(struct features_job *job, struct err *err)
{
	struct str text = {0};
	str_append(&text, job->view.recipe);
	int code = write_one(job, "metadata/recipe.yaml", &text, err);
	/* Elsewhere than in the folder it is named by its whole path. */
	char *whole = job->features_written ? realpath(job->features_path, NULL) : NULL;
	if (whole)
		features_artifact_note(job, job->args->write_features ? whole : job->features_name);
	free(whole);
	code = code ? code : write_constraints(job, err);
	str_clear(&text);
	features_json(&job->view, &text);
	code = code ? code : write_one(job, "reports/pipeline_report.json", &text, err);
	code = code ? code : write_manifest(job, err);
	str_fini(&text);
	return code;
}
