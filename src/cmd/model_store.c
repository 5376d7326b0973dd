/*
 * model_store.c - the run file that a profiled model leaves in the history.
 *
 * Each model, or size of one, is a stage, so that history, report and diff find it by its name; what was counted and timed is in
 * the tables of schema_model.sql.
 */
#include "base/clock.h"
#include "base/json.h"
#include "cmd/model.h"
#include "probe/host.h"
#include "run/git.h"
#include "store/history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *argv_json(const struct model_args *args)
{
	struct str text = {0};
	struct json json = {.out = &text};
	json_array_begin(&json, NULL);
	json_put_string(&json, NULL, "pitot");
	json_put_string(&json, NULL, "model");
	for (int i = 0; i < args->argc; i++)
		json_put_string(&json, NULL, args->argv[i]);
	json_array_end(&json);
	return str_take(&text);
}

static int store_all(struct store *store, const struct model_profile *profile, const struct host_facts *facts,
		     uint64_t wall_ns, const char *name, struct err *err)
{
	struct metric_value values[METRIC_COUNT] = {0};
	struct stage_row stage = {
		.name = (char *)name, .attempts = 1, .exit_code = 0, .status = STATUS_OK, .end_ns = wall_ns};
	int code = 0;
	for (size_t i = 0; i < facts->facts.len && !code; i++)
		code = store_host_fact(store, facts->facts.items[i].key, facts->facts.items[i].value, err);
	if (!code)
		code = store_stage_begin(store, &stage, err);
	if (!code)
		code = store_model_write(store, stage.id, profile, err);
	metric_set(&values[METRIC_WALL], (double)wall_ns / 1e9, METHOD_EXACT, "monotonic clock");
	if (!code)
		code = store_metrics(store, stage.id, values, err);
	return code ? code : store_stage_end(store, &stage, err);
}

int model_store(const struct model_args *args, const struct model_profile *profile, uint64_t began_utc_ns,
		uint64_t wall_ns, char **path, struct err *err)
{
	char *dir = history_dir(args->history), *cwd = getcwd(NULL, 0), *argv = argv_json(args);
	char *commit = cwd ? git_commit_of(cwd) : NULL;
	struct host_facts facts = {0};
	struct store *store = NULL;
	const char *name = profile->models.items[0].name;
	char *run_name = mem_printf("model-%s", args->names.len > 1 ? "compare" : name);
	host_facts_read(&facts);
	struct run_row row = {.name = run_name,
			      .started_utc_ns = began_utc_ns,
			      .status = STATUS_INTERRUPTED,
			      .argv_json = argv,
			      .cwd = cwd ? cwd : (char *)"?",
			      .git_commit = commit,
			      .fingerprint = facts.fingerprint,
			      .repeat = 1,
			      .jobs = 1};
	int code = history_new_path(dir, run_name, began_utc_ns, path, err);
	if (!code)
		code = store_create(*path, &row, &store, err);
	if (!code)
		code = store_all(store, profile, &facts, wall_ns, args->names.len > 1 ? "compare" : name, err);
	if (!code)
		code = store_finish(store, STATUS_OK, wall_ns, err);
	else if (store)
		store_abandon(store);
	host_facts_fini(&facts);
	free(run_name);
	free(dir);
	free(cwd);
	free(argv);
	free(commit);
	return code;
}
