/* delta_models.c - see delta_models.h. */
#include "cmd/delta_models.h"
#include "analyze/model_diff.h"

static int load_side(const struct delta_runs *runs, int which, struct model_side *out, struct err *err)
{
	for (size_t i = 0; i < runs->sides[which].len; i++) {
		const char *path = runs->sides[which].items[i]->path;
		struct model_profile *profile = NULL;
		bool exists = false;
		int code = store_model_exists(path, &exists, err);
		if (!code && exists)
			code = store_model_load(path, &profile, err);
		if (code)
			return code;
		vec_push(&out->runs, profile);
	}
	return 0;
}

static void free_side(struct model_side *side)
{
	for (size_t i = 0; i < side->runs.len; i++)
		model_profile_free(side->runs.items[i]);
	vec_fini(&side->runs);
}

int delta_models_add(struct diff *diff, const struct delta_runs *runs, struct err *err)
{
	struct model_side a = {0}, b = {0};
	int code = load_side(runs, 0, &a, err);
	if (!code)
		code = load_side(runs, 1, &b, err);
	if (!code)
		model_diff_add(diff, &a, &b);
	free_side(&a);
	free_side(&b);
	return code;
}
