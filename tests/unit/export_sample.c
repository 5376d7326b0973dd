/*
 * export_sample.c - writes a run file that has one of the profiles of export_case.h, for the tests that give an export to
 * the tool which it is for.
 *
 *	export_sample PROFILE FILE
 */
#include "export_case.h"
#include "test_store_run.h"

static struct profile_data *profile_named(const char *name)
{
	if (strcmp(name, "sample") == 0)
		return sample_profile_new();
	if (strcmp(name, "hostile") == 0)
		return export_hostile();
	if (strcmp(name, "recursion") == 0)
		return export_recursion(60);
	if (strcmp(name, "deep") == 0)
		return export_recursion(100000);
	return strcmp(name, "large") == 0 ? export_large(200000) : NULL;
}

static int add_stage(struct store *store, struct stage_row row, uint64_t end_ns, struct err *err)
{
	struct metric_value values[METRIC_COUNT] = {0};
	metric_set(&values[METRIC_WALL], (double)(end_ns - row.start_ns) / 1e9, METHOD_EXACT, "monotonic clock");
	RUN_TRY(store_stage_begin(store, &row, err));
	for (uint64_t at_ns = row.start_ns; at_ns < end_ns; at_ns += 100 * MS)
		RUN_TRY(store_sample(store, row.id, "cpu_percent", UNIT_PERCENT, at_ns, 100, err));
	row.status = STATUS_OK;
	row.end_ns = end_ns;
	RUN_TRY(store_metrics(store, row.id, values, err));
	return store_stage_end(store, &row, err);
}

static int fill(struct store *store, struct profile_data *profile, struct err *err)
{
	struct stage_row train = stage_row_sample(0, "train", 0), sort = stage_row_sample(1, "sort", 1000 * MS);
	train.exit_code = sort.exit_code = 0;
	sort.needs = NULL;
	RUN_TRY(add_stage(store, train, 2000 * MS, err));
	RUN_TRY(add_stage(store, sort, 2000 * MS, err));
	return sample_profile_store(store, profile, err);
}

int main(int argc, char **argv)
{
	struct profile_data *profile = argc == 3 ? profile_named(argv[1]) : NULL;
	struct run_row run = run_row_sample();
	struct store *store;
	struct err err = {0};
	if (!profile) {
		fprintf(stderr, "usage: export_sample PROFILE FILE\n");
		return 64;
	}
	int code = store_create(argv[2], &run, &store, &err);
	if (!code)
		code = fill(store, profile, &err);
	if (!code)
		code = store_finish(store, STATUS_OK, 2000 * MS, &err);
	if (code)
		fprintf(stderr, "export_sample: %s\n", err.text);
	profile_data_free(profile);
	return code ? 1 : 0;
}
