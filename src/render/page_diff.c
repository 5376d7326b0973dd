/*
 * page_diff.c - the page's model of a comparison: the document of `pitot diff --format json`, and both code profiles. See
 * page.h.
 */
#include "analyze/code_diff.h"
#include "render/delta.h"
#include "render/page_parts.h"

#include <stdlib.h>

static int load_profile(const char *path, struct profile_data **out, struct err *err)
{
	bool exists = false;
	*out = NULL;
	int code = store_profile_exists(path, &exists, err);
	return !code && exists ? store_profile_load(path, out, err) : code;
}

/* The profile of a side of several runs is left out: a flame graph is of one. */
static int put_side(struct json *json, const struct side *side, struct err *err)
{
	const struct run_record *run = side->runs.len ? side->runs.items[0] : NULL;
	struct profile_data *profile = NULL;
	struct report report;
	int code = run && side->runs.len == 1 ? load_profile(run->path, &profile, err) : 0;
	if (code)
		return code;
	json_object_begin(json, NULL);
	json_put_string(json, "name", run ? run->row.name : NULL);
	json_put_string(json, "file", run ? run->path : NULL);
	json_put_integer(json, "runs", (int64_t)side->runs.len);
	if (run) {
		report_compute(run, &report);
		json_put_integer(json, "repetitions", (int64_t)(report.total.n ? report.total.n : 1));
		json_array_begin(json, "stages");
		for (size_t i = 0; i < report.stages.len; i++)
			json_put_string(json, NULL, report.stages.items[i].name);
		json_array_end(json);
		page_code(json, &report, profile, &page_limits_side);
		report_fini(&report);
	}
	json_object_end(json);
	profile_data_free(profile);
	return 0;
}

int page_delta_json(const struct delta *delta, struct str *out, struct err *err)
{
	struct json json = {.out = out};
	struct str text = {0};
	struct render_options options = {.unicode = true, .columns = 80};
	int code = 0;
	delta_renderer_find("json")->render(delta, &options, &text);
	json_object_begin(&json, NULL);
	json_put_integer(&json, "page_model", PAGE_MODEL_VERSION);
	json_put_string(&json, "kind", "diff");
	json_array_begin(&json, "problems");
	json_array_end(&json);
	json_put_json(&json, "delta", str_text(&text));
	json_array_begin(&json, "sides");
	for (int side = 0; side < 2 && !code; side++)
		code = put_side(&json, &delta->diff->sides[side], err);
	json_array_end(&json);
	json_object_end(&json);
	str_fini(&text);
	return code;
}

static int add_code(struct diff *diff, struct run_record *const *runs, struct err *err)
{
	struct code_side *sides[2] = {code_side_new(), code_side_new()};
	int code = 0;
	for (int side = 0; side < 2 && !code; side++) {
		struct profile_data *profile = NULL;
		code = load_profile(runs[side]->path, &profile, err);
		if (!code)
			code_side_add(sides[side], runs[side], profile);
		profile_data_free(profile);
	}
	if (!code)
		code_diff_add(diff, sides[0], sides[1]);
	code_side_free(sides[0]);
	code_side_free(sides[1]);
	return code;
}

int page_diff_json(const char *path_a, const char *path_b, struct str *out, struct err *err)
{
	struct run_record *runs[2] = {NULL, NULL};
	struct diff diff;
	int code = store_load(path_a, &runs[0], err);
	if (!code)
		code = store_load(path_b, &runs[1], err);
	if (!code) {
		const struct run_record *const a = runs[0], *const b = runs[1];
		diff_compute(&a, 1, &b, 1, &diff_defaults, &diff);
		code = add_code(&diff, runs, err);
		if (!code)
			code = page_delta_json(&(struct delta){.diff = &diff, .rows = true, .all = true}, out, err);
		diff_fini(&diff);
	}
	run_record_free(runs[0]);
	run_record_free(runs[1]);
	return code;
}
